// SPDX-License-Identifier: Apache-2.0
// draft.h - a sub-graph on its way to JSON: the engine's operators (engine/function/operators.def) over numbered
// values, built node by node in the model's order, with elementwise nodes folded into the one that makes their operand.
#ifndef BYOC_DNNL_DRAFT_H_
#define BYOC_DNNL_DRAFT_H_

#include <jansson.h>
#include <stdint.h>

#include "engine/graph/layout.h"
#include "shape.h"

typedef struct byoc_dnnl_draft_value_t {
  byoc_dnnl_shape_t shape;
  const byoc_value_t *source; // in the model, or NULL
  int32_t constant;           // or -1
  int32_t producer;           // node, or -1
  json_t *layout;             // of a packed constant, or of an input or output in blocks; NULL: row-major
} byoc_dnnl_draft_value_t;

typedef struct byoc_dnnl_draft_constant_t {
  const float *data;
  uint64_t size_bytes;
  float *owned; // if `data` is not the model's own
} byoc_dnnl_draft_constant_t;

typedef struct byoc_dnnl_draft_node_t {
  const char *name;
  const char *op; // NULL: the node was moved
  int32_t *inputs;
  uint32_t input_count;
  int32_t output, more[2]; // further results, or -1
  json_t *attributes;
  json_t *post_ops;
} byoc_dnnl_draft_node_t;

typedef struct byoc_dnnl_draft_t {
  const byoc_graph_api_t *graph;
  byoc_dnnl_sizes_t sizes;
  const char *convolution_algorithm; // option: "direct" or "auto"
  int64_t shape_limit;               // option: shapes that a context keeps primitives for
  byoc_dnnl_draft_value_t *values;
  uint32_t value_count, value_capacity;
  byoc_dnnl_draft_constant_t *constants;
  uint32_t constant_count, constant_capacity;
  byoc_dnnl_draft_node_t *nodes;
  uint32_t node_count, node_capacity;
  int failed; // out of memory: later calls have no effect, and values are -1
} byoc_dnnl_draft_t;

void byoc_dnnl_draft_init(const byoc_graph_api_t *graph, byoc_dnnl_draft_t *out_draft);
void byoc_dnnl_draft_deinit(byoc_dnnl_draft_t *draft);

// The draft's value for one of the model's; constants and parameters are added when first met.
int32_t byoc_dnnl_draft_value(byoc_dnnl_draft_t *draft, const byoc_value_t *value);
// A value that the model does not have.
int32_t byoc_dnnl_draft_temporary(byoc_dnnl_draft_t *draft, const byoc_dnnl_shape_t *shape);
// A constant of its own; takes over `data`, allocated by malloc.
int32_t byoc_dnnl_draft_constant(byoc_dnnl_draft_t *draft, const byoc_dnnl_shape_t *shape, float *data);
// The constant with other dimensions, sharing the data. `value` must be a constant.
int32_t byoc_dnnl_draft_reshaped_constant(byoc_dnnl_draft_t *draft, int32_t value, const byoc_dnnl_shape_t *shape);
const float *byoc_dnnl_draft_constant_data(const byoc_dnnl_draft_t *draft, int32_t value); // NULL: no constant

// Appends a node. Takes over `attributes` (NULL: none). An input of -1 is left out.
void byoc_dnnl_draft_node(byoc_dnnl_draft_t *draft, const char *name, const char *op, const int32_t *inputs,
                          uint32_t input_count, int32_t output, json_t *attributes);
// Further results of the node that was appended last; -1 for one that is left out.
void byoc_dnnl_draft_more_results(byoc_dnnl_draft_t *draft, const int32_t more[2]);
// A view with other dimensions.
int32_t byoc_dnnl_draft_reshape(byoc_dnnl_draft_t *draft, const char *name, int32_t value,
                                const byoc_dnnl_shape_t *shape);

// Elementwise nodes; they become post-ops of their operand's producer if nothing else needs that operand.
void byoc_dnnl_draft_eltwise(byoc_dnnl_draft_t *draft, const char *name, const char *algorithm, double alpha,
                             double beta, int32_t input, int32_t output);
void byoc_dnnl_draft_binary(byoc_dnnl_draft_t *draft, const char *name, const char *algorithm, int32_t left,
                            int32_t right, int32_t output);
// Multiplies the weights of the convolution that makes `input` by one factor per channel and adds one shift per
// channel, making `output` its result. Returns 0, without an effect, if there is no such convolution.
int byoc_dnnl_draft_scale_convolution(byoc_dnnl_draft_t *draft, int32_t input, int32_t output, const double *factors,
                                      const double *shifts);

// Drops constants that no node reads (folded ones), numbering the others anew.
void byoc_dnnl_draft_prune(byoc_dnnl_draft_t *draft, const int32_t *outputs, uint32_t output_count);

// The finished JSON; *out_size does not count the NUL. Release it with free. NULL if out of memory.
char *byoc_dnnl_draft_emit(const byoc_dnnl_draft_t *draft, const int32_t *inputs, uint32_t input_count,
                           const int32_t *outputs, uint32_t output_count, uint64_t *out_size);

#endif // BYOC_DNNL_DRAFT_H_
