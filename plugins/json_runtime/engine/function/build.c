// SPDX-License-Identifier: Apache-2.0
// Helpers of the functions that build an operator's primitives.
#include "engine/function/build.h"

#include <stdlib.h>
#include <string.h>

#include "engine/library/out_of_memory.h"

int32_t byoc_dnnl_node_fail(byoc_dnnl_function_t *function, int32_t status, const char *what) {
  const byoc_dnnl_graph_t *graph = &function->graph;
  if (function->node < 0) return byoc_dnnl_fail(function->error, status, "%s: %s", graph->symbol, what);
  const byoc_dnnl_node_t *node = &graph->nodes[function->node];
  return byoc_dnnl_fail(function->error, status, "%s: node %s (%s): %s", graph->symbol, node->name, node->op, what);
}

int32_t byoc_dnnl_check(byoc_dnnl_function_t *function, dnnl_status_t status, const char *what) {
  if (status == dnnl_success) return BYOC_OK;
  char text[160] = "oneDNN cannot ";
  strncat(text, what, 80);
  strncat(text, ": ", 3);
  strncat(text, function->api->dnnl_status2str(status), 50);
  int32_t code = status == dnnl_out_of_memory   ? BYOC_OUT_OF_MEMORY
                 : status == dnnl_unimplemented ? BYOC_UNSUPPORTED
                                                : BYOC_INVALID_DATA;
  return byoc_dnnl_node_fail(function, code, text);
}

int32_t byoc_dnnl_check_memory(byoc_dnnl_function_t *function) {
  if (byoc_dnnl_reserve_count() == function->reserve_count) return BYOC_OK;
  return byoc_dnnl_check(function, dnnl_out_of_memory, "create what it needs");
}

// Reserves memory for one more element.
static int reserve(void **array, uint32_t count, uint32_t *capacity, size_t element_size) {
  if (count < *capacity) return 1;
  uint32_t grown = *capacity < 16 ? 32 : *capacity * 2;
  void *memory = realloc(*array, grown * element_size);
  if (memory == NULL) return 0;
  *array = memory;
  *capacity = grown;
  return 1;
}

static int32_t create_buffer(byoc_dnnl_function_t *function, int32_t kind, int32_t index, uint64_t size_bytes,
                             int32_t *out_buffer) {
  if (!reserve((void **)&function->buffers, function->buffer_count, &function->buffer_capacity,
               sizeof(*function->buffers)))
    return byoc_dnnl_node_fail(function, BYOC_OUT_OF_MEMORY, "out of memory");
  *out_buffer = (int32_t)function->buffer_count;
  function->buffers[function->buffer_count++] =
      (byoc_dnnl_buffer_t){.kind = kind, .index = index, .size_bytes = size_bytes, .first_step = -1};
  return BYOC_OK;
}

static int32_t create_version_on(byoc_dnnl_function_t *function, int32_t buffer, const dnnl_memory_desc_t *desc,
                                 int32_t *out_version) {
  if (!reserve((void **)&function->versions, function->version_count, &function->version_capacity,
               sizeof(*function->versions)))
    return byoc_dnnl_node_fail(function, BYOC_OUT_OF_MEMORY, "out of memory");
  *out_version = (int32_t)function->version_count;
  function->versions[function->version_count++] =
      (byoc_dnnl_version_t){.desc = *desc, .buffer = buffer, .next = -1, .memory = NULL};
  return BYOC_OK;
}

int32_t byoc_dnnl_create_version(byoc_dnnl_function_t *function, const dnnl_memory_desc_t *desc, int32_t *out_version) {
  int32_t buffer = -1;
  BYOC_DNNL_RETURN_IF_ERROR(
      create_buffer(function, BYOC_DNNL_BUFFER_ARENA, -1, function->api->dnnl_memory_desc_get_size(desc), &buffer));
  return create_version_on(function, buffer, desc, out_version);
}

int32_t byoc_dnnl_create_view(byoc_dnnl_function_t *function, int32_t version, const dnnl_memory_desc_t *desc,
                              int32_t *out_version) {
  return create_version_on(function, function->versions[version].buffer, desc, out_version);
}

int32_t byoc_dnnl_create_result(byoc_dnnl_function_t *function, int32_t value, const dnnl_memory_desc_t *desc,
                                int32_t *out_version) {
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  const byoc_dnnl_value_t *output =
      v->direct_output < 0 ? v : &function->graph.values[function->graph.outputs[v->direct_output]];
  dnnl_memory_desc_t wanted;
  byoc_dnnl_layout_plain(desc->ndims, desc->dims, &wanted);
  if (output->has_layout) wanted = output->layout;
  if (v->direct_output < 0 || !function->api->dnnl_memory_desc_equal(&wanted, desc))
    return byoc_dnnl_create_version(function, desc, out_version);
  int32_t buffer = -1;
  BYOC_DNNL_RETURN_IF_ERROR(create_buffer(function, BYOC_DNNL_BUFFER_OUTPUT, v->direct_output, 0, &buffer));
  return create_version_on(function, buffer, desc, out_version);
}

void byoc_dnnl_define(byoc_dnnl_function_t *function, int32_t value, int32_t version) {
  int32_t *link = &function->value_versions[value];
  while (*link >= 0) link = &function->versions[*link].next;
  *link = version;
}

// The first version of a value; made on first use for inputs and constants.
static int32_t first_version(byoc_dnnl_function_t *function, int32_t value, int32_t *out_version) {
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  *out_version = function->value_versions[value];
  if (*out_version >= 0) return BYOC_OK;
  if (v->input < 0 && v->constant < 0)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "reads a value that is not there yet");
  dnnl_memory_desc_t desc;
  byoc_dnnl_layout_plain(v->rank, v->dims, &desc);
  if (v->has_layout) desc = v->layout;
  int32_t is_input = v->input >= 0;
  if (!is_input) {
    const DLTensor *tensor = &function->description->constants[v->constant];
    uint64_t count = 1;
    for (int32_t i = 0; i < tensor->ndim; ++i) count *= (uint64_t)tensor->shape[i];
    if (count * tensor->dtype.bits / 8 < function->api->dnnl_memory_desc_get_size(&desc))
      return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "a constant is smaller than its description");
  }
  int32_t buffer = -1;
  BYOC_DNNL_RETURN_IF_ERROR(create_buffer(function, is_input ? BYOC_DNNL_BUFFER_INPUT : BYOC_DNNL_BUFFER_CONSTANT,
                                          is_input ? v->input : v->constant, 0, &buffer));
  BYOC_DNNL_RETURN_IF_ERROR(create_version_on(function, buffer, &desc, out_version));
  byoc_dnnl_define(function, value, *out_version);
  return BYOC_OK;
}

static int is_constant_buffer(const byoc_dnnl_function_t *function, int32_t buffer) {
  int32_t kind = function->buffers[buffer].kind;
  return kind == BYOC_DNNL_BUFFER_CONSTANT || kind == BYOC_DNNL_BUFFER_WEIGHTS;
}

static int is_plain(const byoc_dnnl_function_t *function, const dnnl_memory_desc_t *desc) {
  dnnl_memory_desc_t plain;
  byoc_dnnl_layout_plain(desc->ndims, desc->dims, &plain);
  return function->api->dnnl_memory_desc_equal(desc, &plain);
}

// A constant into another layout. From one blocked layout into another oneDNN goes element by element: two steps by
// way of the plain layout, which it has code for, are 20 times as fast.
static int32_t repack(byoc_dnnl_function_t *function, int32_t from, int32_t to) {
  const dnnl_memory_desc_t wanted = *byoc_dnnl_desc(function, to);
  if (wanted.data_type == dnnl_f32 && !is_plain(function, byoc_dnnl_desc(function, from)) &&
      !is_plain(function, &wanted)) {
    int32_t between = -1;
    dnnl_memory_desc_t plain;
    byoc_dnnl_layout_plain(wanted.ndims, wanted.dims, &plain);
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_version(function, &plain, &between));
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_add_reorder(function, from, between));
    function->steps[function->step_count - 1].is_setup = 1;
    from = between;
  }
  return byoc_dnnl_add_reorder(function, from, to);
}

// A constant in the layout `wanted`, unless another shape of this function has made it already.
static int32_t reorder_constant(byoc_dnnl_function_t *function, int32_t from, const dnnl_memory_desc_t *wanted,
                                int32_t *out_version) {
  int32_t buffer = -1;
  const byoc_dnnl_buffer_t *source = &function->buffers[function->versions[from].buffer];
  const int32_t constant = source->kind == BYOC_DNNL_BUFFER_CONSTANT ? source->index : -1;
  const uint64_t size = function->api->dnnl_memory_desc_get_size(wanted);
  BYOC_DNNL_RETURN_IF_ERROR(create_buffer(function, BYOC_DNNL_BUFFER_WEIGHTS, -1, size, &buffer));
  BYOC_DNNL_RETURN_IF_ERROR(create_version_on(function, buffer, wanted, out_version));
  const dnnl_memory_desc_t *desc = byoc_dnnl_desc(function, from);
  byoc_dnnl_packed_t *packed = byoc_dnnl_weights_find(function->weights, constant, desc, wanted);
  function->buffers[buffer].packed = packed;
  if (packed != NULL) return BYOC_OK;
  packed = byoc_dnnl_weights_add(function->weights, constant, desc, wanted, size);
  function->buffers[buffer].packed = packed;
  if (packed == NULL) return byoc_dnnl_node_fail(function, BYOC_OUT_OF_MEMORY, "out of memory");
  return repack(function, from, *out_version);
}

int32_t byoc_dnnl_reorder(byoc_dnnl_function_t *function, int32_t from, const dnnl_memory_desc_t *wanted,
                          int32_t *out_version) {
  if (is_constant_buffer(function, function->versions[from].buffer))
    return reorder_constant(function, from, wanted, out_version);
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_version(function, wanted, out_version));
  return byoc_dnnl_add_reorder(function, from, *out_version);
}

int32_t byoc_dnnl_read(byoc_dnnl_function_t *function, int32_t value, const dnnl_memory_desc_t *wanted,
                       int32_t *out_version) {
  int32_t first = -1;
  BYOC_DNNL_RETURN_IF_ERROR(first_version(function, value, &first));
  for (int32_t i = first; i >= 0; i = function->versions[i].next) {
    if (wanted != NULL && !function->api->dnnl_memory_desc_equal(&function->versions[i].desc, wanted)) continue;
    *out_version = i;
    // Equal layouts may have other strides where a dimension is 1; primitives and reshapes do look at those.
    if (wanted != NULL && memcmp(&function->versions[i].desc, wanted, sizeof(*wanted)) != 0)
      return byoc_dnnl_create_view(function, i, wanted, out_version);
    return BYOC_OK;
  }
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_reorder(function, first, wanted, out_version));
  byoc_dnnl_define(function, value, *out_version);
  return BYOC_OK;
}

int32_t byoc_dnnl_read_dense(byoc_dnnl_function_t *function, int32_t value, int32_t *out_version) {
  int32_t first = -1;
  BYOC_DNNL_RETURN_IF_ERROR(first_version(function, value, &first));
  for (int32_t i = first; i >= 0; i = function->versions[i].next) {
    const dnnl_memory_desc_t *desc = byoc_dnnl_desc(function, i);
    uint64_t size = sizeof(float);
    for (int32_t j = 0; j < desc->ndims; ++j) size *= (uint64_t)desc->padded_dims[j];
    if (desc->offset0 != 0 || function->api->dnnl_memory_desc_get_size(desc) != size) continue;
    *out_version = i;
    return BYOC_OK;
  }
  return byoc_dnnl_read_plain(function, value, out_version);
}

int32_t byoc_dnnl_read_plain(byoc_dnnl_function_t *function, int32_t value, int32_t *out_version) {
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  dnnl_memory_desc_t plain;
  byoc_dnnl_layout_plain(v->rank, v->dims, &plain);
  return byoc_dnnl_read(function, value, &plain, out_version);
}

dnnl_status_t byoc_dnnl_reshape(const byoc_dnnl_function_t *function, const dnnl_memory_desc_t *desc, int32_t rank,
                                const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc) {
  for (int32_t i = 0; i < desc->ndims; ++i)
    if (desc->padded_dims[i] != desc->dims[i]) return dnnl_unimplemented;
  dnnl_status_t status = function->api->dnnl_memory_desc_reshape(out_desc, desc, rank, dims);
  dnnl_memory_desc_t row_major;
  byoc_dnnl_layout_plain(rank, dims, &row_major);
  // The stride of a dimension of 1 may be a number that the matrix product refuses.
  if (status == dnnl_success && function->api->dnnl_memory_desc_equal(out_desc, &row_major)) *out_desc = row_major;
  return status;
}

int32_t byoc_dnnl_read_reshaped(byoc_dnnl_function_t *function, int32_t value, int32_t rank, const dnnl_dims_t dims,
                                int32_t *out_version) {
  int32_t first = -1;
  BYOC_DNNL_RETURN_IF_ERROR(first_version(function, value, &first));
  dnnl_memory_desc_t desc;
  for (int32_t i = first; i >= 0; i = function->versions[i].next) {
    if (byoc_dnnl_reshape(function, &function->versions[i].desc, rank, dims, &desc) == dnnl_success)
      return byoc_dnnl_create_view(function, i, &desc, out_version);
  }
  int32_t plain = -1;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_plain(function, value, &plain));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function, byoc_dnnl_reshape(function, &function->versions[plain].desc, rank, dims, &desc), "reshape a value"));
  return byoc_dnnl_create_view(function, plain, &desc, out_version);
}

int32_t byoc_dnnl_read_broadcast(byoc_dnnl_function_t *function, int32_t value, int32_t rank, const dnnl_dims_t dims,
                                 int32_t *out_version) {
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  if (v->rank > rank) return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "an operand has too many dimensions");
  dnnl_dims_t aligned;
  for (int32_t i = 0; i < rank; ++i) {
    aligned[i] = i < rank - v->rank ? 1 : v->dims[i - (rank - v->rank)];
    if (aligned[i] != 1 && aligned[i] != dims[i])
      return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "an operand does not broadcast to the result");
  }
  if (v->rank == rank) return byoc_dnnl_read_plain(function, value, out_version);
  int32_t plain = -1;
  dnnl_memory_desc_t desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_plain(function, value, &plain));
  byoc_dnnl_layout_plain(rank, aligned, &desc);
  return byoc_dnnl_create_view(function, plain, &desc, out_version);
}

int32_t byoc_dnnl_read_copy(byoc_dnnl_function_t *function, int32_t value, const dnnl_memory_desc_t *wanted,
                            int32_t *out_version) {
  int32_t first = -1;
  BYOC_DNNL_RETURN_IF_ERROR(first_version(function, value, &first));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_version(function, wanted, out_version));
  for (int32_t i = first; i >= 0; i = function->versions[i].next)
    if (function->api->dnnl_memory_desc_equal(&function->versions[i].desc, wanted)) first = i; // a plain copy
  return byoc_dnnl_add_reorder(function, first, *out_version);
}

int byoc_dnnl_can_overwrite(const byoc_dnnl_function_t *function, int32_t value, int32_t version) {
  int32_t root = byoc_dnnl_graph_root_value(&function->graph, value);
  return function->buffers[function->versions[version].buffer].kind == BYOC_DNNL_BUFFER_ARENA &&
         function->graph.values[root].last_use <= function->node;
}

int32_t byoc_dnnl_create_attributes(byoc_dnnl_function_t *function, dnnl_primitive_attr_t *out_attributes) {
  *out_attributes = NULL;
  BYOC_DNNL_RETURN_IF_ERROR(
      byoc_dnnl_check(function, function->api->dnnl_primitive_attr_create(out_attributes), "create attributes"));
  dnnl_status_t status =
      function->api->dnnl_primitive_attr_set_scratchpad_mode(*out_attributes, dnnl_scratchpad_mode_user);
  if (status == dnnl_success) return BYOC_OK;
  (void)function->api->dnnl_primitive_attr_destroy(*out_attributes);
  *out_attributes = NULL;
  return byoc_dnnl_check(function, status, "set the scratchpad mode");
}

static void touch_buffer(byoc_dnnl_function_t *function, int32_t version, int32_t step) {
  byoc_dnnl_buffer_t *buffer = &function->buffers[function->versions[version].buffer];
  if (buffer->first_step < 0) buffer->first_step = step;
  buffer->last_step = step;
}

// Appends the step with its arguments. On failure the caller still owns the primitive descriptor or the loops.
static int32_t append_step(byoc_dnnl_function_t *function, byoc_dnnl_step_t *step,
                           const byoc_dnnl_argument_t *arguments, int32_t argument_count) {
  step->argument_count = argument_count;
  step->node = function->node;
  step->arguments = malloc((size_t)argument_count * sizeof(*step->arguments));
  step->exec_arguments = malloc((size_t)(argument_count + 1) * sizeof(*step->exec_arguments));
  if (step->arguments == NULL || step->exec_arguments == NULL ||
      !reserve((void **)&function->steps, function->step_count, &function->step_capacity, sizeof(*function->steps))) {
    free(step->arguments);
    free(step->exec_arguments);
    return byoc_dnnl_node_fail(function, BYOC_OUT_OF_MEMORY, "out of memory");
  }
  memcpy(step->arguments, arguments, (size_t)argument_count * sizeof(*arguments));
  for (int32_t i = 0; i < argument_count; ++i)
    touch_buffer(function, arguments[i].version, (int32_t)function->step_count);
  function->steps[function->step_count++] = *step;
  return BYOC_OK;
}

int32_t byoc_dnnl_add_step(byoc_dnnl_function_t *function, dnnl_primitive_desc_t primitive_desc,
                           const byoc_dnnl_argument_t *arguments, int32_t argument_count) {
  const byoc_dnnl_api_t *api = function->api;
  byoc_dnnl_step_t step = {.primitive_desc = primitive_desc};
  const dnnl_memory_desc_t *scratchpad = api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_scratchpad_md, 0);
  if (scratchpad != NULL) step.scratchpad_desc = *scratchpad;
  const int32_t status = append_step(function, &step, arguments, argument_count);
  if (status != BYOC_OK) {
    (void)api->dnnl_primitive_desc_destroy(primitive_desc);
    return status;
  }
  uint64_t scratchpad_size = api->dnnl_memory_desc_get_size(&step.scratchpad_desc);
  if (scratchpad_size > function->scratchpad_size_bytes) function->scratchpad_size_bytes = scratchpad_size;
  return BYOC_OK;
}

int32_t byoc_dnnl_add_plain_step(byoc_dnnl_function_t *function, const byoc_dnnl_plain_t *plain,
                                 const byoc_dnnl_argument_t *arguments, int32_t argument_count) {
  byoc_dnnl_step_t step = {.plain = malloc(sizeof(*step.plain))};
  if (step.plain == NULL) return byoc_dnnl_node_fail(function, BYOC_OUT_OF_MEMORY, "out of memory");
  *step.plain = *plain;
  const int32_t status = append_step(function, &step, arguments, argument_count);
  if (status != BYOC_OK) free(step.plain);
  return status;
}

int32_t byoc_dnnl_add_reorder(byoc_dnnl_function_t *function, int32_t from_version, int32_t to_version) {
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_primitive_desc_t primitive_desc = NULL;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_attributes(function, &attributes));
  dnnl_status_t created = function->api->dnnl_reorder_primitive_desc_create(
      &primitive_desc, byoc_dnnl_desc(function, from_version), function->engine, byoc_dnnl_desc(function, to_version),
      function->engine, attributes);
  (void)function->api->dnnl_primitive_attr_destroy(attributes);
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(function, created, "reorder a value"));
  byoc_dnnl_argument_t arguments[] = {{DNNL_ARG_FROM, from_version}, {DNNL_ARG_TO, to_version}};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_add_step(function, primitive_desc, arguments, 2));
  byoc_dnnl_step_t *step = &function->steps[function->step_count - 1];
  step->is_reorder = 1;
  step->is_setup = function->buffers[function->versions[to_version].buffer].kind == BYOC_DNNL_BUFFER_WEIGHTS;
  return BYOC_OK;
}
