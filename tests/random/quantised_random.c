// SPDX-License-Identifier: Apache-2.0
// Draws quantised operators and what models put around them.
#include <math.h>

#include "tests/random/quantised.h"

enum { MAX_QUANTISED_ELEMENTS = 20000 };

const operator_row_t *const quantised_families[] = {quantised_operators, NULL};

void suite_quantise(suite_t *suite, bool is_open) {
  suite->families = quantised_families;
  suite->max_elements = MAX_QUANTISED_ELEMENTS;
  suite->largest_value = 1e9;
  suite->is_open = is_open;
}

static byoc_dtype_t draw_type(suite_t *suite) {
  return chance(suite, 50) ? BYOC_DTYPE_U8 : BYOC_DTYPE_I8;
}

// Dimensions of a result that are known where others are open; in graphs of fixed shapes all are.
static bool done(const suite_t *suite, tensor_t *y, unsigned kept) {
  if (y != NULL) y->kept = suite->is_open ? kept : ~0u;
  return y != NULL;
}

// ---- operands ----

typedef bool (*suits_t)(const tensor_t *tensor);

static bool is_steps(const tensor_t *tensor) {
  return (tensor->dtype == BYOC_DTYPE_U8 || tensor->dtype == BYOC_DTYPE_I8) && tensor->scales != NULL;
}

static bool is_f32(const tensor_t *tensor) {
  return tensor->dtype == BYOC_DTYPE_F32 && tensor->is_bounded && tensor->rank > 0;
}

static tensor_t *find(suite_t *suite, suits_t suits, int32_t rank, unsigned kept) {
  const size_t count = suite->tensor_count - suite->graph_begin;
  const size_t start = count > 0 ? (size_t)below(suite, (int64_t)count) : 0;
  for (size_t i = 0; i < count; ++i) {
    tensor_t *tensor = suite->tensors[suite->graph_begin + (start + i) % count];
    const bool fits =
        !tensor->is_constant && suits(tensor) && (rank < 0 || tensor->rank == rank) && (tensor->kept & kept) == kept;
    if (fits && (tensor->reader_count == 0 || chance(suite, 40))) return tensor;
  }
  return NULL;
}

static int64_t draw_channels(suite_t *suite) {
  static const int64_t channels[] = {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 57, 64, 65};
  return channels[below(suite, sizeof(channels) / sizeof(channels[0]))];
}

static void draw_shape(suite_t *suite, int32_t rank, int64_t *dims) {
  dims[0] = 1 + below(suite, 3);
  dims[1] = draw_channels(suite);
  if (rank == 2) dims[0] = 1 + below(suite, 9);
  for (int32_t d = 2; d < rank; ++d) dims[d] = 3 + below(suite, 7);
}

// Channels and columns are never open.
static tensor_t *steps(suite_t *suite, int32_t rank) {
  tensor_t *tensor = chance(suite, 85) ? find(suite, is_steps, rank, 2) : NULL;
  if (tensor != NULL) return tensor;
  int64_t dims[MAX_RANK];
  draw_shape(suite, rank, dims);
  tensor = draw_quantised(suite, draw_type(suite), rank, dims, 2);
  (void)done(suite, tensor, 2);
  return tensor;
}

static tensor_t *numbers(suite_t *suite, int32_t rank) {
  tensor_t *tensor = chance(suite, 85) ? find(suite, is_f32, rank, 2) : NULL;
  if (tensor != NULL) return tensor;
  int64_t dims[MAX_RANK];
  draw_shape(suite, rank, dims);
  tensor = draw_input(suite, BYOC_DTYPE_F32, rank, dims, 2, -2, 2);
  (void)done(suite, tensor, 2);
  return tensor;
}

static int32_t draw_rank(suite_t *suite) {
  return chance(suite, 70) ? 4 : 2;
}

// ---- between steps and numbers ----

static bool make_quantise(suite_t *suite) {
  tensor_t *x = find(suite, is_f32, -1, 0);
  if (x == NULL) x = numbers(suite, draw_rank(suite));
  return done(suite, add_quantise(suite, x, draw_type(suite)), x->kept);
}

static bool make_dequantise(suite_t *suite) {
  tensor_t *x = find(suite, is_steps, -1, 0);
  if (x == NULL) x = steps(suite, draw_rank(suite));
  return done(suite, add_dequantise(suite, x), x->kept);
}

// ---- convolutions ----

static bool draw_conv(suite_t *suite, const tensor_t *x, conv_t *conv) {
  *conv = (conv_t){.spatial = 2, .group = 1};
  static const int64_t kernels[] = {1, 3, 3, 5};
  const int64_t kernel = kernels[below(suite, 4)], pad = chance(suite, 60) ? kernel / 2 : 0;
  for (int32_t d = 0; d < 2; ++d) {
    conv->kernel[d] = kernel;
    conv->strides[d] = chance(suite, 75) ? 1 : 2;
    conv->dilations[d] = chance(suite, 85) ? 1 : 2;
    conv->pads[d] = conv->pads[2 + d] = pad;
  }
  if (chance(suite, 20)) conv->pads[below(suite, 4)] = 0;
  if (chance(suite, 15)) conv->group = x->dims[1];
  int64_t dims[MAX_RANK], w_dims[MAX_RANK];
  return conv_shape(conv, x, conv->group, dims, w_dims);
}

static tensor_t *conv_weights(suite_t *suite, const conv_t *conv, const tensor_t *x, bool channels) {
  const int64_t out = conv->group > 1 ? conv->group * (1 + below(suite, 2)) : draw_channels(suite);
  const int64_t dims[4] = {out, x->dims[1] / conv->group, conv->kernel[0], conv->kernel[1]};
  if (product(dims, 4) > suite->max_elements) return NULL;
  return draw_weights(suite, draw_type(suite), 4, dims, channels && chance(suite, 60), 0);
}

static qdq_t draw_qdq(suite_t *suite) {
  return (qdq_t){.has_bias = chance(suite, 60),
                 .has_relu = chance(suite, 50),
                 .is_gemm = chance(suite, 50),
                 .y_dtype = draw_type(suite)};
}

static bool make_conv_integer(suite_t *suite) {
  conv_t conv;
  tensor_t *x = steps(suite, 4);
  tensor_t *w = draw_conv(suite, x, &conv) ? conv_weights(suite, &conv, x, true) : NULL;
  tensor_t *y = w != NULL ? add_conv_integer(suite, &conv, x, w) : NULL;
  if (y == NULL || chance(suite, 25)) return done(suite, y, 2);
  return done(suite, add_scaling(suite, y, x, w), 2);
}

static bool make_qlinear_conv(suite_t *suite) {
  conv_t conv;
  tensor_t *x = steps(suite, 4), *bias = NULL;
  tensor_t *w = draw_conv(suite, x, &conv) ? conv_weights(suite, &conv, x, true) : NULL;
  if (w == NULL) return false;
  if (chance(suite, 60)) bias = draw_bias(suite, w->dims[0], conv_spread(&conv, x, w));
  return done(suite, add_qlinear_conv(suite, &conv, x, w, bias, draw_type(suite)), 2);
}

static bool make_qdq_conv(suite_t *suite) {
  conv_t conv;
  tensor_t *x = steps(suite, 4);
  tensor_t *w = draw_conv(suite, x, &conv) ? conv_weights(suite, &conv, x, true) : NULL;
  if (w == NULL) return false;
  const qdq_t qdq = draw_qdq(suite);
  return done(suite, add_qdq_conv(suite, &conv, x, w, &qdq), 2);
}

// ---- matrix products ----

static tensor_t *matrix(suite_t *suite, const tensor_t *a, bool channels) {
  const int64_t dims[2] = {a->dims[a->rank - 1], draw_channels(suite)};
  return draw_weights(suite, draw_type(suite), 2, dims, channels && chance(suite, 60), 1);
}

static bool make_matmul_integer(suite_t *suite) {
  tensor_t *a = steps(suite, 2), *b = matrix(suite, a, true), *y = add_matmul_integer(suite, a, b);
  if (y == NULL || chance(suite, 25)) return done(suite, y, 2);
  return done(suite, add_scaling(suite, y, a, b), 2);
}

static bool make_qlinear_matmul(suite_t *suite) {
  tensor_t *a = steps(suite, 2);
  return done(suite, add_qlinear_matmul(suite, a, matrix(suite, a, true), draw_type(suite)), 2);
}

static bool make_qdq_product(suite_t *suite) {
  tensor_t *a = steps(suite, 2), *w = matrix(suite, a, true);
  const qdq_t qdq = draw_qdq(suite);
  return done(suite, add_qdq_product(suite, a, w, &qdq), 2);
}

// Weights are steps, data becomes steps as it comes.
static bool make_dynamic(suite_t *suite) {
  conv_t conv;
  const bool is_conv = chance(suite, 40);
  tensor_t *x = numbers(suite, is_conv ? 4 : 2), *w = NULL;
  if (is_conv && !draw_conv(suite, x, &conv)) return false;
  tensor_t *a = add_dynamic_quantise(suite, x);
  if (a != NULL) w = is_conv ? conv_weights(suite, &conv, a, true) : matrix(suite, a, true);
  if (w == NULL) return false;
  tensor_t *y = is_conv ? add_conv_integer(suite, &conv, a, w) : add_matmul_integer(suite, a, w);
  return done(suite, y != NULL ? add_scaling(suite, y, a, w) : NULL, 2);
}

// ---- what stands in between ----

static bool make_add(suite_t *suite) {
  tensor_t *a = numbers(suite, draw_rank(suite)), *b = find(suite, is_f32, a->rank, 2);
  if (b == NULL || memcmp(a->dims, b->dims, sizeof(a->dims[0]) * (size_t)a->rank) != 0) {
    b = draw_input(suite, BYOC_DTYPE_F32, a->rank, a->dims, 2, -2, 2);
  }
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, a->rank, a->dims);
  y->is_bounded = true;
  for (int64_t i = 0; i < y->count; ++i) {
    y->values[i] = a->values[i] + b->values[i];
    y->errors[i] = a->errors[i] + b->errors[i] + 1e-6 * (fabs(a->values[i]) + fabs(b->values[i]));
  }
  y->spread = hypot(a->spread, b->spread);
  return done(suite, commit2(suite, "Add", a, b, y) != NULL ? y : NULL, 2);
}

static bool make_relu(suite_t *suite) {
  tensor_t *x = numbers(suite, draw_rank(suite));
  return done(suite, add_relu(suite, x), x->kept);
}

// A result that has the operand's steps, or numbers as far from zero.
static bool as_before(const suite_t *suite, const tensor_t *x, tensor_t *y, unsigned kept) {
  if (y != NULL && x->scales != NULL) set_scales(y, 1, 0, x->scales, x->zeros);
  return done(suite, y, kept);
}

static bool make_pool(suite_t *suite) {
  const bool of_steps = chance(suite, 50);
  tensor_t *x = of_steps ? steps(suite, 4) : numbers(suite, 4);
  window_t window = {.spatial = 2, .is_max = of_steps || chance(suite, 50)};
  for (int32_t d = 0; d < 2; ++d) {
    window.kernel[d] = 1 + below(suite, 3);
    window.strides[d] = 1 + below(suite, 2);
    window.dilations[d] = 1;
    window.pads[d] = window.pads[2 + d] = chance(suite, 30) ? window.kernel[d] / 2 : 0;
  }
  return as_before(suite, x, add_pool(suite, &window, x), 2);
}

static bool make_global_pool(suite_t *suite) {
  return done(suite, add_global_pool(suite, false, numbers(suite, 4)), 14);
}

// Copies elements to other places.
static tensor_t *moved(suite_t *suite, const tensor_t *x, int32_t rank, const int64_t *dims) {
  tensor_t *y = new_result(suite, x->dtype, rank, dims);
  y->is_bounded = x->is_bounded;
  y->spread = x->spread;
  return y;
}

static bool make_transpose(suite_t *suite) {
  tensor_t *x = chance(suite, 50) ? steps(suite, 4) : numbers(suite, 4);
  static const int64_t orders[][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}, {1, 0, 2, 3}};
  const int64_t *order = orders[below(suite, 4)];
  int64_t dims[4], index[4] = {0}, at = 0;
  unsigned kept = 0;
  for (int32_t d = 0; d < 4; ++d) {
    dims[d] = x->dims[order[d]];
    kept |= (x->kept >> order[d] & 1) << d;
  }
  tensor_t *y = moved(suite, x, 4, dims);
  do {
    int64_t from[4];
    for (int32_t d = 0; d < 4; ++d) from[order[d]] = index[d];
    y->values[at] = x->values[offset_of(x, from)];
    y->errors[at++] = x->errors[offset_of(x, from)];
  } while (next_index(4, dims, index));
  byoc_onnx_node_t *node = commit1(suite, "Transpose", x, y);
  if (node == NULL) return false;
  byoc_onnx_node_ints(node, "perm", order, 4);
  return as_before(suite, x, y, kept);
}

static bool make_flatten(suite_t *suite) {
  tensor_t *x = find(suite, is_steps, 4, 14);
  if (x == NULL) x = find(suite, is_f32, 4, 14);
  if (x == NULL) return false;
  const int64_t dims[2] = {x->dims[0], product(x->dims + 1, 3)};
  tensor_t *y = moved(suite, x, 2, dims);
  memcpy(y->values, x->values, (size_t)x->count * sizeof(*y->values));
  memcpy(y->errors, x->errors, (size_t)x->count * sizeof(*y->errors));
  return as_before(suite, x, commit1(suite, "Flatten", x, y) != NULL ? y : NULL, 2);
}

// Along the channels.
static bool make_concat(suite_t *suite) {
  const bool of_steps = chance(suite, 50);
  tensor_t *a = of_steps ? steps(suite, 4) : numbers(suite, 4), *b = find(suite, of_steps ? is_steps : is_f32, 4, 2);
  int64_t dims[4] = {a->dims[0], draw_channels(suite), a->dims[2], a->dims[3]};
  if (b == NULL || b->dtype != a->dtype || b->dims[0] != dims[0] || b->dims[2] != dims[2] || b->dims[3] != dims[3]) {
    b = of_steps ? draw_quantised(suite, a->dtype, 4, dims, 2) : draw_input(suite, BYOC_DTYPE_F32, 4, dims, 2, -2, 2);
  }
  dims[1] = a->dims[1] + b->dims[1];
  tensor_t *y = moved(suite, a, 4, dims);
  int64_t index[4] = {0}, at = 0;
  do {
    const bool is_second = index[1] >= a->dims[1];
    const tensor_t *from = is_second ? b : a;
    const int64_t there[4] = {index[0], index[1] - (is_second ? a->dims[1] : 0), index[2], index[3]};
    y->values[at] = from->values[offset_of(from, there)];
    y->errors[at++] = from->errors[offset_of(from, there)];
  } while (next_index(4, dims, index));
  byoc_onnx_node_t *node = commit2(suite, "Concat", a, b, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "axis", 1);
  return as_before(suite, a, y, 2);
}

const operator_row_t quantised_operators[] = {
    {make_quantise, 12},
    {make_dequantise, 8},
    {make_conv_integer, 5},
    {make_qlinear_conv, 10},
    {make_qdq_conv, 14},
    {make_matmul_integer, 5},
    {make_qlinear_matmul, 6},
    {make_qdq_product, 9},
    {make_dynamic, 7},
    {make_add, 7},
    {make_relu, 3},
    {make_pool, 7},
    {make_global_pool, 4},
    {make_transpose, 3},
    {make_flatten, 6},
    {make_concat, 5},
    {NULL, 0},
};
