// SPDX-License-Identifier: Apache-2.0
// The graph of an ONNX model by its values: who makes and who reads each of them. Internal to core/quantise.
//
// Example:
//   byoc_qgraph_t graph;
//   BYOC_RETURN_IF_ERROR(byoc_qgraph_open(&graph, model, module, diag));
//   byoc_qvalue_t *x = byoc_qgraph_value(&graph, "x");
//   if (byoc_qvalue_has_one_reader(x)) x->reader_count = 0;
//   byoc_qgraph_close(&graph);
#ifndef BYOC_CORE_QUANTISE_GRAPH_H_
#define BYOC_CORE_QUANTISE_GRAPH_H_

#include "core/base/map.h"
#include "core/frontend/onnx_edit.h"
#include "core/ir/graph.h"

typedef struct byoc_qreader_t {
  uint32_t node, operand;
} byoc_qreader_t;

typedef struct byoc_qvalue_t {
  const char *name;
  int32_t producer;                // a node of the graph; -1: an input or a constant
  const Onnx__TensorProto *tensor; // of an initialiser or a Constant node; NULL: it is computed
  const byoc_type_t *type;         // of what is computed; NULL: not known
  bool is_input, is_output;
  bool is_read_inside; // by a nested graph
  byoc_qreader_t *readers;
  size_t reader_count;
} byoc_qvalue_t;

typedef struct byoc_qgraph_t {
  byoc_onnx_model_t *model;
  Onnx__GraphProto *message; // the model's main graph
  byoc_arena_t arena;
  byoc_map_t values; // text map → byoc_qvalue_t *
} byoc_qgraph_t;

// Builds it. `module` is the same model as byoc reads it, for the types; both outlive the graph. Call it again after
// nodes or constants were changed.
byoc_status_t byoc_qgraph_open(byoc_qgraph_t *graph, byoc_onnx_model_t *model, const byoc_graph_module_t *module,
                               byoc_diag_t *diag);
void byoc_qgraph_close(byoc_qgraph_t *graph); // accepts one that is all zeros

byoc_qvalue_t *byoc_qgraph_value(const byoc_qgraph_t *graph, const char *name);
// Operand `index` of a node; NULL if it is left out.
byoc_qvalue_t *byoc_qgraph_operand(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, size_t index);
// The node's first result.
byoc_qvalue_t *byoc_qgraph_result(const byoc_qgraph_t *graph, const Onnx__NodeProto *node);
// The node that makes the value; NULL for inputs and constants.
Onnx__NodeProto *byoc_qgraph_producer(const byoc_qgraph_t *graph, const byoc_qvalue_t *value);
// The elements of a constant of f32; NULL for any other value.
const float *byoc_qvalue_floats(const byoc_qgraph_t *graph, const byoc_qvalue_t *value);
// Is it computed, of f32?
bool byoc_qvalue_is_activation(const byoc_qvalue_t *value);
// Is there one reader, in this graph, and is the value no output of it?
bool byoc_qvalue_has_one_reader(const byoc_qvalue_t *value);
// Its rank; -1: not known.
int32_t byoc_qvalue_rank(const byoc_qvalue_t *value);
// The node's own name, or else that of its first result.
const char *byoc_qnode_name(const Onnx__NodeProto *node);
// Is the node, or one of its results, called `name`?
bool byoc_qnode_is_named(const Onnx__NodeProto *node, const char *name);
// Is it a Gemm that reads its matrix as [outputs][inputs], by transB?
bool byoc_qnode_is_turned(const Onnx__NodeProto *node);
// A name that no value of the model has: `base` with `suffix`, and perhaps a number. In the model's arena; NULL if out
// of memory. `taken` (text map) gets it.
const char *byoc_qgraph_new_name(byoc_onnx_model_t *model, byoc_map_t *taken, const char *base, const char *suffix);
// Adds an initialiser of such a name, whose bytes the caller fills; NULL if out of memory.
void *byoc_qgraph_add_initialiser(byoc_onnx_model_t *model, byoc_map_t *taken, const char *base, const char *suffix,
                                  byoc_dtype_t dtype, size_t rank, const int64_t *dims, const char **out_name);
// Gives a graph of the model these nodes.
byoc_status_t byoc_qgraph_set_nodes(byoc_onnx_model_t *model, Onnx__GraphProto *message, Onnx__NodeProto *const *nodes,
                                    size_t count, byoc_diag_t *diag);
// Adds the names of all values to a text map, nested graphs included.
byoc_status_t byoc_qgraph_names(const Onnx__GraphProto *message, byoc_map_t *taken, byoc_diag_t *diag);

#endif // BYOC_CORE_QUANTISE_GRAPH_H_
