// SPDX-License-Identifier: Apache-2.0
// Pooling.
#include <float.h>
#include <math.h>

#include "tests/random/linear.h"

static double pool_at(const tensor_t *x, const window_t *window, const int64_t *index, double *out_error) {
  int64_t k[3] = {0}, counted = 0;
  double sum = 0, largest = -DBL_MAX, sum_error = 0, largest_error = 0;
  do {
    int64_t x_index[MAX_RANK] = {index[0], index[1]};
    bool inside = true, in_padding = true;
    for (int32_t d = 0; d < window->spatial; ++d) {
      int64_t at = index[2 + d] * window->strides[d] + k[d] * window->dilations[d] - window->pads[d];
      inside = inside && at >= 0 && at < x->dims[2 + d];
      in_padding = in_padding && at < x->dims[2 + d] + window->pads[window->spatial + d];
      x_index[2 + d] = at;
    }
    if (inside) {
      double value = x->values[offset_of(x, x_index)];
      const double error = x->errors[offset_of(x, x_index)];
      sum += value;
      sum_error += error + 1e-6 * fabs(value);
      largest = fmax(largest, value);
      largest_error = fmax(largest_error, error);
    }
    counted += inside || (window->count_padding && in_padding);
  } while (next_index(window->spatial, window->kernel, k));
  *out_error = window->is_max ? largest_error : sum_error / (double)counted;
  return window->is_max ? largest : sum / (double)counted;
}

tensor_t *add_pool(suite_t *suite, const window_t *window, tensor_t *x) {
  int64_t dims[MAX_RANK] = {x->dims[0], x->dims[1]}, index[MAX_RANK] = {0};
  for (int32_t d = 0; d < window->spatial; ++d) {
    const int64_t begin = window->pads[d], end = window->pads[window->spatial + d], stride = window->strides[d];
    int64_t span = (window->kernel[d] - 1) * window->dilations[d] + 1, size = x->dims[2 + d] + begin + end;
    if (span > size || begin >= x->dims[2 + d] || end >= x->dims[2 + d]) return NULL;
    int64_t room = size - span;
    dims[2 + d] = (window->ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
    // Windows that would start in the padding at the end are left out.
    if (window->ceil_mode && (dims[2 + d] - 1) * stride >= x->dims[2 + d] + begin) dims[2 + d] -= 1;
    if (window->dilations[d] > 1 && begin + end > 0) return NULL; // no window may lie in the padding alone
  }
  int32_t rank = window->spatial + 2;
  if (product(dims, rank) > suite->max_elements) return NULL;
  tensor_t *y = new_result(suite, x->dtype, rank, dims);
  int64_t at = 0;
  do y->values[at] = pool_at(x, window, index, &y->errors[at]);
  while (++at, next_index(rank, dims, index));
  y->is_bounded = x->is_bounded;
  y->is_exact = x->is_exact && window->is_max;
  y->spread = x->spread;
  byoc_onnx_node_t *node = commit1(suite, window->is_max ? "MaxPool" : "AveragePool", x, y);
  if (node == NULL) return NULL;
  size_t spatial = (size_t)window->spatial;
  byoc_onnx_node_ints(node, "kernel_shape", window->kernel, spatial);
  byoc_onnx_node_ints(node, "strides", window->strides, spatial);
  byoc_onnx_node_ints(node, "pads", window->pads, 2 * spatial);
  byoc_onnx_node_int(node, "ceil_mode", window->ceil_mode);
  if (window->is_max) byoc_onnx_node_ints(node, "dilations", window->dilations, spatial);
  if (!window->is_max) byoc_onnx_node_int(node, "count_include_pad", window->count_padding);
  return y;
}

static bool make_pool(suite_t *suite) {
  window_t window = {.spatial = chance(suite, 80) ? 2 : 1 + 2 * (int32_t)below(suite, 2)};
  tensor_t *x = pick(suite, window.spatial + 2);
  window.is_max = chance(suite, 50);
  window.ceil_mode = chance(suite, 25);
  window.count_padding = chance(suite, 40);
  bool padded = chance(suite, 40);
  for (int32_t d = 0; d < window.spatial; ++d) {
    window.kernel[d] = 1 + below(suite, 4);
    window.strides[d] = 1 + below(suite, 3);
    window.dilations[d] = window.is_max && chance(suite, 20) ? 2 : 1;
    window.pads[d] = padded ? below(suite, window.kernel[d]) : 0;
    window.pads[window.spatial + d] = padded ? below(suite, window.kernel[d]) : 0;
  }
  return add_pool(suite, &window, x) != NULL;
}

tensor_t *add_global_pool(suite_t *suite, bool is_max, tensor_t *x) {
  int64_t dims[MAX_RANK] = {x->dims[0], x->dims[1], 1, 1, 1}, inner = product(x->dims + 2, x->rank - 2);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, dims);
  for (int64_t row = 0; row < y->count; ++row) {
    double sum = 0, largest = -DBL_MAX, sum_error = 0, largest_error = 0;
    for (int64_t i = 0; i < inner; ++i) {
      const double value = x->values[row * inner + i], error = x->errors[row * inner + i];
      sum += value;
      sum_error += error + 1e-6 * fabs(value);
      largest = fmax(largest, value);
      largest_error = fmax(largest_error, error);
    }
    y->values[row] = is_max ? largest : sum / (double)inner;
    y->errors[row] = is_max ? largest_error : sum_error / (double)inner;
  }
  y->is_bounded = x->is_bounded;
  y->is_exact = x->is_exact && is_max;
  y->spread = x->spread;
  return commit1(suite, is_max ? "GlobalMaxPool" : "GlobalAveragePool", x, y) != NULL ? y : NULL;
}

static bool make_global_pool(suite_t *suite) {
  tensor_t *x = pick(suite, chance(suite, 80) ? 4 : 3);
  return add_global_pool(suite, chance(suite, 40), x) != NULL;
}

const operator_row_t window_operators[] = {{make_pool, 8}, {make_global_pool, 3}, {NULL, 0}};
