// SPDX-License-Identifier: Apache-2.0
// Image models that take channels apart and put them together.
#include "modelgen.h"

// ---- ShuffleNet v2 ----

static const char *conv_norm_relu(modelgen_t *gen, const char *name, const char *x, modelgen_conv_t conv) {
  x = modelgen_conv_norm(gen, name, x, conv, 1.0f);
  return modelgen_unary(gen, "Relu", modelgen_text(gen, "%s.relu", name), x);
}

// 1×1, channel by channel with the stride, 1×1.
static const char *shuffle_branch(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t width,
                                  int64_t stride) {
  x = conv_norm_relu(gen, modelgen_text(gen, "%s.1", name), x, (modelgen_conv_t){inputs, width, 1, 1, 0, 1, RELU_GAIN});
  x = modelgen_conv_norm(gen, modelgen_text(gen, "%s.2", name), x,
                         (modelgen_conv_t){width, width, 3, stride, 1, width, 1.0f}, 1.0f);
  return conv_norm_relu(gen, modelgen_text(gen, "%s.3", name), x,
                        (modelgen_conv_t){width, width, 1, 1, 0, 1, RELU_GAIN});
}

// Channels a0 a1 ... b0 b1 ... become a0 b0 a1 b1 ...
static const char *shuffle_channels(modelgen_t *gen, const char *name, const char *x, int64_t width, int64_t size) {
  const int64_t apart[5] = {0, 2, width, size, size}, together[4] = {0, 2 * width, size, size};
  const int64_t order[5] = {0, 2, 1, 3, 4};
  const char *apart_shape = modelgen_text(gen, "%s.apart", name), *shape = modelgen_text(gen, "%s.together", name);
  modelgen_indices(gen, apart_shape, 5, apart);
  modelgen_indices(gen, shape, 4, together);
  x = modelgen_binary(gen, "Reshape", modelgen_text(gen, "%s.reshape1", name), x, apart_shape);
  x = modelgen_transpose(gen, modelgen_text(gen, "%s.transpose", name), x, order, 5);
  return modelgen_binary(gen, "Reshape", modelgen_text(gen, "%s.reshape2", name), x, shape);
}

static const char *join(modelgen_t *gen, const char *name, const char *a, const char *b) {
  const char *y = modelgen_text(gen, "%s_output", name);
  byoc_onnx_node_int(byoc_onnx_graph_node(gen->graph, "Concat", name, modelgen_text(gen, "%s,%s", a, b), y), "axis", 1);
  return y;
}

// Half of the channels pass by.
static const char *shuffle_unit(modelgen_t *gen, const char *name, const char *x, int64_t width, int64_t size) {
  const char *left = modelgen_text(gen, "%s.left", name), *right = modelgen_text(gen, "%s.right", name);
  const char *sizes = modelgen_text(gen, "%s.halves", name);
  const int64_t halves[2] = {width, width};
  modelgen_indices(gen, sizes, 2, halves);
  byoc_onnx_node_t *split =
      byoc_onnx_graph_node(gen->graph, "Split", modelgen_text(gen, "%s.split", name),
                           modelgen_text(gen, "%s,%s", x, sizes), modelgen_text(gen, "%s,%s", left, right));
  byoc_onnx_node_int(split, "axis", 1);
  const char *y = shuffle_branch(gen, name, right, width, width, 1);
  return shuffle_channels(gen, name, join(gen, modelgen_text(gen, "%s.concat", name), left, y), width, size);
}

// The first unit of a stage: both branches see all channels and halve the image.
static const char *shuffle_down(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t width,
                                int64_t size) {
  const char *left = modelgen_conv_norm(gen, modelgen_text(gen, "%s.left.1", name), x,
                                        (modelgen_conv_t){inputs, inputs, 3, 2, 1, inputs, 1.0f}, 1.0f);
  left = conv_norm_relu(gen, modelgen_text(gen, "%s.left.2", name), left,
                        (modelgen_conv_t){inputs, width, 1, 1, 0, 1, RELU_GAIN});
  const char *right = shuffle_branch(gen, name, x, inputs, width, 2);
  return shuffle_channels(gen, name, join(gen, modelgen_text(gen, "%s.concat", name), left, right), width, size);
}

void modelgen_build_shufflenet_v2(modelgen_t *gen) {
  byoc_onnx_graph_input(gen->graph, "input", BYOC_DTYPE_F32, modelgen_shape(gen, "3,224,224"));
  const char *x = conv_norm_relu(gen, "stem", "input", (modelgen_conv_t){3, 24, 3, 2, 1, 1, RELU_GAIN});
  x = modelgen_pool(gen, "MaxPool", "stem.pool", x, 3, 2, 1);
  static const struct { int64_t units, width, size; } stages[] = {{4, 58, 28}, {8, 116, 14}, {4, 232, 7}};
  int64_t channels = 24;
  for (int stage = 0; stage < 3; stage++) {
    const int64_t width = stages[stage].width, size = stages[stage].size;
    for (int64_t unit = 0; unit < stages[stage].units; unit++) {
      const char *name = modelgen_text(gen, "stage%d.%d", stage + 2, (int)unit);
      x = unit == 0 ? shuffle_down(gen, name, x, channels, width, size) : shuffle_unit(gen, name, x, width, size);
    }
    channels = 2 * width;
  }
  x = conv_norm_relu(gen, "head", x, (modelgen_conv_t){channels, 1024, 1, 1, 0, 1, RELU_GAIN});
  modelgen_classifier(gen, x, 1024);
}

// ---- DenseNet ----

enum { GROWTH = 32 };

static const char *norm_relu(modelgen_t *gen, const char *name, const char *x, int64_t channels) {
  x = modelgen_batch_norm(gen, modelgen_text(gen, "%s.bn", name), x, channels, 1.0f);
  return modelgen_unary(gen, "Relu", modelgen_text(gen, "%s.relu", name), x);
}

// Adds some channels, made of all that there are, behind them.
static const char *dense_layer(modelgen_t *gen, const char *name, const char *x, int64_t channels) {
  const char *y = norm_relu(gen, modelgen_text(gen, "%s.1", name), x, channels);
  y = modelgen_conv(gen, modelgen_text(gen, "%s.1.conv", name), y,
                    (modelgen_conv_t){channels, 4 * GROWTH, 1, 1, 0, 1, RELU_GAIN}, false);
  y = norm_relu(gen, modelgen_text(gen, "%s.2", name), y, 4 * GROWTH);
  y = modelgen_conv(gen, modelgen_text(gen, "%s.2.conv", name), y,
                    (modelgen_conv_t){4 * GROWTH, GROWTH, 3, 1, 1, 1, RELU_GAIN}, false);
  return join(gen, modelgen_text(gen, "%s.concat", name), x, y);
}

// Halves the channels and the image.
static const char *dense_transition(modelgen_t *gen, const char *name, const char *x, int64_t channels) {
  x = norm_relu(gen, name, x, channels);
  x = modelgen_conv(gen, modelgen_text(gen, "%s.conv", name), x,
                    (modelgen_conv_t){channels, channels / 2, 1, 1, 0, 1, RELU_GAIN}, false);
  return modelgen_pool(gen, "AveragePool", modelgen_text(gen, "%s.pool", name), x, 2, 2, 0);
}

void modelgen_build_densenet121(modelgen_t *gen) {
  byoc_onnx_graph_input(gen->graph, "input", BYOC_DTYPE_F32, modelgen_shape(gen, "3,224,224"));
  const char *x = conv_norm_relu(gen, "stem", "input", (modelgen_conv_t){3, 64, 7, 2, 3, 1, RELU_GAIN});
  x = modelgen_pool(gen, "MaxPool", "stem.pool", x, 3, 2, 1);
  static const int layers[] = {6, 12, 24, 16};
  int64_t channels = 64;
  for (int block = 0; block < 4; block++) {
    for (int layer = 0; layer < layers[block]; layer++, channels += GROWTH) {
      x = dense_layer(gen, modelgen_text(gen, "block%d.%d", block + 1, layer), x, channels);
    }
    if (block == 3) break;
    x = dense_transition(gen, modelgen_text(gen, "transition%d", block + 1), x, channels);
    channels /= 2;
  }
  modelgen_classifier(gen, norm_relu(gen, "head", x, channels), channels);
}
