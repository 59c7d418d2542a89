// SPDX-License-Identifier: Apache-2.0
// Lets a device use memory of the host in place: constants, and the caller's inputs and outputs. Memory that a device
// cannot use is copied.
#include <stdbool.h>

#include "core/runtime/device_internal.h"

bool byoc_devices_can_import(const byoc_devices_t *devices, uint32_t memory) {
  const byoc_open_device_t *device = byoc_devices_of_memory(devices, memory);
  // Only memory of the first scope is imported.
  return device->info.is_unified && device->driver->import != NULL && devices->memories[memory].scope == 0;
}

int32_t byoc_devices_import(byoc_devices_t *devices, uint32_t memory, void *host, uint64_t size_bytes,
                            byoc_device_buffer_t **out_buffer) {
  const byoc_open_device_t *device = byoc_devices_of_memory(devices, memory);
  *out_buffer = NULL;
  if (!byoc_devices_can_import(devices, memory) || host == NULL || size_bytes == 0) return BYOC_UNSUPPORTED;
  const int32_t status = device->driver->import(device->handle, host, size_bytes, out_buffer);
  if (status == BYOC_UNSUPPORTED) devices->reason[0] = '\0'; // a copy serves as well
  return status;
}

// Updates the commands and arguments that use tensors of ports.
static void refresh(byoc_devices_t *devices) {
  const byoc_device_tables_t *places = devices->places;
  for (uint32_t i = 0; i < places->argument_count; i++) {
    const uint32_t tensor = places->arguments[i].tensor;
    if (places->arguments[i].kind != BYOC_DEVICE_ARGUMENT_BUFFER || tensor == BYOC_DEVICE_NO_ROW) continue;
    if (devices->tensors[tensor].is_port) byoc_devices_make_argument(devices, i);
  }
  for (uint32_t i = 0; i < places->command_count; i++) byoc_devices_place_command(devices, i);
}

static int32_t lend_port(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_port_row_t *place = &devices->places->ports[index];
  const byoc_device_tensor_row_t *row = &devices->places->tensors[place->tensor];
  byoc_open_port_t *port = &devices->ports[index];
  byoc_open_tensor_t *tensor = &devices->tensors[place->tensor];
  byoc_device_buffer_t *buffer = NULL;
  char name[96];
  const int32_t status = byoc_devices_import(devices, row->memory, port->host, row->size_bytes, &buffer);
  if (status == BYOC_UNSUPPORTED) return BYOC_OK;
  if (status != BYOC_OK) {
    return byoc_devices_say(devices, status, "%s cannot use the memory of '%s': %s",
                            byoc_devices_name(devices, byoc_devices_of_memory(devices, row->memory), name), row->name,
                            byoc_devices_reason(devices, status));
  }
  port->lent = buffer;
  port->own = *tensor;
  tensor->buffer = buffer;
  tensor->offset_bytes = 0;
  devices->commands[place->command].is_idle = 1;
  return BYOC_OK;
}

int32_t byoc_devices_lend(byoc_devices_t *devices) {
  const uint32_t count = devices->places->port_count;
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; i < count && status == BYOC_OK; i++) status = lend_port(devices, i);
  if (count > 0) refresh(devices);
  return status;
}

void byoc_devices_take_back(byoc_devices_t *devices) {
  for (uint32_t i = 0; i < devices->places->port_count; i++) {
    const byoc_device_port_row_t *place = &devices->places->ports[i];
    byoc_open_port_t *port = &devices->ports[i];
    if (port->lent == NULL) continue;
    const byoc_open_device_t *device = byoc_devices_of_memory(devices, devices->places->tensors[place->tensor].memory);
    device->driver->release(device->handle, port->lent);
    devices->tensors[place->tensor] = port->own;
    devices->commands[place->command].is_idle = 0;
    port->lent = NULL;
  }
  for (uint32_t i = 0; i < devices->places->command_count; i++) {
    byoc_open_command_t *command = &devices->commands[i];
    if (command->lent == NULL) continue;
    const byoc_open_device_t *device = devices->queues[devices->places->commands[i].queue.first].device;
    device->driver->release(device->handle, command->lent);
    command->lent = NULL;
    command->is_idle = 0;
  }
}
