// SPDX-License-Identifier: Apache-2.0
// The state of the ONNX writer. For core/frontend/onnx_write.c and onnx_pack.c, and for tests that write models it
// cannot.
#ifndef BYOC_CORE_FRONTEND_ONNX_WRITE_INTERNAL_H_
#define BYOC_CORE_FRONTEND_ONNX_WRITE_INTERNAL_H_

#include "core/base/arena.h"
#include "core/base/file_memory.h"
#include "core/frontend/onnx_write.h"
#include "onnx.pb-c.h"

struct byoc_onnx_graph_t {
  byoc_onnx_model_t *model;
  Onnx__GraphProto *graph;       // NULL for a function
  Onnx__FunctionProto *function; // NULL for a graph
};

struct byoc_onnx_node_t {
  byoc_onnx_model_t *model;
  Onnx__NodeProto *node;
};

struct byoc_onnx_model_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  bool failed; // memory ran out
  Onnx__ModelProto message;
  byoc_onnx_graph_t graph;
  byoc_file_memory_t *data; // large initialisers; NULL: they are in the model
  char *data_path;          // NULL once the model is written
  byoc_diag_t data_diag;    // why an initialiser could not be kept there
};

enum { BYOC_ONNX_LARGE_BYTES = 64 << 10 }; // initialisers that go into a file of their own
// Lets the tensor refer to its bytes in the file of data `path`; raw_data has their number.
void byoc_onnx_refer(byoc_onnx_model_t *model, Onnx__TensorProto *tensor, const char *path, uint64_t offset);

#endif // BYOC_CORE_FRONTEND_ONNX_WRITE_INTERNAL_H_
