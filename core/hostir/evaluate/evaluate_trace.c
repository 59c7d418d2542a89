// SPDX-License-Identifier: Apache-2.0
// Reports the results of instructions to the evaluator's trace.
#include "core/hostir/evaluate/evaluate_internal.h"

// The names of buffers; operands that are left out have none.
static bool list_names(byoc_arena_t *arena, byoc_host_buffer_t *const *buffers, size_t count, const char *const **out,
                       uint32_t *out_count) {
  const char **names = BYOC_ARENA_ARRAY(arena, const char *, count);
  *out = names;
  *out_count = 0;
  for (size_t k = 0; names != NULL && k < count; ++k) {
    if (buffers[k] != NULL) names[(*out_count)++] = byoc_host_port_name(buffers[k]);
  }
  return names != NULL;
}

static byoc_status_t make_row(byoc_evaluator_t *evaluator, byoc_step_t *step, uint32_t position, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  if (i->results.count == 0 || step->row != NULL) return BYOC_OK;
  byoc_trace_row_t *row = BYOC_ARENA_NEW(&evaluator->arena, byoc_trace_row_t);
  if (row == NULL) return byoc_diag_out_of_memory(diag);
  *row = (byoc_trace_row_t){.instruction = position,
                            .op = byoc_host_op_name(i->op),
                            .symbol = i->symbol != NULL ? i->symbol : "",
                            .origin = i->origin != NULL ? i->origin : ""};
  if (!list_names(&evaluator->arena, i->operands.data, i->operands.count, &row->operands, &row->operand_count) ||
      !list_names(&evaluator->arena, i->results.data, i->results.count, &row->results, &row->result_count)) {
    return byoc_diag_out_of_memory(diag);
  }
  step->row = row;
  return BYOC_OK;
}

static byoc_status_t make_rows(byoc_evaluator_t *evaluator, const byoc_steps_t *steps, uint32_t *position,
                               byoc_diag_t *diag) {
  for (size_t k = 0; k < steps->count; ++k) {
    byoc_step_t *step = &steps->steps[k];
    BYOC_RETURN_IF_ERROR(make_row(evaluator, step, (*position)++, diag));
    for (uint32_t r = 0; step->regions != NULL && r < step->instruction->region_count; ++r) {
      BYOC_RETURN_IF_ERROR(make_rows(evaluator, &step->regions[r], position, diag));
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_evaluator_trace(byoc_evaluator_t *evaluator, byoc_trace_sink_t sink, void *argument,
                                   byoc_diag_t *diag) {
  uint32_t position = 0;
  BYOC_RETURN_IF_ERROR(make_rows(evaluator, &evaluator->body, &position, diag));
  evaluator->observer = (byoc_observer_t){.trace = sink, .argument = argument};
  evaluator->reporter.observer = &evaluator->observer;
  return BYOC_OK;
}

void byoc_evaluator_profile(byoc_evaluator_t *evaluator, byoc_profile_sink_t sink, byoc_counter_sink_t counter,
                            void *argument) {
  evaluator->reporter.profile = sink;
  evaluator->reporter.profile_argument = argument;
  evaluator->reporter.counter = counter;
  evaluator->reporter.counter_argument = argument;
}

byoc_status_t byoc_evaluator_report(byoc_evaluator_t *evaluator, const byoc_step_t *step) {
  const byoc_host_instruction_t *i = step->instruction;
  if (step->command != BYOC_DEVICE_NO_ROW && i->results.count > 0) { // only now its results are there
    byoc_status_t status = byoc_devices_settle(evaluator->devices);
    if (status != BYOC_OK) return status;
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    const byoc_host_buffer_t *buffer = i->results.data[k];
    if (byoc_host_buffer_in_cell(buffer) && buffer->device != NULL) {
      byoc_status_t status = byoc_trace_device_cell(&evaluator->observer, &evaluator->frame, evaluator->devices,
                                                    step->row, (uint32_t)k, evaluator->frame.cells[buffer->index]);
      if (status != BYOC_OK) return status;
      continue;
    }
    if (byoc_host_buffer_in_cell(buffer)) {
      byoc_status_t status = byoc_trace_cell(&evaluator->observer, &evaluator->frame, step->row, (uint32_t)k,
                                             evaluator->frame.cells[buffer->index]);
      if (status != BYOC_OK) return status;
      continue;
    }
    const byoc_type_t *type = buffer->type;
    int64_t dims[BYOC_MAX_RANK];
    for (int32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[d].constant;
    if (buffer->device != NULL) {
      const uint32_t tensor = byoc_host_device_tables_tensor(evaluator->device_tables, buffer);
      const int64_t offset = byoc_evaluator_value(evaluator, byoc_host_buffer_place(buffer));
      byoc_status_t status =
          byoc_trace_device(&evaluator->observer, &evaluator->frame, evaluator->devices, step->row, (uint32_t)k,
                            type->dtype, (uint32_t)type->rank, dims, tensor, (uint64_t)offset, buffer->size_bytes);
      if (status != BYOC_OK) return status;
      continue;
    }
    byoc_trace_tensor(&evaluator->observer, step->row, (uint32_t)k, type->dtype, (uint32_t)type->rank, dims,
                      byoc_evaluator_address(evaluator, buffer));
  }
  return BYOC_OK;
}
