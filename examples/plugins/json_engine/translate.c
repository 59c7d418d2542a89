// SPDX-License-Identifier: Apache-2.0
// The table of operators, and what all translators ask about a node.
#include "translate.h"

#include <string.h>

typedef const char *(*translator_t)(const xnnpack_source_t *source);

#define XNNPACK_OPERATORS(X)                                                                                           \
  X(Abs, unary)                                                                                                        \
  X(Add, binary)                                                                                                       \
  X(AveragePool, average_pool)                                                                                         \
  X(Ceil, unary)                                                                                                       \
  X(Clip, clip)                                                                                                        \
  X(Conv, conv)                                                                                                        \
  X(ConvTranspose, conv_transpose)                                                                                     \
  X(DepthToSpace, depth_to_space)                                                                                      \
  X(Div, binary)                                                                                                       \
  X(Elu, with_alpha)                                                                                                   \
  X(Flatten, reshape)                                                                                                  \
  X(Floor, unary)                                                                                                      \
  X(Gemm, gemm)                                                                                                        \
  X(GlobalAveragePool, global_average_pool)                                                                            \
  X(GlobalMaxPool, global_max_pool)                                                                                    \
  X(HardSwish, unary)                                                                                                  \
  X(LeakyRelu, with_alpha)                                                                                             \
  X(MatMul, mat_mul)                                                                                                   \
  X(Max, binary)                                                                                                       \
  X(MaxPool, max_pool)                                                                                                 \
  X(Min, binary)                                                                                                       \
  X(Mul, binary)                                                                                                       \
  X(Neg, unary)                                                                                                        \
  X(PRelu, prelu)                                                                                                      \
  X(Pad, pad)                                                                                                          \
  X(ReduceMean, reduce_mean)                                                                                           \
  X(Relu, relu)                                                                                                        \
  X(Reshape, reshape)                                                                                                  \
  X(Resize, resize)                                                                                                    \
  X(Round, unary)                                                                                                      \
  X(Sigmoid, unary)                                                                                                    \
  X(Softmax, softmax)                                                                                                  \
  X(Sqrt, unary)                                                                                                       \
  X(Squeeze, reshape)                                                                                                  \
  X(Sub, binary)                                                                                                       \
  X(Unsqueeze, reshape)

#define XNNPACK_NAME(op, translator)       #op,
#define XNNPACK_TRANSLATOR(op, translator) xnnpack_translate_##translator,
static const char *const names[] = {XNNPACK_OPERATORS(XNNPACK_NAME)};
static const translator_t translators[] = {XNNPACK_OPERATORS(XNNPACK_TRANSLATOR)};
enum { OPERATOR_COUNT = sizeof(names) / sizeof(names[0]) };

byoc_text_list_t xnnpack_operators(void) {
  return (byoc_text_list_t){names, OPERATOR_COUNT};
}

// A tensor that the engine can hold.
static const char *check_tensor(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  if (graph->value_dtype(value) != BYOC_DTYPE_F32) return "only f32 is taken";
  if (graph->value_rank(value) < 0 || graph->value_element_count(value) < 0) return "only static shapes are taken";
  if (graph->value_rank(value) > XNNPACK_RANK_LIMIT) return "at most 6 dimensions are taken";
  return graph->value_element_count(value) == 0 ? "a tensor without elements" : NULL;
}

const char *xnnpack_translate(const xnnpack_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  const char *op = graph->node_operator(source->node);
  if (graph->node_domain(source->node)[0] != '\0') return "an operator of another domain";
  if (graph->node_result_count(source->node) != 1 || xnnpack_operand(source, 0) == NULL) return "more than one result";
  const char *reason = check_tensor(graph, xnnpack_operand(source, 0));
  if (reason == NULL) reason = check_tensor(graph, graph->node_result(source->node, 0));
  if (reason != NULL) return reason;
  for (int i = 0; i < OPERATOR_COUNT; ++i) {
    if (strcmp(op, names[i]) != 0) continue;
    if (translators[i] != xnnpack_translate_binary && xnnpack_is_constant(source, xnnpack_operand(source, 0)))
      return "its input is a constant";
    return translators[i](source);
  }
  return "an operator that the engine does not have";
}

const byoc_value_t *xnnpack_operand(const xnnpack_source_t *source, uint64_t index) {
  return index < source->graph->operand_count(source->node) ? source->graph->operand(source->node, index) : NULL;
}

xnnpack_shape_t xnnpack_operand_shape(const xnnpack_source_t *source, uint64_t index) {
  return xnnpack_shape_of(source->graph, xnnpack_operand(source, index));
}

xnnpack_shape_t xnnpack_result_shape(const xnnpack_source_t *source) {
  return xnnpack_shape_of(source->graph, source->graph->node_result(source->node, 0));
}

int xnnpack_is_constant(const xnnpack_source_t *source, const byoc_value_t *value) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  return source->graph->value_constant(value, &data);
}

const float *xnnpack_floats(const xnnpack_source_t *source, const byoc_value_t *value, int64_t *out_count) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  *out_count = 0;
  if (value == NULL || !source->graph->value_constant(value, &data) || data.dtype != BYOC_DTYPE_F32) return NULL;
  *out_count = (int64_t)(data.size_bytes / sizeof(float));
  return data.data;
}

int32_t xnnpack_ints(const xnnpack_source_t *source, const char *attribute, uint64_t operand, int64_t *out_values,
                     int32_t limit) {
  uint64_t count = 0;
  const int64_t *values = source->graph->attribute_ints(source->node, attribute, &count);
  const byoc_value_t *value = xnnpack_operand(source, operand);
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (values == NULL && value != NULL) {
    if (!source->graph->value_constant(value, &data) || data.dtype != BYOC_DTYPE_I64) return -1;
    values = data.data;
    count = data.size_bytes / sizeof(*values);
  }
  if (values == NULL || count == 0) return 0;
  if (count > (uint64_t)limit) return -1;
  memcpy(out_values, values, (size_t)count * sizeof(*values));
  return (int32_t)count;
}

void xnnpack_emit(const xnnpack_source_t *source, const char *op, const int32_t *others, uint32_t other_count) {
  int32_t inputs[3] = {xnnpack_draft_value(source->draft, xnnpack_operand(source, 0)), -1, -1};
  for (uint32_t i = 0; i < other_count; ++i) inputs[1 + i] = others[i];
  const int32_t output = xnnpack_draft_value(source->draft, source->graph->node_result(source->node, 0));
  xnnpack_draft_node(source->draft, op, inputs, 1 + other_count, output);
}
