// SPDX-License-Identifier: Apache-2.0
// Functions that the files device*.c share. Internal to core/runtime.
#ifndef BYOC_CORE_RUNTIME_DEVICE_INTERNAL_H_
#define BYOC_CORE_RUNTIME_DEVICE_INTERNAL_H_

#include <stdbool.h>

#include "core/runtime/device.h"

// Gives a message to the runtime of the context and returns `status`.
__attribute__((format(printf, 3, 4))) int32_t byoc_devices_say(byoc_devices_t *devices, int32_t status,
                                                               const char *format, ...);
// The driver's message about its last failure, or the name of the status. The next call of the driver may overwrite it.
const char *byoc_devices_reason(const byoc_devices_t *devices, int32_t status);
// "the device 'opencl'", or "the device 'opencl' 1".
const char *byoc_devices_name(const byoc_devices_t *devices, const byoc_open_device_t *device, char text[96]);
// The queue for constants and traces.
int32_t byoc_devices_service(byoc_devices_t *devices, byoc_open_device_t *device, byoc_device_queue_t **out_queue);
// Makes the queue, or binds it to the caller's present queue.
int32_t byoc_devices_bind_queue(byoc_devices_t *devices, byoc_open_queue_t *queue, uint32_t kind);
// device_memory.c: allocates the tensors of one memory.
int32_t byoc_devices_allocate(byoc_devices_t *devices, uint32_t memory);
// Copies the constants.
int32_t byoc_devices_upload(byoc_devices_t *devices);
// Allocates a buffer; `what` names its use in messages. If the device has too little memory, `least_bytes` are enough,
// and allocation->size_bytes becomes the size.
int32_t byoc_devices_allocate_buffer(byoc_devices_t *devices, uint32_t memory, byoc_device_allocation_t *allocation,
                                     uint64_t least_bytes, const char *what, byoc_device_buffer_t **out_buffer);
// device_lend.c: may the device use memory of the host in place of this one?
bool byoc_devices_can_import(const byoc_devices_t *devices, uint32_t memory);
// Makes memory of the host memory of the device. BYOC_UNSUPPORTED, without a message, if it has to be copied.
int32_t byoc_devices_import(byoc_devices_t *devices, uint32_t memory, void *host, uint64_t size_bytes,
                            byoc_device_buffer_t **out_buffer);
// Returns the caller's buffers, after all commands have ended.
void byoc_devices_take_back(byoc_devices_t *devices);
// device.c: prepares an argument, or the sides of a copy or a fill, from the present tensors.
void byoc_devices_make_argument(byoc_devices_t *devices, uint32_t index);
void byoc_devices_place_command(byoc_devices_t *devices, uint32_t index);
// device_cell.c: releases the free blocks of a memory.
void byoc_devices_drop_blocks(byoc_devices_t *devices, uint32_t memory);
// Releases blocks that no run has used for a while; called when a run begins.
void byoc_devices_drop_idle_cells(byoc_devices_t *devices);
// Frees the blocks that commands of the run used, after all commands have ended.
void byoc_devices_end_cells(byoc_devices_t *devices);
// device_run.c: copies bytes of a memory to the host when all commands have ended.
int32_t byoc_devices_read_bytes(byoc_devices_t *devices, uint32_t memory, const byoc_device_bytes_t *source,
                                uint64_t size_bytes, void *out);

static inline byoc_open_device_t *byoc_devices_of_memory(const byoc_devices_t *devices, uint32_t memory) {
  return &devices->devices[devices->places->memories[memory].device];
}

#endif // BYOC_CORE_RUNTIME_DEVICE_INTERNAL_H_
