// SPDX-License-Identifier: Apache-2.0
// Reads a node of the model for translators.
#include "source.h"

#include <string.h>

const char *byoc_dnnl_source_name(const byoc_dnnl_source_t *source) {
  const char *name = source->graph->node_name(source->node);
  return name != NULL && name[0] != '\0' ? name : source->graph->node_operator(source->node);
}

const byoc_value_t *byoc_dnnl_source_operand(const byoc_dnnl_source_t *source, uint64_t index) {
  return index < source->graph->operand_count(source->node) ? source->graph->operand(source->node, index) : NULL;
}

const byoc_value_t *byoc_dnnl_source_result(const byoc_dnnl_source_t *source) {
  return source->graph->node_result(source->node, 0);
}

int byoc_dnnl_source_is_tensor(const byoc_dnnl_source_t *source, const byoc_value_t *value) {
  const byoc_graph_api_t *graph = source->graph;
  const int32_t rank = value != NULL && graph->value_dtype(value) == BYOC_DTYPE_F32 ? graph->value_rank(value) : -1;
  for (int32_t i = 0; i < rank; ++i)
    if (graph->value_dim(value, i) == 0) return 0;
  return rank >= 0 && rank <= BYOC_DNNL_RANK_LIMIT;
}

int byoc_dnnl_source_is_static(const byoc_dnnl_source_t *source, const byoc_value_t *value) {
  return byoc_dnnl_source_is_tensor(source, value) && source->graph->value_element_count(value) >= 1;
}

byoc_dnnl_shape_t byoc_dnnl_source_shape(const byoc_dnnl_source_t *source, const byoc_value_t *value) {
  return byoc_dnnl_shape_of(source->sizes, value);
}

const float *byoc_dnnl_source_floats(const byoc_dnnl_source_t *source, const byoc_value_t *value, int64_t *out_count) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  *out_count = 0;
  if (value == NULL || !source->graph->value_constant(value, &data) || data.dtype != BYOC_DTYPE_F32) return NULL;
  *out_count = (int64_t)(data.size_bytes / sizeof(float));
  return data.data;
}

int32_t byoc_dnnl_source_ints(const byoc_dnnl_source_t *source, const char *name, uint64_t operand, int64_t *out) {
  uint64_t count = 0;
  const int64_t *attribute = source->graph->attribute_ints(source->node, name, &count);
  if (attribute != NULL && count > 0) {
    if (count > BYOC_DNNL_RANK_LIMIT * 2) return -1;
    memcpy(out, attribute, count * sizeof(*out));
    return (int32_t)count;
  }
  const byoc_value_t *value = byoc_dnnl_source_operand(source, operand);
  if (value == NULL) return 0;
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (!source->graph->value_constant(value, &data)) return -1;
  size_t size = data.dtype == BYOC_DTYPE_I64 ? 8 : data.dtype == BYOC_DTYPE_I32 ? 4 : 0;
  if (size == 0 || data.size_bytes / size > BYOC_DNNL_RANK_LIMIT) return -1;
  count = data.size_bytes / size;
  for (uint64_t i = 0; i < count; ++i) {
    int32_t narrow = 0;
    if (size == 4) memcpy(&narrow, (const char *)data.data + i * 4, 4);
    if (size == 8)
      memcpy(&out[i], (const char *)data.data + i * 8, 8);
    else
      out[i] = narrow;
  }
  return (int32_t)count;
}

int64_t byoc_dnnl_source_axis(int64_t axis, int32_t rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? axis : -1;
}

void byoc_dnnl_source_eltwise(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const char *algorithm,
                              double alpha, double beta) {
  if (draft == NULL) return;
  int32_t input = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0));
  int32_t output = byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source));
  byoc_dnnl_draft_eltwise(draft, byoc_dnnl_source_name(source), algorithm, alpha, beta, input, output);
}
