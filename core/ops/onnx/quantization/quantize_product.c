// SPDX-License-Identifier: Apache-2.0
// Products of quantised tensors: MatMulInteger, QLinearMatMul, ConvInteger and QLinearConv.
//
// Signed bytes are multiplied by unsigned ones, because processors have instructions for that (byoc::MatMul,
// byoc::Conv); zero points are subtracted from the sums:
//   sum (a - p) (b - q) = sum a b - p sum b - q sum (a - p)
// If both operands have the same sign, one of them is flipped: x - 128 replaces x, and its zero point moves along.
// Other cases (zero points of convolution weights, few channels per group, types that are not bytes) become a product
// of i32 after the zero points were subtracted.
#include <string.h>

#include "core/op/write.h"
#include "core/ops/loops/window.h"

// A vector per slice as a tensor with `trailing` trailing dimensions of 1, so that it broadcasts; a scalar stays a
// scalar.
static byoc_value_t *write_trailing(byoc_writer_t *w, byoc_value_t *x, int32_t trailing) {
  if (!x || trailing == 0 || x->type->rank != 1 || byoc_type_element_count(x->type) == 1) return x;
  int64_t axes[BYOC_MAX_RANK];
  for (int32_t i = 0; i < trailing; ++i) axes[i] = i + 1;
  byoc_value_t *value = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, trailing, axes);
  return byoc_write_node(w, "", "Unsqueeze", x, value, NULL, NULL, 0);
}

// i32(x) - i32(zero point)
static byoc_value_t *write_centred(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *zero, int32_t trailing) {
  x = byoc_write_cast(w, x, BYOC_DTYPE_I32);
  if (!zero) return x;
  return byoc_write_node(w, "", "Sub", x, byoc_write_cast(w, write_trailing(w, zero, trailing), BYOC_DTYPE_I32), NULL,
                         NULL, 0);
}

// sum of products → quantised: f32(sum) * scales, then QuantizeLinear
static byoc_value_t *write_requantised(byoc_writer_t *w, byoc_value_t *sum, byoc_value_t *x_scale,
                                       byoc_value_t *w_scale, byoc_value_t *y_scale, byoc_value_t *y_zero) {
  byoc_value_t *scale = byoc_write_node(w, "", "Mul", byoc_write_cast(w, x_scale, BYOC_DTYPE_F32),
                                        byoc_write_cast(w, w_scale, BYOC_DTYPE_F32), NULL, NULL, 0);
  sum = byoc_write_node(w, "", "Mul", byoc_write_cast(w, sum, BYOC_DTYPE_F32), scale, NULL, NULL, 0);
  return byoc_write_node(w, "", "QuantizeLinear", sum, byoc_write_cast(w, y_scale, BYOC_DTYPE_F32), y_zero, NULL, 0);
}

static byoc_value_t *operand(const byoc_node_t *node, uint32_t index) {
  return byoc_has_operand(node, index) ? node->operands[index] : NULL;
}

// ---- bytes of either sign ----
// A tensor of bytes and the zero point to be subtracted from each.
typedef struct {
  byoc_value_t *bytes, *zero; // zero: of the bytes' type; NULL: 0
} side_t;

static byoc_dtype_t other_sign(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8 ? BYOC_DTYPE_I8 : BYOC_DTYPE_U8;
}

// x ± 128 under the other type: flips the highest bit.
static byoc_value_t *write_flipped(byoc_writer_t *w, byoc_value_t *x) {
  byoc_dtype_t to = other_sign(x->type->dtype);
  byoc_graph_module_t *module = w->node->function->module;
  if (byoc_value_is_constant(x)) {
    const byoc_type_t *type = byoc_type_tensor(&module->arena, to, x->type->rank, x->type->dims);
    void *data = NULL;
    byoc_constant_t *constant = type ? byoc_constant_allocate(module, x->constant->name, type, &data) : NULL;
    byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
    if (!value) w->failed = true;
    const uint8_t *from = x->constant->data;
    for (int64_t i = 0; value && i < byoc_type_element_count(type); ++i) ((uint8_t *)data)[i] = from[i] ^ 128;
    return value;
  }
  const uint8_t bit = 128;
  byoc_value_t *mask = byoc_write_vector(w, "bit", BYOC_DTYPE_U8, 1, &bit);
  byoc_value_t *bytes = byoc_write_cast(w, x, BYOC_DTYPE_U8);
  bytes = byoc_write_node(w, "", "BitwiseXor", bytes, mask, NULL, NULL, 0);
  return byoc_write_cast(w, bytes, to);
}

static void flip(byoc_writer_t *w, side_t *side) {
  byoc_value_t *zero = side->zero;
  if (!zero) {
    const int8_t none = 0;
    zero = byoc_write_vector(w, "zero", side->bytes->type->dtype, 1, &none);
  }
  side->zero = zero ? write_flipped(w, zero) : NULL;
  side->bytes = write_flipped(w, side->bytes);
}

// ---- matrices ----
// Sums over one axis (from the end), which stays as 1.
static byoc_value_t *write_sums(byoc_writer_t *w, byoc_value_t *x, int64_t axis) {
  byoc_graph_module_t *module = w->node->function->module;
  if (byoc_value_is_constant(x) && x->type->rank == 2 && axis == -2) { // columns of weights
    int64_t rows = x->type->dims[0].constant, columns = x->type->dims[1].constant;
    void *data = NULL;
    const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_I32, 1, &columns);
    byoc_constant_t *constant = type ? byoc_constant_allocate(module, "sums", type, &data) : NULL;
    byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
    if (!value) w->failed = true;
    for (int64_t j = 0; value && j < columns; ++j) {
      uint32_t sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += (uint32_t)byoc_constant_element_i64(x->constant, i * columns + j);
      ((int32_t *)data)[j] = (int32_t)sum;
    }
    return value;
  }
  byoc_value_t *axes = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &axis);
  return byoc_write_node(w, "", "ReduceSum", byoc_write_cast(w, x, BYOC_DTYPE_I32), axes, NULL, NULL, 0);
}

static byoc_value_t *write_less(byoc_writer_t *w, byoc_value_t *from, byoc_value_t *sums, byoc_value_t *zero) {
  byoc_value_t *term = byoc_write_node(w, "", "Mul", sums, byoc_write_cast(w, zero, BYOC_DTYPE_I32), NULL, NULL, 0);
  return byoc_write_node(w, "", "Sub", from, term, NULL, NULL, 0);
}

// sum over k of (a - zero point) * (b - zero point), in i32; A's zero points are per row, B's per column.
static byoc_value_t *write_product(byoc_writer_t *w, byoc_value_t *a, byoc_value_t *a_zero, byoc_value_t *c,
                                   byoc_value_t *c_zero) {
  side_t left = {a, a_zero}, right = {c, c_zero};
  bool fits = byoc_dtype_is_byte(a->type->dtype) && byoc_dtype_is_byte(c->type->dtype) && a->type->rank >= 2 &&
              c->type->rank >= 2;
  if (!fits) {
    a = write_centred(w, a, a_zero, 1), c = write_centred(w, c, c_zero, 0);
    return byoc_write_node(w, "", "MatMul", a, c, NULL, NULL, 0);
  }
  // Constants are flipped once; an operand without a zero point then gets none.
  if (a->type->dtype == c->type->dtype) {
    bool flips_right = byoc_value_is_constant(c) && !byoc_all_are(c_zero, 0);
    flip(w, flips_right ? &right : &left);
    if (w->failed) return NULL;
  }
  byoc_value_t *sum = byoc_write_node(w, "byoc", "MatMul", left.bytes, right.bytes, NULL, NULL, 0);
  if (!byoc_all_are(left.zero, 0)) {
    sum = write_less(w, sum, write_sums(w, right.bytes, -2), write_trailing(w, left.zero, 1));
  }
  if (!byoc_all_are(right.zero, 0)) {
    byoc_value_t *rows = byoc_all_are(left.zero, 0) ? left.bytes : write_centred(w, left.bytes, left.zero, 1);
    sum = write_less(w, sum, write_sums(w, rows, -1), right.zero);
  }
  return sum;
}

static byoc_status_t infer_matmul_integer(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_byte, "a tensor of bytes"));
  return byoc_infer_product(infer, 1, BYOC_DTYPE_I32);
}

static byoc_status_t infer_qlinear_matmul(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, byoc_dtype_is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 7, byoc_dtype_is_quantised, "a zero point"));
  return byoc_infer_product(infer, 3, byoc_operand_type(infer->node, 7)->dtype);
}

// MatMulInteger(a, b, zero points) → their product in i32
static byoc_status_t expand_matmul_integer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  return byoc_write_end(&w, write_product(&w, in[0], operand(node, 2), in[1], operand(node, 3)), out_changed);
}

// QLinearMatMul → the product in i32, scaled, then QuantizeLinear
static byoc_status_t expand_qlinear_matmul(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  byoc_value_t *sum = write_product(&w, in[0], in[2], in[3], in[5]);
  byoc_value_t *y = write_requantised(&w, sum, write_trailing(&w, in[1], 1), in[4], in[6], in[7]);
  return byoc_write_end(&w, y, out_changed);
}

// ---- convolutions ----
// bias - zero point * sums of each output channel's weights; a constant if all of these are known.
static byoc_value_t *write_bias(byoc_writer_t *w, const side_t *x, byoc_value_t *weights, byoc_value_t *bias) {
  if (byoc_all_are(x->zero, 0)) return bias;
  byoc_graph_module_t *module = w->node->function->module;
  if (byoc_value_is_constant(weights) && byoc_value_is_constant(x->zero) && (!bias || byoc_value_is_constant(bias))) {
    int64_t channels = weights->type->dims[0].constant, zero = byoc_constant_element_i64(x->zero->constant, 0);
    int64_t row = channels > 0 ? byoc_type_element_count(weights->type) / channels : 0;
    void *data = NULL;
    const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_I32, 1, &channels);
    byoc_constant_t *constant = type ? byoc_constant_allocate(module, "bias", type, &data) : NULL;
    byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
    if (!value) w->failed = true;
    for (int64_t m = 0; value && m < channels; ++m) {
      uint32_t sum = 0;
      for (int64_t i = 0; i < row; ++i) sum += (uint32_t)byoc_constant_element_i64(weights->constant, m * row + i);
      uint32_t own = bias ? (uint32_t)byoc_constant_element_i64(bias->constant, m) : 0;
      ((int32_t *)data)[m] = (int32_t)(own - (uint32_t)zero * sum);
    }
    return value;
  }
  int64_t axes[BYOC_MAX_RANK];
  for (int32_t d = 1; d < weights->type->rank; ++d) axes[d - 1] = d;
  const byoc_attribute_t keep = {.name = "keepdims", .kind = BYOC_ATTRIBUTE_INT, .i = 0};
  byoc_value_t *over = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, weights->type->rank - 1, axes);
  byoc_value_t *sums =
      byoc_write_node(w, "", "ReduceSum", byoc_write_cast(w, weights, BYOC_DTYPE_I32), over, NULL, &keep, 1);
  const int32_t none = 0;
  if (!bias) bias = byoc_write_vector(w, "none", BYOC_DTYPE_I32, 1, &none);
  return write_less(w, bias, sums, x->zero);
}

// sum of (x - zero point) * (w - zero point) + bias, in i32, padded with the value that stands for 0.
static byoc_value_t *write_conv(byoc_writer_t *w, byoc_value_t *x_bytes, byoc_value_t *x_zero, byoc_value_t *weights,
                                byoc_value_t *w_zero, byoc_value_t *bias) {
  const byoc_attributes_t *attributes = &w->node->attributes;
  side_t x = {x_bytes, x_zero}, k = {weights, w_zero};
  bool is_same = x_bytes->type->dtype == weights->type->dtype;
  bool centred = byoc_all_are(w_zero, 0);
  bool moves = is_same && byoc_all_are(w_zero, weights->type->dtype == BYOC_DTYPE_U8 ? 128 : -128);
  if (!(centred || moves) || !byoc_conv_is_packed(weights->type, byoc_node_int(w->node, "group"))) {
    x_bytes = write_centred(w, x_bytes, x_zero, 0);
    weights = write_centred(w, weights, w_zero, weights->type->rank - 1);
    return byoc_write_node(w, "byoc", "Conv", x_bytes, weights, bias, attributes->items, attributes->count);
  }
  if (is_same) flip(w, moves ? &k : &x);
  const int8_t none = 0;
  if (!x.zero) x.zero = byoc_write_vector(w, "zero", x_bytes->type->dtype, 1, &none);
  if (w->failed) return NULL;
  byoc_value_t *operands[] = {x.bytes, k.bytes, write_bias(w, &x, k.bytes, bias), x.zero};
  byoc_node_t *made = byoc_write_many(w, "byoc", "Conv", operands, 4, 1, attributes->items, attributes->count);
  return made ? made->results[0] : NULL;
}

// ConvInteger(x, w, zero points) → byoc::Conv
static byoc_status_t expand_conv_integer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  byoc_value_t *sum = write_conv(&w, in[0], operand(node, 2), in[1], operand(node, 3), NULL);
  return byoc_write_end(&w, sum, out_changed);
}

// QLinearConv → byoc::Conv with its bias, scaled per channel, then QuantizeLinear
static byoc_status_t expand_qlinear_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  byoc_value_t *sum = write_conv(&w, in[0], in[2], in[3], in[5], operand(node, 8));
  byoc_value_t *scale = write_trailing(&w, in[4], in[3]->type->rank - 2);
  return byoc_write_end(&w, write_requantised(&w, sum, in[1], scale, in[6], in[7]), out_changed);
}

#define EXPANDED(table, op_name, version, least, most, kind, at, infer_name, function)                                 \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .work = BYOC_WORK_##kind, .factor = at, .attributes = table,                   \
    .infer = infer_name, .expand = expand_##function                                                                   \
  }

const byoc_op_t byoc_ops_quantize_product[] = {
    EXPANDED(NULL, MatMulInteger, 10, 2, 4, PRODUCT, 1, infer_matmul_integer, matmul_integer),
    EXPANDED(NULL, QLinearMatMul, 10, 8, 8, PRODUCT, 3, infer_qlinear_matmul, qlinear_matmul),
    EXPANDED(NULL, QLinearMatMul, 21, 8, 8, PRODUCT, 3, infer_qlinear_matmul, qlinear_matmul),
    EXPANDED(byoc_conv_attributes, ConvInteger, 10, 2, 4, CONVOLUTION, 1, byoc_infer_quantised_conv, conv_integer),
    EXPANDED(byoc_conv_attributes, QLinearConv, 10, 8, 9, CONVOLUTION, 3, byoc_infer_quantised_conv, qlinear_conv),
};
const size_t byoc_ops_quantize_product_count = sizeof byoc_ops_quantize_product / sizeof *byoc_ops_quantize_product;
