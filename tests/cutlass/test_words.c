// SPDX-License-Identifier: Apache-2.0
// Products of words give the integers of the definition, on each instruction set and by each dot; those of lower
// precision stay within their bounds. Buffers end where a page that nobody may touch begins; workspace and results
// start as nonsense.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"
#include "pack/exact_factor.h"
#include "pack/pack_words.h"

enum { SLOTS = 3, MOST_CASES = 16 };

typedef struct case_t {
  const char *name;
  byoc_cutlass_problem_t problem;
  int64_t planned;            // rows, or 1 image, where the number is that of each call; 0: it is constant
  bool nan_datum, nan_weight; // one of them is NaN, in the middle
} case_t;

// Lives as long as the test.
static void *guarded(size_t size_bytes, size_t alignment) {
  return guarded_create(size_bytes, alignment).data;
}

static size_t dtype_bytes(uint32_t dtype) {
  return byoc_dtype_bits(dtype) / 8;
}

// ---- problems ----

static byoc_cutlass_problem_t conv(int64_t groups, int64_t in, int64_t out, int64_t size_h, int64_t size_w,
                                   int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  int64_t reach = (kernel - 1) * dilation + 1;
  byoc_cutlass_problem_t problem = {.kind = BYOC_CUTLASS_CONV, .inputs = {0, 1, 2, 3, 4, 5}};
  problem.conv = (byoc_cutlass_conv_t){.batch = 2,
                                       .groups = groups,
                                       .in = in,
                                       .out = out,
                                       .in_h = size_h,
                                       .in_w = size_w,
                                       .out_h = (size_h + 2 * pad - reach) / stride + 1,
                                       .out_w = (size_w + 2 * pad - reach) / stride + 1,
                                       .kernel_h = kernel,
                                       .kernel_w = kernel,
                                       .stride_h = stride,
                                       .stride_w = stride,
                                       .dilation_h = dilation,
                                       .dilation_w = dilation,
                                       .pad_top = pad,
                                       .pad_left = pad};
  return problem;
}

static byoc_cutlass_problem_t gemm(int64_t m, int64_t n, int64_t k, bool transpose_b) {
  return (byoc_cutlass_problem_t){.kind = BYOC_CUTLASS_GEMM,
                                  .gemm = {.m = m, .n = n, .k = k, .transpose_b = transpose_b, .constant_b = true},
                                  .inputs = {0, 1, 2, 3, 4, 5}};
}

static void add(case_t *cases, size_t *count, const char *name, byoc_cutlass_problem_t problem, uint32_t data,
                uint32_t result, int32_t zero, bool reads_zero) {
  problem.epilogue = (byoc_cutlass_epilogue_t){.alpha = 1.0f, .beta = 1.0f, .has_bias = true};
  problem.words.data = data;
  problem.words.result = result;
  problem.words.zero = zero;
  problem.words.reads_zero = reads_zero;
  if (result == BYOC_DTYPE_F32) {
    problem.epilogue.has_residual = true;
    problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
    problem.words.reads_factor = data != BYOC_DTYPE_F32;
  }
  if (result == BYOC_DTYPE_U8 || result == BYOC_DTYPE_I8) {
    problem.words.result_scale = 0.3f;
    problem.words.result_zero = result == BYOC_DTYPE_U8 ? 117.0f : -5.0f;
    problem.words.low = result == BYOC_DTYPE_U8 ? 117.0f : -128.0f; // the former as with Relu
    problem.words.high = result == BYOC_DTYPE_U8 ? 255.0f : 127.0f;
  }
  assert_true(*count < MOST_CASES);
  cases[(*count)++] = (case_t){.name = name, .problem = problem};
}

// Bytes are added to the bytes that result.
static void add_join(case_t *one) {
  byoc_cutlass_words_t *words = &one->problem.words;
  words->joins = words->joins_relu = true;
  words->residual = BYOC_DTYPE_I8;
  words->own_zero = 117.0f, words->own_scale = 0.3f, words->other_zero = -3.0f, words->other_scale = 0.21f;
  words->joined_scale = 0.17f, words->joined_zero = 5.0f, words->joined_low = 0.0f, words->joined_high = 255.0f;
  one->problem.epilogue.has_residual = true;
}

static size_t byte_cases(case_t *cases) {
  size_t n = 0;
  add(cases, &n, "3x3", conv(1, 13, 21, 9, 19, 3, 1, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 131, false);
  add(cases, &n, "1x1", conv(1, 70, 30, 7, 13, 1, 1, 0, 1), BYOC_DTYPE_I8, BYOC_DTYPE_I8, -7, false);
  add(cases, &n, "strided groups", conv(3, 5, 4, 17, 15, 3, 2, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_I32, 77, true);
  add(cases, &n, "dilated", conv(1, 4, 9, 16, 18, 3, 1, 2, 2), BYOC_DTYPE_I8, BYOC_DTYPE_F32, 3, true);
  add(cases, &n, "stride without kernel", conv(1, 8, 8, 11, 12, 1, 3, 0, 1), BYOC_DTYPE_U8, BYOC_DTYPE_F32, 9, false);
  add(cases, &n, "row", gemm(1, 77, 130, false), BYOC_DTYPE_U8, BYOC_DTYPE_I32, 128, false);
  add(cases, &n, "rows in place", gemm(13, 50, 36, true), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 100, true);
  add(cases, &n, "added bytes", conv(1, 9, 10, 6, 23, 3, 1, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 131, false);
  add_join(&cases[n - 1]);
  add(cases, &n, "rows", gemm(29, 18, 43, false), BYOC_DTYPE_I8, BYOC_DTYPE_F32, 5, true);
  return n;
}

// Planned for so many rows, or for one image; the call brings those of the problem.
static void make_open(case_t *one, int64_t planned) {
  one->planned = planned;
}

static byoc_cutlass_problem_t planned_problem(const case_t *one) {
  byoc_cutlass_problem_t problem = one->problem;
  if (one->planned == 0) return problem;
  problem.conv.open_batch = problem.gemm.open_rows = true;
  problem.conv.batch = 1, problem.gemm.m = one->planned;
  return problem;
}

static size_t depthwise_cases(case_t *cases) {
  size_t n = 0;
  add(cases, &n, "depthwise", conv(5, 1, 1, 20, 37, 3, 1, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 131, false);
  add(cases, &n, "depthwise of a small plane", conv(6, 1, 1, 7, 7, 3, 1, 1, 1), BYOC_DTYPE_I8, BYOC_DTYPE_I8, -7, true);
  add(cases, &n, "strided depthwise", conv(3, 1, 1, 17, 15, 3, 2, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_I32, 77, true);
  add(cases, &n, "depthwise, two filters", conv(3, 1, 2, 14, 41, 5, 1, 2, 1), BYOC_DTYPE_I8, BYOC_DTYPE_F32, 3, true);
  add(cases, &n, "dilated depthwise", conv(2, 1, 1, 16, 18, 3, 1, 2, 2), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 9, false);
  add(cases, &n, "depthwise, 7x7 by 3", conv(2, 1, 1, 31, 60, 7, 3, 3, 1), BYOC_DTYPE_I8, BYOC_DTYPE_U8, 1, false);
  add(cases, &n, "depthwise, stride 5", conv(2, 1, 1, 31, 150, 3, 5, 0, 1), BYOC_DTYPE_U8, BYOC_DTYPE_I8, 1, false);
  add(cases, &n, "bands of depthwise", conv(2, 1, 1, 70, 400, 3, 1, 1, 1), BYOC_DTYPE_I8, BYOC_DTYPE_U8, 5, false);
  add(cases, &n, "depthwise with more padding than image", conv(2, 1, 1, 1, 1, 1, 3, 5, 1), BYOC_DTYPE_U8,
      BYOC_DTYPE_U8, 4, false);
  add(cases, &n, "added bytes", conv(3, 1, 1, 9, 23, 3, 1, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 131, false);
  add_join(&cases[n - 1]);
  add(cases, &n, "open batch of depthwise", conv(3, 1, 1, 9, 23, 3, 1, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 131, false);
  make_open(&cases[n - 1], 1);
  return n;
}

static size_t open_cases(case_t *cases) {
  size_t n = 0;
  add(cases, &n, "open batch", conv(1, 9, 10, 6, 23, 3, 1, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 131, false);
  add_join(&cases[n - 1]);
  make_open(&cases[n - 1], 1);
  add(cases, &n, "open batch of groups", conv(3, 5, 4, 17, 15, 3, 2, 1, 1), BYOC_DTYPE_I8, BYOC_DTYPE_F32, 77, true);
  make_open(&cases[n - 1], 1);
  add(cases, &n, "open rows in place", gemm(29, 50, 36, true), BYOC_DTYPE_U8, BYOC_DTYPE_U8, 100, true);
  make_open(&cases[n - 1], 16);
  add(cases, &n, "open rows by slices", gemm(29, 18, 43, false), BYOC_DTYPE_I8, BYOC_DTYPE_F32, 5, true);
  make_open(&cases[n - 1], 16);
  add(cases, &n, "one open row", gemm(1, 77, 130, false), BYOC_DTYPE_U8, BYOC_DTYPE_I32, 128, false);
  make_open(&cases[n - 1], 16);
  return n;
}

static size_t float_cases(case_t *cases) {
  size_t n = 0;
  add(cases, &n, "row", gemm(1, 77, 131, false), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  add(cases, &n, "rows", gemm(21, 40, 64, true), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  add(cases, &n, "open rows", gemm(29, 50, 37, true), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  make_open(&cases[n - 1], 16);
  add(cases, &n, "one open row", gemm(1, 77, 130, false), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  make_open(&cases[n - 1], 16);
  add(cases, &n, "long open rows", gemm(19, 34, 1024, false), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  make_open(&cases[n - 1], 16);
  return n;
}

static size_t float_conv_cases(case_t *cases) {
  size_t n = 0;
  add(cases, &n, "3x3", conv(1, 13, 21, 9, 19, 3, 1, 1, 1), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  add(cases, &n, "strided", conv(1, 6, 11, 14, 15, 3, 2, 1, 1), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  add(cases, &n, "open batch", conv(1, 9, 10, 6, 23, 3, 1, 1, 1), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  make_open(&cases[n - 1], 1);
  add(cases, &n, "open batch of groups", conv(3, 5, 4, 17, 15, 3, 2, 1, 1), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  make_open(&cases[n - 1], 1);
  return n;
}

// NaN makes NaN: with bf16 in every sum that it is part of; with bytes, which cannot represent it, in its whole image
// or row, or its whole channel.
static size_t nan_cases(case_t *cases) {
  size_t n = 0;
  add(cases, &n, "NaN in a row", gemm(5, 40, 131, false), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  cases[n - 1].nan_datum = true;
  add(cases, &n, "NaN in a column", gemm(5, 40, 131, true), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  cases[n - 1].nan_weight = true;
  return n;
}

static size_t nan_conv_cases(case_t *cases) {
  size_t n = 0;
  add(cases, &n, "NaN in an image", conv(1, 13, 21, 9, 19, 3, 1, 1, 1), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  cases[n - 1].nan_datum = true;
  add(cases, &n, "NaN in a filter", conv(1, 13, 21, 9, 19, 3, 1, 1, 1), BYOC_DTYPE_F32, BYOC_DTYPE_F32, 0, false);
  cases[n - 1].nan_weight = true;
  return n;
}

// ---- tensors ----

typedef struct tensors_t {
  void *data; // bytes or floats
  int16_t *bytes;
  float *weights; // of floats
  int32_t *summands;
  float *scales, *shifts, *residual;
  uint8_t zero;
  float factor;
  int64_t channels, data_count, weight_count, result_count;
} tensors_t;

static double data_at(const byoc_cutlass_problem_t *problem, const tensors_t *t, int64_t at) {
  uint32_t dtype = problem->words.data;
  if (dtype == BYOC_DTYPE_F32) return ((const float *)t->data)[at];
  int32_t value = dtype == BYOC_DTYPE_I8 ? ((const int8_t *)t->data)[at] : ((const uint8_t *)t->data)[at];
  return value - problem->words.zero;
}

static double weight_at(const tensors_t *t, int64_t at) {
  return t->weights ? t->weights[at] : t->bytes[at];
}

// The sum of products at one element of the result, and of their magnitudes.
static double sum_at(const byoc_cutlass_problem_t *problem, const tensors_t *t, int64_t at, double *magnitude) {
  double sum = 0;
  *magnitude = 0;
  if (problem->kind == BYOC_CUTLASS_GEMM) {
    const byoc_cutlass_gemm_t *g = &problem->gemm;
    int64_t m = at / g->n, n = at % g->n;
    for (int64_t k = 0; k < g->k; ++k) {
      double term = data_at(problem, t, m * g->k + k) * weight_at(t, g->transpose_b ? n * g->k + k : k * g->n + n);
      sum += term, *magnitude += fabs(term);
    }
    return sum;
  }
  const byoc_cutlass_conv_t *c = &problem->conv;
  int64_t x = at % c->out_w, y = at / c->out_w % c->out_h, channel = at / (c->out_w * c->out_h) % t->channels;
  int64_t image = at / (c->out_w * c->out_h * t->channels), group = channel / c->out;
  for (int64_t i = 0; i < c->in; ++i)
    for (int64_t r = 0; r < c->kernel_h; ++r)
      for (int64_t s = 0; s < c->kernel_w; ++s) {
        int64_t in_y = y * c->stride_h + r * c->dilation_h - c->pad_top;
        int64_t in_x = x * c->stride_w + s * c->dilation_w - c->pad_left;
        if (in_y < 0 || in_x < 0 || in_y >= c->in_h || in_x >= c->in_w) continue;
        double term =
            weight_at(t, ((channel * c->in + i) * c->kernel_h + r) * c->kernel_w + s) *
            data_at(problem, t, (((image * c->groups + group) * c->in + i) * c->in_h + in_y) * c->in_w + in_x);
        sum += term, *magnitude += fabs(term);
      }
  return sum;
}

static float *random_floats(byoc_test_random_t *random, int64_t count, float scale) {
  float *values = guarded((size_t)count * sizeof(float), sizeof(float));
  for (int64_t i = 0; i < count; ++i) values[i] = byoc_test_float(random) * scale;
  return values;
}

// Guarded memory is not given back: the process is short-lived.
static tensors_t make_tensors(const case_t *one) {
  const byoc_cutlass_problem_t *problem = &one->problem;
  byoc_test_random_t random = {7};
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_gemm_t *g = &problem->gemm;
  bool is_conv = problem->kind == BYOC_CUTLASS_CONV, is_float = problem->words.data == BYOC_DTYPE_F32;
  tensors_t t = {.channels = byoc_cutlass_words_channels(problem), .factor = 1.0f};
  t.data_count = is_conv ? c->batch * c->groups * c->in * c->in_h * c->in_w : g->m * g->k;
  t.weight_count = is_conv ? t.channels * c->in * c->kernel_h * c->kernel_w : g->k * g->n;
  t.result_count = is_conv ? c->batch * t.channels * c->out_h * c->out_w : g->m * g->n;
  t.residual = random_floats(&random, t.result_count, 1.0f);
  t.shifts = random_floats(&random, t.channels, 1.0f);
  t.scales = random_floats(&random, t.channels, 0.0f);
  t.zero = (uint8_t)problem->words.zero;
  if (is_float) {
    t.data = random_floats(&random, t.data_count, 1.0f);
    t.weights = random_floats(&random, t.weight_count, 0.2f);
    for (int64_t i = 0; i < t.channels; ++i) t.scales[i] = 1.0f;
    if (one->nan_datum) ((float *)t.data)[t.data_count / 2] = NAN;
    if (one->nan_weight) t.weights[t.weight_count / 2] = NAN;
    return t;
  }
  if (problem->words.reads_factor) t.factor = 0.5f;
  t.data = guarded((size_t)t.data_count, 1);
  for (int64_t i = 0; i < t.data_count; ++i) ((uint8_t *)t.data)[i] = (uint8_t)byoc_test_next(&random);
  t.bytes = malloc((size_t)t.weight_count * sizeof *t.bytes);
  t.summands = malloc((size_t)t.channels * sizeof *t.summands);
  assert_true(t.bytes && t.summands);
  for (int64_t i = 0; i < t.weight_count; ++i) t.bytes[i] = (int8_t)byoc_test_next(&random);
  for (int64_t i = 0; i < t.channels; ++i) {
    t.summands[i] = (int32_t)(byoc_test_next(&random) % 20000) - 10000;
    t.scales[i] = 0.001f + 0.0001f * (float)i;
  }
  return t;
}

// ---- one case ----

// Whether bytes of this case make NaN of an element of the result.
static bool bytes_make_nan(const case_t *one, const tensors_t *t, int64_t at) {
  const byoc_cutlass_problem_t *problem = &one->problem;
  bool is_conv = problem->kind == BYOC_CUTLASS_CONV;
  int64_t plane = is_conv ? problem->conv.out_h * problem->conv.out_w : 1, channel = at / plane % t->channels;
  int64_t images = is_conv ? problem->conv.batch : problem->gemm.m, weight = t->weight_count / 2;
  int64_t column = problem->gemm.transpose_b ? weight / problem->gemm.k : weight % t->channels;
  if (is_conv) column = weight / (t->weight_count / t->channels);
  return (one->nan_datum && at / (t->result_count / images) == t->data_count / 2 / (t->data_count / images)) ||
         (one->nan_weight && channel == column);
}

static void check(const case_t *one, const tensors_t *t, const void *result, const char *how) {
  const byoc_cutlass_problem_t *problem = &one->problem;
  const byoc_cutlass_words_t *words = &problem->words;
  bool bf16 = words->dot == BYOC_CUTLASS_DOT_BF16X2 || words->dot == BYOC_CUTLASS_DOT_BF16_WIDE;
  for (int64_t i = 0; i < t->result_count; ++i) {
    int64_t plane = problem->kind == BYOC_CUTLASS_CONV ? problem->conv.out_h * problem->conv.out_w : 1;
    int64_t channel = i / plane % t->channels;
    double magnitude = 0, sum = sum_at(problem, t, i, &magnitude), expected, actual, allowed = 0;
    if (words->data != BYOC_DTYPE_F32) sum += t->summands[channel];
    if (words->result == BYOC_DTYPE_I32) {
      expected = sum, actual = ((const int32_t *)result)[i];
    } else if (words->result == BYOC_DTYPE_F32) {
      expected =
          sum * (double)t->scales[channel] * (double)t->factor + (double)t->shifts[channel] + (double)t->residual[i];
      if (expected < 0) expected = 0;
      actual = ((const float *)result)[i];
      if (isnan(actual) && (bf16 ? isnan(expected) : bytes_make_nan(one, t, i))) continue;
      allowed = 1e-4 + 1e-4 * fabs(expected);
      // bf16 keeps 8 bits of a weight, rounded (2^-9), and of data where both are bf16. Bytes are off by half a step of
      // 1/127 of the largest weight (0.2) and the largest datum (1) each.
      if (bf16) allowed += magnitude * (words->dot == BYOC_CUTLASS_DOT_BF16X2 ? 2.1 : 1.05) / 512;
      if (!bf16 && words->data == BYOC_DTYPE_F32) {
        int64_t terms = t->weight_count / t->channels;
        allowed += (double)terms * 0.201 / 127;
      }
    } else {
      bool is_signed = words->result == BYOC_DTYPE_I8;
      float value = rintf((float)sum * t->scales[channel] / words->result_scale) + words->result_zero;
      expected = fminf(fmaxf(value, words->low), words->high);
      if (words->joins) {
        float own = ((float)expected - words->own_zero) * words->own_scale;
        float other = ((float)((const int8_t *)t->residual)[i] - words->other_zero) * words->other_scale;
        value = rintf(fmaxf(own + other, 0.0f) / words->joined_scale) + words->joined_zero;
        expected = fminf(fmaxf(value, words->joined_low), words->joined_high);
      }
      actual = is_signed ? ((const int8_t *)result)[i] : ((const uint8_t *)result)[i];
    }
    if (!(fabs(expected - actual) <= allowed))
      fail_msg("%s, %s: element %lld is %g, not %g", one->name, how, (long long)i, actual, expected);
  }
}

static void run_case(const case_t *one, const byoc_cutlass_plan_t *plan, byoc_packed_function_t function,
                     const char *how) {
  const byoc_cutlass_problem_t planned = planned_problem(one), *problem = &planned;
  tensors_t t = make_tensors(one);
  const bool is_conv = problem->kind == BYOC_CUTLASS_CONV;
  int64_t shape[4] = {is_conv ? one->problem.conv.batch : one->problem.gemm.m, t.channels, problem->conv.out_h,
                      problem->conv.out_w};
  uint32_t dot = problem->words.dot;
  size_t workspace_bytes = (size_t)byoc_cutlass_workspace_bytes(problem, plan);
  int32_t *packed = guarded(byoc_cutlass_packed_floats(problem, plan) * 4, BYOC_BUFFER_ALIGNMENT);
  int32_t *tables = guarded((size_t)byoc_cutlass_words_parameter_count(problem) * 4, BYOC_BUFFER_ALIGNMENT);
  int16_t *bytes = t.bytes;
  if (!bytes && dot != BYOC_CUTLASS_DOT_BF16X2 && dot != BYOC_CUTLASS_DOT_BF16_WIDE) {
    bytes = malloc((size_t)t.weight_count * sizeof *bytes);
    assert_non_null(bytes);
    float *scales = random_floats(&(byoc_test_random_t){1}, t.channels, 0.0f);
    byoc_cutlass_words_quantise(problem, t.weights, bytes, scales);
    byoc_cutlass_words_parameters(problem, bytes, NULL, scales, t.shifts, tables);
  } else {
    byoc_cutlass_words_parameters(problem, bytes, t.summands, t.scales, t.shifts, tables);
  }
  if (bytes)
    byoc_cutlass_words_pack(problem, plan, bytes, packed);
  else
    byoc_cutlass_words_pack_bf16(problem, plan, t.weights, packed);
  for (int32_t threads = 1; threads <= SLOTS; threads += SLOTS - 1) {
    void *result = guarded((size_t)t.result_count * dtype_bytes(problem->words.result), 1);
    DLTensor tensors[] = {{.data = t.data},
                          {.data = packed},
                          {.data = tables},
                          {.data = t.residual},
                          {.data = &t.zero},
                          {.data = &t.factor},
                          {.data = result, .ndim = is_conv ? 4 : 2, .shape = shape}};
    kernels_call(function, tensors, 6, 1, threads, guarded(workspace_bytes + 1, BYOC_BUFFER_ALIGNMENT),
                 workspace_bytes);
    check(one, &t, result, how);
  }
  if (bytes != t.bytes) free(bytes);
  free(t.bytes);
  free(t.summands);
}

// ---- compiling ----

// Compiles all cases into one shared object and runs them where this processor can; nothing where the instruction set
// does not have the dot.
static void run_cases(case_t *cases, size_t count, byoc_cutlass_isa_t isa, uint32_t dot) {
  static const char *const isas[] = {
#define BYOC_ISA(NAME, id, ...) #id,
#include "byoc/isa.def"
  };
  static const char *const dots[] = {"f32", "i8x4", "i16x2", "bf16x2", "bf16 wide"};
  if (!byoc_cutlass_dot_feature(isa, dot)) return;
  char how[64];
  snprintf(how, sizeof(how), "%s by %s", dots[dot], isas[isa]);
  bool runs = kernels_run_here(isa, dot);
  byoc_cutlass_plan_t plans[MOST_CASES];
  kernels_t kernels;
  kernels_begin(&kernels, isa);
  kernels.dot = dot;
  for (size_t i = 0; i < count; ++i) {
    cases[i].problem.words.dot = dot;
    const byoc_cutlass_problem_t problem = planned_problem(&cases[i]);
    byoc_cutlass_plan_default(&problem, isa, SLOTS, false, &plans[i]);
    assert_int_equal(plans[i].form, BYOC_CUTLASS_FORM_WORDS);
    kernels_add(&kernels, &problem, &plans[i]);
  }
  // Integers that overflow end the test.
  kernels_compile(&kernels, "-O1 -fsanitize=signed-integer-overflow -fsanitize-undefined-trap-on-error");
  if (!runs) byoc_test_leave_out("%s is compiled but not run: this processor cannot", how);
  for (size_t i = 0; i < count && runs; ++i) run_case(&cases[i], &plans[i], kernels.functions[i], how);
  kernels_end(&kernels);
}

// By every dot that the cases' data can go through and the machine's compiler knows.
static void run_everywhere(case_t *cases, size_t count, bool bytes, bool wide, bool narrow) {
#if defined(__x86_64__)
  static const byoc_cutlass_isa_t isas[] = {BYOC_CUTLASS_ISA_PORTABLE, BYOC_CUTLASS_ISA_AVX2, BYOC_CUTLASS_ISA_AVX512};
#elif defined(__aarch64__)
  static const byoc_cutlass_isa_t isas[] = {BYOC_CUTLASS_ISA_PORTABLE, BYOC_CUTLASS_ISA_NEON};
#else
  static const byoc_cutlass_isa_t isas[] = {BYOC_CUTLASS_ISA_PORTABLE};
#endif
  for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); ++i) {
    const byoc_cutlass_isa_t isa = isas[i];
    if (!byoc_test_is_long() && !kernels_try_here(isa)) continue;
    if (bytes) run_cases(cases, count, isa, BYOC_CUTLASS_DOT_I8X4);
    if (bytes) run_cases(cases, count, isa, BYOC_CUTLASS_DOT_I16X2);
    if (narrow) run_cases(cases, count, isa, BYOC_CUTLASS_DOT_BF16X2);
    if (wide) run_cases(cases, count, isa, BYOC_CUTLASS_DOT_BF16_WIDE);
  }
}

static void test_bytes(void **state) {
  (void)state;
  case_t cases[MOST_CASES];
  run_everywhere(cases, byte_cases(cases), true, false, false);
}

static void test_depthwise(void **state) {
  (void)state;
  case_t cases[MOST_CASES];
  run_everywhere(cases, depthwise_cases(cases), true, false, false);
}

static void test_open_bytes(void **state) {
  (void)state;
  case_t cases[MOST_CASES];
  run_everywhere(cases, open_cases(cases), true, false, false);
}

static void test_floats_as_bytes(void **state) {
  (void)state;
  case_t cases[MOST_CASES];
  run_everywhere(cases, float_cases(cases), true, true, true);
  run_everywhere(cases, float_conv_cases(cases), true, false, true);
}

static void test_nan(void **state) {
  (void)state;
  case_t cases[MOST_CASES];
  run_everywhere(cases, nan_cases(cases), true, true, true);
  run_everywhere(cases, nan_conv_cases(cases), true, false, true);
}

// The formulas that a build proves exact give the bytes of the definition for each sum, also for those next to a half.
static void test_exact_bytes(void **state) {
  (void)state;
  byoc_test_random_t random = {3};
  int found = 0, inverses = 0;
  for (int i = 0; i < 40; ++i) {
    const float result_scale = 0.01f + 0.01f * fabsf(byoc_test_float(&random));
    const float span = exp2f((float)(4 + i % 16)); // the sum that makes 128 steps, or so
    const byoc_cutlass_rounding_t r = {.scale = result_scale * (128.0f + 64.0f * byoc_test_float(&random)) / span,
                                       .result_scale = result_scale,
                                       .zero = (float)(byoc_test_next(&random) % 256),
                                       .high = 255.0f};
    float factor, summand;
    const float inverse = 1.0f / result_scale, rest = (float)(1.0 / (double)result_scale - (double)inverse);
    const bool is_exact = byoc_cutlass_exact_factor(&r, &factor, &summand);
    const bool has_inverse = byoc_cutlass_exact_inverse(&r);
    found += is_exact, inverses += has_inverse;
    for (float byte = -r.zero; byte < 256.0f - r.zero; ++byte)
      for (int64_t near = -3; near <= 3; ++near) {
        const float sum = (float)(llrintf((byte + 0.5f) * result_scale / r.scale) + near), x = sum * r.scale;
        const float expected = fminf(fmaxf(rintf(x / result_scale) + r.zero, r.low), r.high);
        if (is_exact) assert_true(fminf(fmaxf(rintf(fmaf(sum, factor, summand)), r.low), r.high) == expected);
        const float quotient = fmaf(x, inverse, x * rest);
        if (has_inverse) assert_true(fminf(fmaxf(rintf(quotient) + r.zero, r.low), r.high) == expected);
      }
  }
  assert_true(found > 20 && inverses == 40);
}

// No formula is exact for numbers that floats do not hold.
static void test_no_exact_bytes(void **state) {
  (void)state;
  float factor, summand;
  const byoc_cutlass_rounding_t wrong[] = {{.scale = 0.0f, .result_scale = 1.0f, .high = 255.0f},
                                           {.scale = NAN, .result_scale = 1.0f, .high = 255.0f},
                                           {.scale = 1.0f, .result_scale = 0.0f, .high = 255.0f},
                                           {.scale = INFINITY, .result_scale = 1.0f, .high = 255.0f},
                                           {.scale = 1e-38f, .result_scale = 1.0f, .high = 255.0f}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    assert_false(byoc_cutlass_exact_factor(&wrong[i], &factor, &summand));
    assert_false(byoc_cutlass_exact_inverse(&wrong[i]));
  }
}

// Products of bf16 are faster than f32 on some makers' processors only; those of an unknown maker may be the slow ones.
static void test_rates(void **state) {
  (void)state;
  const byoc_cutlass_isa_t wide = BYOC_CUTLASS_ISA_AVX512;
  assert_true(byoc_cutlass_dot_rate(wide, BYOC_CUTLASS_DOT_BF16X2, "AuthenticAMD") > 1);
  assert_true(byoc_cutlass_dot_rate(wide, BYOC_CUTLASS_DOT_BF16X2, "GenuineIntel") < 1);
  assert_true(byoc_cutlass_dot_rate(wide, BYOC_CUTLASS_DOT_BF16X2, "") < 1);
  assert_true(byoc_cutlass_dot_rate(BYOC_CUTLASS_ISA_NEON, BYOC_CUTLASS_DOT_BF16X2, "") > 1);
  assert_true(byoc_cutlass_dot_rate(wide, BYOC_CUTLASS_DOT_I8X4, "") > 1);
  assert_true(byoc_cutlass_dot_rate(BYOC_CUTLASS_ISA_PORTABLE, BYOC_CUTLASS_DOT_BF16_WIDE, "") == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes),           cmocka_unit_test(test_depthwise), cmocka_unit_test(test_open_bytes),
      cmocka_unit_test(test_floats_as_bytes), cmocka_unit_test(test_nan),       cmocka_unit_test(test_exact_bytes),
      cmocka_unit_test(test_no_exact_bytes),  cmocka_unit_test(test_rates)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
