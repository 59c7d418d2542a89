// SPDX-License-Identifier: Apache-2.0
// Computes the border of a sub-graph, and gives the reason why a backend may not have it.
#include "core/collage/subgraph.h"

#include <string.h>

byoc_status_t byoc_subgraph_space_init(byoc_subgraph_space_t *space, const byoc_dataflow_t *flow,
                                       byoc_allocator_t allocator, byoc_diag_t *diag) {
  *space = (byoc_subgraph_space_t){.flow = flow, .allocator = allocator};
  space->inside_marks = byoc_allocate(allocator, flow->node_count, sizeof(uint32_t));
  space->seen_marks = byoc_allocate(allocator, flow->node_count, sizeof(uint32_t));
  space->numbers = byoc_allocate(allocator, flow->node_count, sizeof(uint32_t));
  space->stack = byoc_allocate(allocator, flow->node_count, sizeof(uint32_t));
  if (space->inside_marks && space->seen_marks && space->numbers && space->stack) return BYOC_OK;
  byoc_subgraph_space_deinit(space);
  return byoc_diag_out_of_memory(diag);
}

void byoc_subgraph_space_deinit(byoc_subgraph_space_t *space) {
  byoc_free(space->allocator, space->inside_marks);
  byoc_free(space->allocator, space->seen_marks);
  byoc_free(space->allocator, space->numbers);
  byoc_free(space->allocator, space->stack);
  *space = (byoc_subgraph_space_t){0};
}

// Marks the nodes inside; none is seen yet.
static void mark_inside(byoc_subgraph_space_t *space, const byoc_index_set_t *inside) {
  if (++space->mark == 0) { // the counter wrapped: the old marks mean nothing any more
    memset(space->inside_marks, 0, space->flow->node_count * sizeof(uint32_t));
    memset(space->seen_marks, 0, space->flow->node_count * sizeof(uint32_t));
    space->mark = 1;
  }
  for (uint32_t i = 0; i < inside->count; ++i) space->inside_marks[inside->items[i]] = space->mark;
}

static bool is_inside(const byoc_subgraph_space_t *space, uint32_t node) {
  return space->inside_marks[node] == space->mark;
}

// Returns true the first time that it is called for a node.
static bool see(byoc_subgraph_space_t *space, uint32_t node) {
  bool is_new = space->seen_marks[node] != space->mark;
  space->seen_marks[node] = space->mark;
  return is_new;
}

// ---- border ----

bool byoc_subgraph_make(byoc_subgraph_space_t *space, byoc_arena_t *arena, const byoc_index_set_t *inside,
                        byoc_subgraph_t *out_graph) {
  *out_graph = (byoc_subgraph_t){.inside = *inside};
  const byoc_dataflow_t *flow = space->flow;
  uint32_t *found = space->stack, count = 0;
  bool ok = true;

  mark_inside(space, inside);
  for (uint32_t i = 0; i < inside->count; ++i) { // inputs
    uint32_t node = inside->items[i];
    for (uint32_t e = flow->predecessor_offsets[node]; e < flow->predecessor_offsets[node + 1]; ++e) {
      uint32_t source = flow->predecessors[e];
      if (!is_inside(space, source) && see(space, source)) found[count++] = source;
    }
  }
  ok = byoc_index_set_make(arena, found, count, &out_graph->input);
  count = 0;
  mark_inside(space, inside);
  for (uint32_t i = 0; i < inside->count; ++i) { // outputs
    uint32_t node = inside->items[i];
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      uint32_t user = flow->successors[e];
      if (!is_inside(space, user) && see(space, user)) found[count++] = user;
    }
  }
  ok = ok && byoc_index_set_make(arena, found, count, &out_graph->output);
  count = 0;
  for (uint32_t i = 0; i < inside->count; ++i) { // entries, and the depth at each node
    uint32_t node = inside->items[i], depth = 0;
    bool is_entry = flow->is_source[node];
    for (uint32_t e = flow->predecessor_offsets[node]; e < flow->predecessor_offsets[node + 1]; ++e) {
      uint32_t source = flow->predecessors[e];
      if (!is_inside(space, source)) {
        is_entry = true;
      } else if (space->numbers[source] > depth) {
        depth = space->numbers[source];
      }
    }
    space->numbers[node] = depth + 1;
    if (depth + 1 > out_graph->depth) out_graph->depth = depth + 1;
    if (is_entry) found[count++] = node;
  }
  ok = ok && byoc_index_set_make(arena, found, count, &out_graph->entry);
  count = 0;
  for (uint32_t i = 0; i < inside->count; ++i) { // exits
    uint32_t node = inside->items[i];
    bool is_exit = flow->is_result[node], is_read_inside = false;
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      is_inside(space, flow->successors[e]) ? (is_read_inside = true) : (is_exit = true);
    }
    if (is_exit) found[count++] = node;
    if (is_exit && is_read_inside) out_graph->has_tap = true;
  }
  ok = ok && byoc_index_set_make(arena, found, count, &out_graph->exit);
  return ok;
}

bool byoc_subgraph_is_convex(byoc_subgraph_space_t *space, const byoc_index_set_t *inside) {
  byoc_subgraph_detour_t detour;
  return !byoc_subgraph_detour(space, inside, &detour);
}

bool byoc_subgraph_detour(byoc_subgraph_space_t *space, const byoc_index_set_t *inside,
                          byoc_subgraph_detour_t *out_detour) {
  if (inside->count < 2) return false;
  const byoc_dataflow_t *flow = space->flow;
  uint32_t last = inside->items[inside->count - 1], depth = 0;
  mark_inside(space, inside);
  // Walks downwards from all readers just outside; numbers rise along paths, so no node behind `last` can lead back.
  for (uint32_t i = 0; i < inside->count; ++i) {
    uint32_t node = inside->items[i];
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      uint32_t user = flow->successors[e];
      if (user >= last || is_inside(space, user) || !see(space, user)) continue;
      space->numbers[user] = node; // where its path left
      space->stack[depth++] = user;
    }
  }
  while (depth > 0) {
    uint32_t node = space->stack[--depth];
    for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
      uint32_t user = flow->successors[e];
      if (is_inside(space, user)) {
        *out_detour = (byoc_subgraph_detour_t){space->numbers[node], node, user};
        return true;
      }
      if (user >= last || !see(space, user)) continue;
      space->numbers[user] = space->numbers[node];
      space->stack[depth++] = user;
    }
  }
  return false;
}

const char *byoc_subgraph_invalid(byoc_subgraph_space_t *space, const byoc_subgraph_t *graph,
                                  const byoc_subgraph_limits_t *limits) {
  if (graph->inside.count == 0) return "it is empty";
  if (limits->max_nodes > 0 && graph->inside.count > limits->max_nodes) return "it has more nodes than allowed";
  if (limits->max_exits > 0 && graph->exit.count > limits->max_exits)
    return "more of its nodes are read outside than allowed";
  if (limits->max_depth > 0 && graph->depth > limits->max_depth) return "it is deeper than allowed";
  if (!limits->allow_taps && graph->has_tap) return "a value is read both inside and outside of it";
  if (!byoc_subgraph_is_convex(space, &graph->inside)) return "a path leaves it and comes back";
  return NULL;
}
