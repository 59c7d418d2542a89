// SPDX-License-Identifier: Apache-2.0
// JSON to a subgraph of XNNPACK, and from there to a runtime with its buffers.
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t invalid(char *message, const char *what) {
  (void)snprintf(message, XNNPACK_MESSAGE_SIZE, "%s", what);
  return BYOC_INVALID_DATA;
}

static int32_t out_of_memory(char *message) {
  (void)snprintf(message, XNNPACK_MESSAGE_SIZE, "out of memory");
  return BYOC_OUT_OF_MEMORY;
}

static int32_t refused(char *message, const char *what, enum xnn_status status) {
  if (status == xnn_status_out_of_memory) return out_of_memory(message);
  (void)snprintf(message, XNNPACK_MESSAGE_SIZE, "XNNPACK refuses %s: status %d", what, (int)status);
  return BYOC_INTERNAL;
}

static uint32_t count_of(const xnnpack_json_t *list) {
  return list != NULL ? list->count : 0;
}

static int contains(const xnnpack_json_t *list, uint32_t index) {
  const xnnpack_json_t *item = xnnpack_json_item(list, 0);
  while (item != NULL && xnnpack_json_integer(item) != (int64_t)index) item = item->next;
  return item != NULL;
}

// Inputs and outputs have their index among the values as number in XNNPACK.
static int32_t define_value(xnnpack_graph_t *graph, uint32_t index, const xnnpack_json_t *json,
                            const xnnpack_json_t *inputs, const xnnpack_json_t *outputs,
                            const byoc_engine_function_t *source) {
  xnnpack_value_t *value = &graph->values[index];
  const xnnpack_json_t *dims = xnnpack_json_member(json, "dims"), *constant = xnnpack_json_member(json, "constant");
  if (count_of(dims) > XNN_MAX_TENSOR_DIMS) return invalid(graph->message, "a value with too many dimensions");
  value->rank = count_of(dims);
  for (uint32_t i = 0; i < value->rank; ++i) {
    value->dims[i] = (size_t)xnnpack_json_integer(xnnpack_json_item(dims, i));
    if (value->dims[i] == 0) return invalid(graph->message, "a dimension of 0");
  }
  const int64_t place = xnnpack_json_integer(constant);
  if (place < 0 || (constant != NULL && place >= (int64_t)source->constant_count))
    return invalid(graph->message, "a constant that was not handed over");
  const void *data = constant == NULL ? NULL : source->constants[place].data;
  const uint32_t flags = (contains(inputs, index) ? XNN_VALUE_FLAG_EXTERNAL_INPUT : 0u) |
                         (contains(outputs, index) ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : 0u);
  const enum xnn_status status =
      graph->library->xnn_define_tensor_value(graph->subgraph, xnn_datatype_fp32, value->rank, value->dims, data,
                                              flags != 0 ? index : XNN_INVALID_VALUE_ID, flags, &value->id);
  return status == xnn_status_success ? BYOC_OK : refused(graph->message, "a value", status);
}

static int32_t define(xnnpack_graph_t *graph, const xnnpack_json_t *json, const byoc_engine_function_t *source) {
  const xnnpack_json_t *inputs = xnnpack_json_member(json, "inputs"), *outputs = xnnpack_json_member(json, "outputs");
  const xnnpack_json_t *value = xnnpack_json_item(xnnpack_json_member(json, "values"), 0);
  const xnnpack_json_t *node = xnnpack_json_item(xnnpack_json_member(json, "nodes"), 0);
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; status == BYOC_OK && value != NULL; ++i, value = value->next)
    status = define_value(graph, i, value, inputs, outputs, source);
  for (; status == BYOC_OK && node != NULL; node = node->next) status = xnnpack_define_node(graph, node);
  return status;
}

// XNNPACK may read XNN_EXTRA_BYTES behind the end of what it is given, and wants one buffer for each value.
static int32_t init_port(const xnnpack_graph_t *graph, const xnnpack_json_t *index, const xnnpack_port_t *earlier,
                         uint32_t earlier_count, xnnpack_port_t *port) {
  const int64_t place = xnnpack_json_integer(index);
  if (place < 0 || place >= (int64_t)graph->value_count) return invalid(graph->message, "a boundary of no value");
  const xnnpack_value_t *value = &graph->values[place];
  for (uint32_t i = 0; i < earlier_count; ++i)
    if (earlier[i].id == value->id) return invalid(graph->message, "a value that is two inputs or outputs");
  size_t count = 1;
  for (uint32_t i = 0; i < value->rank; ++i) count *= value->dims[i];
  *port = (xnnpack_port_t){.id = value->id, .batch = 1, .channels = 1, .pixels = (int64_t)count};
  if (value->rank == 4) {
    port->batch = (int64_t)value->dims[0];
    port->channels = (int64_t)value->dims[3];
    port->pixels = (int64_t)(value->dims[1] * value->dims[2]);
  }
  const size_t size = count * sizeof(float) + XNN_EXTRA_BYTES, unit = BYOC_BUFFER_ALIGNMENT;
  port->buffer = aligned_alloc(unit, (size + unit - 1) / unit * unit);
  return port->buffer == NULL ? out_of_memory(graph->message) : BYOC_OK;
}

static int32_t init_ports(const xnnpack_graph_t *graph, const xnnpack_json_t *json, xnnpack_function_t *function) {
  const xnnpack_json_t *inputs = xnnpack_json_member(json, "inputs"), *outputs = xnnpack_json_member(json, "outputs");
  const uint32_t input_count = count_of(inputs), output_count = count_of(outputs);
  function->ports = calloc((size_t)input_count + output_count + 1, sizeof(*function->ports));
  if (function->ports == NULL) return out_of_memory(graph->message);
  function->input_count = input_count;
  function->output_count = output_count;
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; status == BYOC_OK && i < input_count + output_count; ++i) {
    const xnnpack_json_t *index =
        i < input_count ? xnnpack_json_item(inputs, i) : xnnpack_json_item(outputs, i - input_count);
    status = init_port(graph, index, function->ports, i, &function->ports[i]);
  }
  return status;
}

// The buffers never change, so that XNNPACK learns them once and runs need no set-up.
static int32_t init_runtime(const xnnpack_graph_t *graph, pthreadpool_t threads, xnnpack_function_t *function) {
  const uint32_t count = function->input_count + function->output_count;
  struct xnn_external_value *externals = calloc((size_t)count + 1, sizeof(*externals));
  if (externals == NULL) return out_of_memory(graph->message);
  for (uint32_t i = 0; i < count; ++i)
    externals[i] = (struct xnn_external_value){function->ports[i].id, function->ports[i].buffer};
  enum xnn_status status =
      graph->library->xnn_create_runtime_v2(graph->subgraph, threads, XNN_FLAG_YIELD_WORKERS, &function->runtime);
  if (status == xnn_status_success) status = graph->library->xnn_setup_runtime(function->runtime, count, externals);
  free(externals);
  return status == xnn_status_success ? BYOC_OK : refused(graph->message, "the function", status);
}

int32_t xnnpack_function_init(const xnnpack_library_t *library, const byoc_engine_function_t *source,
                              pthreadpool_t threads, xnnpack_function_t *out_function, char *message) {
  memset(out_function, 0, sizeof(*out_function));
  xnnpack_json_t *json = NULL;
  uint64_t at = 0;
  int32_t status = xnnpack_json_read(source->json, source->json_size, &json, &at);
  if (status == BYOC_OUT_OF_MEMORY) return out_of_memory(message);
  if (status != BYOC_OK) {
    (void)snprintf(message, XNNPACK_MESSAGE_SIZE, "its JSON cannot be read at byte %llu", (unsigned long long)at);
    return status;
  }
  xnnpack_graph_t graph = {.library = library, .message = message};
  graph.value_count = count_of(xnnpack_json_member(json, "values"));
  graph.values = calloc((size_t)graph.value_count + 1, sizeof(*graph.values));
  if (graph.values == NULL) {
    status = out_of_memory(message);
    goto cleanup;
  }
  const enum xnn_status created = library->xnn_create_subgraph(graph.value_count, 0, &graph.subgraph);
  if (created != xnn_status_success) {
    status = refused(message, "a subgraph", created);
    goto cleanup;
  }
  status = define(&graph, json, source);
  if (status == BYOC_OK) status = init_ports(&graph, json, out_function);
  if (status == BYOC_OK) status = init_runtime(&graph, threads, out_function);
cleanup:
  if (graph.subgraph != NULL) (void)library->xnn_delete_subgraph(graph.subgraph);
  free(graph.values);
  free(json);
  return status;
}

void xnnpack_function_deinit(const xnnpack_library_t *library, xnnpack_function_t *function) {
  if (function->runtime != NULL) (void)library->xnn_delete_runtime(function->runtime);
  for (uint32_t i = 0; i < function->input_count + function->output_count; ++i) free(function->ports[i].buffer);
  free(function->ports);
}
