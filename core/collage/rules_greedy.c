// SPDX-License-Identifier: Apache-2.0
// Adds the regions of greedy claims by one target's rules: large regions that no enumeration reaches. With them among
// the candidates the cheapest plan is no worse than the greedy one.
#include "core/collage/claim_rule.h"
#include "core/collage/rules_internal.h"

typedef struct greedy_t {
  byoc_ruling_t *ruling;
  byoc_claims_t claims;
  uint32_t max_nodes; // the size that enumeration reaches
} greedy_t;

static byoc_status_t ask(void *self, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                         const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  const greedy_t *g = self;
  byoc_index_set_t set;
  BYOC_RETURN_IF_ERROR(byoc_ruling_set(g->ruling, nodes, node_count, &set));
  return byoc_ruling_ask(g->ruling, rule, &set, nodes, bindings, binding_count, out_accepted);
}

// The leaves in the order of the table.
static byoc_status_t claim_by(greedy_t *g, const byoc_partition_rule_t *rule) {
  byoc_ruling_t *r = g->ruling;
  const byoc_rule_claimer_t claimer = {
      .claims = &g->claims, .target = r->target, .arena = &r->list->arena, .diag = r->diag, .ask = ask, .self = g};
  bool is_leaf = rule->kind == BYOC_PARTITION_PATTERN || rule->kind == BYOC_PARTITION_BY_KIND;
  if (is_leaf && (rule->definition->flags & BYOC_RULE_BY_COST)) return BYOC_OK;
  if (is_leaf) return byoc_claim_by_rule(&claimer, rule->definition);
  for (uint32_t i = 0; i < rule->part_count; ++i) BYOC_RETURN_IF_ERROR(claim_by(g, rule->parts[i]));
  return BYOC_OK;
}

static byoc_status_t propose_regions(greedy_t *g, byoc_candidates_t *out) {
  byoc_ruling_t *r = g->ruling;
  for (size_t i = 0; i < g->claims.claims.count; ++i) {
    const byoc_claim_t *region = g->claims.claims.data[i];
    if (region->merged_into != NULL) continue;
    byoc_candidate_t candidate, *made = NULL;
    BYOC_RETURN_IF_ERROR(byoc_claims_candidate(&g->claims, region, &r->list->arena, r->diag, &candidate));
    BYOC_RETURN_IF_ERROR(byoc_ruling_propose(r, candidate, out, &made));
    BYOC_RETURN_IF_ERROR(byoc_ruling_cut(r, made, g->max_nodes, out));
  }
  return BYOC_OK;
}

byoc_status_t byoc_ruling_greedy(byoc_ruling_t *r, const byoc_partition_rule_t *rule, uint32_t max_nodes,
                                 byoc_candidates_t *out) {
  greedy_t g = {.ruling = r, .max_nodes = max_nodes};
  byoc_status_t status = byoc_claims_init(&g.claims, r->flow->block, r->allocator, r->diag);
  if (status == BYOC_OK) status = claim_by(&g, rule);
  if (status == BYOC_OK) status = byoc_claims_join_neighbours(&g.claims, NULL, r->diag);
  if (status == BYOC_OK) status = propose_regions(&g, out);
  byoc_claims_deinit(&g.claims);
  return status;
}
