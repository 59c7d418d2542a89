// SPDX-License-Identifier: Apache-2.0
// Operators whose elements are formulas of their operands' elements.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator.h"

const char *byoc_opencl_check_unary(const byoc_opencl_source_t *source) {
  return byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
}

const char *byoc_opencl_check_formula(const byoc_opencl_source_t *source) {
  if (source->graph->has_attribute(source->node, "axis")) return "the broadcasting of opset 6";
  if (strcmp(source->graph->node_operator(source->node), "PRelu") == 0 &&
      source->graph->node_since_version(source->node) < 7)
    return "the slopes of opset 6";
  return byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
}

// The formula with `operands` for $0 and $1.
static void substitute(const byoc_opencl_source_t *source, const char *formula, const byoc_opencl_name_t *operands,
                       char *text, size_t size) {
  size_t length = 0;
  for (const char *at = formula; *at != '\0' && length + 1 < size; ++at) {
    const char *part = NULL;
    byoc_opencl_name_t literal;
    if (*at == '$') {
      part = operands[*++at - '0'].text;
    } else if (*at == '{') {
      const char *close = strchr(at, '}');
      byoc_opencl_name_t attribute = byoc_opencl_name("%.*s", (int)(close - at - 1), at + 1);
      literal = byoc_opencl_float((float)source->graph->node_float(source->node, attribute.text));
      part = literal.text;
      at = close;
    }
    if (part != NULL)
      length += (size_t)snprintf(text + length, size - length, "%s", part);
    else
      text[length++] = *at;
  }
  text[length < size ? length : size - 1] = '\0';
}

static byoc_opencl_name_t operand_element(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                          uint64_t operand, byoc_opencl_index_t *index) {
  const byoc_value_t *value = byoc_opencl_operand(source, operand);
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, value);
  byoc_opencl_index_t at = byoc_opencl_index_broadcast(emit, &shape, index);
  byoc_opencl_name_t name = byoc_opencl_emit_element(emit, value, &at);
  if (byoc_opencl_same_shape(&at.shape, &index->shape)) *index = at; // with the coordinates that it asked for
  return name;
}

byoc_opencl_name_t byoc_opencl_point_formula(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                             uint32_t result, byoc_opencl_index_t *index) {
  const char *formula = emit->operator_inside(emit->self, source->node)->formula;
  const byoc_value_t *value = byoc_opencl_result(source, result);
  char text[512];
  byoc_opencl_name_t operands[2] = {operand_element(emit, source, 0, index)};
  if (strstr(formula, "$1") == NULL) {
    substitute(source, formula, operands, text, sizeof(text));
    return byoc_opencl_emit_set(emit, value, text);
  }
  for (uint64_t i = 1; i < source->graph->operand_count(source->node); ++i) {
    operands[1] = operand_element(emit, source, i, index);
    substitute(source, formula, operands, text, sizeof(text));
    operands[0] = byoc_opencl_emit_set(emit, value, text);
  }
  return operands[0];
}

// ---- Clip ----

const char *byoc_opencl_check_clip(const byoc_opencl_source_t *source) {
  return byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
}

byoc_opencl_name_t byoc_opencl_point_clip(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                          byoc_opencl_index_t *index) {
  static const struct {
    const char *attribute, *comparison;
    float usual; // infinities become that
  } sides[] = {{"min", "<", -FLT_MAX}, {"max", ">", FLT_MAX}};
  byoc_opencl_name_t x = operand_element(emit, source, 0, index);
  for (uint64_t i = 0; i < 2; ++i) {
    byoc_opencl_name_t limit;
    char text[128];
    if (byoc_opencl_operand(source, 1 + i) != NULL)
      limit = operand_element(emit, source, 1 + i, index);
    else if (source->graph->has_attribute(source->node, sides[i].attribute))
      limit = byoc_opencl_float((float)source->graph->node_float(source->node, sides[i].attribute));
    else
      limit = byoc_opencl_float(sides[i].usual);
    (void)snprintf(text, sizeof(text), "%s %s %s ? %s : %s", x.text, sides[i].comparison, limit.text, limit.text,
                   x.text);
    x = byoc_opencl_emit_set(emit, byoc_opencl_result(source, result), text);
  }
  return x;
}

// ---- Gelu and Pow ----

byoc_opencl_name_t byoc_opencl_point_gelu(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                          byoc_opencl_index_t *index) {
  bool is_tanh = strcmp(source->graph->node_text(source->node, "approximate"), "tanh") == 0;
  byoc_opencl_name_t x = operand_element(emit, source, 0, index);
  char text[256];
  substitute(source,
             is_tanh ? "0.5f * $0 * (1.0f + tanh(0.7978845608f * ($0 + 0.044715f * $0 * $0 * $0)))"
                     : "0.5f * $0 * (1.0f + erf($0 * 0.7071067812f))",
             &x, text, sizeof(text));
  return byoc_opencl_emit_set(emit, byoc_opencl_result(source, result), text);
}

const char *byoc_opencl_check_pow(const byoc_opencl_source_t *source) {
  return byoc_opencl_check_formula(source);
}

byoc_opencl_name_t byoc_opencl_point_pow(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                         byoc_opencl_index_t *index) {
  int64_t count = 0;
  const float *exponent = byoc_opencl_floats(source->graph, byoc_opencl_operand(source, 1), &count);
  bool is_one = exponent != NULL && count == 1;
  byoc_opencl_name_t operands[2] = {operand_element(emit, source, 0, index), operand_element(emit, source, 1, index)};
  const char *formula = "pow($0, $1)";
  if (is_one && exponent[0] == 1.0f) return operands[0];
  if (is_one && exponent[0] == 2.0f) formula = "$0 * $0";
  if (is_one && exponent[0] == 3.0f) formula = "$0 * $0 * $0";
  if (is_one && exponent[0] == 0.5f) formula = "($0 == -INFINITY ? INFINITY : fabs(sqrt($0)))";
  char text[128];
  substitute(source, formula, operands, text, sizeof(text));
  return byoc_opencl_emit_set(emit, byoc_opencl_result(source, result), text);
}

// ---- BatchNormalization: (x - mean) / sqrt(variance + epsilon) * scale + shift ----

enum { FACTORS = 1, SHIFTS = 2 }; // constants made of those of a node

const char *byoc_opencl_check_batch_normalization(const byoc_opencl_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  if (graph->node_since_version(source->node) < 7) return "the batch normalisation of opset 6";
  if (graph->attribute_int(source->node, "training_mode", 0) != 0) return "batch normalisation while training";
  if (graph->attribute_int(source->node, "spatial", 1) == 0) return "a batch normalisation of each position";
  for (uint64_t i = 1; i < graph->node_result_count(source->node); ++i)
    if (byoc_opencl_is_used(source, i)) return "the statistics of a batch normalisation";
  if (graph->value_rank(byoc_opencl_operand(source, 0)) < 2) return "a batch normalisation without channels";
  return byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
}

// One factor and one shift per channel; false if the operands are not constant.
static bool fold_statistics(const byoc_opencl_source_t *source, int64_t channels, float **out_factors,
                            float **out_shifts) {
  const float *data[4];
  *out_factors = *out_shifts = NULL;
  for (uint64_t i = 0; i < 4; ++i) {
    int64_t count = 0;
    data[i] = byoc_opencl_floats(source->graph, byoc_opencl_operand(source, 1 + i), &count);
    if (data[i] == NULL || count != channels) return false;
  }
  float *factors = malloc((size_t)channels * sizeof(float)), *shifts = malloc((size_t)channels * sizeof(float));
  double epsilon = source->graph->node_float(source->node, "epsilon");
  for (int64_t c = 0; factors != NULL && shifts != NULL && c < channels; ++c) {
    double factor = (double)data[0][c] / sqrt((double)data[3][c] + epsilon);
    factors[c] = (float)factor;
    shifts[c] = (float)((double)data[1][c] - (double)data[2][c] * factor);
  }
  *out_factors = factors;
  *out_shifts = shifts;
  return true;
}

byoc_opencl_name_t byoc_opencl_point_batch_normalization(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                                         uint32_t result, byoc_opencl_index_t *index) {
  const byoc_value_t *value = byoc_opencl_result(source, result);
  byoc_opencl_name_t x = operand_element(emit, source, 0, index);
  byoc_opencl_name_t channel = byoc_opencl_emit_axis(emit, index, 1);
  float *factors, *shifts;
  char text[256];
  byoc_opencl_size_t size = index->shape.dims[1];
  int64_t channels = size.known;
  if (!size.is_open && fold_statistics(source, channels, &factors, &shifts)) {
    byoc_opencl_name_t factor = byoc_opencl_emit_constant(emit, value, FACTORS, factors, channels);
    byoc_opencl_name_t shift = byoc_opencl_emit_constant(emit, value, SHIFTS, shifts, channels);
    (void)snprintf(text, sizeof(text), "%s * %s[%s] + %s[%s]", x.text, factor.text, channel.text, shift.text,
                   channel.text);
    return byoc_opencl_emit_set(emit, value, text);
  }
  byoc_opencl_shape_t shape = byoc_opencl_shape(emit->sizes, 1, &size);
  byoc_opencl_index_t at = byoc_opencl_index(&shape, channel);
  byoc_opencl_name_t parts[4];
  for (uint64_t i = 0; i < 4; ++i) parts[i] = byoc_opencl_emit_element(emit, byoc_opencl_operand(source, 1 + i), &at);
  byoc_opencl_name_t epsilon = byoc_opencl_float((float)source->graph->node_float(source->node, "epsilon"));
  (void)snprintf(text, sizeof(text), "(%s - %s) / sqrt(%s + %s) * %s + %s", x.text, parts[2].text, parts[3].text,
                 epsilon.text, parts[0].text, parts[1].text);
  return byoc_opencl_emit_set(emit, value, text);
}
