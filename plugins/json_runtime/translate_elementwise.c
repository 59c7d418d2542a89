// Functions of one operand, and of two with broadcasting.
#include <float.h>
#include <math.h>
#include <string.h>

#include "source.h"

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
SIMPLE(log, "log", 0.0, 0.0)
SIMPLE(sqrt, "sqrt", 0.0, 0.0)
SIMPLE(reciprocal, "pow", 1.0, -1.0)
SIMPLE(leaky_relu, "relu", source->graph->attribute_float(source->node, "alpha", 0.01), 0.0)
SIMPLE(elu, "elu", source->graph->attribute_float(source->node, "alpha", 1.0), 0.0)
#undef SIMPLE

const char *byoc_dnnl_translate_gelu(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const char *approximate = source->graph->attribute_string(source->node, "approximate", "none");
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
    if (isnan(limit[0])) return "a limit that is no number";
    limits[i] = fmin(fmax((double)limit[0], -(double)FLT_MAX), (double)FLT_MAX);
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
  if (exponent[0] == 2.0f)
    byoc_dnnl_source_eltwise(source, draft, "square", 0.0, 0.0);
  else if (exponent[0] == 0.5f)
    byoc_dnnl_source_eltwise(source, draft, "sqrt", 0.0, 0.0);
  else if (isfinite(exponent[0]))
    byoc_dnnl_source_eltwise(source, draft, "pow", 1.0, (double)exponent[0]);
  else
    return "an exponent that is not finite";
  return NULL;
}

// The ways of broadcasting that oneDNN has fast kernels for: none, one element, one a channel, one a position of the
// last dimension, one image for the whole batch.
static int broadcast_is_fast(const byoc_dnnl_shape_t *operand, const byoc_dnnl_shape_t *result) {
  if (operand->rank > result->rank) return 0;
  int32_t shift = result->rank - operand->rank;
  uint32_t kept = 0, all = 0;
  for (int32_t i = 0; i < result->rank; ++i) {
    if (result->dims[i] == 1) continue;
    all |= 1u << i;
    if (i >= shift && operand->dims[i - shift] == result->dims[i]) kept |= 1u << i;
  }
  uint32_t last = 1u << (result->rank - 1);
  return kept == all || kept == 0 || (kept == 2u && result->rank > 2) || kept == last || kept == (all & ~1u);
}

static const char *translate_binary(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const char *algorithm) {
  const byoc_value_t *left = byoc_dnnl_source_operand(source, 0), *right = byoc_dnnl_source_operand(source, 1);
  if (source->graph->operand_count(source->node) != 2) return "oneDNN takes two operands";
  if (!byoc_dnnl_source_is_tensor(source, right)) return "only static f32 operands are taken";
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

#define BINARY(name)                                                                                                   \
  const char *byoc_dnnl_translate_##name(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {                 \
    return translate_binary(source, draft, #name);                                                                     \
  }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(max)
BINARY(min)
#undef BINARY

const char *byoc_dnnl_translate_prelu(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_value_t *slope = byoc_dnnl_source_operand(source, 1);
  if (!byoc_dnnl_source_is_tensor(source, slope)) return "only static f32 operands are taken";
  byoc_dnnl_shape_t w = byoc_dnnl_source_shape(source, slope);
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  if (!broadcast_is_fast(&w, &y)) return "oneDNN is slow at this kind of broadcasting";
  if (draft == NULL) return NULL;
  int32_t inputs[2] = {byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0)),
                       byoc_dnnl_draft_value(draft, slope)};
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "prelu", inputs, 2,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), NULL);
  return NULL;
}
