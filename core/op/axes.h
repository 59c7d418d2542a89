// SPDX-License-Identifier: Apache-2.0
// Finds dimensions along which the work of an operator can be divided into independent parts. The operator's row has a
// function for this (byoc_op_t.axes); for elementwise operators, views and channelwise operators the traits are enough.
//
// Example:
//   int32_t operands[2], results[1];
//   byoc_axis_t axis = {.parts = 8, .operands = operands, .results = results};
//   bool rows = byoc_node_cut(matmul, 0, &axis); // then operands[0] is 0, and operands[1] is -1
#ifndef BYOC_CORE_OP_AXES_H_
#define BYOC_CORE_OP_AXES_H_

#include "core/op/op.h"

// A way to divide a node. Part p of a dimension consists of size / parts indices. Part p of each result depends on part
// p of the divided operands, and on all of the other operands.
typedef struct byoc_axis_t {
  int64_t parts;     // 2 or more
  int32_t dim;       // of result 0
  int32_t *operands; // for each operand: the dimension that is divided, or -1
  int32_t *results;  // for each result: the dimension that is divided
} byoc_axis_t;

// Can the node be divided into axis->parts parts along dimension `dim` of result 0? All shapes must be known, and each
// divided dimension must be a multiple of the parts. Fills `operands` and `results`, which are as long as the node's
// lists.
bool byoc_node_cut(const byoc_node_t *node, int32_t dim, byoc_axis_t *axis);

// For rows. They are called with `dim` set, -1 for each operand and `dim` for each result. They need not check `parts`.
bool byoc_axes_broadcast(const byoc_node_t *node, byoc_axis_t *axis);   // all operands broadcast to the result
bool byoc_axes_channelwise(const byoc_node_t *node, byoc_axis_t *axis); // dimensions 0 and 1 of operand 0
bool byoc_axes_batch(const byoc_node_t *node, byoc_axis_t *axis);       // dimension 0 of operand 0
bool byoc_axes_beside(const byoc_node_t *node, byoc_axis_t *axis);      // operand 0's, but not attribute `axis`
bool byoc_axes_before(const byoc_node_t *node, byoc_axis_t *axis);      // operand 0's before attribute `axis`
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
