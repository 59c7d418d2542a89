// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions.
#include "tests/random/linear.h"

#include <math.h>

double zero_of(const tensor_t *tensor, int64_t channel) {
  if (tensor->zeros == NULL) return 0;
  return tensor->zeros[tensor->channel_count > 1 ? channel : 0];
}

void add_product(sum_t *sum, const tensor_t *a, int64_t a_at, double a_zero, const tensor_t *b, int64_t b_at,
                 double b_zero) {
  const double x = a->values[a_at] - a_zero, y = b->values[b_at] - b_zero;
  const double x_error = a->errors[a_at], y_error = b->errors[b_at];
  sum->value += x * y;
  sum->magnitude += fabs(x * y);
  sum->error += fabs(x) * y_error + fabs(y) * x_error + x_error * y_error;
}

void store_sum(tensor_t *y, int64_t at, const sum_t *sum) {
  y->values[at] = sum->value;
  y->errors[at] = sum->error + SUM_ERROR * sum->magnitude;
}

// ---- matrix products ----

bool product_shape(const tensor_t *a, const tensor_t *b, int32_t *out_rank, int64_t *out_dims) {
  int32_t rank = 0;
  const bool is_vector = b->rank == 1;
  if (a->rank == 0 || b->rank == 0 || a->dims[a->rank - 1] != b->dims[is_vector ? 0 : b->rank - 2]) return false;
  for (int32_t d = 0; d < a->rank - 1; ++d) out_dims[rank++] = a->dims[d];
  if (!is_vector) out_dims[rank++] = b->dims[b->rank - 1];
  *out_rank = rank;
  return true;
}

sum_t product_sum(const tensor_t *a, const tensor_t *b, const int64_t *index) {
  const bool is_vector = b->rank == 1;
  const int64_t k = a->dims[a->rank - 1], width = is_vector ? 1 : b->dims[b->rank - 1];
  const int64_t column = is_vector ? 0 : index[a->rank - 1];
  int64_t a_row = 0, b_batch = 0;
  for (int32_t d = 0; d < a->rank - 1; ++d) a_row = a_row * a->dims[d] + index[d];
  for (int32_t d = 0; d < b->rank - 2; ++d) b_batch = b_batch * b->dims[d] + (b->dims[d] == 1 ? 0 : index[d]);
  sum_t sum = {0};
  for (int64_t i = 0; i < k; ++i) {
    add_product(&sum, a, a_row * k + i, zero_of(a, 0), b, (b_batch * k + i) * width + column, zero_of(b, column));
  }
  return sum;
}

tensor_t *add_matmul(suite_t *suite, tensor_t *a, tensor_t *b) {
  int32_t rank = 0;
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  if (!product_shape(a, b, &rank, dims) || product(dims, rank) > suite->max_elements) return NULL;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  y->is_bounded = a->is_bounded && b->is_bounded;
  do {
    const sum_t sum = product_sum(a, b, index);
    store_sum(y, at++, &sum);
  } while (next_index(rank, dims, index));
  y->spread = sqrt((double)a->dims[a->rank - 1]) * a->spread * b->spread;
  return commit2(suite, "MatMul", a, b, y) != NULL ? y : NULL;
}

// Operands of rank 1 count as a row on the left, as a column on the right.
static bool make_matmul(suite_t *suite) {
  tensor_t *a = pick(suite, chance(suite, 70) ? 2 : 1 + (int32_t)below(suite, 4));
  if (a->rank == 0) return false;
  int64_t k = a->dims[a->rank - 1], n = 1 + below(suite, 40), b_dims[MAX_RANK];
  int32_t b_rank = 0;
  bool is_vector = chance(suite, 10);
  if (!is_vector && a->rank > 2 && chance(suite, 50)) { // batch dimensions of its own, some of them 1
    for (int32_t d = 0; d < a->rank - 2; ++d) b_dims[b_rank++] = chance(suite, 40) ? 1 : a->dims[d];
  }
  b_dims[b_rank++] = k;
  if (!is_vector) b_dims[b_rank++] = n;
  if (product(b_dims, b_rank) > MAX_ELEMENTS) return false;
  tensor_t *b = NULL;
  if (chance(suite, 70)) {
    b = new_random_constant(suite, b_rank, b_dims, 0.5, 0);
  } else {
    b = new_input(suite, b_rank, b_dims);
  }
  return add_matmul(suite, a, b) != NULL;
}

tensor_t *add_gemm(suite_t *suite, const gemm_t *gemm, tensor_t *a, tensor_t *b, tensor_t *c) {
  const int64_t m = a->dims[gemm->trans_a], k = a->dims[!gemm->trans_a], n = b->dims[!gemm->trans_b];
  const int64_t dims[2] = {m, n};
  int64_t index[2] = {0}, at = 0;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, 2, dims);
  y->is_bounded = a->is_bounded && b->is_bounded;
  do {
    sum_t sum = {0};
    for (int64_t i = 0; i < k; ++i) {
      add_product(&sum, a, gemm->trans_a ? i * m + index[0] : index[0] * k + i, 0, b,
                  gemm->trans_b ? index[1] * k + i : i * n + index[1], 0);
    }
    sum.value *= (double)gemm->alpha;
    if (c != NULL) sum.value += (double)gemm->beta * c->values[broadcast_offset(c, 2, index)];
    if (c != NULL) sum.error += c->errors[broadcast_offset(c, 2, index)];
    store_sum(y, at++, &sum);
  } while (next_index(2, dims, index));
  y->spread = sqrt((double)k) * a->spread * b->spread;
  byoc_onnx_node_t *node = commit(suite, "Gemm", (tensor_t *[]){a, b, c}, c ? 3 : 2, y);
  if (node == NULL) return NULL;
  if (gemm->trans_a) byoc_onnx_node_int(node, "transA", 1);
  if (gemm->trans_b) byoc_onnx_node_int(node, "transB", 1);
  if (gemm->alpha != 1) byoc_onnx_node_float(node, "alpha", gemm->alpha);
  if (gemm->beta != 1) byoc_onnx_node_float(node, "beta", gemm->beta);
  return y;
}

static bool make_gemm(suite_t *suite) {
  tensor_t *a = pick(suite, 2);
  gemm_t gemm = {.trans_a = chance(suite, 25), .trans_b = chance(suite, 50)};
  int64_t m = a->dims[gemm.trans_a], k = a->dims[!gemm.trans_a], n = 1 + below(suite, 40);
  if (m * n > MAX_ELEMENTS || k * n > MAX_ELEMENTS) return false;
  int64_t b_dims[2] = {gemm.trans_b ? n : k, gemm.trans_b ? k : n};
  tensor_t *b = chance(suite, 80) ? new_random_constant(suite, 2, b_dims, 0.5, 0) : new_input(suite, 2, b_dims);
  tensor_t *c = NULL;
  const int64_t c_shapes[4][2] = {{1, n}, {m, 1}, {m, n}, {1, 1}};
  if (chance(suite, 75)) {
    int64_t form = below(suite, 5); // the last form: [n]
    c = form == 4 ? new_random_constant(suite, 1, &n, 1, 0) : new_random_constant(suite, 2, c_shapes[form], 1, 0);
  }
  gemm.alpha = chance(suite, 30) ? 0.5f : 1;
  gemm.beta = chance(suite, 30) ? 0.25f : 1;
  return add_gemm(suite, &gemm, a, b, c) != NULL;
}

// ---- convolutions ----

static void random_window(suite_t *suite, conv_t *conv) {
  for (int32_t d = 0; d < conv->spatial; ++d) {
    conv->kernel[d] = chance(suite, 30) ? 1 : 1 + below(suite, 5);
    conv->strides[d] = chance(suite, 65) ? 1 : 1 + below(suite, 3);
    conv->dilations[d] = chance(suite, 80) ? 1 : 2;
  }
  bool padded = chance(suite, 60);
  for (int32_t d = 0; d < 2 * conv->spatial; ++d) {
    conv->pads[d] = padded ? below(suite, conv->kernel[d % conv->spatial]) : 0;
  }
}

void set_window(byoc_onnx_node_t *node, const conv_t *conv) {
  size_t spatial = (size_t)conv->spatial;
  byoc_onnx_node_ints(node, "kernel_shape", conv->kernel, spatial);
  byoc_onnx_node_ints(node, "strides", conv->strides, spatial);
  byoc_onnx_node_ints(node, "dilations", conv->dilations, spatial);
  byoc_onnx_node_ints(node, "pads", conv->pads, 2 * spatial);
  byoc_onnx_node_int(node, "group", conv->group);
}

bool conv_shape(const conv_t *conv, const tensor_t *x, int64_t out_channels, int64_t *out_dims, int64_t *out_w_dims) {
  out_dims[0] = x->dims[0];
  out_dims[1] = out_w_dims[0] = out_channels;
  out_w_dims[1] = x->dims[1] / conv->group;
  for (int32_t d = 0; d < conv->spatial; ++d) {
    int64_t padded = x->dims[2 + d] + conv->pads[d] + conv->pads[conv->spatial + d];
    int64_t span = (conv->kernel[d] - 1) * conv->dilations[d] + 1;
    if (span > padded) return false;
    out_dims[2 + d] = (padded - span) / conv->strides[d] + 1;
    out_w_dims[2 + d] = conv->kernel[d];
  }
  return true;
}

sum_t conv_sum(const tensor_t *x, const tensor_t *w, const conv_t *conv, const int64_t *index) {
  int64_t group_in = w->dims[1], group_out = w->dims[0] / conv->group, kernel_index[4] = {0}, window[4] = {group_in};
  const double x_zero = zero_of(x, 0), w_zero = zero_of(w, index[1]);
  for (int32_t d = 0; d < conv->spatial; ++d) window[1 + d] = conv->kernel[d];
  sum_t sum = {0};
  do {
    int64_t x_index[MAX_RANK] = {index[0], index[1] / group_out * group_in + kernel_index[0]};
    int64_t w_index[MAX_RANK] = {index[1], kernel_index[0]};
    bool inside = true;
    for (int32_t d = 0; d < conv->spatial; ++d) {
      int64_t at = index[2 + d] * conv->strides[d] + kernel_index[1 + d] * conv->dilations[d] - conv->pads[d];
      inside = inside && at >= 0 && at < x->dims[2 + d];
      x_index[2 + d] = at;
      w_index[2 + d] = kernel_index[1 + d];
    }
    if (inside) add_product(&sum, x, offset_of(x, x_index), x_zero, w, offset_of(w, w_index), w_zero);
  } while (next_index(1 + conv->spatial, window, kernel_index));
  return sum;
}

tensor_t *add_conv(suite_t *suite, const conv_t *conv, tensor_t *x, tensor_t *w, tensor_t *bias) {
  const int32_t rank = conv->spatial + 2;
  int64_t dims[MAX_RANK], w_dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  if (!conv_shape(conv, x, w->dims[0], dims, w_dims) || product(dims, rank) > suite->max_elements) return NULL;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  y->is_bounded = x->is_bounded && w->is_bounded;
  do {
    sum_t sum = conv_sum(x, w, conv, index);
    if (bias != NULL) sum.value += bias->values[index[1]];
    if (bias != NULL) sum.error += bias->errors[index[1]] + 1e-6 * fabs(bias->values[index[1]]);
    store_sum(y, at++, &sum);
  } while (next_index(rank, dims, index));
  y->spread = sqrt((double)product(w_dims + 1, rank - 1)) * x->spread * w->spread;
  byoc_onnx_node_t *node = commit(suite, "Conv", (tensor_t *[]){x, w, bias}, bias ? 3 : 2, y);
  if (node == NULL) return NULL;
  set_window(node, conv);
  return y;
}

static int64_t random_group(suite_t *suite, int64_t channels) {
  if (!chance(suite, 35)) return 1;
  if (chance(suite, 50)) return channels; // depthwise
  int64_t group = 1 + below(suite, channels);
  while (channels % group != 0) group -= 1;
  return group;
}

static tensor_t *image(suite_t *suite, int32_t spatial) {
  if (chance(suite, 70)) return pick(suite, spatial + 2);
  static const int64_t channels[] = {1, 3, 4, 8, 16, 24, 32};
  int64_t dims[MAX_RANK] = {1 + below(suite, 2), channels[below(suite, 7)]};
  for (int32_t d = 0; d < spatial; ++d) dims[2 + d] = 3 + below(suite, spatial == 1 ? 30 : spatial == 2 ? 10 : 4);
  return product(dims, spatial + 2) > MAX_ELEMENTS ? NULL : new_input(suite, spatial + 2, dims);
}

static bool make_conv(suite_t *suite) {
  conv_t conv = {.spatial = chance(suite, 80) ? 2 : 1 + 2 * (int32_t)below(suite, 2)};
  tensor_t *x = image(suite, conv.spatial);
  if (x == NULL) return false;
  random_window(suite, &conv);
  conv.group = random_group(suite, x->dims[1]);
  int64_t out_channels = conv.group * (1 + below(suite, conv.group > 4 ? 2 : 24));
  int64_t dims[MAX_RANK], w_dims[MAX_RANK];
  int32_t rank = conv.spatial + 2;
  if (!conv_shape(&conv, x, out_channels, dims, w_dims)) return false;
  if (product(w_dims, rank) > MAX_ELEMENTS || product(dims, rank) > MAX_ELEMENTS) return false;
  tensor_t *w = new_random_constant(suite, rank, w_dims, 0.4, 0), *bias = NULL;
  if (chance(suite, 60)) bias = new_random_constant(suite, 1, &out_channels, 1, 0);
  return add_conv(suite, &conv, x, w, bias) != NULL;
}

// Each input element adds its multiple of the kernel to the output.
tensor_t *add_conv_transpose(suite_t *suite, const conv_t *conv, const int64_t *extra, tensor_t *x, tensor_t *w) {
  const int64_t per_group = w->dims[1], group_in = x->dims[1] / conv->group;
  int64_t dims[4] = {x->dims[0], per_group * conv->group};
  for (int32_t d = 0; d < 2; ++d) {
    int64_t span = (conv->kernel[d] - 1) * conv->dilations[d] + 1;
    dims[2 + d] = (x->dims[2 + d] - 1) * conv->strides[d] + span + extra[d] - conv->pads[d] - conv->pads[2 + d];
    if (dims[2 + d] < 1) return NULL;
  }
  if (product(dims, 4) > suite->max_elements) return NULL;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, 4, dims);
  y->is_bounded = x->is_bounded && w->is_bounded;
  int64_t from[4] = {0};
  do {
    int64_t window[3] = {per_group, conv->kernel[0], conv->kernel[1]}, k[3] = {0};
    do {
      int64_t to[4] = {from[0], from[1] / group_in * per_group + k[0],
                       from[2] * conv->strides[0] + k[1] * conv->dilations[0] - conv->pads[0],
                       from[3] * conv->strides[1] + k[2] * conv->dilations[1] - conv->pads[1]};
      const int64_t w_index[4] = {from[1], k[0], k[1], k[2]};
      if (to[2] < 0 || to[2] >= dims[2] || to[3] < 0 || to[3] >= dims[3]) continue;
      sum_t sum = {0};
      add_product(&sum, x, offset_of(x, from), 0, w, offset_of(w, w_index), 0);
      y->values[offset_of(y, to)] += sum.value;
      y->errors[offset_of(y, to)] += sum.error + SUM_ERROR * sum.magnitude;
    } while (next_index(3, window, k));
  } while (next_index(4, x->dims, from));
  byoc_onnx_node_t *node = commit2(suite, "ConvTranspose", x, w, y);
  if (node == NULL) return NULL;
  set_window(node, conv);
  byoc_onnx_node_ints(node, "output_padding", extra, 2);
  return y;
}

static bool make_conv_transpose(suite_t *suite) {
  conv_t conv = {.spatial = 2};
  tensor_t *x = image(suite, 2);
  if (x == NULL) return false;
  random_window(suite, &conv);
  conv.group = random_group(suite, x->dims[1]);
  int64_t w_dims[4] = {x->dims[1], 1 + below(suite, 4), conv.kernel[0], conv.kernel[1]}, extra[2] = {0};
  for (int32_t d = 0; d < 2; ++d) extra[d] = chance(suite, 25) ? below(suite, conv.strides[d]) : 0;
  if (product(w_dims, 4) > MAX_ELEMENTS) return false;
  return add_conv_transpose(suite, &conv, extra, x, new_random_constant(suite, 4, w_dims, 0.4, 0)) != NULL;
}

const operator_row_t linear_operators[] = {
    {make_matmul, 9}, {make_gemm, 9}, {make_conv, 16}, {make_conv_transpose, 2}, {NULL, 0},
};
