// SPDX-License-Identifier: Apache-2.0
// Prints a program's devices as C: the tables that a context opens, and the commands of a run.
#include <inttypes.h>
#include <string.h>

#include "core/compose/c/host_c.h"
#include "core/module/linkage.h"

static void note(byoc_host_c_t *host, byoc_status_t status) {
  if (host->status == BYOC_OK) host->status = status;
}

// ---- tables ----

static void begin(const char *type, const char *name, byoc_string_t *out) {
  byoc_string_appendf(out, "static const %s %s[] = {\n", type, name);
}
// Tables are never empty in C: an empty one gets a row of zeros that its count leaves out.
static void end(size_t count, byoc_string_t *out) {
  byoc_string_append(out, count == 0 ? "    {0},\n};\n" : "};\n");
}

static void emit_devices(byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_host_device_tables_t *device_tables = host->device_tables;
  for (size_t i = 0; i < device_tables->drivers.count; i++) {
    byoc_string_appendf(out, "extern const byoc_driver_t %s;\n", host->driver_symbols.data[i]);
  }
  for (size_t i = 0; i < device_tables->device_rows.count; i++) {
    const byoc_device_row_t *row = &device_tables->device_rows.data[i];
    byoc_host_c_emit_options(row->options, row->option_count, "device", i, out);
  }
  begin("byoc_device_row_t", "host_place_devices", out);
  for (size_t i = 0; i < device_tables->device_rows.count; i++) {
    const byoc_device_row_t *row = &device_tables->device_rows.data[i];
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, row->name);
    byoc_string_appendf(out, ", &%s, %d", host->driver_symbols.data[i], (int)row->ordinal);
    if (row->option_count > 0) byoc_string_appendf(out, ", %u, host_device_%zu_options", row->option_count, i);
    byoc_string_append(out, "},\n");
  }
  end(device_tables->device_rows.count, out);
  begin("byoc_device_queue_row_t", "host_place_queues", out);
  for (size_t i = 0; i < device_tables->queue_rows.count; i++) {
    const byoc_device_queue_row_t *row = &device_tables->queue_rows.data[i];
    byoc_string_appendf(out, "    {%u, %u},\n", row->device, row->kind);
  }
  end(device_tables->queue_rows.count, out);
}

static void emit_memories(byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_host_device_tables_t *device_tables = host->device_tables;
  begin("byoc_device_memory_row_t", "host_place_memories", out);
  for (size_t i = 0; i < device_tables->memory_rows.count; i++) {
    const byoc_device_memory_row_t *row = &device_tables->memory_rows.data[i];
    byoc_string_appendf(out, "    {%u, ", row->device);
    byoc_string_append_c_quoted(out, row->scope);
    byoc_string_appendf(out, ", %u, %" PRIu64 "},\n", row->is_apart, row->workspace_size_bytes);
  }
  end(device_tables->memory_rows.count, out);
  byoc_string_append(out, "// Name, memory, rank, bytes of an element, dimensions, offset, size, constant.\n");
  byoc_string_appendf(out, "%s byoc_device_tensor_row_t host_place_tensors[] = {\n", byoc_host_c_table_words(host));
  for (size_t i = 0; i < device_tables->tensor_rows.count; i++) {
    const byoc_device_tensor_row_t *row = &device_tables->tensor_rows.data[i];
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, row->name);
    byoc_string_appendf(out, ", %u, %u, %u, (const int64_t[]){", row->memory, row->rank, row->element_size_bytes);
    for (uint32_t d = 0; d < row->rank; d++) byoc_string_appendf(out, "%" PRId64 ", ", row->dims[d]);
    byoc_string_appendf(out, "0}, %" PRIu64 ", %" PRIu64 ", ", row->offset_bytes, row->size_bytes);
    byoc_host_c_tensor_t constant = {.kind = BYOC_HOST_BUFFER_CONSTANT};
    if (row->data != NULL) {
      note(host, byoc_host_c_place_constant(host, row->data, (size_t)row->size_bytes, row->name, &constant));
      byoc_host_c_emit_constant(host, &constant, out, "host_place_tensors[%zu].data", i);
    } else {
      byoc_string_append(out, "0");
    }
    byoc_string_append(out, "},\n");
  }
  end(device_tables->tensor_rows.count, out);
}

static void emit_variants(byoc_host_c_t *host, const byoc_device_module_row_t *module, size_t index,
                          byoc_string_t *out) {
  byoc_string_appendf(out, "static const byoc_device_variant_row_t host_place_variants_%zu[] = {\n", index);
  for (uint32_t i = 0; i < module->variant_count; i++) {
    const byoc_device_variant_row_t *row = &module->variants[i];
    uint64_t offset = 0;
    note(host, byoc_host_c_place(host, row->data, (size_t)row->size_bytes + 1, module->name, &offset));
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, row->format);
    byoc_string_append(out, ", ");
    if (row->architecture != NULL) byoc_string_append_c_quoted(out, row->architecture);
    if (row->architecture == NULL) byoc_string_append(out, "0");
    byoc_string_append(out, ", ");
    byoc_string_append_c_quoted(out, row->options);
    byoc_string_appendf(out, ", byoc_data + %" PRIu64 ", %" PRIu64 "},\n", offset, row->size_bytes);
  }
  end(module->variant_count, out);
}

static void emit_code(byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_host_device_tables_t *device_tables = host->device_tables;
  for (size_t i = 0; i < device_tables->module_rows.count; i++)
    emit_variants(host, &device_tables->module_rows.data[i], i, out);
  begin("byoc_device_module_row_t", "host_place_modules", out);
  for (size_t i = 0; i < device_tables->module_rows.count; i++) {
    const byoc_device_module_row_t *row = &device_tables->module_rows.data[i];
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, row->name);
    byoc_string_appendf(out, ", %u, %u, host_place_variants_%zu", row->device, row->variant_count, i);
    if (row->fits != NULL) byoc_string_append(out, ", ");
    if (row->fits != NULL) byoc_string_append_c_quoted(out, row->fits);
    byoc_string_append(out, "},\n");
  }
  end(device_tables->module_rows.count, out);
  begin("byoc_device_entry_row_t", "host_place_entries", out);
  for (size_t i = 0; i < device_tables->entry_rows.count; i++) {
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, device_tables->entry_rows.data[i].name);
    byoc_string_appendf(out, ", %u},\n", device_tables->entry_rows.data[i].module);
  }
  end(device_tables->entry_rows.count, out);
}

static void emit_arguments(const byoc_host_device_tables_t *device_tables, byoc_string_t *out) {
  byoc_string_append(out, "// Kind, tensor, offset, integer, real.\n");
  begin("byoc_device_argument_row_t", "host_place_arguments", out);
  for (size_t i = 0; i < device_tables->argument_rows.count; i++) {
    const byoc_device_argument_row_t *row = &device_tables->argument_rows.data[i];
    byoc_string_appendf(out, "    {%u, %u, %" PRIu64 ", ", row->kind, row->tensor, row->offset_bytes);
    byoc_host_c_emit_integer(row->integer, out);
    byoc_string_append(out, ", ");
    byoc_host_c_emit_real(BYOC_C_F64, row->real, out);
    byoc_string_append(out, "},\n");
  }
  end(device_tables->argument_rows.count, out);
  begin("byoc_device_choice_t", "host_place_waits", out);
  for (size_t i = 0; i < device_tables->wait_rows.count; i++) {
    byoc_string_appendf(out, "    {%u, %u},\n", device_tables->wait_rows.data[i].first,
                        device_tables->wait_rows.data[i].count);
  }
  end(device_tables->wait_rows.count, out);
}

static void emit_choice(const char *field, byoc_device_choice_t choice, byoc_string_t *out) {
  if (choice.count > 0) byoc_string_appendf(out, ", .%s = {%u, %u}", field, choice.first, choice.count);
}

static void emit_bytes(const char *field, const byoc_device_span_t *bytes, byoc_string_t *out) {
  byoc_string_appendf(out, ", .%s = {%s", field, bytes->tensor == BYOC_DEVICE_NO_ROW ? "BYOC_DEVICE_NO_ROW" : "");
  if (bytes->tensor != BYOC_DEVICE_NO_ROW) byoc_string_appendf(out, "%u", bytes->tensor);
  byoc_string_appendf(out, ", %" PRIu64 "}", bytes->offset_bytes);
}

static void emit_command(const byoc_device_command_row_t *row, byoc_string_t *out) {
  static const char *const kinds[] = {"", "COPY", "FILL", "LAUNCH", "BARRIER", "AWAIT"};
  byoc_string_appendf(out, "    {.kind = BYOC_DEVICE_COMMAND_%s", kinds[row->kind]);
  emit_choice("queue", row->queue, out);
  if (row->wait_count > 0) {
    byoc_string_appendf(out, ", .first_wait = %u, .wait_count = %u", row->first_wait, row->wait_count);
  }
  emit_choice("signal", row->signal, out);
  if (row->kind == BYOC_DEVICE_COMMAND_COPY) emit_bytes("source", &row->source, out);
  if (row->kind == BYOC_DEVICE_COMMAND_COPY || row->kind == BYOC_DEVICE_COMMAND_FILL) {
    emit_bytes("destination", &row->destination, out);
    byoc_string_appendf(out, ", .size_bytes = %" PRIu64, row->size_bytes);
  }
  if (row->kind == BYOC_DEVICE_COMMAND_FILL) {
    byoc_string_appendf(out, ", .pattern = 0x%" PRIx64 "u, .pattern_size_bytes = %u", row->pattern,
                        row->pattern_size_bytes);
  }
  if (row->kind == BYOC_DEVICE_COMMAND_LAUNCH) {
    byoc_string_appendf(out, ", .entry = %u, .first_argument = %u, .argument_count = %u", row->entry,
                        row->first_argument, row->argument_count);
    byoc_string_appendf(out, ", .grid = {%u, %u, %u}, .block = {%u, %u, %u}", row->grid[0], row->grid[1], row->grid[2],
                        row->block[0], row->block[1], row->block[2]);
  }
  byoc_string_append(out, "},\n");
}

static void emit_ports(const byoc_host_device_tables_t *device_tables, byoc_string_t *out) {
  begin("byoc_device_port_row_t", "host_place_ports", out);
  for (size_t i = 0; i < device_tables->port_rows.count; i++) {
    const byoc_device_port_row_t *row = &device_tables->port_rows.data[i];
    byoc_string_appendf(out, "    {%u, %u, %u, %u},\n", row->tensor, row->command, row->port, row->is_output);
  }
  end(device_tables->port_rows.count, out);
}

static void emit_commands(const byoc_host_device_tables_t *device_tables, byoc_string_t *out) {
  begin("byoc_device_command_row_t", "host_place_commands", out);
  for (size_t i = 0; i < device_tables->command_rows.count; i++)
    emit_command(&device_tables->command_rows.data[i], out);
  end(device_tables->command_rows.count, out);
  begin("char *const", "host_place_steps", out);
  for (size_t i = 0; i < device_tables->steps.count; i++) {
    byoc_string_append(out, "    ");
    byoc_string_append_c_quoted(out, device_tables->steps.data[i]);
    byoc_string_append(out, ",\n");
  }
  byoc_string_append(out, "    0,\n};\n");
}

void byoc_host_c_emit_places(byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_device_tables_t *tables = &host->device_tables->tables;
  if (tables->device_count == 0) return;
  byoc_string_append(out, "// What the program has on devices: byoc_device_tables_t.\n");
  emit_devices(host, out);
  emit_memories(host, out);
  emit_code(host, out);
  emit_arguments(host->device_tables, out);
  emit_commands(host->device_tables, out);
  emit_ports(host->device_tables, out);
  byoc_string_append(out, "static const byoc_device_tables_t host_places_on_devices = {\n"
                          "    host_place_devices, host_place_queues, host_place_memories, host_place_tensors, "
                          "host_place_modules, host_place_entries,\n    host_place_arguments, host_place_waits, "
                          "host_place_commands, host_place_steps,\n"
                          "    host_place_ports,\n");
  byoc_string_appendf(out, "    .device_count = %u, .queue_count = %u, .memory_count = %u, .tensor_count = %u,\n",
                      tables->device_count, tables->queue_count, tables->memory_count, tables->tensor_count);
  byoc_string_appendf(out, "    .module_count = %u, .entry_count = %u, .argument_count = %u, .wait_count = %u,\n",
                      tables->module_count, tables->entry_count, tables->argument_count, tables->wait_count);
  byoc_string_appendf(out, "    .port_count = %u,\n", tables->port_count);
  byoc_string_appendf(out, "    .command_count = %u, .event_count = %u, .times = %d%s};\n\n", tables->command_count,
                      tables->event_count, host->options->profile, tables->has_fallback ? ", .has_fallback = 1" : "");
}

// ---- runs ----

static void emit_place(const byoc_host_c_t *host, const byoc_host_patch_t *patch, byoc_string_t *out) {
  byoc_string_appendf(out, "devices->tensors[%u].offset_bytes + %" PRIu64 " + (uint64_t)(", patch->tensor,
                      patch->offset_bytes);
  byoc_host_c_emit_dim(host, patch->value, out);
  byoc_string_append(out, ");\n");
}

static void emit_number(const byoc_host_c_t *host, byoc_dim_t value, byoc_string_t *out) {
  byoc_host_c_emit_dim(host, value, out);
  byoc_string_append(out, ";\n");
}

static byoc_status_t emit_host_side(byoc_host_c_t *host, const byoc_host_patch_t *patch, byoc_string_t *out) {
  byoc_host_c_tensor_t place;
  BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, patch->buffer, &place));
  byoc_string_append(out, "(void *)(uintptr_t)(");
  byoc_host_c_emit_address(host, &place, 0, out);
  byoc_string_append(out, ");\n");
  return BYOC_OK;
}

static void emit_extent(byoc_host_c_t *host, const byoc_host_patch_t *patch, uint32_t command, size_t step,
                        byoc_string_t *out) {
  byoc_string_append(out, "status = byoc_devices_extent(devices, ");
  byoc_host_c_emit_dim(host, patch->value, out);
  byoc_string_appendf(out, ", &devices->commands[%u].launch.%s[%u]);\n", command,
                      patch->kind == BYOC_HOST_PATCH_GRID ? "grid" : "block", patch->index);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "STEP_END(%zu);\n", step);
}

static void emit_integer(byoc_host_c_t *host, const byoc_host_patch_t *patch, size_t step, byoc_string_t *out) {
  byoc_string_appendf(out, "status = byoc_devices_set_integer(devices, %u, ", patch->index);
  byoc_host_c_emit_dim(host, patch->value, out);
  byoc_string_append(out, ");\n");
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "STEP_END(%zu);\n", step);
}

static byoc_status_t emit_patch(byoc_host_c_t *host, const byoc_host_patch_t *patch, uint32_t command, size_t step,
                                byoc_string_t *out) {
  byoc_host_c_indent(host, out);
  switch (patch->kind) {
  case BYOC_HOST_PATCH_SOURCE:
    byoc_string_appendf(out, "devices->commands[%u].source.host = ", command);
    return emit_host_side(host, patch, out);
  case BYOC_HOST_PATCH_DESTINATION:
    byoc_string_appendf(out, "devices->commands[%u].destination.host = ", command);
    return emit_host_side(host, patch, out);
  case BYOC_HOST_PATCH_SOURCE_PLACE:
    byoc_string_appendf(out, "devices->commands[%u].source.offset_bytes = ", command);
    emit_place(host, patch, out);
    return BYOC_OK;
  case BYOC_HOST_PATCH_DESTINATION_PLACE:
    byoc_string_appendf(out, "devices->commands[%u].destination.offset_bytes = ", command);
    emit_place(host, patch, out);
    return BYOC_OK;
  case BYOC_HOST_PATCH_ARGUMENT_PLACE:
    byoc_string_appendf(out, "devices->arguments[%u].offset_bytes = ", patch->index);
    emit_place(host, patch, out);
    return BYOC_OK;
  case BYOC_HOST_PATCH_SOURCE_CELL:
  case BYOC_HOST_PATCH_DESTINATION_CELL:
    byoc_string_appendf(out, "devices->commands[%u].%s.buffer = byoc_devices_cell_buffer(cells[%u]);\n", command,
                        patch->kind == BYOC_HOST_PATCH_SOURCE_CELL ? "source" : "destination", patch->buffer->index);
    return BYOC_OK;
  case BYOC_HOST_PATCH_ARGUMENT_CELL:
    byoc_string_appendf(out, "status = byoc_devices_set_argument(devices, %u, cells[%u], %" PRIu64 ");\n", patch->index,
                        patch->buffer->index, patch->offset_bytes);
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "STEP_END(%zu);\n", step);
    return BYOC_OK;
  case BYOC_HOST_PATCH_SIZE:
    byoc_string_appendf(out, "devices->commands[%u].size_bytes = byoc_cell_size_bytes(cells[%u]);\n", command,
                        patch->buffer->index);
    return BYOC_OK;
  case BYOC_HOST_PATCH_LENT_CELL:
    byoc_string_appendf(out, "status = byoc_devices_lend_cell(devices, &devices->commands[%u], cells[%u]);\n", command,
                        patch->buffer->index);
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "STEP_END(%zu);\n", step);
    return BYOC_OK;
  case BYOC_HOST_PATCH_ARGUMENT:
    emit_integer(host, patch, step, out);
    return BYOC_OK;
  case BYOC_HOST_PATCH_GRID:
  case BYOC_HOST_PATCH_BLOCK:
    emit_extent(host, patch, command, step, out);
    return BYOC_OK;
  case BYOC_HOST_PATCH_QUEUE:
    byoc_string_appendf(out, "devices->commands[%u].queue = ", command);
    break;
  case BYOC_HOST_PATCH_SIGNAL:
    byoc_string_appendf(out, "devices->commands[%u].signal = ", command);
    break;
  case BYOC_HOST_PATCH_WAIT:
    byoc_string_appendf(out, "devices->waits[%u] = ", patch->index);
    break;
  }
  emit_number(host, patch->value, out);
  return BYOC_OK;
}

bool byoc_host_c_emit_command(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out,
                              byoc_status_t *out_status) {
  const uint32_t command = byoc_host_device_tables_command(host->device_tables, i);
  *out_status = BYOC_OK;
  if (command == BYOC_DEVICE_NO_ROW) return i->op == BYOC_HOST_BARRIER || i->op == BYOC_HOST_AWAIT; // of the processor
  const byoc_host_command_t *row = &host->device_tables->commands.data[command];
  for (uint32_t k = 0; k < row->patch_count && *out_status == BYOC_OK; k++) {
    *out_status = emit_patch(host, &host->device_tables->patches.data[row->first_patch + k], command, step, out);
  }
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "status = byoc_devices_run(devices, %u);\n", command);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "STEP_END(%zu);\n", step);
  return true;
}

void byoc_host_c_emit_device_trace(byoc_host_c_t *host, const byoc_host_buffer_t *buffer, size_t step, size_t result,
                                   byoc_string_t *out) {
  if (byoc_host_buffer_in_cell(buffer)) {
    byoc_string_appendf(out,
                        "status = byoc_trace_device_cell(context->observer, frame, devices, &host_trace[%zu], %zu, "
                        "cells[%u]);\n",
                        step, result, buffer->index);
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "STEP_END(%zu);\n", step);
    return;
  }
  uint32_t shape = 0;
  note(host, byoc_host_c_shape(host, buffer->type, &shape));
  byoc_string_appendf(out,
                      "status = byoc_trace_device(context->observer, &context->frame, devices, &host_trace[%zu], %zu, "
                      "%u, %d, host_dims + %u, %u, ",
                      step, result, (unsigned)buffer->type->dtype, (int)buffer->type->rank, shape,
                      byoc_host_device_tables_tensor(host->device_tables, buffer));
  byoc_string_append(out, "(uint64_t)(");
  byoc_host_c_emit_dim(host, byoc_host_buffer_place(buffer), out);
  byoc_string_appendf(out, "), %" PRIu64 ");\n", buffer->size_bytes);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "STEP_END(%zu);\n", step);
}
