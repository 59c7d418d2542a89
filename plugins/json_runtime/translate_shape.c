// SPDX-License-Identifier: Apache-2.0
// Writes operators that move or rename elements as the engine's JSON.
#include <stdlib.h>
#include <string.h>

#include "translate.h"

static int32_t draft_operand(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0));
}

static int32_t draft_result(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source));
}

const char *byoc_dnnl_translate_concat(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  uint64_t count = graph->operand_count(source->node);
  int64_t axis = byoc_dnnl_source_axis(graph->node_int(source->node, "axis"), y.rank);
  if (axis < 0) return "an axis outside of its result";
  for (uint64_t i = 0; i < count; ++i)
    if (!byoc_dnnl_source_is_tensor(source, byoc_dnnl_source_operand(source, i)))
      return "only f32 operands are supported";
  if (draft == NULL) return NULL;
  int32_t *inputs = malloc((size_t)count * sizeof(*inputs));
  json_t *attributes = json_pack("{s:i}", "axis", (int)axis);
  if (inputs == NULL || attributes == NULL) {
    draft->failed = 1;
    json_decref(attributes);
    free(inputs);
    return NULL;
  }
  for (uint64_t i = 0; i < count; ++i) inputs[i] = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, i));
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "concat", inputs, (uint32_t)count,
                       draft_result(source, draft), attributes);
  free(inputs);
  return NULL;
}

static void draft_slice(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const int64_t *offsets,
                        int32_t rank, int32_t output) {
  int32_t input = draft_operand(source, draft);
  json_t *attributes = json_pack("{s:o}", "offsets", byoc_dnnl_json_ints(offsets, rank));
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "slice", &input, 1, output, attributes);
}

const char *byoc_dnnl_translate_split(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  int64_t axis = byoc_dnnl_source_axis(graph->node_int(source->node, "axis"), x.rank);
  if (axis < 0) return "an axis outside of its operand";
  uint64_t count = graph->node_result_count(source->node);
  for (uint64_t i = 0; i < count; ++i)
    if (!byoc_dnnl_source_is_tensor(source, graph->node_result(source->node, i))) return "only f32 results are made";
  for (uint64_t i = 0; i + 1 < count; ++i)
    if (graph->value_dim(graph->node_result(source->node, i), (int32_t)axis) < 0) return "parts of dynamic sizes";
  if (draft == NULL) return NULL;
  int64_t offsets[BYOC_DNNL_RANK_LIMIT] = {0};
  for (uint64_t i = 0; i < count; ++i) {
    const byoc_value_t *result = graph->node_result(source->node, i);
    draft_slice(source, draft, offsets, x.rank, byoc_dnnl_draft_value(draft, result));
    offsets[axis] += graph->value_dim(result, (int32_t)axis);
  }
  return NULL;
}

const char *byoc_dnnl_translate_slice(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  int64_t starts[2 * BYOC_DNNL_RANK_LIMIT], axes[2 * BYOC_DNNL_RANK_LIMIT], steps[2 * BYOC_DNNL_RANK_LIMIT];
  int64_t offsets[BYOC_DNNL_RANK_LIMIT] = {0};
  int32_t count = byoc_dnnl_source_ints(source, "starts", 1, starts);
  int32_t axis_count = byoc_dnnl_source_ints(source, "axes", 3, axes);
  int32_t step_count = byoc_dnnl_source_ints(source, "steps", 4, steps);
  if (count < 1 || axis_count < 0 || step_count < 0) return "bounds that are not constant";
  if ((axis_count != 0 && axis_count != count) || (axis_count == 0 && count > x.rank))
    return "bounds that do not match";
  for (int32_t i = 0; i < step_count; ++i)
    if (steps[i] != 1) return "steps other than 1";
  for (int32_t i = 0; i < count; ++i) {
    int64_t axis = byoc_dnnl_source_axis(axis_count > 0 ? axes[i] : i, x.rank);
    if (axis < 0) return "an axis outside of its operand";
    if (x.dims[axis] < 0) return "a part of a dynamic size";
    int64_t start = starts[i] < 0 ? starts[i] + x.dims[axis] : starts[i];
    offsets[axis] = start < 0 ? 0 : start;
  }
  if (draft != NULL) draft_slice(source, draft, offsets, x.rank, draft_result(source, draft));
  return NULL;
}

const char *byoc_dnnl_translate_transpose(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  uint64_t count = 0;
  const int64_t *given = source->graph->attribute_ints(source->node, "perm", &count);
  int64_t permutation[BYOC_DNNL_RANK_LIMIT];
  if (given != NULL && count != (uint64_t)x.rank && count != 0) return "a permutation of another rank";
  for (int32_t i = 0; i < x.rank; ++i) permutation[i] = given != NULL && count != 0 ? given[i] : x.rank - 1 - i;
  if (draft == NULL) return NULL;
  int32_t input = draft_operand(source, draft);
  json_t *attributes = json_pack("{s:o}", "permutation", byoc_dnnl_json_ints(permutation, x.rank));
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "transpose", &input, 1, draft_result(source, draft),
                       attributes);
  return NULL;
}

static const char *translate_view(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  if (draft == NULL) return NULL;
  int32_t input = draft_operand(source, draft);
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "reshape", &input, 1, draft_result(source, draft), NULL);
  return NULL;
}

// The operand that gives the shape must be known when compiling, because it does not reach the engine.
static const char *translate_view_by_operand(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_value_t *shape = byoc_dnnl_source_operand(source, 1);
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (shape != NULL && !source->graph->value_constant(shape, &data)) return "a shape that is not constant";
  return translate_view(source, draft);
}

const char *byoc_dnnl_translate_reshape(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_view_by_operand(source, draft);
}

const char *byoc_dnnl_translate_squeeze(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_view_by_operand(source, draft);
}

const char *byoc_dnnl_translate_unsqueeze(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_view_by_operand(source, draft);
}

const char *byoc_dnnl_translate_flatten(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_view(source, draft);
}

const char *byoc_dnnl_translate_identity(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_view(source, draft);
}

const char *byoc_dnnl_translate_dropout(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  for (uint64_t i = 1; i < graph->node_result_count(source->node); ++i) {
    const byoc_value_t *mask = graph->node_result(source->node, i);
    if (mask != NULL && graph->value_use_count(mask) > 0) return "a mask that is used";
  }
  if (byoc_dnnl_source_operand(source, 2) != NULL) return "training mode is not supported";
  return translate_view(source, draft);
}
