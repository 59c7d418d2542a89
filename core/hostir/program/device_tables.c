// SPDX-License-Identifier: Apache-2.0
// Makes the tables of devices, tensors and commands of a host program.
#include "core/hostir/program/device_tables.h"

#include <string.h>

#include "core/module/runtime_options.h"
#include "core/runtime/check.h"

#define PUSH(vector, ...) byoc_vector_push(vector, device_tables->allocator, __VA_ARGS__)

static bool is_processor(const byoc_host_device_t *device) {
  return device == NULL || byoc_host_device_is_host(device);
}

uint32_t byoc_host_device_tables_command(const byoc_host_device_tables_t *device_tables,
                                         const byoc_host_instruction_t *instruction) {
  const uintptr_t found = (uintptr_t)byoc_pointer_map_get(&device_tables->command_indices, instruction);
  return found > 0 ? (uint32_t)(found - 1) : BYOC_DEVICE_NO_ROW;
}

uint32_t byoc_host_device_tables_tensor(const byoc_host_device_tables_t *device_tables,
                                        const byoc_host_buffer_t *buffer) {
  const byoc_host_buffer_t *root = buffer->kind == BYOC_HOST_BUFFER_VIEW ? buffer->base : buffer;
  const uintptr_t found = (uintptr_t)byoc_pointer_map_get(&device_tables->tensor_indices, root);
  return found > 0 ? (uint32_t)(found - 1) : BYOC_DEVICE_NO_ROW;
}

bool byoc_host_device_tables_is_lent(const byoc_host_device_tables_t *device_tables, const byoc_host_buffer_t *buffer) {
  return byoc_pointer_map_get(&device_tables->lent, buffer) != NULL;
}

const byoc_host_instruction_t *byoc_host_device_tables_handed_out(const byoc_host_device_tables_t *device_tables,
                                                                  const byoc_host_buffer_t *buffer) {
  return byoc_pointer_map_get(&device_tables->handed_out, buffer);
}

// ---- devices, queues, events ----

static const byoc_runtime_module_t *find_driver(const byoc_graph_module_t *graph, const char *name) {
  for (size_t k = 0; k < graph->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *module = graph->runtime_modules.data[k];
    if (module->kind != BYOC_RUNTIME_MODULE_DRIVER) continue;
    if (strcmp(byoc_runtime_module_given_name(module), name) == 0) return module;
  }
  return NULL;
}

static byoc_status_t add_devices(byoc_host_device_tables_t *device_tables, byoc_diag_t *diag) {
  const byoc_host_program_t *program = device_tables->program;
  for (size_t k = 0; k < program->devices.count; ++k) {
    const byoc_host_device_t *device = program->devices.data[k];
    device_tables->devices[k] = BYOC_DEVICE_NO_ROW;
    if (is_processor(device)) continue;
    const byoc_runtime_module_t *driver = find_driver(program->module, device->driver);
    if (driver == NULL) {
      return byoc_diag_error(diag, BYOC_NOT_FOUND, "the device '%s' needs the driver '%s', which the program lacks",
                             device->name, device->driver);
    }
    device_tables->devices[k] = (uint32_t)device_tables->device_rows.count;
    byoc_runtime_schema_t schema;
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_read_options(driver, device_tables->arena, diag, &schema));
    const byoc_device_row_t row = {device->driver, driver->driver, device->ordinal, schema.count, schema.rows};
    if (!PUSH(&device_tables->drivers, driver) || !PUSH(&device_tables->device_rows, row)) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}

static bool add_queues(byoc_host_device_tables_t *device_tables) {
  static const uint32_t kinds[BYOC_HOST_QUEUE_KIND_COUNT] = {
      [BYOC_HOST_QUEUE_OWN] = BYOC_DEVICE_QUEUE_OWN,
      [BYOC_HOST_QUEUE_DEFAULT] = BYOC_DEVICE_QUEUE_DEFAULT,
      [BYOC_HOST_QUEUE_CURRENT] = BYOC_DEVICE_QUEUE_CURRENT,
  };
  for (size_t k = 0; k < device_tables->program->queues.count; ++k) {
    const byoc_host_queue_t *queue = device_tables->program->queues.data[k];
    device_tables->queues[k] = (uint32_t)device_tables->queue_rows.count;
    if (is_processor(queue->device)) continue;
    const byoc_device_queue_row_t row = {device_tables->devices[queue->device->index], kinds[queue->kind]};
    for (uint32_t i = 0; i < byoc_host_set_count(queue->count); ++i) {
      if (!PUSH(&device_tables->queue_rows, row)) return false;
    }
  }
  return true;
}

static void number_events(byoc_host_device_tables_t *device_tables) {
  for (size_t k = 0; k < device_tables->program->events.count; ++k) {
    const byoc_host_event_t *event = device_tables->program->events.data[k];
    device_tables->events[k] = device_tables->tables.event_count;
    if (!is_processor(event->device)) device_tables->tables.event_count += byoc_host_set_count(event->count);
  }
}

// ---- memory ----

uint32_t byoc_host_device_tables_memory(const byoc_host_device_tables_t *device_tables,
                                        const byoc_host_buffer_t *buffer) {
  const uint32_t device = device_tables->devices[buffer->device->index];
  for (uint32_t k = 0; k < device_tables->memory_rows.count; ++k) {
    const byoc_device_memory_row_t *row = &device_tables->memory_rows.data[k];
    if (row->device == device && strcmp(row->scope, buffer->scope) == 0) return k;
  }
  return BYOC_DEVICE_NO_ROW;
}

// The row of the memory, which is made if it is new.
static bool find_memory(byoc_host_device_tables_t *device_tables, const byoc_host_buffer_t *buffer,
                        uint32_t *out_memory) {
  const uint32_t device = device_tables->devices[buffer->device->index];
  *out_memory = byoc_host_device_tables_memory(device_tables, buffer);
  if (*out_memory != BYOC_DEVICE_NO_ROW) return true;
  *out_memory = (uint32_t)device_tables->memory_rows.count;
  const byoc_host_memory_t *memory = byoc_host_find_memory(device_tables->program, buffer->device, buffer->scope);
  const byoc_device_memory_row_t row = {.device = device,
                                        .scope = buffer->scope,
                                        .is_apart = memory != NULL && memory->is_apart,
                                        .workspace_size_bytes = memory != NULL && !memory->is_apart ? memory->size : 0};
  return PUSH(&device_tables->memory_rows, row);
}

// A value has memory even if no command uses it.
static bool add_memory_of_value(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i) {
  uint32_t memory = 0;
  if (i->op != BYOC_HOST_ALLOCATE || !i->operands.data[0]->is_value) return true;
  return i->operands.data[0]->device == NULL || find_memory(device_tables, i->operands.data[0], &memory);
}

// The row of the tensor, which is made if it is new.
static bool find_tensor(byoc_host_device_tables_t *device_tables, const byoc_host_buffer_t *buffer,
                        uint32_t *out_tensor) {
  const byoc_host_buffer_t *root = buffer->kind == BYOC_HOST_BUFFER_VIEW ? buffer->base : buffer;
  *out_tensor = byoc_host_device_tables_tensor(device_tables, root);
  if (*out_tensor != BYOC_DEVICE_NO_ROW) return true;
  *out_tensor = (uint32_t)device_tables->tensor_rows.count;
  const uint32_t bits = (uint32_t)byoc_dtype_bits(root->type->dtype);
  int64_t *dims = BYOC_ARENA_ARRAY(device_tables->arena, int64_t, (size_t)root->type->rank + 1);
  byoc_device_tensor_row_t row = {.name = root->name,
                                  .rank = (uint32_t)root->type->rank,
                                  .element_size_bytes = bits >= 8 ? bits / 8 : 1,
                                  .dims = dims,
                                  .offset_bytes = root->kind == BYOC_HOST_BUFFER_LOCAL ? root->offset_bytes : 0,
                                  .size_bytes = root->size_bytes,
                                  .data = root->kind == BYOC_HOST_BUFFER_CONSTANT ? root->data : NULL};
  if (dims == NULL || !find_memory(device_tables, root, &row.memory)) return false;
  for (int32_t d = 0; d < root->type->rank; ++d) dims[d] = root->type->dims[d].constant;
  return PUSH(&device_tables->tensor_rows, row) &&
         byoc_pointer_map_put(&device_tables->tensor_indices, root, (void *)(uintptr_t)(*out_tensor + 1));
}

// ---- code ----

static bool list_variants(byoc_host_device_tables_t *device_tables, const byoc_runtime_module_t *module,
                          byoc_device_module_row_t *row) {
  byoc_device_variant_row_t *variants =
      BYOC_ARENA_ARRAY(device_tables->arena, byoc_device_variant_row_t, module->variants.count);
  row->variants = variants;
  for (uint32_t kind = BYOC_DEVICE_CODE_BINARY; variants != NULL && kind <= BYOC_DEVICE_CODE_SOURCE; ++kind) {
    for (size_t k = 0; k < module->variants.count; ++k) {
      const byoc_device_form_t *form = &module->variants.data[k];
      if (form->kind != kind) continue;
      variants[row->variant_count++] = (byoc_device_variant_row_t){
          .format = form->format,
          .architecture = kind == BYOC_DEVICE_CODE_BINARY ? form->architecture : NULL,
          .options = form->options,
          .data = form->data,
          .size_bytes = form->size_bytes,
      };
    }
  }
  return variants != NULL;
}

static byoc_status_t find_module(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i,
                                 uint32_t *out_module, byoc_diag_t *diag) {
  const char *name = i->launch->module;
  const uint32_t device = device_tables->devices[i->on.queue->device->index];
  for (*out_module = 0; *out_module < device_tables->module_rows.count; ++*out_module) {
    const byoc_device_module_row_t *row = &device_tables->module_rows.data[*out_module];
    if (row->device == device && strcmp(row->name, name) == 0) return BYOC_OK;
  }
  const byoc_runtime_module_t *module = byoc_graph_module_find_runtime_module(device_tables->program->module, name);
  if (module == NULL || module->kind != BYOC_RUNTIME_MODULE_DEVICE) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "the program has no code '%s' for devices", name);
  }
  if (strcmp(module->driver_name, i->on.queue->device->driver) != 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the code '%s' is for the driver '%s', and not for '%s'", name,
                           module->driver_name, i->on.queue->device->driver);
  }
  byoc_device_module_row_t row = {.name = module->name, .device = device, .fits = module->fits};
  if (!list_variants(device_tables, module, &row) || !PUSH(&device_tables->module_rows, row))
    return byoc_diag_out_of_memory(diag);
  return BYOC_OK;
}

static byoc_status_t find_entry(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i,
                                uint32_t *out_entry, byoc_diag_t *diag) {
  const char *name = i->launch->entry;
  uint32_t module = 0;
  BYOC_RETURN_IF_ERROR(find_module(device_tables, i, &module, diag));
  for (*out_entry = 0; *out_entry < device_tables->entry_rows.count; ++*out_entry) {
    const byoc_device_entry_row_t *row = &device_tables->entry_rows.data[*out_entry];
    if (row->module == module && strcmp(row->name, name) == 0) return BYOC_OK;
  }
  const byoc_runtime_module_t *code =
      byoc_graph_module_find_runtime_module(device_tables->program->module, i->launch->module);
  if (!byoc_runtime_module_has_entry(code, name)) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "the code '%s' has no kernel '%s'", i->launch->module, name);
  }
  return PUSH(&device_tables->entry_rows, (byoc_device_entry_row_t){name, module}) ? BYOC_OK
                                                                                   : byoc_diag_out_of_memory(diag);
}

// ---- commands ----

static byoc_device_choice_t event_choice(const byoc_host_device_tables_t *device_tables,
                                         const byoc_host_event_use_t *use) {
  return (byoc_device_choice_t){device_tables->events[use->event->index], byoc_host_set_count(use->event->count)};
}

// The number of an element of a set goes into the command, unless it is 0, which is there already.
static bool add_choice(byoc_host_device_tables_t *device_tables, byoc_host_patch_kind_t kind, uint32_t index,
                       uint32_t count, byoc_dim_t value) {
  if (count == 0 || (byoc_dim_is_constant(value) && value.constant == 0)) return true;
  return PUSH(&device_tables->patches, (byoc_host_patch_t){.kind = kind, .index = index, .value = value});
}

static bool add_waits(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i,
                      byoc_device_command_row_t *row) {
  row->first_wait = (uint32_t)device_tables->wait_rows.count;
  for (size_t k = 0; k < i->waits.count; ++k) {
    const byoc_host_event_use_t *use = &i->waits.data[k];
    if (is_processor(use->event->device)) continue; // complete when the host gets here
    const uint32_t index = (uint32_t)device_tables->wait_rows.count;
    if (!PUSH(&device_tables->wait_rows, event_choice(device_tables, use)) ||
        !add_choice(device_tables, BYOC_HOST_PATCH_WAIT, index, use->event->count, use->place)) {
      return false;
    }
    row->wait_count++;
  }
  return true;
}

static byoc_host_patch_kind_t kind_for_cell(byoc_host_patch_kind_t place) {
  if (place == BYOC_HOST_PATCH_ARGUMENT_PLACE) return BYOC_HOST_PATCH_ARGUMENT_CELL;
  return place == BYOC_HOST_PATCH_SOURCE_PLACE ? BYOC_HOST_PATCH_SOURCE_CELL : BYOC_HOST_PATCH_DESTINATION_CELL;
}

// The offset of a buffer in its tensor; a part that depends on symbols goes into a patch.
static bool find_bytes(byoc_host_device_tables_t *device_tables, byoc_host_buffer_t *buffer, byoc_host_patch_t patch,
                       uint32_t *out_tensor, uint64_t *offset_bytes) {
  if (byoc_host_buffer_in_cell(buffer)) {
    uint32_t memory = 0;
    *out_tensor = BYOC_DEVICE_NO_ROW;
    patch.kind = kind_for_cell(patch.kind);
    patch.offset_bytes = *offset_bytes;
    patch.buffer = buffer;
    return find_memory(device_tables, buffer, &memory) && PUSH(&device_tables->patches, patch);
  }
  if (!find_tensor(device_tables, buffer, out_tensor)) return false;
  if (!byoc_host_buffer_moves(buffer)) {
    *offset_bytes += byoc_host_buffer_offset(buffer);
    return true;
  }
  patch.tensor = *out_tensor;
  patch.offset_bytes = *offset_bytes;
  patch.value = buffer->offset;
  return PUSH(&device_tables->patches, patch);
}

// One side of a copy, or the tensor that is filled.
static bool add_side(byoc_host_device_tables_t *device_tables, byoc_host_buffer_t *buffer, bool is_source,
                     byoc_device_span_t *out) {
  if (buffer->device != NULL) {
    const byoc_host_patch_t patch = {.kind =
                                         is_source ? BYOC_HOST_PATCH_SOURCE_PLACE : BYOC_HOST_PATCH_DESTINATION_PLACE};
    return find_bytes(device_tables, buffer, patch, &out->tensor, &out->offset_bytes);
  }
  out->tensor = BYOC_DEVICE_NO_ROW;
  const byoc_host_patch_t patch = {.kind = is_source ? BYOC_HOST_PATCH_SOURCE : BYOC_HOST_PATCH_DESTINATION,
                                   .buffer = buffer};
  return PUSH(&device_tables->patches, patch);
}

static bool add_argument(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i, uint32_t index) {
  const byoc_host_argument_t *argument = &i->launch->arguments[index];
  const uint32_t row_index = (uint32_t)device_tables->argument_rows.count;
  byoc_device_argument_row_t row = {.offset_bytes = argument->offset_bytes, .real = argument->real};
  byoc_host_buffer_t *buffer = NULL;
  switch (argument->kind) {
  case BYOC_HOST_ARGUMENT_OPERAND:
    buffer = i->operands.data[argument->index];
    break;
  case BYOC_HOST_ARGUMENT_RESULT:
    buffer = i->results.data[argument->index];
    break;
  case BYOC_HOST_ARGUMENT_SCRATCH:
    buffer = i->workspace;
    break;
  case BYOC_HOST_ARGUMENT_I32:
    row.kind = BYOC_DEVICE_ARGUMENT_I32;
    break;
  case BYOC_HOST_ARGUMENT_I64:
    row.kind = BYOC_DEVICE_ARGUMENT_I64;
    break;
  case BYOC_HOST_ARGUMENT_F32:
    row.kind = BYOC_DEVICE_ARGUMENT_F32;
    break;
  case BYOC_HOST_ARGUMENT_F64:
    row.kind = BYOC_DEVICE_ARGUMENT_F64;
    break;
  default:
    row.kind = BYOC_DEVICE_ARGUMENT_LOCAL;
    break;
  }
  if (buffer != NULL) {
    const byoc_host_patch_t patch = {.kind = BYOC_HOST_PATCH_ARGUMENT_PLACE, .index = row_index};
    row.kind = BYOC_DEVICE_ARGUMENT_BUFFER;
    return find_bytes(device_tables, buffer, patch, &row.tensor, &row.offset_bytes) &&
           PUSH(&device_tables->argument_rows, row);
  }
  if (byoc_dim_is_constant(argument->value)) row.integer = argument->value.constant;
  const byoc_host_patch_t patch = {.kind = BYOC_HOST_PATCH_ARGUMENT, .index = row_index, .value = argument->value};
  if (!byoc_dim_is_constant(argument->value) && !PUSH(&device_tables->patches, patch)) return false;
  return PUSH(&device_tables->argument_rows, row);
}

static bool add_extents(byoc_host_device_tables_t *device_tables, const byoc_dim_t extents[3],
                        byoc_host_patch_kind_t kind, uint32_t row[3]) {
  for (uint32_t axis = 0; axis < 3; ++axis) {
    const byoc_host_patch_t patch = {.kind = kind, .index = axis, .value = extents[axis]};
    if (byoc_dim_is_constant(extents[axis])) row[axis] = (uint32_t)extents[axis].constant;
    if (!byoc_dim_is_constant(extents[axis]) && !PUSH(&device_tables->patches, patch)) return false;
  }
  return true;
}

static byoc_status_t add_launch(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i,
                                byoc_device_command_row_t *row, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(find_entry(device_tables, i, &row->entry, diag));
  row->first_argument = (uint32_t)device_tables->argument_rows.count;
  row->argument_count = i->launch->argument_count;
  bool added = add_extents(device_tables, i->launch->grid, BYOC_HOST_PATCH_GRID, row->grid) &&
               add_extents(device_tables, i->launch->block, BYOC_HOST_PATCH_BLOCK, row->block);
  for (uint32_t k = 0; k < i->launch->argument_count && added; ++k) added = add_argument(device_tables, i, k);
  return added ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The size of a copy or a fill; one that only the run knows goes into a patch.
static bool add_size(byoc_host_device_tables_t *device_tables, byoc_host_buffer_t *buffer,
                     byoc_device_command_row_t *row) {
  row->size_bytes = buffer->size_bytes;
  if (byoc_type_is_static(buffer->type)) return true;
  return PUSH(&device_tables->patches, (byoc_host_patch_t){.kind = BYOC_HOST_PATCH_SIZE, .buffer = buffer});
}

static bool add_fill(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i,
                     byoc_device_command_row_t *row) {
  row->pattern_size_bytes = byoc_host_fill_size(i->results.data[0]);
  row->pattern = i->pattern;
  return add_size(device_tables, i->results.data[0], row) &&
         add_side(device_tables, i->results.data[0], false, &row->destination);
}

static bool is_written_over(const byoc_host_program_t *program, const byoc_host_buffer_t *input) {
  for (size_t k = 0; k < program->outputs.count; ++k) {
    if (program->outputs.data[k]->over == input) return true;
  }
  return false;
}

static bool writes(const byoc_host_instruction_t *i, const byoc_host_buffer_t *root) {
  for (size_t k = 0; k < i->results.count; ++k) {
    if (byoc_host_buffer_root(i->results.data[k]) == root) return true;
  }
  return i->workspace != NULL && byoc_host_buffer_root(i->workspace) == root;
}

// Is this copy the only writer of the value, and is each reader a command?
static bool is_only_read(const byoc_host_program_t *program, const byoc_host_instruction_t *copy) {
  const byoc_host_buffer_t *value = copy->results.data[0];
  BYOC_HOST_FOR_EACH(i, program) {
    const bool only_reads = i->op == BYOC_HOST_LAUNCH || i->op == BYOC_HOST_COPY || i->op == BYOC_HOST_ALLOCATE ||
                            i->op == BYOC_HOST_FREE || i->op == BYOC_HOST_MATCH;
    for (size_t k = 0; k < i->operands.count; ++k) {
      if (byoc_host_buffer_root(i->operands.data[k]) == value && !only_reads) return false;
    }
    if (i != copy && writes(i, value)) return false;
  }
  return true;
}

// copy %x -> %t on %q, where %x is an input and %t a value. A loop may copy something else in each iteration.
static bool may_be_lent(const byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *copy) {
  const byoc_host_program_t *program = device_tables->program;
  const byoc_host_buffer_t *from = copy->operands.data[0], *to = copy->results.data[0];
  if (copy->region != &program->body || from->kind != BYOC_HOST_BUFFER_INPUT) return false;
  if (to->device == NULL || to->kind != BYOC_HOST_BUFFER_LOCAL || !byoc_host_buffer_in_cell(to)) return false;
  const byoc_host_memory_t *memory = byoc_host_find_memory(program, to->device, to->scope);
  return memory != NULL && !memory->is_apart && !is_written_over(program, from) && is_only_read(program, copy);
}

static bool add_copy(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i,
                     byoc_device_command_row_t *row) {
  const bool added = add_size(device_tables, i->operands.data[0], row) &&
                     add_side(device_tables, i->operands.data[0], true, &row->source) &&
                     add_side(device_tables, i->results.data[0], false, &row->destination);
  const byoc_host_patch_t lent = {.kind = BYOC_HOST_PATCH_LENT_CELL, .buffer = i->results.data[0]};
  if (!added || !may_be_lent(device_tables, i)) return added;
  return PUSH(&device_tables->patches, lent) && byoc_pointer_map_put(&device_tables->lent, lent.buffer, lent.buffer);
}

static byoc_status_t add_command(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i,
                                 byoc_diag_t *diag) {
  const uint32_t index = (uint32_t)device_tables->command_rows.count;
  byoc_host_command_t command = {.instruction = i, .first_patch = (uint32_t)device_tables->patches.count};
  byoc_device_command_row_t row = {.kind = BYOC_DEVICE_COMMAND_BARRIER};
  bool added = add_waits(device_tables, i, &row);
  if (i->on.queue != NULL) {
    const byoc_host_queue_t *queue = i->on.queue;
    row.queue = (byoc_device_choice_t){device_tables->queues[queue->index], byoc_host_set_count(queue->count)};
    added = added && add_choice(device_tables, BYOC_HOST_PATCH_QUEUE, 0, queue->count, i->on.place);
  }
  if (i->signal.event != NULL) {
    row.signal = event_choice(device_tables, &i->signal);
    added = added && add_choice(device_tables, BYOC_HOST_PATCH_SIGNAL, 0, i->signal.event->count, i->signal.place);
  }
  switch (i->op) {
  case BYOC_HOST_COPY:
    row.kind = BYOC_DEVICE_COMMAND_COPY;
    added = added && add_copy(device_tables, i, &row);
    break;
  case BYOC_HOST_FILL:
    row.kind = BYOC_DEVICE_COMMAND_FILL;
    added = added && add_fill(device_tables, i, &row);
    break;
  case BYOC_HOST_LAUNCH:
    row.kind = BYOC_DEVICE_COMMAND_LAUNCH;
    BYOC_RETURN_IF_ERROR(add_launch(device_tables, i, &row, diag));
    break;
  case BYOC_HOST_AWAIT:
    row.kind = BYOC_DEVICE_COMMAND_AWAIT;
    break;
  default:
    break;
  }
  command.patch_count = (uint32_t)device_tables->patches.count - command.first_patch;
  added = added && PUSH(&device_tables->commands, command) && PUSH(&device_tables->command_rows, row) &&
          PUSH(&device_tables->steps, byoc_host_instruction_name(i)) &&
          byoc_pointer_map_put(&device_tables->command_indices, i, (void *)(uintptr_t)(index + 1));
  return added ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- outputs of open sizes ----

static bool is_among(byoc_host_buffer_t *const *buffers, size_t count, const byoc_host_buffer_t *value) {
  for (size_t k = 0; k < count; ++k) {
    if (byoc_host_buffer_root(buffers[k]) == value) return true;
  }
  return false;
}

// Is the value allocated once, for its own bytes, outside of loops and branches, and otherwise used by commands alone?
static bool is_of_commands(const byoc_host_program_t *program, const byoc_host_buffer_t *value) {
  size_t allocations = 0;
  BYOC_HOST_FOR_EACH(i, program) {
    if (!is_among(i->operands.data, i->operands.count, value) && !writes(i, value)) continue;
    const bool is_command = i->op == BYOC_HOST_LAUNCH || i->op == BYOC_HOST_COPY || i->op == BYOC_HOST_FILL;
    if (!is_command && i->op != BYOC_HOST_ALLOCATE && i->op != BYOC_HOST_FREE) return false;
    if (i->op != BYOC_HOST_ALLOCATE) continue;
    allocations++;
    if (i->region != &program->body || i->allocation != BYOC_HOST_FRESH) return false;
  }
  return allocations == 1;
}

// Is the host's value filled by the copy alone, and then nothing but one output, which nothing else writes or reads?
static bool is_only_output(const byoc_host_program_t *program, const byoc_host_instruction_t *copy,
                           const byoc_host_buffer_t *value) {
  const byoc_host_buffer_t *output = NULL;
  size_t allocations = 0;
  BYOC_HOST_FOR_EACH(i, program) {
    if (i == copy) continue;
    if (writes(i, value)) return false;
    if (output != NULL && (writes(i, output) || is_among(i->operands.data, i->operands.count, output))) return false;
    if (!is_among(i->operands.data, i->operands.count, value) || i->op == BYOC_HOST_FREE) continue;
    if (i->op == BYOC_HOST_ALLOCATE) {
      allocations++;
      if (i->region != &program->body || i->allocation != BYOC_HOST_FRESH) return false;
      continue;
    }
    if (i->op != BYOC_HOST_SHARE || output != NULL || i->results.data[0]->kind != BYOC_HOST_BUFFER_OUTPUT) return false;
    output = i->results.data[0];
  }
  return output != NULL && output->over == NULL && allocations == 1;
}

static bool is_written_behind(const byoc_host_instruction_t *copy);

// copy %w -> %h on %q, where %w is a value on a device, and %h one of the host that becomes an output.
static bool may_be_handed_out(const byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *copy) {
  const byoc_host_program_t *program = device_tables->program;
  const byoc_host_buffer_t *from = copy->operands.data[0], *to = copy->results.data[0];
  if (copy->region != &program->body || from->device == NULL || to->device != NULL) return false;
  if (from->kind != BYOC_HOST_BUFFER_LOCAL || to->kind != BYOC_HOST_BUFFER_LOCAL) return false;
  if (!byoc_host_buffer_in_cell(from) || !byoc_host_buffer_in_cell(to) || !byoc_type_equal(from->type, to->type))
    return false;
  if (byoc_host_device_tables_is_lent(device_tables, from) ||
      byoc_host_device_tables_handed_out(device_tables, from) != NULL)
    return false;
  const byoc_host_memory_t *memory = byoc_host_find_memory(program, from->device, from->scope);
  return memory != NULL && !memory->is_apart && !is_written_behind(copy) && is_of_commands(program, from) &&
         is_only_output(program, copy, to);
}

static bool find_handed_out(byoc_host_device_tables_t *device_tables) {
  BYOC_HOST_FOR_EACH(i, device_tables->program) {
    const bool is_put = i->on.queue != NULL && !is_processor(i->on.queue->device);
    if (!is_put || i->op != BYOC_HOST_COPY || !may_be_handed_out(device_tables, i)) continue;
    void *copy = (void *)(uintptr_t)i;
    if (!byoc_pointer_map_put(&device_tables->handed_out, i->operands.data[0], copy) ||
        !byoc_pointer_map_put(&device_tables->handed_out, i->results.data[0], copy)) {
      return false;
    }
  }
  return true;
}

// ---- ports ----

// Is this the only instruction that writes into the buffer?
static bool is_only_writer(const byoc_host_program_t *program, const byoc_host_instruction_t *writer,
                           const byoc_host_buffer_t *buffer) {
  BYOC_HOST_FOR_EACH(i, program) {
    if (i != writer && writes(i, buffer)) return false;
  }
  return true;
}

// Does an instruction behind the copy, which stands in no loop, write the bytes that it copies?
static bool is_written_behind(const byoc_host_instruction_t *copy) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(copy->operands.data[0]);
  const byoc_host_instruction_t *i = byoc_host_instruction_following(copy);
  while (i != NULL && !writes(i, root)) i = byoc_host_instruction_following(i);
  return i != NULL;
}

// A tensor of its own, in memory as the host has it.
static bool may_be_port(const byoc_host_device_tables_t *device_tables, const byoc_host_buffer_t *buffer) {
  const byoc_host_memory_t *memory = byoc_host_find_memory(device_tables->program, buffer->device, buffer->scope);
  const uint32_t tensor = byoc_host_device_tables_tensor(device_tables, buffer);
  for (size_t k = 0; k < device_tables->port_rows.count; ++k) {
    if (device_tables->port_rows.data[k].tensor == tensor) return false;
  }
  return buffer->kind == BYOC_HOST_BUFFER_LOCAL && !buffer->is_value && buffer->size_bytes > 0 && memory != NULL &&
         !memory->is_apart;
}

static uint32_t index_among(byoc_host_buffer_t *const *buffers, size_t count, const byoc_host_buffer_t *buffer) {
  uint32_t index = 0;
  while (index < count && buffers[index] != buffer) ++index;
  return index;
}

// copy %x -> %t on %q, where %x is an input; copy %t -> %y on %q, where %y is an output
static bool add_port(byoc_host_device_tables_t *device_tables, const byoc_host_instruction_t *i) {
  const byoc_host_program_t *program = device_tables->program;
  const byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  byoc_device_port_row_t row = {.command = byoc_host_device_tables_command(device_tables, i)};
  if (from->kind == BYOC_HOST_BUFFER_INPUT && to->device != NULL) {
    if (!may_be_port(device_tables, to) || is_written_over(program, from) || !is_only_writer(program, i, to))
      return true;
    row.tensor = byoc_host_device_tables_tensor(device_tables, to);
    row.port = index_among(program->inputs.data, program->inputs.count, from);
  } else if (to->kind == BYOC_HOST_BUFFER_OUTPUT && from->device != NULL) {
    if (!may_be_port(device_tables, from) || to->over != NULL || !is_only_writer(program, i, to)) return true;
    if (is_written_behind(i)) return true; // the output would change with it
    row.tensor = byoc_host_device_tables_tensor(device_tables, from);
    row.port = index_among(program->outputs.data, program->outputs.count, to);
    row.is_output = 1;
  } else {
    return true;
  }
  return PUSH(&device_tables->port_rows, row);
}

// A loop may copy something else in each iteration.
static bool add_ports(byoc_host_device_tables_t *device_tables) {
  for (const byoc_host_instruction_t *i = device_tables->program->body.first; i != NULL; i = i->next) {
    const bool is_put = i->on.queue != NULL && !is_processor(i->on.queue->device);
    if (is_put && i->op == BYOC_HOST_COPY && !add_port(device_tables, i)) return false;
  }
  return true;
}

static void fill_tables(byoc_host_device_tables_t *device_tables) {
  byoc_device_tables_t *tables = &device_tables->tables;
#define TABLE(field, count_field, vector)                                                                              \
  tables->field = device_tables->vector.data;                                                                          \
  tables->count_field = (uint32_t)device_tables->vector.count
  TABLE(devices, device_count, device_rows);
  TABLE(queues, queue_count, queue_rows);
  TABLE(memories, memory_count, memory_rows);
  TABLE(tensors, tensor_count, tensor_rows);
  TABLE(modules, module_count, module_rows);
  TABLE(entries, entry_count, entry_rows);
  TABLE(arguments, argument_count, argument_rows);
  TABLE(waits, wait_count, wait_rows);
  TABLE(commands, command_count, command_rows);
  TABLE(ports, port_count, port_rows);
#undef TABLE
  tables->steps = device_tables->steps.data;
}

byoc_status_t byoc_host_device_tables_create(const byoc_host_program_t *program, byoc_arena_t *arena, byoc_diag_t *diag,
                                             byoc_host_device_tables_t **out_device_tables) {
  *out_device_tables = NULL;
  byoc_host_device_tables_t *device_tables = BYOC_ARENA_NEW(arena, byoc_host_device_tables_t);
  if (device_tables == NULL) return byoc_diag_out_of_memory(diag);
  device_tables->program = program;
  device_tables->arena = arena;
  device_tables->allocator = byoc_arena_allocator(arena);
  byoc_pointer_map_init(&device_tables->command_indices, device_tables->allocator);
  byoc_pointer_map_init(&device_tables->tensor_indices, device_tables->allocator);
  byoc_pointer_map_init(&device_tables->lent, device_tables->allocator);
  byoc_pointer_map_init(&device_tables->handed_out, device_tables->allocator);
  device_tables->devices = BYOC_ARENA_ARRAY(arena, uint32_t, program->devices.count + 1);
  device_tables->queues = BYOC_ARENA_ARRAY(arena, uint32_t, program->queues.count + 1);
  device_tables->events = BYOC_ARENA_ARRAY(arena, uint32_t, program->events.count + 1);
  if (device_tables->devices == NULL || device_tables->queues == NULL || device_tables->events == NULL)
    return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(add_devices(device_tables, diag));
  if (!add_queues(device_tables)) return byoc_diag_out_of_memory(diag);
  number_events(device_tables);
  BYOC_HOST_FOR_EACH(i, program) {
    const bool is_put = i->on.queue != NULL && !is_processor(i->on.queue->device);
    const bool waits = i->op == BYOC_HOST_AWAIT && device_tables->device_rows.count > 0;
    if (is_put || waits) BYOC_RETURN_IF_ERROR(add_command(device_tables, i, diag));
    if (!add_memory_of_value(device_tables, i)) return byoc_diag_out_of_memory(diag);
  }
  device_tables->tables.has_fallback = byoc_host_asks(program, BYOC_CHECK_DEVICES);
  if (!(program->is_dynamic ? find_handed_out(device_tables) : add_ports(device_tables)))
    return byoc_diag_out_of_memory(diag);
  fill_tables(device_tables);
  *out_device_tables = device_tables;
  return BYOC_OK;
}
