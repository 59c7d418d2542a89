// SPDX-License-Identifier: Apache-2.0
// The memory that a context has on its devices: workspaces, tensors with allocations of their own, constants.
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/runtime/device_internal.h"

static int32_t find_scope(byoc_devices_t *devices, uint32_t memory, uint32_t *out_scope) {
  const byoc_open_device_t *device = byoc_devices_of_memory(devices, memory);
  const char *scope = devices->places->memories[memory].scope;
  char name[96];
  for (*out_scope = 0; *out_scope < device->info.scope_count; ++*out_scope) {
    if (strcmp(device->info.scopes[*out_scope].name, scope) == 0) return BYOC_OK;
  }
  return byoc_devices_say(devices, BYOC_UNSUPPORTED, "%s has no memory of scope '%s'",
                          byoc_devices_name(devices, device, name), scope);
}

// Waits for all commands, then releases the memory's free blocks. Returns the status of a command that failed.
static int32_t make_room(byoc_devices_t *devices, uint32_t memory, bool *out_has_room) {
  const byoc_open_memory_t *open = &devices->memories[memory];
  *out_has_room = open->free != NULL || open->ended != NULL;
  const int32_t status = *out_has_room ? byoc_devices_settle(devices) : BYOC_OK;
  if (status != BYOC_OK || !*out_has_room) return status;
  byoc_devices_end_cells(devices);
  byoc_devices_drop_blocks(devices, memory);
  return BYOC_OK;
}

int32_t byoc_devices_allocate_buffer(byoc_devices_t *devices, uint32_t memory, byoc_device_allocation_t *allocation,
                                     uint64_t least_bytes, const char *what, byoc_device_buffer_t **out_buffer) {
  const byoc_open_device_t *device = byoc_devices_of_memory(devices, memory);
  const uint64_t most = device->info.scopes[allocation->scope].allocation_size;
  char name[96];
  if (most > 0 && least_bytes > most) {
    return byoc_devices_say(devices, BYOC_OUT_OF_MEMORY, "%s gives %llu bytes at once, and %llu are needed for %s",
                            byoc_devices_name(devices, device, name), (unsigned long long)most,
                            (unsigned long long)least_bytes, what);
  }
  if (most > 0 && allocation->size_bytes > most) allocation->size_bytes = most;
  int32_t status = device->driver->allocate(device->handle, allocation, out_buffer);
  if (status == BYOC_OUT_OF_MEMORY) {
    bool has_room = false;
    const int32_t ended = make_room(devices, memory, &has_room);
    if (ended != BYOC_OK) return ended;
    if (has_room) status = device->driver->allocate(device->handle, allocation, out_buffer);
  }
  if (status == BYOC_OUT_OF_MEMORY && allocation->size_bytes > least_bytes) {
    allocation->size_bytes = least_bytes;
    status = device->driver->allocate(device->handle, allocation, out_buffer);
  }
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_devices_say(devices, status, "%s has no %llu bytes for %s: %s", byoc_devices_name(devices, device, name),
                          (unsigned long long)allocation->size_bytes, what, byoc_devices_reason(devices, status));
}

// Can the tensors of the memory share one allocation?
static bool is_shared(const byoc_devices_t *devices, uint32_t memory, uint32_t scope) {
  const byoc_device_tables_t *places = devices->places;
  const byoc_device_info_t *info = &byoc_devices_of_memory(devices, memory)->info;
  bool fits = !places->memories[memory].is_apart && (info->scopes[scope].flags & BYOC_SCOPE_SUBDIVIDES) != 0;
  for (uint32_t i = 0; i < places->tensor_count && fits; i++) {
    const byoc_device_tensor_row_t *tensor = &places->tensors[i];
    fits = tensor->memory != memory || tensor->data != NULL || tensor->offset_bytes % info->alignment == 0;
  }
  return fits;
}

// An earlier tensor with the same allocation, in a memory that is apart; NULL: none.
static const byoc_open_tensor_t *find_clone(const byoc_devices_t *devices, uint32_t index) {
  const byoc_device_tensor_row_t *tensors = devices->places->tensors;
  if (!devices->places->memories[tensors[index].memory].is_apart || tensors[index].data != NULL) return NULL;
  for (uint32_t i = 0; i < index; i++) {
    if (tensors[i].memory == tensors[index].memory && tensors[i].data == NULL &&
        tensors[i].offset_bytes == tensors[index].offset_bytes) {
      return &devices->tensors[i];
    }
  }
  return NULL;
}

static int32_t allocate_tensor(byoc_devices_t *devices, uint32_t index, uint32_t scope, bool subdivides) {
  const byoc_device_tensor_row_t *place = &devices->places->tensors[index];
  byoc_open_tensor_t *tensor = &devices->tensors[index];
  const byoc_open_tensor_t *clone = find_clone(devices, index);
  if (clone != NULL) {
    *tensor = (byoc_open_tensor_t){.buffer = clone->buffer};
    return BYOC_OK;
  }
  char what[96];
  (void)snprintf(what, sizeof(what), "'%.80s'", place->name);
  tensor->is_own = 1;
  if (place->data != NULL) {
    void *data = (void *)(uintptr_t)place->data;
    const int32_t status = byoc_devices_import(devices, place->memory, data, place->size_bytes, &tensor->buffer);
    tensor->is_imported = status == BYOC_OK;
    if (status == BYOC_OK) return BYOC_OK;
    char name[96];
    if (status != BYOC_UNSUPPORTED) {
      return byoc_devices_say(devices, status, "%s cannot use the memory of %s: %s",
                              byoc_devices_name(devices, byoc_devices_of_memory(devices, place->memory), name), what,
                              byoc_devices_reason(devices, status));
    }
  }
  byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation),
                                         .scope = scope,
                                         .size_bytes = place->size_bytes > 0 ? place->size_bytes : 1,
                                         .element_size_bytes = place->element_size_bytes};
  if (!subdivides) {
    allocation.dims = place->dims;
    allocation.rank = place->rank;
  }
  return byoc_devices_allocate_buffer(devices, place->memory, &allocation, allocation.size_bytes, what,
                                      &tensor->buffer);
}

// Is there a tensor in the workspace? The workspace has an address even if no tensor has elements.
static bool has_workspace(const byoc_devices_t *devices, uint32_t memory) {
  const byoc_device_tables_t *places = devices->places;
  bool has = places->memories[memory].workspace_size_bytes > 0;
  for (uint32_t i = 0; i < places->tensor_count && !has; i++) {
    has = places->tensors[i].memory == memory && places->tensors[i].data == NULL;
  }
  return has;
}

int32_t byoc_devices_allocate(byoc_devices_t *devices, uint32_t memory) {
  const byoc_device_tables_t *places = devices->places;
  const byoc_device_memory_row_t *place = &places->memories[memory];
  const byoc_open_device_t *device = byoc_devices_of_memory(devices, memory);
  uint32_t scope = 0;
  int32_t status = find_scope(devices, memory, &scope);
  if (status != BYOC_OK) return status;
  const bool subdivides = (device->info.scopes[scope].flags & BYOC_SCOPE_SUBDIVIDES) != 0;
  const bool shared = is_shared(devices, memory, scope);
  byoc_open_memory_t *open = &devices->memories[memory];
  open->scope = scope;
  open->shares_blocks = subdivides;
  for (uint32_t i = 0; i < places->queue_count; i++) open->queue_count += places->queues[i].device == place->device;
  const uint64_t size_bytes = place->workspace_size_bytes;
  if (shared && has_workspace(devices, memory)) {
    byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation),
                                           .scope = scope,
                                           .size_bytes = size_bytes > 0 ? size_bytes : 1,
                                           .element_size_bytes = 1};
    status = byoc_devices_allocate_buffer(devices, memory, &allocation, allocation.size_bytes, "intermediate values",
                                          &open->workspace);
  }
  for (uint32_t i = 0; i < places->tensor_count && status == BYOC_OK; i++) {
    const byoc_device_tensor_row_t *tensor = &places->tensors[i];
    if (tensor->memory != memory) continue;
    if (tensor->data != NULL || !shared) {
      status = allocate_tensor(devices, i, scope, subdivides);
    } else {
      devices->tensors[i] = (byoc_open_tensor_t){.buffer = open->workspace, .offset_bytes = tensor->offset_bytes};
    }
  }
  return status;
}

// Copies a constant that the device does not use in place.
static int32_t fill_tensor(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_tensor_row_t *place = &devices->places->tensors[index];
  const byoc_open_tensor_t *tensor = &devices->tensors[index];
  byoc_open_device_t *device = byoc_devices_of_memory(devices, place->memory);
  if (place->size_bytes == 0 || place->data == NULL || tensor->is_imported) return BYOC_OK;
  byoc_device_queue_t *queue = NULL;
  int32_t status = byoc_devices_service(devices, device, &queue);
  if (status != BYOC_OK) return status;
  const byoc_device_bytes_t source = {.host = (void *)(uintptr_t)place->data};
  const byoc_device_bytes_t destination = {.buffer = tensor->buffer, .offset_bytes = tensor->offset_bytes};
  status = device->driver->copy(device->handle, queue, &source, &destination, place->size_bytes, NULL);
  char name[96];
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_devices_say(devices, status, "%s cannot be given '%s': %s", byoc_devices_name(devices, device, name),
                          place->name, byoc_devices_reason(devices, status));
}

int32_t byoc_devices_upload(byoc_devices_t *devices) {
  int32_t status = BYOC_OK;
  char name[96];
  for (uint32_t i = 0; i < devices->places->tensor_count && status == BYOC_OK; i++) status = fill_tensor(devices, i);
  for (uint32_t i = 0; i < devices->places->device_count; i++) {
    const byoc_open_device_t *device = &devices->devices[i];
    if (device->service == NULL) continue;
    const int32_t ended = device->driver->queue_wait(device->handle, device->service);
    if (status != BYOC_OK || ended == BYOC_OK) continue;
    status = byoc_devices_say(devices, ended, "%s cannot be given the constants: %s",
                              byoc_devices_name(devices, device, name), byoc_devices_reason(devices, ended));
  }
  return status;
}
