// SPDX-License-Identifier: Apache-2.0
// Sub-graphs of one block: an index set, its border, and whether a backend may have it.
//
// Example:
//   byoc_subgraph_space_t space;                              // scratch, reused from call to call
//   BYOC_RETURN_IF_ERROR(byoc_subgraph_space_init(&space, &flow, allocator, diag));
//   byoc_subgraph_t graph;
//   if (!byoc_subgraph_make(&space, &arena, &set, &graph)) return byoc_diag_out_of_memory(diag);
//   const char *why_not = byoc_subgraph_invalid(&space, &graph, &limits);
//
// The border, by the sets' names:
//   input   nodes outside that the sub-graph reads      entry  nodes inside that read something from outside
//   output  nodes outside that read the sub-graph       exit   nodes inside that are read outside, or are results
#ifndef BYOC_CORE_COLLAGE_SUBGRAPH_H_
#define BYOC_CORE_COLLAGE_SUBGRAPH_H_

#include "core/collage/dataflow.h"
#include "core/collage/index_set.h"

typedef struct byoc_subgraph_t {
  byoc_index_set_t inside, entry, exit, input, output;
  uint32_t depth; // nodes on the longest path inside
  bool has_tap;   // an exit is also read inside
} byoc_subgraph_t;

typedef struct byoc_subgraph_limits_t {
  uint32_t max_nodes, max_exits, max_depth; // 0: any number
  bool allow_taps;
} byoc_subgraph_limits_t;

// Marks by node, cleared by counting up; and room for walks. Not for several threads.
typedef struct byoc_subgraph_space_t {
  const byoc_dataflow_t *flow;
  byoc_allocator_t allocator;
  uint32_t *inside_marks, *seen_marks, *numbers;
  uint32_t *stack;
  uint32_t mark;
} byoc_subgraph_space_t;
byoc_status_t byoc_subgraph_space_init(byoc_subgraph_space_t *space, const byoc_dataflow_t *flow,
                                       byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_subgraph_space_deinit(byoc_subgraph_space_t *space);

// The set is kept, not copied; the other sets are made in `arena`. Takes time linear in the edges around the set. False
// if out of memory.
bool byoc_subgraph_make(byoc_subgraph_space_t *space, byoc_arena_t *arena, const byoc_index_set_t *inside,
                        byoc_subgraph_t *out_graph);

// Returns why the sub-graph may not be one region (static text), or NULL if it may. It checks the limits, taps, and
// convexity, i.e. that no path leads from an output back to an entry.
const char *byoc_subgraph_invalid(byoc_subgraph_space_t *space, const byoc_subgraph_t *graph,
                                  const byoc_subgraph_limits_t *limits);
// True if no path leaves the set and comes back. Looks only at nodes numbered between the first and the last of the
// set.
bool byoc_subgraph_is_convex(byoc_subgraph_space_t *space, const byoc_index_set_t *inside);

// A path that leaves a set and comes back.
typedef struct byoc_subgraph_detour_t {
  uint32_t left;    // the node inside behind which it leaves
  uint32_t through; // the last node outside
  uint32_t back;    // the node inside that reads it
} byoc_subgraph_detour_t;
// Finds such a path; false if the set is convex.
bool byoc_subgraph_detour(byoc_subgraph_space_t *space, const byoc_index_set_t *inside,
                          byoc_subgraph_detour_t *out_detour);

#endif // BYOC_CORE_COLLAGE_SUBGRAPH_H_
