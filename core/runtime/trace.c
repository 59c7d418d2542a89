// SPDX-License-Identifier: Apache-2.0
// Reports results of instructions to the sink of a traced run.
#include "core/runtime/trace.h"

#include "core/runtime/model.h"

static void report(const byoc_observer_t *observer, const byoc_trace_row_t *row, uint32_t result,
                   const byoc_argument_t *value) {
  const byoc_trace_event_t event = {.struct_size = sizeof(event),
                                    .instruction = row->instruction,
                                    .op = row->op,
                                    .symbol = row->symbol,
                                    .origin = row->origin,
                                    .operands = row->operands,
                                    .operand_count = row->operand_count,
                                    .turn_count = observer->turn_count,
                                    .turns = observer->turns,
                                    .result = result,
                                    .result_count = row->result_count,
                                    .name = row->results[result],
                                    .value = *value};
  observer->trace(observer->argument, &event);
}

void byoc_trace_tensor(const byoc_observer_t *observer, const byoc_trace_row_t *row, uint32_t result, uint32_t dtype,
                       uint32_t rank, const int64_t *dims, const void *data) {
  const byoc_argument_t value = {
      .kind = BYOC_ARGUMENT_TENSOR, .dtype = dtype, .rank = rank, .dims = dims, .data = (void *)(uintptr_t)data};
  report(observer, row, result, &value);
}

static int32_t describe(byoc_frame_t *frame, const byoc_cell_t *cell, byoc_argument_t *out) {
  *out = (byoc_argument_t){.kind = cell->kind, .dtype = cell->dtype, .rank = cell->rank, .dims = cell->dims};
  out->data = cell->data;
  if (cell->kind == BYOC_ARGUMENT_TENSOR) return BYOC_OK;
  out->count = cell->count;
  out->items = byoc_frame_scratch(frame, cell->count * sizeof(*out->items));
  if (out->items == NULL) return byoc_frame_out_of_memory(frame);
  int32_t status = BYOC_OK;
  for (uint64_t i = 0; i < cell->count && status == BYOC_OK; i++) {
    status = describe(frame, cell->items[i], &out->items[i]);
  }
  return status;
}

int32_t byoc_trace_cell(const byoc_observer_t *observer, byoc_frame_t *frame, const byoc_trace_row_t *row,
                        uint32_t result, byoc_cell_t *cell) {
  if (cell == NULL) return BYOC_OK;
  byoc_argument_t value;
  int32_t status = describe(frame, cell, &value);
  if (status == BYOC_OK) report(observer, row, result, &value);
  return status;
}

int32_t byoc_trace_device(const byoc_observer_t *observer, byoc_frame_t *frame, byoc_devices_t *devices,
                          const byoc_trace_row_t *row, uint32_t result, uint32_t dtype, uint32_t rank,
                          const int64_t *dims, uint32_t tensor, uint64_t offset_bytes, uint64_t size_bytes) {
  void *data = byoc_frame_scratch(frame, size_bytes);
  if (data == NULL) return byoc_frame_out_of_memory(frame);
  const int32_t status = byoc_devices_read(devices, tensor, offset_bytes, size_bytes, data);
  if (status == BYOC_OK) byoc_trace_tensor(observer, row, result, dtype, rank, dims, data);
  return status;
}

int32_t byoc_trace_device_cell(const byoc_observer_t *observer, byoc_frame_t *frame, byoc_devices_t *devices,
                               const byoc_trace_row_t *row, uint32_t result, const byoc_cell_t *cell) {
  if (cell == NULL) return BYOC_OK;
  void *data = byoc_frame_scratch(frame, byoc_cell_size_bytes(cell));
  if (data == NULL) return byoc_frame_out_of_memory(frame);
  const int32_t status = byoc_devices_read_cell(devices, cell, data);
  if (status == BYOC_OK) byoc_trace_tensor(observer, row, result, cell->dtype, cell->rank, cell->dims, data);
  return status;
}

int32_t byoc_model_trace(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                         byoc_trace_sink_t sink, void *argument) {
  byoc_observer_t observer = {.trace = sink, .argument = argument};
  return byoc_model_run_observed(context, inputs, outputs, &observer);
}

int32_t byoc_model_profile_arguments(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                                     byoc_profile_sink_t sink, void *argument) {
  byoc_observer_t observer = {.profile = sink, .argument = argument};
  return byoc_model_run_observed(context, inputs, outputs, &observer);
}
