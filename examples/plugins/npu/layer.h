// SPDX-License-Identifier: Apache-2.0
// layer.h - reads a node of the graph as a layer of the chip.
#ifndef NPU_LAYER_H_
#define NPU_LAYER_H_

#include <byoc/plugin.h>

#include "chip.h"

typedef struct npu_layer_t {
  npu_command_t command; // all but addresses and records
  const byoc_value_t *inputs[2], *result;
  int32_t input_count;
  float input_scales[2];
  // Of NPU_CONV. `transposed`: the weights of output channel o are a column of the matrix, not a row.
  const int8_t *weights;
  const float *weight_scales;
  const int32_t *bias; // NULL: none
  int64_t weight_scale_count;
  int32_t is_transposed;
} npu_layer_t;

// The operators that npu_layer_read knows.
#define NPU_OPERATORS                                                                                                  \
  "QLinearConv", "QLinearMatMul", "com.microsoft::QGemm", "com.microsoft::QLinearAdd", "MaxPool", "Reshape", "Flatten"

// NULL, or the reason why the node is no layer of the chip. Pointers in the layer live as long as the module.
const char *npu_layer_read(const byoc_graph_api_t *graph, const byoc_node_t *node, npu_layer_t *out_layer);

#endif // NPU_LAYER_H_
