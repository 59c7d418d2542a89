// SPDX-License-Identifier: Apache-2.0
// The rule that generate keeps what accept takes. To give a region back is allowed, and costs another round of placing.
// If a match is given back each time, accept should decline it, which sees the whole of it. A node of a group is worth
// taking in some regions only, so that is a warning.
#include <stdlib.h>
#include <string.h>

#include "tools/plugin_check/trial.h"

enum { MOST_SPECIMENS = 120, MOST_CLAIMS = 256 };

// What accept decides about: the operators of a match ("demo.relu: Conv+Relu"), or one node of a group ("Relu").
typedef struct claim_t {
  char text[160];
  bool is_match;
  size_t taken, given_back; // regions with it
  char label[256];          // of a specimen of which it was given back
  char reason[256];
} claim_t;

typedef struct claims_t {
  trial_t *trial;
  claim_t *items; // MOST_CLAIMS of them
  size_t count;
  const byoc_pipeline_result_t *result; // of the build that generated code
  // The region that is counted.
  const char *label, *reason; // NULL: it was kept
} claims_t;

// ---- claims of accept ----

static void count_claim(claims_t *claims, const char *text, bool is_match) {
  size_t i = 0;
  while (i < claims->count && strcmp(claims->items[i].text, text) != 0) ++i;
  if (i == MOST_CLAIMS) return;
  claim_t *claim = &claims->items[i];
  if (i == claims->count) {
    claims->count += 1;
    snprintf(claim->text, sizeof(claim->text), "%s", text);
  }
  claim->is_match = is_match;
  claim->taken += 1;
  claim->given_back += claims->reason != NULL;
  if (claims->reason == NULL || claim->given_back > 1) return;
  snprintf(claim->label, sizeof(claim->label), "%s", claims->label);
  snprintf(claim->reason, sizeof(claim->reason), "%s", claims->reason);
}

typedef struct words_t {
  char text[160];
  size_t size;
} words_t;

static bool add_operator(void *self, byoc_node_t *node) {
  words_t *words = self;
  if (words->size + 1 < sizeof(words->text)) {
    snprintf(words->text + words->size, sizeof(words->text) - words->size, "%s%s", words->size > 0 ? "+" : "",
             node->op);
    words->size = strlen(words->text);
  }
  return true;
}

static void count_match(claims_t *claims, const byoc_function_t *function, const char *rule) {
  words_t words = {0};
  char text[sizeof(words.text) * 2];
  (void)byoc_block_walk(function->body, add_operator, &words);
  snprintf(text, sizeof(text), "%.100s: %s", rule, words.text);
  count_claim(claims, text, true);
}

static const char *composite(const byoc_function_t *function) {
  return byoc_attributes_string(&function->attributes, BYOC_ATTRIBUTE_COMPOSITE, NULL);
}

// A node of a region: of a group, or the call of a match.
static void count_node(claims_t *claims, const byoc_node_t *node) {
  const char *rule = node->callee != NULL ? composite(node->callee) : NULL;
  if (rule != NULL) count_match(claims, node->callee, rule);
  if (node->callee == NULL) count_claim(claims, node->op, false);
}

// ---- regions ----

static const char *reason_of(const claims_t *claims, const char *function) {
  for (size_t i = 0; i < claims->result->declined.count; ++i) {
    const byoc_declined_function_t *declined = &claims->result->declined.data[i];
    if (strcmp(declined->function, function) == 0) return declined->reason;
  }
  return NULL;
}

// Of the specimen whose region is called.
static const char *label_of(const trial_t *trial, const byoc_node_t *call) {
  int64_t index = -1;
  for (uint32_t r = 0; r < call->result_count && index < 0; ++r) index = specimen_of_name(call->results[r]->name);
  BYOC_FOR_EACH_NODE(node, call->callee->body) {
    if (index < 0) index = specimen_of_name(node->name);
  }
  const bool is_known = index >= 0 && (size_t)index < trial->specimens.items.count;
  return is_known ? trial->specimens.items.data[index]->label : call->callee->name;
}

static bool count_region(void *self, byoc_node_t *call) {
  claims_t *claims = self;
  const byoc_function_t *function = call->callee;
  if (function == NULL) return true;
  const char *compiler = byoc_attributes_string(&function->attributes, BYOC_ATTRIBUTE_COMPILER, "");
  if (strcmp(compiler, claims->trial->target->kind->name) != 0) return true;
  check_tried(claims->trial->check, 1);
  claims->label = label_of(claims->trial, call);
  claims->reason = reason_of(claims, function->name);
  if (composite(function) != NULL) {
    count_match(claims, function, composite(function));
    return true;
  }
  BYOC_FOR_EACH_NODE(node, function->body) {
    count_node(claims, node);
  }
  return true;
}

static void judge(const claims_t *claims) {
  check_t *check = claims->trial->check;
  for (size_t i = 0; i < claims->count; ++i) {
    const claim_t *claim = &claims->items[i];
    char how[64 + sizeof(claim->label) + sizeof(claim->reason)];
    snprintf(how, sizeof(how), "%zu of %zu regions with it, such as %s: %s", claim->given_back, claim->taken,
             claim->label, claim->reason);
    if (claim->given_back == 0) continue;
    if (claim->given_back < claim->taken) {
      check_property(check, "%s: generate gives back %s", claim->text, how);
    } else if (claim->is_match) {
      check_fail(check, "%s: accept takes it, and generate gives back %s: let accept decline it", claim->text, how);
    } else {
      check_warn(check,
                 "%s: accept takes it, and generate gives back %s: if no region can have it, let accept decline it",
                 claim->text, how);
    }
  }
}

// Both builds place the same graphs, so that their first regions have the same names.
static void keep(trial_t *trial) {
  byoc_diag_t diag = {0};
  trial_build_t placed, generated;
  trial_add_usual(trial, MOST_SPECIMENS);
  const size_t count = trial->specimens.items.count;
  check_doing(trial->check, "compiling %zu specimens for '%s'", count, trial->target->text);
  trial->counts_calls = true; // the regions are counted below
  check_ok(trial->check,
           trial_open(trial, 0, count, &trial->targets, (byoc_placer_t){0}, BYOC_BUILD_GENERATED,
                      byoc_allocator_system(), &diag, &generated),
           &diag, "compiling specimens of its rules");
  check_ok(trial->check,
           trial_open(trial, 0, count, &trial->targets, (byoc_placer_t){0}, BYOC_BUILD_PLACED, byoc_allocator_system(),
                      &diag, &placed),
           &diag, "placing specimens of its rules");
  trial->counts_calls = false;
  claims_t claims = {.trial = trial,
                     .items = check_allocate(trial->check, MOST_CLAIMS, sizeof(*claims.items)),
                     .result = &generated.build.result};
  (void)byoc_block_walk(byoc_graph_module_main(placed.module)->body, count_region, &claims);
  judge(&claims);
  trial_close(&placed);
  trial_close(&generated);
}

void check_rules_kept(check_t *check) {
  trial_each(check, NULL, false, keep);
}
