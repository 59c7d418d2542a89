// SPDX-License-Identifier: Apache-2.0
// graph.h - a function's JSON as a subgraph of XNNPACK, and its boundary.
#ifndef XNNPACK_ENGINE_GRAPH_H_
#define XNNPACK_ENGINE_GRAPH_H_

#include <stdint.h>

#include "byoc/engine.h"
#include "json.h"
#include "library.h"

#define XNNPACK_MESSAGE_SIZE 256

// A value as XNNPACK has it: row-major, but [N, H, W, C] with four dimensions.
typedef struct xnnpack_value_t {
  uint32_t id; // XNN_INVALID_VALUE_ID until it is defined
  uint32_t rank;
  size_t dims[XNN_MAX_TENSOR_DIMS];
} xnnpack_value_t;

// What the definition of a node sees.
typedef struct xnnpack_graph_t {
  const xnnpack_library_t *library;
  xnn_subgraph_t subgraph;
  xnnpack_value_t *values;
  uint32_t value_count;
  char *message; // XNNPACK_MESSAGE_SIZE bytes: why something failed
} xnnpack_graph_t;

// One input or output: the artifact's tensor is row-major; the buffer belongs to the engine and has XNNPACK's layout.
typedef struct xnnpack_port_t {
  uint32_t id;
  int64_t batch, channels, pixels; // the tensor is [batch, channels, pixels], the buffer [batch, pixels, channels]
  float *buffer;
} xnnpack_port_t;

typedef struct xnnpack_function_t {
  xnn_runtime_t runtime;
  xnnpack_port_t *ports; // the inputs, then the outputs
  uint32_t input_count, output_count;
} xnnpack_function_t;

// Builds a function; deinit releases what it has, of one that could not be built as well. On failure returns a status
// and writes the reason into `message`.
int32_t xnnpack_function_init(const xnnpack_library_t *library, const byoc_engine_function_t *source,
                              pthreadpool_t threads, xnnpack_function_t *out_function, char *message);
void xnnpack_function_deinit(const xnnpack_library_t *library, xnnpack_function_t *function);

// Defines a node. Returns a status, and the reason in graph->message.
int32_t xnnpack_define_node(xnnpack_graph_t *graph, const xnnpack_json_t *node);

#endif // XNNPACK_ENGINE_GRAPH_H_
