// SPDX-License-Identifier: Apache-2.0
// Creates, runs and destroys one compiled sub-graph.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "engine/function/function.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/function/build.h"
#include "engine/library/out_of_memory.h"

static const struct {
  const char *name;
  byoc_dnnl_operator_t build;
} operators[] = {
#define BYOC_DNNL_OPERATOR(name) {#name, byoc_dnnl_build_##name},
#include "engine/function/operators.def"
#undef BYOC_DNNL_OPERATOR
};

static int is_empty(const byoc_dnnl_value_t *value) {
  for (int32_t i = 0; i < value->rank; ++i)
    if (value->dims[i] == 0) return 1;
  return 0;
}

// True if a version of an output lies in the caller's tensor.
static int output_is_written(const byoc_dnnl_function_t *function, int32_t value) {
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  for (int32_t i = function->value_versions[value]; i >= 0; i = function->versions[i].next) {
    const byoc_dnnl_buffer_t *buffer = &function->buffers[function->versions[i].buffer];
    if (buffer->kind == BYOC_DNNL_BUFFER_OUTPUT && buffer->index == v->output) return 1;
  }
  return 0;
}

static int32_t write_output(byoc_dnnl_function_t *function, int32_t value) {
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  if (v->output < 0 || is_empty(v) || output_is_written(function, value)) return BYOC_OK;
  int32_t from = -1, to = -1;
  dnnl_memory_desc_t wanted;
  byoc_dnnl_layout_plain(v->rank, v->dims, &wanted);
  if (v->has_layout) wanted = v->layout;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, value, NULL, &from));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_result(function, value, &wanted, &to));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_add_reorder(function, from, to));
  byoc_dnnl_define(function, value, to); // written once, before anything overwrites `from`
  return BYOC_OK;
}

// Results without elements need no step.
static int has_no_results(const byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  for (int i = 0; i < 2; ++i)
    if (node->more[i] >= 0 && !is_empty(&function->graph.values[node->more[i]])) return 0;
  return is_empty(&function->graph.values[node->output]);
}

// A value that is not empty is made from empty ones by concatenation only.
static int32_t check_elements(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  if (strcmp(node->op, "concat") == 0) return BYOC_OK;
  int has_empty = 0;
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (node->inputs[i] >= 0 && is_empty(&function->graph.values[node->inputs[i]])) has_empty = 1;
  if (!has_empty) return BYOC_OK;
  return byoc_dnnl_node_fail(
      function, BYOC_UNSUPPORTED,
      "oneDNN makes no result from an operand without elements; build without dnnl for such sizes");
}

static int32_t build_node(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
    if (strcmp(operators[i].name, node->op) != 0) continue;
    if (has_no_results(function, node)) return BYOC_OK;
    BYOC_DNNL_RETURN_IF_ERROR(check_elements(function, node));
    BYOC_DNNL_RETURN_IF_ERROR(operators[i].build(function, node));
    for (int k = 0; k < 2; ++k)
      if (node->more[k] >= 0) BYOC_DNNL_RETURN_IF_ERROR(write_output(function, node->more[k]));
    BYOC_DNNL_RETURN_IF_ERROR(write_output(function, node->output));
    return byoc_dnnl_check_memory(function);
  }
  return byoc_dnnl_node_fail(function, BYOC_UNSUPPORTED, "this engine has no such operator");
}

int32_t byoc_dnnl_function_build(const byoc_dnnl_api_t *api, dnnl_engine_t engine,
                                 const byoc_engine_function_t *description, int is_careful, byoc_dnnl_graph_t *graph,
                                 byoc_dnnl_weights_t *weights, byoc_dnnl_function_t *out_function,
                                 byoc_dnnl_error_t *error) {
  memset(out_function, 0, sizeof(*out_function));
  out_function->api = api;
  out_function->engine = engine;
  out_function->description = description;
  out_function->is_careful = is_careful;
  out_function->error = error;
  out_function->node = -1;
  out_function->reserve_count = byoc_dnnl_reserve_count();
  out_function->weights = weights;
  out_function->graph = *graph;
  memset(graph, 0, sizeof(*graph));
  graph = &out_function->graph;
  out_function->value_versions = malloc(((size_t)graph->value_count + 1) * sizeof(*out_function->value_versions));
  if (out_function->value_versions == NULL)
    return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "%s: out of memory", graph->symbol);
  for (uint32_t i = 0; i < graph->value_count; ++i) out_function->value_versions[i] = -1;
  for (uint32_t i = 0; i < graph->node_count; ++i) {
    out_function->node = (int32_t)i;
    BYOC_DNNL_RETURN_IF_ERROR(build_node(out_function, &graph->nodes[i]));
  }
  for (uint32_t i = 0; i < graph->output_count; ++i) // outputs that no node makes: inputs and constants
    BYOC_DNNL_RETURN_IF_ERROR(write_output(out_function, graph->outputs[i]));
  if (byoc_dnnl_function_plan_memory(out_function) != BYOC_OK)
    return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "%s: out of memory", graph->symbol);
  return BYOC_OK;
}

static int32_t create_memory(byoc_dnnl_function_t *function, byoc_dnnl_version_t *version, uint8_t *arena) {
  const byoc_dnnl_buffer_t *buffer = &function->buffers[version->buffer];
  dnnl_memory_desc_t desc = version->desc;
  void *data = NULL;
  int32_t tensor = -1;
  switch (buffer->kind) {
  case BYOC_DNNL_BUFFER_INPUT:
    tensor = buffer->index;
    break;
  case BYOC_DNNL_BUFFER_OUTPUT:
    tensor = (int32_t)function->graph.input_count + buffer->index;
    break;
  case BYOC_DNNL_BUFFER_CONSTANT: {
    const DLTensor *constant = &function->description->constants[buffer->index];
    data = (uint8_t *)constant->data + constant->byte_offset;
    // A memory object writes zeros into the padding of its data, which fails on read-only pages. Packed constants have
    // those zeros already, and primitives use their own descriptor: with dimensions of whole blocks nothing is written.
    memcpy(desc.dims, desc.padded_dims, sizeof(desc.dims));
    break;
  }
  case BYOC_DNNL_BUFFER_WEIGHTS:
    data = buffer->packed->data;
    break;
  default:
    data = arena + buffer->offset;
    break;
  }
  BYOC_DNNL_RETURN_IF_ERROR(
      byoc_dnnl_check(function, function->api->dnnl_memory_create(&version->memory, &desc, function->engine, data),
                      "create a memory object"));
  if (tensor >= 0) function->bindings[function->binding_count++] = (byoc_dnnl_binding_t){version->memory, tensor, NULL};
  return BYOC_OK;
}

static int32_t bind_step(byoc_dnnl_function_t *function, byoc_dnnl_step_t *step, uint8_t *arena, uint8_t *scratchpad) {
  for (int32_t i = 0; i < step->argument_count; ++i) {
    byoc_dnnl_version_t *version = &function->versions[step->arguments[i].version];
    if (version->memory == NULL) BYOC_DNNL_RETURN_IF_ERROR(create_memory(function, version, arena));
    step->exec_arguments[i] = (dnnl_exec_arg_t){step->arguments[i].role, version->memory};
  }
  if (step->scratchpad_desc.ndims == 0) return BYOC_OK;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      function->api->dnnl_memory_create(&step->scratchpad, &step->scratchpad_desc, function->engine, scratchpad),
      "create a memory object"));
  step->exec_arguments[step->argument_count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, step->scratchpad};
  return BYOC_OK;
}

static int32_t execute_plain(const byoc_dnnl_function_t *function, const byoc_dnnl_step_t *step,
                             byoc_dnnl_error_t *error) {
  void *data[3] = {NULL, NULL, NULL};
  for (int32_t i = 0; i < step->argument_count; ++i)
    if (function->api->dnnl_memory_get_data_handle(step->exec_arguments[i].memory, &data[i]) != dnnl_success)
      return byoc_dnnl_fail(error, BYOC_INTERNAL, "%s: oneDNN has no address of a tensor", function->graph.symbol);
  byoc_dnnl_plain_run(step->plain, data[0], data[2], data[1]);
  return BYOC_OK;
}

static int32_t execute(const byoc_dnnl_function_t *function, const byoc_dnnl_step_t *step, dnnl_stream_t stream,
                       byoc_dnnl_error_t *error) {
  if (step->plain != NULL) return execute_plain(function, step, error);
  dnnl_status_t status =
      function->api->dnnl_primitive_execute(step->primitive, stream, step->argument_count, step->exec_arguments);
  if (status == dnnl_success) return BYOC_OK;
  if (status == dnnl_out_of_memory)
    return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "%s: node %s: oneDNN is out of memory", function->graph.symbol,
                          function->graph.nodes[step->node].name);
  return byoc_dnnl_fail(error, BYOC_INTERNAL, "%s: node %s: oneDNN failed: %s", function->graph.symbol,
                        function->graph.nodes[step->node].name, function->api->dnnl_status2str(status));
}

int32_t byoc_dnnl_function_finish(byoc_dnnl_function_t *function, uint8_t *arena, uint8_t *scratchpad,
                                  dnnl_stream_t stream, byoc_dnnl_error_t *error) {
  function->error = error;
  function->node = -1;
  function->bindings = malloc(((size_t)function->version_count + 1) * sizeof(*function->bindings));
  function->arena = arena;
  function->scratchpad = scratchpad;
  if (function->bindings == NULL)
    return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "%s: out of memory", function->graph.symbol);
  for (uint32_t i = 0; i < function->step_count; ++i)
    BYOC_DNNL_RETURN_IF_ERROR(bind_step(function, &function->steps[i], arena, scratchpad));
  for (uint32_t i = 0; i < function->step_count; ++i)
    if (function->steps[i].is_setup) BYOC_DNNL_RETURN_IF_ERROR(execute(function, &function->steps[i], stream, error));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(function, function->api->dnnl_stream_wait(stream), "repack the constants"));
  return byoc_dnnl_check_memory(function);
}

int32_t byoc_dnnl_function_move(byoc_dnnl_function_t *function, uint8_t *arena, uint8_t *scratchpad,
                                byoc_dnnl_error_t *error) {
  if (function->arena == arena && function->scratchpad == scratchpad) return BYOC_OK;
  dnnl_status_t status = dnnl_success;
  for (uint32_t i = 0; status == dnnl_success && i < function->version_count; ++i) {
    const byoc_dnnl_version_t *version = &function->versions[i];
    const byoc_dnnl_buffer_t *buffer = &function->buffers[version->buffer];
    if (version->memory != NULL && buffer->kind == BYOC_DNNL_BUFFER_ARENA)
      status = function->api->dnnl_memory_set_data_handle(version->memory, arena + buffer->offset);
  }
  for (uint32_t i = 0; status == dnnl_success && i < function->step_count; ++i)
    if (function->steps[i].scratchpad != NULL)
      status = function->api->dnnl_memory_set_data_handle(function->steps[i].scratchpad, scratchpad);
  if (status != dnnl_success)
    return byoc_dnnl_fail(error, BYOC_INTERNAL, "%s: oneDNN refuses an arena", function->graph.symbol);
  function->arena = arena;
  function->scratchpad = scratchpad;
  return BYOC_OK;
}

static uint64_t now_ns(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time); // cannot fail for this clock
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int32_t byoc_dnnl_function_run(byoc_dnnl_function_t *function, dnnl_stream_t stream, const byoc_call_t *call,
                               byoc_dnnl_watch_t *watch, byoc_engine_profile_sink_t sink, void *argument,
                               byoc_dnnl_error_t *error) {
  const byoc_dnnl_api_t *api = function->api;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_graph_check_call(&function->graph, call, error));
  for (uint32_t i = 0; i < function->binding_count; ++i) {
    byoc_dnnl_binding_t *binding = &function->bindings[i];
    const DLTensor *tensor = &call->tensors[binding->tensor];
    void *data = (uint8_t *)tensor->data + tensor->byte_offset;
    if (data == binding->data) continue;
    if (api->dnnl_memory_set_data_handle(binding->memory, data) != dnnl_success)
      return byoc_dnnl_fail(error, BYOC_INTERNAL, "%s: oneDNN refuses a tensor", function->graph.symbol);
    binding->data = data;
  }
  for (uint32_t i = 0; i < function->step_count; ++i) {
    const byoc_dnnl_step_t *step = &function->steps[i];
    if (step->is_setup) continue;
    uint64_t begin = sink != NULL ? now_ns() : 0;
    int32_t status = execute(function, step, stream, error);
    if (status != BYOC_OK) return status;
    if (watch != NULL && watch->each_step) byoc_dnnl_watch_step(api, watch);
    // Reorders count for the node that asked for them.
    if (sink != NULL) sink(argument, function->graph.nodes[step->node].name, now_ns() - begin);
  }
  return BYOC_OK; // a stream of the OpenMP runtime has executed when execute returns
}

void byoc_dnnl_function_deinit(byoc_dnnl_function_t *function) {
  const byoc_dnnl_api_t *api = function->api;
  for (uint32_t i = 0; i < function->step_count; ++i) {
    byoc_dnnl_step_t *step = &function->steps[i];
    if (step->primitive_desc != NULL) (void)api->dnnl_primitive_desc_destroy(step->primitive_desc);
    if (step->primitive != NULL) (void)api->dnnl_primitive_destroy(step->primitive);
    if (step->scratchpad != NULL) (void)api->dnnl_memory_destroy(step->scratchpad);
    free(step->arguments);
    free(step->exec_arguments);
    free(step->plain);
  }
  for (uint32_t i = 0; i < function->version_count; ++i)
    if (function->versions[i].memory != NULL) (void)api->dnnl_memory_destroy(function->versions[i].memory);
  for (uint32_t i = 0; i < function->buffer_count; ++i)
    if (function->buffers[i].packed != NULL) byoc_dnnl_weights_release(function->weights, function->buffers[i].packed);
  free(function->steps);
  free(function->versions);
  free(function->buffers);
  free(function->bindings);
  free(function->value_versions);
  byoc_dnnl_graph_deinit(&function->graph);
  memset(function, 0, sizeof(*function));
}
