// SPDX-License-Identifier: Apache-2.0
// Writes elementwise operators, of one operand and of two with broadcasting, as the engine's JSON.
#include <float.h>
#include <math.h>
#include <string.h>

#include "translate.h"

#define SIMPLE(name, algorithm, alpha, beta)                                                                           \
  const char *byoc_dnnl_translate_##name(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {                 \
    byoc_dnnl_source_eltwise(source, draft, algorithm, alpha, beta);                                                   \
    return NULL;                                                                                                       \
  }
SIMPLE(relu, "relu", 0.0, 0.0)
SIMPLE(sigmoid, "sigmoid", 0.0, 0.0)
SIMPLE(tanh, "tanh", 0.0, 0.0)
SIMPLE(hard_swish, "hardswish", 0.0, 0.0)
SIMPLE(mish, "mish", 0.0, 0.0)
SIMPLE(softplus, "softplus", 1.0, 0.0)
SIMPLE(abs, "abs", 0.0, 0.0)
SIMPLE(neg, "linear", -1.0, 0.0)
SIMPLE(exp, "exp", 0.0, 0.0)
SIMPLE(sqrt, "sqrt", 0.0, 0.0)
SIMPLE(reciprocal, "pow", 1.0, -1.0)
SIMPLE(leaky_relu, "relu", source->graph->node_float(source->node, "alpha"), 0.0)
SIMPLE(swish, "swish", source->graph->node_float(source->node, "alpha"), 0.0)
SIMPLE(elu, "elu", source->graph->node_float(source->node, "alpha"), 0.0)
#undef SIMPLE

// log(1) is not 0 there: the error near one is absolute, about 1.4e-6 (oneDNN 2.6).
const char *byoc_dnnl_translate_log(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  (void)source, (void)draft;
  return "oneDNN's logarithm is inexact near one";
}

const char *byoc_dnnl_translate_gelu(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const char *approximate = source->graph->node_text(source->node, "approximate");
  byoc_dnnl_source_eltwise(source, draft, strcmp(approximate, "tanh") == 0 ? "gelu_tanh" : "gelu_erf", 0.0, 0.0);
  return NULL;
}

const char *byoc_dnnl_translate_clip(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  double limits[2] = {source->graph->attribute_float(source->node, "min", -(double)FLT_MAX),
                      source->graph->attribute_float(source->node, "max", (double)FLT_MAX)};
  for (uint64_t i = 0; i < 2; ++i) {
    const byoc_value_t *operand = byoc_dnnl_source_operand(source, 1 + i);
    int64_t count = 0;
    if (operand == NULL) continue;
    const float *limit = byoc_dnnl_source_floats(source, operand, &count);
    if (limit == NULL || count != 1) return "limits that are not constant";
    if (isnan(limit[0])) return "a limit that is NaN";
    if (isinf(limit[0])) return "an infinite limit";
    limits[i] = (double)limit[0];
  }
  if (!(limits[0] <= limits[1])) return "limits in the wrong order";
  byoc_dnnl_source_eltwise(source, draft, "clip", limits[0], limits[1]);
  return NULL;
}

const char *byoc_dnnl_translate_pow(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  int64_t count = 0;
  const float *exponent = byoc_dnnl_source_floats(source, byoc_dnnl_source_operand(source, 1), &count);
  if (exponent == NULL || count != 1) return "an exponent that is not one constant";
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  if (!byoc_dnnl_shape_equal(&x, &y)) return "an exponent of more dimensions than the base";
  if (exponent[0] == 0.5f) return "oneDNN's root of -infinity is no number, but the power 0.5 of it is infinity";
  if (exponent[0] == 2.0f)
    byoc_dnnl_source_eltwise(source, draft, "square", 0.0, 0.0);
  else if (isfinite(exponent[0]))
    byoc_dnnl_source_eltwise(source, draft, "pow", 1.0, (double)exponent[0]);
  else
    return "an exponent that is not finite";
  return NULL;
}

// The ways of broadcasting for which oneDNN has fast kernels: none, one element, one per channel, one per position of
// the last dimension, one image for the whole batch.
static int broadcast_is_fast(const byoc_dnnl_shape_t *operand, const byoc_dnnl_shape_t *result) {
  if (operand->rank > result->rank) return 0;
  int32_t shift = result->rank - operand->rank;
  uint32_t kept = 0, all = 0;
  for (int32_t i = 0; i < result->rank; ++i) {
    int64_t own = i >= shift ? operand->dims[i - shift] : 1;
    if (own != 1 && own != result->dims[i]) return 0; // the axis attribute of opset 6
    if (result->dims[i] == 1) continue;
    all |= 1u << i;
    if (own != 1) kept |= 1u << i;
  }
  uint32_t last = 1u << (result->rank - 1);
  return kept == all || kept == 0 || (kept == 2u && result->rank > 2) || kept == last || kept == (all & ~1u);
}

static const char *translate_binary(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const char *algorithm) {
  const byoc_value_t *left = byoc_dnnl_source_operand(source, 0), *right = byoc_dnnl_source_operand(source, 1);
  if (source->graph->operand_count(source->node) != 2) return "oneDNN supports two operands";
  if (!byoc_dnnl_source_is_tensor(source, right)) return "only f32 operands are supported";
  if (source->graph->has_attribute(source->node, "axis")) return "the broadcasting of opset 6";
  byoc_dnnl_shape_t a = byoc_dnnl_source_shape(source, left), b = byoc_dnnl_source_shape(source, right);
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  int left_full = byoc_dnnl_shape_equal(&a, &y);
  if (!left_full && !byoc_dnnl_shape_equal(&b, &y)) return "both operands are broadcast";
  if (!broadcast_is_fast(left_full ? &b : &a, &y)) return "oneDNN is slow at this kind of broadcasting";
  if (draft == NULL) return NULL;
  const char *name = byoc_dnnl_source_name(source);
  int32_t first = byoc_dnnl_draft_value(draft, left), second = byoc_dnnl_draft_value(draft, right);
  int32_t output = byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source));
  if (left_full || (strcmp(algorithm, "sub") != 0 && strcmp(algorithm, "div") != 0)) {
    byoc_dnnl_draft_binary(draft, name, algorithm, first, second, output);
    return NULL;
  }
  // a - b with a broadcast → -(b - a); a / b → b^-1 * a
  int is_sub = strcmp(algorithm, "sub") == 0;
  json_t *attributes = is_sub ? json_pack("{s:s, s:f, s:f}", "algorithm", "linear", "alpha", -1.0, "beta", 0.0)
                              : json_pack("{s:s, s:f, s:f}", "algorithm", "pow", "alpha", 1.0, "beta", -1.0);
  int32_t inverse = byoc_dnnl_draft_temporary(draft, &y);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "eltwise", &second, 1, inverse, attributes);
  byoc_dnnl_draft_binary(draft, name, is_sub ? "add" : "mul", inverse, first, output);
  return NULL;
}

// Sum, Max and Min take any number of operands: one that has the result's dimensions, then the others onto it.
static const char *translate_variadic(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft,
                                      const char *algorithm) {
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  uint64_t count = source->graph->operand_count(source->node), full = count;
  if (count < 2) return "a single operand";
  for (uint64_t i = 0; i < count; ++i) {
    const byoc_value_t *operand = byoc_dnnl_source_operand(source, i);
    if (!byoc_dnnl_source_is_tensor(source, operand)) return "only f32 operands are supported";
    byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, operand);
    if (full == count && byoc_dnnl_shape_equal(&x, &y)) full = i;
    if (!broadcast_is_fast(&x, &y)) return "oneDNN is slow at this kind of broadcasting";
  }
  if (full == count) return "all operands are broadcast";
  if (draft == NULL) return NULL;
  const char *name = byoc_dnnl_source_name(source);
  int32_t result = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, full));
  uint64_t left = count - 1;
  for (uint64_t i = 0; i < count; ++i) {
    if (i == full) continue;
    int32_t operand = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, i));
    int32_t next = --left > 0 ? byoc_dnnl_draft_temporary(draft, &y)
                              : byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source));
    byoc_dnnl_draft_binary(draft, name, algorithm, result, operand, next);
    result = next;
  }
  return NULL;
}

#define BINARY(name, algorithm, translate)                                                                             \
  const char *byoc_dnnl_translate_##name(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {                 \
    return translate(source, draft, algorithm);                                                                        \
  }
BINARY(add, "add", translate_binary)
BINARY(sub, "sub", translate_binary)
BINARY(mul, "mul", translate_binary)
BINARY(div, "div", translate_binary)
BINARY(sum, "add", translate_variadic)
BINARY(max, "max", translate_variadic)
BINARY(min, "min", translate_variadic)
#undef BINARY

const char *byoc_dnnl_translate_prelu(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_value_t *slope = byoc_dnnl_source_operand(source, 1);
  if (!byoc_dnnl_source_is_tensor(source, slope)) return "only f32 operands are supported";
  byoc_dnnl_shape_t w = byoc_dnnl_source_shape(source, slope);
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  // Before opset 7 a slope of one dimension had one element per channel.
  int64_t count = 0;
  int by_channel = source->graph->node_since_version(source->node) < 7 && w.rank == 1 && w.dims[0] > 1 && y.rank > 2;
  if (by_channel) {
    if (w.dims[0] != y.dims[1] || byoc_dnnl_source_floats(source, slope, &count) == NULL)
      return "a slope of one dimension that is not constant";
    w.rank = y.rank - 1;
    for (int32_t i = 1; i < w.rank; ++i) w.dims[i] = 1;
  }
  if (!broadcast_is_fast(&w, &y)) return "oneDNN is slow at this kind of broadcasting";
  if (draft == NULL) return NULL;
  int32_t inputs[2] = {byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0)),
                       byoc_dnnl_draft_value(draft, slope)};
  if (by_channel) inputs[1] = byoc_dnnl_draft_reshaped_constant(draft, inputs[1], &w);
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "prelu", inputs, 2,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), NULL);
  return NULL;
}
