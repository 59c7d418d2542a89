// SPDX-License-Identifier: Apache-2.0
// Elementwise operators, and Softmax.
#include <math.h>
#include <string.h>

#include "translate.h"

// Names of operators that take one tensor or two and differ in nothing else.
static const char *engine_name(const char *op) {
  static const char *const table[][2] = {{"Abs", "abs"},     {"Add", "add"},
                                         {"Ceil", "ceil"},   {"Div", "div"},
                                         {"Floor", "floor"}, {"HardSwish", "hard_swish"},
                                         {"Max", "max"},     {"Min", "min"},
                                         {"Mul", "mul"},     {"Neg", "neg"},
                                         {"Round", "round"}, {"Sigmoid", "sigmoid"},
                                         {"Sqrt", "sqrt"},   {"Sub", "sub"},
                                         {"Elu", "elu"},     {"LeakyRelu", "leaky_relu"}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i)
    if (strcmp(op, table[i][0]) == 0) return table[i][1];
  return NULL;
}

const char *xnnpack_translate_unary(const xnnpack_source_t *source) {
  if (source->draft != NULL) xnnpack_emit(source, engine_name(source->graph->node_operator(source->node)), NULL, 0);
  return NULL;
}

// Elu and LeakyRelu.
const char *xnnpack_translate_with_alpha(const xnnpack_source_t *source) {
  const double alpha = source->graph->node_float(source->node, "alpha");
  if (!isfinite(alpha) || alpha <= 0) return "XNNPACK takes an alpha above 0 only";
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, engine_name(source->graph->node_operator(source->node)), NULL, 0);
  xnnpack_draft_real(source->draft, "alpha", alpha);
  return NULL;
}

const char *xnnpack_translate_relu(const xnnpack_source_t *source) {
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, "clamp", NULL, 0);
  xnnpack_draft_real(source->draft, "min", 0);
  return NULL;
}

// A bound of Clip: an attribute before version 11, an operand since. Returns 0 where it is no constant.
static int read_bound(const xnnpack_source_t *source, const char *attribute, uint64_t operand, double *bound) {
  int64_t count = 0;
  if (source->graph->node_since_version(source->node) < 11) {
    *bound = source->graph->node_float(source->node, attribute);
    return 1;
  }
  if (xnnpack_operand(source, operand) == NULL) return 1;
  const float *value = xnnpack_floats(source, xnnpack_operand(source, operand), &count);
  if (value != NULL && count == 1) *bound = *value;
  return value != NULL && count == 1;
}

const char *xnnpack_translate_clip(const xnnpack_source_t *source) {
  double minimum = -INFINITY, maximum = INFINITY;
  if (!read_bound(source, "min", 1, &minimum) || !read_bound(source, "max", 2, &maximum))
    return "bounds have to be constants";
  if (!(minimum < maximum)) return "XNNPACK takes a lower bound below the upper one only";
  if (isinf(minimum) && isinf(maximum)) return "it has no bounds";
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, "clamp", NULL, 0); // a bound that is not there is infinite
  if (isfinite(minimum)) xnnpack_draft_real(source->draft, "min", minimum);
  if (isfinite(maximum)) xnnpack_draft_real(source->draft, "max", maximum);
  return NULL;
}

// With four dimensions XNNPACK has channels last: so constants of fewer dimensions are laid out as four, and other
// tensors have to have all four, or one element.
static const char *check_operand(const xnnpack_source_t *source, uint64_t index, int32_t rank) {
  const byoc_value_t *value = xnnpack_operand(source, index);
  int64_t count = 0;
  const int64_t elements = source->graph->value_element_count(value);
  if (source->graph->value_dtype(value) != BYOC_DTYPE_F32 || elements < 1) return "only static f32 tensors are taken";
  if (xnnpack_floats(source, value, &count) != NULL || elements == 1) return NULL;
  const int32_t own_rank = source->graph->value_rank(value);
  return own_rank != rank && (own_rank == 4 || rank == 4) ? "it broadcasts between images and other tensors" : NULL;
}

static int32_t draft_operand(const xnnpack_source_t *source, uint64_t index, int32_t rank) {
  const byoc_value_t *value = xnnpack_operand(source, index);
  int64_t count = 0;
  const float *data = xnnpack_floats(source, value, &count);
  if (data == NULL) return xnnpack_draft_value(source->draft, value);
  xnnpack_shape_t shape = xnnpack_shape_of(source->graph, value);
  int64_t strides[XNNPACK_RANK_LIMIT];
  if (rank == 4) {
    xnnpack_shape_t image = {.rank = 4, .dims = {1, 1, 1, 1}};
    for (int32_t i = 0; i < shape.rank; ++i) image.dims[4 - shape.rank + i] = shape.dims[i];
    const int64_t *d = image.dims, last[4] = {d[0], d[2], d[3], d[1]};
    const int64_t steps[4] = {d[1] * d[2] * d[3], d[3], 1, d[2] * d[3]};
    return xnnpack_draft_constant(source->draft, 4, last, steps, data, 1);
  }
  int64_t step = 1;
  for (int32_t i = shape.rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape.dims[i];
  }
  return xnnpack_draft_constant(source->draft, shape.rank, shape.dims, strides, data, 1);
}

const char *xnnpack_translate_binary(const xnnpack_source_t *source) {
  if (source->graph->operand_count(source->node) != 2) return "only two operands are taken";
  const int32_t rank = xnnpack_result_shape(source).rank;
  const char *reason = check_operand(source, 0, rank);
  if (reason == NULL) reason = check_operand(source, 1, rank);
  if (reason == NULL && xnnpack_is_constant(source, xnnpack_operand(source, 0)) &&
      xnnpack_is_constant(source, xnnpack_operand(source, 1)))
    return "its inputs are constants";
  if (reason != NULL || source->draft == NULL) return reason;
  const int32_t inputs[2] = {draft_operand(source, 0, rank), draft_operand(source, 1, rank)};
  xnnpack_draft_node(source->draft, engine_name(source->graph->node_operator(source->node)), inputs, 2,
                     xnnpack_draft_value(source->draft, source->graph->node_result(source->node, 0)));
  return NULL;
}

// One slope per channel.
const char *xnnpack_translate_prelu(const xnnpack_source_t *source) {
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0);
  int64_t count = 0;
  const float *slopes = xnnpack_floats(source, xnnpack_operand(source, 1), &count);
  if (slopes == NULL) return "slopes have to be constants";
  const xnnpack_shape_t shape = xnnpack_operand_shape(source, 1);
  const int is_by_channel = shape.rank >= 3 && shape.dims[shape.rank - 3] == count && count == x.dims[1];
  if (x.rank != 4 || (count != 1 && !is_by_channel)) return "only images with one slope per channel are taken";
  if (source->draft == NULL) return NULL;
  const int64_t step = count == 1 ? 0 : 1;
  const int32_t constant = xnnpack_draft_constant(source->draft, 1, &x.dims[1], &step, slopes, 1);
  xnnpack_emit(source, "prelu", &constant, 1);
  return NULL;
}

// XNNPACK's axis is the last one, that of channels in images. Before version 13 the axes behind `axis` belong to it
// too.
const char *xnnpack_translate_softmax(const xnnpack_source_t *source) {
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0);
  const int64_t given = source->graph->node_int(source->node, "axis"), axis = given < 0 ? given + x.rank : given;
  const int64_t last = x.rank == 4 ? 1 : x.rank - 1;
  if (axis != last) return "only the axis of channels, or the last one, is taken";
  if (x.rank == 4 && source->graph->node_since_version(source->node) < 13 && x.dims[2] * x.dims[3] != 1)
    return "it spans channels and pixels";
  if (source->draft != NULL) xnnpack_emit(source, "softmax", NULL, 0);
  return NULL;
}
