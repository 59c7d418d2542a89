// SPDX-License-Identifier: Apache-2.0
// Computes in plain loops, which keep NaN, the operators by which oneDNN loses it.
#include "engine/function/plain.h"

#include <math.h>

// Tried on oneDNN 2.6 with SSE4.1, AVX, AVX2 and AVX-512: its other functions give NaN for NaN.
int byoc_dnnl_loses_nan(dnnl_alg_kind_t algorithm, float alpha) {
  switch ((int)algorithm) {
  case dnnl_eltwise_relu:
    return alpha == 0.0f;
  case dnnl_eltwise_clip:
  case dnnl_eltwise_exp:
  case dnnl_binary_max:
  case dnnl_binary_min:
  case dnnl_reduction_max:
  case dnnl_reduction_min:
  case dnnl_pooling_max:
  case dnnl_softmax_accurate:
  case dnnl_softmax_log:
    return 1;
  default:
    return 0;
  }
}

static int64_t product(const dnnl_dims_t dims, int32_t first, int32_t end) {
  int64_t count = 1;
  for (int32_t i = first; i < end; ++i) count *= dims[i];
  return count;
}

static float larger(float a, float b) {
  return a > b || isnan(a) ? a : b;
}

static float smaller(float a, float b) {
  return a < b || isnan(a) ? a : b;
}

static float function_of(const byoc_dnnl_plain_t *plain, float x) {
  if (plain->algorithm == dnnl_eltwise_exp) return expf(x);
  if (plain->algorithm == dnnl_eltwise_relu) return x < 0.0f ? 0.0f : x;
  return x < plain->alpha ? plain->alpha : x > plain->beta ? plain->beta : x;
}

// The index of the element of a broadcast tensor, whose dimensions are `dims` or 1, that belongs to an element of a
// tensor of dimensions `dims`.
static int64_t fellow(const byoc_dnnl_plain_t *plain, const dnnl_dims_t dims, const dnnl_dims_t other, int64_t at) {
  int64_t place = 0, step = 1;
  for (int32_t i = plain->rank - 1; i >= 0; --i) {
    if (other[i] != 1) place += at % dims[i] * step;
    step *= other[i];
    at /= dims[i];
  }
  return place;
}

static void run_binary(const byoc_dnnl_plain_t *plain, const float *x, const float *z, float *y) {
  const int64_t count = product(plain->x, 0, plain->rank);
  for (int64_t i = 0; i < count; ++i) {
    const float other = z[fellow(plain, plain->x, plain->z, i)];
    y[i] = plain->algorithm == dnnl_binary_max ? larger(x[i], other) : smaller(x[i], other);
  }
}

static void run_reduction(const byoc_dnnl_plain_t *plain, const float *x, float *y) {
  const int is_max = plain->algorithm == dnnl_reduction_max;
  const int64_t count = product(plain->x, 0, plain->rank), results = product(plain->y, 0, plain->rank);
  for (int64_t i = 0; i < results; ++i) y[i] = is_max ? -INFINITY : INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    float *to = &y[fellow(plain, plain->x, plain->y, i)];
    *to = is_max ? larger(*to, x[i]) : smaller(*to, x[i]);
  }
}

// The largest element in the window of one result, which has index `at` in its channel.
static float pool(const byoc_dnnl_plain_t *plain, const float *x, int64_t at) {
  const int32_t spatial = plain->rank - 2;
  const int64_t taps = product(plain->kernel, 0, spatial);
  float most = -INFINITY;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t window = at, rest = tap, place = 0, step = 1;
    int is_inside = 1;
    for (int32_t i = spatial - 1; i >= 0; --i) {
      const int64_t in =
          window % plain->y[2 + i] * plain->strides[i] - plain->pads[i] + rest % plain->kernel[i] * plain->dilations[i];
      if (in < 0 || in >= plain->x[2 + i]) is_inside = 0;
      place += in * step;
      step *= plain->x[2 + i];
      window /= plain->y[2 + i];
      rest /= plain->kernel[i];
    }
    if (is_inside) most = larger(most, x[place]);
  }
  return most;
}

static void run_pooling(const byoc_dnnl_plain_t *plain, const float *x, float *y) {
  const int64_t channels = product(plain->x, 0, 2);
  const int64_t from = product(plain->x, 2, plain->rank), to = product(plain->y, 2, plain->rank);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < to; ++i) y[c * to + i] = pool(plain, x + c * from, i);
}

static void run_softmax(const byoc_dnnl_plain_t *plain, const float *x, float *y) {
  const int64_t length = plain->x[plain->axis], step = product(plain->x, plain->axis + 1, plain->rank);
  const int64_t rows = product(plain->x, 0, plain->axis) * step;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t base = row / step * step * length + row % step;
    float most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < length; ++k) most = larger(most, x[base + k * step]);
    for (int64_t k = 0; k < length; ++k) sum += expf(x[base + k * step] - most);
    for (int64_t k = 0; k < length; ++k) {
      const float shifted = x[base + k * step] - most;
      y[base + k * step] = plain->algorithm == dnnl_softmax_log ? shifted - logf(sum) : expf(shifted) / sum;
    }
  }
}

void byoc_dnnl_plain_run(const byoc_dnnl_plain_t *plain, const float *x, const float *z, float *y) {
  const int64_t count = product(plain->x, 0, plain->rank);
  switch (plain->kind) {
  case BYOC_DNNL_PLAIN_ELTWISE:
    for (int64_t i = 0; i < count; ++i) y[i] = function_of(plain, x[i]);
    return;
  case BYOC_DNNL_PLAIN_BINARY:
    run_binary(plain, x, z, y);
    return;
  case BYOC_DNNL_PLAIN_REDUCTION:
    run_reduction(plain, x, y);
    return;
  case BYOC_DNNL_PLAIN_POOLING:
    run_pooling(plain, x, y);
    return;
  case BYOC_DNNL_PLAIN_SOFTMAX:
    run_softmax(plain, x, y);
    return;
  case BYOC_DNNL_PLAIN_NONE:
    return;
  }
}
