// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of two or more operands, with NumPy broadcasting, and with the older broadcasting by `axis` and
// `broadcast`.
#include <math.h>
#include <string.h>

#include "core/op/util.h"
#include "core/ops/onnx/tensor/wide.h"
#include "core/ops/onnx/text/string.h"

#define OP(name) BYOC_LOOP_OP_##name

// ---- operands ----
// Before version 7, if `broadcast` is set, operand B is aligned with A from dimension `axis` on (or at the end).
static bool is_legacy(const byoc_node_t *node) {
  return node->since_version < 7 && byoc_attributes_find(&node->attributes, "axis") != NULL;
}

static const byoc_loop_expr_t *load_legacy(byoc_lower_t *lower, const byoc_node_t *node, int32_t rank,
                                           const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->operands[1]->type;
  int32_t axis = byoc_node_axis(node, "axis", rank);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    bool one = byoc_dim_is_constant(type->dims[d]) && type->dims[d].constant == 1;
    at[d] = one || axis + d >= rank ? byoc_loop_int(b, 0) : indices[axis + d];
  }
  return byoc_lower_load(lower, node, 1, at);
}

// Operand `operand` broadcast to result 0, in its compute type.
static const byoc_loop_expr_t *load(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                    const byoc_loop_expr_t *const *indices) {
  int32_t rank = node->results[0]->type->rank;
  const byoc_loop_expr_t *value = operand == 1 && is_legacy(node)
                                      ? load_legacy(lower, node, rank, indices)
                                      : byoc_lower_load_broadcast(lower, node, operand, rank, indices);
  return value ? byoc_emit_as(byoc_lower_builder(lower), byoc_compute_dtype(value->dtype), value) : NULL;
}

// ---- formulas of two operands ----
typedef const byoc_loop_expr_t *(*formula_t)(byoc_loop_builder_t *b, const byoc_node_t *node, const byoc_loop_expr_t *x,
                                             const byoc_loop_expr_t *y);

static const byoc_loop_expr_t *point_binary(byoc_lower_t *lower, const byoc_node_t *node,
                                            const byoc_loop_expr_t *const *indices, formula_t formula) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *x = load(lower, node, 0, indices), *y = load(lower, node, 1, indices);
  if (!x || !y) return NULL;
  return byoc_emit_as(b, node->results[0]->type->dtype, formula(b, node, x, y));
}

#define FORMULA(name, ...)                                                                                             \
  static const byoc_loop_expr_t *formula_##name(byoc_loop_builder_t *b, const byoc_node_t *node,                       \
                                                const byoc_loop_expr_t *x, const byoc_loop_expr_t *y) {                \
    (void)node;                                                                                                        \
    __VA_ARGS__                                                                                                        \
  }                                                                                                                    \
  static const byoc_loop_expr_t *point_##name(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,           \
                                              const byoc_loop_expr_t *const *indices) {                                \
    (void)result;                                                                                                      \
    return point_binary(lower, node, indices, formula_##name);                                                         \
  }

FORMULA(add, return byoc_loop_binary(b, OP(ADD), x, y);)
FORMULA(sub, return byoc_loop_binary(b, OP(SUB), x, y);)
FORMULA(mul, return byoc_loop_binary(b, OP(MUL), x, y);)
FORMULA(div, return byoc_loop_binary(b, OP(DIV), x, y);)
FORMULA(and, return byoc_loop_binary(b, OP(AND), x, y);)
FORMULA(or, return byoc_loop_binary(b, OP(OR), x, y);)
FORMULA(xor, return byoc_loop_binary(b, OP(XOR), x, y);)
FORMULA(equal, return byoc_loop_binary(b, OP(EQ), x, y);)
FORMULA(less, return byoc_loop_binary(b, OP(LT), x, y);)
FORMULA(less_equal, return byoc_loop_binary(b, OP(LE), x, y);)
FORMULA(greater, return byoc_loop_binary(b, OP(LT), y, x);)
FORMULA(greater_equal, return byoc_loop_binary(b, OP(LE), y, x);)
FORMULA(mod, {
  bool fmod = byoc_node_flag(node, "fmod");
  const byoc_loop_expr_t *rest = byoc_loop_binary(b, fmod ? OP(FMOD) : OP(MOD), x, y);
  if (fmod || !rest || !byoc_dtype_is_float(rest->dtype)) return rest;
  // A zero has the sign of the divisor, as every remainder has.
  const byoc_loop_expr_t *plus = byoc_loop_const(b, rest->dtype, 0.0);
  const byoc_loop_expr_t *minus = byoc_loop_const(b, rest->dtype, -0.0);
  const byoc_loop_expr_t *zero = byoc_loop_select(b, byoc_loop_binary(b, OP(LT), y, plus), minus, plus);
  return byoc_loop_select(b, byoc_loop_binary(b, OP(EQ), rest, plus), zero, rest);
})
enum { SHIFT_LEFT, SHIFT_RIGHT }; // as in shift_attributes
FORMULA(shift,
        return byoc_loop_binary(b, byoc_node_choice(node, "direction") == SHIFT_RIGHT ? OP(SHR) : OP(SHL), x, y);)
// Integers to a power, modulo 2^bits like multiplication: square and multiply if the exponent is a small constant, else
// through f64.
static const byoc_loop_expr_t *integer_power(byoc_loop_builder_t *b, const byoc_loop_expr_t *x,
                                             const byoc_loop_expr_t *y) {
  enum { LARGEST = 16 };
  int64_t exponent = 0;
  if (byoc_loop_is_int(y, &exponent) && exponent >= 0 && exponent <= LARGEST) {
    const byoc_loop_expr_t *power = byoc_loop_const_int(b, x->dtype, 1);
    for (int64_t bit = LARGEST; bit > 0; bit /= 2) {
      power = byoc_loop_binary(b, OP(MUL), power, power);
      if (exponent & bit) power = byoc_loop_binary(b, OP(MUL), power, x);
    }
    return power;
  }
  const byoc_loop_expr_t *power =
      byoc_loop_binary(b, OP(POW), byoc_emit_as(b, BYOC_DTYPE_F64, x), byoc_emit_as(b, BYOC_DTYPE_F64, y));
  return byoc_emit_as(b, x->dtype, power);
}

// x to the power 0.5: the square root, but infinity for -infinity, and 0 for -0.
static const byoc_loop_expr_t *root_power(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  const byoc_loop_expr_t *root = byoc_loop_unary(b, OP(ABS), byoc_loop_unary(b, OP(SQRT), x));
  const byoc_loop_expr_t *is_lowest = byoc_loop_binary(b, OP(EQ), x, byoc_emit_number_like(b, x, -INFINITY));
  return byoc_loop_select(b, is_lowest, byoc_emit_number_like(b, x, INFINITY), root);
}

// Squares and roots are common (in layer normalisation, for example), so they get faster code than a call of pow. The
// operands may have different types: integers combined with floats count as floats, and the result has the base's type.
FORMULA(pow, {
  if (byoc_dtype_is_float(x->dtype)) {
    y = byoc_emit_as(b, x->dtype, y);
    if (byoc_loop_is_const(y, 2.0)) return byoc_loop_binary(b, OP(MUL), x, x);
    if (byoc_loop_is_const(y, 1.0)) return x;
    if (byoc_loop_is_const(y, 0.5)) return root_power(b, x);
    return byoc_loop_binary(b, OP(POW), x, y);
  }
  if (byoc_dtype_is_float(y->dtype)) return byoc_loop_binary(b, OP(POW), byoc_emit_as(b, y->dtype, x), y);
  return integer_power(b, x, y);
})
FORMULA(prelu, return byoc_loop_select(b, byoc_loop_binary(b, OP(LT), x, byoc_loop_const(b, x->dtype, 0.0)),
                                       byoc_loop_binary(b, OP(MUL), x, y), x);)

// ---- any number of operands ----
static const byoc_loop_expr_t *fold(byoc_lower_t *lower, const byoc_node_t *node,
                                    const byoc_loop_expr_t *const *indices, byoc_loop_op_t op) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *value = load(lower, node, 0, indices);
  for (uint32_t i = 1; i < node->operand_count && value; ++i) {
    value = byoc_loop_binary(b, op, value, load(lower, node, i, indices));
  }
  return value;
}

#define VARIADIC(name, op)                                                                                             \
  static const byoc_loop_expr_t *point_##name(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,           \
                                              const byoc_loop_expr_t *const *indices) {                                \
    const byoc_loop_expr_t *value = fold(lower, node, indices, op);                                                    \
    return byoc_emit_as(byoc_lower_builder(lower), node->results[result]->type->dtype, value);                         \
  }
VARIADIC(min, OP(MIN))
VARIADIC(max, OP(MAX))
VARIADIC(sum, OP(ADD))

static const byoc_loop_expr_t *point_mean(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *sum = fold(lower, node, indices, OP(ADD));
  if (!sum) return NULL;
  const byoc_loop_expr_t *count = byoc_loop_const(b, sum->dtype, (double)node->operand_count);
  return byoc_emit_as(b, node->results[result]->type->dtype, byoc_loop_binary(b, OP(DIV), sum, count));
}

static const byoc_loop_expr_t *point_where(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  (void)result;
  int32_t rank = node->results[0]->type->rank;
  return byoc_loop_select(byoc_lower_builder(lower), byoc_lower_load_broadcast(lower, node, 0, rank, indices),
                          byoc_lower_load_broadcast(lower, node, 1, rank, indices),
                          byoc_lower_load_broadcast(lower, node, 2, rank, indices));
}

// ---- inference ----
static bool is_bool(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_BOOL;
}
static bool is_comparable(byoc_dtype_t dtype) {
  return byoc_dtype_is_number(dtype) || dtype == BYOC_DTYPE_BOOL || dtype == BYOC_DTYPE_STRING;
}

static byoc_status_t broadcast(byoc_infer_t *infer, byoc_dtype_t dtype) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *a = byoc_operand_type(node, 0), *other = byoc_operand_type(node, 1);
  if (!is_legacy(node)) return byoc_infer_broadcast(infer, dtype);
  if (byoc_is_ranked(a) && byoc_is_ranked(other)) {
    int32_t axis = 0;
    BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", a->rank, &axis));
    for (int32_t d = 0; d < other->rank; ++d) {
      bool one = byoc_dim_is_constant(other->dims[d]) && other->dims[d].constant == 1;
      if (axis + d >= a->rank && !one) return byoc_infer_error(infer, "operand 1 does not fit from axis %d on", axis);
      if (!one) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, d, a->dims[axis + d]));
    }
  }
  return byoc_infer_set_like(infer, 0, dtype, a);
}

static byoc_status_t infer_two(byoc_infer_t *infer, byoc_dtype_predicate_t passes, const char *what, bool test) {
  for (uint32_t i = 0; i < infer->node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, passes, what));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
  }
  return broadcast(infer, test ? BYOC_DTYPE_BOOL : byoc_operand_type(infer->node, 0)->dtype);
}

static byoc_status_t infer_number(byoc_infer_t *infer) {
  return infer_two(infer, byoc_dtype_is_number, "a numeric tensor", false);
}
static byoc_status_t infer_float(byoc_infer_t *infer) {
  return infer_two(infer, byoc_dtype_is_float, "a float tensor", false);
}
static byoc_status_t infer_integer(byoc_infer_t *infer) {
  return infer_two(infer, byoc_dtype_is_integer, "an integer tensor", false);
}
static byoc_status_t infer_logical(byoc_infer_t *infer) {
  return infer_two(infer, is_bool, "a bool tensor", false);
}
static byoc_status_t infer_order(byoc_infer_t *infer) {
  return infer_two(infer, byoc_dtype_is_number, "a numeric tensor", true);
}
static byoc_status_t infer_equal(byoc_infer_t *infer) {
  return infer_two(infer, is_comparable, "a tensor of numbers, bools or strings", true);
}
// Integers must not be divided by 0, unless operand 0 has no elements.
static byoc_status_t need_divisors(const byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_dtype_is_integer(x->dtype) || byoc_type_element_count(x) == 0) return BYOC_OK;
  byoc_limit_t limit = {.operand = 1, .name = "the divisor", .kind = BYOC_RANGE_NOT_ZERO, .count = 1};
  limit.extents[0] = byoc_side_number(1);
  if (byoc_is_ranked(x) && !byoc_type_is_static(x)) {
    for (int32_t d = 0; d < x->rank; ++d) limit.extents[d] = byoc_side_of(infer, 0, d);
    limit.count = (uint32_t)x->rank;
  }
  return byoc_infer_limit(infer, &limit);
}
static byoc_status_t infer_quotient(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(infer_number(infer));
  return need_divisors(infer);
}
static byoc_status_t infer_pow(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_number, "a numeric tensor"));
  if (infer->opset < 12) BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  return broadcast(infer, byoc_operand_type(infer->node, 0)->dtype);
}
// The slope broadcasts to X, never the other way. Before version 7 a slope of rank 1 is one value per channel.
static byoc_status_t infer_prelu(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *slope = byoc_operand_type(infer->node, 1);
  if (byoc_is_ranked(x) && byoc_is_ranked(slope)) {
    bool a_channel = infer->opset < 7 && slope->rank == 1 && x->rank >= 2;
    BYOC_RETURN_IF_ERROR(
        byoc_infer_need_broadcast(infer, 1, a_channel ? 1 : x->rank, a_channel ? x->dims + 1 : x->dims));
  }
  return byoc_infer_set_like(infer, 0, x->dtype, x);
}
static byoc_status_t infer_where(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_bool, "a bool tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 2, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 1), *y = byoc_operand_type(infer->node, 2);
  if (x->dtype != y->dtype) {
    return byoc_infer_error(infer, "operand 2: expected the element type of operand 1 (%s), got %s",
                            byoc_dtype_name(x->dtype), byoc_dtype_name(y->dtype));
  }
  return byoc_infer_broadcast(infer, x->dtype);
}

// Before version 7 the slope may have rank 1 for any X: it has one value per channel.
static const byoc_loop_expr_t *point_prelu_6(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                             const byoc_loop_expr_t *const *indices) {
  const byoc_type_t *slope = node->operands[1]->type;
  const byoc_type_t *x_type = node->results[0]->type;
  if (slope->rank != 1 || x_type->rank < 2) return point_prelu(lower, node, result, indices);
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  bool one = byoc_dim_is_constant(slope->dims[0]) && slope->dims[0].constant == 1;
  const byoc_loop_expr_t *channel = one ? byoc_loop_int(b, 0) : indices[1];
  const byoc_loop_expr_t *x = byoc_emit_load(lower, node, 0, indices), *y = byoc_emit_load(lower, node, 1, &channel);
  if (!x || !y) return NULL;
  return byoc_emit_as(b, x_type->dtype, formula_prelu(b, node, x, y));
}

// ---- rows ----
// Operators that came after version 6 have no such attributes.
static const byoc_op_attribute_t old_broadcast_attributes[] = {
    {BYOC_ATTR_INT("broadcast", 0), .until = 7},
    {BYOC_ATTR(INT, "axis"), .until = 7},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t mod_attributes[] = {
    {BYOC_ATTR_INT("fmod", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t shift_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, "direction"), .allowed = BYOC_ATTR_ALLOWED("LEFT", "RIGHT")},
    BYOC_ATTR_END,
};

#define ROW(table, op_name, version, least, most, more_traits, infer_name, point_name)                                 \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS | (more_traits),            \
    .attributes = table, .infer = infer_##infer_name, .point = point_##point_name                                      \
  }
#define TWO(op_name, version, infer_name, point_name)                                                                  \
  ROW(old_broadcast_attributes, op_name, version, 2, 2, 0, infer_name, point_name)
#define COMMUTES(op_name, version, infer_name, point_name)                                                             \
  ROW(old_broadcast_attributes, op_name, version, 2, 2, BYOC_OP_COMMUTES, infer_name, point_name)
#define EQUAL(version, more_traits)                                                                                    \
  {                                                                                                                    \
    .domain = "", .name = "Equal", .since_version = version, .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,       \
    .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS | (more_traits),                              \
    .attributes = old_broadcast_attributes, .infer = infer_equal, .point = point_equal,                                \
    .expand = byoc_expand_text_equal                                                                                   \
  }
#define POW(version)                                                                                                   \
  {                                                                                                                    \
    .domain = "", .name = "Pow", .since_version = version, .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,         \
    .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS, .work = BYOC_WORK_TRANSCENDENTAL,            \
    .attributes = old_broadcast_attributes, .infer = infer_pow, .point = point_pow                                     \
  }
#define MANY(op_name, version, infer_name, point_name) ROW(NULL, op_name, version, 1, -1, 0, infer_name, point_name)
// Very many operands are folded in parts.
#define FOLD(op_name, version, infer_name, point_name)                                                                 \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 1, .max_inputs = -1, .min_outputs = 1,     \
    .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS, .infer = infer_##infer_name,                 \
    .point = point_##point_name, .expand = byoc_expand_wide_fold                                                       \
  }

const byoc_op_t byoc_ops_binary[] = {
    // Version 6 with `axis` is not commutative.
    TWO(Add, 6, number, add),
    COMMUTES(Add, 7, number, add),
    COMMUTES(Add, 13, number, add),
    COMMUTES(Add, 14, number, add),
    TWO(Sub, 6, number, sub),
    TWO(Sub, 7, number, sub),
    TWO(Sub, 13, number, sub),
    TWO(Sub, 14, number, sub),
    TWO(Mul, 6, number, mul),
    COMMUTES(Mul, 7, number, mul),
    COMMUTES(Mul, 13, number, mul),
    COMMUTES(Mul, 14, number, mul),
    ROW(old_broadcast_attributes, Div, 6, 2, 2, BYOC_OP_LIMITS, quotient, div),
    ROW(old_broadcast_attributes, Div, 7, 2, 2, BYOC_OP_LIMITS, quotient, div),
    ROW(old_broadcast_attributes, Div, 13, 2, 2, BYOC_OP_LIMITS, quotient, div),
    ROW(old_broadcast_attributes, Div, 14, 2, 2, BYOC_OP_LIMITS, quotient, div),
    POW(1),
    POW(7),
    POW(12),
    POW(13),
    POW(15),
    ROW(mod_attributes, Mod, 10, 2, 2, BYOC_OP_LIMITS, quotient, mod),
    ROW(mod_attributes, Mod, 13, 2, 2, BYOC_OP_LIMITS, quotient, mod),
    TWO(And, 1, logical, and),
    COMMUTES(And, 7, logical, and),
    TWO(Or, 1, logical, or),
    COMMUTES(Or, 7, logical, or),
    TWO(Xor, 1, logical, xor),
    COMMUTES(Xor, 7, logical, xor),
    COMMUTES(BitwiseAnd, 18, integer, and),
    COMMUTES(BitwiseOr, 18, integer, or),
    COMMUTES(BitwiseXor, 18, integer, xor),
    ROW(shift_attributes, BitShift, 11, 2, 2, 0, integer, shift),
    EQUAL(1, 0),
    EQUAL(7, BYOC_OP_COMMUTES),
    EQUAL(11, BYOC_OP_COMMUTES),
    EQUAL(13, BYOC_OP_COMMUTES),
    EQUAL(19, BYOC_OP_COMMUTES),
    TWO(Less, 1, order, less),
    TWO(Less, 7, order, less),
    TWO(Less, 9, order, less),
    TWO(Less, 13, order, less),
    TWO(Greater, 1, order, greater),
    TWO(Greater, 7, order, greater),
    TWO(Greater, 9, order, greater),
    TWO(Greater, 13, order, greater),
    TWO(LessOrEqual, 12, order, less_equal),
    TWO(LessOrEqual, 16, order, less_equal),
    TWO(GreaterOrEqual, 12, order, greater_equal),
    TWO(GreaterOrEqual, 16, order, greater_equal),
    ROW(NULL, PRelu, 6, 2, 2, 0, prelu, prelu_6),
    ROW(NULL, PRelu, 7, 2, 2, 0, prelu, prelu),
    ROW(NULL, PRelu, 9, 2, 2, 0, prelu, prelu),
    ROW(NULL, PRelu, 16, 2, 2, 0, prelu, prelu),
    FOLD(Min, 6, number, min),
    FOLD(Min, 8, number, min),
    FOLD(Min, 12, number, min),
    FOLD(Min, 13, number, min),
    FOLD(Max, 6, number, max),
    FOLD(Max, 8, number, max),
    FOLD(Max, 12, number, max),
    FOLD(Max, 13, number, max),
    FOLD(Sum, 6, float, sum),
    FOLD(Sum, 8, float, sum),
    FOLD(Sum, 13, float, sum),
    MANY(Mean, 6, float, mean),
    MANY(Mean, 8, float, mean),
    MANY(Mean, 13, float, mean),
    ROW(NULL, Where, 9, 3, 3, 0, where, where),
    ROW(NULL, Where, 16, 3, 3, 0, where, where),
};
const size_t byoc_ops_binary_count = sizeof byoc_ops_binary / sizeof *byoc_ops_binary;
