// SPDX-License-Identifier: Apache-2.0
// What quantised operators compute, element by element.
#include "tests/random/quantised.h"

#include <math.h>
#include <stdlib.h>

// How far f32 may be off before it is rounded to a step, in parts of the value: scales are multiplied and divided.
#define SCALE_ERROR 1e-6

// ---- scales ----

static double scale_of(const tensor_t *tensor, int64_t channel) {
  return tensor->scales[tensor->channel_count > 1 ? channel : 0];
}

void set_scales(tensor_t *tensor, int64_t channel_count, int32_t axis, const double *scales, const double *zeros) {
  const size_t bytes = (size_t)channel_count * sizeof(double);
  tensor->scales = malloc(bytes);
  tensor->zeros = malloc(bytes);
  assert_non_null(tensor->scales);
  assert_non_null(tensor->zeros);
  memcpy(tensor->scales, scales, bytes);
  memcpy(tensor->zeros, zeros, bytes);
  tensor->channel_count = channel_count;
  tensor->axis = axis;
}

static void set_scale(tensor_t *tensor, double scale, double zero) {
  set_scales(tensor, 1, 0, &scale, &zero);
}

double draw_scale(suite_t *suite, double spread) {
  const double best = spread * 3 / 127 * (0.6 + 0.01 * (double)below(suite, 80));
  return suite->has_even_scales ? exp2(rint(log2(best))) : (double)(float)best;
}

double draw_zero(suite_t *suite, byoc_dtype_t dtype) {
  const double off = chance(suite, 60) ? 0 : (double)(below(suite, 57) - 28);
  return dtype == BYOC_DTYPE_U8 ? 128 + off : off;
}

// The tensor that holds the scales, or the zeros.
static tensor_t *side_tensor(suite_t *suite, tensor_t *of, bool is_scale) {
  tensor_t **kept = is_scale ? &of->scale_tensor : &of->zero_tensor;
  if (*kept != NULL) return *kept;
  const int32_t rank = of->channel_count > 1;
  *kept = new_constant(suite, is_scale ? BYOC_DTYPE_F32 : of->dtype, rank, &of->channel_count,
                       is_scale ? of->scales : of->zeros);
  return *kept;
}

// ---- operands ----

static void range_of(byoc_dtype_t dtype, double *out_low, double *out_high) {
  *out_low = dtype == BYOC_DTYPE_U8 ? 0 : -128;
  *out_high = dtype == BYOC_DTYPE_U8 ? 255 : 127;
}

tensor_t *draw_quantised(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, unsigned kept) {
  double low, high;
  range_of(dtype, &low, &high);
  tensor_t *x = draw_input(suite, dtype, rank, dims, kept, low, high);
  set_scale(x, draw_scale(suite, 1), draw_zero(suite, dtype));
  return x;
}

tensor_t *draw_weights(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, bool channels,
                       int32_t axis) {
  double low, high, scales[MAX_ELEMENTS], zeros[MAX_ELEMENTS];
  range_of(dtype, &low, &high);
  tensor_t *w = draw_constant(suite, dtype, rank, dims, low, high);
  const int64_t count = channels && dims[axis] <= MAX_ELEMENTS ? dims[axis] : 1;
  const double zero = dtype == BYOC_DTYPE_I8 && chance(suite, 70) ? 0 : draw_zero(suite, dtype);
  for (int64_t i = 0; i < count; ++i) {
    scales[i] = draw_scale(suite, 0.3);
    zeros[i] = zero;
  }
  set_scales(w, count, axis, scales, zeros);
  return w;
}

tensor_t *draw_bias(suite_t *suite, int64_t n, double spread) {
  return draw_constant(suite, BYOC_DTYPE_I32, 1, &n, -floor(spread) - 1, floor(spread) + 1);
}

// ---- rounding to steps ----

static double step_of(byoc_dtype_t dtype, double scaled, double zero) {
  double low, high;
  range_of(dtype, &low, &high);
  return fmin(fmax(rint(scaled) + zero, low), high); // halves go to the even neighbour
}

// What multiplying by the scale in f32 may put a number off: nothing if it is a power of two.
static double error_of_scale(double scale, double number) {
  int exponent;
  return frexp(scale, &exponent) == 0.5 ? 0 : SCALE_ERROR * fabs(number);
}

// Rounds a number that may be off by `error`.
static void store_step(tensor_t *y, int64_t at, double number, double error) {
  const double scale = y->scales[0], zero = y->zeros[0], scaled = number / scale;
  const double off = error / scale + error_of_scale(scale, scaled);
  y->values[at] = step_of(y->dtype, scaled, zero);
  const double most = step_of(y->dtype, scaled + off, zero), least = step_of(y->dtype, scaled - off, zero);
  y->errors[at] = fmax(most - y->values[at], y->values[at] - least);
}

// A result of quantised values that stand for numbers that spread so far.
static tensor_t *new_steps(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, double spread) {
  tensor_t *y = new_result(suite, dtype, rank, dims);
  set_scale(y, draw_scale(suite, spread), draw_zero(suite, dtype));
  y->spread = fmin(spread / y->scales[0], 74);
  return y;
}

tensor_t *add_quantise(suite_t *suite, tensor_t *x, byoc_dtype_t y_dtype) {
  tensor_t *y = new_steps(suite, y_dtype, x->rank, x->dims, x->spread);
  for (int64_t i = 0; i < x->count; ++i) store_step(y, i, x->values[i], x->errors[i]);
  tensor_t *operands[] = {x, side_tensor(suite, y, true), side_tensor(suite, y, false)};
  return commit(suite, "QuantizeLinear", operands, 3, y) != NULL ? y : NULL;
}

// The channel of an element.
static int64_t channel_of(const tensor_t *x, int64_t at) {
  return at / product(x->dims + x->axis + 1, x->rank - x->axis - 1) % x->dims[x->axis];
}

tensor_t *add_dequantise(suite_t *suite, tensor_t *x) {
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  y->is_bounded = true;
  for (int64_t i = 0; i < x->count; ++i) {
    const int64_t channel = x->channel_count > 1 ? channel_of(x, i) : 0;
    const double scale = scale_of(x, channel);
    y->values[i] = (x->values[i] - zero_of(x, channel)) * scale;
    y->errors[i] = x->errors[i] * scale + error_of_scale(scale, y->values[i]);
  }
  y->spread = x->spread * x->scales[0];
  tensor_t *operands[] = {x, side_tensor(suite, x, true),
                          x->dtype == BYOC_DTYPE_I32 ? NULL : side_tensor(suite, x, false)};
  byoc_onnx_node_t *node = commit(suite, "DequantizeLinear", operands, operands[2] != NULL ? 3 : 2, y);
  if (node == NULL) return NULL;
  if (x->channel_count > 1) byoc_onnx_node_int(node, "axis", x->axis);
  return y;
}

// In f32, as the standard says it; NULL where the last digit decides.
tensor_t *add_dynamic_quantise(suite_t *suite, tensor_t *x) {
  float least = 0, most = 0;
  for (int64_t i = 0; i < x->count; ++i) {
    if (x->errors[i] > 0) return NULL;
    least = fminf(least, (float)x->values[i]);
    most = fmaxf(most, (float)x->values[i]);
  }
  const float scale = (most - least) / 255.0f;
  const double zero = -(double)least / (double)scale;
  if (!(scale > 0) || fabs(zero - floor(zero) - 0.5) < 1e-4) return NULL;
  tensor_t *y = new_result(suite, BYOC_DTYPE_U8, x->rank, x->dims);
  tensor_t *scale_result = new_result(suite, BYOC_DTYPE_F32, 0, NULL);
  tensor_t *zero_result = new_result(suite, BYOC_DTYPE_U8, 0, NULL);
  set_scale(y, (double)scale, rint(zero));
  for (int64_t i = 0; i < x->count; ++i) store_step(y, i, x->values[i], SCALE_ERROR * fabs(x->values[i]));
  scale_result->values[0] = (double)scale;
  scale_result->is_bounded = true;
  scale_result->errors[0] = SCALE_ERROR * (double)scale;
  zero_result->values[0] = rint(zero);
  y->spread = 74;
  tensor_t *results[] = {y, scale_result, zero_result};
  if (commit_all(suite, "", "DynamicQuantizeLinear", &x, 1, results, 3) == NULL) return NULL;
  y->scale_tensor = scale_result;
  y->zero_tensor = zero_result;
  return y;
}

// ---- products ----

static tensor_t *new_sums(suite_t *suite, int32_t rank, const int64_t *dims, double terms, const tensor_t *a,
                          const tensor_t *b) {
  tensor_t *y = new_result(suite, BYOC_DTYPE_I32, rank, dims);
  y->spread = sqrt(terms) * a->spread * b->spread;
  return y;
}

tensor_t *add_conv_integer(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w) {
  int64_t dims[MAX_RANK], w_dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  const int32_t rank = conv->spatial + 2;
  if (!conv_shape(conv, x, w->dims[0], dims, w_dims) || product(dims, rank) > suite->max_elements) return NULL;
  tensor_t *y = new_sums(suite, rank, dims, (double)product(w_dims + 1, rank - 1), x, w);
  do {
    const sum_t sum = conv_sum(x, w, conv, index);
    y->values[at] = sum.value;
    y->errors[at++] = sum.error;
  } while (next_index(rank, dims, index));
  tensor_t *operands[] = {x, w, side_tensor(suite, x, false), NULL};
  // ConvInteger takes one zero of the weights here.
  const double zero = w->zeros[0];
  if (zero != 0 || w->dtype == BYOC_DTYPE_U8) operands[3] = new_constant(suite, w->dtype, 0, NULL, &zero);
  byoc_onnx_node_t *node = commit(suite, "ConvInteger", operands, operands[3] != NULL ? 4 : 3, y);
  if (node == NULL) return NULL;
  set_window(node, conv);
  return y;
}

tensor_t *add_matmul_integer(suite_t *suite, tensor_t *a, tensor_t *b) {
  int32_t rank = 0;
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  if (!product_shape(a, b, &rank, dims) || product(dims, rank) > suite->max_elements) return NULL;
  tensor_t *y = new_sums(suite, rank, dims, (double)a->dims[a->rank - 1], a, b);
  do {
    const sum_t sum = product_sum(a, b, index);
    y->values[at] = sum.value;
    y->errors[at++] = sum.error;
  } while (next_index(rank, dims, index));
  tensor_t *operands[] = {a, b, side_tensor(suite, a, false), side_tensor(suite, b, false)};
  return commit(suite, "MatMulInteger", operands, 4, y) != NULL ? y : NULL;
}

tensor_t *add_qlinear_conv(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w, tensor_t *bias,
                           byoc_dtype_t y_dtype) {
  int64_t dims[MAX_RANK], w_dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  const int32_t rank = conv->spatial + 2;
  if (!conv_shape(conv, x, w->dims[0], dims, w_dims) || product(dims, rank) > suite->max_elements) return NULL;
  const double terms = (double)product(w_dims + 1, rank - 1);
  const double spread = sqrt(terms) * x->spread * x->scales[0] * w->spread * w->scales[0];
  tensor_t *y = new_steps(suite, y_dtype, rank, dims, spread);
  do {
    sum_t sum = conv_sum(x, w, conv, index);
    if (bias != NULL) sum.value += bias->values[index[1]];
    const double scale = x->scales[0] * scale_of(w, index[1]);
    store_step(y, at++, sum.value * scale, sum.error * scale + error_of_scale(scale, sum.value * scale));
  } while (next_index(rank, dims, index));
  tensor_t *operands[] = {x,
                          side_tensor(suite, x, true),
                          side_tensor(suite, x, false),
                          w,
                          side_tensor(suite, w, true),
                          side_tensor(suite, w, false),
                          side_tensor(suite, y, true),
                          side_tensor(suite, y, false),
                          bias};
  byoc_onnx_node_t *node = commit(suite, "QLinearConv", operands, bias != NULL ? 9 : 8, y);
  if (node == NULL) return NULL;
  set_window(node, conv);
  return y;
}

tensor_t *add_qlinear_matmul(suite_t *suite, tensor_t *a, tensor_t *b, byoc_dtype_t y_dtype) {
  int32_t rank = 0;
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  if (!product_shape(a, b, &rank, dims) || product(dims, rank) > suite->max_elements) return NULL;
  const double spread = sqrt((double)a->dims[a->rank - 1]) * a->spread * a->scales[0] * b->spread * b->scales[0];
  tensor_t *y = new_steps(suite, y_dtype, rank, dims, spread);
  do {
    const sum_t sum = product_sum(a, b, index);
    const double scale = a->scales[0] * scale_of(b, index[rank - 1]);
    store_step(y, at++, sum.value * scale, sum.error * scale + error_of_scale(scale, sum.value * scale));
  } while (next_index(rank, dims, index));
  tensor_t *operands[] = {a,
                          side_tensor(suite, a, true),
                          side_tensor(suite, a, false),
                          b,
                          side_tensor(suite, b, true),
                          side_tensor(suite, b, false),
                          side_tensor(suite, y, true),
                          side_tensor(suite, y, false)};
  return commit(suite, "QLinearMatMul", operands, 8, y) != NULL ? y : NULL;
}

// ---- f32 ----

static tensor_t *new_f32(suite_t *suite, const tensor_t *like) {
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, like->rank, like->dims);
  y->is_bounded = true;
  return y;
}

// y = x * factor, of one element or, with `axis` >= 0, of each channel along it.
static tensor_t *add_factor(suite_t *suite, tensor_t *x, tensor_t *factor, int32_t axis) {
  tensor_t *y = new_f32(suite, x);
  for (int64_t i = 0; i < x->count; ++i) {
    const int64_t channel = axis < 0 ? 0 : i / product(x->dims + axis + 1, x->rank - axis - 1) % x->dims[axis];
    sum_t sum = {0};
    add_product(&sum, x, i, 0, factor, channel, 0);
    y->values[i] = sum.value;
    y->errors[i] = sum.error + SCALE_ERROR * sum.magnitude;
  }
  y->spread = x->spread * fabs(factor->values[0]);
  return commit2(suite, "Mul", x, factor, y) != NULL ? y : NULL;
}

tensor_t *add_scaling(suite_t *suite, tensor_t *sums, tensor_t *a, tensor_t *b) {
  tensor_t *cast = new_f32(suite, sums);
  for (int64_t i = 0; i < sums->count; ++i) {
    cast->values[i] = sums->values[i];
    cast->errors[i] = sums->errors[i] + SCALE_ERROR * fabs(sums->values[i]);
  }
  cast->spread = sums->spread;
  byoc_onnx_node_t *node = commit1(suite, "Cast", sums, cast);
  if (node == NULL) return NULL;
  byoc_onnx_node_int(node, "to", 1);
  // A convolution's channels stand in front of the pixels.
  const bool is_conv = b->axis == 0 && b->channel_count > 1;
  const int64_t dims[] = {b->channel_count, 1, 1, 1};
  tensor_t *scales = new_constant(suite, BYOC_DTYPE_F32, is_conv ? b->rank - 1 : b->channel_count > 1, dims, b->scales);
  tensor_t *part = add_factor(suite, cast, side_tensor(suite, a, true), -1);
  return part == NULL ? NULL
                      : add_factor(suite, part, scales,
                                   b->channel_count == 1 ? -1
                                   : is_conv             ? 1
                                                         : sums->rank - 1);
}

tensor_t *add_relu(suite_t *suite, tensor_t *x) {
  tensor_t *y = new_f32(suite, x);
  for (int64_t i = 0; i < x->count; ++i) {
    y->values[i] = fmax(x->values[i], 0);
    y->errors[i] = x->errors[i];
  }
  y->spread = x->spread;
  return commit1(suite, "Relu", x, y) != NULL ? y : NULL;
}

// ---- what exporters write ----

double conv_spread(const conv_t *conv, const tensor_t *x, const tensor_t *w) {
  return sqrt((double)product(w->dims + 1, 1 + conv->spatial)) * x->spread * w->spread;
}

static tensor_t *finish_qdq(suite_t *suite, tensor_t *y, const qdq_t *qdq) {
  if (y != NULL && qdq->has_relu) y = add_relu(suite, y);
  return y != NULL ? add_quantise(suite, y, qdq->y_dtype) : NULL;
}

tensor_t *add_qdq_conv(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w, const qdq_t *qdq) {
  tensor_t *bias = NULL;
  if (qdq->has_bias) {
    bias = draw_bias(suite, w->dims[0], conv_spread(conv, x, w));
    double scales[MAX_ELEMENTS], zeros[MAX_ELEMENTS] = {0};
    for (int64_t i = 0; i < w->channel_count; ++i) scales[i] = (double)(float)(x->scales[0] * w->scales[i]);
    set_scales(bias, w->channel_count, 0, scales, zeros);
    bias = add_dequantise(suite, bias);
  }
  tensor_t *number = add_dequantise(suite, x), *weight = add_dequantise(suite, w);
  if (number == NULL || weight == NULL) return NULL;
  return finish_qdq(suite, add_conv(suite, conv, number, weight, bias), qdq);
}

tensor_t *add_qdq_product(suite_t *suite, tensor_t *a, tensor_t *w, const qdq_t *qdq) {
  tensor_t *number = add_dequantise(suite, a), *weight = add_dequantise(suite, w), *bias = NULL;
  if (number == NULL || weight == NULL) return NULL;
  const gemm_t gemm = {.alpha = 1, .beta = 1};
  if (qdq->is_gemm && qdq->has_bias) bias = draw_constant(suite, BYOC_DTYPE_F32, 1, &w->dims[1], -1, 1);
  return finish_qdq(
      suite, qdq->is_gemm ? add_gemm(suite, &gemm, number, weight, bias) : add_matmul(suite, number, weight), qdq);
}
