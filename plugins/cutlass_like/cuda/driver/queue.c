// SPDX-License-Identifier: Apache-2.0
// Queues are streams: our own, CUDA's default one, and those of the caller.
#include "driver.h"

#include <stdlib.h>

int32_t byoc_cuda_queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue) {
  *out_queue = NULL;
  if (kind > BYOC_QUEUE_NATIVE)
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED, "CUDA has no queues of kind %u", (unsigned)kind);
  byoc_device_queue_t *queue = calloc(1, sizeof(*queue));
  if (queue == NULL) return byoc_cuda_out_of_memory(device);
  queue->kind = kind;
  if (kind == BYOC_QUEUE_NATIVE) queue->stream = native;
  if (kind == BYOC_QUEUE_OWN) {
    int32_t status = byoc_cuda_enter(device);
    if (status == BYOC_OK) {
      // The default stream would otherwise wait for it, and it for the default stream.
      CUresult code = device->cu.cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING);
      byoc_cuda_leave(device);
      status = byoc_cuda_check(device, code, "make a stream");
    }
    if (status != BYOC_OK) {
      free(queue);
      return status;
    }
  }
  *out_queue = queue;
  return BYOC_OK;
}

void byoc_cuda_queue_destroy(byoc_device_t *device, byoc_device_queue_t *queue) {
  if (queue == NULL) return;
  if (byoc_cuda_enter(device) == BYOC_OK) {
    (void)device->cu.cuStreamSynchronize(queue->stream);
    if (queue->kind == BYOC_QUEUE_OWN) (void)device->cu.cuStreamDestroy(queue->stream);
    byoc_cuda_leave(device);
  }
  free(queue);
}

int32_t byoc_cuda_queue_rebind(byoc_device_t *device, byoc_device_queue_t *queue, void *native) {
  if (queue->kind != BYOC_QUEUE_NATIVE) {
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT,
                            "only a stream of the caller can become another one of the caller");
  }
  queue->stream = native;
  return BYOC_OK;
}

// CUDA starts commands when they are put into a stream.
int32_t byoc_cuda_queue_flush(byoc_device_t *device, byoc_device_queue_t *queue) {
  (void)device;
  (void)queue;
  return BYOC_OK;
}

int32_t byoc_cuda_queue_wait(byoc_device_t *device, byoc_device_queue_t *queue) {
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  CUresult code = device->cu.cuStreamSynchronize(queue->stream);
  byoc_cuda_leave(device);
  return byoc_cuda_check(device, code, "run the commands of a stream");
}
