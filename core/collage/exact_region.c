// Finds the region that one target's rules make of exactly the given nodes.
#include "core/collage/exact_region.h"

#include "core/collage/claim_rule.h"
#include "core/collage/constraint.h"
#include "core/plugin/hook.h"

typedef struct exact_t {
  byoc_claims_t claims;
  byoc_candidates_t *list;
  const byoc_dataflow_t *flow;
  const byoc_target_t *target;
  const byoc_index_set_t *nodes;
  char declined[256]; // the latest reason of a hook; empty: none declined
  byoc_diag_t *diag;
} exact_t;

static byoc_status_t ask(void *self, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                         const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  exact_t *e = self;
  *out_accepted = true;
  if (rule->accept == NULL) return BYOC_OK;
  byoc_region_t region = {.target = e->target,
                          .nodes = nodes,
                          .node_count = node_count,
                          .bindings = bindings,
                          .binding_count = binding_count};
  *out_accepted = byoc_hook_accept(rule, &region);
  if (!*out_accepted) {
    snprintf(e->declined, sizeof(e->declined), "%s", region.reason[0] ? region.reason : "no reason was given");
  }
  return BYOC_OK;
}

static byoc_status_t claim(exact_t *e) {
  const byoc_backend_t *backend = e->target->kind->backend;
  const byoc_rule_claimer_t claimer = {.claims = &e->claims,
                                       .target = e->target,
                                       .within = e->nodes,
                                       .arena = &e->list->arena,
                                       .diag = e->diag,
                                       .ask = ask,
                                       .self = e};
  for (uint32_t r = 0; r < backend->rule_count; ++r) {
    BYOC_RETURN_IF_ERROR(byoc_claim_by_rule(&claimer, &backend->rules[r]));
  }
  return byoc_claims_join_neighbours(&e->claims, e->diag);
}

// Why there is no region of all nodes: either no rule takes one of them, or they fall apart. NULL: out of memory.
static const char *find_reason(const exact_t *e) {
  char node[160];
  size_t region_count = 0;
  for (uint32_t i = 0; i < e->nodes->count; ++i) {
    uint32_t index = e->nodes->items[i];
    const byoc_claim_t *owner = byoc_claims_owner(&e->claims, index);
    if (owner != NULL) {
      region_count += owner->nodes.data[0] == index;
      continue;
    }
    byoc_dataflow_describe(e->flow, index, node, sizeof(node));
    const char *why =
        byoc_target_may_take(e->target, e->flow->nodes[index]) ? e->declined : "it may not be placed there at all";
    return why[0] != '\0' ? byoc_arena_format(&e->list->arena, "no rule takes %s: %s", node, why)
                          : byoc_arena_format(&e->list->arena, "no rule takes %s", node);
  }
  return byoc_arena_format(&e->list->arena,
                           "its rules make %zu regions of these nodes: they do not join, a path leaves them and comes "
                           "back, or a limit of nodes is passed",
                           region_count);
}

static byoc_status_t conclude(exact_t *e, byoc_candidate_t **out_candidate, const char **out_reason) {
  const byoc_claim_t *region = byoc_claims_owner(&e->claims, e->nodes->items[0]);
  if (region != NULL && region->nodes.count == e->nodes->count) {
    byoc_candidate_t candidate;
    BYOC_RETURN_IF_ERROR(byoc_claims_candidate(&e->claims, region, &e->list->arena, e->diag, &candidate));
    return byoc_candidates_add(e->list, &candidate, e->diag, out_candidate);
  }
  *out_reason = find_reason(e);
  return *out_reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(e->diag);
}

byoc_status_t byoc_exact_region(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                const byoc_index_set_t *nodes, byoc_diag_t *diag, byoc_candidate_t **out_candidate,
                                const char **out_reason) {
  *out_candidate = NULL;
  *out_reason = NULL;
  exact_t e = {.list = list, .flow = flow, .target = target, .nodes = nodes, .diag = diag};
  if (target->kind->backend == NULL) {
    *out_reason = "the native target takes nodes one by one";
    return BYOC_OK;
  }
  byoc_status_t status = byoc_claims_init(&e.claims, flow->block, list->arena.allocator, diag);
  if (status == BYOC_OK) status = claim(&e);
  if (status == BYOC_OK) status = conclude(&e, out_candidate, out_reason);
  byoc_claims_deinit(&e.claims);
  return status;
}
