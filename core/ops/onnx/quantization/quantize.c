// SPDX-License-Identifier: Apache-2.0
// Quantisation of tensors: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#include "core/ops/onnx/quantization/quantize.h"

#include "core/ir/loop_fold.h"
#include "core/op/axes.h"
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool is_quantisable(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) || dtype == BYOC_DTYPE_I32;
}

static bool is_scale(byoc_dtype_t dtype) {
  return is_quantisable(dtype) || dtype == BYOC_DTYPE_F8E8M0;
}

// ---- scales and zero points ----
// One for the tensor, one per slice along `axis`, or (with the same rank) one per block of `block_size` along it.
static byoc_status_t check_scale(const byoc_infer_t *infer, uint32_t operand, const byoc_type_t *x) {
  const byoc_type_t *scale = byoc_operand_type(infer->node, operand);
  if (!scale || !byoc_is_ranked(scale) || !byoc_is_ranked(x)) return BYOC_OK;
  if (scale->rank == 0 || byoc_type_element_count(scale) == 1) return BYOC_OK;
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  if (scale->rank == 1 && x->rank >= 1) return byoc_infer_need_broadcast(infer, operand, 1, &x->dims[axis]);
  int64_t block = byoc_node_int(infer->node, "block_size");
  if (scale->rank == x->rank && block > 0) {
    for (int32_t d = 0; d < x->rank; ++d) {
      byoc_dim_t expected = x->dims[d];
      bool failed = false;
      if (d == axis) {
        expected = byoc_infer_dim(infer, BYOC_DIM_CEILDIV, expected, byoc_dim_constant(block), &failed);
        BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
      }
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, operand, d, expected));
    }
    return BYOC_OK;
  }
  char text[BYOC_TYPE_TEXT_SIZE];
  return byoc_infer_error(infer, "operand %u: expected a scalar, one value per slice or one per block, got %s", operand,
                          byoc_type_text(scale, text));
}

static const byoc_loop_expr_t *load_scale(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *scale = node->operands[operand]->type;
  if (scale->rank == 0 || byoc_type_element_count(scale) == 1) {
    return byoc_lower_load_flat(lower, node, operand, byoc_loop_int(b, 0));
  }
  int32_t axis = byoc_node_axis(node, "axis", x->rank);
  if (scale->rank == 1) {
    const byoc_loop_expr_t *at = indices[axis];
    if (!byoc_dim_equal(scale->dims[0], x->dims[axis])) { // one for all or one per slice: known only at run time
      at = BYOC_LMIN(b, at, BYOC_LSUB(b, byoc_emit_dim(b, scale, 0), byoc_loop_int(b, 1)));
    }
    return byoc_lower_load(lower, node, operand, &at);
  }
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) at[d] = indices[d];
  at[axis] = BYOC_LDIV(b, at[axis], byoc_loop_int(b, byoc_node_int(node, "block_size")));
  return byoc_lower_load(lower, node, operand, at);
}

// ---- QuantizeLinear ----
byoc_status_t byoc_infer_quantize(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_quantisable, "a tensor of floats or i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_scale, "a scale"));
  const byoc_type_t *x = byoc_operand_type(node, 0), *zero = byoc_operand_type(node, 2);
  BYOC_RETURN_IF_ERROR(check_scale(infer, 1, x));
  BYOC_RETURN_IF_ERROR(check_scale(infer, 2, x));
  int64_t asked = byoc_node_int(node, "output_dtype");
  byoc_dtype_t dtype = asked ? byoc_dtype_from_onnx((int32_t)asked) : BYOC_DTYPE_U8;
  if (byoc_type_is_tensor(zero)) {
    if (asked && zero->dtype != dtype) {
      return byoc_infer_error(infer, "attribute 'output_dtype' and the zero point's type differ");
    }
    dtype = zero->dtype;
  }
  if (!byoc_dtype_is_quantised(dtype))
    return byoc_infer_error(infer, "values cannot be quantised to the type of the result");
  return byoc_infer_set_like(infer, 0, dtype, x);
}

// The range of a quantised type, as floats.
static void range_of(byoc_dtype_t dtype, double *low, double *high) {
  bool is_signed = byoc_loop_is_signed(dtype);
  double values = 1.0;
  for (uint32_t i = 0; i < byoc_dtype_bits(dtype); ++i) values *= 2.0;
  *low = is_signed ? -values / 2 : 0.0;
  *high = is_signed ? values / 2 - 1 : values - 1;
}

// saturate(round(x / scale) + zero point), ties to even
static const byoc_loop_expr_t *emit_quantised(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *x,
                                              const byoc_loop_expr_t *scale, const byoc_loop_expr_t *zero,
                                              bool saturate) {
  if (!x) return NULL;
  const byoc_loop_expr_t *shift = zero ? byoc_emit_as(b, x->dtype, zero) : NULL;
  x = BIN(DIV, x, byoc_emit_as(b, x->dtype, scale));
  const bool is_rounded = dtype != BYOC_DTYPE_F4E2M1 && !byoc_dtype_is_float8(dtype); // those round by themselves
  if (is_rounded) x = byoc_loop_unary(b, BYOC_LOOP_OP_ROUND, x);
  if (zero) x = BYOC_LADD(b, x, shift);
  if (dtype == BYOC_DTYPE_F4E2M1) return byoc_emit_as(b, dtype, x); // saturates by itself
  if (byoc_dtype_is_float8(dtype)) return byoc_emit_float8(b, dtype, x, saturate);
  double low = 0.0, high = 0.0;
  range_of(dtype, &low, &high);
  x = byoc_emit_between(b, x, low, high);
  // Goes through i32, for which compilers have vector instructions; the value is already within the range.
  if (byoc_dtype_bits(dtype) <= 16) x = byoc_emit_as(b, BYOC_DTYPE_I32, x);
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
  bool saturate = byoc_node_flag(node, "saturate");
  return emit_quantised(b, dtype, byoc_emit_as(b, compute, x), scale, zero, saturate);
}

static bool is_float_scale(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) || dtype == BYOC_DTYPE_F8E8M0;
}

// ---- DequantizeLinear: (x - zero point) * scale ----
byoc_status_t byoc_infer_dequantize(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_float_scale, "a float scale"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  BYOC_RETURN_IF_ERROR(check_scale(infer, 1, x));
  BYOC_RETURN_IF_ERROR(check_scale(infer, 2, x));
  int64_t asked = byoc_node_int(node, "output_dtype");
  byoc_dtype_t dtype = asked ? byoc_dtype_from_onnx((int32_t)asked) : byoc_operand_type(node, 1)->dtype;
  if (!byoc_dtype_is_float(dtype)) {
    return byoc_infer_error(infer, asked ? "attribute 'output_dtype' is not a float type"
                                         : "a scale of f8e8m0 needs the attribute 'output_dtype'");
  }
  return byoc_infer_set_like(infer, 0, dtype, x);
}

static const byoc_loop_expr_t *point_dequantize(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *x = byoc_lower_load(lower, node, 0, indices), *scale = load_scale(lower, node, 1, indices);
  const byoc_loop_expr_t *zero = byoc_has_operand(node, 2) ? load_scale(lower, node, 2, indices) : NULL;
  if (!x || !scale) return NULL;
  byoc_dtype_t between = byoc_loop_is_float(x->dtype) ? BYOC_DTYPE_F32 : BYOC_DTYPE_I32;
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

// Loops over all elements, the innermost one along a row.
static int32_t open_rows(byoc_loop_builder_t *b, const byoc_type_t *type, bool parallel, byoc_loop_for_kind_t innermost,
                         const byoc_loop_expr_t **at) {
  const int32_t last = type->rank - 1;
  if (last < 0) return 0;
  const int32_t opened = byoc_emit_open(b, type, 0, last, parallel, at);
  at[last] = byoc_loop_for(b, innermost, "i", byoc_loop_int(b, 0), byoc_emit_dim(b, type, last));
  return opened + 1;
}

// scale = (max - min) / 255 with 0 in the range, zero point = saturate(round(-min / scale)); zeros alone have scale 1.
static byoc_status_t loops_dynamic(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->operands[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(type->dtype);
  const byoc_loop_expr_t *none = byoc_loop_const(b, dtype, 0.0), *one = byoc_loop_const(b, dtype, 1.0);
  const byoc_loop_expr_t *low = byoc_loop_mutable(b, "low", none), *high = byoc_loop_mutable(b, "high", none);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  int32_t opened = open_rows(b, type, false, BYOC_LOOP_REDUCE, at);
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
  opened = open_rows(b, type, true, BYOC_LOOP_VECTOR, at);
  x = emit_quantised(b, BYOC_DTYPE_U8, byoc_emit_load(lower, node, 0, at), scale, zero, true);
  byoc_emit_store(lower, node, 0, at, x);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

static const byoc_op_attribute_t quantize_attributes[] = {
    {BYOC_ATTR_INT("axis", 1), .since = 13},       {BYOC_ATTR_INT("saturate", 1), .since = 19},
    {BYOC_ATTR_INT("block_size", 0), .since = 21}, {BYOC_ATTR_INT("output_dtype", 0), .since = 21},
    {BYOC_ATTR_INT("precision", 0), .since = 23},  BYOC_ATTR_END,
};
static const byoc_op_attribute_t dequantize_attributes[] = {
    {BYOC_ATTR_INT("axis", 1), .since = 13},
    {BYOC_ATTR_INT("block_size", 0), .since = 21},
    {BYOC_ATTR_INT("output_dtype", 0), .since = 23},
    BYOC_ATTR_END,
};

#define QUANTIZE(version)                                                                                              \
  {                                                                                                                    \
    .domain = "", .name = "QuantizeLinear", .since_version = version, .min_inputs = 2, .max_inputs = 3,                \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE, .attributes = quantize_attributes,              \
    .infer = byoc_infer_quantize, .point = point_quantize, .axes = byoc_axes_quantize                                  \
  }
#define DEQUANTIZE(version)                                                                                            \
  {                                                                                                                    \
    .domain = "", .name = "DequantizeLinear", .since_version = version, .min_inputs = 2, .max_inputs = 3,              \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE, .attributes = dequantize_attributes,            \
    .infer = byoc_infer_dequantize, .point = point_dequantize, .axes = byoc_axes_quantize                              \
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
};
const size_t byoc_ops_quantize_count = sizeof byoc_ops_quantize / sizeof *byoc_ops_quantize;
