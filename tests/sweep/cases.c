// SPDX-License-Identifier: Apache-2.0
// Makes the cases: channels and kernels are gone through, all else is drawn.
#include "tests/sweep/cases.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/random/quantised.h"

// ---- operators ----

static bool flips(const sweep_case_t *c, int bit) {
  return c->seed * 0x9E3779B97F4A7C15u >> (63 - bit) & 1;
}

static byoc_dtype_t type_of(const sweep_case_t *c, int bit) {
  return flips(c, bit) ? BYOC_DTYPE_U8 : BYOC_DTYPE_I8;
}

static conv_t conv_of(const sweep_case_t *c) {
  conv_t conv = {.spatial = 2, .group = c->group};
  for (int32_t d = 0; d < 2; ++d) {
    conv.kernel[d] = c->kernel;
    conv.strides[d] = c->stride;
    conv.dilations[d] = c->dilation;
  }
  memcpy(conv.pads, c->pads, sizeof(c->pads));
  return conv;
}

// Images are [N, channels, H, W], of which the channels are known.
static void image_dims(const sweep_case_t *c, int64_t growth, int64_t *dims) {
  const int64_t all[] = {c->n + growth, c->in, c->h + growth, c->w + growth};
  memcpy(dims, all, sizeof(all));
}

static tensor_t *image_of_steps(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  int64_t dims[4];
  image_dims(c, growth, dims);
  return draw_quantised(suite, type_of(c, 0), 4, dims, 2);
}

static tensor_t *image_of_numbers(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  int64_t dims[4];
  image_dims(c, growth, dims);
  return draw_input(suite, BYOC_DTYPE_F32, 4, dims, 2, -1.25, 2);
}

static tensor_t *filter(suite_t *suite, const sweep_case_t *c) {
  const int64_t dims[] = {c->out, c->in / c->group, c->kernel, c->kernel};
  return draw_weights(suite, type_of(c, 1), 4, dims, flips(c, 2), 0);
}

static tensor_t *conv_integer(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const conv_t conv = conv_of(c);
  tensor_t *x = image_of_steps(suite, c, growth);
  return add_conv_integer(suite, &conv, x, filter(suite, c));
}

static tensor_t *qlinear_conv(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const conv_t conv = conv_of(c);
  tensor_t *x = image_of_steps(suite, c, growth), *w = filter(suite, c), *bias = NULL;
  if (flips(c, 3)) bias = draw_bias(suite, c->out, conv_spread(&conv, x, w));
  return add_qlinear_conv(suite, &conv, x, w, bias, type_of(c, 0));
}

static qdq_t qdq_of(const sweep_case_t *c, bool is_gemm) {
  return (qdq_t){.has_bias = flips(c, 3), .has_relu = flips(c, 4), .is_gemm = is_gemm, .y_dtype = type_of(c, 0)};
}

static tensor_t *qdq_conv(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const conv_t conv = conv_of(c);
  const qdq_t qdq = qdq_of(c, false);
  tensor_t *x = image_of_steps(suite, c, growth);
  return add_qdq_conv(suite, &conv, x, filter(suite, c), &qdq);
}

static tensor_t *dynamic_conv(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const conv_t conv = conv_of(c);
  tensor_t *x = add_dynamic_quantise(suite, image_of_numbers(suite, c, growth));
  tensor_t *w = x != NULL ? filter(suite, c) : NULL;
  tensor_t *sums = x != NULL ? add_conv_integer(suite, &conv, x, w) : NULL;
  return sums != NULL ? add_scaling(suite, sums, x, w) : NULL;
}

static tensor_t *float_conv(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const conv_t conv = conv_of(c);
  const int64_t dims[] = {c->out, c->in / c->group, c->kernel, c->kernel};
  tensor_t *x = image_of_numbers(suite, c, growth), *bias = NULL;
  tensor_t *w = draw_constant(suite, BYOC_DTYPE_F32, 4, dims, -1, 1);
  if (flips(c, 3)) bias = draw_constant(suite, BYOC_DTYPE_F32, 1, &c->out, -1, 1);
  tensor_t *y = add_conv(suite, &conv, x, w, bias);
  return y != NULL && flips(c, 4) ? add_relu(suite, y) : y;
}

static tensor_t *transposed_conv(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const conv_t conv = conv_of(c);
  const int64_t dims[] = {c->in, c->out, c->kernel, c->kernel}, extra[2] = {c->stride > 1 && flips(c, 3), 0};
  tensor_t *x = image_of_numbers(suite, c, growth);
  return add_conv_transpose(suite, &conv, extra, x, draw_constant(suite, BYOC_DTYPE_F32, 4, dims, -1, 1));
}

static tensor_t *pool(suite_t *suite, const sweep_case_t *c, tensor_t *x, bool is_max) {
  window_t window = {.spatial = 2, .is_max = is_max, .ceil_mode = flips(c, 1), .count_padding = flips(c, 2)};
  for (int32_t d = 0; d < 2; ++d) {
    window.kernel[d] = c->kernel;
    window.strides[d] = c->stride;
    window.dilations[d] = 1;
  }
  memcpy(window.pads, c->pads, sizeof(c->pads));
  return add_pool(suite, &window, x);
}

static tensor_t *max_pool(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  return pool(suite, c, image_of_numbers(suite, c, growth), true);
}

static tensor_t *max_pool_of_steps(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  return pool(suite, c, image_of_steps(suite, c, growth), true);
}

static tensor_t *average_pool(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  return pool(suite, c, image_of_numbers(suite, c, growth), false);
}

static tensor_t *global_pool(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  return add_global_pool(suite, flips(c, 0), image_of_numbers(suite, c, growth));
}

// [N, rows, in] or [rows, in], of which the columns are known.
static int32_t matrix_dims(const sweep_case_t *c, int64_t growth, int64_t *dims) {
  int32_t rank = 0;
  if (c->n > 0) dims[rank++] = c->n + growth;
  dims[rank++] = c->h + growth;
  dims[rank++] = c->in;
  return rank;
}

static tensor_t *rows_of_steps(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  int64_t dims[3];
  const int32_t rank = matrix_dims(c, growth, dims);
  return draw_quantised(suite, type_of(c, 0), rank, dims, 1u << (rank - 1));
}

static tensor_t *rows_of_numbers(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  int64_t dims[3];
  const int32_t rank = matrix_dims(c, growth, dims);
  return draw_input(suite, BYOC_DTYPE_F32, rank, dims, 1u << (rank - 1), -1.25, 2);
}

static tensor_t *columns(suite_t *suite, const sweep_case_t *c) {
  const int64_t dims[] = {c->in, c->out};
  return draw_weights(suite, type_of(c, 1), 2, dims, flips(c, 2), 1);
}

static tensor_t *matmul_integer(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  tensor_t *a = rows_of_steps(suite, c, growth);
  return add_matmul_integer(suite, a, columns(suite, c));
}

static tensor_t *qlinear_matmul(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  tensor_t *a = rows_of_steps(suite, c, growth);
  return add_qlinear_matmul(suite, a, columns(suite, c), type_of(c, 0));
}

static tensor_t *qdq_matmul(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const qdq_t qdq = qdq_of(c, false);
  tensor_t *a = rows_of_steps(suite, c, growth);
  return add_qdq_product(suite, a, columns(suite, c), &qdq);
}

static tensor_t *qdq_gemm(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  const qdq_t qdq = qdq_of(c, true);
  sweep_case_t flat = *c;
  flat.n = 0; // Gemm takes matrices
  tensor_t *a = rows_of_steps(suite, &flat, growth);
  return add_qdq_product(suite, a, columns(suite, c), &qdq);
}

static tensor_t *dynamic_matmul(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  tensor_t *a = add_dynamic_quantise(suite, rows_of_numbers(suite, c, growth));
  tensor_t *b = a != NULL ? columns(suite, c) : NULL;
  tensor_t *sums = a != NULL ? add_matmul_integer(suite, a, b) : NULL;
  return sums != NULL ? add_scaling(suite, sums, a, b) : NULL;
}

// The right operand is constant, or an input of as many batches.
static tensor_t *float_matmul(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  tensor_t *a = rows_of_numbers(suite, c, growth), *b;
  const bool is_input = flips(c, 0);
  const int64_t dims[] = {c->n + growth, c->in, c->out};
  if (is_input && c->n > 0)
    b = draw_input(suite, BYOC_DTYPE_F32, 3, dims, 6, -1, 1);
  else if (is_input)
    b = draw_input(suite, BYOC_DTYPE_F32, 2, dims + 1, 3, -1, 1);
  else
    b = draw_constant(suite, BYOC_DTYPE_F32, 2, dims + 1, -1, 1);
  return add_matmul(suite, a, b);
}

static tensor_t *float_gemm(suite_t *suite, const sweep_case_t *c, int64_t growth) {
  gemm_t gemm = {.trans_b = flips(c, 0), .alpha = flips(c, 1) ? 0.5f : 1, .beta = flips(c, 2) ? 0.25f : 1};
  sweep_case_t flat = *c;
  flat.n = 0;
  const int64_t dims[] = {gemm.trans_b ? c->out : c->in, gemm.trans_b ? c->in : c->out};
  tensor_t *a = rows_of_numbers(suite, &flat, growth), *bias = NULL;
  tensor_t *b = draw_constant(suite, BYOC_DTYPE_F32, 2, dims, -1, 1);
  if (flips(c, 3)) bias = draw_constant(suite, BYOC_DTYPE_F32, 1, &c->out, -1, 1);
  return add_gemm(suite, &gemm, a, b, bias);
}

const sweep_operator_t sweep_operators[] = {
    {"ConvInteger", conv_integer, SWEEP_CONV},
    {"ConvInteger grouped", conv_integer, SWEEP_GROUPED},
    {"ConvInteger depthwise", conv_integer, SWEEP_DEPTHWISE},
    {"QLinearConv", qlinear_conv, SWEEP_CONV},
    {"QLinearConv grouped", qlinear_conv, SWEEP_GROUPED},
    {"QLinearConv depthwise", qlinear_conv, SWEEP_DEPTHWISE},
    {"QDQ Conv", qdq_conv, SWEEP_CONV},
    {"QDQ Conv grouped", qdq_conv, SWEEP_GROUPED},
    {"QDQ Conv depthwise", qdq_conv, SWEEP_DEPTHWISE},
    {"dynamic Conv", dynamic_conv, SWEEP_CONV},
    {"MatMulInteger", matmul_integer, SWEEP_PRODUCT},
    {"QLinearMatMul", qlinear_matmul, SWEEP_PRODUCT},
    {"QDQ MatMul", qdq_matmul, SWEEP_PRODUCT},
    {"QDQ Gemm", qdq_gemm, SWEEP_PRODUCT},
    {"dynamic MatMul", dynamic_matmul, SWEEP_PRODUCT},
    {"MaxPool of bytes", max_pool_of_steps, SWEEP_POOL},
    {"Conv", float_conv, SWEEP_CONV},
    {"Conv grouped", float_conv, SWEEP_GROUPED},
    {"Conv depthwise", float_conv, SWEEP_DEPTHWISE},
    {"ConvTranspose", transposed_conv, SWEEP_TRANSPOSED},
    {"MatMul", float_matmul, SWEEP_PRODUCT},
    {"Gemm", float_gemm, SWEEP_PRODUCT},
    {"MaxPool", max_pool, SWEEP_POOL},
    {"AveragePool", average_pool, SWEEP_POOL},
    {"GlobalPool", global_pool, SWEEP_POOL},
};
const size_t sweep_operator_count = sizeof(sweep_operators) / sizeof(sweep_operators[0]);

// ---- cases ----

enum { MOST_PRODUCTS = 600000 }; // of a case, so that the reference takes some milliseconds

static const int64_t all_channels[] = {1,  2,  3,  4,  5,  7,  8,  9,  12, 15, 16, 17,  24,  31,  32,  33, 40,
                                       47, 48, 49, 56, 57, 58, 63, 64, 65, 72, 96, 100, 127, 128, 129, 192};
static const int64_t quick_channels[] = {3, 8, 57};
static const int64_t outs[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 57, 64, 65};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int64_t drawn(byoc_test_random_t *random, uint64_t limit) {
  return (int64_t)byoc_test_below(random, limit);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void draw_groups(sweep_case_t *c, byoc_test_random_t *random) {
  c->group = 1;
  if (c->op->kind == SWEEP_DEPTHWISE) {
    c->group = c->in;
    c->out = c->in * (1 + (drawn(random, 4) == 0));
  }
  if (c->op->kind != SWEEP_GROUPED && c->op->kind != SWEEP_TRANSPOSED) return;
  if (c->op->kind == SWEEP_TRANSPOSED && drawn(random, 3) > 0) return;
  c->group = 2 + drawn(random, 3);
  while (c->in % c->group != 0) c->group -= 1;
  if (c->op->kind == SWEEP_GROUPED) c->out = c->group * (1 + c->out / c->group);
}

static void draw_window(sweep_case_t *c, byoc_test_random_t *random) {
  const int64_t dice = drawn(random, 20);
  c->stride = dice < 13 ? 1 : dice < 18 ? 2 : 3;
  c->dilation = c->kernel > 1 && drawn(random, 6) == 0 ? 2 : 1;
  const int64_t most = c->op->kind == SWEEP_POOL ? c->kernel / 2 : (c->kernel - 1) * c->dilation / 2;
  const int64_t form = drawn(random, 20); // the same, none, uneven
  for (int i = 0; i < 4; ++i) c->pads[i] = form < 12 ? most : form < 17 ? 0 : drawn(random, (uint64_t)most + 1);
  const int64_t span = (c->kernel - 1) * c->dilation + 1;
  c->n = 1 + (drawn(random, 3) == 0);
  c->h = span + drawn(random, 6);
  c->w = span + drawn(random, 9);
}

// Fewer results where each takes many products.
static void limit_work(sweep_case_t *c) {
  const bool is_product = c->op->kind == SWEEP_PRODUCT;
  const int64_t depth = is_product ? c->in : c->in / c->group * c->kernel * c->kernel;
  const int64_t places = is_product ? (c->n > 0 ? c->n : 1) * c->h : c->n * c->h * c->w;
  const int64_t most = MOST_PRODUCTS / (depth * places) + 1;
  if (c->op->kind != SWEEP_DEPTHWISE) c->out = least(c->out, c->group * (1 + most / c->group));
}

static sweep_case_t new_case(const sweep_operator_t *op, int64_t channels, int64_t kernel, uint64_t seed) {
  byoc_test_random_t random = {seed};
  sweep_case_t c = {.op = op, .in = channels, .kernel = kernel, .seed = seed, .group = 1};
  c.out = outs[drawn(&random, COUNT(outs))];
  if (op->kind == SWEEP_PRODUCT) { // the kernel stands for the rows
    c.h = kernel;
    c.n = drawn(&random, 4) == 0 ? 1 + drawn(&random, 3) : 0;
  } else {
    draw_groups(&c, &random);
    draw_window(&c, &random);
  }
  limit_work(&c);
  return c;
}

sweep_case_t *sweep_cases(const sweep_operator_t *op, bool is_quick, size_t *out_count) {
  static const int64_t kernels[] = {1, 3, 5, 7}, windows[] = {2, 3}, rows[] = {1, 2, 5, 16, 33};
  const int64_t *sizes = op->kind == SWEEP_POOL ? windows : op->kind == SWEEP_PRODUCT ? rows : kernels;
  size_t size_count = op->kind == SWEEP_POOL      ? COUNT(windows)
                      : op->kind == SWEEP_PRODUCT ? COUNT(rows)
                                                  : COUNT(kernels);
  const int64_t *channels = is_quick ? quick_channels : all_channels;
  const size_t channel_count = is_quick ? COUNT(quick_channels) : COUNT(all_channels);
  if (is_quick) { // 3x3, windows of 3, 2 rows
    sizes += 1;
    size_count = 1;
  }
  sweep_case_t *cases = calloc(channel_count * size_count, sizeof(*cases));
  assert_non_null(cases);
  *out_count = 0;
  for (size_t i = 0; i < channel_count; ++i) {
    for (size_t k = 0; k < size_count; ++k) {
      const uint64_t seed = (uint64_t)(op - sweep_operators) * 1000003 + (uint64_t)(channels[i] * 1009 + sizes[k]);
      cases[(*out_count)++] = new_case(op, channels[i], sizes[k], seed);
    }
  }
  return cases;
}

void sweep_describe(const sweep_case_t *c, char *out, size_t size) {
  if (c->op->kind == SWEEP_PRODUCT)
    snprintf(out, size, "%s [%lldx%lld,%lld] x [%lld,%lld]", c->op->name, (long long)c->n, (long long)c->h,
             (long long)c->in, (long long)c->in, (long long)c->out);
  else
    snprintf(out, size,
             "%s [%lld,%lld,%lld,%lld] to %lld channels, groups %lld, kernel %lld, stride %lld, dilation %lld, pads "
             "%lld %lld %lld %lld",
             c->op->name, (long long)c->n, (long long)c->in, (long long)c->h, (long long)c->w, (long long)c->out,
             (long long)c->group, (long long)c->kernel, (long long)c->stride, (long long)c->dilation,
             (long long)c->pads[0], (long long)c->pads[1], (long long)c->pads[2], (long long)c->pads[3]);
}
