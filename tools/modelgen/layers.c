// SPDX-License-Identifier: Apache-2.0
// Adds the layers to a graph that several generated models use.
#include <stdio.h>

#include "modelgen.h"

const char *modelgen_shape(modelgen_t *gen, const char *rest) {
  if (gen->batch == 0) return modelgen_text(gen, "batch,%s", rest);
  return modelgen_text(gen, "%lld,%s", (long long)gen->batch, rest);
}

const char *modelgen_unary(modelgen_t *gen, const char *op, const char *name, const char *x) {
  const char *y = modelgen_text(gen, "%s_output", name);
  byoc_onnx_graph_node(gen->graph, op, name, x, y);
  return y;
}

const char *modelgen_binary(modelgen_t *gen, const char *op, const char *name, const char *a, const char *b) {
  return modelgen_unary(gen, op, name, modelgen_text(gen, "%s,%s", a, b));
}

const char *modelgen_conv(modelgen_t *gen, const char *name, const char *x, modelgen_conv_t conv, bool has_bias) {
  const int64_t inputs = conv.inputs / conv.groups;
  const int64_t dims[4] = {conv.outputs, inputs, conv.kernel, conv.kernel};
  const char *weight = modelgen_text(gen, "%s.weight", name), *y = modelgen_text(gen, "%s_output", name);
  modelgen_weights(gen, weight, 4, dims, inputs * conv.kernel * conv.kernel, conv.gain);
  const char *operands = modelgen_text(gen, "%s,%s", x, weight);
  if (has_bias) {
    const char *bias = modelgen_text(gen, "%s.bias", name);
    modelgen_range(gen, bias, conv.outputs, -0.1f, 0.1f);
    operands = modelgen_text(gen, "%s,%s", operands, bias);
  }
  byoc_onnx_node_t *node = byoc_onnx_graph_node(gen->graph, "Conv", name, operands, y);
  const int64_t dilations[2] = {1, 1}, kernel[2] = {conv.kernel, conv.kernel}, strides[2] = {conv.stride, conv.stride};
  const int64_t pads[4] = {conv.pad, conv.pad, conv.pad, conv.pad};
  byoc_onnx_node_ints(node, "dilations", dilations, 2);
  byoc_onnx_node_int(node, "group", conv.groups);
  byoc_onnx_node_ints(node, "kernel_shape", kernel, 2);
  byoc_onnx_node_ints(node, "pads", pads, 4);
  byoc_onnx_node_ints(node, "strides", strides, 2);
  return y;
}

const char *modelgen_batch_norm(modelgen_t *gen, const char *name, const char *x, int64_t channels, float scale) {
  const char *gamma = modelgen_text(gen, "%s.weight", name), *beta = modelgen_text(gen, "%s.bias", name);
  const char *mean = modelgen_text(gen, "%s.running_mean", name), *var = modelgen_text(gen, "%s.running_var", name);
  const char *y = modelgen_text(gen, "%s_output", name);
  modelgen_range(gen, gamma, channels, 0.8f * scale, 1.2f * scale);
  modelgen_range(gen, beta, channels, -0.1f, 0.1f);
  modelgen_range(gen, mean, channels, -0.1f, 0.1f);
  modelgen_range(gen, var, channels, 0.75f, 1.25f);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(gen->graph, "BatchNormalization", name,
                                                modelgen_text(gen, "%s,%s,%s,%s,%s", x, gamma, beta, mean, var), y);
  byoc_onnx_node_float(node, "epsilon", 1e-5f);
  byoc_onnx_node_float(node, "momentum", 0.9f);
  return y;
}

const char *modelgen_conv_norm(modelgen_t *gen, const char *name, const char *x, modelgen_conv_t conv, float scale) {
  x = modelgen_conv(gen, modelgen_text(gen, "%s.conv", name), x, conv, false);
  return modelgen_batch_norm(gen, modelgen_text(gen, "%s.bn", name), x, conv.outputs, scale);
}

const char *modelgen_pool(modelgen_t *gen, const char *op, const char *name, const char *x, int64_t kernel,
                          int64_t stride, int64_t pad) {
  const char *y = modelgen_text(gen, "%s_output", name);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(gen->graph, op, name, x, y);
  const int64_t kernels[2] = {kernel, kernel}, strides[2] = {stride, stride}, pads[4] = {pad, pad, pad, pad};
  byoc_onnx_node_ints(node, "kernel_shape", kernels, 2);
  byoc_onnx_node_ints(node, "pads", pads, 4);
  byoc_onnx_node_ints(node, "strides", strides, 2);
  return y;
}

const char *modelgen_dense(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t outputs,
                           float gain) {
  const char *weight = modelgen_text(gen, "%s.weight", name), *bias = modelgen_text(gen, "%s.bias", name);
  const char *y = modelgen_text(gen, "%s_output", name);
  const int64_t dims[2] = {outputs, inputs};
  modelgen_weights(gen, weight, 2, dims, inputs, gain);
  modelgen_range(gen, bias, outputs, -0.1f, 0.1f);
  byoc_onnx_node_t *node =
      byoc_onnx_graph_node(gen->graph, "Gemm", name, modelgen_text(gen, "%s,%s,%s", x, weight, bias), y);
  byoc_onnx_node_float(node, "alpha", 1.0f);
  byoc_onnx_node_float(node, "beta", 1.0f);
  byoc_onnx_node_int(node, "transB", 1);
  return y;
}

const char *modelgen_linear(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t outputs) {
  const char *weight = modelgen_text(gen, "%s.weight", name), *bias = modelgen_text(gen, "%s.bias", name);
  const int64_t dims[2] = {inputs, outputs};
  modelgen_weights(gen, weight, 2, dims, inputs, 1.0f);
  modelgen_range(gen, bias, outputs, -0.1f, 0.1f);
  const char *product = modelgen_binary(gen, "MatMul", modelgen_text(gen, "%s/MatMul", name), x, weight);
  return modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add", name), product, bias);
}

const char *modelgen_layer_norm(modelgen_t *gen, const char *name, const char *x, int64_t width, float epsilon) {
  const char *gamma = modelgen_text(gen, "%s.weight", name), *beta = modelgen_text(gen, "%s.bias", name);
  const char *y = modelgen_text(gen, "%s_output", name);
  modelgen_range(gen, gamma, width, 0.8f, 1.2f);
  modelgen_range(gen, beta, width, -0.1f, 0.1f);
  byoc_onnx_node_t *node =
      byoc_onnx_graph_node(gen->graph, "LayerNormalization", name, modelgen_text(gen, "%s,%s,%s", x, gamma, beta), y);
  byoc_onnx_node_int(node, "axis", -1);
  byoc_onnx_node_float(node, "epsilon", epsilon);
  return y;
}

const char *modelgen_transpose(modelgen_t *gen, const char *name, const char *x, const int64_t *order, size_t rank) {
  const char *y = modelgen_text(gen, "%s_output", name);
  byoc_onnx_node_ints(byoc_onnx_graph_node(gen->graph, "Transpose", name, x, y), "perm", order, rank);
  return y;
}

void modelgen_classifier(modelgen_t *gen, const char *x, int64_t channels) {
  x = modelgen_unary(gen, "GlobalAveragePool", "avgpool", x);
  x = modelgen_unary(gen, "Flatten", "flatten", x);
  const int64_t dims[2] = {1000, channels};
  modelgen_weights(gen, "fc.weight", 2, dims, channels, 1.0f);
  modelgen_range(gen, "fc.bias", 1000, -0.1f, 0.1f);
  byoc_onnx_node_t *node =
      byoc_onnx_graph_node(gen->graph, "Gemm", "fc", modelgen_text(gen, "%s,fc.weight,fc.bias", x), "output");
  byoc_onnx_node_int(node, "transB", 1);
  byoc_onnx_graph_output(gen->graph, "output", BYOC_DTYPE_F32, modelgen_shape(gen, "1000"));
}
