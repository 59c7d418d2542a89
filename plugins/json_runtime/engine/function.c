// SPDX-License-Identifier: Apache-2.0
// Creates, runs and destroys one compiled sub-graph.
#define _GNU_SOURCE // MADV_HUGEPAGE
#include "function.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "build.h"
#include "guard.h"

static const struct {
  const char *name;
  byoc_dnnl_operator_t build;
} operators[] = {
#define BYOC_DNNL_OPERATOR(name) {#name, byoc_dnnl_build_##name},
#include "operators.def"
#undef BYOC_DNNL_OPERATOR
};

void *byoc_dnnl_allocate_pages(uint64_t size_bytes) {
  const uint64_t large = (uint64_t)2 << 20;
  uint64_t alignment = size_bytes >= large ? large : 4096;
  void *memory = NULL;
  if (size_bytes > UINT64_MAX - alignment) return NULL;
  if (posix_memalign(&memory, (size_t)alignment, (size_t)((size_bytes + alignment - 1) / alignment * alignment)) != 0)
    return NULL;
  if (alignment == large) (void)madvise(memory, (size_t)size_bytes, MADV_HUGEPAGE); // a hint
  return memory;
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
  if (v->output < 0 || output_is_written(function, value)) return BYOC_OK;
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

static int32_t build_node(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
    if (strcmp(operators[i].name, node->op) != 0) continue;
    BYOC_DNNL_RETURN_IF_ERROR(operators[i].build(function, node));
    return write_output(function, node->output);
  }
  return byoc_dnnl_node_fail(function, BYOC_UNSUPPORTED, "this engine has no such operator");
}

int32_t byoc_dnnl_function_build(const byoc_dnnl_api_t *api, dnnl_engine_t engine,
                                 const byoc_engine_function_t *description, byoc_dnnl_function_t *out_function,
                                 byoc_dnnl_error_t *error) {
  memset(out_function, 0, sizeof(*out_function));
  out_function->api = api;
  out_function->engine = engine;
  out_function->description = description;
  out_function->error = error;
  out_function->node = -1;
  byoc_dnnl_graph_t *graph = &out_function->graph;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_graph_init(description, graph, error));
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
    data = function->weights + buffer->offset;
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

static int32_t execute(const byoc_dnnl_function_t *function, const byoc_dnnl_step_t *step, dnnl_stream_t stream,
                       byoc_dnnl_error_t *error) {
  dnnl_status_t status =
      byoc_dnnl_guarded_execute(function->api, step->primitive, stream, step->argument_count, step->exec_arguments);
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
  function->weights = byoc_dnnl_allocate_pages(function->weights_size_bytes + 1);
  if (function->bindings == NULL || function->weights == NULL)
    return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "%s: out of memory", function->graph.symbol);
  for (uint32_t i = 0; i < function->step_count; ++i)
    BYOC_DNNL_RETURN_IF_ERROR(bind_step(function, &function->steps[i], arena, scratchpad));
  for (uint32_t i = 0; i < function->step_count; ++i)
    if (function->steps[i].is_setup) BYOC_DNNL_RETURN_IF_ERROR(execute(function, &function->steps[i], stream, error));
  return byoc_dnnl_check(function, function->api->dnnl_stream_wait(stream), "repack the constants");
}

static uint64_t now_ns(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time); // cannot fail for this clock
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int32_t byoc_dnnl_function_run(byoc_dnnl_function_t *function, dnnl_stream_t stream, const byoc_call_t *call,
                               byoc_engine_profile_sink_t sink, void *argument, byoc_dnnl_error_t *error) {
  const byoc_dnnl_api_t *api = function->api;
  if (call->input_count != function->graph.input_count || call->output_count != function->graph.output_count)
    return byoc_dnnl_fail(error, BYOC_INVALID_ARGUMENT, "%s: called with %u inputs and %u outputs, it has %u and %u",
                          function->graph.symbol, call->input_count, call->output_count, function->graph.input_count,
                          function->graph.output_count);
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
  }
  for (uint32_t i = 0; i < function->version_count; ++i)
    if (function->versions[i].memory != NULL) (void)api->dnnl_memory_destroy(function->versions[i].memory);
  free(function->steps);
  free(function->versions);
  free(function->buffers);
  free(function->bindings);
  free(function->weights);
  free(function->value_versions);
  byoc_dnnl_graph_deinit(&function->graph);
  memset(function, 0, sizeof(*function));
}
