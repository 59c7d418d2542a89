// SPDX-License-Identifier: Apache-2.0
// Claims nodes greedily, and joins the claims that may be joined.
#include "core/collage/greedy.h"

#include <stdio.h>

#include "core/collage/claim_rule.h"
#include "core/collage/hook_claims.h"
#include "core/collage/place.h"
#include "core/plugin/accept.h"

typedef struct greedy_t {
  byoc_claims_t claims;
  byoc_candidates_t *list;
  const byoc_target_t *target; // whose rules are being tried
  byoc_diag_t *diag;
} greedy_t;

// ---- claiming ----

static byoc_status_t note_decline(greedy_t *g, byoc_node_t *const *nodes, size_t count, const byoc_rule_t *rule,
                                  const char *reason) {
  byoc_index_set_t set;
  uint32_t *indices = byoc_allocate(g->claims.allocator, count, sizeof(*indices));
  for (size_t i = 0; i < count && indices != NULL; ++i)
    indices[i] = byoc_numbering_get(&g->claims.flow.numbers, nodes[i]);
  bool ok = indices != NULL && byoc_index_set_make(&g->list->arena, indices, count, &set);
  byoc_free(g->claims.allocator, indices);
  if (!ok) return byoc_diag_out_of_memory(g->diag);
  return byoc_candidates_refuse(g->list, &set, g->target->index, rule->name ? rule->name : "",
                                reason[0] ? reason : "no reason was given", g->diag);
}

// Did the rule propose the nodes to the search that asks for greedy claims, if there is one?
static bool is_candidate(const greedy_t *g, byoc_node_t *const *nodes, size_t count, const byoc_rule_t *rule) {
  for (size_t i = 0; i < g->list->items.count; ++i) {
    const byoc_candidate_t *candidate = g->list->items.data[i];
    bool is_same = candidate->definition == rule && candidate->target == g->target->index;
    is_same = is_same && candidate->nodes.count == count;
    for (size_t n = 0; n < count && is_same; ++n) {
      is_same = byoc_index_set_contains(&candidate->nodes, byoc_numbering_get(&g->claims.flow.numbers, nodes[n]));
    }
    if (is_same) return true;
  }
  return false;
}

static byoc_status_t ask(void *self, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                         const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  greedy_t *g = self;
  *out_accepted = true;
  byoc_region_t region = {.target = g->target,
                          .nodes = nodes,
                          .node_count = node_count,
                          .bindings = bindings,
                          .binding_count = binding_count};
  if (rule->accept != NULL) *out_accepted = byoc_hook_accept(rule, &region);
  if (!*out_accepted) return note_decline(g, nodes, node_count, rule, region.reason);
  if (!(rule->flags & BYOC_RULE_BY_COST)) return BYOC_OK;
  *out_accepted = false;
  if (is_candidate(g, nodes, node_count, rule)) return BYOC_OK;
  return note_decline(g, nodes, node_count, rule, "this rule is only for plans by cost (--plan=collage)");
}

// ---- claims of partition hooks ----

// Why the nodes cannot be one more region; NULL: all of them are free. The text is in `text`.
static const char *find_owner(const greedy_t *g, const byoc_index_set_t *nodes, char *text, size_t size) {
  char node[160];
  for (uint32_t i = 0; i < nodes->count; ++i) {
    const byoc_claim_t *owner = byoc_claims_owner(&g->claims, nodes->items[i]);
    if (owner == NULL) continue;
    byoc_node_describe(g->claims.nodes[nodes->items[i]], node, sizeof(node));
    snprintf(text, size, "its claim has %s, which '%s' of target '%s' has taken", node,
             owner->rule->name ? owner->rule->name : "", owner->target->kind->name);
    return text;
  }
  return NULL;
}

static byoc_status_t take_claim(greedy_t *g, const byoc_hook_claim_t *claim, byoc_node_t **nodes) {
  const size_t count = claim->nodes.count;
  char text[400];
  const char *why = find_owner(g, &claim->nodes, text, sizeof(text));
  byoc_claim_t *made = NULL;
  for (size_t i = 0; i < count; ++i) nodes[i] = g->claims.nodes[claim->nodes.items[i]];
  if (why == NULL) {
    bool is_accepted = false;
    BYOC_RETURN_IF_ERROR(ask(g, &claim->rule, nodes, count, NULL, 0, &is_accepted));
    if (!is_accepted) return BYOC_OK;
    BYOC_RETURN_IF_ERROR(byoc_claims_try(&g->claims, g->target, &claim->rule, nodes, count, g->diag, &made));
    if (made == NULL) why = "its claim and regions that were taken before would wait for each other in a circle";
  }
  // A search knows the claim, and may take it.
  if (why == NULL || is_candidate(g, nodes, count, &claim->rule)) return BYOC_OK;
  return note_decline(g, nodes, count, &claim->rule, why);
}

static byoc_status_t take_claims(greedy_t *g, const byoc_dataflow_t *flow) {
  const byoc_hook_claims_t *claims = NULL;
  BYOC_RETURN_IF_ERROR(byoc_hook_claims_of(g->list, flow, g->target, g->diag, &claims));
  if (claims->count == 0) return BYOC_OK;
  byoc_node_t **nodes = byoc_allocate(g->claims.allocator, g->claims.node_count, sizeof(byoc_node_t *));
  byoc_status_t status = nodes != NULL ? BYOC_OK : byoc_diag_out_of_memory(g->diag);
  for (size_t i = 0; i < claims->count && status == BYOC_OK; ++i) status = take_claim(g, &claims->items[i], nodes);
  byoc_free(g->claims.allocator, nodes);
  return status;
}

// ---- all rules ----

static byoc_status_t apply_rules(greedy_t *g, const byoc_dataflow_t *flow, const byoc_target_t *target) {
  const byoc_backend_t *backend = target->kind->backend;
  if (backend == NULL) return BYOC_OK; // the native target computes the other nodes
  g->target = target;
  BYOC_RETURN_IF_ERROR(take_claims(g, flow));
  const byoc_rule_claimer_t claimer = {
      .claims = &g->claims, .target = target, .arena = &g->list->arena, .diag = g->diag, .ask = ask, .self = g};
  for (uint32_t r = 0; r < backend->rule_count; ++r) {
    const byoc_rule_t *rule = &backend->rules[r];
    BYOC_RETURN_IF_ERROR_IN(g->diag, byoc_claim_by_rule(&claimer, rule), "target '%s', rule '%s'", target->kind->name,
                            rule->name ? rule->name : "");
  }
  return BYOC_OK;
}

static byoc_status_t propose_regions(greedy_t *g, byoc_choice_t *choice) {
  for (size_t n = 0; n < g->claims.node_count; ++n) {
    const byoc_claim_t *region = byoc_claims_owner(&g->claims, n);
    byoc_candidate_t candidate, *made = NULL;
    if (region == NULL || region->nodes.data[0] != n) continue;
    BYOC_RETURN_IF_ERROR(byoc_claims_candidate(&g->claims, region, &g->list->arena, g->diag, &candidate));
    BYOC_RETURN_IF_ERROR(byoc_candidates_add(g->list, &candidate, g->diag, &made));
    if (!byoc_vector_push(choice, g->claims.allocator, made->index)) return byoc_diag_out_of_memory(g->diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_greedy_claim(const byoc_dataflow_t *flow, const byoc_target_t *const *targets, size_t target_count,
                                byoc_candidates_t *list, byoc_diag_t *diag, byoc_choice_t *out_choice) {
  *out_choice = (byoc_choice_t){0};
  greedy_t g = {.list = list, .diag = diag};
  byoc_status_t status = byoc_claims_init(&g.claims, flow->block, list->arena.allocator, diag);
  for (size_t t = 0; t < target_count && status == BYOC_OK; ++t) status = apply_rules(&g, flow, targets[t]);
  if (status == BYOC_OK) status = byoc_claims_join_neighbours(&g.claims, NULL, diag);
  if (status == BYOC_OK) status = propose_regions(&g, out_choice);
  byoc_claims_deinit(&g.claims);
  if (status != BYOC_OK) byoc_vector_deinit(out_choice, list->arena.allocator);
  return status;
}
