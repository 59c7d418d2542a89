// SPDX-License-Identifier: Apache-2.0
// Asks partition hooks for claims and checks each of them.
#include "core/collage/hook_claims.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/collage/constraint.h"
#include "core/collage/subgraph.h"
#include "core/ir/describe.h"
#include "core/ir/virtual_device.h"
#include "core/plugin/partition_hook.h"

typedef struct checker_t {
  byoc_candidates_t *list;
  const byoc_dataflow_t *flow;
  const byoc_target_t *target;
  const bool *may_take; // by node
  byoc_subgraph_space_t space;
  BYOC_VECTOR(byoc_hook_claim_t) claims;
  BYOC_VECTOR(const char *) wrong;
  byoc_diag_t *diag;
} checker_t;

// ---- sentences ----

static void describe(const checker_t *c, uint32_t node, char text[160]) {
  byoc_node_describe(c->flow->nodes[node], text, 160);
}

// Keeps a sentence; NULL: out of memory.
static byoc_status_t note(checker_t *c, const char *sentence) {
  const bool ok = sentence != NULL && byoc_vector_push(&c->wrong, c->list->arena.allocator, sentence);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

static byoc_status_t note_wrong(checker_t *c, const char *name, const char *why) {
  const byoc_target_kind_t *kind = c->target->kind;
  if (why == NULL) return byoc_diag_out_of_memory(c->diag);
  return note(c, byoc_arena_format(&c->list->arena, "target '%s': the claim '%s' of its plugin '%s' %s is not used: %s",
                                   kind->name, name, kind->plugin_name, kind->plugin_version, why));
}

static byoc_status_t note_failure(checker_t *c, const byoc_diag_t *failure) {
  const byoc_target_kind_t *kind = c->target->kind;
  char reason[1024];
  byoc_diag_format(failure, reason, sizeof(reason));
  return note(c, byoc_arena_format(&c->list->arena,
                                   "target '%s' gets only what its rules match, because the claims of its plugin '%s' "
                                   "%s cannot be used: %s",
                                   kind->name, kind->plugin_name, kind->plugin_version, reason));
}

// ---- checking ----

static bool is_name(const char *name, const char *target) {
  const size_t size = strlen(target);
  bool valid = strncmp(name, target, size) == 0 && name[size] == '.' && name[size + 1] != '\0' && strlen(name) < 128;
  for (const char *c = name; *c != '\0' && valid; ++c) valid = isalnum((unsigned char)*c) || strchr("._-", *c) != NULL;
  return valid;
}

// Why the answer cannot be read as a set of nodes; NULL: it can. Fails if out of memory.
static byoc_status_t find_misuse(checker_t *c, const byoc_partition_answer_t *answer, const char **out_why) {
  byoc_arena_t *arena = &c->list->arena;
  const char *target = c->target->kind->name;
  *out_why = NULL;
  if (!is_name(answer->text, target)) {
    *out_why = byoc_arena_format(arena, "it is not named '%s.<what>', of letters, digits and ._-", target);
  } else if (answer->node_count == 0) {
    *out_why = "it has no nodes";
  } else if ((answer->flags & ~(uint32_t)(BYOC_RULE_PASS_CONSTANTS | BYOC_RULE_BY_COST)) != 0) {
    *out_why = byoc_arena_format(arena,
                                 "it has the flags 0x%x, but only BYOC_RULE_PASS_CONSTANTS and "
                                 "BYOC_RULE_BY_COST are for claims",
                                 (unsigned)answer->flags);
  } else {
    for (uint32_t i = 0; i < answer->node_count; ++i) {
      if (answer->nodes[i] != BYOC_NO_NUMBER) continue;
      *out_why = byoc_arena_format(arena,
                                   "node %u of the %u that it lists, counted from 0, is none of the block that "
                                   "the hook was asked about",
                                   (unsigned)i, (unsigned)answer->node_count);
      return *out_why != NULL ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
    }
    return BYOC_OK;
  }
  return *out_why != NULL ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

// Why the answer is more than its set of nodes; NULL: it lists each once.
static byoc_status_t find_repetition(checker_t *c, const byoc_partition_answer_t *answer, const char **out_why) {
  bool *seen = byoc_allocate(c->list->arena.allocator, c->flow->node_count, sizeof(*seen));
  char node[160];
  *out_why = NULL;
  if (seen == NULL) return byoc_diag_out_of_memory(c->diag);
  uint32_t i = 0;
  while (i < answer->node_count && !seen[answer->nodes[i]]) seen[answer->nodes[i++]] = true;
  byoc_free(c->list->arena.allocator, seen);
  if (i == answer->node_count) return BYOC_OK;
  describe(c, answer->nodes[i], node);
  *out_why = byoc_arena_format(&c->list->arena, "it overlaps itself: it lists %s twice", node);
  return *out_why != NULL ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

// Why the set is not convex; NULL: it is.
static byoc_status_t find_detour(checker_t *c, const byoc_index_set_t *nodes, const char **out_why) {
  byoc_subgraph_detour_t detour;
  char left[160], through[160], back[160];
  *out_why = NULL;
  if (!byoc_subgraph_detour(&c->space, nodes, &detour)) return BYOC_OK;
  describe(c, detour.left, left);
  describe(c, detour.through, through);
  describe(c, detour.back, back);
  *out_why = byoc_arena_format(&c->list->arena,
                               "it closes a cycle: a path leaves it behind %s and comes back to %s "
                               "through %s, which it does not list",
                               left, back, through);
  return *out_why != NULL ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

// Why the target may not have the nodes; NULL: it may. This is no mistake of the hook.
static byoc_status_t find_refusal(const checker_t *c, const byoc_index_set_t *nodes, const char **out_why) {
  char node[160];
  *out_why = NULL;
  for (uint32_t i = 0; i < nodes->count && *out_why == NULL; ++i) {
    const uint32_t n = nodes->items[i];
    if (!byoc_nodes_share_device(c->flow->nodes[nodes->items[0]], c->flow->nodes[n])) {
      *out_why = "the nodes of this claim are on different devices";
    }
    if (c->may_take[n]) continue;
    describe(c, n, node);
    *out_why = byoc_arena_format(&c->list->arena, "its claim has %s, which it may not take", node);
    if (*out_why == NULL) return byoc_diag_out_of_memory(c->diag);
  }
  return BYOC_OK;
}

static byoc_status_t check_claim(checker_t *c, const byoc_partition_answer_t *answer) {
  const char *why = NULL;
  byoc_hook_claim_t claim = {
      .rule = {.header = BYOC_HEADER(byoc_rule_t, 1), .name = answer->text, .flags = answer->flags}};
  BYOC_RETURN_IF_ERROR(find_misuse(c, answer, &why));
  if (why == NULL) BYOC_RETURN_IF_ERROR(find_repetition(c, answer, &why));
  if (why != NULL) return note_wrong(c, answer->text, why);
  if (!byoc_index_set_make(&c->list->arena, answer->nodes, answer->node_count, &claim.nodes)) {
    return byoc_diag_out_of_memory(c->diag);
  }
  BYOC_RETURN_IF_ERROR(find_detour(c, &claim.nodes, &why));
  if (why != NULL) return note_wrong(c, answer->text, why);
  BYOC_RETURN_IF_ERROR(find_refusal(c, &claim.nodes, &why));
  if (why != NULL) {
    return byoc_candidates_refuse(c->list, &claim.nodes, c->target->index, answer->text, why, c->diag);
  }
  return byoc_vector_push(&c->claims, c->list->arena.allocator, claim) ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

static byoc_status_t take_decline(checker_t *c, const byoc_partition_answer_t *answer) {
  byoc_index_set_t set;
  if (!byoc_index_set_make(&c->list->arena, answer->nodes, 1, &set)) return byoc_diag_out_of_memory(c->diag);
  return byoc_candidates_refuse(c->list, &set, c->target->index, "partition hook", answer->text, c->diag);
}

// ---- asking ----

typedef byoc_status_t (*hook_t)(const byoc_target_t *target, const byoc_partition_block_t *block, byoc_arena_t *arena,
                                byoc_diag_t *diag, byoc_partition_answers_t *out_answers);

static byoc_status_t ask(checker_t *c, hook_t hook) {
  const byoc_dataflow_t *flow = c->flow;
  bool *may_take = BYOC_ARENA_ARRAY(&c->list->arena, bool, flow->node_count);
  if (may_take == NULL) return byoc_diag_out_of_memory(c->diag);
  for (uint32_t n = 0; n < flow->node_count; ++n) may_take[n] = byoc_target_may_take(c->target, flow->nodes[n]);
  c->may_take = may_take;
  const byoc_partition_block_t block = {.function = flow->block->function,
                                        .nodes = flow->nodes,
                                        .node_count = flow->node_count,
                                        .numbers = &flow->numbers,
                                        .may_take = may_take};
  byoc_partition_answers_t answers;
  byoc_diag_t why = {0};
  const byoc_status_t status = hook(c->target, &block, &c->list->arena, &why, &answers);
  if (status == BYOC_CANCELLED || status == BYOC_OUT_OF_MEMORY) return byoc_diag_adopt(c->diag, &why);
  if (status != BYOC_OK) return note_failure(c, &why);
  for (size_t i = 0; i < answers.count; ++i) {
    const byoc_partition_answer_t *answer = &answers.items[i];
    BYOC_RETURN_IF_ERROR(answer->is_decline ? take_decline(c, answer) : check_claim(c, answer));
  }
  return BYOC_OK;
}

// Copies what was found into the list's arena.
static byoc_status_t conclude(const checker_t *c, const byoc_hook_claims_t **out_claims) {
  byoc_arena_t *arena = &c->list->arena;
  byoc_hook_claims_t *made = BYOC_ARENA_NEW(arena, byoc_hook_claims_t);
  if (made == NULL) return byoc_diag_out_of_memory(c->diag);
  *made =
      (byoc_hook_claims_t){.target = c->target->index,
                           .items = byoc_arena_copy(arena, c->claims.data, c->claims.count * sizeof(*c->claims.data)),
                           .count = c->claims.count,
                           .wrong = byoc_arena_copy(arena, c->wrong.data, c->wrong.count * sizeof(*c->wrong.data)),
                           .wrong_count = c->wrong.count};
  *out_claims = made;
  const bool ok = (made->items != NULL || made->count == 0) && (made->wrong != NULL || made->wrong_count == 0);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

static byoc_status_t find_claims(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                 hook_t hook, byoc_diag_t *diag, const byoc_hook_claims_t **out_claims) {
  const byoc_backend_t *backend = target->kind->backend;
  const bool has_hook = backend != NULL && backend->partition != NULL && flow->node_count > 0;
  checker_t c = {.list = list, .flow = flow, .target = target, .diag = diag};
  BYOC_RETURN_IF_ERROR(byoc_subgraph_space_init(&c.space, flow, list->arena.allocator, diag));
  byoc_status_t status = has_hook ? ask(&c, hook) : BYOC_OK;
  if (status == BYOC_OK) status = conclude(&c, out_claims);
  byoc_vector_deinit(&c.claims, list->arena.allocator);
  byoc_vector_deinit(&c.wrong, list->arena.allocator);
  byoc_subgraph_space_deinit(&c.space);
  return status;
}

byoc_status_t byoc_hook_claims_of(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                  byoc_diag_t *diag, const byoc_hook_claims_t **out_claims) {
  static const byoc_hook_claims_t none = {0};
  const byoc_backend_t *backend = target->kind->backend;
  *out_claims = &none;
  if (backend == NULL || backend->partition == NULL) return BYOC_OK;
  for (const byoc_hook_claims_t *known = list->hook_claims; known != NULL; known = known->next) {
    if (known->target != target->index) continue;
    *out_claims = known;
    return BYOC_OK;
  }
  const byoc_hook_claims_t *found = NULL;
  BYOC_RETURN_IF_ERROR(find_claims(list, flow, target, byoc_hook_partition, diag, &found));
  byoc_hook_claims_t *kept = byoc_arena_copy(&list->arena, found, sizeof(*found));
  if (kept == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < kept->wrong_count; ++i) byoc_log(BYOC_LOG_WARNING, "%s", kept->wrong[i]);
  kept->next = list->hook_claims;
  list->hook_claims = kept;
  *out_claims = kept;
  return BYOC_OK;
}

byoc_status_t byoc_hook_claims_here(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                    byoc_diag_t *diag, const byoc_hook_claims_t **out_claims) {
  return find_claims(list, flow, target, byoc_hook_partition_here, diag, out_claims);
}

const byoc_hook_claim_t *byoc_hook_claims_find(const byoc_hook_claims_t *claims, const byoc_index_set_t *nodes) {
  for (size_t i = 0; i < claims->count; ++i) {
    if (byoc_index_set_equal(&claims->items[i].nodes, nodes)) return &claims->items[i];
  }
  return NULL;
}

byoc_candidate_t byoc_hook_claim_candidate(const byoc_hook_claim_t *claim, const byoc_target_t *target) {
  return (byoc_candidate_t){.nodes = claim->nodes,
                            .target = target->index,
                            .place = target->index,
                            .rule = claim->rule.name,
                            .definition = &claim->rule,
                            .is_primitive = true,
                            .cost_ns = (double)NAN};
}
