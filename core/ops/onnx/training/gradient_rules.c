// SPDX-License-Identifier: Apache-2.0
// One rule per operator. Below, x and b are operands, y is the result, and d_ stands for the gradient by a value.
#include <string.h>

#include "core/op/util.h"
#include "core/ops/onnx/training/gradient.h"

// ---- short forms ----

static byoc_value_t *unary(byoc_gradient_t *g, const char *op, byoc_value_t *a) {
  return byoc_write_node(&g->w, "", op, a, NULL, NULL, NULL, 0);
}

static byoc_value_t *binary(byoc_gradient_t *g, const char *op, byoc_value_t *a, byoc_value_t *b) {
  if (b == NULL) g->w.failed = true;
  return g->w.failed ? NULL : byoc_write_node(&g->w, "", op, a, b, NULL, NULL, 0);
}

// A constant number of the element type of `like`.
static byoc_value_t *number(byoc_gradient_t *g, float value, const byoc_value_t *like) {
  return byoc_write_cast(&g->w, byoc_write_vector(&g->w, "number", BYOC_DTYPE_F32, 1, &value), like->type->dtype);
}

static byoc_value_t *scaled(byoc_gradient_t *g, byoc_value_t *value, double factor) {
  if (value == NULL || factor == 1.0) return value;
  return binary(g, "Mul", value, number(g, (float)factor, value));
}

static byoc_value_t *transposed(byoc_gradient_t *g, byoc_value_t *value) {
  if (value == NULL) return NULL;
  int64_t permutation[BYOC_MAX_RANK];
  int32_t rank = value->type->rank;
  for (int32_t d = 0; d < rank; ++d) permutation[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
  return byoc_write_transpose(&g->w, value, permutation, (size_t)rank);
}

static byoc_value_t *shaped_like(byoc_gradient_t *g, byoc_value_t *value, byoc_value_t *like) {
  return binary(g, "Reshape", value, unary(g, "Shape", like));
}

#define RULE(name) static void gradient_##name(byoc_gradient_t *g, byoc_node_t *node, byoc_value_t *dy)
#define X          (node->operands[0])
#define B          (node->operands[1])
#define Y          (node->results[0])

// ---- arithmetic ----

RULE(add) { // Add, Sum: d_x = d_b = d_y
  for (uint32_t i = 0; i < node->operand_count; ++i) byoc_gradient_add(g, node->operands[i], dy);
}
RULE(subtract) { // d_x = d_y, d_b = -d_y
  byoc_gradient_add(g, X, dy);
  byoc_gradient_add(g, B, unary(g, "Neg", dy));
}
RULE(multiply) { // d_x = d_y b, d_b = d_y x
  byoc_gradient_add(g, X, binary(g, "Mul", dy, B));
  byoc_gradient_add(g, B, binary(g, "Mul", dy, X));
}
RULE(divide) { // d_x = d_y / b, d_b = -d_y y / b
  byoc_value_t *quotient = binary(g, "Div", dy, B);
  byoc_gradient_add(g, X, quotient);
  byoc_gradient_add(g, B, unary(g, "Neg", binary(g, "Mul", quotient, Y)));
}
RULE(power) { // d_x = d_y b x^(b - 1), d_b = d_y y log(x)
  byoc_value_t *less = binary(g, "Sub", B, number(g, 1.0f, B));
  byoc_gradient_add(g, X, binary(g, "Mul", binary(g, "Mul", dy, B), binary(g, "Pow", X, less)));
  byoc_gradient_add(g, B, binary(g, "Mul", binary(g, "Mul", dy, Y), unary(g, "Log", X)));
}

// ---- functions of one operand ----

RULE(negate) {
  byoc_gradient_add(g, X, unary(g, "Neg", dy));
}
RULE(identity) {
  byoc_gradient_add(g, X, dy);
}
RULE(exp) {
  byoc_gradient_add(g, X, binary(g, "Mul", dy, Y));
} // y
RULE(log) {
  byoc_gradient_add(g, X, binary(g, "Div", dy, X));
} // 1 / x
RULE(sqrt) {
  byoc_gradient_add(g, X, binary(g, "Div", scaled(g, dy, 0.5), Y));
} // 1 / (2 y)
RULE(abs) {
  byoc_gradient_add(g, X, binary(g, "Mul", dy, unary(g, "Sign", X)));
} // sign(x)
RULE(sin) {
  byoc_gradient_add(g, X, binary(g, "Mul", dy, unary(g, "Cos", X)));
} // cos(x)
RULE(cos) { // -sin(x)
  byoc_gradient_add(g, X, unary(g, "Neg", binary(g, "Mul", dy, unary(g, "Sin", X))));
}
RULE(reciprocal) { // -y^2
  byoc_gradient_add(g, X, unary(g, "Neg", binary(g, "Mul", dy, binary(g, "Mul", Y, Y))));
}
RULE(tanh) { // 1 - y^2
  byoc_value_t *slope = binary(g, "Sub", number(g, 1.0f, Y), binary(g, "Mul", Y, Y));
  byoc_gradient_add(g, X, binary(g, "Mul", dy, slope));
}
RULE(sigmoid) { // y (1 - y)
  byoc_value_t *slope = binary(g, "Mul", Y, binary(g, "Sub", number(g, 1.0f, Y), Y));
  byoc_gradient_add(g, X, binary(g, "Mul", dy, slope));
}
RULE(relu) { // 1 where x > 0, else 0
  byoc_value_t *is_above = binary(g, "Greater", X, number(g, 0.0f, X));
  byoc_gradient_add(g, X, binary(g, "Mul", dy, byoc_write_cast(&g->w, is_above, X->type->dtype)));
}
RULE(cast) {
  if (byoc_dtype_is_float(X->type->dtype)) byoc_gradient_add(g, X, byoc_write_cast(&g->w, dy, X->type->dtype));
}

// ---- shapes ----

RULE(reshape) {
  byoc_gradient_add(g, X, shaped_like(g, dy, X));
} // and all operators that keep the order of elements
RULE(expand) {
  byoc_gradient_add(g, X, dy);
} // summed over the repeated elements
RULE(transpose) {
  size_t count = 0;
  const int64_t *permutation = byoc_node_ints(node, "perm", &count);
  int64_t inverse[BYOC_MAX_RANK] = {0};
  int32_t rank = X->type->rank;
  for (int32_t d = 0; d < rank; ++d) inverse[count > 0 ? permutation[d] : rank - 1 - d] = d;
  byoc_gradient_add(g, X, byoc_write_transpose(&g->w, dy, inverse, (size_t)rank));
}

// Repeats d_y over the reduced axes, which it may lack.
static byoc_value_t *repeated(byoc_gradient_t *g, byoc_node_t *node, byoc_value_t *dy, int64_t *out_count) {
  byoc_ints_t axes = {0};
  byoc_known_t known = byoc_read_ints(node, "axes", 1, &axes);
  if (known == BYOC_KNOWN_NO || !byoc_type_is_static(X->type)) {
    byoc_gradient_refuse(g, node, "its axes or sizes are known at run time only");
    return NULL;
  }
  int64_t dims[BYOC_MAX_RANK] = {0};
  int32_t rank = X->type->rank;
  bool all = known == BYOC_KNOWN_ABSENT || axes.count == 0;
  if (all && byoc_node_flag(node, "noop_with_empty_axes")) return dy;
  for (int32_t d = 0; d < rank; ++d) dims[d] = all ? 1 : X->type->dims[d].constant;
  for (size_t i = 0; i < axes.count; ++i) dims[axes.values[i] < 0 ? axes.values[i] + rank : axes.values[i]] = 1;
  for (int32_t d = 0; d < rank; ++d) *out_count *= dims[d] == 1 ? X->type->dims[d].constant : 1;
  byoc_value_t *shape = byoc_write_vector(&g->w, "shape", BYOC_DTYPE_I64, rank, dims);
  return binary(g, "Expand", binary(g, "Reshape", dy, shape), unary(g, "Shape", X));
}

RULE(reduce_sum) {
  int64_t count = 1;
  byoc_gradient_add(g, X, repeated(g, node, dy, &count));
}
RULE(reduce_mean) {
  int64_t count = 1;
  byoc_value_t *all = repeated(g, node, dy, &count);
  byoc_gradient_add(g, X, scaled(g, all, count > 0 ? 1.0 / (double)count : 0.0));
}
RULE(softmax) { // d_x = y (d_y - sum(d_y y)) along the axis
  if (node->since_version < 13) {
    byoc_gradient_refuse(g, node, "before operator set 13 it works on rows of a matrix");
    return;
  }
  const int64_t axis = byoc_node_axis(node, "axis", X->type->rank);
  byoc_value_t *product = binary(g, "Mul", dy, Y);
  byoc_value_t *sum = binary(g, "ReduceSum", product, byoc_write_vector(&g->w, "axis", BYOC_DTYPE_I64, 1, &axis));
  byoc_gradient_add(g, X, binary(g, "Mul", Y, binary(g, "Sub", dy, sum)));
}

// ---- products ----

RULE(matmul) { // d_x = d_y bᵀ, d_b = xᵀ d_y
  if (!byoc_is_ranked(X->type) || !byoc_is_ranked(B->type) || X->type->rank < 2 || B->type->rank < 2) {
    byoc_gradient_refuse(g, node, "an operand is a vector");
    return;
  }
  byoc_gradient_add(g, X, binary(g, "MatMul", dy, transposed(g, B)));
  byoc_gradient_add(g, B, binary(g, "MatMul", transposed(g, X), dy));
}
RULE(gemm) { // y = alpha x' b' + beta c, where ' transposes or does not
  bool x_is_turned = byoc_node_flag(node, "transA");
  bool b_is_turned = byoc_node_flag(node, "transB");
  byoc_value_t *d = scaled(g, dy, byoc_node_float(node, "alpha"));
  byoc_value_t *b = b_is_turned ? B : transposed(g, B), *x = x_is_turned ? X : transposed(g, X);
  byoc_value_t *dx = binary(g, "MatMul", d, b), *db = binary(g, "MatMul", x, d);
  byoc_gradient_add(g, X, x_is_turned ? transposed(g, dx) : dx);
  byoc_gradient_add(g, B, b_is_turned ? transposed(g, db) : db);
  if (!byoc_has_operand(node, 2)) return;
  byoc_gradient_add(g, node->operands[2], scaled(g, dy, byoc_node_float(node, "beta")));
}

byoc_gradient_rule_t byoc_gradient_rule(const byoc_node_t *node) {
  static const struct {
    const char *op;
    byoc_gradient_rule_t rule;
  } rules[] = {
      {"Add", gradient_add},
      {"Sum", gradient_add},
      {"Sub", gradient_subtract},
      {"Mul", gradient_multiply},
      {"Div", gradient_divide},
      {"Pow", gradient_power},
      {"Neg", gradient_negate},
      {"Identity", gradient_identity},
      {"Exp", gradient_exp},
      {"Log", gradient_log},
      {"Sqrt", gradient_sqrt},
      {"Abs", gradient_abs},
      {"Sin", gradient_sin},
      {"Cos", gradient_cos},
      {"Reciprocal", gradient_reciprocal},
      {"Tanh", gradient_tanh},
      {"Sigmoid", gradient_sigmoid},
      {"Relu", gradient_relu},
      {"Cast", gradient_cast},
      {"Reshape", gradient_reshape},
      {"Flatten", gradient_reshape},
      {"Squeeze", gradient_reshape},
      {"Unsqueeze", gradient_reshape},
      {"Expand", gradient_expand},
      {"Transpose", gradient_transpose},
      {"ReduceSum", gradient_reduce_sum},
      {"ReduceMean", gradient_reduce_mean},
      {"Softmax", gradient_softmax},
      {"MatMul", gradient_matmul},
      {"Gemm", gradient_gemm},
  };
  for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
    if (byoc_node_is_onnx(node, rules[i].op)) return rules[i].rule;
  }
  return NULL;
}
