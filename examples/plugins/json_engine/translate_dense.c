// SPDX-License-Identifier: Apache-2.0
// Products of matrices with constants: Gemm and MatMul.
#include "translate.h"

// B as [outputs, inputs]; it is [inputs, outputs] unless it is transposed already.
static int32_t draft_filter(const xnnpack_source_t *source, const float *data, int64_t outputs, int64_t inputs,
                            int is_transposed, double factor) {
  const int64_t dims[2] = {outputs, inputs}, as_is[2] = {inputs, 1}, turned[2] = {1, outputs};
  return xnnpack_draft_constant(source->draft, 2, dims, is_transposed ? as_is : turned, data, (float)factor);
}

const char *xnnpack_translate_gemm(const xnnpack_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  const xnnpack_shape_t y = xnnpack_result_shape(source);
  const byoc_value_t *c = xnnpack_operand(source, 2);
  int64_t count = 0, bias_count = 0;
  const float *b = xnnpack_floats(source, xnnpack_operand(source, 1), &count);
  const float *bias = xnnpack_floats(source, c, &bias_count);
  if (b == NULL || (c != NULL && bias == NULL)) return "B and C have to be constants";
  if (graph->node_int(source->node, "transA") != 0) return "A has to be as it is";
  const int64_t outputs = y.dims[1];
  const xnnpack_shape_t shape = c == NULL ? y : xnnpack_shape_of(graph, c);
  if (c != NULL && bias_count != 1 && (bias_count != outputs || shape.dims[shape.rank - 1] != outputs))
    return "C has to be one row";
  if (source->draft == NULL) return NULL;
  const int64_t step = bias_count == 1 ? 0 : 1;
  int32_t others[2] = {draft_filter(source, b, outputs, count / outputs, graph->node_int(source->node, "transB") != 0,
                                    graph->node_float(source->node, "alpha")),
                       -1};
  if (bias != NULL)
    others[1] =
        xnnpack_draft_constant(source->draft, 1, &outputs, &step, bias, (float)graph->node_float(source->node, "beta"));
  xnnpack_emit(source, "fully_connected", others, 2);
  return NULL;
}

const char *xnnpack_translate_mat_mul(const xnnpack_source_t *source) {
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0);
  int64_t count = 0;
  const float *b = xnnpack_floats(source, xnnpack_operand(source, 1), &count);
  if (b == NULL) return "the second operand has to be a constant";
  const xnnpack_shape_t shape = xnnpack_operand_shape(source, 1);
  if (shape.rank != 2 || x.rank < 2 || source->graph->value_rank(xnnpack_operand(source, 1)) != 2)
    return "only products with one matrix are taken";
  if (x.rank == 4) return "four dimensions are images, whose rows do not lie in a line";
  if (source->draft == NULL) return NULL;
  const int32_t filter = draft_filter(source, b, shape.dims[1], shape.dims[0], 0, 1);
  xnnpack_emit(source, "fully_connected", &filter, 1);
  return NULL;
}
