// SPDX-License-Identifier: Apache-2.0
// A rule about the sub-graphs that a plugin claims by its partition hook.
#include <string.h>

#include "core/collage/hook_claims.h"
#include "core/collage/problem.h"
#include "tools/plugin_check/trial.h"

enum { MOST_SPECIMENS = 40 };

typedef struct asker_t {
  trial_t *trial;
  size_t claim_count;
} asker_t;

static bool same_claim(const byoc_hook_claim_t *a, const byoc_hook_claim_t *b) {
  return a->rule.flags == b->rule.flags && strcmp(a->rule.name, b->rule.name) == 0 &&
         byoc_index_set_equal(&a->nodes, &b->nodes);
}

static bool same_refusals(const byoc_candidates_t *a, const byoc_candidates_t *b) {
  bool same = a->refusals.count == b->refusals.count;
  for (size_t i = 0; i < a->refusals.count && same; ++i) {
    const byoc_refusal_t *one = &a->refusals.data[i], *other = &b->refusals.data[i];
    same = byoc_index_set_equal(&one->nodes, &other->nodes) && strcmp(one->reason, other->reason) == 0;
  }
  return same;
}

// Notes the first difference between two answers about a block.
static void compare(const asker_t *asker, const char *block, const byoc_hook_claims_t *first,
                    const byoc_hook_claims_t *again) {
  check_t *check = asker->trial->check;
  const char *kind = asker->trial->target->kind->name;
  if (first->count != again->count) {
    check_fail(check, "'%s' claims %zu sub-graphs of '%s', and %zu if it is asked again", kind, first->count, block,
               again->count);
    return;
  }
  for (size_t i = 0; i < first->count; ++i) {
    if (same_claim(&first->items[i], &again->items[i])) continue;
    check_fail(check, "claim %zu of '%s' in '%s', '%s' of %u nodes, is '%s' of %u nodes if it is asked again", i, kind,
               block, first->items[i].rule.name, (unsigned)first->items[i].nodes.count, again->items[i].rule.name,
               (unsigned)again->items[i].nodes.count);
    return;
  }
}

static byoc_status_t ask_about(asker_t *asker, const byoc_problem_t *problem, byoc_candidates_t lists[2],
                               byoc_diag_t *diag) {
  const trial_t *trial = asker->trial;
  const byoc_hook_claims_t *answers[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_hook_claims_here(&lists[i], &problem->flow, trial->target, diag, &answers[i]));
  }
  for (size_t i = 0; i < answers[0]->wrong_count; ++i) check_fail(trial->check, "%s", answers[0]->wrong[i]);
  compare(asker, problem->name, answers[0], answers[1]);
  if (!same_refusals(&lists[0], &lists[1])) {
    check_fail(trial->check, "'%s' gives other reasons why it claims no more of '%s' if it is asked again",
               trial->target->kind->name, problem->name);
  }
  asker->claim_count += answers[0]->count;
  return BYOC_OK;
}

// Places greedily what the hook was asked about before.
static byoc_status_t place(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                           byoc_diag_t *diag, byoc_placement_t *placement) {
  asker_t *asker = self;
  byoc_problems_t problems;
  BYOC_RETURN_IF_ERROR(byoc_problems_find(module, module->allocator, diag, &problems));
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < problems.items.count && status == BYOC_OK; ++i) {
    byoc_candidates_t lists[2];
    for (int k = 0; k < 2; ++k) byoc_candidates_init(&lists[k], module->allocator);
    status = ask_about(asker, &problems.items.data[i], lists, diag);
    for (int k = 0; k < 2; ++k) byoc_candidates_deinit(&lists[k]);
  }
  byoc_problems_deinit(&problems);
  return status == BYOC_OK ? byoc_place_greedy(module, targets, diag, placement) : status;
}

static void claim(trial_t *trial) {
  byoc_diag_t diag = {0};
  asker_t asker = {.trial = trial};
  trial_build_t built;
  if (trial->target->kind->backend->partition == NULL) {
    check_property(trial->check, "'%s' claims no sub-graphs beside its rules", trial->target->kind->name);
    return;
  }
  trial_add_usual(trial, MOST_SPECIMENS);
  check_ok(trial->check,
           trial_open(trial, 0, trial->specimens.items.count, &trial->targets,
                      (byoc_placer_t){.self = &asker, .place = place, .strategy = "greedy"}, BYOC_BUILD_PLACED,
                      byoc_allocator_system(), &diag, &built),
           &diag, "placing specimens of its rules");
  check_property(trial->check, "%s claims %zu sub-graphs of specimens", trial->target->kind->name, asker.claim_count);
  trial_close(&built);
}

void check_place_claims(check_t *check) {
  trial_each(check, NULL, false, claim);
}
