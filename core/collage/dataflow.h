// SPDX-License-Identifier: Apache-2.0
// One block as a graph of numbers. Candidates, sub-graphs and the cover search work on it.
//
// Example:
//   byoc_dataflow_t flow;
//   BYOC_RETURN_IF_ERROR(byoc_dataflow_init(&flow, block, allocator, diag));
//   for (uint32_t i = flow.successor_offsets[n]; i < flow.successor_offsets[n + 1]; ++i) use(flow.successors[i]);
//   byoc_dataflow_deinit(&flow);
//
// Nodes are numbered in the order of the block, which is topological.
// An edge is a data dependence; values that nested blocks of a node read count for the node that owns the blocks. The
// view is a snapshot: it is stale once the block changes.
#ifndef BYOC_CORE_COLLAGE_DATAFLOW_H_
#define BYOC_CORE_COLLAGE_DATAFLOW_H_

#include "core/base/arena.h"
#include "core/ir/numbering.h"

typedef struct byoc_dataflow_edge_t {
  uint32_t from, to;
} byoc_dataflow_edge_t;

typedef struct byoc_dataflow_t {
  byoc_arena_t arena;
  byoc_block_t *block;
  byoc_node_t **nodes; // by number
  byoc_numbering_t numbers;
  uint32_t node_count;
  // Neighbours of n: [offsets[n], offsets[n + 1]), rising, each once, whatever the number of values between them.
  uint32_t *predecessor_offsets, *predecessors;
  uint32_t *successor_offsets, *successors;
  bool *is_result; // a result of it is a result of the block
  bool *is_source; // it reads a parameter of the block, or a value from around the block
} byoc_dataflow_t;

// BYOC_OUT_OF_MEMORY is the only error. On failure there is nothing to deinit.
byoc_status_t byoc_dataflow_init(byoc_dataflow_t *flow, byoc_block_t *block, byoc_allocator_t allocator,
                                 byoc_diag_t *diag);
void byoc_dataflow_deinit(byoc_dataflow_t *flow);

// Does the node have so many neighbours on one side (a Concat of thousands of parts, say) that groups around it are not
// enumerated? Their number, and the time for each, would grow with the square of the neighbours' number.
enum { BYOC_DATAFLOW_HUB = 64 };
static inline bool byoc_dataflow_is_hub(const byoc_dataflow_t *flow, uint32_t node) {
  return flow->predecessor_offsets[node + 1] - flow->predecessor_offsets[node] > BYOC_DATAFLOW_HUB ||
         flow->successor_offsets[node + 1] - flow->successor_offsets[node] > BYOC_DATAFLOW_HUB;
}

#endif // BYOC_CORE_COLLAGE_DATAFLOW_H_
