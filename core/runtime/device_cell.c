// SPDX-License-Identifier: Apache-2.0
// Values on devices whose sizes are known when a program runs: cells (cell.h) whose block is memory of a device.
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/runtime/cell_memory.h"
#include "core/runtime/device_internal.h"

// A block that has not been used in this many runs in a row is released.
#define IDLE_RUNS 64

// The block of a value on a device. No bytes follow the head.
typedef struct device_block_t {
  byoc_block_of_memory_t head;
  byoc_devices_t *devices;
  byoc_device_buffer_t *buffer; // NULL: the value uses the host's bytes; the capacity is 0
  byoc_device_buffer_t *lent;   // the host's memory as memory of the device, or NULL
  uint32_t memory;
} device_block_t;

static device_block_t *block_of(const byoc_cell_t *cell) {
  return (device_block_t *)(void *)cell->block;
}

// ---- blocks ----

static void destroy_block(byoc_block_of_memory_t *head) {
  device_block_t *block = (device_block_t *)(void *)head;
  const byoc_open_device_t *device = byoc_devices_of_memory(block->devices, block->memory);
  if (block->buffer != NULL) device->driver->release(device->handle, block->buffer);
  free(block);
}

static void destroy_list(byoc_block_of_memory_t **list) {
  for (byoc_block_of_memory_t *head = *list, *next = NULL; head != NULL; head = next) {
    next = head->next;
    destroy_block(head);
  }
  *list = NULL;
}

void byoc_devices_drop_blocks(byoc_devices_t *devices, uint32_t memory) {
  destroy_list(&devices->memories[memory].free);
}

// Called when the last cell is released. Commands of this run may still use the block. If the program has several
// queues, the block is free only when all commands have ended.
static void give_back(byoc_block_of_memory_t *head) {
  const device_block_t *block = (const device_block_t *)(const void *)head;
  byoc_open_memory_t *open = &block->devices->memories[block->memory];
  byoc_block_of_memory_t **list = open->shares_blocks && open->queue_count < 2 ? &open->free : &open->ended;
  head->next = *list;
  *list = head;
}

void byoc_devices_end_cells(byoc_devices_t *devices) {
  for (uint32_t i = 0; i < devices->places->memory_count; i++) {
    byoc_open_memory_t *open = &devices->memories[i];
    if (!open->shares_blocks) destroy_list(&open->ended);
    for (byoc_block_of_memory_t *head = open->ended, *next = NULL; head != NULL; head = next) {
      next = head->next;
      head->next = open->free;
      open->free = head;
    }
    open->ended = NULL;
  }
}

void byoc_devices_drop_idle_cells(byoc_devices_t *devices) {
  devices->run++;
  for (uint32_t i = 0; i < devices->places->memory_count; i++) {
    for (byoc_block_of_memory_t **at = &devices->memories[i].free; *at != NULL;) {
      byoc_block_of_memory_t *head = *at;
      if (head->last_run + IDLE_RUNS > devices->run) {
        at = &head->next;
        continue;
      }
      *at = head->next;
      destroy_block(head);
    }
  }
}

// Blocks of one size class differ in size: the device may have had too little memory for a full one.
static byoc_block_of_memory_t *find_free(byoc_open_memory_t *open, uint64_t least_bytes, uint64_t most_bytes) {
  for (byoc_block_of_memory_t **at = &open->free; *at != NULL; at = &(*at)->next) {
    byoc_block_of_memory_t *head = *at;
    if (head->capacity_bytes < least_bytes || head->capacity_bytes > most_bytes) continue;
    *at = head->next;
    return head;
  }
  return NULL;
}

// A block without bytes; NULL if out of memory.
static byoc_block_of_memory_t *create_block(byoc_devices_t *devices, uint32_t memory) {
  device_block_t *block = calloc(1, sizeof(*block));
  if (block == NULL) return NULL;
  block->devices = devices;
  block->memory = memory;
  block->head.give_back = give_back;
  return &block->head;
}

static void begin_use(const byoc_devices_t *devices, byoc_block_of_memory_t *head) {
  ((device_block_t *)(void *)head)->lent = NULL;
  head->references = 1;
  head->last_run = devices->run;
  head->next = NULL;
}

// A block with one reference for a tensor of this size.
static int32_t take_block(byoc_devices_t *devices, uint32_t memory, const byoc_device_allocation_t *tensor,
                          byoc_block_of_memory_t **out_head) {
  byoc_open_memory_t *open = &devices->memories[memory];
  byoc_device_allocation_t allocation = *tensor;
  if (open->shares_blocks) {
    allocation.size_bytes = byoc_block_capacity(tensor->size_bytes);
    allocation.element_size_bytes = 1;
    allocation.dims = NULL;
    allocation.rank = 0;
    *out_head = find_free(open, tensor->size_bytes, allocation.size_bytes);
  }
  if (*out_head == NULL) {
    byoc_block_of_memory_t *head = create_block(devices, memory);
    if (head == NULL) return byoc_devices_say(devices, BYOC_OUT_OF_MEMORY, "out of memory");
    const int32_t status = byoc_devices_allocate_buffer(devices, memory, &allocation, tensor->size_bytes, "a value",
                                                        &((device_block_t *)(void *)head)->buffer);
    if (status != BYOC_OK) {
      free(head);
      return status;
    }
    head->capacity_bytes = allocation.size_bytes;
    *out_head = head;
  }
  begin_use(devices, *out_head);
  return BYOC_OK;
}

// A block with one reference and no bytes.
static int32_t take_bare_block(byoc_devices_t *devices, uint32_t memory, byoc_block_of_memory_t **out_head) {
  *out_head = find_free(&devices->memories[memory], 0, 0);
  if (*out_head == NULL) *out_head = create_block(devices, memory);
  if (*out_head == NULL) return byoc_devices_say(devices, BYOC_OUT_OF_MEMORY, "out of memory");
  begin_use(devices, *out_head);
  return BYOC_OK;
}

// ---- cells ----

static byoc_device_allocation_t describe(const byoc_devices_t *devices, uint32_t memory, uint32_t dtype, uint32_t rank,
                                         const int64_t *dims, uint64_t size_bytes) {
  const uint32_t bits = byoc_dtype_bits(dtype);
  return (byoc_device_allocation_t){.struct_size = sizeof(byoc_device_allocation_t),
                                    .scope = devices->memories[memory].scope,
                                    .size_bytes = size_bytes > 0 ? size_bytes : 1,
                                    .dims = dims,
                                    .rank = rank,
                                    .element_size_bytes = bits >= 8 ? bits / 8 : 1};
}

static int32_t make_cell(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index, uint32_t dtype,
                         uint32_t rank, const int64_t *dims, bool is_lent) {
  uint64_t size_bytes = 0;
  byoc_frame_release(frame, index);
  int32_t status = byoc_frame_size(frame, dtype, rank, dims, &size_bytes);
  if (status != BYOC_OK) return status;
  const byoc_device_allocation_t tensor = describe(devices, memory, dtype, rank, dims, size_bytes);
  byoc_block_of_memory_t *head = NULL;
  status = is_lent ? take_bare_block(devices, memory, &head) : take_block(devices, memory, &tensor, &head);
  if (status != BYOC_OK) return status;
  byoc_cell_t *cell = byoc_cell_create(frame, BYOC_ARGUMENT_TENSOR);
  if (cell == NULL) {
    byoc_block_release(frame, head);
    return byoc_frame_out_of_memory(frame);
  }
  cell->dtype = dtype;
  cell->rank = rank;
  for (uint32_t i = 0; i < rank; i++) cell->dims[i] = dims[i];
  cell->block = head;
  byoc_frame_put(frame, index, cell);
  return BYOC_OK;
}

int32_t byoc_devices_allocate_cell(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                   uint32_t dtype, uint32_t rank, const int64_t *dims) {
  return make_cell(devices, frame, memory, index, dtype, rank, dims, false);
}

int32_t byoc_devices_announce_cell(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                   uint32_t dtype, uint32_t rank, const int64_t *dims) {
  return make_cell(devices, frame, memory, index, dtype, rank, dims, true);
}

byoc_device_buffer_t *byoc_devices_cell_buffer(const byoc_cell_t *cell) {
  const device_block_t *block = block_of(cell);
  return block->lent != NULL ? block->lent : block->buffer;
}

int32_t byoc_devices_allocate_output(byoc_devices_t *devices, byoc_frame_t *frame, uint32_t memory, uint32_t index,
                                     uint32_t output, uint32_t command, uint32_t dtype, uint32_t rank,
                                     const int64_t *dims) {
  byoc_open_command_t *copy = &devices->commands[command];
  if (!byoc_devices_can_import(devices, memory))
    return make_cell(devices, frame, memory, index, dtype, rank, dims, false);
  int32_t status = byoc_frame_allocate(frame, output, dtype, rank, dims);
  if (status != BYOC_OK) return status;
  const byoc_cell_t *cell = frame->cells[output];
  status = byoc_devices_import(devices, memory, cell->data, byoc_cell_size_bytes(cell), &copy->lent);
  if (status != BYOC_OK) byoc_frame_release(frame, output);
  if (status == BYOC_UNSUPPORTED) return make_cell(devices, frame, memory, index, dtype, rank, dims, false);
  char name[96];
  if (status != BYOC_OK) {
    return byoc_devices_say(devices, status, "%s cannot use the memory of an output: %s",
                            byoc_devices_name(devices, byoc_devices_of_memory(devices, memory), name),
                            byoc_devices_reason(devices, status));
  }
  copy->is_idle = 1;
  status = make_cell(devices, frame, memory, index, dtype, rank, dims, true);
  if (status == BYOC_OK) block_of(frame->cells[index])->lent = copy->lent;
  return status;
}

// Gives an announced value memory, for the copy.
static int32_t give_bytes(byoc_devices_t *devices, byoc_cell_t *cell) {
  byoc_block_of_memory_t *bare = cell->block, *head = NULL;
  const uint32_t memory = block_of(cell)->memory;
  const byoc_device_allocation_t tensor =
      describe(devices, memory, cell->dtype, cell->rank, cell->dims, byoc_cell_size_bytes(cell));
  const int32_t status = take_block(devices, memory, &tensor, &head);
  if (status != BYOC_OK) return status;
  cell->block = head;
  give_back(bare);
  return BYOC_OK;
}

int32_t byoc_devices_lend_cell(byoc_devices_t *devices, byoc_open_command_t *copy, byoc_cell_t *cell) {
  device_block_t *block = block_of(cell);
  char name[96];
  const int32_t status =
      byoc_devices_import(devices, block->memory, (void *)(uintptr_t)copy->source.host, copy->size_bytes, &copy->lent);
  block->lent = copy->lent;
  copy->is_idle = copy->lent != NULL;
  if (status == BYOC_OK) return BYOC_OK;
  if (status == BYOC_UNSUPPORTED) {
    const int32_t given = give_bytes(devices, cell);
    copy->destination.buffer = byoc_devices_cell_buffer(cell);
    return given;
  }
  return byoc_devices_say(devices, status, "%s cannot use the memory of an input: %s",
                          byoc_devices_name(devices, byoc_devices_of_memory(devices, block->memory), name),
                          byoc_devices_reason(devices, status));
}

int32_t byoc_devices_set_argument(byoc_devices_t *devices, uint32_t argument, const byoc_cell_t *cell,
                                  uint64_t offset_bytes) {
  const uint64_t size_bytes = byoc_cell_size_bytes(cell);
  if (offset_bytes > size_bytes) {
    return byoc_devices_say(devices, BYOC_INVALID_ARGUMENT,
                            "a kernel begins at byte %llu of a value that has %llu bytes in this run",
                            (unsigned long long)offset_bytes, (unsigned long long)size_bytes);
  }
  devices->arguments[argument].buffer = byoc_devices_cell_buffer(cell);
  devices->arguments[argument].offset_bytes = offset_bytes;
  return BYOC_OK;
}

int32_t byoc_devices_read_cell(byoc_devices_t *devices, const byoc_cell_t *cell, void *out) {
  const byoc_device_bytes_t source = {.buffer = byoc_devices_cell_buffer(cell)};
  return byoc_devices_read_bytes(devices, block_of(cell)->memory, &source, byoc_cell_size_bytes(cell), out);
}
