// SPDX-License-Identifier: Apache-2.0
// What the files of a context's devices share. Internal to core/runtime.
#ifndef BYOC_CORE_RUNTIME_DEVICE_INTERNAL_H_
#define BYOC_CORE_RUNTIME_DEVICE_INTERNAL_H_

#include <stdbool.h>

#include "core/runtime/device.h"

// Hands a sentence to the runtime of the context and returns `status`.
__attribute__((format(printf, 3, 4))) int32_t byoc_devices_say(byoc_devices_t *devices, int32_t status,
                                                               const char *format, ...);
// What the driver said of its failure; it is forgotten when the next slot is called.
const char *byoc_devices_reason(const byoc_devices_t *devices, int32_t status);
// "the device 'opencl'", or "the device 'opencl' 1".
const char *byoc_devices_name(const byoc_devices_t *devices, const byoc_open_device_t *device, char text[96]);
// The queue for what no instruction of the program does.
int32_t byoc_devices_service(byoc_devices_t *devices, byoc_open_device_t *device, byoc_device_queue_t **out_queue);
// Makes the queue, or makes it stand for what its caller gives now.
int32_t byoc_devices_bind_queue(byoc_devices_t *devices, byoc_open_queue_t *queue, uint32_t kind);
// device_memory.c: allocates the tensors of one memory.
int32_t byoc_devices_allocate(byoc_devices_t *devices, uint32_t memory);
// Copies the constants.
int32_t byoc_devices_upload(byoc_devices_t *devices);
// One allocation; `what` is what it is for. Where the device has no room for as much, `least_bytes` will do, and
// allocation->size_bytes becomes what there is.
int32_t byoc_devices_allocate_buffer(byoc_devices_t *devices, uint32_t memory, byoc_device_allocation_t *allocation,
                                     uint64_t least_bytes, const char *what, byoc_device_buffer_t **out_buffer);
// device_lend.c: may the device use memory of the host in place of this one?
bool byoc_devices_can_import(const byoc_devices_t *devices, uint32_t memory);
// Memory of the host as memory of the device. BYOC_UNSUPPORTED, without a sentence, if it has to be
// copied.
int32_t byoc_devices_import(byoc_devices_t *devices, uint32_t memory, void *host, uint64_t size_bytes,
                            byoc_device_buffer_t **out_buffer);
// All commands have ended: the caller's buffers are its own again.
void byoc_devices_take_back(byoc_devices_t *devices);
// device.c: prepares an argument, and the sides of a copy or a fill, as the tensors are now.
void byoc_devices_make_argument(byoc_devices_t *devices, uint32_t index);
void byoc_devices_place_command(byoc_devices_t *devices, uint32_t index);
// device_cell.c: releases the blocks of a memory that may be taken.
void byoc_devices_drop_blocks(byoc_devices_t *devices, uint32_t memory);
// A run begins: blocks that none has used for a while are released.
void byoc_devices_drop_idle_cells(byoc_devices_t *devices);
// All commands have ended: what they used may be taken.
void byoc_devices_end_cells(byoc_devices_t *devices);
// device_run.c: copies bytes of a memory to the host when all commands have ended.
int32_t byoc_devices_read_bytes(byoc_devices_t *devices, uint32_t memory, const byoc_device_bytes_t *source,
                                uint64_t size_bytes, void *out);

static inline byoc_open_device_t *byoc_devices_of_memory(const byoc_devices_t *devices, uint32_t memory) {
  return &devices->devices[devices->places->memories[memory].device];
}

#endif // BYOC_CORE_RUNTIME_DEVICE_INTERNAL_H_
