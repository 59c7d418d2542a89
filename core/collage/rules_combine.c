// SPDX-License-Identifier: Apache-2.0
// Adds the unions of neighbouring candidates that are worth fusing.
#include <string.h>

#include "core/collage/rules_internal.h"
#include "core/op/op.h"
#include "core/ops/byoc/blocked.h"

typedef struct combiner_t {
  byoc_ruling_t *ruling;
  const byoc_partition_rule_t *rule;
  byoc_candidates_t *out;
  // Lists of candidates by their first nodes: only those that the rules below made, no combinations.
  uint32_t *heads, *links; // index + 1
  uint32_t *made_at;       // combinations that begin at a node
} combiner_t;

static bool all_have(const combiner_t *c, const byoc_candidate_t *candidate, uint32_t traits) {
  for (uint32_t k = 0; k < candidate->nodes.count; ++k) {
    if (!byoc_node_has_trait(c->ruling->flow->nodes[candidate->nodes.items[k]], traits)) return false;
  }
  return true;
}

static const byoc_node_t *only_node(const combiner_t *c, const byoc_candidate_t *candidate) {
  return candidate->nodes.count == 1 ? c->ruling->flow->nodes[candidate->nodes.items[0]] : NULL;
}

static bool reads_constants_only(const combiner_t *c, const byoc_candidate_t *candidate) {
  const byoc_dataflow_t *flow = c->ruling->flow;
  for (uint32_t k = 0; k < candidate->nodes.count; ++k) {
    uint32_t node = candidate->nodes.items[k];
    if (flow->is_source[node]) return false;
    for (uint32_t e = flow->predecessor_offsets[node]; e < flow->predecessor_offsets[node + 1]; ++e) {
      if (!byoc_index_set_contains(&candidate->nodes, flow->predecessors[e])) return false;
    }
  }
  return true;
}

static bool may_merge(const byoc_candidate_t *candidate) {
  return candidate->definition != NULL && (candidate->definition->flags & BYOC_RULE_MERGE) != 0;
}

// a feeds b. Opaque operators are never fused, and nothing is fused into heavy ones.
static bool is_worth_it(const combiner_t *c, const byoc_candidate_t *a, const byoc_candidate_t *b) {
  uint32_t combine = c->rule->combine, light = BYOC_OP_ELEMENTWISE | BYOC_OP_INJECTIVE;
  if ((combine & BYOC_COMBINE_MERGE) && may_merge(a) && may_merge(b)) return true;
  for (int side = 0; side < 2; ++side) {
    const byoc_candidate_t *one = side == 0 ? a : b;
    for (uint32_t k = 0; k < one->nodes.count; ++k) {
      const byoc_node_t *node = c->ruling->flow->nodes[one->nodes.items[k]];
      if (byoc_op_of(node) == NULL || byoc_node_has_trait(node, BYOC_OP_OPAQUE | BYOC_OP_CONTROL)) return false;
      if (byoc_is_layout_change(node)) return false; // the layout rule decides about it
    }
  }
  if ((combine & BYOC_COMBINE_CONSTANT) && reads_constants_only(c, a)) return true;
  if ((combine & BYOC_COMBINE_ELEMENTWISE) && all_have(c, b, light)) return true;
  if ((combine & BYOC_COMBINE_REDUCTION) && all_have(c, a, light)) {
    const byoc_node_t *first = c->ruling->flow->nodes[b->nodes.items[0]];
    if (byoc_node_has_trait(first, BYOC_OP_REDUCES) && !byoc_node_has_trait(first, BYOC_OP_HEAVY)) return true;
  }
  if (combine & BYOC_COMBINE_TUPLE) {
    const byoc_node_t *joins = only_node(c, b), *splits = only_node(c, a);
    const byoc_op_t *join = joins != NULL ? byoc_op_of(joins) : NULL,
                    *split = splits != NULL ? byoc_op_of(splits) : NULL;
    if (join != NULL && (join->traits & BYOC_OP_MOVES) != 0 && join->max_inputs < 0) return true;
    if (split != NULL && (split->traits & BYOC_OP_MOVES) != 0 && split->max_outputs < 0) return true;
  }
  return false;
}

// The parts of both in one flat list, in the order of their first nodes.
static byoc_status_t unite_parts(combiner_t *c, const byoc_candidate_t *a, const byoc_candidate_t *b,
                                 byoc_candidate_t *united) {
  byoc_arena_t *arena = &c->ruling->list->arena;
  const byoc_candidate_t *ends[2] = {a, b};
  uint32_t count = (a->part_count ? a->part_count : 1) + (b->part_count ? b->part_count : 1), filled = 0;
  const byoc_candidate_t **parts = BYOC_ARENA_ARRAY(arena, const byoc_candidate_t *, count);
  if (parts == NULL) return byoc_diag_out_of_memory(c->ruling->diag);
  for (int side = 0; side < 2; ++side) {
    const byoc_candidate_t *one = ends[side];
    for (uint32_t i = 0; i < one->part_count; ++i) parts[filled++] = one->parts[i];
    if (one->part_count > 0) continue;
    parts[filled] = byoc_arena_copy(arena, one, sizeof(*one)); // the lists below are freed before the caller looks
    if (parts[filled++] == NULL) return byoc_diag_out_of_memory(c->ruling->diag);
  }
  for (uint32_t i = 1; i < count; ++i) {
    const byoc_candidate_t *part = parts[i];
    uint32_t at = i;
    for (; at > 0 && parts[at - 1]->nodes.items[0] > part->nodes.items[0]; --at) parts[at] = parts[at - 1];
    parts[at] = part;
  }
  united->parts = parts;
  united->part_count = count;
  return BYOC_OK;
}

static bool has_hub(const combiner_t *c, const byoc_candidate_t *candidate) {
  for (uint32_t k = 0; k < candidate->nodes.count; ++k) {
    if (byoc_dataflow_is_hub(c->ruling->flow, candidate->nodes.items[k])) return true;
  }
  return false;
}

static byoc_status_t combine_two(combiner_t *c, const byoc_candidate_t *a, const byoc_candidate_t *b) {
  byoc_ruling_t *r = c->ruling;
  const byoc_subgraph_limits_t *limits = &c->rule->limits;
  uint32_t first = a->nodes.items[0] < b->nodes.items[0] ? a->nodes.items[0] : b->nodes.items[0];
  uint32_t most =
      byoc_least_limit(limits->max_nodes, byoc_least_limit(byoc_candidate_limit(a), byoc_candidate_limit(b)));
  if (most > 0 && a->nodes.count + b->nodes.count > most) return BYOC_OK;
  if (has_hub(c, a) || has_hub(c, b)) return BYOC_OK;
  if (c->made_at[first] >= c->rule->max_each || byoc_index_set_intersects(&a->nodes, &b->nodes)) return BYOC_OK;
  if (!is_worth_it(c, a, b)) return BYOC_OK;
  byoc_candidate_t united = {.rule = a->rule, .definition = a->definition}, *made = NULL;
  if (!byoc_index_set_unite(&r->list->arena, &a->nodes, &b->nodes, &united.nodes)) {
    return byoc_diag_out_of_memory(r->diag);
  }
  byoc_subgraph_t graph;
  byoc_arena_reset(&r->scratch);
  if (!byoc_subgraph_make(&r->space, &r->scratch, &united.nodes, &graph)) return byoc_diag_out_of_memory(r->diag);
  bool fits = limits->max_depth == 0 || graph.depth <= limits->max_depth;
  if (!fits || !byoc_subgraph_is_convex(&r->space, &united.nodes)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(unite_parts(c, a, b, &united));
  size_t before = c->out->items.count;
  BYOC_RETURN_IF_ERROR(byoc_ruling_propose(r, united, c->out, &made));
  if (c->out->items.count > before) c->made_at[first] += 1;
  return BYOC_OK;
}

// Combines one candidate with each neighbour behind it that the rules below made.
static byoc_status_t combine_behind(combiner_t *c, const byoc_candidate_t *a) {
  const byoc_dataflow_t *flow = c->ruling->flow;
  if (has_hub(c, a)) return BYOC_OK;
  for (uint32_t k = 0; k < a->nodes.count; ++k) {
    uint32_t node = a->nodes.items[k];
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      for (uint32_t i = c->heads[flow->successors[e]]; i != 0; i = c->links[i - 1]) {
        BYOC_RETURN_IF_ERROR(combine_two(c, a, c->out->items.data[i - 1]));
      }
    }
  }
  return BYOC_OK;
}

// Combines one candidate with each neighbour in front of it, and with the combinations grown so far.
static byoc_status_t combine_in_front(combiner_t *c, const byoc_candidate_t *b) {
  const byoc_dataflow_t *flow = c->ruling->flow;
  for (uint32_t k = 0; k < b->nodes.count; ++k) {
    uint32_t node = b->nodes.items[k];
    for (uint32_t e = flow->predecessor_offsets[node]; e < flow->predecessor_offsets[node + 1]; ++e) {
      for (uint32_t i = c->heads[flow->predecessors[e]]; i != 0; i = c->links[i - 1]) {
        BYOC_RETURN_IF_ERROR(combine_two(c, c->out->items.data[i - 1], b));
      }
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_ruling_combine(byoc_ruling_t *r, const byoc_partition_rule_t *rule, byoc_candidates_t *out) {
  size_t base_count = out->items.count;
  combiner_t c = {.ruling = r, .rule = rule, .out = out};
  c.heads = byoc_allocate(r->allocator, r->flow->node_count, sizeof(uint32_t));
  c.links = byoc_allocate(r->allocator, base_count, sizeof(uint32_t));
  c.made_at = byoc_allocate(r->allocator, r->flow->node_count, sizeof(uint32_t));
  byoc_status_t status = c.heads && c.links && c.made_at ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
  for (size_t i = base_count; status == BYOC_OK && i-- > 0;) {
    uint32_t first = out->items.data[i]->nodes.items[0];
    c.links[i] = c.heads[first];
    c.heads[first] = (uint32_t)i + 1;
  }
  // Combinations join the end of the list and are grown further when their turn comes.
  for (size_t i = 0; i < out->items.count && status == BYOC_OK; ++i) {
    const byoc_candidate_t *candidate = out->items.data[i];
    status = combine_behind(&c, candidate);
    if (status == BYOC_OK && i >= base_count) status = combine_in_front(&c, candidate);
  }
  byoc_free(r->allocator, c.heads);
  byoc_free(r->allocator, c.links);
  byoc_free(r->allocator, c.made_at);
  return status;
}
