// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of one operand: the result is an expression of the operand's element. Floats narrower than f32
// are computed in f32.
#include "core/op/util.h"

#define OP(name)      BYOC_LOOP_OP_##name
#define UN(op, x)     byoc_loop_unary(b, OP(op), (x))
#define BIN(op, x, y) byoc_loop_binary(b, OP(op), (x), (y))
#define NUM(value)    byoc_loop_const(b, x->dtype, (value))

// Every formula below is a function of this form; the shared wrapper loads the element and converts the result.
typedef const byoc_loop_expr_t *(*formula_t)(byoc_loop_builder_t *b, const byoc_node_t *node,
                                             const byoc_loop_expr_t *x);

static const byoc_loop_expr_t *point_unary(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices, formula_t formula) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *x = byoc_emit_load(lower, node, 0, indices);
  return x ? byoc_emit_as(b, node->results[result]->type->dtype, formula(b, node, x)) : NULL;
}

#define FORMULA(name, ...)                                                                                             \
  static const byoc_loop_expr_t *formula_##name(byoc_loop_builder_t *b, const byoc_node_t *node,                       \
                                                const byoc_loop_expr_t *x) {                                           \
    (void)node;                                                                                                        \
    __VA_ARGS__                                                                                                        \
  }                                                                                                                    \
  static const byoc_loop_expr_t *point_##name(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,           \
                                              const byoc_loop_expr_t *const *indices) {                                \
    return point_unary(lower, node, result, indices, formula_##name);                                                  \
  }

#define ATTRIBUTE(name) NUM(byoc_node_float(node, name))

FORMULA(abs, return UN(ABS, x);)
FORMULA(neg, return UN(NEG, x);)
FORMULA(exp, return UN(EXP, x);)
FORMULA(log, return UN(LOG, x);)
FORMULA(sqrt, return UN(SQRT, x);)
FORMULA(reciprocal, return BIN(DIV, NUM(1.0), x);)
FORMULA(floor, return UN(FLOOR, x);)
FORMULA(ceil, return UN(CEIL, x);)
FORMULA(round, return UN(ROUND, x);)
FORMULA(sign, return UN(SIGN, x);)
FORMULA(sin, return UN(SIN, x);)
FORMULA(cos, return UN(COS, x);)
FORMULA(tan, return UN(TAN, x);)
FORMULA(asin, return UN(ASIN, x);)
FORMULA(acos, return UN(ACOS, x);)
FORMULA(atan, return UN(ATAN, x);)
FORMULA(sinh, return UN(SINH, x);)
FORMULA(cosh, return UN(COSH, x);)
FORMULA(tanh, return UN(TANH, x);)
FORMULA(asinh, return UN(ASINH, x);)
FORMULA(acosh, return UN(ACOSH, x);)
FORMULA(atanh, return UN(ATANH, x);)
FORMULA(erf, return UN(ERF, x);)
// A selection instead of a maximum: NaN passes through, and it is one instruction.
FORMULA(relu, return byoc_loop_select(b, BIN(LT, x, NUM(0.0)), NUM(0.0), x);)
FORMULA(not, return UN(NOT, x);)
FORMULA(isnan, return UN(ISNAN, x);)

FORMULA(isinf, {
  bool negative = byoc_node_flag(node, "detect_negative");
  bool positive = byoc_node_flag(node, "detect_positive");
  if (negative && positive) return UN(ISINF, x);
  if (!negative && !positive) return byoc_loop_const_int(b, BYOC_DTYPE_BOOL, 0);
  return BIN(AND, UN(ISINF, x), positive ? BIN(LT, NUM(0.0), x) : BIN(LT, x, NUM(0.0)));
})
// x < 0 ? alpha * x : x
FORMULA(leaky_relu, return byoc_loop_select(b, BIN(LT, x, NUM(0.0)), BIN(MUL, ATTRIBUTE("alpha"), x), x);)
// x < 0 ? alpha * (exp(x) - 1) : x
FORMULA(elu, return byoc_loop_select(b, BIN(LT, x, NUM(0.0)), BIN(MUL, ATTRIBUTE("alpha"), UN(EXPM1, x)), x);)
// gamma * (x > 0 ? x : alpha * (exp(x) - 1))
FORMULA(selu, {
  const byoc_loop_expr_t *alpha = ATTRIBUTE("alpha");
  const byoc_loop_expr_t *gamma = ATTRIBUTE("gamma");
  return BIN(MUL, gamma, byoc_loop_select(b, BIN(LT, NUM(0.0), x), x, BIN(MUL, alpha, UN(EXPM1, x))));
})
// max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
FORMULA(celu, {
  const byoc_loop_expr_t *alpha = ATTRIBUTE("alpha");
  const byoc_loop_expr_t *low = BIN(MUL, alpha, UN(EXPM1, BIN(DIV, x, alpha)));
  return BIN(ADD, BIN(MAX, x, NUM(0.0)), BIN(MIN, low, NUM(0.0)));
})
// 1 / (1 + exp(-x)): for large negative x, exp overflows to infinity and the quotient is correctly 0.
FORMULA(sigmoid, return BIN(DIV, NUM(1.0), BIN(ADD, NUM(1.0), UN(EXP, UN(NEG, x))));)
static const byoc_loop_expr_t *hard_sigmoid(byoc_loop_builder_t *b, const byoc_loop_expr_t *x,
                                            const byoc_loop_expr_t *alpha, const byoc_loop_expr_t *beta) {
  return BIN(MAX, NUM(0.0), BIN(MIN, NUM(1.0), BIN(ADD, BIN(MUL, alpha, x), beta)));
}
FORMULA(hard_sigmoid, return hard_sigmoid(b, x, ATTRIBUTE("alpha"), ATTRIBUTE("beta"));)
FORMULA(hard_swish, return BIN(MUL, x, hard_sigmoid(b, x, NUM(1.0 / 6.0), NUM(0.5)));)
// log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|))
static const byoc_loop_expr_t *softplus(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return BIN(ADD, BIN(MAX, x, NUM(0.0)), UN(LOG1P, UN(EXP, UN(NEG, UN(ABS, x)))));
}
FORMULA(softplus, return softplus(b, x);)
// x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2), as tanh(log(u)) = (u^2 - 1) / (u^2 + 1). From x = 20 on,
// the quotient is 1 in every format.
FORMULA(mish, {
  const byoc_loop_expr_t *power = UN(EXP, BIN(MIN, x, NUM(20.0)));
  const byoc_loop_expr_t *n = BIN(MUL, power, BIN(ADD, power, NUM(2.0)));
  return BIN(MUL, x, BIN(DIV, n, BIN(ADD, n, NUM(2.0))));
})
// x / (1 + exp(-alpha * x))
FORMULA(swish, {
  const byoc_loop_expr_t *power = UN(EXP, UN(NEG, BIN(MUL, ATTRIBUTE("alpha"), x)));
  return BIN(DIV, x, BIN(ADD, NUM(1.0), power));
})
FORMULA(softsign, return BIN(DIV, x, BIN(ADD, NUM(1.0), UN(ABS, x)));)
FORMULA(thresholded_relu, return byoc_loop_select(b, BIN(LT, ATTRIBUTE("alpha"), x), x, NUM(0.0));)
enum { GELU_EXACT, GELU_TANH }; // as in gelu_attributes
// Exactly: 0.5 x (1 + erf(x / sqrt 2)).  With approximate = "tanh": 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))).
FORMULA(gelu, {
  const byoc_loop_expr_t *inner = NULL;
  if (byoc_node_choice(node, "approximate") == GELU_TANH) {
    const byoc_loop_expr_t *cube = BIN(MUL, x, BIN(MUL, x, x));
    inner = UN(TANH, BIN(MUL, NUM(0.7978845608028654), BIN(ADD, x, BIN(MUL, NUM(0.044715), cube))));
  } else {
    inner = UN(ERF, BIN(MUL, x, NUM(0.7071067811865476)));
  }
  return BIN(MUL, BIN(MUL, NUM(0.5), x), BIN(ADD, NUM(1.0), inner));
})
// x < -lambd: x + bias; x > lambd: x - bias; else 0
FORMULA(shrink, {
  double lambd = byoc_node_float(node, "lambd");
  const byoc_loop_expr_t *bias = ATTRIBUTE("bias");
  const byoc_loop_expr_t *high = byoc_loop_select(b, BIN(LT, NUM(lambd), x), BIN(SUB, x, bias), NUM(0.0));
  return byoc_loop_select(b, BIN(LT, x, NUM(-lambd)), BIN(ADD, x, bias), high);
})

// ---- inference ----
static bool is_signed_number(byoc_dtype_t dtype) {
  return byoc_dtype_is_number(dtype) && dtype != BYOC_DTYPE_U8 && dtype != BYOC_DTYPE_U16 && dtype != BYOC_DTYPE_U32 &&
         dtype != BYOC_DTYPE_U64;
}
static bool is_bool(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_BOOL;
}

static byoc_status_t infer_float(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  return byoc_infer_same(infer);
}
static byoc_status_t infer_number(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  return byoc_infer_same(infer);
}
static byoc_status_t infer_signed(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_signed_number, "a tensor of signed numbers"));
  return byoc_infer_same(infer);
}
static byoc_status_t infer_integer(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_integer, "an integer tensor"));
  return byoc_infer_same(infer);
}
static byoc_status_t infer_logical(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_bool, "a bool tensor"));
  return byoc_infer_same(infer);
}
static bool is_any_float(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) || byoc_dtype_is_float8(dtype);
}
static byoc_status_t infer_float_test(byoc_infer_t *infer) {
  const bool takes_float8 = infer->opset >= 20;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, takes_float8 ? is_any_float : byoc_dtype_is_float, "a float tensor"));
  return byoc_infer_set_like(infer, 0, BYOC_DTYPE_BOOL, byoc_operand_type(infer->node, 0));
}

// ---- rows ----
static const byoc_op_attribute_t leaky_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 0.01)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t alpha_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t selu_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.67326319217681884765625)},
    {BYOC_ATTR_FLOAT("gamma", 1.05070102214813232421875)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t hard_sigmoid_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 0.2)},
    {BYOC_ATTR_FLOAT("beta", 0.5)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t gelu_attributes[] = {
    {BYOC_ATTR_CHOICE("approximate", "none", "tanh")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t shrink_attributes[] = {
    {BYOC_ATTR_FLOAT("bias", 0.0)},
    {BYOC_ATTR_FLOAT("lambd", 0.5)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t isinf_attributes[] = {
    {BYOC_ATTR_INT("detect_negative", 1)},
    {BYOC_ATTR_INT("detect_positive", 1)},
    BYOC_ATTR_END,
};

#define ROW(table, kind, op_name, version, infer_name, point_name)                                                     \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,      \
    .max_outputs = 1, .traits = BYOC_OP_ELEMENTWISE, .work = BYOC_WORK_##kind, .attributes = table,                    \
    .infer = infer_##infer_name, .point = point_##point_name                                                           \
  }
#define UNARY(op_name, version, infer_name, point_name) ROW(NULL, USUAL, op_name, version, infer_name, point_name)
#define COSTLY(op_name, version, infer_name, point_name)                                                               \
  ROW(NULL, TRANSCENDENTAL, op_name, version, infer_name, point_name)

const byoc_op_t byoc_ops_unary[] = {
    UNARY(Abs, 6, number, abs),
    UNARY(Abs, 13, number, abs),
    UNARY(Neg, 6, signed, neg),
    UNARY(Neg, 13, signed, neg),
    COSTLY(Exp, 6, float, exp),
    COSTLY(Exp, 13, float, exp),
    COSTLY(Log, 6, float, log),
    COSTLY(Log, 13, float, log),
    UNARY(Sqrt, 6, float, sqrt),
    UNARY(Sqrt, 13, float, sqrt),
    UNARY(Reciprocal, 6, float, reciprocal),
    UNARY(Reciprocal, 13, float, reciprocal),
    UNARY(Floor, 6, float, floor),
    UNARY(Floor, 13, float, floor),
    UNARY(Ceil, 6, float, ceil),
    UNARY(Ceil, 13, float, ceil),
    UNARY(Round, 11, float, round),
    UNARY(Round, 22, float, round),
    UNARY(Sign, 9, number, sign),
    UNARY(Sign, 13, number, sign),
    COSTLY(Sin, 7, float, sin),
    COSTLY(Sin, 22, float, sin),
    COSTLY(Cos, 7, float, cos),
    COSTLY(Cos, 22, float, cos),
    COSTLY(Tan, 7, float, tan),
    COSTLY(Tan, 22, float, tan),
    COSTLY(Asin, 7, float, asin),
    COSTLY(Asin, 22, float, asin),
    COSTLY(Acos, 7, float, acos),
    COSTLY(Acos, 22, float, acos),
    COSTLY(Atan, 7, float, atan),
    COSTLY(Atan, 22, float, atan),
    COSTLY(Sinh, 9, float, sinh),
    COSTLY(Sinh, 22, float, sinh),
    COSTLY(Cosh, 9, float, cosh),
    COSTLY(Cosh, 22, float, cosh),
    COSTLY(Tanh, 6, float, tanh),
    COSTLY(Tanh, 13, float, tanh),
    COSTLY(Asinh, 9, float, asinh),
    COSTLY(Asinh, 22, float, asinh),
    COSTLY(Acosh, 9, float, acosh),
    COSTLY(Acosh, 22, float, acosh),
    COSTLY(Atanh, 9, float, atanh),
    COSTLY(Atanh, 22, float, atanh),
    COSTLY(Erf, 9, float, erf),
    COSTLY(Erf, 13, float, erf),
    UNARY(Relu, 6, float, relu),
    UNARY(Relu, 13, float, relu),
    UNARY(Relu, 14, signed, relu),
    ROW(leaky_attributes, USUAL, LeakyRelu, 6, float, leaky_relu),
    ROW(leaky_attributes, USUAL, LeakyRelu, 16, float, leaky_relu),
    ROW(alpha_attributes, TRANSCENDENTAL, Elu, 6, float, elu),
    ROW(alpha_attributes, TRANSCENDENTAL, Elu, 22, float, elu),
    ROW(selu_attributes, TRANSCENDENTAL, Selu, 6, float, selu),
    ROW(selu_attributes, TRANSCENDENTAL, Selu, 22, float, selu),
    ROW(alpha_attributes, TRANSCENDENTAL, Celu, 12, float, celu),
    COSTLY(Sigmoid, 6, float, sigmoid),
    COSTLY(Sigmoid, 13, float, sigmoid),
    ROW(hard_sigmoid_attributes, USUAL, HardSigmoid, 6, float, hard_sigmoid),
    ROW(hard_sigmoid_attributes, USUAL, HardSigmoid, 22, float, hard_sigmoid),
    UNARY(HardSwish, 14, float, hard_swish),
    UNARY(HardSwish, 22, float, hard_swish),
    COSTLY(Softplus, 1, float, softplus),
    COSTLY(Softplus, 22, float, softplus),
    UNARY(Softsign, 1, float, softsign),
    UNARY(Softsign, 22, float, softsign),
    ROW(alpha_attributes, USUAL, ThresholdedRelu, 10, float, thresholded_relu),
    ROW(alpha_attributes, USUAL, ThresholdedRelu, 22, float, thresholded_relu),
    ROW(gelu_attributes, TRANSCENDENTAL, Gelu, 20, float, gelu),
    COSTLY(Mish, 18, float, mish),
    COSTLY(Mish, 22, float, mish),
    ROW(alpha_attributes, TRANSCENDENTAL, Swish, 24, float, swish),
    ROW(shrink_attributes, USUAL, Shrink, 9, number, shrink),
    UNARY(Not, 1, logical, not ),
    UNARY(BitwiseNot, 18, integer, not ),
    UNARY(IsNaN, 9, float_test, isnan),
    UNARY(IsNaN, 13, float_test, isnan),
    UNARY(IsNaN, 20, float_test, isnan),
    ROW(isinf_attributes, USUAL, IsInf, 10, float_test, isinf),
    ROW(isinf_attributes, USUAL, IsInf, 20, float_test, isinf),
};
const size_t byoc_ops_unary_count = sizeof byoc_ops_unary / sizeof *byoc_ops_unary;
