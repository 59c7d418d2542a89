// SPDX-License-Identifier: Apache-2.0
// Shared by the ways to compute a pool (core/ops/onnx/nn/pool.c).
#ifndef BYOC_CORE_OPS_ONNX_NN_POOL_H_
#define BYOC_CORE_OPS_ONNX_NN_POOL_H_

#include "core/ops/loops/window.h"

typedef enum { BYOC_POOL_MAX, BYOC_POOL_AVERAGE, BYOC_POOL_LP } byoc_pool_kind_t;

typedef struct byoc_pool_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *x_type, *y_type;
  byoc_window_t window;
  byoc_pool_kind_t kind;
  byoc_dtype_t dtype;
} byoc_pool_t;

// The p-norm's pieces: |x|^p, and x^(1/p).
int64_t byoc_pool_norm(const byoc_node_t *node);
const byoc_loop_expr_t *byoc_pool_power(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t p);
const byoc_loop_expr_t *byoc_pool_root(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t p);

// The larger of a maximum so far and a further element; NaN if either is.
const byoc_loop_expr_t *byoc_pool_larger(byoc_loop_builder_t *b, const byoc_loop_expr_t *most,
                                         const byoc_loop_expr_t *x);

// The number of taps along dimension d that count for output coordinate `at`: those inside the input, or also those
// inside its padding.
const byoc_loop_expr_t *byoc_pool_tap_count(const byoc_pool_t *pool, int32_t d, const byoc_loop_expr_t *at,
                                            bool with_pads);

// Sliding windows, line by line (core/ops/onnx/nn/pool_lines.c); false if they are too long for that.
bool byoc_pool_lines(const byoc_pool_t *pool);
// Any windows, with the second result of MaxPool (core/ops/onnx/nn/pool_taps.c).
void byoc_pool_taps(const byoc_pool_t *pool);

#endif // BYOC_CORE_OPS_ONNX_NN_POOL_H_
