// SPDX-License-Identifier: Apache-2.0
// graph.h - the description of one sub-graph, read from its JSON (docs/dnnl.md has the schema) and checked.
#ifndef BYOC_DNNL_GRAPH_H_
#define BYOC_DNNL_GRAPH_H_

#include <dnnl.h>
#include <jansson.h>

#include "byoc/engine.h"
#include "engine/library/error.h"

#define BYOC_DNNL_SCHEMA_VERSION 1

// A tensor of f32. Scalars (rank 0 in the model) have one dimension of 1 here, as oneDNN knows no rank 0.
typedef struct byoc_dnnl_value_t {
  int32_t rank;
  dnnl_dims_t dims; // negative: dynamic; 0 only once dynamic sizes are known
  int32_t input;    // index among the function's inputs, or -1
  int32_t output;   // index among the function's outputs, or -1
  int32_t constant; // index among the function's constants, or -1
  // The layout of a constant's, an input's or an output's bytes if they are not dense row-major: see
  // byoc_dnnl_layout_parse.
  int32_t has_layout;
  dnnl_memory_desc_t layout;
  int32_t producer; // node, or -1
  int32_t alias;    // the value that this one is a view of (reshape, transpose, slice), or -1
  // The output whose memory holds this value's bytes: itself, or a reshape of it; -1 if there is none.
  int32_t direct_output;
  int32_t last_use; // of a value that is no view: the last node that reads it or a view of it; -1 where none does
} byoc_dnnl_value_t;

enum { BYOC_DNNL_POST_ELTWISE = 1, BYOC_DNNL_POST_BINARY = 2 };

typedef struct byoc_dnnl_post_op_t {
  int32_t kind;
  dnnl_alg_kind_t algorithm;
  float alpha, beta; // eltwise
  int32_t value;     // binary: the second operand
} byoc_dnnl_post_op_t;

typedef struct byoc_dnnl_node_t {
  const char *name; // for messages and profiles; lives in the JSON tree
  const char *op;
  const json_t *attributes; // an object, or NULL
  int32_t *inputs;          // values; -1 where left out
  uint32_t input_count;
  int32_t output;  // every operator has one
  int32_t more[2]; // further results, or -1
  byoc_dnnl_post_op_t *post_ops;
  uint32_t post_op_count;
} byoc_dnnl_node_t;

typedef struct byoc_dnnl_graph_t {
  const char *symbol; // of the function, for messages
  json_t *root;
  byoc_dnnl_value_t *values;
  uint32_t value_count;
  byoc_dnnl_node_t *nodes; // topological order
  uint32_t node_count;
  int32_t *inputs; // values
  uint32_t input_count;
  int32_t *outputs;
  uint32_t output_count;
  uint32_t open_count; // dynamic sizes (open_sizes.h); 0: all dimensions are constant
  int64_t shape_limit; // shapes to keep primitives for, if there are any
} byoc_dnnl_graph_t;

// Fills *out_graph (deinit it in either case). The function's JSON and symbol have to outlive it.
int32_t byoc_dnnl_graph_init(const byoc_engine_function_t *function, byoc_dnnl_graph_t *out_graph,
                             byoc_dnnl_error_t *error);
void byoc_dnnl_graph_deinit(byoc_dnnl_graph_t *graph);

// Fails, with a message, if a call has another number of tensors.
int32_t byoc_dnnl_graph_check_call(const byoc_dnnl_graph_t *graph, const byoc_call_t *call, byoc_dnnl_error_t *error);

// The value that owns the memory which this one shows.
int32_t byoc_dnnl_graph_root_value(const byoc_dnnl_graph_t *graph, int32_t value);

// Attributes of a node, with the default for one that is absent.
int64_t byoc_dnnl_node_int(const byoc_dnnl_node_t *node, const char *name, int64_t fallback);
float byoc_dnnl_node_float(const byoc_dnnl_node_t *node, const char *name, float fallback);
const char *byoc_dnnl_node_string(const byoc_dnnl_node_t *node, const char *name, const char *fallback);
// Exactly `count` integers, all of them `fallback` where the attribute is absent. Returns 0 where it is malformed.
int byoc_dnnl_node_ints(const byoc_dnnl_node_t *node, const char *name, int64_t fallback, int32_t count,
                        int64_t *out_values);

// oneDNN's number for the name of an algorithm ("relu", "add", "mean" ...); dnnl_alg_kind_undef if that kind
// ("eltwise", "binary", "reduction") has no such algorithm.
dnnl_alg_kind_t byoc_dnnl_algorithm(const char *kind, const char *name);

#endif // BYOC_DNNL_GRAPH_H_
