// SPDX-License-Identifier: Apache-2.0
// Finds the region that one target's rules make of exactly the given nodes.
#include "core/collage/exact_region.h"

#include "core/collage/claim_rule.h"
#include "core/collage/constraint.h"
#include "core/collage/hook_claims.h"
#include "core/plugin/accept.h"

// Why a hook declined a region, by one of the region's nodes.
typedef struct decline_t {
  uint32_t node;
  const char *reason;
} decline_t;

typedef struct exact_t {
  byoc_exact_regions_t *regions;
  byoc_claims_t *claims;
  byoc_candidates_t *list;
  const byoc_target_t *target;
  const byoc_index_set_t *nodes;
  BYOC_VECTOR(decline_t) declines; // in the order in which hooks were asked
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
  if (*out_accepted) return BYOC_OK;
  const char *reason =
      byoc_arena_copy_string(&e->list->arena, region.reason[0] ? region.reason : "no reason was given");
  for (size_t i = 0; i < node_count && reason != NULL; ++i) {
    const decline_t decline = {byoc_numbering_get(&e->claims->flow.numbers, nodes[i]), reason};
    if (!byoc_vector_push(&e->declines, e->list->arena.allocator, decline)) reason = NULL;
  }
  return reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(e->diag);
}

// Why a hook declined the latest region with this node; NULL if none did.
static const char *find_decline(const exact_t *e, uint32_t node) {
  for (size_t i = e->declines.count; i-- > 0;) {
    if (e->declines.data[i].node == node) return e->declines.data[i].reason;
  }
  return NULL;
}

static byoc_status_t claim(exact_t *e) {
  const byoc_backend_t *backend = e->target->kind->backend;
  const byoc_rule_claimer_t claimer = {.claims = e->claims,
                                       .target = e->target,
                                       .within = e->nodes,
                                       .arena = &e->list->arena,
                                       .diag = e->diag,
                                       .ask = ask,
                                       .self = e};
  for (uint32_t r = 0; r < backend->rule_count; ++r) {
    BYOC_RETURN_IF_ERROR(byoc_claim_by_rule(&claimer, &backend->rules[r]));
  }
  return byoc_claims_join_neighbours(e->claims, e->nodes, e->diag);
}

// Why there is no region of all nodes: either no rule claims one of them, or they fall apart. NULL: out of memory.
static const char *find_reason(const exact_t *e) {
  char node[160];
  size_t region_count = 0;
  for (uint32_t i = 0; i < e->nodes->count; ++i) {
    uint32_t index = e->nodes->items[i];
    const byoc_claim_t *owner = byoc_claims_owner(e->claims, index);
    if (owner != NULL) {
      region_count += owner->nodes.data[0] == index;
      continue;
    }
    byoc_node_describe(e->regions->flow->nodes[index], node, sizeof(node));
    const char *why = byoc_target_may_take(e->target, e->regions->flow->nodes[index])
                          ? find_decline(e, index)
                          : "it may not be placed there at all";
    return why != NULL ? byoc_arena_format(&e->list->arena, "no rule claims %s: %s", node, why)
                       : byoc_arena_format(&e->list->arena, "no rule claims %s", node);
  }
  return byoc_arena_format(&e->list->arena,
                           "its rules make %zu regions of these nodes: they do not join, a path leaves them and comes "
                           "back, or a limit of nodes is passed",
                           region_count);
}

static byoc_status_t conclude(exact_t *e, byoc_candidate_t **out_candidate, const char **out_reason) {
  const byoc_claim_t *region = byoc_claims_owner(e->claims, e->nodes->items[0]);
  if (region != NULL && region->nodes.count == e->nodes->count) {
    byoc_candidate_t candidate;
    BYOC_RETURN_IF_ERROR(byoc_claims_candidate(e->claims, region, &e->list->arena, e->diag, &candidate));
    return byoc_candidates_add(e->list, &candidate, e->diag, out_candidate);
  }
  *out_reason = find_reason(e);
  return *out_reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(e->diag);
}

byoc_status_t byoc_exact_regions_init(byoc_exact_regions_t *regions, byoc_candidates_t *list,
                                      const byoc_dataflow_t *flow, byoc_diag_t *diag) {
  *regions = (byoc_exact_regions_t){.list = list, .flow = flow, .diag = diag};
  return byoc_claims_init(&regions->claims, flow->block, list->arena.allocator, diag);
}

void byoc_exact_regions_deinit(byoc_exact_regions_t *regions) {
  byoc_claims_deinit(&regions->claims);
}

byoc_status_t byoc_exact_region(byoc_exact_regions_t *regions, const byoc_target_t *target,
                                const byoc_index_set_t *nodes, byoc_candidate_t **out_candidate,
                                const char **out_reason) {
  *out_candidate = NULL;
  *out_reason = NULL;
  if (target->kind->backend == NULL) {
    *out_reason = "the native target takes nodes one by one";
    return BYOC_OK;
  }
  const byoc_hook_claims_t *claims = NULL;
  BYOC_RETURN_IF_ERROR(byoc_hook_claims_of(regions->list, regions->flow, target, regions->diag, &claims));
  const byoc_hook_claim_t *claimed = byoc_hook_claims_find(claims, nodes);
  if (claimed != NULL) {
    const byoc_candidate_t candidate = byoc_hook_claim_candidate(claimed, target);
    return byoc_candidates_add(regions->list, &candidate, regions->diag, out_candidate);
  }
  exact_t e = {.regions = regions,
               .claims = &regions->claims,
               .list = regions->list,
               .target = target,
               .nodes = nodes,
               .diag = regions->diag};
  byoc_status_t status = claim(&e);
  if (status == BYOC_OK) status = conclude(&e, out_candidate, out_reason);
  byoc_claims_release(&regions->claims, nodes);
  byoc_vector_deinit(&e.declines, e.list->arena.allocator);
  return status;
}
