// SPDX-License-Identifier: Apache-2.0
// The ONNX writer: build a model node by node, then write it.
//
// Example:
//   byoc_onnx_model_t *model = byoc_onnx_model_create(allocator, "tiny", 17);
//   byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
//   byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "N,4");
//   float *w = byoc_onnx_graph_initialiser(graph, "w", BYOC_DTYPE_F32, 2, (const int64_t[]){4, 2});
//   for (int i = 0; i < 8; ++i) w[i] = 0.5f;
//   byoc_onnx_graph_node(graph, "MatMul", "mm", "x,w", "y");
//   byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "N,2");
//   byoc_status_t status = byoc_onnx_model_write(model, "tiny.onnx", diag);
//   byoc_onnx_model_destroy(model);
//
// Everything lives in the model. If memory runs out, _write and _pack report it, so the calls in between need no
// checks; those that return a pointer then return NULL, which every other call accepts. Lists of names are
// comma-separated; an empty place is an omitted optional input. Shapes are comma-separated too: a number, a symbol, or
// "?" for a dynamic dimension; "" is a scalar, NULL is no shape.
#ifndef BYOC_CORE_FRONTEND_ONNX_WRITE_H_
#define BYOC_CORE_FRONTEND_ONNX_WRITE_H_

#include "byoc/dtype.h"
#include "core/base/allocator.h"
#include "core/base/diag.h"

typedef struct byoc_onnx_model_t byoc_onnx_model_t;
typedef struct byoc_onnx_graph_t byoc_onnx_graph_t; // the model's graph, a nested one, or the body of a local function
typedef struct byoc_onnx_node_t byoc_onnx_node_t;

// IR version 8, producer "byoc". NULL if out of memory.
byoc_onnx_model_t *byoc_onnx_model_create(byoc_allocator_t allocator, const char *graph_name, int64_t opset);
void byoc_onnx_model_destroy(byoc_onnx_model_t *model); // accepts NULL
byoc_onnx_graph_t *byoc_onnx_model_graph(byoc_onnx_model_t *model);
void byoc_onnx_model_import(byoc_onnx_model_t *model, const char *domain, int64_t version);
void byoc_onnx_model_set_ir_version(byoc_onnx_model_t *model, int64_t ir_version);
// A graph for an attribute of If, Loop or Scan.
byoc_onnx_graph_t *byoc_onnx_model_nested_graph(byoc_onnx_model_t *model, const char *name);

// Makes later initialisers of 64 KiB and more go into a separate file, for models of more than 2 GiB: the pages of an
// initialiser leave memory when the next one is made. `path` must be in the model's folder. The file is removed if the
// model is not written.
byoc_status_t byoc_onnx_model_keep_data_in(byoc_onnx_model_t *model, const char *path, byoc_diag_t *diag);

void byoc_onnx_graph_input(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, const char *shape);
void byoc_onnx_graph_output(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, const char *shape);
// Raw data for the caller to fill (cleared to zero); NULL if out of memory. Not for strings.
void *byoc_onnx_graph_initialiser(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, size_t rank,
                                  const int64_t *dims);
// The same, copied.
void byoc_onnx_graph_initialiser_data(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, size_t rank,
                                      const int64_t *dims, const void *data);

byoc_onnx_node_t *byoc_onnx_graph_node(byoc_onnx_graph_t *graph, const char *op, const char *name, const char *inputs,
                                       const char *outputs);
void byoc_onnx_node_set_domain(byoc_onnx_node_t *node, const char *domain);
void byoc_onnx_node_int(byoc_onnx_node_t *node, const char *name, int64_t value);
void byoc_onnx_node_float(byoc_onnx_node_t *node, const char *name, float value);
void byoc_onnx_node_string(byoc_onnx_node_t *node, const char *name, const char *value);
void byoc_onnx_node_ints(byoc_onnx_node_t *node, const char *name, const int64_t *values, size_t count);
void byoc_onnx_node_graph(byoc_onnx_node_t *node, const char *name, byoc_onnx_graph_t *value);

// Memory that lives as long as the model, for strings of attributes.
void *byoc_onnx_model_allocate(byoc_onnx_model_t *model, size_t size_bytes);

// Writes the whole file or nothing. The same model gives the same bytes.
byoc_status_t byoc_onnx_model_write(byoc_onnx_model_t *model, const char *path, byoc_diag_t *diag);
// Gives the file's bytes in memory from the model's allocator; free them with byoc_free.
byoc_status_t byoc_onnx_model_pack(byoc_onnx_model_t *model, byoc_diag_t *diag, uint8_t **out_data,
                                   size_t *out_size_bytes);

#endif // BYOC_CORE_FRONTEND_ONNX_WRITE_H_
