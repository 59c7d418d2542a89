// SPDX-License-Identifier: Apache-2.0
// function.h - one compiled sub-graph: the primitives to execute, in order, and the memory they work on.
//
// A value of the graph may lie in memory in several layouts, its versions. Each version is a descriptor on a buffer;
// buffers are the caller's tensors, the artifact's constants, repacked weights, or a part of the instance's arena.
// Building emits steps (primitives with the versions that they touch); reorders between versions are steps like any
// other, and run once at creation where their source is constant. Finishing assigns the buffers and creates the memory
// objects, so that a run sets the data pointers of the caller's tensors and executes.
#ifndef BYOC_DNNL_FUNCTION_H_
#define BYOC_DNNL_FUNCTION_H_

#include "engine/function/plain.h"
#include "engine/function/weights.h"
#include "engine/graph/graph.h"
#include "engine/library/library.h"
#include "engine/library/watch.h"

enum {
  BYOC_DNNL_BUFFER_INPUT,    // the caller's input `index`
  BYOC_DNNL_BUFFER_OUTPUT,   // the caller's output `index`
  BYOC_DNNL_BUFFER_CONSTANT, // constant `index`, read-only
  BYOC_DNNL_BUFFER_WEIGHTS,  // a constant in another layout
  BYOC_DNNL_BUFFER_ARENA,    // shared over time with other buffers
};

typedef struct byoc_dnnl_buffer_t {
  int32_t kind;
  int32_t index;
  uint64_t size_bytes;
  uint64_t offset;            // in the arena
  byoc_dnnl_packed_t *packed; // of weights
  int32_t first_step, last_step;
} byoc_dnnl_buffer_t;

typedef struct byoc_dnnl_version_t {
  dnnl_memory_desc_t desc;
  int32_t buffer;
  int32_t next; // version of the same value, or -1
  dnnl_memory_t memory;
} byoc_dnnl_version_t;

// An argument of a step: DNNL_ARG_* and the version it refers to.
typedef struct byoc_dnnl_argument_t {
  int32_t role;
  int32_t version;
} byoc_dnnl_argument_t;

typedef struct byoc_dnnl_step_t {
  dnnl_primitive_desc_t primitive_desc; // until the primitive is there
  dnnl_primitive_t primitive;
  dnnl_status_t created;
  byoc_dnnl_argument_t *arguments;
  dnnl_exec_arg_t *exec_arguments; // the same once memory objects exist, and the scratchpad
  int32_t argument_count;
  int32_t node; // that it was made for
  int32_t is_reorder;
  int32_t is_setup; // runs once, at creation
  dnnl_memory_desc_t scratchpad_desc;
  dnnl_memory_t scratchpad;
  byoc_dnnl_plain_t *plain; // in the place of a primitive; arguments as byoc_dnnl_add_plain_step has them
} byoc_dnnl_step_t;

// A memory object on one of the caller's tensors.
typedef struct byoc_dnnl_binding_t {
  dnnl_memory_t memory;
  int32_t tensor; // index in byoc_call_t.tensors
  void *data;     // as set last
} byoc_dnnl_binding_t;

typedef struct byoc_dnnl_function_t {
  const byoc_dnnl_api_t *api;
  dnnl_engine_t engine;
  byoc_dnnl_error_t *error; // while building
  uint64_t reserve_count;   // when building began
  const byoc_engine_function_t *description;
  int is_careful;   // keeps NaN throughout
  int may_lose_nan; // has a primitive that does not
  byoc_dnnl_graph_t graph;
  int32_t *value_versions; // first version of each value, or -1
  int32_t node;            // being built

  byoc_dnnl_buffer_t *buffers;
  uint32_t buffer_count, buffer_capacity;
  byoc_dnnl_version_t *versions;
  uint32_t version_count, version_capacity;
  byoc_dnnl_step_t *steps;
  uint32_t step_count, step_capacity;

  byoc_dnnl_binding_t *bindings;
  uint32_t binding_count;
  uint64_t arena_size_bytes, scratchpad_size_bytes;
  uint8_t *arena, *scratchpad; // that the memory objects are on
  byoc_dnnl_weights_t *weights;
} byoc_dnnl_function_t;

// Describes the primitives, which primitives.h creates. Takes over the graph, all of whose sizes are known; `weights`
// has to outlive the function. Call deinit after a failure too.
int32_t byoc_dnnl_function_build(const byoc_dnnl_api_t *api, dnnl_engine_t engine,
                                 const byoc_engine_function_t *description, int is_careful, byoc_dnnl_graph_t *graph,
                                 byoc_dnnl_weights_t *weights, byoc_dnnl_function_t *out_function,
                                 byoc_dnnl_error_t *error);

// Creates the memory objects on an arena and a scratchpad (of at least the sizes that building found; they may be
// shared by functions that never run at once) and repacks the constants.
int32_t byoc_dnnl_function_finish(byoc_dnnl_function_t *function, uint8_t *arena, uint8_t *scratchpad,
                                  dnnl_stream_t stream, byoc_dnnl_error_t *error);

// Moves the memory objects to another arena and scratchpad, where those are not what they are on.
int32_t byoc_dnnl_function_move(byoc_dnnl_function_t *function, uint8_t *arena, uint8_t *scratchpad,
                                byoc_dnnl_error_t *error);

// One call; `sink` may be NULL, and `watch`, which collects whether a NaN may be lost. Allocates nothing.
int32_t byoc_dnnl_function_run(byoc_dnnl_function_t *function, dnnl_stream_t stream, const byoc_call_t *call,
                               byoc_dnnl_watch_t *watch, byoc_engine_profile_sink_t sink, void *argument,
                               byoc_dnnl_error_t *error);

void byoc_dnnl_function_deinit(byoc_dnnl_function_t *function);

// Gives each arena buffer its offset, so that buffers that are alive at once don't overlap (memory_plan.c).
int32_t byoc_dnnl_function_plan_memory(byoc_dnnl_function_t *function);

#endif // BYOC_DNNL_FUNCTION_H_
