// SPDX-License-Identifier: Apache-2.0
// Elementwise operators that pass their operand on: casts, Clip, Identity, and Dropout.
#include <float.h>
#include <math.h>

#include "core/ir/element.h"
#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/ops/onnx/math/random.h"
#include "core/ops/onnx/text/string.h"

// ---- Cast, CastLike ----
// Real numbers, truth values and strings: everything except complex numbers.
static bool can_be_cast(byoc_dtype_t dtype) {
  return dtype != BYOC_DTYPE_C64 && dtype != BYOC_DTYPE_C128;
}

static bool has_bits(byoc_dtype_t dtype) {
  return dtype != BYOC_DTYPE_NONE && dtype != BYOC_DTYPE_STRING;
}

static byoc_status_t infer_cast(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, can_be_cast, "a tensor of real numbers, bools or strings"));
  int64_t to = byoc_node_int(infer->node, "to");
  byoc_dtype_t dtype = to == (int32_t)to ? byoc_dtype_from_onnx((int32_t)to) : BYOC_DTYPE_NONE;
  if (dtype == BYOC_DTYPE_NONE || !can_be_cast(dtype)) {
    return byoc_infer_error(infer, "attribute 'to': %lld is not a known element type", (long long)to);
  }
  return byoc_infer_set_like(infer, 0, dtype, byoc_operand_type(infer->node, 0));
}

static byoc_status_t infer_cast_like(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < 2; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, can_be_cast, "a tensor of real numbers, bools or strings"));
  }
  return byoc_infer_set_like(infer, 0, byoc_operand_type(infer->node, 1)->dtype, byoc_operand_type(infer->node, 0));
}

// Before operator set 24, infinity became NaN in the formats that have neither infinity nor negative zero, even when
// numbers that are too large became the largest one.
static const byoc_loop_expr_t *infinite_is_nan(byoc_loop_builder_t *b, byoc_dtype_t to, const byoc_loop_expr_t *x) {
  if ((to != BYOC_DTYPE_F8E4M3FNUZ && to != BYOC_DTYPE_F8E5M2FNUZ) || !byoc_dtype_is_float(x->dtype)) return x;
  x = byoc_emit_as(b, x->dtype == BYOC_DTYPE_F64 ? BYOC_DTYPE_F64 : BYOC_DTYPE_F32, x);
  const byoc_loop_expr_t *infinity = byoc_emit_number_like(b, x, INFINITY);
  const byoc_loop_expr_t *is_infinite =
      byoc_loop_binary(b, BYOC_LOOP_OP_EQ, byoc_loop_unary(b, BYOC_LOOP_OP_ABS, x), infinity);
  return byoc_loop_select(b, is_infinite, byoc_emit_number_like(b, x, NAN), x);
}

// To f8e8m0, whose elements are powers of two: x without its sign, rounded as round_mode says.
static const byoc_loop_expr_t *emit_power(byoc_loop_builder_t *b, const byoc_node_t *node, const byoc_loop_expr_t *x) {
  enum { UP, DOWN, NEAREST } mode = (int)byoc_node_choice(node, "round_mode");
  x = byoc_loop_unary(b, BYOC_LOOP_OP_ABS, byoc_emit_as(b, BYOC_DTYPE_F32, x));
  if (!byoc_node_flag(node, "saturate") && mode != DOWN) { // a number that rounds to 2^128 is NaN
    const byoc_loop_expr_t *most = byoc_loop_const(b, BYOC_DTYPE_F32, mode == UP ? 0x1p127 : 0x1.8p127);
    const byoc_loop_expr_t *is_beyond = byoc_loop_binary(b, mode == UP ? BYOC_LOOP_OP_LT : BYOC_LOOP_OP_LE, most, x);
    x = byoc_loop_select(b, is_beyond, byoc_loop_const(b, BYOC_DTYPE_F32, NAN), x);
  }
  if (mode == UP) return byoc_loop_cast(b, BYOC_DTYPE_F8E8M0, x); // as stores do
  // The power above x, or half of it, if x is below the limit.
  const byoc_loop_expr_t *up = byoc_emit_as(b, BYOC_DTYPE_F32, byoc_loop_cast(b, BYOC_DTYPE_F8E8M0, x));
  const double part = mode == DOWN ? 1.0 : 0.75;
  const byoc_loop_expr_t *limit = BYOC_LMUL(b, up, byoc_loop_const(b, BYOC_DTYPE_F32, part));
  const byoc_loop_expr_t *half = BYOC_LMUL(b, up, byoc_loop_const(b, BYOC_DTYPE_F32, 0.5));
  const byoc_loop_expr_t *is_below = byoc_loop_binary(b, BYOC_LOOP_OP_LT, x, limit);
  return byoc_loop_cast(b, BYOC_DTYPE_F8E8M0, byoc_loop_select(b, is_below, half, up));
}

// A float as an integer of 2 or 4 bits: the lowest bits of its integer part, as in ONNX's test cases for numbers out of
// range; 0 for infinities and NaN.
static const byoc_loop_expr_t *emit_lowest_bits(byoc_loop_builder_t *b, byoc_dtype_t to, const byoc_loop_expr_t *x) {
  x = byoc_emit_as(b, byoc_compute_dtype(x->dtype), x);
  const double values = byoc_dtype_bits(to) == 2 ? 4 : 16;
  const byoc_loop_expr_t *whole = byoc_loop_unary(b, BYOC_LOOP_OP_TRUNC, x);
  const byoc_loop_expr_t *share = BYOC_LMUL(b, whole, byoc_emit_number_like(b, x, 1 / values));
  const byoc_loop_expr_t *above = byoc_loop_unary(b, BYOC_LOOP_OP_FLOOR, share);
  const byoc_loop_expr_t *rest = BYOC_LSUB(b, whole, BYOC_LMUL(b, above, byoc_emit_number_like(b, x, values)));
  return byoc_loop_cast(b, to, byoc_loop_cast(b, BYOC_DTYPE_I32, rest)); // NaN, of infinities too, gives 0
}

static const byoc_loop_expr_t *point_cast(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *x = byoc_lower_load(lower, node, 0, indices);
  byoc_dtype_t to = node->results[result]->type->dtype;
  if (!x || x->dtype == to || to == BYOC_DTYPE_STRING) return x;
  // To bool: everything except zero is true, NaN included; a conversion by value would differ.
  if (to == BYOC_DTYPE_BOOL) {
    x = byoc_emit_as(b, byoc_compute_dtype(x->dtype), x);
    return x ? byoc_loop_binary(b, BYOC_LOOP_OP_NE, x, byoc_loop_const(b, x->dtype, 0.0)) : NULL;
  }
  if (to == BYOC_DTYPE_F8E8M0) return emit_power(b, node, x);
  if (byoc_dtype_is_float8(to)) {
    const bool saturate = byoc_node_flag(node, "saturate");
    return byoc_emit_float8(b, to, saturate && node->since_version < 24 ? infinite_is_nan(b, to, x) : x, saturate);
  }
  if (byoc_dtype_bits(to) < 8 && !byoc_dtype_is_any_float(to) && x && byoc_dtype_is_any_float(x->dtype))
    return emit_lowest_bits(b, to, x);
  return byoc_loop_cast(b, to, x);
}

// ---- Clip ----
static byoc_status_t infer_clip(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  for (uint32_t i = 1; i < infer->node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    const byoc_type_t *bound = byoc_operand_type(infer->node, i);
    if (byoc_type_element_count(bound) > 1) {
      char text[BYOC_TYPE_TEXT_SIZE];
      return byoc_infer_error(infer, "operand %u: expected a scalar, got %s", i, byoc_type_text(bound, text));
    }
  }
  return byoc_infer_same(infer);
}

// The bound of a Clip that states none: the largest finite number of its type, so that infinities become that.
static double usual_bound(const byoc_node_t *node) {
  if (node->since_version < 11) return (double)FLT_MAX; // the default of an attribute, which is a float
  switch (node->operands[0]->type->dtype) {
  case BYOC_DTYPE_F64:
    return DBL_MAX;
  case BYOC_DTYPE_F16:
    return 65504.0;
  case BYOC_DTYPE_BF16:
    return 0x1.fep127;
  default:
    return (double)FLT_MAX;
  }
}

// min(max(x, low), high): if low > high, the result is high, as ONNX defines it.
static const byoc_loop_expr_t *point_clip(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *x = byoc_emit_load(lower, node, 0, indices);
  static const char *const names[] = {"min", "max"};
  for (uint32_t i = 0; i < 2 && x; ++i) { // x is NULL if out of memory
    const byoc_attribute_t *attribute = byoc_node_given(node, names[i]);
    const byoc_loop_expr_t *bound = NULL;
    if (byoc_has_operand(node, i + 1)) {
      bound = byoc_emit_scalar(lower, node, i + 1);
    } else if (attribute) {
      bound = byoc_emit_number_like(b, x, attribute->f);
    } else if (byoc_dtype_is_float(x->dtype)) {
      bound = byoc_emit_number_like(b, x, i == 0 ? -usual_bound(node) : usual_bound(node));
    } else {
      continue;
    }
    x = byoc_loop_binary(b, i == 0 ? BYOC_LOOP_OP_MAX : BYOC_LOOP_OP_MIN, x, bound);
  }
  return byoc_emit_as(b, node->results[result]->type->dtype, x);
}

// ---- BitCast ----
// The same bytes under another element type of that size.
static byoc_status_t infer_bit_cast(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, has_bits, "a tensor of any type but strings"));
  const byoc_dtype_t from = byoc_operand_type(infer->node, 0)->dtype;
  const int64_t number = byoc_node_int(infer->node, "to");
  const byoc_dtype_t to = number == (int32_t)number ? byoc_dtype_from_onnx((int32_t)number) : BYOC_DTYPE_NONE;
  if (!has_bits(to)) {
    return byoc_infer_error(infer, "attribute 'to': %lld is not a known element type with bits", (long long)number);
  }
  if (byoc_dtype_bits(from) != byoc_dtype_bits(to)) {
    return byoc_infer_error(infer, "attribute 'to': %s has %u bits, and %s has %u", byoc_dtype_name(to),
                            byoc_dtype_bits(to), byoc_dtype_name(from), byoc_dtype_bits(from));
  }
  return byoc_infer_set_like(infer, 0, to, byoc_operand_type(infer->node, 0));
}

// ---- Identity, Dropout ----
static byoc_status_t infer_identity(byoc_infer_t *infer) {
  infer->node->results[0]->type = infer->node->operands[0]->type; // sequences and optionals too
  return BYOC_OK;
}

static bool is_bool(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_BOOL;
}

static byoc_status_t infer_dropout(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  if (byoc_has_operand(node, 1)) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_float, "a float ratio"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  if (byoc_has_operand(node, 2)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 2, is_bool, "a bool"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 2));
    BYOC_RETURN_IF_ERROR(byoc_infer_stream(infer));
  }
  // Before version 10 the mask had the type of the data.
  byoc_dtype_t mask = infer->opset < 10 ? byoc_operand_type(node, 0)->dtype : BYOC_DTYPE_BOOL;
  BYOC_RETURN_IF_ERROR(byoc_infer_set_like(infer, 1, mask, byoc_operand_type(node, 0)));
  return byoc_infer_same(infer);
}

// In training: an element is kept with probability 1 - ratio and then divided by it; the mask says which elements are
// kept.
static const byoc_loop_expr_t *point_dropout(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                             const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  const byoc_loop_expr_t *one = byoc_loop_const(b, BYOC_DTYPE_F64, 1.0),
                         *ratio = byoc_loop_const(b, BYOC_DTYPE_F64, 0.5);
  const byoc_loop_expr_t *training = byoc_loop_const_int(b, BYOC_DTYPE_BOOL, 0);
  if (byoc_has_operand(node, 1)) ratio = byoc_emit_as(b, BYOC_DTYPE_F64, byoc_emit_scalar(lower, node, 1));
  if (byoc_has_operand(node, 2)) training = byoc_emit_scalar(lower, node, 2);
  const byoc_loop_expr_t *u = byoc_emit_uniform(b, node, byoc_emit_place(b, type, indices));
  const byoc_loop_expr_t *kept = byoc_loop_binary(b, BYOC_LOOP_OP_LE, ratio, u);
  kept = byoc_loop_binary(b, BYOC_LOOP_OP_OR, byoc_loop_unary(b, BYOC_LOOP_OP_NOT, training), kept);
  if (result == 1) return byoc_emit_as(b, type->dtype, kept);
  const byoc_loop_expr_t *x = byoc_emit_load(lower, node, 0, indices);
  if (!x) return NULL;
  const byoc_loop_expr_t *scale =
      byoc_emit_as(b, x->dtype, byoc_loop_binary(b, BYOC_LOOP_OP_DIV, one, BYOC_LSUB(b, one, ratio)));
  const byoc_loop_expr_t *scaled = byoc_loop_select(b, training, BYOC_LMUL(b, x, scale), x);
  return byoc_emit_as(b, type->dtype, byoc_loop_select(b, kept, scaled, byoc_loop_const(b, x->dtype, 0.0)));
}

// Outside training: dropout(x) → x, mask → true everywhere
static byoc_status_t expand_dropout(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (byoc_has_operand(node, 2)) { // in training, or that is known only at run time
    int64_t is_training = 0;
    if (!byoc_value_scalar_i64(node->operands[2], &is_training) || is_training != 0) return BYOC_OK;
  }
  if (byoc_has_result(node, 1)) {
    byoc_value_t *shape = NULL, *mask = NULL;
    byoc_node_t *made = byoc_op_create(node->block, node, "", "Shape", node->operands, 1, 1, diag);
    if (!made) return byoc_diag_failure(diag);
    shape = made->results[0];
    byoc_graph_module_t *module = node->function->module;
    byoc_dtype_t dtype = node->results[1]->type->dtype;
    static const int64_t one = 1;
    void *data = NULL;
    const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_BOOL, 1, &one);
    byoc_constant_t *constant = type ? byoc_constant_allocate(module, "true", type, &data) : NULL;
    if (!constant) return byoc_diag_out_of_memory(diag);
    *(uint8_t *)data = 1;
    byoc_attribute_t value = {.name = "value", .kind = BYOC_ATTRIBUTE_TENSOR, .tensor = constant};
    made = byoc_op_create_with(node->block, node, "", "ConstantOfShape", &shape, 1, 1, &value, 1, diag);
    if (!made) return byoc_diag_failure(diag);
    mask = made->results[0];
    if (dtype != BYOC_DTYPE_BOOL) {
      byoc_value_t *operands[] = {mask, node->operands[0]};
      made = byoc_op_create(node->block, node, "", "CastLike", operands, 2, 1, diag);
      if (!made) return byoc_diag_failure(diag);
      mask = made->results[0];
    }
    if (!byoc_value_replace_uses(node->results[1], mask)) return byoc_diag_out_of_memory(diag);
  }
  byoc_value_t *by = byoc_value_in_place_of(node->operands[0], node->results[0], node);
  if (!by || !byoc_value_replace_uses(node->results[0], by)) return byoc_diag_out_of_memory(diag);
  *out_changed = true;
  return BYOC_OK;
}

static const byoc_op_attribute_t cast_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "to")},
    {BYOC_ATTR_INT("saturate", 1), .since = 19},
    {BYOC_ATTR_CHOICE("round_mode", "up", "down", "nearest"), .since = 24},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t bit_cast_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "to")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t cast_like_attributes[] = {
    {BYOC_ATTR_INT("saturate", 1), .since = 19},
    {BYOC_ATTR_CHOICE("round_mode", "up", "down", "nearest"), .since = 24},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t clip_attributes[] = {
    {BYOC_ATTR_FLOAT("min", -FLT_MAX), .until = 11},
    {BYOC_ATTR_FLOAT("max", FLT_MAX), .until = 11},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t dropout_attributes[] = {
    {BYOC_ATTR_FLOAT("ratio", 0.5), .until = 12},
    {BYOC_ATTR_INT("is_test", 0), .until = 7},
    {BYOC_ATTR(INT, "seed"), .since = 12},
    BYOC_ATTR_END,
};

#define ROW(op_name, version, least, most, results)                                                                    \
  .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most, .min_outputs = 1, \
  .max_outputs = results
#define CAST(version)                                                                                                  \
  {                                                                                                                    \
    ROW(Cast, version, 1, 1, 1), .attributes = cast_attributes, .traits = BYOC_OP_ELEMENTWISE, .infer = infer_cast,    \
                                 .point = point_cast, .expand = byoc_expand_text_cast                                  \
  }
#define CAST_LIKE(version)                                                                                             \
  {                                                                                                                    \
    ROW(CastLike, version, 2, 2, 1), .attributes = cast_like_attributes, .traits = BYOC_OP_ELEMENTWISE,                \
                                     .infer = infer_cast_like, .point = point_cast, .expand = byoc_expand_text_cast    \
  }
#define CLIP(version, operands)                                                                                        \
  {                                                                                                                    \
    ROW(Clip, version, 1, operands, 1), .attributes = clip_attributes, .traits = BYOC_OP_ELEMENTWISE,                  \
                                        .infer = infer_clip, .point = point_clip                                       \
  }
#define IDENTITY(version)                                                                                              \
  {                                                                                                                    \
    ROW(Identity, version, 1, 1, 1), .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES, .infer = infer_identity,             \
                                     .is_view = true                                                                   \
  }
#define DROPOUT(version, operands)                                                                                     \
  {                                                                                                                    \
    ROW(Dropout, version, 1, operands, 2), .attributes = dropout_attributes,                                           \
                                           .traits = (operands) > 1 ? BYOC_OP_RANDOM : 0, .infer = infer_dropout,      \
                                           .point = point_dropout, .expand = expand_dropout                            \
  }

const byoc_op_t byoc_ops_convert[] = {
    CAST(6),
    CAST(9),
    CAST(13),
    CAST(19),
    CAST(21),
    CAST(24),
    CAST_LIKE(15),
    CAST_LIKE(19),
    CAST_LIKE(21),
    CAST_LIKE(24),
    CLIP(6, 1),
    CLIP(11, 3),
    CLIP(12, 3),
    CLIP(13, 3),
    IDENTITY(1),
    IDENTITY(13),
    IDENTITY(14),
    IDENTITY(16),
    IDENTITY(19),
    IDENTITY(21),
    DROPOUT(6, 1),
    DROPOUT(7, 1),
    DROPOUT(10, 1),
    DROPOUT(12, 3),
    DROPOUT(13, 3),
    DROPOUT(22, 3),
    {ROW(BitCast, 26, 1, 1, 1), .attributes = bit_cast_attributes, .infer = infer_bit_cast, .is_view = true},
};
const size_t byoc_ops_convert_count = sizeof byoc_ops_convert / sizeof *byoc_ops_convert;
