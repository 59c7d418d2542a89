// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions.
#include "tests/random/graph.h"

// ---- matrix products ----

// Operands of rank 1 count as a row on the left, as a column on the right.
static bool make_matmul(suite_t *suite) {
  tensor_t *a = pick(suite, chance(suite, 70) ? 2 : 1 + (int32_t)below(suite, 4));
  if (a->rank == 0) return false;
  int64_t k = a->dims[a->rank - 1], n = 1 + below(suite, 40), b_dims[MAX_RANK];
  int32_t b_rank = 0, rank = 0;
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
  int64_t dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  for (int32_t d = 0; d < a->rank - 1; ++d) dims[rank++] = a->dims[d]; // batch dimensions of b are these or 1
  if (!is_vector) dims[rank++] = n;
  if (product(dims, rank) > MAX_ELEMENTS) return false;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  do {
    int64_t a_row = 0, b_batch = 0;
    for (int32_t d = 0; d < a->rank - 1; ++d) a_row = a_row * a->dims[d] + index[d];
    for (int32_t d = 0; d < b_rank - 2; ++d) b_batch = b_batch * b_dims[d] + (b_dims[d] == 1 ? 0 : index[d]);
    int64_t column = is_vector ? 0 : index[rank - 1], width = is_vector ? 1 : n;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += a->values[a_row * k + i] * b->values[(b_batch * k + i) * width + column];
    y->values[at++] = sum;
  } while (next_index(rank, dims, index));
  return commit2(suite, "MatMul", a, b, y) != NULL;
}

static bool make_gemm(suite_t *suite) {
  tensor_t *a = pick(suite, 2);
  bool trans_a = chance(suite, 25), trans_b = chance(suite, 50);
  int64_t m = a->dims[trans_a], k = a->dims[!trans_a], n = 1 + below(suite, 40), dims[2] = {m, n}, index[2] = {0};
  if (m * n > MAX_ELEMENTS || k * n > MAX_ELEMENTS) return false;
  int64_t b_dims[2] = {trans_b ? n : k, trans_b ? k : n};
  tensor_t *b = chance(suite, 80) ? new_random_constant(suite, 2, b_dims, 0.5, 0) : new_input(suite, 2, b_dims);
  tensor_t *c = NULL;
  const int64_t c_shapes[4][2] = {{1, n}, {m, 1}, {m, n}, {1, 1}};
  if (chance(suite, 75)) {
    int64_t form = below(suite, 5); // the last form: [n]
    c = form == 4 ? new_random_constant(suite, 1, &n, 1, 0) : new_random_constant(suite, 2, c_shapes[form], 1, 0);
  }
  float alpha = chance(suite, 30) ? 0.5f : 1, beta = chance(suite, 30) ? 0.25f : 1;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, 2, dims);
  int64_t at = 0;
  do {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      double left = a->values[trans_a ? i * m + index[0] : index[0] * k + i];
      double right = b->values[trans_b ? index[1] * k + i : i * n + index[1]];
      sum += left * right;
    }
    sum *= (double)alpha;
    if (c != NULL) sum += (double)beta * c->values[broadcast_offset(c, 2, index)];
    y->values[at++] = sum;
  } while (next_index(2, dims, index));
  byoc_onnx_node_t *node = commit(suite, "Gemm", (tensor_t *[]){a, b, c}, c ? 3 : 2, y);
  if (node == NULL) return false;
  if (trans_a) byoc_onnx_node_int(node, "transA", 1);
  if (trans_b) byoc_onnx_node_int(node, "transB", 1);
  if (alpha != 1) byoc_onnx_node_float(node, "alpha", alpha);
  if (beta != 1) byoc_onnx_node_float(node, "beta", beta);
  return true;
}

// ---- convolutions ----

typedef struct conv_t {
  int32_t spatial; // dimensions
  int64_t kernel[3], strides[3], dilations[3], pads[6], group;
} conv_t;

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

static void set_window(byoc_onnx_node_t *node, const conv_t *conv) {
  size_t spatial = (size_t)conv->spatial;
  byoc_onnx_node_ints(node, "kernel_shape", conv->kernel, spatial);
  byoc_onnx_node_ints(node, "strides", conv->strides, spatial);
  byoc_onnx_node_ints(node, "dilations", conv->dilations, spatial);
  byoc_onnx_node_ints(node, "pads", conv->pads, 2 * spatial);
  byoc_onnx_node_int(node, "group", conv->group);
}

static double conv_at(const tensor_t *x, const tensor_t *w, const conv_t *conv, const int64_t *index) {
  int64_t group_in = w->dims[1], group_out = w->dims[0] / conv->group, kernel_index[4] = {0}, window[4] = {group_in};
  for (int32_t d = 0; d < conv->spatial; ++d) window[1 + d] = conv->kernel[d];
  double sum = 0;
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
    if (inside) sum += x->values[offset_of(x, x_index)] * w->values[offset_of(w, w_index)];
  } while (next_index(1 + conv->spatial, window, kernel_index));
  return sum;
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
  int64_t out_channels = conv.group * (1 + below(suite, conv.group > 4 ? 2 : 24)), index[MAX_RANK] = {0};
  int64_t dims[MAX_RANK] = {x->dims[0], out_channels}, w_dims[MAX_RANK] = {out_channels, x->dims[1] / conv.group};
  for (int32_t d = 0; d < conv.spatial; ++d) {
    int64_t padded = x->dims[2 + d] + conv.pads[d] + conv.pads[conv.spatial + d];
    int64_t span = (conv.kernel[d] - 1) * conv.dilations[d] + 1;
    if (span > padded) return false;
    dims[2 + d] = (padded - span) / conv.strides[d] + 1;
    w_dims[2 + d] = conv.kernel[d];
  }
  int32_t rank = conv.spatial + 2;
  if (product(w_dims, rank) > MAX_ELEMENTS || product(dims, rank) > MAX_ELEMENTS) return false;
  tensor_t *w = new_random_constant(suite, rank, w_dims, 0.4, 0), *bias = NULL;
  if (chance(suite, 60)) bias = new_random_constant(suite, 1, &out_channels, 1, 0);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  int64_t at = 0;
  do y->values[at++] = conv_at(x, w, &conv, index) + (bias ? bias->values[index[1]] : 0);
  while (next_index(rank, dims, index));
  byoc_onnx_node_t *node = commit(suite, "Conv", (tensor_t *[]){x, w, bias}, bias ? 3 : 2, y);
  if (node == NULL) return false;
  set_window(node, &conv);
  return true;
}

// Each input element adds its multiple of the kernel to the output.
static bool make_conv_transpose(suite_t *suite) {
  conv_t conv = {.spatial = 2};
  tensor_t *x = image(suite, 2);
  if (x == NULL) return false;
  random_window(suite, &conv);
  conv.group = random_group(suite, x->dims[1]);
  int64_t per_group = 1 + below(suite, 4), group_in = x->dims[1] / conv.group, extra[2] = {0};
  int64_t dims[4] = {x->dims[0], per_group * conv.group}, w_dims[4] = {x->dims[1], per_group};
  for (int32_t d = 0; d < 2; ++d) {
    extra[d] = chance(suite, 25) ? below(suite, conv.strides[d]) : 0; // output padding
    int64_t span = (conv.kernel[d] - 1) * conv.dilations[d] + 1;
    dims[2 + d] = (x->dims[2 + d] - 1) * conv.strides[d] + span + extra[d] - conv.pads[d] - conv.pads[2 + d];
    if (dims[2 + d] < 1) return false;
    w_dims[2 + d] = conv.kernel[d];
  }
  if (product(w_dims, 4) > MAX_ELEMENTS || product(dims, 4) > MAX_ELEMENTS) return false;
  tensor_t *w = new_random_constant(suite, 4, w_dims, 0.4, 0), *y = new_result(suite, BYOC_DTYPE_F32, 4, dims);
  int64_t from[4] = {0};
  do {
    double value = x->values[offset_of(x, from)];
    int64_t window[3] = {per_group, conv.kernel[0], conv.kernel[1]}, k[3] = {0};
    do {
      int64_t to[4] = {from[0], from[1] / group_in * per_group + k[0],
                       from[2] * conv.strides[0] + k[1] * conv.dilations[0] - conv.pads[0],
                       from[3] * conv.strides[1] + k[2] * conv.dilations[1] - conv.pads[1]};
      const int64_t w_index[4] = {from[1], k[0], k[1], k[2]};
      if (to[2] < 0 || to[2] >= dims[2] || to[3] < 0 || to[3] >= dims[3]) continue;
      y->values[offset_of(y, to)] += value * w->values[offset_of(w, w_index)];
    } while (next_index(3, window, k));
  } while (next_index(4, x->dims, from));
  byoc_onnx_node_t *node = commit2(suite, "ConvTranspose", x, w, y);
  if (node == NULL) return false;
  set_window(node, &conv);
  byoc_onnx_node_ints(node, "output_padding", extra, 2);
  return true;
}

const operator_row_t linear_operators[] = {
    {make_matmul, 9}, {make_gemm, 9}, {make_conv, 16}, {make_conv_transpose, 2}, {NULL, 0},
};
