// SPDX-License-Identifier: Apache-2.0
// Builds the tree of rules of a target and applies it.
#include "core/collage/rules.h"

#include "core/collage/hook_claims.h"
#include "core/collage/rules_internal.h"
#include "core/ir/virtual_device.h"

// ---- applying ----

static byoc_status_t propose_each_node(byoc_ruling_t *r, const byoc_partition_rule_t *rule, byoc_candidates_t *out) {
  for (uint32_t node = 0; node < r->flow->node_count; ++node) {
    byoc_candidate_t candidate = {.rule = rule->name}, *made = NULL;
    if (!byoc_index_set_make(&r->list->arena, &node, 1, &candidate.nodes)) return byoc_diag_out_of_memory(r->diag);
    BYOC_RETURN_IF_ERROR(byoc_ruling_propose(r, candidate, out, &made));
  }
  return BYOC_OK;
}

static bool shares_place(const byoc_ruling_t *r, const byoc_index_set_t *nodes) {
  for (uint32_t i = 1; i < nodes->count; ++i) {
    if (!byoc_nodes_share_device(r->flow->nodes[nodes->items[0]], r->flow->nodes[nodes->items[i]])) return false;
  }
  return true;
}

// Copies the candidates that the rule lets through from one list to the other.
static byoc_status_t pass_on(byoc_ruling_t *r, const byoc_partition_rule_t *rule, const byoc_candidates_t *from,
                             byoc_candidates_t *out) {
  for (size_t i = 0; i < from->items.count; ++i) {
    byoc_candidate_t candidate = *from->items.data[i], *made = NULL;
    if (rule->kind == BYOC_PARTITION_COMPOSITE && candidate.definition)
      candidate.composite = candidate.definition->name;
    if (rule->kind == BYOC_PARTITION_PRIMITIVE) candidate.is_primitive = true;
    if (rule->kind == BYOC_PARTITION_ONLY_VALID) {
      byoc_subgraph_t graph;
      byoc_arena_reset(&r->scratch);
      if (!byoc_subgraph_make(&r->space, &r->scratch, &candidate.nodes, &graph))
        return byoc_diag_out_of_memory(r->diag);
      const char *reason = shares_place(r, &candidate.nodes) ? byoc_subgraph_invalid(&r->space, &graph, &rule->limits)
                                                             : "its nodes are on different devices";
      if (reason != NULL) {
        BYOC_RETURN_IF_ERROR(byoc_candidates_refuse(r->list, &candidate.nodes, candidate.target,
                                                    candidate.rule ? candidate.rule : "", reason, r->diag));
        continue;
      }
    }
    BYOC_RETURN_IF_ERROR(byoc_candidates_add(out, &candidate, r->diag, &made));
  }
  return BYOC_OK;
}

// Applies a rule; its proposals go to `out`, a temporary list.
static byoc_status_t apply(byoc_ruling_t *r, const byoc_partition_rule_t *rule, byoc_candidates_t *out) {
  switch (rule->kind) {
  case BYOC_PARTITION_PATTERN:
    return byoc_ruling_match(r, rule, out);
  case BYOC_PARTITION_BY_KIND:
    return byoc_ruling_group(r, rule, out);
  case BYOC_PARTITION_HOST:
    return propose_each_node(r, rule, out);
  case BYOC_PARTITION_LAYOUT:
    return byoc_ruling_layout(r, rule, out);
  case BYOC_PARTITION_COMBINE:
    for (uint32_t i = 0; i < rule->part_count; ++i) BYOC_RETURN_IF_ERROR(apply(r, rule->parts[i], out));
    return byoc_ruling_combine(r, rule, out);
  case BYOC_PARTITION_UNION:
  case BYOC_PARTITION_COMPOSITE:
  case BYOC_PARTITION_PRIMITIVE:
  case BYOC_PARTITION_ONLY_VALID:
    break;
  }
  byoc_candidates_t below;
  byoc_candidates_init(&below, r->allocator);
  byoc_status_t status = BYOC_OK;
  for (uint32_t i = 0; i < rule->part_count && status == BYOC_OK; ++i) {
    status = apply(r, rule->parts[i], &below);
  }
  if (status == BYOC_OK) status = pass_on(r, rule, &below, out);
  byoc_candidates_deinit(&below);
  return status;
}

// The result goes into the caller's list.
static byoc_status_t keep_all(byoc_ruling_t *r, const byoc_candidates_t *from) {
  for (size_t i = 0; i < from->items.count; ++i) {
    byoc_candidate_t *made = NULL;
    BYOC_RETURN_IF_ERROR(byoc_candidates_add(r->list, from->items.data[i], r->diag, &made));
  }
  return BYOC_OK;
}

// `enumerated`: the number of nodes that enumeration reaches; larger greedy regions are proposed too. 0: none are.
static byoc_status_t apply_for(const byoc_partition_rule_t *rule, const byoc_target_t *target, uint32_t enumerated,
                               const byoc_dataflow_t *flow, byoc_candidates_t *list, byoc_diag_t *diag) {
  byoc_ruling_t r;
  byoc_candidates_t made;
  byoc_candidates_init(&made, list->arena.allocator);
  byoc_status_t status = byoc_ruling_init(&r, target, flow, list, diag);
  if (status == BYOC_OK) status = apply(&r, rule, &made);
  if (status == BYOC_OK && enumerated > 0) status = byoc_ruling_greedy(&r, rule, enumerated, &made);
  if (status == BYOC_OK) status = keep_all(&r, &made);
  byoc_ruling_deinit(&r);
  byoc_candidates_deinit(&made);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_context(diag, status, "candidates of target '%s'", target->kind->name);
}

// ---- rules of a target ----

static const byoc_partition_rule_t *new_rule(byoc_arena_t *arena, byoc_partition_rule_t rule,
                                             const byoc_partition_rule_t *part) {
  const byoc_partition_rule_t **parts = BYOC_ARENA_ARRAY(arena, const byoc_partition_rule_t *, 1);
  if (parts == NULL) return NULL;
  if (part != NULL) {
    parts[0] = part;
    rule.parts = parts;
    rule.part_count = 1;
  }
  return byoc_arena_copy(arena, &rule, sizeof(rule));
}

// One row of a backend's table.
static const byoc_partition_rule_t *rule_of_row(const byoc_rule_t *row, const byoc_collect_options_t *options,
                                                byoc_arena_t *arena) {
  byoc_partition_rule_t leaf = {.kind = row->pattern ? BYOC_PARTITION_PATTERN : BYOC_PARTITION_BY_KIND,
                                .name = row->name ? row->name : "",
                                .definition = row,
                                .limits = {.max_nodes = options->max_nodes, .max_depth = options->max_depth},
                                .max_each = options->max_each};
  if (row->max_nodes > 0 && row->max_nodes < leaf.limits.max_nodes) leaf.limits.max_nodes = row->max_nodes;
  const byoc_partition_rule_t *rule = new_rule(arena, leaf, NULL);
  if (rule == NULL || row->pattern == NULL) return rule;
  return new_rule(arena, (byoc_partition_rule_t){.kind = BYOC_PARTITION_COMPOSITE}, rule);
}

// The native target's rule, which also decides about layout changes.
static const byoc_partition_rule_t *with_layouts(const byoc_target_t *target, const byoc_partition_rule_t *rule,
                                                 byoc_arena_t *arena) {
  const byoc_partition_rule_t **both = BYOC_ARENA_ARRAY(arena, const byoc_partition_rule_t *, 2);
  byoc_partition_rule_t layout = {.kind = BYOC_PARTITION_LAYOUT,
                                  .name = byoc_arena_format(arena, "%s.layout", target->kind->name)};
  if (both == NULL || layout.name == NULL) return NULL;
  both[0] = rule;
  both[1] = new_rule(arena, layout, NULL);
  if (both[1] == NULL) return NULL;
  return new_rule(arena, (byoc_partition_rule_t){.kind = BYOC_PARTITION_UNION, .parts = both, .part_count = 2}, NULL);
}

byoc_collect_options_t byoc_collect_limits(const byoc_collect_options_t *options) {
  byoc_collect_options_t limits = options != NULL ? *options : (byoc_collect_options_t){0};
  if (limits.max_nodes == 0) limits.max_nodes = BYOC_COLLECT_NODES;
  if (limits.max_depth == 0) limits.max_depth = BYOC_COLLECT_DEPTH;
  if (limits.max_each == 0) limits.max_each = 2 * limits.max_nodes;
  return limits;
}

// Makes the tree for a target from its backend's table; for the native one, combine(host). The tree is in `arena`, and
// so are the copies of the table's rows that candidates refer to.
static byoc_status_t rule_for_target(const byoc_target_t *target, const byoc_collect_options_t *options,
                                     byoc_arena_t *arena, byoc_diag_t *diag, const byoc_partition_rule_t **out_rule) {
  const byoc_collect_options_t limits = byoc_collect_limits(options);
  byoc_partition_rule_t combine = {.kind = BYOC_PARTITION_COMBINE,
                                   .limits = {.max_nodes = limits.max_nodes, .max_depth = limits.max_depth},
                                   .max_each = limits.max_each,
                                   .combine = BYOC_COMBINE_MERGE};
  const byoc_backend_t *backend = target->kind->backend;
  const byoc_partition_rule_t *rule = NULL;
  if (backend == NULL) {
    char *name = byoc_arena_format(arena, "%s.host", target->kind->name);
    if (name != NULL) rule = new_rule(arena, (byoc_partition_rule_t){.kind = BYOC_PARTITION_HOST, .name = name}, NULL);
    combine.combine = BYOC_COMBINE_ELEMENTWISE | BYOC_COMBINE_REDUCTION | BYOC_COMBINE_TUPLE | BYOC_COMBINE_CONSTANT;
  } else {
    const byoc_partition_rule_t **rows = BYOC_ARENA_ARRAY(arena, const byoc_partition_rule_t *, backend->rule_count);
    if (rows == NULL) return byoc_diag_out_of_memory(diag);
    for (uint32_t i = 0; i < backend->rule_count; ++i) {
      rows[i] = rule_of_row(&backend->rules[i], &limits, arena);
      if (rows[i] == NULL) return byoc_diag_out_of_memory(diag);
    }
    byoc_partition_rule_t all = {.kind = BYOC_PARTITION_UNION, .parts = rows, .part_count = backend->rule_count};
    rule = new_rule(arena, all, NULL);
  }
  if (rule != NULL) rule = new_rule(arena, combine, rule);
  if (rule != NULL && backend == NULL) rule = with_layouts(target, rule, arena);
  byoc_partition_rule_t valid = {.kind = BYOC_PARTITION_ONLY_VALID, .limits = {.allow_taps = true}};
  if (rule != NULL) rule = new_rule(arena, valid, rule);
  // The native target's nodes are not outlined: its lowering fuses by itself.
  if (rule != NULL && backend != NULL) {
    rule = new_rule(arena, (byoc_partition_rule_t){.kind = BYOC_PARTITION_PRIMITIVE}, rule);
  }
  *out_rule = rule;
  return rule ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The claims of the target's partition hook.
static byoc_status_t collect_claims(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                    byoc_diag_t *diag) {
  const byoc_hook_claims_t *claims = NULL;
  BYOC_RETURN_IF_ERROR(byoc_hook_claims_of(list, flow, target, diag, &claims));
  for (size_t i = 0; i < claims->count; ++i) {
    const byoc_candidate_t candidate = byoc_hook_claim_candidate(&claims->items[i], target);
    byoc_candidate_t *made = NULL;
    BYOC_RETURN_IF_ERROR(byoc_candidates_add(list, &candidate, diag, &made));
  }
  return BYOC_OK;
}

byoc_status_t byoc_candidates_collect(byoc_candidates_t *list, const byoc_dataflow_t *flow,
                                      const byoc_target_list_t *targets, const byoc_collect_options_t *options,
                                      byoc_diag_t *diag) {
  for (size_t t = 0; t < targets->targets.count; ++t) {
    const byoc_target_t *target = targets->targets.data[t];
    const byoc_partition_rule_t *rule = NULL;
    BYOC_RETURN_IF_ERROR(rule_for_target(target, options, &list->arena, diag, &rule));
    uint32_t enumerated = target->kind->backend != NULL ? byoc_collect_limits(options).max_nodes : 0;
    BYOC_RETURN_IF_ERROR(apply_for(rule, target, enumerated, flow, list, diag));
    BYOC_RETURN_IF_ERROR(collect_claims(list, flow, target, diag));
  }
  return BYOC_OK;
}
