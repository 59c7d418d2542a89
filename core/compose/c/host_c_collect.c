// SPDX-License-Identifier: Apache-2.0
// Collects the content of the generated file: every call's tensors, shapes, declarations, setups.
#include <stdio.h>
#include <string.h>

#include "core/base/visible.h"
#include "core/compose/c/host_c.h"
#include "core/compose/c/signature.h"
#include "core/module/linkage.h"

byoc_status_t byoc_host_c_shape(byoc_host_c_t *host, const byoc_type_t *type, uint32_t *out_index) {
  while (type->element != NULL) type = type->element; // of the tensors in a sequence or optional
  char key[BYOC_MAX_RANK * 24 + 8] = "";
  size_t used = 0;
  for (int32_t i = 0; i < type->rank; i++) {
    int64_t dim = byoc_dim_is_constant(type->dims[i]) ? type->dims[i].constant : -1;
    used += (size_t)snprintf(key + used, sizeof(key) - used, "%lld,", (long long)dim);
  }
  uintptr_t found = (uintptr_t)byoc_string_map_get(&host->shapes, key);
  if (found == 0) {
    found = host->dims.count + 1;
    for (int32_t i = 0; i < type->rank; i++) {
      int64_t dim = byoc_dim_is_constant(type->dims[i]) ? type->dims[i].constant : -1;
      if (!byoc_vector_push(&host->dims, host->arena_allocator, dim)) return byoc_diag_out_of_memory(host->diag);
    }
    // A scalar has no dimensions; its pointer still points somewhere.
    if (type->rank == 0 && !byoc_vector_push(&host->dims, host->arena_allocator, 0)) {
      return byoc_diag_out_of_memory(host->diag);
    }
    if (!byoc_string_map_put(&host->shapes, key, (void *)found)) return byoc_diag_out_of_memory(host->diag);
  }
  *out_index = (uint32_t)(found - 1);
  return BYOC_OK;
}

byoc_status_t byoc_host_c_place(byoc_host_c_t *host, const void *data, size_t size_bytes, const char *name,
                                uint64_t *out_offset_bytes) {
  const byoc_data_entry_t *entry = byoc_data_layout_find(host->layout, data, size_bytes);
  *out_offset_bytes = entry != NULL ? entry->offset_bytes : 0;
  if (entry != NULL) return BYOC_OK;
  return byoc_diag_error(host->diag, BYOC_INTERNAL, "data of '%s' (%zu bytes) was not laid out", name, size_bytes);
}

byoc_status_t byoc_host_c_place_constant(byoc_host_c_t *host, const void *data, size_t size_bytes, const char *name,
                                         byoc_host_c_tensor_t *tensor) {
  BYOC_RETURN_IF_ERROR(byoc_host_c_place(host, data, size_bytes, name, &tensor->offset_bytes));
  tensor->weight = byoc_data_layout_find(host->layout, data, size_bytes)->weight;
  return BYOC_OK;
}

byoc_status_t byoc_host_c_locate(byoc_host_c_t *host, const byoc_host_buffer_t *buffer,
                                 byoc_host_c_tensor_t *out_tensor) {
  bool is_view = buffer->kind == BYOC_HOST_BUFFER_VIEW;
  const byoc_host_buffer_t *root = is_view ? buffer->base : buffer;
  uint64_t offset = is_view ? buffer->offset_bytes : 0;
  *out_tensor = (byoc_host_c_tensor_t){.type = buffer->type, .kind = root->kind, .name = buffer->name};
  out_tensor->cell = root->index;
  out_tensor->moving = buffer->offset;
  out_tensor->in_cell = byoc_host_buffer_in_cell(root);
  if (out_tensor->in_cell) return byoc_host_c_shape(host, buffer->type, &out_tensor->shape);
  switch (root->kind) {
  case BYOC_HOST_BUFFER_INPUT:
    out_tensor->index = (uint32_t)(uintptr_t)byoc_pointer_map_get(&host->inputs, root) - 1;
    break;
  case BYOC_HOST_BUFFER_OUTPUT:
    out_tensor->index = (uint32_t)(uintptr_t)byoc_pointer_map_get(&host->outputs, root) - 1;
    break;
  case BYOC_HOST_BUFFER_CONSTANT: {
    out_tensor->is_strings = root->type->dtype == BYOC_DTYPE_STRING;
    if (out_tensor->is_strings) break;
    BYOC_RETURN_IF_ERROR(
        byoc_host_c_place_constant(host, root->data, (size_t)root->size_bytes, root->name, out_tensor));
    offset += out_tensor->offset_bytes;
    break;
  }
  case BYOC_HOST_BUFFER_LOCAL:
    if (root->offset_bytes == BYOC_HOST_OFFSET_NONE) {
      return byoc_diag_error(host->diag, BYOC_INTERNAL, "the buffer '%s' has no offset in the workspace", root->name);
    }
    offset += root->offset_bytes;
    break;
  case BYOC_HOST_BUFFER_VIEW:
    return byoc_diag_error(host->diag, BYOC_INTERNAL, "the view '%s' is of another view", buffer->name);
  }
  out_tensor->offset_bytes = offset;
  return byoc_host_c_shape(host, buffer->type, &out_tensor->shape);
}

static byoc_status_t add_tensor(byoc_host_c_t *host, const byoc_host_buffer_t *buffer) {
  byoc_host_c_tensor_t tensor;
  BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, buffer, &tensor));
  return byoc_vector_push(&host->tensors, host->arena_allocator, tensor) ? BYOC_OK
                                                                         : byoc_diag_out_of_memory(host->diag);
}

// The values of a kernel's symbols, put on the stack in front of the call.
static byoc_status_t add_symbols(byoc_host_c_t *host, int64_t count) {
  byoc_host_c_tensor_t tensor = {.kind = BYOC_HOST_BUFFER_INPUT, .in_cell = true, .name = "symbols"};
  tensor.type = byoc_type_tensor_static(&host->arena, BYOC_DTYPE_I64, 1, &count);
  if (tensor.type == NULL) return byoc_diag_out_of_memory(host->diag);
  BYOC_RETURN_IF_ERROR(byoc_host_c_shape(host, tensor.type, &tensor.shape));
  return byoc_vector_push(&host->tensors, host->arena_allocator, tensor) ? BYOC_OK
                                                                         : byoc_diag_out_of_memory(host->diag);
}

static byoc_status_t add_call(byoc_host_c_t *host, const byoc_host_instruction_t *instruction) {
  bool has_symbols = instruction->kernel != NULL && instruction->kernel->symbols.count > 0;
  byoc_host_c_call_t call = {.first_tensor = (uint32_t)host->tensors.count,
                             .input_count = (uint32_t)instruction->operands.count + has_symbols,
                             .output_count = (uint32_t)instruction->results.count,
                             .is_kernel = instruction->op == BYOC_HOST_KERNEL};
  for (size_t i = 0; i < instruction->operands.count; i++) {
    BYOC_RETURN_IF_ERROR(add_tensor(host, instruction->operands.data[i]));
  }
  if (has_symbols) BYOC_RETURN_IF_ERROR(add_symbols(host, (int64_t)instruction->kernel->symbols.count));
  for (size_t i = 0; i < instruction->results.count; i++) {
    BYOC_RETURN_IF_ERROR(add_tensor(host, instruction->results.data[i]));
  }
  if (instruction->workspace != NULL) {
    byoc_host_c_tensor_t workspace;
    BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, instruction->workspace, &workspace));
    call.workspace_offset = workspace.offset_bytes;
    call.workspace_size_bytes = instruction->workspace->size_bytes;
  }
  return byoc_vector_push(&host->calls, host->arena_allocator, call) ? BYOC_OK : byoc_diag_out_of_memory(host->diag);
}

// Two declarations of one symbol must be the same.
static byoc_status_t declare(byoc_host_c_t *host, const char *symbol, const char *declaration) {
  if (declaration == NULL) return byoc_diag_out_of_memory(host->diag);
  const char *known = byoc_string_map_get(&host->prototypes, symbol);
  if (known != NULL && strcmp(known, declaration) != 0) {
    return byoc_diag_error(host->diag, BYOC_INVALID_ARGUMENT,
                           "the C function '%s' is called with two signatures: '%s' and '%s'", symbol, known,
                           declaration);
  }
  if (known != NULL) return BYOC_OK;
  return byoc_string_map_put(&host->prototypes, symbol, (void *)(uintptr_t)declaration)
             ? BYOC_OK
             : byoc_diag_out_of_memory(host->diag);
}

static const char *c_type(uint32_t type) {
  switch (type) {
  case BYOC_C_VOID:
    return "void";
  case BYOC_C_I32:
  case BYOC_C_STATUS:
    return "int32_t";
  case BYOC_C_I64:
    return "int64_t";
  case BYOC_C_F32:
    return "float";
  case BYOC_C_F64:
    return "double";
  default:
    return "void *";
  }
}

static byoc_status_t declare_c_call(byoc_host_c_t *host, const byoc_c_call_t *call) {
  byoc_string_t text;
  byoc_string_init(&text, host->arena_allocator);
  byoc_string_appendf(&text, "%s %s(", c_type(call->return_type), call->symbol);
  for (uint32_t i = 0; i < call->argument_count; i++) {
    const byoc_c_argument_t *argument = &call->arguments[i];
    bool is_number = argument->kind == BYOC_C_ARGUMENT_INTEGER || argument->kind == BYOC_C_ARGUMENT_REAL;
    byoc_string_appendf(&text, "%s%s", i > 0 ? ", " : "", c_type(is_number ? argument->type : BYOC_C_POINTER));
  }
  byoc_string_append(&text, call->argument_count == 0 ? "void);" : ");");
  if (text.failed) return byoc_diag_out_of_memory(host->diag);
  return declare(host, call->symbol, text.data);
}

static byoc_status_t declare_instruction(byoc_host_c_t *host, const byoc_host_instruction_t *instruction) {
  if (instruction->op == BYOC_HOST_C_CALL) return declare_c_call(host, instruction->c_call);
  if (instruction->op != BYOC_HOST_KERNEL && instruction->op != BYOC_HOST_PACKED) return BYOC_OK;
  return declare(host, instruction->symbol,
                 byoc_arena_format(&host->arena, "int32_t %s(const byoc_call_t *call);", instruction->symbol));
}

// The symbols of set-ups, engines and drivers.
static byoc_status_t collect_modules(byoc_host_c_t *host) {
  const byoc_host_program_t *program = host->program;
  for (size_t i = 0; i < program->libraries.count; i++) {
    const byoc_runtime_module_t *library = program->libraries.data[i];
    if (library->setup_symbol == NULL) continue;
    const char *symbol = byoc_linkage_name(program->module, library, library->setup_symbol, &host->arena);
    if (symbol == NULL) return BYOC_OUT_OF_MEMORY;
    bool known = byoc_string_map_find(&host->prototypes, symbol) != NULL;
    BYOC_RETURN_IF_ERROR(
        declare(host, symbol, byoc_arena_format(&host->arena, "int32_t %s(const byoc_runtime_t *runtime);", symbol)));
    if (known) continue;
    if (!byoc_vector_push(&host->setups, host->arena_allocator, library) ||
        !byoc_vector_push(&host->setup_symbols, host->arena_allocator, symbol)) {
      return BYOC_OUT_OF_MEMORY;
    }
  }
  for (size_t i = 0; i < program->engines.count; i++) {
    const byoc_runtime_module_t *engine = program->engines.data[i].engine;
    const char *symbol = byoc_linkage_name(program->module, engine, engine->engine_symbol, &host->arena);
    if (symbol == NULL || !byoc_vector_push(&host->engine_symbols, host->arena_allocator, symbol)) {
      return BYOC_OUT_OF_MEMORY;
    }
  }
  for (size_t i = 0; i < host->device_tables->drivers.count; i++) {
    const byoc_runtime_module_t *driver = host->device_tables->drivers.data[i];
    const char *symbol = byoc_linkage_name(program->module, driver, driver->driver_symbol, &host->arena);
    if (symbol == NULL || !byoc_vector_push(&host->driver_symbols, host->arena_allocator, symbol)) {
      return BYOC_OUT_OF_MEMORY;
    }
  }
  return BYOC_OK;
}

// The trace also needs the dimensions of buffers that are no operands of calls.
static byoc_status_t add_result_shapes(byoc_host_c_t *host, const byoc_host_instruction_t *instruction) {
  uint32_t shape = 0;
  for (size_t i = 0; i < instruction->results.count; i++) {
    BYOC_RETURN_IF_ERROR(byoc_host_c_shape(host, instruction->results.data[i]->type, &shape));
  }
  return BYOC_OK;
}

static byoc_status_t collect(byoc_host_c_t *host) {
  const byoc_host_program_t *program = host->program;
  for (size_t i = 0; i < program->inputs.count; i++) {
    if (!byoc_pointer_map_put(&host->inputs, program->inputs.data[i], (void *)(i + 1))) return BYOC_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < program->outputs.count; i++) {
    if (!byoc_pointer_map_put(&host->outputs, program->outputs.data[i], (void *)(i + 1))) return BYOC_OUT_OF_MEMORY;
  }
  uint32_t position = 0;
  BYOC_HOST_FOR_EACH(at, program) {
    const uint32_t own = position++;
    if (!byoc_host_c_is_step(at)) continue;
    BYOC_RETURN_IF_ERROR(declare_instruction(host, at));
    if (byoc_host_c_is_call(at)) BYOC_RETURN_IF_ERROR(add_call(host, at));
    if (host->options->trace) BYOC_RETURN_IF_ERROR(add_result_shapes(host, at));
    if (!byoc_vector_push(&host->steps, host->arena_allocator, byoc_host_instruction_name(at)) ||
        !byoc_vector_push(&host->instructions, host->arena_allocator, at) ||
        !byoc_vector_push(&host->positions, host->arena_allocator, own)) {
      return BYOC_OUT_OF_MEMORY;
    }
  }
  return collect_modules(host);
}

byoc_status_t byoc_host_c_init(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                               const byoc_data_layout_t *layout, byoc_allocator_t allocator, byoc_diag_t *diag,
                               byoc_host_c_t *out_host) {
  byoc_host_c_t *host = out_host;
  *host = (byoc_host_c_t){.program = program, .options = options, .layout = layout, .diag = diag};
  byoc_arena_init(&host->arena, allocator);
  host->arena_allocator = byoc_arena_allocator(&host->arena);
  byoc_string_init(&host->parts, allocator);
  byoc_string_init(&host->weight_uses, allocator);
  byoc_string_map_init(&host->shapes, allocator);
  byoc_pointer_map_init(&host->inputs, allocator);
  byoc_pointer_map_init(&host->outputs, allocator);
  byoc_string_map_init(&host->prototypes, allocator);
  if (!byoc_host_ranges_init(&host->ranges, program, &host->arena) ||
      !byoc_host_dim_names(program, &host->arena, &host->dim_names)) {
    byoc_host_c_deinit(host);
    return byoc_diag_out_of_memory(diag);
  }
  host->signature = byoc_compose_signature(program, allocator);
  byoc_status_t status = host->signature != 0 ? BYOC_OK : BYOC_OUT_OF_MEMORY;
  if (status == BYOC_OK) status = byoc_host_device_tables_create(program, &host->arena, diag, &host->device_tables);
  if (status == BYOC_OK) status = collect(host);
  if (status == BYOC_OUT_OF_MEMORY) status = byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) byoc_host_c_deinit(host);
  return status;
}

void byoc_host_c_deinit(byoc_host_c_t *host) {
  byoc_map_deinit(&host->shapes);
  byoc_map_deinit(&host->inputs);
  byoc_map_deinit(&host->outputs);
  byoc_map_deinit(&host->prototypes);
  byoc_string_deinit(&host->parts);
  byoc_string_deinit(&host->weight_uses);
  byoc_arena_deinit(&host->arena);
}

void byoc_host_c_emit_address(const byoc_host_c_t *host, const byoc_host_c_tensor_t *place, int64_t extra_bytes,
                              byoc_string_t *out) {
  uint64_t offset = place->offset_bytes;
  if (place->in_cell || place->is_strings) {
    byoc_string_appendf(out, place->in_cell ? "(uint8_t *)cells[%u]->data" : "(uint8_t *)host_strings_%u", place->cell);
    if (extra_bytes != 0) byoc_string_appendf(out, " + %lld", (long long)extra_bytes);
    return;
  }
  switch (place->kind) {
  case BYOC_HOST_BUFFER_INPUT:
    byoc_string_appendf(out, "(uint8_t *)inputs[%u]", (unsigned)place->index);
    break;
  case BYOC_HOST_BUFFER_OUTPUT:
    byoc_string_appendf(out, "(uint8_t *)outputs[%u]", (unsigned)place->index);
    break;
  case BYOC_HOST_BUFFER_CONSTANT:
    if (place->weight == 0) byoc_string_append(out, "(uint8_t *)byoc_data");
    if (place->weight != 0) byoc_string_appendf(out, "(uint8_t *)host_weights[%zu]", place->weight - 1);
    break;
  default:
    byoc_string_append(out, "workspace");
    break;
  }
  int64_t total = (int64_t)offset + extra_bytes;
  if (total != 0) byoc_string_appendf(out, " %c %lld", total < 0 ? '-' : '+', (long long)(total < 0 ? -total : total));
  if (byoc_dim_is_constant(place->moving)) return;
  byoc_string_append(out, " + ");
  byoc_host_c_emit_dim(host, place->moving, out);
}

// A backslash at the end would continue the comment on the next line, and "??/" is one in C11.
void byoc_host_c_comment(byoc_string_t *out, const char *text) {
  const char *end = text + strlen(text);
  char shown[BYOC_SHOWN_BYTES];
  while (text < end) {
    text += byoc_show_character(text, (size_t)(end - text), shown);
    if (shown[0] == '\\') shown[0] = '/';
    if (shown[0] == '?' && out->size > 0 && out->data[out->size - 1] == '?') byoc_string_append(out, " ");
    byoc_string_append(out, shown);
  }
}
