// SPDX-License-Identifier: Apache-2.0
// What the chip can do of each operator.
#include "layer.h"

#include <math.h>
#include <string.h>

// The data of a constant of this type; NULL if it is none.
static const void *constant(const byoc_graph_api_t *graph, const byoc_value_t *value, uint32_t dtype,
                            int64_t *out_count) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (value == NULL || !graph->value_constant(value, &data) || data.dtype != dtype) return NULL;
  if (out_count != NULL) *out_count = graph->value_element_count(value);
  return data.data;
}

static const byoc_value_t *operand(const byoc_graph_api_t *graph, const byoc_node_t *node, uint64_t index) {
  return index < graph->operand_count(node) ? graph->operand(node, index) : NULL;
}

// One scale and one zero point, operands `at` and `at` + 1.
static const char *read_scale(const byoc_graph_api_t *graph, const byoc_node_t *node, uint64_t at, float *out_scale,
                              int32_t *out_zero) {
  int64_t count = 0;
  const float *scale = constant(graph, operand(graph, node, at), BYOC_DTYPE_F32, &count);
  const byoc_value_t *zero = operand(graph, node, at + 1);
  const uint8_t *u8 = constant(graph, zero, BYOC_DTYPE_U8, NULL);
  const int8_t *i8 = constant(graph, zero, BYOC_DTYPE_I8, NULL);
  if (scale == NULL || count != 1) return "a scale is not one constant";
  if (u8 == NULL && i8 == NULL) return "a zero point is no constant of bytes";
  *out_scale = *scale, *out_zero = u8 != NULL ? *u8 : *i8;
  return NULL;
}

// [N, C, H, W], or [N, C].
static const char *read_shape(const byoc_graph_api_t *graph, const byoc_value_t *value, int32_t out_shape[4]) {
  const int32_t rank = graph->value_rank(value);
  const uint32_t dtype = graph->value_dtype(value);
  if (dtype != BYOC_DTYPE_I8 && dtype != BYOC_DTYPE_U8) return "its elements are not bytes";
  if (graph->value_element_count(value) < 1) return "its shape is not static, or it is empty";
  if (rank != 2 && rank != 4) return "it is no image and no row";
  if (graph->value_element_count(value) > 1 << 24) return "it is too large";
  for (int32_t d = 0; d < 4; ++d) out_shape[d] = d < rank ? (int32_t)graph->value_dim(value, d) : 1;
  return NULL;
}

static const char *read_window(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_command_t *command) {
  const char *pads = graph->node_text(node, "auto_pad");
  uint64_t count = 0;
  if (pads != NULL && strcmp(pads, "NOTSET") != 0) return "its padding is not written out";
  const int64_t *dilations = graph->attribute_ints(node, "dilations", &count);
  for (uint64_t i = 0; i < count; ++i) {
    if (dilations[i] != 1) return "it is dilated";
  }
  const int64_t *strides = graph->attribute_ints(node, "strides", &count);
  for (int i = 0; i < 2; ++i) command->strides[i] = (uint64_t)i < count ? (int32_t)strides[i] : 1;
  const int64_t *begin = graph->attribute_ints(node, "pads", &count);
  for (int i = 0; i < 2; ++i) command->pads[i] = (uint64_t)i < count ? (int32_t)begin[i] : 0;
  return NULL;
}

static const char *read_weights(const byoc_graph_api_t *graph, const byoc_node_t *node, uint64_t bias,
                                npu_layer_t *layer) {
  int64_t zero_count = 0;
  const int8_t *zeros = constant(graph, operand(graph, node, 5), BYOC_DTYPE_I8, &zero_count);
  layer->weights = constant(graph, operand(graph, node, 3), BYOC_DTYPE_I8, NULL);
  layer->weight_scales = constant(graph, operand(graph, node, 4), BYOC_DTYPE_F32, &layer->weight_scale_count);
  if (layer->weights == NULL || layer->weight_scales == NULL) return "its weights are no constants of i8";
  if (zeros == NULL) return "the zero points of its weights are no constants";
  for (int64_t i = 0; i < zero_count; ++i) {
    if (zeros[i] != 0) return "the zero point of its weights is not 0";
  }
  if (operand(graph, node, bias) == NULL) return NULL;
  layer->bias = constant(graph, operand(graph, node, bias), BYOC_DTYPE_I32, NULL);
  return layer->bias != NULL ? NULL : "its bias is no constant";
}

// x, scale, zero, w, scales, zeros, then scale and zero of the result; Conv and QGemm have a bias at different places.
static const char *read_product(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *layer) {
  const int is_gemm = strcmp(graph->node_operator(node), "QGemm") == 0;
  const int is_conv = strcmp(graph->node_operator(node), "QLinearConv") == 0;
  npu_command_t *command = &layer->command;
  const byoc_value_t *w = graph->operand(node, 3);
  const char *reason = read_scale(graph, node, 1, &layer->input_scales[0], &command->input_zeros[0]);
  command->operation = NPU_CONV;
  layer->inputs[layer->input_count++] = graph->operand(node, 0);
  if (reason == NULL) reason = read_scale(graph, node, is_gemm ? 7 : 6, &command->scale, &command->zero);
  if (reason == NULL) reason = read_weights(graph, node, is_gemm ? 6 : 8, layer);
  if (reason != NULL) return reason;
  if (!is_conv) {
    if (graph->value_rank(w) != 2 || graph->value_rank(layer->inputs[0]) != 2) return "it is no product of matrices";
    if (is_gemm && (graph->node_int(node, "transA") != 0 || graph->node_float(node, "alpha") != 1)) {
      return "transA or alpha is set";
    }
    layer->is_transposed = !is_gemm || graph->node_int(node, "transB") == 0;
    return NULL;
  }
  if (graph->value_rank(w) != 4) return "it is no convolution of images";
  command->groups = (int32_t)graph->node_int(node, "group");
  for (int i = 0; i < 2; ++i) command->kernel[i] = (int32_t)graph->value_dim(w, 2 + i);
  return read_window(graph, node, command);
}

static const char *read_add(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *layer) {
  layer->command.operation = NPU_ADD;
  for (uint64_t i = 0; i < 2; ++i) {
    const byoc_value_t *x = graph->operand(node, 3 * i);
    const char *reason = read_scale(graph, node, 3 * i + 1, &layer->input_scales[i], &layer->command.input_zeros[i]);
    if (reason != NULL) return reason;
    if (constant(graph, x, graph->value_dtype(x), NULL) != NULL) return "it adds a constant";
    layer->inputs[layer->input_count++] = x;
  }
  const char *reason = read_scale(graph, node, 6, &layer->command.scale, &layer->command.zero);
  for (int i = 0; i < 2; ++i) layer->command.ratios[i] = layer->input_scales[i] / layer->command.scale;
  return reason;
}

static const char *read_pool(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *layer) {
  uint64_t count = 0;
  const int64_t *kernel = graph->attribute_ints(node, "kernel_shape", &count);
  layer->command.operation = NPU_MAX_POOL;
  layer->inputs[layer->input_count++] = graph->operand(node, 0);
  if (count != 2) return "it is no pool of images";
  if (graph->node_result_count(node) > 1) return "it gives indices";
  if (graph->node_int(node, "ceil_mode") != 0) return "ceil_mode is set";
  for (int i = 0; i < 2; ++i) layer->command.kernel[i] = (int32_t)kernel[i];
  return read_window(graph, node, &layer->command);
}

static const char *read_copy(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *layer) {
  layer->command.operation = NPU_COPY;
  layer->inputs[layer->input_count++] = graph->operand(node, 0);
  return NULL;
}

static const char *read_operator(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *layer) {
  static const struct {
    const char *domain, *name;
    const char *(*read)(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *layer);
  } table[] = {{"", "QLinearConv", read_product},
               {"", "QLinearMatMul", read_product},
               {"com.microsoft", "QGemm", read_product},
               {"com.microsoft", "QLinearAdd", read_add},
               {"", "MaxPool", read_pool},
               {"", "Reshape", read_copy},
               {"", "Flatten", read_copy}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    if (strcmp(graph->node_operator(node), table[i].name) == 0 &&
        strcmp(graph->node_domain(node), table[i].domain) == 0) {
      return table[i].read(graph, node, layer);
    }
  }
  return "the chip has no such operator";
}

// Checks what all operators have in common: the shapes, and one type of bytes.
static const char *read_shapes(const byoc_graph_api_t *graph, npu_layer_t *layer) {
  npu_command_t *command = &layer->command;
  int32_t shape[4];
  const char *reason = NULL;
  for (int32_t i = 0; i < layer->input_count && reason == NULL; ++i) {
    reason = read_shape(graph, layer->inputs[i], shape);
    if (graph->value_dtype(layer->inputs[i]) != graph->value_dtype(layer->result)) return "the types of bytes differ";
    if (graph->value_element_count(layer->inputs[i]) != graph->value_element_count(layer->inputs[0])) {
      return "an operand is broadcast";
    }
    if (i > 0) continue;
    command->images = shape[0], command->channels = shape[1], command->height = shape[2], command->width = shape[3];
  }
  if (reason == NULL) reason = read_shape(graph, layer->result, shape);
  if (reason == NULL && shape[0] != command->images) return "it changes the number of images";
  command->out_channels = shape[1], command->out_height = shape[2], command->out_width = shape[3];
  command->is_signed = graph->value_dtype(layer->result) == BYOC_DTYPE_I8;
  command->low = command->is_signed ? -128 : 0, command->high = command->is_signed ? 127 : 255;
  return reason;
}

const char *npu_layer_read(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *out_layer) {
  *out_layer = (npu_layer_t){.result = graph->node_result(node, 0)};
  out_layer->command.groups = 1;
  for (int i = 0; i < 2; ++i) out_layer->command.kernel[i] = out_layer->command.strides[i] = 1;
  const char *reason = read_operator(graph, node, out_layer);
  return reason != NULL ? reason : read_shapes(graph, out_layer);
}
