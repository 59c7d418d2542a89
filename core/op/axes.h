// SPDX-License-Identifier: Apache-2.0
// Along which dimensions the work of an operator can be cut into parts that know nothing of each other. An operator's
// row says it (byoc_op_t.axes); for elementwise operators, views and those that work channel by channel, the traits say
// it.
//
// Example:
//   int32_t operands[2], results[1];
//   byoc_axis_t axis = {.parts = 8, .operands = operands, .results = results};
//   bool rows = byoc_node_cut(matmul, 0, &axis); // then operands[0] is 0, and operands[1] is -1
#ifndef BYOC_CORE_OP_AXES_H_
#define BYOC_CORE_OP_AXES_H_

#include "core/op/op.h"

// A way to cut a node. Part p of dimension d is its p-th piece of size / parts indices: part p of each result follows
// from part p of the operands that are cut, and from all of the others.
typedef struct byoc_axis_t {
  int64_t parts;     // 2 or more
  int32_t dim;       // of result 0
  int32_t *operands; // for each operand: the dimension that is cut, or -1
  int32_t *results;  // for each result: the dimension that is cut
} byoc_axis_t;

// Can the node be cut into axis->parts parts along dimension `dim` of result 0? All shapes must be known, and each
// dimension that is cut must be a multiple of the parts. Fills `operands` and `results`, which have room for all of the
// node's.
bool byoc_node_cut(const byoc_node_t *node, int32_t dim, byoc_axis_t *axis);

// For rows. They are called with `dim` set, -1 for each operand and `dim` for each result, and need not look at parts.
bool byoc_axes_channelwise(const byoc_node_t *node, byoc_axis_t *axis); // dimensions 0 and 1 of operand 0
bool byoc_axes_batch(const byoc_node_t *node, byoc_axis_t *axis);       // dimension 0 of operand 0
bool byoc_axes_beside(const byoc_node_t *node, byoc_axis_t *axis);      // operand 0's, but not attribute `axis`
bool byoc_axes_before(const byoc_node_t *node, byoc_axis_t *axis);      // operand 0's in front of attribute `axis`
bool byoc_axes_instance_norm(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_batch_norm(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_softmax(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_cumulate(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_reduce(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_arg(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_quantize(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_product(const byoc_node_t *node, byoc_axis_t *axis); // MatMul
bool byoc_axes_gemm(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_conv(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_transpose(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_expand(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_concat(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_matrices(const byoc_node_t *node, byoc_axis_t *axis); // all but the last two of operand 0
bool byoc_axes_rows(const byoc_node_t *node, byoc_axis_t *axis);     // all but the last of operand 0
bool byoc_axes_slice(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_pad(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_gather(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_gather_elements(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_resize(const byoc_node_t *node, byoc_axis_t *axis);
bool byoc_axes_attention(const byoc_node_t *node, byoc_axis_t *axis);

#endif // BYOC_CORE_OP_AXES_H_
