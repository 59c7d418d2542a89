// SPDX-License-Identifier: Apache-2.0
// Numbers the nodes of a block and lists their neighbours.
#include "core/collage/dataflow.h"

#include <string.h>

#include "core/ir/outline.h"

// Makes both lists by counting: going through the edges in the order of one end leaves the other end's lists sorted.
static bool fill_lists(byoc_dataflow_t *flow, const byoc_dataflow_edge_t *edges, size_t count) {
  uint32_t n = flow->node_count;
  byoc_arena_t *arena = &flow->arena;
  flow->predecessor_offsets = BYOC_ARENA_ARRAY(arena, uint32_t, (size_t)n + 1);
  flow->successor_offsets = BYOC_ARENA_ARRAY(arena, uint32_t, (size_t)n + 1);
  flow->predecessors = BYOC_ARENA_ARRAY(arena, uint32_t, count);
  flow->successors = BYOC_ARENA_ARRAY(arena, uint32_t, count);
  uint32_t *raw = BYOC_ARENA_ARRAY(arena, uint32_t, count);             // successors, unsorted, some twice
  uint32_t *raw_end = BYOC_ARENA_ARRAY(arena, uint32_t, (size_t)n + 1); // of each node's part of `raw`
  if (!flow->predecessor_offsets || !flow->successor_offsets || !flow->predecessors || !flow->successors || !raw ||
      !raw_end) {
    return false;
  }
  for (size_t e = 0; e < count; ++e) raw_end[edges[e].from + 1] += 1;
  for (uint32_t i = 0; i < n; ++i) raw_end[i + 1] += raw_end[i];
  uint32_t *fill = BYOC_ARENA_ARRAY(arena, uint32_t, n);
  if (fill == NULL) return false;
  for (size_t e = 0; e < count; ++e) raw[raw_end[edges[e].from] + fill[edges[e].from]++] = edges[e].to;

  // Predecessors: rising, because the producers are visited in order; a repeated edge stands next to the first one.
  uint32_t *bound = BYOC_ARENA_ARRAY(arena, uint32_t, (size_t)n + 1), *used = fill;
  if (bound == NULL) return false;
  for (size_t e = 0; e < count; ++e) bound[edges[e].to + 1] += 1;
  for (uint32_t i = 0; i < n; ++i) bound[i + 1] += bound[i];
  memset(used, 0, n * sizeof(*used));
  for (uint32_t from = 0; from < n; ++from) {
    for (uint32_t i = raw_end[from]; i < raw_end[from + 1]; ++i) {
      uint32_t to = raw[i], *list = flow->predecessors + bound[to];
      if (used[to] == 0 || list[used[to] - 1] != from) list[used[to]++] = from;
    }
  }
  uint32_t total = 0;
  for (uint32_t to = 0; to < n; ++to) {
    memmove(flow->predecessors + total, flow->predecessors + bound[to], used[to] * sizeof(uint32_t));
    flow->predecessor_offsets[to] = total;
    total += used[to];
  }
  flow->predecessor_offsets[n] = total;

  // Successors from these.
  for (uint32_t i = 0; i < total; ++i) flow->successor_offsets[flow->predecessors[i] + 1] += 1;
  for (uint32_t i = 0; i < n; ++i) flow->successor_offsets[i + 1] += flow->successor_offsets[i];
  memset(used, 0, n * sizeof(*used));
  for (uint32_t to = 0; to < n; ++to) {
    for (uint32_t i = flow->predecessor_offsets[to]; i < flow->predecessor_offsets[to + 1]; ++i) {
      uint32_t from = flow->predecessors[i];
      flow->successors[flow->successor_offsets[from] + used[from]++] = to;
    }
  }
  return true;
}

static bool start(byoc_dataflow_t *flow, size_t node_count, byoc_allocator_t allocator) {
  *flow = (byoc_dataflow_t){.node_count = (uint32_t)node_count};
  byoc_arena_init(&flow->arena, allocator);
  byoc_numbering_init(&flow->numbers, allocator);
  flow->is_result = BYOC_ARENA_ARRAY(&flow->arena, bool, node_count);
  flow->is_source = BYOC_ARENA_ARRAY(&flow->arena, bool, node_count);
  return node_count < UINT32_MAX / 2 && flow->is_result != NULL && flow->is_source != NULL;
}

typedef struct collector_t {
  byoc_dataflow_t *flow;
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_dataflow_edge_t) edges;
} collector_t;

// The users of a value that stand in this block, by themselves or through blocks nested in them.
static bool collect_uses(collector_t *c, uint32_t from, const byoc_value_t *value) {
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_use_t *use = &value->uses.data[u];
    if (use->node == NULL && use->block == c->flow->block) {
      c->flow->is_result[from] = true;
      continue;
    }
    byoc_node_t *user = use->node ? use->node : use->block->owner;
    user = user ? byoc_node_in_block(user, c->flow->block) : NULL;
    if (user == NULL) continue;
    const byoc_dataflow_edge_t edge = {from, byoc_numbering_get(&c->flow->numbers, user)};
    if (!byoc_vector_push(&c->edges, c->allocator, edge)) return false;
  }
  return true;
}

// True if the value is made around the block or is a parameter of it. Constants count as neither.
static bool is_from_around(const byoc_dataflow_t *flow, const byoc_value_t *value) {
  if (value == NULL || value->kind == BYOC_VALUE_CONSTANT) return false;
  const byoc_block_t *assignment = value->kind == BYOC_VALUE_PARAMETER ? value->block : value->node->block;
  if (assignment == flow->block) return value->kind == BYOC_VALUE_PARAMETER;
  return assignment->owner == NULL || byoc_node_in_block(assignment->owner, flow->block) == NULL;
}

static bool reads_from_around(const byoc_dataflow_t *flow, const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    if (is_from_around(flow, node->operands[k])) return true;
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    BYOC_FOR_EACH_NODE(inner, node->blocks[b]) {
      if (reads_from_around(flow, inner)) return true;
    }
    for (size_t i = 0; i < node->blocks[b]->results.count; ++i) {
      if (is_from_around(flow, node->blocks[b]->results.data[i])) return true;
    }
  }
  return false;
}

byoc_status_t byoc_dataflow_init(byoc_dataflow_t *flow, byoc_block_t *block, byoc_allocator_t allocator,
                                 byoc_diag_t *diag) {
  collector_t c = {.flow = flow, .allocator = allocator};
  bool ok = start(flow, block->node_count, allocator);
  flow->block = block;
  if (ok) flow->nodes = BYOC_ARENA_ARRAY(&flow->arena, byoc_node_t *, block->node_count);
  ok = ok && flow->nodes != NULL;
  if (ok) {
    uint32_t count = 0;
    BYOC_FOR_EACH_NODE(node, block) {
      ok = ok && byoc_numbering_set(&flow->numbers, node, count);
      flow->nodes[count++] = node;
    }
  }
  for (uint32_t n = 0; ok && n < flow->node_count; ++n) {
    const byoc_node_t *node = flow->nodes[n];
    flow->is_source[n] = reads_from_around(flow, node);
    for (uint32_t r = 0; ok && r < node->result_count; ++r) ok = collect_uses(&c, n, node->results[r]);
  }
  ok = ok && c.edges.count < UINT32_MAX && fill_lists(flow, c.edges.data, c.edges.count);
  byoc_vector_deinit(&c.edges, allocator);
  if (ok) return BYOC_OK;
  byoc_dataflow_deinit(flow);
  return byoc_diag_out_of_memory(diag);
}

void byoc_dataflow_deinit(byoc_dataflow_t *flow) {
  byoc_numbering_deinit(&flow->numbers);
  byoc_arena_deinit(&flow->arena);
  *flow = (byoc_dataflow_t){0};
}
