// SPDX-License-Identifier: Apache-2.0
// Elementwise operators: one operand, two with broadcasting, selections, casts.
#include <math.h>

#include "tests/random/graph.h"

// ---- one operand ----

typedef struct unary_t {
  const char *op;
  double (*function)(double x);
  double lowest, highest; // of its operand
  bool keeps_exact;
} unary_t;

static double relu(double x) {
  return x > 0 ? x : 0;
}
static double negate(double x) {
  return -x;
}
static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}
static double softplus(double x) {
  return log1p(exp(x));
}
static double softsign(double x) {
  return x / (1 + fabs(x));
}
static double hard_sigmoid(double x) {
  return fmax(0, fmin(1, (double)0.2f * x + 0.5));
}
static double hard_swish(double x) {
  return x * fmax(0, fmin(1, x / 6 + 0.5));
}
static double reciprocal(double x) {
  return 1 / x;
}
static double elu(double x) {
  return x > 0 ? x : expm1(x);
}
static double selu(double x) {
  return 1.0507009873554804934193349852946 * (x > 0 ? x : 1.6732632423543772848170429916717 * expm1(x));
}
static double leaky_relu(double x) {
  return x >= 0 ? x : (double)0.01f * x;
}
static double identity(double x) {
  return x;
}
static double thresholded_relu(double x) {
  return x > 1 ? x : 0;
}

static const unary_t any_unary[] = {
    {"Relu", relu, -1e9, 1e9, true},
    {"Neg", negate, -1e9, 1e9, true},
    {"Abs", fabs, -1e9, 1e9, true},
    {"Identity", identity, -1e9, 1e9, true},
    {"Dropout", identity, -1e9, 1e9, true},
    {"Exp", exp, -20, 4, false},
    {"Log", log, 0.05, 1e9, false},
    {"Sqrt", sqrt, 0.01, 1e9, false},
    {"Tanh", tanh, -1e9, 1e9, false},
    {"Sigmoid", sigmoid, -1e9, 1e9, false},
    {"Erf", erf, -1e9, 1e9, false},
    {"Sin", sin, -50, 50, false},
    {"Cos", cos, -50, 50, false},
    {"Softplus", softplus, -1e9, 50, false},
    {"Softsign", softsign, -1e9, 1e9, false},
    {"HardSigmoid", hard_sigmoid, -1e9, 1e9, false},
    {"HardSwish", hard_swish, -1e9, 1e9, false},
    {"Reciprocal", reciprocal, 0.3, 1e9, false},
    {"Elu", elu, -1e9, 1e9, false},
    {"Selu", selu, -1e9, 1e9, false},
    {"LeakyRelu", leaky_relu, -1e9, 1e9, false},
};
static double sign(double x) {
  return (x > 0) - (x < 0);
}
static double round_even(double x) {
  return nearbyint(x);
}
static const unary_t exact_unary[] = {
    {"Floor", floor, -1e9, 1e9, true},
    {"Ceil", ceil, -1e9, 1e9, true},
    {"Round", round_even, -1e9, 1e9, true},
    {"Sign", sign, -1e9, 1e9, true},
    {"ThresholdedRelu", thresholded_relu, -1e9, 1e9, true},
};

static bool make_of_row(suite_t *suite, const unary_t *row, tensor_t *x) {
  for (int64_t i = 0; i < x->count; ++i) {
    if (x->values[i] < row->lowest || x->values[i] > row->highest) return false;
  }
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  for (int64_t i = 0; i < x->count; ++i) y->values[i] = row->function(x->values[i]);
  y->is_exact = x->is_exact && row->keeps_exact;
  return commit1(suite, row->op, x, y) != NULL;
}

static bool make_unary(suite_t *suite) {
  return make_of_row(suite, &any_unary[below(suite, sizeof(any_unary) / sizeof(any_unary[0]))], pick(suite, -1));
}

static bool make_exact_unary(suite_t *suite) {
  const unary_t *row = &exact_unary[below(suite, sizeof(exact_unary) / sizeof(exact_unary[0]))];
  return make_of_row(suite, row, pick_exact(suite));
}

static bool make_clip(suite_t *suite) {
  tensor_t *x = pick(suite, -1), *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  bool has_low = chance(suite, 70), has_high = !has_low || chance(suite, 70);
  tensor_t *low = has_low ? new_scalar(suite, -0.5) : NULL, *high = has_high ? new_scalar(suite, 1.25) : NULL;
  for (int64_t i = 0; i < x->count; ++i) {
    double v = x->values[i];
    if (has_low && v < -0.5) v = -0.5;
    if (has_high && v > 1.25) v = 1.25;
    y->values[i] = v;
  }
  y->is_exact = x->is_exact;
  return commit(suite, "Clip", (tensor_t *[]){x, low, high}, has_high ? 3 : 2, y) != NULL;
}

// ---- two operands ----

// A value that broadcasts against `x`: another value, or a constant or an input of a fitting shape.
static tensor_t *partner_of(suite_t *suite, const tensor_t *x, double scale, double offset) {
  int32_t rank = 0;
  int64_t dims[MAX_RANK];
  if (scale == 1 && chance(suite, 40)) {
    tensor_t *other = pick(suite, chance(suite, 60) ? x->rank : -1);
    if (broadcast_shape(x, other, &rank, dims)) return other;
    rank = 0;
  }
  int32_t dropped = chance(suite, 40) ? (int32_t)below(suite, x->rank + 1) : 0;
  for (int32_t d = dropped; d < x->rank; ++d) dims[rank++] = chance(suite, 30) ? 1 : x->dims[d];
  if (scale == 1 && chance(suite, 25)) return new_input(suite, rank, dims);
  return new_random_constant(suite, rank, dims, scale, offset);
}

static bool make_arithmetic(suite_t *suite) {
  static const char *const operators[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"};
  int64_t kind = below(suite, sizeof(operators) / sizeof(operators[0]));
  tensor_t *a = pick(suite, -1);
  tensor_t *b = partner_of(suite, a, kind == 3 || kind == 6 ? 0.5 : 1, kind == 3 ? 1.5 : 0);
  if (kind == 6) {
    for (int64_t i = 0; i < a->count; ++i) {
      if (a->values[i] < 0.05) return false;
    }
  }
  if (kind < 3 && chance(suite, 30)) { // the constant first
    tensor_t *swap = a;
    a = b;
    b = swap;
  }
  int32_t rank = 0;
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0};
  if (!broadcast_shape(a, b, &rank, dims)) return false;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  int64_t at = 0;
  do {
    double x0 = a->values[broadcast_offset(a, rank, index)], x1 = b->values[broadcast_offset(b, rank, index)];
    const double results[] = {x0 + x1, x0 - x1, x0 * x1, x0 / x1, fmax(x0, x1), fmin(x0, x1), pow(x0, x1)};
    y->values[at++] = results[kind];
  } while (next_index(rank, dims, index));
  return commit2(suite, operators[kind], a, b, y) != NULL;
}

static bool make_prelu(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0};
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d == (x->rank > 1) ? x->dims[d] : 1;
  int32_t dropped = x->rank > 1 ? 1 : 0; // slope [C,1,1]
  tensor_t *slope = new_random_constant(suite, x->rank - dropped, dims + dropped, 0.5, 0);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  int64_t at = 0;
  do {
    double v = x->values[at], s = slope->values[broadcast_offset(slope, x->rank, index)];
    y->values[at++] = v < 0 ? v * s : v;
  } while (next_index(x->rank, x->dims, index));
  return commit2(suite, "PRelu", x, slope, y) != NULL;
}

static bool make_variadic(suite_t *suite) {
  static const char *const operators[] = {"Sum", "Mean", "Max", "Min"};
  int64_t kind = below(suite, 4);
  tensor_t *operands[3] = {pick(suite, -1)};
  for (size_t i = 1; i < 3; ++i) operands[i] = partner_of(suite, operands[0], 1, 0);
  int32_t rank = 0;
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0};
  tensor_t pair = *operands[0];
  for (size_t i = 1; i < 3; ++i) {
    if (!broadcast_shape(&pair, operands[i], &rank, dims)) return false;
    pair.rank = rank;
    for (int32_t d = 0; d < rank; ++d) pair.dims[d] = dims[d];
  }
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  int64_t at = 0;
  do {
    double v[3];
    for (size_t i = 0; i < 3; ++i) v[i] = operands[i]->values[broadcast_offset(operands[i], rank, index)];
    double sum = v[0] + v[1] + v[2];
    const double results[] = {sum, sum / 3, fmax(v[0], fmax(v[1], v[2])), fmin(v[0], fmin(v[1], v[2]))};
    y->values[at++] = results[kind];
  } while (next_index(rank, dims, index));
  return commit(suite, operators[kind], operands, 3, y) != NULL;
}

// ---- truth values ----

static bool make_comparison(suite_t *suite) {
  static const char *const operators[] = {"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"};
  int64_t kind = below(suite, 5);
  tensor_t *a = pick_exact(suite);
  int64_t index[MAX_RANK] = {0}, at = 0;
  tensor_t *b = new_scalar(suite, (double)(below(suite, 33) - 16) / 16);
  tensor_t *y = new_result(suite, BYOC_DTYPE_BOOL, a->rank, a->dims);
  do {
    double x0 = a->values[at], x1 = b->values[0];
    const bool results[] = {x0<x1, x0> x1, x0 == x1, x0 <= x1, x0 >= x1};
    y->values[at++] = results[kind];
  } while (next_index(a->rank, a->dims, index));
  return commit2(suite, operators[kind], a, b, y) != NULL;
}

static bool make_where(suite_t *suite) {
  tensor_t *condition = pick_bool(suite);
  if (condition == NULL) return false;
  tensor_t *a = partner_of(suite, condition, 1, 0), *b = partner_of(suite, condition, 1, 0);
  int32_t rank = 0;
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  tensor_t pair = *condition;
  if (!broadcast_shape(&pair, a, &rank, dims)) return false;
  pair.rank = rank;
  for (int32_t d = 0; d < rank; ++d) pair.dims[d] = dims[d];
  if (!broadcast_shape(&pair, b, &rank, dims)) return false;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  do {
    const tensor_t *chosen = condition->values[broadcast_offset(condition, rank, index)] != 0 ? a : b;
    y->values[at++] = chosen->values[broadcast_offset(chosen, rank, index)];
  } while (next_index(rank, dims, index));
  return commit(suite, "Where", (tensor_t *[]){condition, a, b}, 3, y) != NULL;
}

static bool make_logic(suite_t *suite) {
  static const char *const operators[] = {"And", "Or", "Xor", "Not"};
  tensor_t *a = pick_bool(suite), *b = pick_bool(suite);
  int64_t kind = below(suite, 4), index[MAX_RANK] = {0}, dims[MAX_RANK], at = 0;
  if (a == NULL || b == NULL) return false;
  if (kind == 3) b = a;
  int32_t rank = 0;
  if (!broadcast_shape(a, b, &rank, dims)) return false;
  tensor_t *y = new_result(suite, BYOC_DTYPE_BOOL, rank, dims);
  do {
    bool x0 = a->values[broadcast_offset(a, rank, index)] != 0, x1 = b->values[broadcast_offset(b, rank, index)] != 0;
    const bool results[] = {x0 && x1, x0 || x1, x0 != x1, !x0};
    y->values[at++] = results[kind];
  } while (next_index(rank, dims, index));
  return (kind == 3 ? commit1(suite, "Not", a, y) : commit2(suite, operators[kind], a, b, y)) != NULL;
}

// From bool to f32, or from f32 to i64 and, most of the time, no further.
static bool make_cast(suite_t *suite) {
  tensor_t *x = pick_bool(suite);
  bool to_float = x != NULL;
  if (x == NULL) x = pick_exact(suite);
  tensor_t *y = new_result(suite, to_float ? BYOC_DTYPE_F32 : BYOC_DTYPE_I64, x->rank, x->dims);
  for (int64_t i = 0; i < x->count; ++i) y->values[i] = to_float ? (double)(x->values[i] != 0) : trunc(x->values[i]);
  y->is_exact = true;
  byoc_onnx_node_t *node = commit1(suite, "Cast", x, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "to", to_float ? 1 : 7);
  return true;
}

const operator_row_t elementwise_operators[] = {
    {make_unary, 14},   {make_exact_unary, 4}, {make_clip, 3},  {make_arithmetic, 16}, {make_prelu, 2},
    {make_variadic, 3}, {make_comparison, 3},  {make_where, 4}, {make_logic, 3},       {make_cast, 3},
    {NULL, 0},
};
