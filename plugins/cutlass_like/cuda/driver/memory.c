// SPDX-License-Identifier: Apache-2.0
// Memory of the GPU, and memory of the host that an integrated GPU can use.
#include "driver.h"

#include <stdlib.h>

static int32_t make_buffer(byoc_device_t *device, byoc_device_buffer_t **out_buffer) {
  *out_buffer = calloc(1, sizeof(**out_buffer));
  return *out_buffer != NULL ? BYOC_OK : byoc_cuda_out_of_memory(device);
}

int32_t byoc_cuda_allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                           byoc_device_buffer_t **out_buffer) {
  *out_buffer = NULL;
  if (allocation->scope != 0 || allocation->size_bytes == 0) {
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT,
                            "CUDA allocates at least one byte of scope 'global'");
  }
  if (allocation->size_bytes > device->info.memory_size) {
    return byoc_plugin_fail(device->runtime, BYOC_OUT_OF_MEMORY, "%s has %llu bytes of memory, and %llu are requested",
                            device->name, (unsigned long long)device->info.memory_size,
                            (unsigned long long)allocation->size_bytes);
  }
  byoc_device_buffer_t *buffer = NULL;
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  status = make_buffer(device, &buffer);
  if (status == BYOC_OK) {
    CUresult code = device->cu.cuMemAlloc(&buffer->memory, (size_t)allocation->size_bytes);
    status = byoc_cuda_check(device, code, "allocate memory");
  }
  byoc_cuda_leave(device);
  if (status != BYOC_OK) {
    free(buffer);
    return status;
  }
  *out_buffer = buffer;
  return BYOC_OK;
}

int32_t byoc_cuda_import(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer) {
  *out_buffer = NULL;
  if (!device->info.is_unified) {
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED, "%s has memory of its own", device->name);
  }
  byoc_device_buffer_t *buffer = NULL;
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  status = make_buffer(device, &buffer);
  if (status == BYOC_OK) {
    CUresult code = device->cu.cuMemHostRegister(host, (size_t)size_bytes, CU_MEMHOSTREGISTER_DEVICEMAP);
    if (code == CUDA_SUCCESS) {
      buffer->host = host;
      code = device->cu.cuMemHostGetDevicePointer(&buffer->memory, host, 0);
      if (code != CUDA_SUCCESS) (void)device->cu.cuMemHostUnregister(host);
    }
    // Memory that is registered already, or an address that cannot be, is copied by the caller.
    if (code != CUDA_SUCCESS) {
      (void)byoc_cuda_check(device, code, "use memory of the host");
      status = BYOC_UNSUPPORTED;
    }
  }
  byoc_cuda_leave(device);
  if (status != BYOC_OK) {
    free(buffer);
    return status;
  }
  *out_buffer = buffer;
  return BYOC_OK;
}

void byoc_cuda_release(byoc_device_t *device, byoc_device_buffer_t *buffer) {
  if (buffer == NULL) return;
  if (byoc_cuda_enter(device) == BYOC_OK) {
    (void)device->cu.cuCtxSynchronize(); // commands may use it
    if (buffer->host != NULL)
      (void)device->cu.cuMemHostUnregister(buffer->host);
    else
      (void)device->cu.cuMemFree(buffer->memory);
    byoc_cuda_leave(device);
  }
  free(buffer);
}
