// SPDX-License-Identifier: Apache-2.0
// Prints the reports of a traced artifact: a table with the names of instructions, and a call behind each.
#include "core/compose/c/host_c.h"

// Appends the buffers' names to the table; operands that are left out have none.
static uint32_t emit_names(byoc_host_buffer_t *const *buffers, size_t count, byoc_string_t *out) {
  uint32_t named = 0;
  for (size_t i = 0; i < count; i++) {
    if (buffers[i] == NULL) continue;
    byoc_string_append(out, "    ");
    byoc_string_append_c_quoted(out, buffers[i]->name);
    byoc_string_append(out, ",\n");
    named++;
  }
  return named;
}

void byoc_host_c_emit_trace_tables(byoc_host_c_t *host, byoc_string_t *out) {
  if (!host->options->trace) return;
  byoc_string_t rows;
  byoc_string_init(&rows, out->allocator);
  size_t next = 0;
  byoc_string_append(out, "// For the trace: names of what each step reads and makes.\n"
                          "static const char *const host_trace_names[] = {\n");
  for (size_t i = 0; i < host->instructions.count; i++) {
    const byoc_host_instruction_t *at = host->instructions.data[i];
    const uint32_t operands = emit_names(at->operands.data, at->operands.count, out);
    const uint32_t results = emit_names(at->results.data, at->results.count, out);
    byoc_string_appendf(&rows, "    {%u, %u, %u, \"%s\", ", host->positions.data[i], operands, results,
                        byoc_host_op_name(at->op));
    byoc_string_append_c_quoted(&rows, at->symbol != NULL ? at->symbol : "");
    byoc_string_append(&rows, ", ");
    byoc_string_append_c_quoted(&rows, at->origin != NULL ? at->origin : "");
    byoc_string_appendf(&rows, ", host_trace_names + %zu, host_trace_names + %zu},\n", next, next + operands);
    next += operands + results;
  }
  byoc_string_append(out, "    0,\n};\n\n"
                          "// Steps: position in the program, operands, results, what it is, function, origin.\n"
                          "static const byoc_trace_row_t host_trace[] = {\n");
  byoc_string_append_bytes(out, rows.data, rows.size);
  byoc_string_append(out, "    {0},\n};\n\n");
  out->failed |= rows.failed;
  byoc_string_deinit(&rows);
}

void byoc_host_c_emit_trace_row(const byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                                byoc_string_t *out) {
  const bool reports =
      instruction->op == BYOC_HOST_PACKED || instruction->op == BYOC_HOST_ENGINE || instruction->op == BYOC_HOST_C_CALL;
  if (!host->options->trace || !reports) return;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "context->reporter.row = TRACED() ? &host_trace[%zu] : 0;\n", step);
}

byoc_status_t byoc_host_c_emit_trace(byoc_host_c_t *host, const byoc_host_instruction_t *instruction, size_t step,
                                     byoc_string_t *out) {
  if (!host->options->trace || instruction->results.count == 0) return BYOC_OK;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "if (TRACED()) {\n");
  host->depth++;
  if (byoc_host_device_tables_command(host->device_tables, instruction) !=
      BYOC_DEVICE_NO_ROW) { // only now its results are there
    byoc_host_c_indent(host, out);
    byoc_string_append(out, "status = byoc_devices_settle(devices);\n");
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "STEP_END(%zu);\n", step);
  }
  for (size_t i = 0; i < instruction->results.count; i++) {
    const byoc_host_buffer_t *buffer = instruction->results.data[i];
    if (buffer->device != NULL) {
      byoc_host_c_indent(host, out);
      byoc_host_c_emit_device_trace(host, buffer, step, i, out);
      continue;
    }
    byoc_host_c_tensor_t place;
    BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, buffer, &place));
    byoc_host_c_indent(host, out);
    if (place.in_cell) {
      byoc_string_appendf(out,
                          "status = byoc_trace_cell(context->observer, frame, &host_trace[%zu], %zu, cells[%u]);\n",
                          step, i, place.cell);
      byoc_host_c_indent(host, out);
      byoc_string_appendf(out, "STEP_END(%zu);\n", step);
      continue;
    }
    byoc_string_appendf(out, "byoc_trace_tensor(context->observer, &host_trace[%zu], %zu, %u, %d, host_dims + %u, ",
                        step, i, (unsigned)buffer->type->dtype, (int)buffer->type->rank, place.shape);
    byoc_host_c_emit_address(host, &place, 0, out);
    byoc_string_append(out, ");\n");
  }
  host->depth--;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "}\n");
  return BYOC_OK;
}

void byoc_host_c_emit_iteration(const byoc_host_c_t *host, size_t step, byoc_string_t *out) {
  if (!host->options->trace) return;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "if (TRACED()) byoc_observer_turn(context->observer, %u, turn_%zu);\n", host->loop_depth - 1,
                      step);
}

void byoc_host_c_emit_leave(const byoc_host_c_t *host, byoc_string_t *out) {
  if (!host->options->trace) return;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "if (TRACED()) byoc_observer_leave(context->observer, %u);\n", host->loop_depth);
}
