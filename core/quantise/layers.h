// SPDX-License-Identifier: Apache-2.0
// Chooses the layers of a model that compute in integers, and the values that become integers. Internal to
// core/quantise.
//
// A layer is a product (Conv, ConvTranspose, Gemm, MatMul) with the bias and the activation behind it, or an operator
// that follows such layers: an addition of two of their results, a pool, a concatenation, a movement.
#ifndef BYOC_CORE_QUANTISE_LAYERS_H_
#define BYOC_CORE_QUANTISE_LAYERS_H_

#include "core/quantise/graph.h"
#include "core/quantise/range.h"

typedef struct byoc_qlayer_t {
  const char *name; // byoc_qnode_name of its first node
  const char *op;
  uint32_t first, last; // nodes: the operator, and the bias or activation that ends it
  bool is_product;
  bool is_reported; // movements are not: they change nothing
} byoc_qlayer_t;

// A value that becomes integers.
typedef struct byoc_qparams_t {
  byoc_qvalue_t *value;
  struct byoc_qparams_t *shares; // the value whose scale it has; NULL: its own
  byoc_range_t range;
  byoc_scale_t scale;
} byoc_qparams_t;

typedef struct byoc_qplan_t {
  byoc_arena_t arena;
  uint32_t *layer_of; // for each node: 1 + the index of its layer; 0: it computes in floats
  byoc_qlayer_t *layers;
  size_t layer_count;
  byoc_map_t params; // pointer map: byoc_qvalue_t * → byoc_qparams_t *
} byoc_qplan_t;

typedef struct byoc_qlayer_options_t {
  const char *const *excluded; // names of layers that stay in floats
  size_t excluded_count;
  bool only_weights; // products by constant matrices only; no value becomes integers
} byoc_qlayer_options_t;

// BYOC_INVALID_ARGUMENT if a layer that is to be left out is not in the graph.
byoc_status_t byoc_qplan_open(byoc_qplan_t *plan, const byoc_qgraph_t *graph, const byoc_qlayer_options_t *options,
                              byoc_diag_t *diag);
void byoc_qplan_close(byoc_qplan_t *plan); // accepts one that is all zeros

// Does operand `operand` of node `node` carry data of its layer, as opposed to weights, biases and shapes?
bool byoc_qplan_is_data(const Onnx__NodeProto *node, uint32_t operand);
// The constant matrix or the filters of a product; NULL: it multiplies two activations.
byoc_qvalue_t *byoc_qlayer_weights(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, uint32_t *out_operand);
// Follows `shares`.
byoc_qparams_t *byoc_qparams_root(byoc_qparams_t *params);
byoc_qparams_t *byoc_qplan_params(const byoc_qplan_t *plan, const byoc_qvalue_t *value); // NULL: it stays as it is

#endif // BYOC_CORE_QUANTISE_LAYERS_H_
