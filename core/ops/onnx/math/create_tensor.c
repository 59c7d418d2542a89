// SPDX-License-Identifier: Apache-2.0
// Tensors made from shapes and attributes: Shape, Size, Constant, ConstantOfShape, Range, EyeLike.
#include <math.h>
#include <string.h>

#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

// ---- Shape, Size ----
static void asked_dims(const byoc_node_t *node, int32_t rank, int64_t *begin, int64_t *end) {
  const byoc_attribute_t *given = byoc_node_given(node, "end");
  *begin = byoc_node_int(node, "start");
  *end = given ? given->i : rank;
  if (*begin < 0) *begin += rank;
  if (*end < 0) *end += rank;
  if (*begin < 0) *begin = 0;
  if (*begin > rank) *begin = rank;
  if (*end > rank) *end = rank;
  if (*end < *begin) *end = *begin;
}

static byoc_status_t infer_shape(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, BYOC_DTYPE_I64, 1);
  int64_t begin = 0, end = 0;
  asked_dims(infer->node, x->rank, &begin, &end);
  byoc_dim_t length = byoc_dim_constant(end - begin);
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 1, &length);
}

static const byoc_loop_expr_t *point_shape(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  int64_t begin = 0, end = 0;
  asked_dims(node, x->rank, &begin, &end);
  if (begin == end) return byoc_loop_int(b, 0); // the result has no elements
  const byoc_loop_expr_t *value = byoc_emit_dim(b, x, (int32_t)end - 1);
  for (int64_t d = end - 2; d >= begin; --d) {
    value =
        byoc_loop_select(b, BIN(EQ, indices[0], byoc_loop_int(b, d - begin)), byoc_emit_dim(b, x, (int32_t)d), value);
  }
  return value;
}

static byoc_status_t infer_size(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 0, NULL);
}

static const byoc_loop_expr_t *point_size(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  (void)result, (void)indices;
  const byoc_type_t *x = node->operands[0]->type;
  return byoc_emit_extent(byoc_lower_builder(lower), x, 0, x->rank);
}

// ---- Constant ----
// The attribute that gives the value, under any of its names.
static const byoc_attribute_t *constant_attribute(const byoc_node_t *node) {
  static const char *const names[] = {"value",      "value_float",  "value_floats", "value_int",
                                      "value_ints", "value_string", "value_strings"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const byoc_attribute_t *attribute = byoc_node_given(node, names[i]);
    if (attribute) return attribute;
  }
  return NULL;
}

static byoc_status_t infer_constant(byoc_infer_t *infer) {
  const byoc_attribute_t *value = constant_attribute(infer->node);
  if (!value) {
    if (byoc_node_given(infer->node, "sparse_value")) {
      return byoc_infer_unsupported(infer, "attribute 'sparse_value' is not supported");
    }
    return byoc_infer_error(infer, "one attribute 'value...' is required");
  }
  byoc_dim_t count = byoc_dim_constant((int64_t)value->count);
  switch (value->kind) {
  case BYOC_ATTRIBUTE_TENSOR:
    infer->node->results[0]->type = value->tensor->type;
    return BYOC_OK;
  case BYOC_ATTRIBUTE_FLOAT:
    return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 0, NULL);
  case BYOC_ATTRIBUTE_FLOATS:
    return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 1, &count);
  case BYOC_ATTRIBUTE_INT:
    return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 0, NULL);
  case BYOC_ATTRIBUTE_INTS:
    return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 1, &count);
  case BYOC_ATTRIBUTE_STRING:
    return byoc_infer_set(infer, 0, BYOC_DTYPE_STRING, 0, NULL);
  case BYOC_ATTRIBUTE_STRINGS:
    return byoc_infer_set(infer, 0, BYOC_DTYPE_STRING, 1, &count);
  default:
    return byoc_infer_error(infer, "attribute '%s' cannot be the value of a tensor", value->name);
  }
}

// Constant {value} → a constant of the module
static byoc_status_t expand_constant(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  const byoc_attribute_t *value = constant_attribute(node);
  byoc_graph_module_t *module = node->function->module;
  byoc_constant_t *constant = value && value->kind == BYOC_ATTRIBUTE_TENSOR ? value->tensor : NULL;
  if (!constant) {
    const byoc_type_t *type = node->results[0]->type;
    const char *name = node->results[0]->name ? node->results[0]->name : "constant";
    if (value && (value->kind == BYOC_ATTRIBUTE_STRING || value->kind == BYOC_ATTRIBUTE_STRINGS)) {
      bool one = value->kind == BYOC_ATTRIBUTE_STRING;
      constant = byoc_constant_create(module, name, type, one ? (const void *)&value->s : (const void *)value->strings);
    } else if (value && (value->kind == BYOC_ATTRIBUTE_INT || value->kind == BYOC_ATTRIBUTE_INTS)) {
      bool one = value->kind == BYOC_ATTRIBUTE_INT;
      constant = byoc_constant_create(module, name, type, one ? &value->i : value->ints);
    } else if (value) {
      void *data = NULL;
      constant = byoc_constant_allocate(module, name, type, &data);
      size_t count = value->kind == BYOC_ATTRIBUTE_FLOAT ? 1 : value->count;
      for (size_t i = 0; constant && i < count; ++i) {
        ((float *)data)[i] = (float)(value->kind == BYOC_ATTRIBUTE_FLOAT ? value->f : value->floats[i]);
      }
    }
  }
  byoc_value_t *by = constant ? byoc_function_constant(node->function, constant) : NULL;
  if (!by || !byoc_value_replace_uses(node->results[0], by)) return byoc_diag_out_of_memory(diag);
  *out_changed = true;
  return BYOC_OK;
}

// ---- ConstantOfShape ----
static byoc_status_t infer_constant_of_shape(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_integer, "a shape of integers"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 1));
  const byoc_attribute_t *value = byoc_node_given(node, "value");
  byoc_dtype_t dtype = BYOC_DTYPE_F32;
  if (value) {
    if (value->kind != BYOC_ATTRIBUTE_TENSOR || byoc_type_element_count(value->tensor->type) != 1) {
      return byoc_infer_error(infer, "attribute 'value': expected a tensor of one element");
    }
    if (value->tensor->type->dtype == BYOC_DTYPE_STRING) {
      return byoc_infer_unsupported(infer, "attribute 'value': strings are not supported");
    }
    dtype = value->tensor->type->dtype;
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool is_data[BYOC_MAX_RANK];
  int32_t count = 0;
  if (byoc_infer_shape_value(infer, node->operands[0], &count, dims, is_data)) {
    return byoc_infer_set(infer, 0, dtype, count, dims);
  }
  return byoc_infer_set_open_rank(infer, dtype, 0, BYOC_DIM_ADD, 0);
}

static const byoc_loop_expr_t *point_constant_of_shape(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                       const byoc_loop_expr_t *const *indices) {
  (void)indices;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_dtype_t dtype = node->results[result]->type->dtype;
  const byoc_attribute_t *value = byoc_node_given(node, "value");
  if (!value) return byoc_loop_const(b, dtype, 0.0);
  if (byoc_dtype_is_integer(dtype) || dtype == BYOC_DTYPE_BOOL) {
    return byoc_loop_const_int(b, dtype, byoc_constant_element_i64(value->tensor, 0));
  }
  return byoc_loop_const(b, dtype, byoc_constant_element_f64(value->tensor, 0));
}

static const byoc_loop_expr_t *shape_constant_of_shape(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                       int32_t d) {
  (void)result;
  return byoc_emit_int(lower, node, 0, d);
}

// ---- Range ----
static byoc_status_t infer_range(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  byoc_dim_t values[3];
  bool known = true, all_constant = true, failed = false;
  double numbers[3] = {0};
  for (uint32_t i = 0; i < 3; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_number, "a number"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i));
    if (!byoc_value_scalar_f64(node->operands[i], &numbers[i])) all_constant = false;
    byoc_dim_t list[BYOC_MAX_RANK];
    int32_t count = 0;
    if (!byoc_shape_value(node->operands[i], infer->arena, &count, list) || count != 1) known = false;
    if (known) values[i] = list[0];
  }
  byoc_dtype_t dtype = byoc_operand_type(node, 0)->dtype;
  byoc_dim_t length = byoc_dim_constant(0);
  if (all_constant && byoc_dtype_is_float(dtype)) {
    double delta = numbers[2], count = ceil((numbers[1] - numbers[0]) / delta);
    if (delta == 0 || !(count < 9e15)) return byoc_infer_error(infer, "the range has no end");
    length = byoc_dim_constant(count > 0 ? (int64_t)count : 0);
  } else if (known && byoc_dim_is_constant(values[2])) {
    int64_t delta = values[2].constant;
    if (delta == 0 || delta == INT64_MIN) return byoc_infer_error(infer, "the range has no end");
    byoc_dim_t distance =
        byoc_infer_dim(infer, BYOC_DIM_SUB, values[delta > 0 ? 1 : 0], values[delta > 0 ? 0 : 1], &failed);
    length = byoc_infer_dim(infer, BYOC_DIM_CEILDIV, distance, byoc_dim_constant(delta > 0 ? delta : -delta), &failed);
    // From 0 to a dimension: the count is that dimension, since it is never negative.
    bool plain = !byoc_dim_is_constant(length) && byoc_dim_equal(length, values[1]);
    if (!plain) length = byoc_infer_dim(infer, BYOC_DIM_MAX, length, byoc_dim_constant(0), &failed);
  } else {
    if (byoc_dtype_is_integer(dtype)) BYOC_RETURN_IF_ERROR(byoc_infer_need_not_zero(infer, 2, "the step"));
    length = byoc_infer_unknown_dim(infer, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, dtype, 1, &length);
}

static const byoc_loop_expr_t *point_range(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *start = byoc_emit_scalar(lower, node, 0), *delta = byoc_emit_scalar(lower, node, 2);
  if (!start || !delta) return NULL;
  const byoc_loop_expr_t *steps = BYOC_LMUL(b, byoc_emit_as(b, start->dtype, indices[0]), delta);
  return byoc_emit_as(b, node->results[result]->type->dtype, BYOC_LADD(b, start, steps));
}

// ceil((limit - start) / delta), not below 0
static const byoc_loop_expr_t *shape_range(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result, (void)d;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  bool is_float = byoc_dtype_is_float(node->operands[0]->type->dtype);
  byoc_dtype_t dtype = is_float ? BYOC_DTYPE_F64 : BYOC_DTYPE_I64;
  const byoc_loop_expr_t *given[3];
  for (uint32_t i = 0; i < 3; ++i) given[i] = byoc_emit_as(b, dtype, byoc_emit_scalar(lower, node, i));
  const byoc_loop_expr_t *distance = BYOC_LSUB(b, given[1], given[0]), *length = NULL;
  if (is_float) {
    length = byoc_loop_unary(b, BYOC_LOOP_OP_CEIL, BIN(DIV, distance, given[2]));
    length = byoc_emit_as(b, BYOC_DTYPE_I64, length);
  } else { // a delta of 0 makes no elements
    const byoc_loop_expr_t *none = BIN(EQ, given[2], byoc_loop_int(b, 0));
    const byoc_loop_expr_t *delta = byoc_loop_select(b, none, byoc_loop_int(b, 1), given[2]);
    length = BYOC_LDIV(b, byoc_loop_unary(b, BYOC_LOOP_OP_NEG, distance), delta);
    length = byoc_loop_select(b, none, byoc_loop_int(b, 0), byoc_loop_unary(b, BYOC_LOOP_OP_NEG, length));
  }
  return BYOC_LMAX(b, byoc_loop_int(b, 0), length);
}

// ---- EyeLike ----
static byoc_status_t infer_eye_like(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, 2));
  const byoc_attribute_t *attribute = byoc_node_given(infer->node, "dtype");
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dtype_t dtype = attribute ? byoc_dtype_from_onnx((int32_t)attribute->i) : x->dtype;
  if (dtype == BYOC_DTYPE_NONE) return byoc_infer_error(infer, "attribute 'dtype' is not a known element type");
  if (dtype == BYOC_DTYPE_STRING) return byoc_infer_error(infer, "there is no unit matrix of strings");
  return byoc_infer_set_like(infer, 0, dtype, x);
}

static const byoc_loop_expr_t *point_eye_like(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_dtype_t dtype = node->results[result]->type->dtype;
  const byoc_loop_expr_t *k = byoc_loop_int(b, byoc_node_int(node, "k"));
  return byoc_loop_select(b, BIN(EQ, BYOC_LSUB(b, indices[1], indices[0]), k), byoc_loop_const(b, dtype, 1.0),
                          byoc_loop_const(b, dtype, 0.0));
}

static const byoc_op_attribute_t shape_attributes[] = {
    {BYOC_ATTR_INT("start", 0), .since = 15},
    {BYOC_ATTR(INT, "end"), .since = 15},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t constant_attributes[] = {
    {BYOC_ATTR_REQUIRED(TENSOR, "value"), .until = 11}, {BYOC_ATTR(TENSOR, "value"), .since = 11},
    {BYOC_ATTR(TENSOR, "sparse_value"), .since = 11},   {BYOC_ATTR(FLOAT, "value_float"), .since = 12},
    {BYOC_ATTR(FLOATS, "value_floats"), .since = 12},   {BYOC_ATTR(INT, "value_int"), .since = 12},
    {BYOC_ATTR(INTS, "value_ints"), .since = 12},       {BYOC_ATTR(STRING, "value_string"), .since = 12},
    {BYOC_ATTR(STRINGS, "value_strings"), .since = 12}, BYOC_ATTR_END,
};
static const byoc_op_attribute_t constant_of_shape_attributes[] = {
    {BYOC_ATTR(TENSOR, "value")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t range_attributes[] = {
    {BYOC_ATTR_INT("stash_type", 1), .since = 27},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t eye_like_attributes[] = {
    {BYOC_ATTR_INT("k", 0)},
    {BYOC_ATTR(INT, "dtype")},
    BYOC_ATTR_END,
};

#define ROW(op_name, version, inputs, function, ...)                                                                   \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = inputs, .max_inputs = inputs,              \
    .min_outputs = 1, .max_outputs = 1, .infer = infer_##function, .point = point_##function, __VA_ARGS__              \
  }
#define BY_DATA(mask, function) .shape_operands = mask, .shape_elements = mask, .shape = shape_##function
#define CONSTANT(version)                                                                                              \
  {                                                                                                                    \
    .domain = "", .name = "Constant", .since_version = version, .min_inputs = 0, .max_inputs = 0, .min_outputs = 1,    \
    .max_outputs = 1, .attributes = constant_attributes, .infer = infer_constant, .expand = expand_constant            \
  }

const byoc_op_t byoc_ops_create_tensor[] = {
    ROW(Shape, 1, 1, shape, .attributes = shape_attributes, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Shape, 13, 1, shape, .attributes = shape_attributes, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Shape, 15, 1, shape, .attributes = shape_attributes, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Shape, 19, 1, shape, .attributes = shape_attributes, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Shape, 21, 1, shape, .attributes = shape_attributes, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Size, 1, 1, size, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Size, 13, 1, size, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Size, 19, 1, size, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    ROW(Size, 21, 1, size, .traits = BYOC_OP_HOST_MEMORY, .by_shape = 1),
    CONSTANT(1),
    CONSTANT(9),
    CONSTANT(11),
    CONSTANT(12),
    CONSTANT(13),
    CONSTANT(19),
    CONSTANT(21),
    ROW(ConstantOfShape, 9, 1, constant_of_shape, .attributes = constant_of_shape_attributes,
        BY_DATA(1u, constant_of_shape), .by_shape = 1),
    ROW(ConstantOfShape, 20, 1, constant_of_shape, .attributes = constant_of_shape_attributes,
        BY_DATA(1u, constant_of_shape), .by_shape = 1),
    ROW(ConstantOfShape, 21, 1, constant_of_shape, .attributes = constant_of_shape_attributes,
        BY_DATA(1u, constant_of_shape), .by_shape = 1),
    ROW(Range, 11, 3, range, .traits = BYOC_OP_LIMITS, .attributes = range_attributes, BY_DATA(7u, range),
        .by_shape = 2),
    ROW(Range, 27, 3, range, .traits = BYOC_OP_LIMITS, .attributes = range_attributes, BY_DATA(7u, range),
        .by_shape = 2),
    ROW(EyeLike, 9, 1, eye_like, .attributes = eye_like_attributes, .by_shape = 1),
    ROW(EyeLike, 22, 1, eye_like, .attributes = eye_like_attributes, .by_shape = 1),
};
const size_t byoc_ops_create_tensor_count = sizeof byoc_ops_create_tensor / sizeof *byoc_ops_create_tensor;
