// SPDX-License-Identifier: Apache-2.0
// Quantised operators with given operands, for random graphs and for sweeps. Integers are exact. Where a number is
// rounded to a step and arithmetic of f32 may put it on either side, that element may be off by the step, and so may
// what depends on it; all others may not.
#ifndef BYOC_TESTS_RANDOM_QUANTISED_H_
#define BYOC_TESTS_RANDOM_QUANTISED_H_

#include "tests/random/linear.h"

// Notes the scale and the zero of all values; of each channel along an axis, if `channel_count` > 1.
void set_scales(tensor_t *tensor, int64_t channel_count, int32_t axis, const double *scales, const double *zeros);
// A scale for numbers that spread so far, drawn around the best one.
double draw_scale(suite_t *suite, double spread);
// A zero for values of that type: mostly the middle.
double draw_zero(suite_t *suite, byoc_dtype_t dtype);

// Values of u8 or i8 with a scale and a zero.
tensor_t *draw_quantised(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, unsigned kept);
// Weights of u8 or i8; `channels`: scales along `axis`, else one.
tensor_t *draw_weights(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, bool channels,
                       int32_t axis);
// i32[n], small against sums of `spread`.
tensor_t *draw_bias(suite_t *suite, int64_t n, double spread);

// Each returns its result, or NULL if the suite does not take it. Results of the type `y_dtype` have a scale that fits.
tensor_t *add_quantise(suite_t *suite, tensor_t *x, byoc_dtype_t y_dtype);
tensor_t *add_dequantise(suite_t *suite, tensor_t *x);
tensor_t *add_dynamic_quantise(suite_t *suite, tensor_t *x); // u8; the scale and the zero are results, too
tensor_t *add_conv_integer(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w);
tensor_t *add_matmul_integer(suite_t *suite, tensor_t *a, tensor_t *b);
tensor_t *add_qlinear_conv(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w, tensor_t *bias,
                           byoc_dtype_t y_dtype);
tensor_t *add_qlinear_matmul(suite_t *suite, tensor_t *a, tensor_t *b, byoc_dtype_t y_dtype);
// What exporters write: Q(Relu(Conv(DQ(x), DQ(w), DQ(bias)))), bias of i32, and the same of MatMul or Gemm, whose bias
// is f32.
typedef struct qdq_t {
  bool has_bias, has_relu, is_gemm;
  byoc_dtype_t y_dtype;
} qdq_t;
tensor_t *add_qdq_conv(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w, const qdq_t *qdq);
tensor_t *add_qdq_product(suite_t *suite, tensor_t *a, tensor_t *w, const qdq_t *qdq);
// About how far a convolution's sums are from zero, in steps of both operands.
double conv_spread(const conv_t *conv, const tensor_t *x, const tensor_t *w);
// An i32 of one of the integer products times the scales of both operands: f32.
tensor_t *add_scaling(suite_t *suite, tensor_t *sums, tensor_t *a, tensor_t *b);
tensor_t *add_relu(suite_t *suite, tensor_t *x);

#endif // BYOC_TESTS_RANDOM_QUANTISED_H_
