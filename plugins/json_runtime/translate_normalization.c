// SPDX-License-Identifier: Apache-2.0
// Writes Softmax, normalisations and reductions as the engine's JSON.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "translate.h"

static const char *translate_softmax(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, int is_log) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  int by_axis = graph->node_since_version(source->node) >= 13;
  int64_t axis = byoc_dnnl_source_axis(graph->node_int(source->node, "axis"), x.rank);
  if (axis < 0) return "an axis outside of its operand";
  // Before opset 13 the axis cut the tensor into a matrix, whose rows are normalised.
  int as_matrix = !by_axis && axis != x.rank - 1;
  if (as_matrix && !byoc_dnnl_shape_is_static(&x)) return "rows of several dimensions with dynamic sizes";
  if (draft == NULL) return NULL;
  const char *name = byoc_dnnl_source_name(source);
  int32_t input = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0));
  int32_t output = byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source));
  int32_t result = output;
  if (as_matrix) {
    byoc_dnnl_shape_t matrix = {.rank = 2, .dims = {1, 1}};
    for (int32_t i = 0; i < x.rank; ++i) matrix.dims[i >= axis] *= x.dims[i];
    input = byoc_dnnl_draft_reshape(draft, name, input, &matrix);
    result = byoc_dnnl_draft_temporary(draft, &matrix);
    axis = 1;
  }
  json_t *attributes = json_pack("{s:i, s:i}", "axis", (int)axis, "log", is_log);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "softmax", &input, 1, result, attributes);
  if (as_matrix) byoc_dnnl_draft_node(draft, name, "reshape", &result, 1, output, NULL);
  return NULL;
}

const char *byoc_dnnl_translate_softmax(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_softmax(source, draft, 0);
}

const char *byoc_dnnl_translate_log_softmax(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_softmax(source, draft, 1);
}

// True if results beyond the first are used.
static int has_other_results(const byoc_dnnl_source_t *source) {
  for (uint64_t i = 1; i < source->graph->node_result_count(source->node); ++i) {
    const byoc_value_t *value = source->graph->node_result(source->node, i);
    if (value != NULL && source->graph->value_use_count(value) > 0) return 1;
  }
  return 0;
}

// Folds it into the convolution before it, if all parameters are constant.
static int fold_batch_normalization(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, double epsilon,
                                    int64_t channels) {
  const float *parameters[4]; // scale, shift, mean, variance
  for (uint64_t i = 0; i < 4; ++i) {
    int64_t count = 0;
    parameters[i] = byoc_dnnl_source_floats(source, byoc_dnnl_source_operand(source, 1 + i), &count);
    if (parameters[i] == NULL || count != channels) return 0;
  }
  double *factors = malloc((size_t)channels * 2 * sizeof(*factors));
  if (factors == NULL) {
    draft->failed = 1;
    return 1;
  }
  double *shifts = factors + channels;
  for (int64_t c = 0; c < channels; ++c) {
    factors[c] = (double)parameters[0][c] / sqrt((double)parameters[3][c] + epsilon);
    shifts[c] = (double)parameters[1][c] - (double)parameters[2][c] * factors[c];
  }
  int folded =
      byoc_dnnl_draft_scale_convolution(draft, byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0)),
                                        byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), factors, shifts);
  free(factors);
  return folded;
}

const char *byoc_dnnl_translate_batch_normalization(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  if (x.rank < 2 || x.rank > 5) return "oneDNN supports 2 to 5 dimensions";
  if (graph->node_int(source->node, "training_mode") != 0 || has_other_results(source))
    return "training mode is not supported";
  if (graph->node_int(source->node, "spatial") == 0) return "statistics for each position are not supported";
  for (uint64_t i = 1; i < 5; ++i) {
    const byoc_value_t *parameter = byoc_dnnl_source_operand(source, i);
    if (!byoc_dnnl_source_is_static(source, parameter) || graph->value_element_count(parameter) != x.dims[1] ||
        graph->value_rank(parameter) != 1)
      return "only f32 parameters of known sizes, one value per channel, are supported";
  }
  if (draft == NULL) return NULL;
  double epsilon = graph->node_float(source->node, "epsilon");
  if (fold_batch_normalization(source, draft, epsilon, x.dims[1])) return NULL;
  int32_t inputs[5];
  for (uint64_t i = 0; i < 5; ++i) inputs[i] = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, i));
  json_t *attributes = json_pack("{s:f}", "epsilon", epsilon);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "batch_normalization", inputs, 5,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), attributes);
  return NULL;
}

const char *byoc_dnnl_translate_layer_normalization(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  int64_t axis = byoc_dnnl_source_axis(graph->node_int(source->node, "axis"), x.rank);
  if (axis < 1) return "oneDNN normalises rows of a matrix";
  if (has_other_results(source)) return "oneDNN gives no statistics";
  int64_t length = 1;
  for (int32_t i = (int32_t)axis; i < x.rank; ++i) {
    if (x.dims[i] < 0) return "rows of a dynamic length";
    length *= x.dims[i];
  }
  if (length == 1) return "oneDNN 2.6 is wrong on rows of one element";
  for (uint64_t i = 1; i < 3; ++i) {
    const byoc_value_t *parameter = byoc_dnnl_source_operand(source, i);
    if (parameter != NULL &&
        (!byoc_dnnl_source_is_static(source, parameter) || graph->value_element_count(parameter) != length))
      return "only f32 parameters of known sizes, one value per element, are supported";
  }
  if (draft == NULL) return NULL;
  int32_t inputs[3];
  for (uint64_t i = 0; i < 3; ++i) inputs[i] = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, i));
  json_t *attributes =
      json_pack("{s:i, s:f}", "axis", (int)axis, "epsilon", graph->node_float(source->node, "epsilon"));
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "layer_normalization", inputs, 3,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), attributes);
  return NULL;
}

const char *byoc_dnnl_translate_lrn(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  int64_t size = graph->node_int(source->node, "size");
  if (x.rank != 4) return "oneDNN supports 4 dimensions";
  if (size < 1 || size % 2 == 0) return "oneDNN supports windows of odd size";
  if (draft == NULL) return NULL;
  int32_t input = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0));
  json_t *attributes =
      json_pack("{s:I, s:f, s:f, s:f}", "size", (json_int_t)size, "alpha", graph->node_float(source->node, "alpha"),
                "beta", graph->node_float(source->node, "beta"), "k", graph->node_float(source->node, "bias"));
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "lrn", &input, 1,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), attributes);
  return NULL;
}

// The mean over all positions of an image is a pooling, and that primitive is faster.
static void draft_mean_pool(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const byoc_dnnl_shape_t *x,
                            const byoc_dnnl_shape_t *y) {
  const char *name = byoc_dnnl_source_name(source);
  byoc_dnnl_shape_t pooled = {.rank = x->rank, .dims = {x->dims[0], x->dims[1], 1, 1, 1, 1}};
  int32_t input = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0));
  int32_t output = byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source));
  int32_t result = byoc_dnnl_shape_equal(&pooled, y) ? output : byoc_dnnl_draft_temporary(draft, &pooled);
  json_t *attributes = json_pack("{s:s, s:i}", "algorithm", "avg", "global", 1);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "pooling", &input, 1, result, attributes);
  if (result != output) byoc_dnnl_draft_node(draft, name, "reshape", &result, 1, output, NULL);
}

static const char *translate_reduce(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const char *algorithm) {
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  int64_t axes[2 * BYOC_DNNL_RANK_LIMIT];
  int32_t count = byoc_dnnl_source_ints(source, "axes", 1, axes);
  if (count < 0) return "axes that are not constant";
  if (count == 0) return "a reduction to one element";
  uint32_t reduced = 0;
  int64_t extent = 1;
  for (int32_t i = 0; i < count; ++i) {
    axes[i] = byoc_dnnl_source_axis(axes[i], x.rank);
    if (axes[i] < 0) return "an axis outside of its operand";
    reduced |= 1u << axes[i];
    extent = x.dims[axes[i]] < 0 || extent < 0 ? -1 : extent * x.dims[axes[i]];
  }
  if (extent == 1) return "a reduction that reduces nothing"; // oneDNN has no such primitive
  // Trailing dimensions only: the other kinds are slow.
  int32_t first = x.rank;
  while (first > 0 && (reduced & 1u << (first - 1)) != 0) --first;
  if (reduced != ((1u << x.rank) - 1) - ((1u << first) - 1) || first == 0)
    return "oneDNN is slow at reducing other than trailing dimensions";
  const int is_pool = strcmp(algorithm, "mean") == 0 && first == 2 && x.rank <= 5;
  if (extent < 0 && !is_pool) return "a reduction over a dynamic size"; // which may be 1, see above
  if (draft == NULL) return NULL;
  if (is_pool) {
    draft_mean_pool(source, draft, &x, &y);
    return NULL;
  }
  int32_t input = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0));
  json_t *attributes = json_pack("{s:s, s:o}", "algorithm", algorithm, "axes", byoc_dnnl_json_ints(axes, count));
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "reduction", &input, 1,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), attributes);
  return NULL;
}

#define REDUCE(name)                                                                                                   \
  const char *byoc_dnnl_translate_reduce_##name(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {          \
    return translate_reduce(source, draft, #name);                                                                     \
  }
REDUCE(mean)
REDUCE(sum)
REDUCE(max)
REDUCE(min)
#undef REDUCE
