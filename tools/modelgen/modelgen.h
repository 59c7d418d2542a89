// SPDX-License-Identifier: Apache-2.0
// Tools of the model builders: options, seeded weights, and layers that several models have.
#ifndef BYOC_TOOLS_MODELGEN_MODELGEN_H_
#define BYOC_TOOLS_MODELGEN_MODELGEN_H_

#include "core/frontend/onnx_write.h"

#define RELU_GAIN 1.4142135f // keeps the variance over a rectifier

// How a model holds the weights of its linear layers.
typedef enum modelgen_weights_t { IN_F32, IN_NBITS, IN_NBITS_BY_BYTES, IN_BLOCKS } modelgen_weights_t;

typedef struct modelgen_t {
  byoc_onnx_model_t *model;
  byoc_onnx_graph_t *graph;
  uint64_t random; // state of SplitMix64
  int64_t layers, sequence, batch;
  int64_t vocabulary; // 0: that of the well-known model
} modelgen_t;

typedef enum modelgen_option_t {
  TAKES_LAYERS = 1,
  TAKES_SEQUENCE = 2,
  FIXES_SEQUENCE = 4,
  NEEDS_BLOCKS = 8,
  TAKES_VOCABULARY = 16
} modelgen_option_t;

typedef struct modelgen_model_t {
  const char *name;
  const char *summary;
  unsigned takes; // options besides seed and batch; NEEDS_BLOCKS: operator set 21, which has block_size
  int64_t default_layers, max_layers;
  int64_t default_sequence, max_sequence;
  void (*build)(modelgen_t *gen);
} modelgen_model_t;

extern const modelgen_model_t modelgen_models[];
extern const size_t modelgen_model_count;

void modelgen_build_mlp(modelgen_t *gen);
void modelgen_build_lenet(modelgen_t *gen);
void modelgen_build_resnet50(modelgen_t *gen);
void modelgen_build_mobilenet_v2(modelgen_t *gen);
void modelgen_build_shufflenet_v2(modelgen_t *gen);
void modelgen_build_densenet121(modelgen_t *gen);
void modelgen_build_bert_base(modelgen_t *gen);
void modelgen_build_gpt2_step(modelgen_t *gen);
void modelgen_build_gpt2_cached(modelgen_t *gen);
void modelgen_build_gpt2_nbits(modelgen_t *gen);
void modelgen_build_gpt2_bytes(modelgen_t *gen);
void modelgen_build_gpt2_blocked(modelgen_t *gen);
void modelgen_build_greedy_decoder(modelgen_t *gen);
void modelgen_build_detector(modelgen_t *gen);
void modelgen_build_lstm(modelgen_t *gen);

// ---- weights.c ----
// A text that lives as long as the model; "" if out of memory.
const char *modelgen_text(modelgen_t *gen, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Weights of mean 0 and variance gain² / fan_in.
void modelgen_weights(modelgen_t *gen, const char *name, size_t rank, const int64_t *dims, int64_t fan_in, float gain);
// Random bytes, or integers of four bits.
void modelgen_bytes(modelgen_t *gen, const char *name, byoc_dtype_t dtype, size_t rank, const int64_t *dims);
// Numbers between low and high.
void modelgen_range(modelgen_t *gen, const char *name, int64_t count, float low, float high);
void modelgen_scalar(modelgen_t *gen, const char *name, float value);
void modelgen_indices(modelgen_t *gen, const char *name, size_t count, const int64_t *values);

// ---- layers.c and packed.c: each adds nodes "<name>..." and returns the name of its result ----
typedef struct modelgen_conv_t {
  int64_t inputs, outputs, kernel, stride, pad, groups;
  float gain;
} modelgen_conv_t;
const char *modelgen_conv(modelgen_t *gen, const char *name, const char *x, modelgen_conv_t conv, bool has_bias);
const char *modelgen_batch_norm(modelgen_t *gen, const char *name, const char *x, int64_t channels, float scale);
const char *modelgen_unary(modelgen_t *gen, const char *op, const char *name, const char *x);
const char *modelgen_binary(modelgen_t *gen, const char *op, const char *name, const char *a, const char *b);
// Conv without a bias, then batch normalisation: "<name>.conv" and "<name>.bn".
const char *modelgen_conv_norm(modelgen_t *gen, const char *name, const char *x, modelgen_conv_t conv, float scale);
// MaxPool or AveragePool.
const char *modelgen_pool(modelgen_t *gen, const char *op, const char *name, const char *x, int64_t kernel,
                          int64_t stride, int64_t pad);
// The head that image models end in: the mean of each channel, and 1000 classes as "output".
void modelgen_classifier(modelgen_t *gen, const char *x, int64_t channels);
// y = x · wᵀ + b for matrices, as Gemm.
const char *modelgen_dense(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t outputs,
                           float gain);
// y = x · w + b for any rank, as MatMul and Add.
const char *modelgen_linear(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t outputs);
// y = x · w for weights of four bits in blocks of 32, as MatMulNBits.
const char *modelgen_nbits(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t outputs,
                           bool rounds);
// A matrix of four bits in blocks of 32 along `axis`, as DequantizeLinear.
const char *modelgen_blocked(modelgen_t *gen, const char *name, int64_t rows, int64_t columns, int axis,
                             int64_t fan_in);
const char *modelgen_layer_norm(modelgen_t *gen, const char *name, const char *x, int64_t width, float epsilon);
const char *modelgen_transpose(modelgen_t *gen, const char *name, const char *x, const int64_t *order, size_t rank);
// "1,3,224,224" with "batch" where the batch is symbolic; `rest` follows the batch.
const char *modelgen_shape(modelgen_t *gen, const char *rest);

#endif // BYOC_TOOLS_MODELGEN_MODELGEN_H_
