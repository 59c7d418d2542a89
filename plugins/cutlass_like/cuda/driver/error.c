// SPDX-License-Identifier: Apache-2.0
// Messages for failures, and the statuses that CUDA's codes stand for.
#include "driver.h"

#include <stdio.h>

int32_t byoc_cuda_status_of(CUresult code) {
  switch (code) {
  case CUDA_SUCCESS:
    return BYOC_OK;
  case CUDA_ERROR_INVALID_VALUE:
    return BYOC_INVALID_ARGUMENT;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return BYOC_OUT_OF_MEMORY;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_NOT_FOUND:
    return BYOC_NOT_FOUND;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return BYOC_UNSUPPORTED;
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_INVALID_SOURCE:
    return BYOC_INVALID_DATA;
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return BYOC_VERSION;
  default:
    return BYOC_INTERNAL;
  }
}

int32_t byoc_cuda_out_of_memory(const byoc_device_t *device) {
  return byoc_plugin_fail(device->runtime, BYOC_OUT_OF_MEMORY, "out of memory");
}

void byoc_cuda_describe_code(const byoc_device_t *device, CUresult code, const char *what, char *buffer, size_t size) {
  const char *name = NULL, *text = NULL;
  (void)device->cu.cuGetErrorName(code, &name);
  (void)device->cu.cuGetErrorString(code, &text);
  (void)snprintf(buffer, size, "CUDA cannot %s: %s (%d%s%s)", what, name != NULL ? name : "an unknown error", code,
                 text != NULL ? ", " : "", text != NULL ? text : "");
}

int32_t byoc_cuda_check(const byoc_device_t *device, CUresult code, const char *what) {
  if (code == CUDA_SUCCESS) return BYOC_OK;
  char message[256];
  byoc_cuda_describe_code(device, code, what, message, sizeof(message));
  return byoc_plugin_fail(device->runtime, byoc_cuda_status_of(code), "%s", message);
}
