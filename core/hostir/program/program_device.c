// SPDX-License-Identifier: Apache-2.0
// Builds the devices, memories, queues and events of host programs.
#include <string.h>

#include "core/hostir/program/program.h"

// ---- finding ----

byoc_host_device_t *byoc_host_find_device(const byoc_host_program_t *program, const char *name) {
  for (size_t k = 0; k < program->devices.count; ++k) {
    if (strcmp(program->devices.data[k]->name, name) == 0) return program->devices.data[k];
  }
  return NULL;
}

byoc_host_queue_t *byoc_host_find_queue(const byoc_host_program_t *program, const char *name) {
  for (size_t k = 0; k < program->queues.count; ++k) {
    if (strcmp(program->queues.data[k]->name, name) == 0) return program->queues.data[k];
  }
  return NULL;
}

byoc_host_event_t *byoc_host_find_event(const byoc_host_program_t *program, const char *name) {
  return byoc_string_map_get(&program->event_names, name);
}

byoc_host_memory_t *byoc_host_find_memory(const byoc_host_program_t *program, const byoc_host_device_t *device,
                                          const char *scope) {
  for (size_t k = 0; k < program->memories.count; ++k) {
    byoc_host_memory_t *memory = program->memories.data[k];
    if (memory->device == device && strcmp(memory->scope, scope) == 0) return memory;
  }
  return NULL;
}

bool byoc_host_device_is_host(const byoc_host_device_t *device) {
  return strcmp(device->driver, BYOC_HOST_DRIVER) == 0;
}

// ---- making ----

typedef enum declared_t { DEVICE, QUEUE, EVENT } declared_t;

static bool is_taken(const byoc_host_program_t *program, declared_t what, const char *name) {
  if (what == DEVICE) return byoc_host_find_device(program, name) != NULL;
  if (what == QUEUE) return byoc_host_find_queue(program, name) != NULL;
  return byoc_host_find_event(program, name) != NULL;
}

// "name", or the first name_<number> that is free.
static const char *unique_name(byoc_host_program_t *program, declared_t what, const char *name) {
  const char *candidate = byoc_arena_copy_string(&program->arena, name);
  size_t suffix = what == EVENT ? program->events.count : 1;
  while (candidate != NULL && is_taken(program, what, candidate)) {
    candidate = byoc_arena_format(&program->arena, "%s_%zu", name, suffix++);
  }
  return candidate;
}

byoc_host_device_t *byoc_host_device_create(byoc_host_program_t *program, const char *name, const char *driver,
                                            int32_t ordinal, int32_t type) {
  byoc_host_device_t *device = BYOC_ARENA_NEW(&program->arena, byoc_host_device_t);
  if (device == NULL) return NULL;
  *device = (byoc_host_device_t){.index = (uint32_t)program->devices.count,
                                 .name = unique_name(program, DEVICE, name),
                                 .driver = byoc_arena_copy_string(&program->arena, driver),
                                 .ordinal = ordinal,
                                 .type = type};
  if (device->name == NULL || device->driver == NULL) return NULL;
  return byoc_vector_push(&program->devices, program->arena.allocator, device) ? device : NULL;
}

byoc_host_queue_t *byoc_host_queue_create(byoc_host_program_t *program, const char *name,
                                          const byoc_host_device_t *device, byoc_host_queue_kind_t kind,
                                          uint32_t count) {
  byoc_host_queue_t *queue = BYOC_ARENA_NEW(&program->arena, byoc_host_queue_t);
  if (queue == NULL) return NULL;
  *queue = (byoc_host_queue_t){.index = (uint32_t)program->queues.count,
                               .name = unique_name(program, QUEUE, name),
                               .device = device,
                               .kind = kind,
                               .count = count};
  if (queue->name == NULL) return NULL;
  return byoc_vector_push(&program->queues, program->arena.allocator, queue) ? queue : NULL;
}

byoc_host_event_t *byoc_host_event_create(byoc_host_program_t *program, const char *name,
                                          const byoc_host_device_t *device, uint32_t count) {
  byoc_host_event_t *event = BYOC_ARENA_NEW(&program->arena, byoc_host_event_t);
  if (event == NULL) return NULL;
  *event = (byoc_host_event_t){.index = (uint32_t)program->events.count,
                               .name = unique_name(program, EVENT, name),
                               .device = device,
                               .count = count};
  if (event->name == NULL || !byoc_vector_reserve(&program->events, program->arena.allocator, 1) ||
      !byoc_string_map_put(&program->event_names, event->name, event)) {
    return NULL;
  }
  program->events.data[program->events.count++] = event;
  return event;
}

uint32_t byoc_host_fill_size(const byoc_host_buffer_t *buffer) {
  const uint32_t bits = byoc_dtype_bits(buffer->type->dtype);
  return bits > 8 ? bits / 8 : 1;
}

void byoc_host_keep_events(byoc_host_program_t *program, const bool *is_kept) {
  size_t kept = 0;
  for (size_t k = 0; k < program->events.count; ++k) {
    byoc_host_event_t *event = program->events.data[k];
    if (!is_kept[k]) {
      (void)byoc_string_map_put(&program->event_names, event->name, NULL); // it is there, so nothing is allocated
      continue;
    }
    event->index = (uint32_t)kept;
    program->events.data[kept++] = event;
  }
  program->events.count = kept;
}

byoc_host_memory_t *byoc_host_memory_get(byoc_host_program_t *program, const byoc_host_device_t *device,
                                         const char *scope) {
  byoc_host_memory_t *memory = byoc_host_find_memory(program, device, scope);
  if (memory != NULL) return memory;
  memory = BYOC_ARENA_NEW(&program->arena, byoc_host_memory_t);
  if (memory == NULL) return NULL;
  *memory = (byoc_host_memory_t){.index = (uint32_t)program->memories.count,
                                 .device = device,
                                 .scope = byoc_arena_copy_string(&program->arena, scope)};
  if (memory->scope == NULL) return NULL;
  return byoc_vector_push(&program->memories, program->arena.allocator, memory) ? memory : NULL;
}

void byoc_host_buffer_set_device(byoc_host_program_t *program, byoc_host_buffer_t *buffer,
                                 const byoc_host_device_t *device) {
  buffer->device = device;
  for (size_t k = 0; k < program->buffers.count; ++k) {
    if (program->buffers.data[k]->base == buffer) program->buffers.data[k]->device = device;
  }
}
