// SPDX-License-Identifier: Apache-2.0
// Small and large image models, and the multilayer perceptron.
#include "modelgen.h"

void modelgen_build_mlp(modelgen_t *gen) {
  byoc_onnx_graph_input(gen->graph, "input", BYOC_DTYPE_F32, modelgen_shape(gen, "784"));
  const char *x = "input";
  int64_t width = 784;
  for (int64_t i = 0; i < gen->layers; i++) {
    const int64_t next = i == 0 ? 512 : 256;
    const char *name = modelgen_text(gen, "fc%d", (int)i + 1);
    x = modelgen_dense(gen, name, x, width, next, RELU_GAIN);
    x = modelgen_unary(gen, "Relu", modelgen_text(gen, "relu%d", (int)i + 1), x);
    width = next;
  }
  x = modelgen_dense(gen, "classifier", x, width, 10, 1.0f);
  byoc_onnx_node_int(byoc_onnx_graph_node(gen->graph, "Softmax", "softmax", x, "output"), "axis", -1);
  byoc_onnx_graph_output(gen->graph, "output", BYOC_DTYPE_F32, modelgen_shape(gen, "10"));
}

// LeNet-5 with rectifiers and max pooling.
void modelgen_build_lenet(modelgen_t *gen) {
  byoc_onnx_graph_input(gen->graph, "input", BYOC_DTYPE_F32, modelgen_shape(gen, "1,28,28"));
  const modelgen_conv_t conv1 = {
      .inputs = 1, .outputs = 6, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .gain = RELU_GAIN};
  const modelgen_conv_t conv2 = {
      .inputs = 6, .outputs = 16, .kernel = 5, .stride = 1, .pad = 0, .groups = 1, .gain = RELU_GAIN};
  const char *x = modelgen_unary(gen, "Relu", "relu1", modelgen_conv(gen, "conv1", "input", conv1, true));
  x = modelgen_pool(gen, "MaxPool", "pool1", x, 2, 2, 0);
  x = modelgen_unary(gen, "Relu", "relu2", modelgen_conv(gen, "conv2", x, conv2, true));
  x = modelgen_pool(gen, "MaxPool", "pool2", x, 2, 2, 0);
  x = modelgen_unary(gen, "Flatten", "flatten", x);
  x = modelgen_unary(gen, "Relu", "relu3", modelgen_dense(gen, "fc1", x, 400, 120, RELU_GAIN));
  x = modelgen_unary(gen, "Relu", "relu4", modelgen_dense(gen, "fc2", x, 120, 84, RELU_GAIN));
  x = modelgen_dense(gen, "fc3", x, 84, 10, 1.0f);
  byoc_onnx_graph_node(gen->graph, "Identity", "output", x, "output");
  byoc_onnx_graph_output(gen->graph, "output", BYOC_DTYPE_F32, modelgen_shape(gen, "10"));
}

// 1×1 down, 3×3 (with the stride: "v1.5"), 1×1 up, added to the shortcut. The branch is scaled down so that sixteen of
// them keep the activations in range.
static const char *bottleneck(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t width,
                              int64_t stride) {
  const int64_t outputs = 4 * width;
  const char *way_round = x;
  if (stride != 1 || inputs != outputs) {
    way_round = modelgen_conv_norm(gen, modelgen_text(gen, "%s.downsample", name), x,
                                   (modelgen_conv_t){inputs, outputs, 1, stride, 0, 1, 1.0f}, 1.0f);
  }
  const char *y = modelgen_conv_norm(gen, modelgen_text(gen, "%s.1", name), x,
                                     (modelgen_conv_t){inputs, width, 1, 1, 0, 1, RELU_GAIN}, 1.0f);
  y = modelgen_unary(gen, "Relu", modelgen_text(gen, "%s.1.relu", name), y);
  y = modelgen_conv_norm(gen, modelgen_text(gen, "%s.2", name), y,
                         (modelgen_conv_t){width, width, 3, stride, 1, 1, RELU_GAIN}, 1.0f);
  y = modelgen_unary(gen, "Relu", modelgen_text(gen, "%s.2.relu", name), y);
  y = modelgen_conv_norm(gen, modelgen_text(gen, "%s.3", name), y,
                         (modelgen_conv_t){width, outputs, 1, 1, 0, 1, RELU_GAIN}, 0.3f);
  y = modelgen_binary(gen, "Add", modelgen_text(gen, "%s.add", name), y, way_round);
  return modelgen_unary(gen, "Relu", modelgen_text(gen, "%s.relu", name), y);
}

void modelgen_build_resnet50(modelgen_t *gen) {
  byoc_onnx_graph_input(gen->graph, "input", BYOC_DTYPE_F32, modelgen_shape(gen, "3,224,224"));
  const char *x = modelgen_conv_norm(gen, "stem", "input", (modelgen_conv_t){3, 64, 7, 2, 3, 1, RELU_GAIN}, 1.0f);
  x = modelgen_unary(gen, "Relu", "stem.relu", x);
  x = modelgen_pool(gen, "MaxPool", "stem.pool", x, 3, 2, 1);
  static const struct { int64_t blocks, width, stride; } stages[] = {{3, 64, 1}, {4, 128, 2}, {6, 256, 2}, {3, 512, 2}};
  int64_t channels = 64;
  for (int stage = 0; stage < 4; stage++) {
    for (int64_t block = 0; block < stages[stage].blocks; block++) {
      const char *name = modelgen_text(gen, "layer%d.%d", stage + 1, (int)block);
      x = bottleneck(gen, name, x, channels, stages[stage].width, block == 0 ? stages[stage].stride : 1);
      channels = 4 * stages[stage].width;
    }
  }
  modelgen_classifier(gen, x, channels);
}

static const char *relu6(modelgen_t *gen, const char *name, const char *x) {
  const char *y = modelgen_text(gen, "%s_output", name);
  byoc_onnx_graph_node(gen->graph, "Clip", name, modelgen_text(gen, "%s,relu6.min,relu6.max", x), y);
  return y;
}

// Widened by 1×1, filtered channel by channel, and narrowed again without a rectifier.
static const char *inverted_residual(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t outputs,
                                     int64_t stride, int64_t expansion) {
  const int64_t width = inputs * expansion;
  const char *y = x;
  if (expansion != 1) {
    y = modelgen_conv_norm(gen, modelgen_text(gen, "%s.expand", name), y,
                           (modelgen_conv_t){inputs, width, 1, 1, 0, 1, RELU_GAIN}, 1.0f);
    y = relu6(gen, modelgen_text(gen, "%s.expand.clip", name), y);
  }
  y = modelgen_conv_norm(gen, modelgen_text(gen, "%s.depthwise", name), y,
                         (modelgen_conv_t){width, width, 3, stride, 1, width, RELU_GAIN}, 1.0f);
  y = relu6(gen, modelgen_text(gen, "%s.depthwise.clip", name), y);
  const bool is_residual = stride == 1 && inputs == outputs;
  y = modelgen_conv_norm(gen, modelgen_text(gen, "%s.project", name), y,
                         (modelgen_conv_t){width, outputs, 1, 1, 0, 1, RELU_GAIN}, is_residual ? 0.5f : 1.0f);
  return is_residual ? modelgen_binary(gen, "Add", modelgen_text(gen, "%s.add", name), x, y) : y;
}

void modelgen_build_mobilenet_v2(modelgen_t *gen) {
  byoc_onnx_graph_input(gen->graph, "input", BYOC_DTYPE_F32, modelgen_shape(gen, "3,224,224"));
  modelgen_scalar(gen, "relu6.min", 0.0f);
  modelgen_scalar(gen, "relu6.max", 6.0f);
  const char *x = modelgen_conv_norm(gen, "stem", "input", (modelgen_conv_t){3, 32, 3, 2, 1, 1, RELU_GAIN}, 1.0f);
  x = relu6(gen, "stem.clip", x);
  static const struct {
    int64_t expansion, outputs, blocks, stride;
  } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  int64_t channels = 32;
  int index = 1;
  for (int stage = 0; stage < 7; stage++) {
    for (int64_t block = 0; block < stages[stage].blocks; block++) {
      x = inverted_residual(gen, modelgen_text(gen, "block%d", index++), x, channels, stages[stage].outputs,
                            block == 0 ? stages[stage].stride : 1, stages[stage].expansion);
      channels = stages[stage].outputs;
    }
  }
  x = modelgen_conv_norm(gen, "head", x, (modelgen_conv_t){channels, 1280, 1, 1, 0, 1, RELU_GAIN}, 1.0f);
  x = relu6(gen, "head.clip", x);
  modelgen_classifier(gen, x, 1280);
}
