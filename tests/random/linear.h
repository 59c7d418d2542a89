// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions with given operands, for random graphs and for sweeps.
#ifndef BYOC_TESTS_RANDOM_LINEAR_H_
#define BYOC_TESTS_RANDOM_LINEAR_H_

#include "tests/random/graph.h"

// How far a sum of products may be off in f32, as a part of the sum of their absolute values: Winograd's algorithm
// multiplies what it has added before.
#define SUM_ERROR 5e-5

typedef struct sum_t {
  double value, magnitude, error; // magnitude: of the absolute values; error: from what the operands may be off
} sum_t;
// Adds (a - its zero) * (b - its zero).
void add_product(sum_t *sum, const tensor_t *a, int64_t a_at, double a_zero, const tensor_t *b, int64_t b_at,
                 double b_zero);
// Stores a sum in an f32 with the errors that it may have.
void store_sum(tensor_t *y, int64_t at, const sum_t *sum);
// The zero of a channel; 0 if nothing is quantised.
double zero_of(const tensor_t *tensor, int64_t channel);

// ---- convolutions ----

typedef struct conv_t {
  int32_t spatial; // dimensions
  int64_t kernel[3], strides[3], dilations[3], pads[6], group;
} conv_t;

// The shape of the result and of the weights; false if the kernel does not fit into x.
bool conv_shape(const conv_t *conv, const tensor_t *x, int64_t out_channels, int64_t *out_dims, int64_t *out_w_dims);
// One element of the result.
sum_t conv_sum(const tensor_t *x, const tensor_t *w, const conv_t *conv, const int64_t *index);
void set_window(byoc_onnx_node_t *node, const conv_t *conv);

// Each returns the result, or NULL if the suite does not take it. `bias` may be NULL.
tensor_t *add_conv(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w, tensor_t *bias);
// w: [channels, per_group, kernel...]. `extra`: output padding.
tensor_t *add_conv_transpose(suite_t *suite, const conv_t *conv, const int64_t *extra, tensor_t *x, tensor_t *w);

// ---- matrix products ----

// Operands of rank 1 count as a row on the left, as a column on the right; batch dimensions of b are those of a, or 1.
bool product_shape(const tensor_t *a, const tensor_t *b, int32_t *out_rank, int64_t *out_dims);
sum_t product_sum(const tensor_t *a, const tensor_t *b, const int64_t *index);
tensor_t *add_matmul(suite_t *suite, tensor_t *a, tensor_t *b);
typedef struct gemm_t {
  bool trans_a, trans_b;
  float alpha, beta;
} gemm_t;
tensor_t *add_gemm(suite_t *suite, const gemm_t *gemm, tensor_t *a, tensor_t *b, tensor_t *c); // c may be NULL

// ---- pools ----

typedef struct window_t {
  int32_t spatial;
  int64_t kernel[3], strides[3], dilations[3], pads[6];
  bool ceil_mode, count_padding, is_max;
} window_t;
// NULL also if a window could lie in the padding alone.
tensor_t *add_pool(suite_t *suite, const window_t *window, tensor_t *x);
tensor_t *add_global_pool(suite_t *suite, bool is_max, tensor_t *x);

#endif // BYOC_TESTS_RANDOM_LINEAR_H_
