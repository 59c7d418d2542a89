// SPDX-License-Identifier: Apache-2.0
// Matrix products over strided operands, shared by MatMul and Gemm (core/ops/onnx/math/linear.c).
//
// Example:
//   byoc_product_t product = byoc_product_of(lower, node);
//   product.rows = rows, product.columns = columns, product.depth = depth; // and strides and dimensions
//   return byoc_product_lower(&product);
#ifndef BYOC_CORE_OPS_ONNX_MATH_PRODUCT_H_
#define BYOC_CORE_OPS_ONNX_MATH_PRODUCT_H_

#include "core/ops/loops/tile.h"

// result[batch][i][j] = sum over k of a[i, k] * b[k, j], with the strides of a and b in elements.
typedef struct byoc_product_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *type; // of the result
  byoc_dtype_t dtype;
  const byoc_loop_buffer_t *left, *right;
  const byoc_loop_expr_t *rows, *columns, *depth;
  const byoc_loop_expr_t *left_row, *left_k, *right_k, *right_column; // strides
  int32_t batch_rank;                                                 // dimensions of the result before rows
  int32_t row_begin, row_end;                                         // dimensions of the result that rows run over
  bool has_columns;                                                   // false if B is a vector
  const byoc_loop_expr_t *zero;
  // Of the current parallel iteration.
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  const byoc_loop_expr_t *left_base, *right_base, *row0, *k0;
} byoc_product_t;

// A product with its operands' buffers and no dimensions yet.
byoc_product_t byoc_product_of(byoc_lower_t *lower, const byoc_node_t *node);
// Inference of Gemm, and of operators with its operands and attributes.
byoc_status_t byoc_infer_gemm(byoc_infer_t *infer);
byoc_status_t byoc_product_lower(byoc_product_t *p);

#endif // BYOC_CORE_OPS_ONNX_MATH_PRODUCT_H_
