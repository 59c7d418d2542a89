// SPDX-License-Identifier: Apache-2.0
// Describes a program's devices in the metadata: its memory there, and the copies of a run.
#include <jansson.h>
#include <string.h>

#include "core/base/json.h"
#include "core/compose/artifact/metadata_steps.h"
#include "core/hostir/program/device_tables.h"
#include "core/hostir/verify/in_place.h"

static bool set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

// Is it the first tensor of its allocation, in a memory that is apart?
static bool has_own_allocation(const byoc_device_tables_t *tables, uint32_t index) {
  const byoc_device_tensor_row_t *tensors = tables->tensors;
  for (uint32_t i = 0; i < index; i++) {
    if (tensors[i].memory == tensors[index].memory && tensors[i].data == NULL &&
        tensors[i].offset_bytes == tensors[index].offset_bytes) {
      return false;
    }
  }
  return true;
}

static json_t *memory_json(const byoc_device_tables_t *tables, uint32_t memory) {
  uint64_t workspace = tables->memories[memory].workspace_size_bytes, constants = 0;
  for (uint32_t i = 0; i < tables->tensor_count; i++) {
    const byoc_device_tensor_row_t *tensor = &tables->tensors[i];
    if (tensor->memory != memory) continue;
    if (tensor->data != NULL) constants += tensor->size_bytes;
    if (tensor->data == NULL && tables->memories[memory].is_apart && has_own_allocation(tables, i)) {
      workspace += tensor->size_bytes;
    }
  }
  json_t *object = json_object();
  bool ok = object != NULL && set(object, "scope", byoc_json_string(tables->memories[memory].scope)) &&
            set(object, "workspace_bytes", json_integer((json_int_t)workspace)) &&
            set(object, "constants_bytes", json_integer((json_int_t)constants));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

static json_t *memories_json(const byoc_device_tables_t *tables, uint32_t device) {
  json_t *array = json_array();
  bool ok = array != NULL;
  for (uint32_t i = 0; i < tables->memory_count && ok; i++) {
    if (tables->memories[i].device == device) ok = json_array_append_new(array, memory_json(tables, i)) == 0;
  }
  if (ok) return array;
  json_decref(array);
  return NULL;
}

// The bytes of copies that a device with the host's memory does not need: those of the model's inputs and outputs.
static byoc_host_moved_t lent_bytes(const byoc_device_tables_t *tables, uint32_t device) {
  byoc_host_moved_t lent = {0};
  for (uint32_t i = 0; i < tables->port_count; i++) {
    const byoc_device_tensor_row_t *tensor = &tables->tensors[tables->ports[i].tensor];
    if (tables->memories[tensor->memory].device != device) continue;
    *(tables->ports[i].is_output ? &lent.out : &lent.in) += tensor->size_bytes;
  }
  return lent;
}

static json_t *device_json(const byoc_host_device_tables_t *places, const byoc_host_device_t *device) {
  const uint32_t index = places->devices[device->index];
  uint32_t queues = 0;
  for (uint32_t i = 0; i < places->tables.queue_count; i++) queues += places->tables.queues[i].device == index;
  const byoc_host_moved_t moved = byoc_host_moved_bytes(places->program, device);
  const byoc_host_moved_t lent = lent_bytes(&places->tables, index);
  json_t *object = json_object();
  bool ok = object != NULL && set(object, "driver", byoc_json_string(device->driver)) &&
            set(object, "ordinal", json_integer(device->ordinal)) && set(object, "type", json_integer(device->type)) &&
            set(object, "queues", json_integer(queues)) &&
            set(object, "memories", memories_json(&places->tables, index)) &&
            set(object, "copied_in_bytes", json_integer((json_int_t)moved.in)) &&
            set(object, "copied_out_bytes", json_integer((json_int_t)moved.out)) &&
            set(object, "copies_of_open_size", json_integer((json_int_t)moved.open_count)) &&
            set(object, "lent_in_bytes", json_integer((json_int_t)lent.in)) &&
            set(object, "lent_out_bytes", json_integer((json_int_t)lent.out));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

byoc_status_t byoc_compose_devices_json(const byoc_host_program_t *program, byoc_allocator_t allocator,
                                        byoc_diag_t *diag, json_t **out_array) {
  *out_array = NULL;
  byoc_arena_t arena;
  byoc_host_device_tables_t *places = NULL;
  byoc_arena_init(&arena, allocator);
  byoc_status_t status = byoc_host_device_tables_create(program, &arena, diag, &places);
  json_t *array = status == BYOC_OK && places->tables.device_count > 0 ? json_array() : NULL;
  bool ok = status != BYOC_OK || places->tables.device_count == 0 || array != NULL;
  for (size_t i = 0; array != NULL && i < program->devices.count && ok; i++) {
    if (byoc_host_device_is_host(program->devices.data[i])) continue;
    ok = json_array_append_new(array, device_json(places, program->devices.data[i])) == 0;
  }
  byoc_arena_deinit(&arena);
  if (status == BYOC_OK && ok) *out_array = array;
  if (status != BYOC_OK || !ok) json_decref(array);
  return status != BYOC_OK || ok ? status : byoc_diag_out_of_memory(diag);
}
