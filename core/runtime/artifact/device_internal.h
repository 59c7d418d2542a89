// SPDX-License-Identifier: Apache-2.0
// What the files of a context's devices share. Internal to core/runtime/artifact.
#ifndef BYOC_CORE_RUNTIME_ARTIFACT_DEVICE_INTERNAL_H_
#define BYOC_CORE_RUNTIME_ARTIFACT_DEVICE_INTERNAL_H_

#include "core/runtime/artifact/device.h"

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

static inline byoc_open_device_t *byoc_devices_of_memory(const byoc_devices_t *devices, uint32_t memory) {
  return &devices->devices[devices->places->memories[memory].device];
}

#endif // BYOC_CORE_RUNTIME_ARTIFACT_DEVICE_INTERNAL_H_
