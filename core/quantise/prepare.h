// SPDX-License-Identifier: Apache-2.0
// Brings a model of floats into the form that layers are chosen in, without changing its results. Internal to
// core/quantise.
#ifndef BYOC_CORE_QUANTISE_PREPARE_H_
#define BYOC_CORE_QUANTISE_PREPARE_H_

#include "core/quantise/graph.h"

// Makes constants of Identity, Reshape and Transpose of constants; folds BatchNormalization, and Add of a constant for
// each channel, into the convolution in front; writes Sum of two as Add.
byoc_status_t byoc_qprepare(byoc_onnx_model_t *model, const byoc_graph_module_t *module, byoc_diag_t *diag);

// An input of products by constant matrices, and the largest absolute value that it showed in each channel.
typedef struct byoc_qsmoothed_t {
  const char *input;
  const float *limits;
  size_t channel_count;
} byoc_qsmoothed_t;
// Moves outliers of activations into the weights that they meet (SmoothQuant: Xiao and others, 2022): channel j of the
// input is divided by limit_j^alpha / weight_j^(1 - alpha), and the rows of the matrices multiplied by it. A
// LayerNormalization in front that has no other readers takes the factors; else a Mul does. *out_count: inputs that
// were smoothed.
byoc_status_t byoc_qsmooth(byoc_onnx_model_t *model, const byoc_graph_module_t *module, const byoc_qsmoothed_t *inputs,
                           size_t count, double alpha, byoc_diag_t *diag, size_t *out_count);
// Is it a product that byoc_qsmooth may change: MatMul or Gemm by a constant matrix as operand 1?
bool byoc_qsmooth_takes(const byoc_qgraph_t *graph, const Onnx__NodeProto *node);

// Stores constants of f32 from 1 KiB on as f16 or bf16, with a Cast in front of their readers. Numbers beyond
// the range of f16 keep their tensor as it is. *out_count: tensors that were changed.
byoc_status_t byoc_qstore_half(byoc_onnx_model_t *model, byoc_dtype_t dtype, const char *const *excluded,
                               size_t excluded_count, byoc_diag_t *diag, size_t *out_count);

#endif // BYOC_CORE_QUANTISE_PREPARE_H_
