// What greedy placement would make of one target's rules: large regions that no enumeration reaches. Having them among
// the candidates makes the cheapest plan no worse than the greedy one.
#include "core/collage/claims.h"
#include "core/collage/rules_internal.h"
#include "core/plugin/pattern.h"

typedef struct greedy_t {
  byoc_ruling_t *ruling;
  byoc_claims_t claims;
} greedy_t;

static bool is_free(void *self, const byoc_node_t *node) {
  const greedy_t *g = self;
  return byoc_claims_owner(&g->claims, node->mark) == NULL && byoc_ruling_may_take(g->ruling, node);
}

// Asks, and claims where the answer is yes.
static byoc_status_t claim(greedy_t *g, const byoc_rule_t *definition, byoc_node_t *const *nodes, size_t count,
                           const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  byoc_ruling_t *r = g->ruling;
  byoc_index_set_t set;
  byoc_claim_t *claim = NULL;
  BYOC_RETURN_IF_ERROR(byoc_ruling_set(r, nodes, count, &set));
  BYOC_RETURN_IF_ERROR(byoc_ruling_ask(r, definition, &set, nodes, bindings, binding_count, out_accepted));
  return *out_accepted ? byoc_claims_add(&g->claims, r->target, definition, nodes, count, r->diag, &claim) : BYOC_OK;
}

typedef struct claimer_t {
  greedy_t *greedy;
  const byoc_rule_t *definition;
  byoc_status_t status;
} claimer_t;

// The first way to match that the hook accepts is the one.
static bool claim_match(void *self, const byoc_match_t *match) {
  claimer_t *c = self;
  bool accepted = false;
  c->status = claim(c->greedy, c->definition, match->nodes.data, match->nodes.count, match->bindings.data,
                    match->bindings.count, &accepted);
  return accepted || c->status != BYOC_OK;
}

static byoc_status_t claim_matches(greedy_t *g, const byoc_partition_rule_t *rule) {
  byoc_ruling_t *r = g->ruling;
  const byoc_pattern_t *pattern = NULL;
  BYOC_RETURN_IF_ERROR(byoc_pattern_parse(rule->definition->pattern, rule->name, &r->list->arena, r->diag, &pattern));
  byoc_match_t match;
  byoc_match_init(&match, r->allocator);
  claimer_t claimer = {.greedy = g, .definition = rule->definition};
  for (uint32_t n = r->flow->node_count; n-- > 0 && claimer.status == BYOC_OK;) { // from the results upwards
    bool failed = false;
    if (!is_free(g, r->flow->nodes[n])) continue;
    byoc_pattern_match_each(pattern, r->flow->nodes[n], is_free, g, &match, claim_match, &claimer, &failed);
    if (failed) claimer.status = byoc_diag_out_of_memory(r->diag);
  }
  byoc_match_deinit(&match);
  return claimer.status;
}

static byoc_status_t claim_nodes(greedy_t *g, const byoc_partition_rule_t *rule) {
  for (uint32_t n = 0; n < g->ruling->flow->node_count; ++n) {
    byoc_node_t *node = g->ruling->flow->nodes[n];
    if (!is_free(g, node) || !byoc_rule_lists(rule->definition, node)) continue;
    bool accepted = false;
    BYOC_RETURN_IF_ERROR(claim(g, rule->definition, &node, 1, NULL, 0, &accepted));
  }
  return BYOC_OK;
}

// The leaves in the order of the table.
static byoc_status_t claim_by(greedy_t *g, const byoc_partition_rule_t *rule) {
  if (rule->kind == BYOC_PARTITION_PATTERN) return claim_matches(g, rule);
  if (rule->kind == BYOC_PARTITION_BY_KIND) return claim_nodes(g, rule);
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
  }
  return BYOC_OK;
}

byoc_status_t byoc_ruling_greedy(byoc_ruling_t *r, const byoc_partition_rule_t *rule, byoc_candidates_t *out) {
  greedy_t g = {.ruling = r};
  byoc_status_t status = byoc_claims_init(&g.claims, r->flow->block, r->allocator, r->diag);
  if (status == BYOC_OK) status = claim_by(&g, rule);
  if (status == BYOC_OK) status = byoc_claims_join_neighbours(&g.claims, r->diag);
  if (status == BYOC_OK) status = propose_regions(&g, out);
  byoc_claims_deinit(&g.claims);
  return status;
}
