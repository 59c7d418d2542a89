// SPDX-License-Identifier: Apache-2.0
// Layers whose weights have four bits, as exporters of language models write them: MatMulNBits of com.microsoft, or
// DequantizeLinear in blocks and MatMul.
#include <math.h>

#include "modelgen.h"

enum { BLOCK = 32, BITS = 4, LEVELS = 1 << BITS };
// The accuracy_level that lets data be rounded to bytes.
enum { LEVEL_OF_BYTES = 4 };

// Numbers of LEVELS uniform steps around 0 have a variance of (LEVELS² - 1) / 12 steps².
static void add_scales(modelgen_t *gen, const char *name, size_t rank, const int64_t *dims, int64_t fan_in) {
  float *scales = byoc_onnx_graph_initialiser(gen->graph, name, BYOC_DTYPE_F32, rank, dims);
  const float step = sqrtf(12.0f / ((float)(LEVELS * LEVELS - 1) * (float)fan_in));
  int64_t count = 1;
  for (size_t i = 0; i < rank; i++) count *= dims[i];
  for (int64_t i = 0; scales && i < count; i++) scales[i] = step;
}

const char *modelgen_nbits(modelgen_t *gen, const char *name, const char *x, int64_t inputs, int64_t outputs,
                           bool rounds) {
  const int64_t blocks = (inputs + BLOCK - 1) / BLOCK, dims[3] = {outputs, blocks, BLOCK * BITS / 8};
  const char *weight = modelgen_text(gen, "%s.weight_Q4", name), *scale = modelgen_text(gen, "%s.weight_scales", name);
  const char *y = modelgen_text(gen, "%s_output", name);
  modelgen_bytes(gen, weight, BYOC_DTYPE_U8, 3, dims);
  add_scales(gen, scale, 2, dims, inputs);
  byoc_onnx_node_t *node =
      byoc_onnx_graph_node(gen->graph, "MatMulNBits", name, modelgen_text(gen, "%s,%s,%s", x, weight, scale), y);
  byoc_onnx_node_set_domain(node, "com.microsoft");
  byoc_onnx_node_int(node, "K", inputs);
  byoc_onnx_node_int(node, "N", outputs);
  byoc_onnx_node_int(node, "bits", BITS);
  byoc_onnx_node_int(node, "block_size", BLOCK);
  if (rounds) byoc_onnx_node_int(node, "accuracy_level", LEVEL_OF_BYTES);
  return y;
}

const char *modelgen_blocked(modelgen_t *gen, const char *name, int64_t rows, int64_t columns, int axis,
                             int64_t fan_in) {
  const int64_t dims[2] = {rows, columns};
  const int64_t blocks[2] = {axis == 0 ? (rows + BLOCK - 1) / BLOCK : rows,
                             axis == 1 ? (columns + BLOCK - 1) / BLOCK : columns};
  const char *weight = modelgen_text(gen, "%s_Q4", name), *scale = modelgen_text(gen, "%s_scales", name);
  modelgen_bytes(gen, weight, BYOC_DTYPE_I4, 2, dims);
  add_scales(gen, scale, 2, blocks, fan_in);
  byoc_onnx_node_t *node =
      byoc_onnx_graph_node(gen->graph, "DequantizeLinear", modelgen_text(gen, "%s/Dequantize", name),
                           modelgen_text(gen, "%s,%s", weight, scale), name);
  byoc_onnx_node_int(node, "axis", axis);
  byoc_onnx_node_int(node, "block_size", BLOCK);
  return name;
}
