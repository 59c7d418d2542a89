// SPDX-License-Identifier: Apache-2.0
// Devices of the evaluator: the same code as in artifacts drives them (core/runtime/device.h).
#include "core/base/log.h"
#include "core/hostir/evaluate/evaluate_internal.h"
#include "core/module/linkage.h"
#include "core/runtime/check.h"

byoc_status_t byoc_evaluator_open_devices(byoc_evaluator_t *evaluator, const byoc_symbol_resolver_t *resolver,
                                          byoc_diag_t *diag) {
  byoc_host_device_tables_t *device_tables = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_device_tables_create(evaluator->program, &evaluator->arena, diag, &device_tables));
  evaluator->device_tables = device_tables;
  for (size_t k = 0; k < device_tables->device_rows.count; ++k) {
    if (device_tables->device_rows.data[k].driver != NULL) continue;
    void *address = NULL;
    const byoc_runtime_module_t *driver = device_tables->drivers.data[k];
    const char *symbol =
        byoc_linkage_name(evaluator->program->module, driver, driver->driver_symbol, &evaluator->arena);
    if (symbol == NULL) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(resolver->resolve(resolver->self, symbol, diag, &address));
    device_tables->device_rows.data[k].driver = address;
  }
  if (device_tables->device_rows.count == 0) return BYOC_OK;
  // The plan without engines has no devices either.
  if (!evaluator->runtime.has_engines && byoc_host_asks(evaluator->program, BYOC_CHECK_ENGINES)) return BYOC_OK;
  const int32_t status =
      byoc_devices_create(&device_tables->tables, &evaluator->runtime, NULL, 0, evaluator->values, &evaluator->devices);
  evaluator->runtime.has_devices = status == BYOC_OK;
  if (status == BYOC_OK) return BYOC_OK;
  if (!device_tables->tables.has_fallback) return byoc_evaluator_failed(evaluator, status, NULL, diag);
  byoc_diag_t reason = {0};
  (void)byoc_evaluator_failed(evaluator, status, NULL, &reason);
  byoc_log(BYOC_LOG_WARNING, "%s; the plan without devices runs", reason.message);
  evaluator->error[0] = '\0';
  return BYOC_OK;
}

byoc_status_t byoc_evaluator_lend(byoc_evaluator_t *evaluator) {
  const byoc_device_tables_t *tables = &evaluator->device_tables->tables;
  for (uint32_t k = 0; k < tables->port_count; ++k) {
    const byoc_device_port_row_t *row = &tables->ports[k];
    const byoc_host_program_t *program = evaluator->program;
    const byoc_host_buffer_t *port =
        row->is_output ? program->outputs.data[row->port] : program->inputs.data[row->port];
    evaluator->devices->ports[k].host = evaluator->addresses[port->index];
  }
  return byoc_devices_lend(evaluator->devices);
}

// An address in the memory of a device.
static uint64_t place_of(const byoc_evaluator_t *evaluator, const byoc_host_patch_t *patch) {
  return evaluator->devices->tensors[patch->tensor].offset_bytes + patch->offset_bytes +
         (uint64_t)byoc_evaluator_value(evaluator, patch->value);
}

static int32_t apply(byoc_evaluator_t *evaluator, byoc_open_command_t *command, const byoc_host_patch_t *patch) {
  byoc_devices_t *devices = evaluator->devices;
  switch (patch->kind) {
  case BYOC_HOST_PATCH_SOURCE:
    command->source.host = byoc_evaluator_address(evaluator, patch->buffer);
    return BYOC_OK;
  case BYOC_HOST_PATCH_DESTINATION:
    command->destination.host = byoc_evaluator_address(evaluator, patch->buffer);
    return BYOC_OK;
  case BYOC_HOST_PATCH_SOURCE_PLACE:
    command->source.offset_bytes = place_of(evaluator, patch);
    return BYOC_OK;
  case BYOC_HOST_PATCH_DESTINATION_PLACE:
    command->destination.offset_bytes = place_of(evaluator, patch);
    return BYOC_OK;
  case BYOC_HOST_PATCH_ARGUMENT_PLACE:
    devices->arguments[patch->index].offset_bytes = place_of(evaluator, patch);
    return BYOC_OK;
  case BYOC_HOST_PATCH_SOURCE_CELL:
    command->source.buffer = byoc_devices_cell_buffer(evaluator->frame.cells[patch->buffer->index]);
    return BYOC_OK;
  case BYOC_HOST_PATCH_DESTINATION_CELL:
    command->destination.buffer = byoc_devices_cell_buffer(evaluator->frame.cells[patch->buffer->index]);
    return BYOC_OK;
  case BYOC_HOST_PATCH_ARGUMENT_CELL:
    return byoc_devices_set_argument(devices, patch->index, evaluator->frame.cells[patch->buffer->index],
                                     patch->offset_bytes);
  case BYOC_HOST_PATCH_SIZE:
    command->size_bytes = byoc_cell_size_bytes(evaluator->frame.cells[patch->buffer->index]);
    return BYOC_OK;
  case BYOC_HOST_PATCH_LENT_CELL:
    return byoc_devices_lend_cell(devices, command, evaluator->frame.cells[patch->buffer->index]);
  case BYOC_HOST_PATCH_ARGUMENT:
    return byoc_devices_set_integer(devices, patch->index, byoc_evaluator_value(evaluator, patch->value));
  case BYOC_HOST_PATCH_GRID:
    return byoc_devices_extent(devices, byoc_evaluator_value(evaluator, patch->value),
                               &command->launch.grid[patch->index]);
  case BYOC_HOST_PATCH_BLOCK:
    return byoc_devices_extent(devices, byoc_evaluator_value(evaluator, patch->value),
                               &command->launch.block[patch->index]);
  case BYOC_HOST_PATCH_QUEUE:
    command->queue = byoc_evaluator_value(evaluator, patch->value);
    return BYOC_OK;
  case BYOC_HOST_PATCH_SIGNAL:
    command->signal = byoc_evaluator_value(evaluator, patch->value);
    return BYOC_OK;
  default:
    devices->waits[patch->index] = byoc_evaluator_value(evaluator, patch->value);
    return BYOC_OK;
  }
}

int32_t byoc_evaluator_command(byoc_evaluator_t *evaluator, uint32_t command) {
  const byoc_host_command_t *row = &evaluator->device_tables->commands.data[command];
  int32_t status = BYOC_OK;
  for (uint32_t k = row->first_patch; k < row->first_patch + row->patch_count && status == BYOC_OK; ++k) {
    status = apply(evaluator, &evaluator->devices->commands[command], &evaluator->device_tables->patches.data[k]);
  }
  return status == BYOC_OK ? byoc_devices_run(evaluator->devices, command) : status;
}
