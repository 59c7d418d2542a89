// SPDX-License-Identifier: Apache-2.0
// operator.h - the operators that the target claims: operators.def holds one row for each.
#ifndef BYOC_OPENCL_OPERATOR_H_
#define BYOC_OPENCL_OPERATOR_H_

#include "emit.h"

typedef enum byoc_opencl_role_t {
  BYOC_OPENCL_POINT,  // each element is a formula of elements at the same place, after broadcasting
  BYOC_OPENCL_VIEW,   // the same elements in the same order, under other dimensions
  BYOC_OPENCL_MOVE,   // each element is an element of an operand
  BYOC_OPENCL_ANCHOR, // has a kernel of its own, which elementwise operators behind it can join
} byoc_opencl_role_t;

struct byoc_opencl_operator_t {
  const char *name; // of ai.onnx
  byoc_opencl_role_t role;
  // NULL, or why the node is declined.
  const char *(*check)(const byoc_opencl_source_t *source);
  // POINT, VIEW, MOVE: emits the element of a result.
  byoc_opencl_name_t (*point)(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                              byoc_opencl_index_t *index);
  // ANCHOR: emits the kernel's body.
  void (*anchor)(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);
  // POINT by byoc_opencl_point_formula: OpenCL C, with $0, $1 for the operands' elements and {alpha} for an attribute.
  // A formula of two operands is repeated for more.
  const char *formula;
};

// NULL if there is no row.
const byoc_opencl_operator_t *byoc_opencl_operator_of(const byoc_graph_api_t *graph, const byoc_node_t *node);
uint32_t byoc_opencl_operator_count(void);
const char *byoc_opencl_operator_name(uint32_t index);

// NULL, or why the target declines the node.
const char *byoc_opencl_check(const byoc_opencl_source_t *source);

// point.c: formulas, and operators that are nearly formulas.
const char *byoc_opencl_check_formula(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_unary(const byoc_opencl_source_t *source);
byoc_opencl_name_t byoc_opencl_point_formula(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                             uint32_t result, byoc_opencl_index_t *index);
const char *byoc_opencl_check_clip(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_pow(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_batch_normalization(const byoc_opencl_source_t *source);
byoc_opencl_name_t byoc_opencl_point_clip(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                          byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_gelu(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                          byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_pow(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                         byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_batch_normalization(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                                         uint32_t result, byoc_opencl_index_t *index);

// move.c
const char *byoc_opencl_check_view(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_transpose(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_slice(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_concat(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_split(const byoc_opencl_source_t *source);
const char *byoc_opencl_check_expand(const byoc_opencl_source_t *source);
byoc_opencl_name_t byoc_opencl_point_view(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                          byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_transpose(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                               uint32_t result, byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_slice(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                           uint32_t result, byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_concat(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                            uint32_t result, byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_split(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                           uint32_t result, byoc_opencl_index_t *index);
byoc_opencl_name_t byoc_opencl_point_expand(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                            uint32_t result, byoc_opencl_index_t *index);

// Each of these kinds of kernels has a file.
const char *byoc_opencl_check_conv(const byoc_opencl_source_t *source);
void byoc_opencl_anchor_conv(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);
const char *byoc_opencl_check_matmul(const byoc_opencl_source_t *source);
void byoc_opencl_anchor_matmul(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);
const char *byoc_opencl_check_gemm(const byoc_opencl_source_t *source);
void byoc_opencl_anchor_gemm(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);
const char *byoc_opencl_check_pool(const byoc_opencl_source_t *source);
void byoc_opencl_anchor_pool(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);
const char *byoc_opencl_check_reduce(const byoc_opencl_source_t *source);
void byoc_opencl_anchor_reduce(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);
const char *byoc_opencl_check_softmax(const byoc_opencl_source_t *source);
void byoc_opencl_anchor_softmax(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);
const char *byoc_opencl_check_normalization(const byoc_opencl_source_t *source);
void byoc_opencl_anchor_normalization(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source);

#endif // BYOC_OPENCL_OPERATOR_H_
