// SPDX-License-Identifier: Apache-2.0
// The commands of the driver `sim`: what each checks when it is put into a queue, and what it does there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/devices/sim_internal.h"

static unsigned long long waits_of(const byoc_device_order_t *order) {
  return order ? order->wait_count : 0;
}
static const char *signal_of(const byoc_device_order_t *order) {
  return order && order->signal ? " signals" : "";
}

// --- fill and copy

// The place of a byte, counted as in a dense tensor, and how many follow it in its row.
static char *find_byte(const sim_span_t *span, uint64_t index, uint64_t *in_out_count) {
  if (!span->row_bytes) return span->data + index;
  uint64_t rest = span->row_bytes - index % span->row_bytes;
  if (*in_out_count > rest) *in_out_count = rest;
  return span->data + index / span->row_bytes * span->pitch_bytes + index % span->row_bytes;
}

static int32_t execute_fill(sim_command_t *command) {
  for (uint64_t i = 0; i < command->size_bytes; i += command->pattern_size_bytes) {
    for (uint64_t k = 0; k < command->pattern_size_bytes; ++k) {
      uint64_t one = 1;
      *find_byte(&command->destination, i + k, &one) = command->pattern[k];
    }
  }
  return BYOC_OK;
}

static int32_t execute_copy(sim_command_t *command) {
  for (uint64_t done = 0; done < command->size_bytes;) {
    uint64_t count = command->size_bytes - done;
    const char *from = find_byte(&command->source, done, &count);
    char *to = find_byte(&command->destination, done, &count);
    memcpy(to, from, count);
    done += count;
  }
  return BYOC_OK;
}

// Padded tensors are filled and copied whole.
static int32_t check_whole(byoc_device_t *device, const sim_span_t *span, uint64_t offset_bytes, uint64_t size_bytes) {
  if (!span->row_bytes || (offset_bytes == 0 && size_bytes == span->buffer->size_bytes)) return BYOC_OK;
  return sim_fail(device, BYOC_INVALID_ARGUMENT,
                  "a command uses a part of a tensor of scope '%s', which does not subdivide",
                  sim_scopes[span->buffer->scope].name);
}

static int32_t find_side(byoc_device_t *device, const byoc_device_bytes_t *side, uint64_t size_bytes,
                         sim_span_t *out_span) {
  if (!side->buffer) {
    *out_span = (sim_span_t){.data = side->host};
    return BYOC_OK;
  }
  int32_t status = sim_find_span(device, side->buffer, side->offset_bytes, size_bytes, out_span);
  return status == BYOC_OK ? check_whole(device, out_span, side->offset_bytes, size_bytes) : status;
}

static int32_t put_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                        uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                        const byoc_device_order_t *order) {
  sim_span_t destination;
  int32_t status = sim_find_span(device, buffer, offset_bytes, size_bytes, &destination);
  if (status == BYOC_OK) status = check_whole(device, &destination, offset_bytes, size_bytes);
  if (status != BYOC_OK) return status;
  uint32_t size = pattern_size_bytes;
  if ((size != 1 && size != 2 && size != 4 && size != 8) || offset_bytes % size || size_bytes % size) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "a fill has a pattern of %u bytes, which do not fit", size);
  }
  sim_command_t *command = sim_command_new(device, queue, order);
  if (!command) return BYOC_OUT_OF_MEMORY;
  command->execute = execute_fill;
  command->destination = destination;
  command->size_bytes = size_bytes;
  command->pattern_size_bytes = size;
  memcpy(command->pattern, pattern, size);
  sim_log(device, "fill %llu on q%llu after %llu%s", (unsigned long long)size_bytes, (unsigned long long)queue->number,
          waits_of(order), signal_of(order));
  return sim_command_put(command, SIM_CALL_fill, order);
}

int32_t sim_put_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                     uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                     const byoc_device_order_t *order) {
  int32_t status = sim_enter(device, SIM_CALL_fill);
  if (status == BYOC_OK) {
    status = put_fill(device, queue, buffer, offset_bytes, size_bytes, pattern, pattern_size_bytes, order);
  }
  sim_leave(device);
  return status;
}

static int32_t put_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                        const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order) {
  if (!source->buffer && !destination->buffer) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "a copy has one side on the device at least");
  }
  sim_span_t from, to;
  int32_t status = find_side(device, source, size_bytes, &from);
  if (status == BYOC_OK) status = find_side(device, destination, size_bytes, &to);
  if (status != BYOC_OK) return status;
  if (source->buffer && source->buffer == destination->buffer && size_bytes &&
      source->offset_bytes < destination->offset_bytes + size_bytes &&
      destination->offset_bytes < source->offset_bytes + size_bytes) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "the sides of a copy overlap");
  }
  sim_command_t *command = sim_command_new(device, queue, order);
  if (!command) return BYOC_OUT_OF_MEMORY;
  command->execute = execute_copy;
  command->source = from;
  command->destination = to;
  command->size_bytes = size_bytes;
  sim_log(device, "copy %s>%s %llu on q%llu after %llu%s", source->buffer ? "device" : "host",
          destination->buffer ? "device" : "host", (unsigned long long)size_bytes, (unsigned long long)queue->number,
          waits_of(order), signal_of(order));
  return sim_command_put(command, SIM_CALL_copy, order);
}

int32_t sim_put_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                     const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order) {
  int32_t status = sim_enter(device, SIM_CALL_copy);
  if (status == BYOC_OK) status = put_copy(device, queue, source, destination, size_bytes, order);
  sim_leave(device);
  return status;
}

// --- launch

// Each group gets memory of its own, whose contents are those of nobody.
static int32_t run_groups(sim_command_t *command, char *local, uint64_t local_bytes) {
  const uint32_t *grid = command->grid;
  sim_group_t group = {.argument_count = command->argument_count, .arguments = command->arguments};
  memcpy(group.grid, grid, sizeof(group.grid));
  memcpy(group.block, command->block, sizeof(group.block));
  for (uint32_t z = 0; z < grid[2]; ++z) {
    for (uint32_t y = 0; y < grid[1]; ++y) {
      for (uint32_t x = 0; x < grid[0]; ++x) {
        memcpy(group.group, (uint32_t[3]){x, y, z}, sizeof(group.group));
        if (local) memset(local, 0xFF, local_bytes);
        int32_t status = command->entry->kernel(&group);
        if (status != BYOC_OK) return status;
      }
    }
  }
  return BYOC_OK;
}

enum { LOCAL_ALIGNMENT = 64 };

static uint64_t local_bytes_of(const sim_argument_t *argument) {
  if (argument->kind != BYOC_DEVICE_ARGUMENT_LOCAL) return 0;
  return (argument->size_bytes + LOCAL_ALIGNMENT - 1) / LOCAL_ALIGNMENT * LOCAL_ALIGNMENT;
}

static int32_t execute_launch(sim_command_t *command) {
  uint64_t local_bytes = 0;
  for (uint32_t i = 0; i < command->argument_count; ++i) local_bytes += local_bytes_of(&command->arguments[i]);
  char *local = NULL;
  if (local_bytes) {
    local = aligned_alloc(LOCAL_ALIGNMENT, local_bytes);
    if (!local) {
      snprintf(command->error, sizeof(command->error), "out of memory");
      return BYOC_OUT_OF_MEMORY;
    }
  }
  uint64_t offset = 0;
  for (uint32_t i = 0; i < command->argument_count; ++i) {
    if (command->arguments[i].kind != BYOC_DEVICE_ARGUMENT_LOCAL) continue;
    command->arguments[i].data = local + offset;
    offset += local_bytes_of(&command->arguments[i]);
  }
  int32_t status = run_groups(command, local, local_bytes);
  free(local);
  if (status != BYOC_OK) {
    snprintf(command->error, sizeof(command->error), "the kernel '%s' failed: %s", command->entry->name,
             byoc_status_name(status));
  }
  return status;
}

static int32_t read_argument(sim_command_t *command, const byoc_device_argument_t *from, uint32_t index) {
  byoc_device_t *device = command->device;
  sim_argument_t *to = &command->arguments[index];
  *to = (sim_argument_t){.kind = from->kind, .integer = from->integer, .real = from->real};
  command->buffers[index] = NULL;
  switch (from->kind) {
  case BYOC_DEVICE_ARGUMENT_BUFFER: {
    if (!from->buffer) return sim_fail(device, BYOC_INVALID_ARGUMENT, "argument %u of a launch has no buffer", index);
    sim_span_t span;
    int32_t status = sim_find_span(device, from->buffer, from->offset_bytes, 0, &span);
    if (status != BYOC_OK) return status;
    if (span.row_bytes && from->offset_bytes) return check_whole(device, &span, from->offset_bytes, 0);
    command->buffers[index] = span.buffer;
    to->data = span.data;
    to->size_bytes = span.buffer->size_bytes - from->offset_bytes;
    to->row_bytes = span.row_bytes;
    to->pitch_bytes = span.pitch_bytes;
    return BYOC_OK;
  }
  case BYOC_DEVICE_ARGUMENT_LOCAL:
    to->size_bytes = (uint64_t)from->integer;
    return BYOC_OK;
  case BYOC_DEVICE_ARGUMENT_I32:
    if (from->integer != (int32_t)from->integer) {
      return sim_fail(device, BYOC_INVALID_ARGUMENT, "argument %u of a launch does not fit in 32 bits", index);
    }
    return BYOC_OK;
  case BYOC_DEVICE_ARGUMENT_I64:
  case BYOC_DEVICE_ARGUMENT_F32:
  case BYOC_DEVICE_ARGUMENT_F64:
    return BYOC_OK;
  default:
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "argument %u of a launch is of no kind that there is", index);
  }
}

static int32_t reserve_arguments(sim_command_t *command, uint32_t count) {
  if (count <= command->argument_capacity) return BYOC_OK;
  sim_argument_t *arguments = realloc(command->arguments, count * sizeof(*arguments));
  if (arguments) command->arguments = arguments;
  sim_buffer_t **buffers = realloc(command->buffers, count * sizeof(*buffers));
  if (buffers) command->buffers = buffers;
  if (!arguments || !buffers) return sim_fail(command->device, BYOC_OUT_OF_MEMORY, "out of memory");
  command->argument_capacity = count;
  return BYOC_OK;
}

static int32_t fill_launch(sim_command_t *command, const byoc_device_launch_t *launch) {
  byoc_device_t *device = command->device;
  if (launch->entry->module->device != device) sim_mistake("a launch on another device than that of its module");
  for (int axis = 0; axis < 3; ++axis) {
    if (!launch->block[axis]) {
      return sim_fail(device, BYOC_INVALID_ARGUMENT, "a launch of '%s' has work-groups without work-items",
                      launch->entry->name);
    }
  }
  int32_t status = reserve_arguments(command, launch->argument_count);
  for (uint32_t i = 0; status == BYOC_OK && i < launch->argument_count; ++i) {
    status = read_argument(command, &launch->arguments[i], i);
  }
  if (status != BYOC_OK) return status;
  command->execute = execute_launch;
  command->argument_count = launch->argument_count;
  command->entry = launch->entry;
  memcpy(command->grid, launch->grid, sizeof(command->grid));
  memcpy(command->block, launch->block, sizeof(command->block));
  return BYOC_OK;
}

int32_t sim_put_launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                       const byoc_device_order_t *order) {
  int32_t status = sim_enter(device, SIM_CALL_launch);
  if (status == BYOC_OK) {
    sim_command_t *command = sim_command_new(device, queue, order);
    status = command ? fill_launch(command, launch) : BYOC_OUT_OF_MEMORY;
    if (status == BYOC_OK) {
      sim_log(device, "launch %s %u,%u,%u of %u,%u,%u on q%llu after %llu%s", launch->entry->name, launch->grid[0],
              launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
              (unsigned long long)queue->number, waits_of(order), signal_of(order));
      status = sim_command_put(command, SIM_CALL_launch, order);
    } else if (command) {
      sim_command_cancel(command);
    }
  }
  sim_leave(device);
  return status;
}

int32_t sim_put_barrier(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order) {
  int32_t status = sim_enter(device, SIM_CALL_barrier);
  if (status == BYOC_OK) {
    sim_command_t *command = sim_command_new(device, queue, order);
    if (command) {
      sim_log(device, "barrier on q%llu after %llu%s", (unsigned long long)queue->number, waits_of(order),
              signal_of(order));
      status = sim_command_put(command, SIM_CALL_barrier, order);
    } else {
      status = BYOC_OUT_OF_MEMORY;
    }
  }
  sim_leave(device);
  return status;
}
