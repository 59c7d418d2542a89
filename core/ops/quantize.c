// Quantised operators. QuantizeLinear and DequantizeLinear are elementwise; products of quantised operands become
// products of i32 with the zero points taken off before and QuantizeLinear after.
#include <string.h>

#include "core/ops/window.h"
#include "core/ops/write.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool is_quantisable(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) || dtype == BYOC_DTYPE_I32;
}

static bool is_quantised(byoc_dtype_t dtype) {
  return byoc_dtype_is_integer(dtype) || byoc_dtype_is_float8(dtype) || dtype == BYOC_DTYPE_I4 ||
         dtype == BYOC_DTYPE_U4;
}

static bool is_byte(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_U8;
}

// ---- scales and zero points ----
// One for the tensor, one a slice along `axis`, or (same rank) one a block of `block_size` along it.
static byoc_status_t check_scale(const byoc_infer_t *infer, uint32_t operand, const byoc_type_t *x) {
  const byoc_type_t *scale = byoc_operand_type(infer->node, operand);
  if (!scale || !byoc_is_ranked(scale) || !byoc_is_ranked(x)) return BYOC_OK;
  if (scale->rank == 0 || byoc_type_element_count(scale) == 1) return BYOC_OK;
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", 1, x->rank, &axis));
  if (scale->rank == 1 && x->rank >= 1) return byoc_infer_need_dim(infer, operand, 0, x->dims[axis]);
  if (scale->rank == x->rank && byoc_attributes_int(&infer->node->attributes, "block_size", 0) > 0) return BYOC_OK;
  char text[BYOC_TYPE_TEXT_SIZE];
  return byoc_infer_error(infer, "operand %u: expected a scalar, one value a slice or one a block, got %s", operand,
                          byoc_type_text(scale, text));
}

static const byoc_loop_expr_t *load_scale(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *scale = node->operands[operand]->type;
  if (scale->rank == 0 || byoc_type_element_count(scale) == 1) {
    return byoc_lower_load_flat(lower, node, operand, byoc_loop_int(b, 0));
  }
  int32_t axis = byoc_node_axis(node, "axis", 1, x->rank);
  if (scale->rank == 1) {
    const byoc_loop_expr_t *at = indices[axis];
    if (!byoc_dim_equal(scale->dims[0], x->dims[axis])) { // one for all or one each: known at run time only
      at = BYOC_LMIN(b, at, BYOC_LSUB(b, byoc_emit_dim(b, scale, 0), byoc_loop_int(b, 1)));
    }
    return byoc_lower_load(lower, node, operand, &at);
  }
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) at[d] = indices[d];
  at[axis] = BYOC_LDIV(b, at[axis], byoc_loop_int(b, byoc_attributes_int(&node->attributes, "block_size", 1)));
  return byoc_lower_load(lower, node, operand, at);
}

// ---- QuantizeLinear ----
static byoc_status_t infer_quantize(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_quantisable, "a tensor of floats or i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_quantisable, "a scale"));
  const byoc_type_t *x = byoc_operand_type(node, 0), *zero = byoc_operand_type(node, 2);
  BYOC_RETURN_IF_ERROR(check_scale(infer, 1, x));
  BYOC_RETURN_IF_ERROR(check_scale(infer, 2, x));
  int64_t asked = byoc_attributes_int(&node->attributes, "output_dtype", 0);
  byoc_dtype_t dtype = asked ? byoc_dtype_from_onnx((int32_t)asked) : BYOC_DTYPE_U8;
  if (byoc_type_is_tensor(zero)) {
    if (asked && zero->dtype != dtype) {
      return byoc_infer_error(infer, "attribute 'output_dtype' and the zero point's type differ");
    }
    dtype = zero->dtype;
  }
  if (!is_quantised(dtype)) return byoc_infer_error(infer, "the result's type is none that values are quantised to");
  return byoc_infer_set_like(infer, 0, dtype, x);
}

// The range of a quantised type, as floats.
static void range_of(byoc_dtype_t dtype, double *low, double *high) {
  bool is_signed = dtype == BYOC_DTYPE_I4 || dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_I16 ||
                   dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
  double values = 1.0;
  for (uint32_t i = 0; i < byoc_dtype_bits(dtype); ++i) values *= 2.0;
  *low = is_signed ? -values / 2 : 0.0;
  *high = is_signed ? values / 2 - 1 : values - 1;
}

// saturate(round(x / scale) + zero point), ties to even
static const byoc_loop_expr_t *emit_quantised(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *x,
                                              const byoc_loop_expr_t *scale, const byoc_loop_expr_t *zero,
                                              bool saturate) {
  x = BIN(DIV, x, byoc_emit_as(b, x->dtype, scale));
  if (byoc_dtype_is_float8(dtype)) {
    if (zero) x = BYOC_LADD(b, x, byoc_emit_as(b, x->dtype, zero));
    return byoc_emit_float8(b, dtype, x, saturate);
  }
  x = byoc_loop_unary(b, BYOC_LOOP_OP_ROUND, x);
  if (zero) x = BYOC_LADD(b, x, byoc_emit_as(b, x->dtype, zero));
  double low = 0.0, high = 0.0;
  range_of(dtype, &low, &high);
  x = BYOC_LMIN(b, BYOC_LMAX(b, x, byoc_loop_const(b, x->dtype, low)), byoc_loop_const(b, x->dtype, high));
  return byoc_emit_as(b, dtype, x);
}

static const byoc_loop_expr_t *point_quantize(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *x = byoc_emit_load(lower, node, 0, indices), *scale = load_scale(lower, node, 1, indices);
  const byoc_loop_expr_t *zero = byoc_has_operand(node, 2) ? load_scale(lower, node, 2, indices) : NULL;
  if (!x || !scale) return NULL;
  byoc_dtype_t dtype = node->results[result]->type->dtype;
  byoc_dtype_t compute = x->dtype == BYOC_DTYPE_F64 ? BYOC_DTYPE_F64 : BYOC_DTYPE_F32;
  bool saturate = byoc_attributes_int(&node->attributes, "saturate", 1) != 0;
  return emit_quantised(b, dtype, byoc_emit_as(b, compute, x), scale, zero, saturate);
}

// ---- DequantizeLinear: (x - zero point) * scale ----
static byoc_status_t infer_dequantize(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_float, "a float scale"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  BYOC_RETURN_IF_ERROR(check_scale(infer, 1, x));
  BYOC_RETURN_IF_ERROR(check_scale(infer, 2, x));
  int64_t asked = byoc_attributes_int(&node->attributes, "output_dtype", 0);
  byoc_dtype_t dtype = asked ? byoc_dtype_from_onnx((int32_t)asked) : byoc_operand_type(node, 1)->dtype;
  if (!byoc_dtype_is_float(dtype)) return byoc_infer_error(infer, "attribute 'output_dtype' is no float type");
  return byoc_infer_set_like(infer, 0, dtype, x);
}

static const byoc_loop_expr_t *point_dequantize(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *x = byoc_lower_load(lower, node, 0, indices), *scale = load_scale(lower, node, 1, indices);
  const byoc_loop_expr_t *zero = byoc_has_operand(node, 2) ? load_scale(lower, node, 2, indices) : NULL;
  if (!x || !scale) return NULL;
  byoc_dtype_t between = byoc_dtype_is_float8(x->dtype) ? BYOC_DTYPE_F32 : BYOC_DTYPE_I32;
  x = byoc_emit_as(b, between, x);
  if (zero) x = BYOC_LSUB(b, x, byoc_emit_as(b, between, zero));
  byoc_dtype_t compute = byoc_compute_dtype(scale->dtype);
  x = BYOC_LMUL(b, byoc_emit_as(b, compute, x), byoc_emit_as(b, compute, scale));
  return byoc_emit_as(b, node->results[result]->type->dtype, x);
}

// ---- DynamicQuantizeLinear ----
static byoc_status_t infer_dynamic(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_set_like(infer, 0, BYOC_DTYPE_U8, x));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 1, x->dtype, 0, NULL));
  return byoc_infer_set(infer, 2, BYOC_DTYPE_U8, 0, NULL);
}

// scale = (max - min) / 255 with 0 in the range, zero point = saturate(round(-min / scale)); zeros alone have scale 1.
static byoc_status_t loops_dynamic(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->operands[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(type->dtype);
  const byoc_loop_expr_t *none = byoc_loop_const(b, dtype, 0.0), *one = byoc_loop_const(b, dtype, 1.0);
  const byoc_loop_expr_t *low = byoc_loop_mutable(b, "low", none), *high = byoc_loop_mutable(b, "high", none);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  int32_t opened = byoc_emit_open(b, type, 0, type->rank, false, at);
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", byoc_emit_load(lower, node, 0, at));
  byoc_loop_assign(b, low, BYOC_LMIN(b, low, x));
  byoc_loop_assign(b, high, BYOC_LMAX(b, high, x));
  byoc_emit_close(b, opened);
  const byoc_loop_expr_t *range = BIN(DIV, BYOC_LSUB(b, high, low), byoc_loop_const(b, dtype, 255.0));
  const byoc_loop_expr_t *scale = byoc_loop_let(b, "scale", range);
  scale = byoc_loop_let(b, "divisor", byoc_loop_select(b, BIN(EQ, scale, none), one, scale));
  const byoc_loop_expr_t *zero =
      emit_quantised(b, BYOC_DTYPE_U8, byoc_loop_unary(b, BYOC_LOOP_OP_NEG, low), scale, NULL, true);
  zero = byoc_loop_let(b, "zero", zero);
  byoc_emit_store(lower, node, 1, NULL, scale);
  byoc_emit_store(lower, node, 2, NULL, zero);
  opened = byoc_emit_open(b, type, 0, type->rank, true, at);
  x = emit_quantised(b, BYOC_DTYPE_U8, byoc_emit_load(lower, node, 0, at), scale, zero, true);
  byoc_emit_store(lower, node, 0, at, x);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

// ---- products ----
// A per-slice vector as a tensor whose trailing dimensions are `trailing` ones, to broadcast from there; a scalar
// stays.
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

// The result of a product of types a and b is that of MatMul; where both are ranked the dimensions follow from there.
static byoc_status_t infer_product(const byoc_infer_t *infer, uint32_t left, uint32_t right, byoc_dtype_t dtype) {
  const byoc_type_t *a = byoc_operand_type(infer->node, left), *c = byoc_operand_type(infer->node, right);
  if (!byoc_is_ranked(a) || !byoc_is_ranked(c)) return byoc_infer_set_unranked(infer, 0, dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, left, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, right, 1, BYOC_MAX_RANK));
  byoc_dim_t inner = a->dims[a->rank - 1];
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, right, c->rank > 1 ? c->rank - 2 : 0, inner));
  int32_t left_batch = a->rank > 2 ? a->rank - 2 : 0, right_batch = c->rank > 2 ? c->rank - 2 : 0;
  int32_t batch = left_batch > right_batch ? left_batch : right_batch, rank = batch;
  byoc_dim_t dims[BYOC_MAX_RANK + 2];
  bool failed = false;
  for (int32_t d = 0; d < batch; ++d) {
    int32_t l = d - (batch - left_batch), r = d - (batch - right_batch);
    dims[d] = l >= 0 ? a->dims[l] : byoc_dim_constant(1);
    if (r >= 0 && !byoc_broadcast_dim(infer, dims[d], c->dims[r], &dims[d], &failed)) {
      return byoc_infer_error(infer, "the operands' leading dimensions do not broadcast");
    }
  }
  if (a->rank > 1) dims[rank++] = a->dims[a->rank - 2];
  if (c->rank > 1) dims[rank++] = c->dims[c->rank - 1];
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, dtype, rank, dims);
}

static byoc_status_t infer_matmul_integer(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_byte, "a tensor of bytes"));
  return infer_product(infer, 0, 1, BYOC_DTYPE_I32);
}

static byoc_status_t infer_qlinear_matmul(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 7, is_quantised, "a zero point"));
  return infer_product(infer, 0, 3, byoc_operand_type(infer->node, 7)->dtype);
}

// MatMulInteger(a, b, zero points) → MatMul(i32(a) - zero, i32(b) - zero); A's are per row, B's per column
static byoc_status_t expand_matmul_integer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node};
  byoc_value_t *a = write_centred(&w, node->operands[0], operand(node, 2), 1);
  byoc_value_t *c = write_centred(&w, node->operands[1], operand(node, 3), 0);
  return byoc_write_end(&w, byoc_write_node(&w, "", "MatMul", a, c, NULL, NULL, 0), diag, out_changed);
}

// QLinearMatMul → MatMul of i32, scaled, then QuantizeLinear
static byoc_status_t expand_qlinear_matmul(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node};
  byoc_value_t *const *in = node->operands;
  byoc_value_t *a = write_centred(&w, in[0], in[2], 1), *c = write_centred(&w, in[3], in[5], 0);
  byoc_value_t *sum = byoc_write_node(&w, "", "MatMul", a, c, NULL, NULL, 0);
  byoc_value_t *y = write_requantised(&w, sum, write_trailing(&w, in[1], 1), in[4], in[6], in[7]);
  return byoc_write_end(&w, y, diag, out_changed);
}

// ConvInteger(x, w, zero points) → byoc::Conv(i32(x) - zero, i32(w) - zero), which pads with what was the zero point
static byoc_status_t expand_conv_integer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node};
  byoc_value_t *x = write_centred(&w, node->operands[0], operand(node, 2), 0);
  byoc_value_t *k = write_centred(&w, node->operands[1], operand(node, 3), node->operands[1]->type->rank - 1);
  byoc_value_t *sum = byoc_write_node(&w, "byoc", "Conv", x, k, NULL, node->attributes.items, node->attributes.count);
  return byoc_write_end(&w, sum, diag, out_changed);
}

// QLinearConv → byoc::Conv of i32 with its bias, scaled a channel, then QuantizeLinear
static byoc_status_t expand_qlinear_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node};
  byoc_value_t *const *in = node->operands;
  int32_t rank = in[3]->type->rank;
  byoc_value_t *x = write_centred(&w, in[0], in[2], 0), *k = write_centred(&w, in[3], in[5], rank - 1);
  byoc_value_t *sum =
      byoc_write_node(&w, "byoc", "Conv", x, k, operand(node, 8), node->attributes.items, node->attributes.count);
  byoc_value_t *y = write_requantised(&w, sum, in[1], write_trailing(&w, in[4], rank - 2), in[6], in[7]);
  return byoc_write_end(&w, y, diag, out_changed);
}

#define QUANTIZE(version)                                                                                              \
  {                                                                                                                    \
    .domain = "", .name = "QuantizeLinear", .since_version = version, .min_inputs = 2, .max_inputs = 3,                \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE, .infer = infer_quantize,                        \
    .point = point_quantize                                                                                            \
  }
#define DEQUANTIZE(version)                                                                                            \
  {                                                                                                                    \
    .domain = "", .name = "DequantizeLinear", .since_version = version, .min_inputs = 2, .max_inputs = 3,              \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE, .infer = infer_dequantize,                      \
    .point = point_dequantize                                                                                          \
  }
#define EXPANDED(op_name, version, least, most, infer_name, function)                                                  \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .infer = infer_name, .expand = expand_##function                               \
  }

const byoc_op_t byoc_ops_quantize[] = {
    QUANTIZE(10),
    QUANTIZE(13),
    QUANTIZE(19),
    QUANTIZE(21),
    QUANTIZE(23),
    DEQUANTIZE(10),
    DEQUANTIZE(13),
    DEQUANTIZE(19),
    DEQUANTIZE(21),
    DEQUANTIZE(23),
    {.domain = "",
     .name = "DynamicQuantizeLinear",
     .since_version = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 3,
     .max_outputs = 3,
     .infer = infer_dynamic,
     .loops = loops_dynamic},
    EXPANDED(MatMulInteger, 10, 2, 4, infer_matmul_integer, matmul_integer),
    EXPANDED(QLinearMatMul, 10, 8, 8, infer_qlinear_matmul, qlinear_matmul),
    EXPANDED(QLinearMatMul, 21, 8, 8, infer_qlinear_matmul, qlinear_matmul),
    EXPANDED(ConvInteger, 10, 2, 4, byoc_infer_quantised_conv, conv_integer),
    EXPANDED(QLinearConv, 10, 8, 9, byoc_infer_quantised_conv, qlinear_conv),
};
const size_t byoc_ops_quantize_count = sizeof byoc_ops_quantize / sizeof *byoc_ops_quantize;
