// SPDX-License-Identifier: Apache-2.0
// State and functions of the pass stream-axis, for its files. Internal to core/pass.
//
// The pass follows one axis of the inputs through the main function, and decides for each node whether it can be cut
// along it (core/op/axes.h). Nodes that can stand in stages: those of one stage become one Loop of independent
// iterations; a node that needs all values of an earlier stage belongs to a later one.
#ifndef BYOC_CORE_PASS_STREAM_AXIS_H_
#define BYOC_CORE_PASS_STREAM_AXIS_H_

#include "core/op/axes.h"

// A node of the main function's body.
typedef struct byoc_cut_t {
  byoc_axis_t axis; // of a node that is cut
  bool is_cut;
  uint32_t stage; // of a node that is cut: its loop; else the number of loops that come before it
} byoc_cut_t;

typedef struct byoc_stream_axis_t {
  byoc_function_t *function;
  const char *name; // as it was given
  int64_t parts;
  byoc_arena_t scratch;
  byoc_map_t cuts;    // pointer map: node → byoc_cut_t *
  byoc_map_t dims;    // pointer map: value → 1 + the dimension that is the axis
  byoc_map_t stacked; // pointer map: value that a loop made → the loop's result, whose dimension 0 are the parts
  uint32_t stage_count;
  const byoc_node_t *obstacle; // the first node that reads the axis and is not cut
  byoc_function_t *probe;      // nodes are tried here; NULL: none yet
  byoc_diag_t *diag;
} byoc_stream_axis_t;

static inline byoc_cut_t *byoc_stream_axis_cut(const byoc_stream_axis_t *s, const byoc_node_t *node) {
  return (byoc_cut_t *)byoc_pointer_map_get(&s->cuts, node);
}
// The dimension of a value that is the axis; -1: none.
int32_t byoc_stream_axis_dim(const byoc_stream_axis_t *s, const byoc_value_t *value);
// Does the node, which is cut, take this operand from a node of its own loop?
bool byoc_stream_axis_is_inside(const byoc_stream_axis_t *s, const byoc_node_t *node, uint32_t operand);
// The type of one part; NULL if out of memory.
const byoc_type_t *byoc_stream_axis_part(byoc_arena_t *arena, const byoc_type_t *type, int32_t dim, int64_t parts);
// Appends the node's work on one part to a block. `operands` are the parts and whole values that it reads, by operand.
byoc_status_t byoc_stream_axis_write(const byoc_node_t *node, const byoc_axis_t *axis, byoc_block_t *block,
                                     byoc_value_t *const *operands, byoc_diag_t *diag, byoc_node_t **out_node);

// Fills cuts, dims and stage_count from the dims of the parameters. An axis that a view merges with others or splits is
// BYOC_UNSUPPORTED.
byoc_status_t byoc_stream_axis_find(byoc_stream_axis_t *s);
// Replaces the nodes of one stage by a Loop.
byoc_status_t byoc_stream_axis_loop(byoc_stream_axis_t *s, uint32_t stage);

#endif // BYOC_CORE_PASS_STREAM_AXIS_H_
