// SPDX-License-Identifier: Apache-2.0
// Writes MatMul and Gemm as the engine's JSON.
#include <stdlib.h>
#include <string.h>

#include "translate.h"

// A constant matrix transposed and scaled: [rows, columns] → [columns, rows].
static int32_t transposed_constant(byoc_dnnl_draft_t *draft, int32_t value, double scale) {
  const float *from = byoc_dnnl_draft_constant_data(draft, value);
  if (from == NULL) return -1;
  byoc_dnnl_shape_t shape = draft->values[value].shape;
  int64_t rows = shape.dims[0], columns = shape.dims[1];
  float *to = malloc((size_t)(rows * columns) * sizeof(*to));
  for (int64_t r = 0; to != NULL && r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * rows + r] = (float)((double)from[r * columns + c] * scale);
  shape.dims[0] = columns;
  shape.dims[1] = rows;
  return byoc_dnnl_draft_constant(draft, &shape, to);
}

static int32_t scaled_constant(byoc_dnnl_draft_t *draft, int32_t value, double scale) {
  const float *from = byoc_dnnl_draft_constant_data(draft, value);
  if (from == NULL) return -1;
  byoc_dnnl_shape_t shape = draft->values[value].shape;
  int64_t count = byoc_dnnl_shape_count(&shape);
  float *to = malloc((size_t)count * sizeof(*to));
  for (int64_t i = 0; to != NULL && i < count; ++i) to[i] = (float)((double)from[i] * scale);
  return byoc_dnnl_draft_constant(draft, &shape, to);
}

const char *byoc_dnnl_translate_matmul(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_value_t *left = byoc_dnnl_source_operand(source, 0), *right = byoc_dnnl_source_operand(source, 1);
  if (!byoc_dnnl_source_is_tensor(source, right)) return "only f32 operands are supported";
  byoc_dnnl_shape_t a = byoc_dnnl_source_shape(source, left), b = byoc_dnnl_source_shape(source, right);
  if (source->graph->value_rank(left) < 2 || source->graph->value_rank(right) < 2) return "a vector operand";
  // oneDNN multiplies batches of equal size fast, and one matrix for all of a batch; other broadcasting it does slowly.
  int b_is_matrix = 1;
  for (int32_t i = 0; i < b.rank - 2; ++i)
    if (b.dims[i] != 1) b_is_matrix = 0;
  if (!b_is_matrix) {
    if (a.rank != b.rank) return "operands of different ranks";
    for (int32_t i = 0; i < a.rank - 2; ++i)
      if (a.dims[i] != b.dims[i]) return "a broadcast batch";
  } else if (b.rank > a.rank) {
    return "operands of different ranks";
  }
  if (draft == NULL) return NULL;
  int32_t inputs[2] = {byoc_dnnl_draft_value(draft, left), byoc_dnnl_draft_value(draft, right)};
  if (b_is_matrix && b.rank > 2 && byoc_dnnl_draft_constant_data(draft, inputs[1]) != NULL) {
    byoc_dnnl_shape_t matrix = {.rank = 2, .dims = {b.dims[b.rank - 2], b.dims[b.rank - 1]}};
    inputs[1] = byoc_dnnl_draft_reshaped_constant(draft, inputs[1], &matrix);
  }
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "matmul", inputs, 2,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), NULL);
  return NULL;
}

const char *byoc_dnnl_translate_gemm(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  const byoc_value_t *right = byoc_dnnl_source_operand(source, 1), *added = byoc_dnnl_source_operand(source, 2);
  if (!byoc_dnnl_source_is_tensor(source, right) || (added != NULL && !byoc_dnnl_source_is_tensor(source, added)))
    return "only f32 operands are supported";
  double alpha = graph->node_float(source->node, "alpha");
  double beta = graph->node_float(source->node, "beta");
  int transpose_a = graph->node_int(source->node, "transA") != 0;
  int transpose_b = graph->node_int(source->node, "transB") != 0;
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  byoc_dnnl_shape_t c = {.rank = 1, .dims = {1}};
  int64_t count = 0;
  if (added != NULL) {
    c = byoc_dnnl_source_shape(source, added);
    if (beta != 1.0 && byoc_dnnl_source_floats(source, added, &count) == NULL)
      return "beta with an addend that is not constant";
  }
  if (y.rank != 2 || c.rank > 2) return "operands that are not matrices";
  if (draft == NULL) return NULL;

  const char *name = byoc_dnnl_source_name(source);
  int32_t inputs[3] = {byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0)),
                       byoc_dnnl_draft_value(draft, right), -1};
  int32_t output = byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source));
  int b_constant = byoc_dnnl_draft_constant_data(draft, inputs[1]) != NULL;
  if (b_constant && transpose_b)
    inputs[1] = transposed_constant(draft, inputs[1], alpha);
  else if (b_constant && alpha != 1.0)
    inputs[1] = scaled_constant(draft, inputs[1], alpha);
  int32_t addend = added != NULL && beta != 0.0 ? byoc_dnnl_draft_value(draft, added) : -1;
  if (addend >= 0 && beta != 1.0) addend = scaled_constant(draft, addend, beta);

  // A row is a bias; anything else is added afterwards. The engine's scale applies to the bias too, so that the two
  // do not go together.
  double scale = b_constant ? 1.0 : alpha;
  int is_row =
      addend >= 0 && y.dims[1] > 0 && c.dims[c.rank - 1] == y.dims[1] && byoc_dnnl_shape_count(&c) == y.dims[1];
  int32_t product = output;
  if (is_row && scale == 1.0) {
    inputs[2] = addend;
    addend = -1;
  }
  if (addend >= 0) product = byoc_dnnl_draft_temporary(draft, &y);
  json_t *attributes = json_pack("{s:i, s:i}", "transpose_a", transpose_a, "transpose_b", !b_constant && transpose_b);
  if (attributes == NULL || (scale != 1.0 && json_object_set_new(attributes, "scale", json_real(scale)) != 0))
    draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "matmul", inputs, 3, product, attributes);
  if (addend >= 0) byoc_dnnl_draft_binary(draft, name, "add", product, addend, output);
  return NULL;
}
