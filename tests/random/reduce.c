// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax, arg max, normalisations: operators that look along whole axes.
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/random/graph.h"

// ---- reductions ----

typedef struct accumulator_t {
  double sum, absolute, squares, product, largest, smallest, exponentials;
  int64_t count;
} accumulator_t;

static void accumulate(accumulator_t *a, double x) {
  if (a->count++ == 0) *a = (accumulator_t){.product = 1, .largest = -DBL_MAX, .smallest = DBL_MAX, .count = 1};
  a->sum += x;
  a->absolute += fabs(x);
  a->squares += x * x;
  a->product *= x;
  a->largest = fmax(a->largest, x);
  a->smallest = fmin(a->smallest, x);
  a->exponentials += exp(x);
}

static const char *const reductions[] = {"ReduceSum",    "ReduceMean", "ReduceMax",       "ReduceMin",
                                         "ReduceL1",     "ReduceL2",   "ReduceSumSquare", "ReduceLogSumExp",
                                         "ReduceLogSum", "ReduceProd"};

static double finish(int64_t kind, const accumulator_t *a) {
  const double results[] = {
      a->sum,     a->sum / (double)a->count, a->largest,  a->smallest, a->absolute, sqrt(a->squares),
      a->squares, log(a->exponentials),      log(a->sum), a->product};
  return results[kind];
}

static bool make_reduction(suite_t *suite) {
  int64_t kind = below(suite, sizeof(reductions) / sizeof(reductions[0]));
  tensor_t *x = pick(suite, -1);
  if (x->rank == 0) return false;
  bool all = chance(suite, 15), keep = chance(suite, 50), reduced[MAX_RANK] = {false};
  int64_t axes[MAX_RANK], axis_count = 0, dims[MAX_RANK], kept_dims[MAX_RANK], index[MAX_RANK] = {0};
  for (int32_t d = 0; d < x->rank; ++d) reduced[d] = all || chance(suite, 45);
  reduced[below(suite, x->rank)] = true;
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    if (reduced[d]) axes[axis_count++] = chance(suite, 30) ? d - x->rank : d;
    kept_dims[d] = reduced[d] ? 1 : x->dims[d];
    if (!reduced[d] || keep) dims[rank++] = kept_dims[d];
  }
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  accumulator_t sums[MAX_ELEMENTS];
  memset(sums, 0, (size_t)y->count * sizeof(sums[0]));
  int64_t at = 0;
  do {
    int64_t target = 0;
    for (int32_t d = 0; d < x->rank; ++d) target = target * kept_dims[d] + (reduced[d] ? 0 : index[d]);
    accumulate(&sums[target], x->values[at++]);
  } while (next_index(x->rank, x->dims, index));
  for (int64_t i = 0; i < y->count; ++i) y->values[i] = finish(kind, &sums[i]);
  if (kind == 8) { // the logarithm of a sum that cancels is too inexact to compare
    for (int64_t i = 0; i < y->count; ++i) {
      if (sums[i].sum < 0.2 * sums[i].absolute) y->values[i] = NAN;
    }
  }
  byoc_onnx_node_t *node = NULL;
  if (kind == 0) { // axes are an operand since operator set 13
    tensor_t *operand = all ? NULL : new_ints(suite, axis_count, axes);
    node = commit(suite, reductions[kind], (tensor_t *[]){x, operand}, all ? 1 : 2, y);
  } else {
    node = commit1(suite, reductions[kind], x, y);
    if (node != NULL && !all) byoc_onnx_node_ints(node, "axes", axes, (size_t)axis_count);
  }
  if (node == NULL) return false;
  if (!keep || chance(suite, 50)) byoc_onnx_node_int(node, "keepdims", keep);
  return true;
}

static bool make_softmax(suite_t *suite) {
  static const char *const operators[] = {"Softmax", "LogSoftmax"};
  tensor_t *x = pick(suite, -1);
  if (x->rank == 0) return false;
  bool is_log = chance(suite, 30);
  int32_t axis = chance(suite, 60) ? x->rank - 1 : (int32_t)below(suite, x->rank);
  int64_t inner = product(x->dims + axis + 1, x->rank - axis - 1), extent = x->dims[axis];
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  for (int64_t row = 0; row < x->count / extent; ++row) {
    const int64_t begin = row / inner * extent * inner + row % inner;
    double largest = -DBL_MAX, sum = 0;
    for (int64_t i = 0; i < extent; ++i) largest = fmax(largest, x->values[begin + i * inner]);
    for (int64_t i = 0; i < extent; ++i) sum += exp(x->values[begin + i * inner] - largest);
    for (int64_t i = 0; i < extent; ++i) {
      double shifted = x->values[begin + i * inner] - largest;
      y->values[begin + i * inner] = is_log ? shifted - log(sum) : exp(shifted) / sum;
    }
  }
  byoc_onnx_node_t *node = commit1(suite, operators[is_log], x, y);
  if (node == NULL) return false;
  if (axis != x->rank - 1 || chance(suite, 50)) byoc_onnx_node_int(node, "axis", axis - x->rank * chance(suite, 50));
  return true;
}

static bool make_arg(suite_t *suite) {
  tensor_t *x = pick_exact(suite);
  if (x->rank == 0) return false;
  bool is_min = chance(suite, 40), last = chance(suite, 40), keep = chance(suite, 50);
  int32_t axis = (int32_t)below(suite, x->rank), rank = 0;
  int64_t inner = product(x->dims + axis + 1, x->rank - axis - 1), extent = x->dims[axis], dims[MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) {
    if (d != axis || keep) dims[rank++] = d == axis ? 1 : x->dims[d];
  }
  tensor_t *y = new_result(suite, BYOC_DTYPE_I64, rank, dims);
  for (int64_t row = 0; row < y->count; ++row) {
    const double *values = x->values + row / inner * extent * inner + row % inner;
    int64_t best = 0;
    for (int64_t i = 1; i < extent; ++i) {
      double a = values[i * inner], b = values[best * inner];
      if (is_min ? a < b : a > b) best = i;
      if (last && a == b) best = i;
    }
    y->values[row] = (double)best;
  }
  byoc_onnx_node_t *node = commit1(suite, is_min ? "ArgMin" : "ArgMax", x, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "axis", axis);
  byoc_onnx_node_int(node, "keepdims", keep);
  byoc_onnx_node_int(node, "select_last_index", last);
  return true;
}

static bool make_cumulative_sum(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  if (x->rank == 0) return false;
  int64_t axis = below(suite, x->rank), inner = product(x->dims + axis + 1, x->rank - (int32_t)axis - 1);
  int64_t extent = x->dims[axis];
  bool exclusive = chance(suite, 40), reverse = chance(suite, 40);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  for (int64_t row = 0; row < x->count / extent; ++row) {
    const int64_t begin = row / inner * extent * inner + row % inner;
    double sum = 0;
    for (int64_t i = 0; i < extent; ++i) {
      int64_t at = begin + (reverse ? extent - 1 - i : i) * inner;
      y->values[at] = exclusive ? sum : sum + x->values[at];
      sum += x->values[at];
    }
  }
  double value = (double)axis;
  tensor_t *operand = new_constant(suite, BYOC_DTYPE_I64, 0, NULL, &value);
  byoc_onnx_node_t *node = commit2(suite, "CumSum", x, operand, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "exclusive", exclusive);
  byoc_onnx_node_int(node, "reverse", reverse);
  return true;
}

// ---- normalisations ----

static const double epsilon = (double)1e-3f;

static bool make_batch_norm(suite_t *suite) {
  tensor_t *x = pick(suite, chance(suite, 80) ? 4 : 3);
  int64_t channels = x->dims[1], inner = product(x->dims + 2, x->rank - 2);
  tensor_t *scale = new_random_constant(suite, 1, &channels, 1, 0),
           *bias = new_random_constant(suite, 1, &channels, 1, 0);
  tensor_t *mean = new_random_constant(suite, 1, &channels, 1, 0);
  tensor_t *variance = new_random_constant(suite, 1, &channels, 0.5, 1);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t c = i / inner % channels;
    y->values[i] =
        (x->values[i] - mean->values[c]) / sqrt(variance->values[c] + epsilon) * scale->values[c] + bias->values[c];
  }
  byoc_onnx_node_t *node = commit(suite, "BatchNormalization", (tensor_t *[]){x, scale, bias, mean, variance}, 5, y);
  if (node == NULL) return false;
  byoc_onnx_node_float(node, "epsilon", 1e-3f);
  return true;
}

// Mean 0 and variance 1 over `extent` elements at a time.
static void normalise_rows(const tensor_t *x, int64_t extent, double *out) {
  for (int64_t row = 0; row < x->count / extent; ++row) {
    const double *values = x->values + row * extent;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < extent; ++i) mean += values[i] / (double)extent;
    for (int64_t i = 0; i < extent; ++i) variance += (values[i] - mean) * (values[i] - mean) / (double)extent;
    for (int64_t i = 0; i < extent; ++i) out[row * extent + i] = (values[i] - mean) / sqrt(variance + epsilon);
  }
}

static bool make_instance_norm(suite_t *suite) {
  tensor_t *x = pick(suite, chance(suite, 80) ? 4 : 3);
  int64_t channels = x->dims[1], inner = product(x->dims + 2, x->rank - 2);
  tensor_t *scale = new_random_constant(suite, 1, &channels, 1, 0),
           *bias = new_random_constant(suite, 1, &channels, 1, 0);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  normalise_rows(x, inner, y->values);
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t c = i / inner % channels;
    y->values[i] = y->values[i] * scale->values[c] + bias->values[c];
  }
  byoc_onnx_node_t *node = commit(suite, "InstanceNormalization", (tensor_t *[]){x, scale, bias}, 3, y);
  if (node == NULL) return false;
  byoc_onnx_node_float(node, "epsilon", 1e-3f);
  return true;
}

static bool make_layer_norm(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  if (x->rank == 0) return false;
  int32_t axis = chance(suite, 70) ? x->rank - 1 : (int32_t)below(suite, x->rank);
  int64_t extent = product(x->dims + axis, x->rank - axis);
  tensor_t *scale = new_random_constant(suite, x->rank - axis, x->dims + axis, 1, 0), *bias = NULL;
  if (chance(suite, 70)) bias = new_random_constant(suite, x->rank - axis, x->dims + axis, 1, 0);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  normalise_rows(x, extent, y->values);
  for (int64_t i = 0; i < x->count; ++i) {
    y->values[i] = y->values[i] * scale->values[i % extent] + (bias ? bias->values[i % extent] : 0);
  }
  byoc_onnx_node_t *node = commit(suite, "LayerNormalization", (tensor_t *[]){x, scale, bias}, bias ? 3 : 2, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "axis", axis);
  byoc_onnx_node_float(node, "epsilon", 1e-3f);
  return true;
}

// y = x / (1 + alpha / size * sum of squares over `size` channels around)^beta
static bool make_lrn(suite_t *suite) {
  tensor_t *x = pick(suite, 4);
  const int64_t size = 1 + below(suite, 5), channels = x->dims[1], inner = x->dims[2] * x->dims[3];
  const double alpha = 0.5, beta = 0.75, bias = 1;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t c = i / inner % channels;
    double squares = 0;
    for (int64_t k = c - (size - 1) / 2; k <= c + size / 2; ++k) {
      if (k < 0 || k >= channels) continue;
      double other = x->values[i + (k - c) * inner];
      squares += other * other;
    }
    y->values[i] = x->values[i] / pow(bias + alpha / (double)size * squares, beta);
  }
  byoc_onnx_node_t *node = commit1(suite, "LRN", x, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "size", size);
  byoc_onnx_node_float(node, "alpha", 0.5f);
  byoc_onnx_node_float(node, "beta", 0.75f);
  return true;
}

const operator_row_t reduce_operators[] = {
    {make_reduction, 8},      {make_softmax, 5},    {make_arg, 2},
    {make_cumulative_sum, 1}, {make_batch_norm, 4}, {make_instance_norm, 1},
    {make_layer_norm, 4},     {make_lrn, 1},        {NULL, 0},
};
