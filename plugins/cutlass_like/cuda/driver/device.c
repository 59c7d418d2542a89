// SPDX-License-Identifier: Apache-2.0
// Devices: opened on their primary context, which other users of CUDA in the process share.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t byoc_cuda_enter(byoc_device_t *device) {
  return byoc_cuda_check(device, device->cu.cuCtxPushCurrent(device->context), "use the device on this thread");
}

void byoc_cuda_leave(byoc_device_t *device) {
  CUcontext context = NULL;
  (void)device->cu.cuCtxPopCurrent(&context);
}

static int32_t find_device(byoc_device_t *device, int32_t ordinal) {
  int count = 0;
  CUresult code = device->cu.cuInit(0);
  if (code == CUDA_SUCCESS) code = device->cu.cuDeviceGetCount(&count);
  if (code == CUDA_ERROR_NO_DEVICE || (code == CUDA_SUCCESS && count == 0)) {
    return byoc_plugin_fail(device->runtime, BYOC_NOT_FOUND,
                            "CUDA's driver sees no GPU: check that there is one and that nvidia-smi lists it");
  }
  if (code != CUDA_SUCCESS) return byoc_cuda_check(device, code, "start; check that nvidia-smi works");
  if (ordinal < 0 || ordinal >= count) {
    return byoc_plugin_fail(device->runtime, BYOC_NOT_FOUND, "CUDA has GPUs 0 to %d, there is no GPU %d", count - 1,
                            (int)ordinal);
  }
  return byoc_cuda_check(device, device->cu.cuDeviceGet(&device->id, ordinal), "find the GPU");
}

static int32_t describe_device(byoc_device_t *device) {
  static const char *const formats[] = {BYOC_CUDA_FORMAT_CUBIN, BYOC_CUDA_FORMAT_PTX};
  const byoc_cuda_api_t *cu = &device->cu;
  int version = 0, major = 0, minor = 0, is_integrated = 0;
  size_t bytes = 0;
  CUresult code = cu->cuDriverGetVersion(&version);
  if (code == CUDA_SUCCESS) code = cu->cuDeviceGetName(device->name, sizeof(device->name), device->id);
  if (code == CUDA_SUCCESS) code = cu->cuDeviceTotalMem(&bytes, device->id);
  if (code == CUDA_SUCCESS)
    code = cu->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->id);
  if (code == CUDA_SUCCESS)
    code = cu->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->id);
  if (code == CUDA_SUCCESS) code = cu->cuDeviceGetAttribute(&is_integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, device->id);
  if (code != CUDA_SUCCESS) return byoc_cuda_check(device, code, "describe the GPU");
  (void)snprintf(device->architecture, sizeof(device->architecture), "sm_%d%d", major, minor);
  (void)snprintf(device->driver_version, sizeof(device->driver_version), "%d.%d", version / 1000, version % 1000 / 10);
  device->scope = (byoc_device_scope_t){"global", BYOC_SCOPE_SUBDIVIDES, bytes};
  device->info = (byoc_device_info_t){
      .device_type = kDLCUDA,
      .name = device->name,
      .architecture = device->architecture,
      .driver_version = device->driver_version,
      .memory_size = bytes,
      .alignment = 256, // of what cuMemAlloc returns; kernels read vectors of 16 bytes
      .is_unified = is_integrated ? 1 : 0,
      .scope_count = 1,
      .scopes = &device->scope,
      .formats = formats,
      .format_count = sizeof(formats) / sizeof(formats[0]),
  };
  return BYOC_OK;
}

// The event from which time stamps are counted.
static int32_t start_clock(byoc_device_t *device) {
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  CUresult code = device->cu.cuEventCreate(&device->origin, 0);
  if (code == CUDA_SUCCESS) code = device->cu.cuEventRecord(device->origin, NULL);
  if (code == CUDA_SUCCESS) code = device->cu.cuEventSynchronize(device->origin);
  byoc_cuda_leave(device);
  return byoc_cuda_check(device, code, "record a time stamp");
}

int32_t byoc_cuda_open(const byoc_device_init_t *init, byoc_device_t **out_device) {
  *out_device = NULL;
  byoc_cuda_api_t cu;
  int32_t status = byoc_cuda_library_open(init->runtime, &cu);
  if (status != BYOC_OK) return status;
  byoc_device_t *device = calloc(1, sizeof(*device));
  if (device == NULL) return byoc_plugin_fail(init->runtime, BYOC_OUT_OF_MEMORY, "out of memory");
  device->runtime = init->runtime;
  device->cu = cu;
  device->has_times = (init->flags & BYOC_DEVICE_TIMES) != 0;
  status = find_device(device, init->ordinal);
  if (status == BYOC_OK) status = describe_device(device);
  if (status == BYOC_OK) {
    status = byoc_cuda_check(device, cu.cuDevicePrimaryCtxRetain(&device->context, device->id), "make a context");
    if (status != BYOC_OK) device->context = NULL;
  }
  if (status == BYOC_OK && device->has_times) status = start_clock(device);
  if (status != BYOC_OK) {
    byoc_cuda_close(device);
    return status;
  }
  *out_device = device;
  return BYOC_OK;
}

void byoc_cuda_close(byoc_device_t *device) {
  if (device == NULL) return;
  if (device->context != NULL) {
    if (device->cu.cuCtxPushCurrent(device->context) == CUDA_SUCCESS) {
      (void)device->cu.cuCtxSynchronize();
      if (device->origin != NULL) (void)device->cu.cuEventDestroy(device->origin);
      byoc_cuda_leave(device);
    }
    (void)device->cu.cuDevicePrimaryCtxRelease(device->id);
  }
  free(device);
}

int32_t byoc_cuda_describe(byoc_device_t *device, byoc_device_info_t *out_info) {
  byoc_device_info_t info = device->info;
  info.struct_size = out_info->struct_size;
  memcpy(out_info, &info, info.struct_size < sizeof(info) ? info.struct_size : sizeof(info));
  return BYOC_OK;
}
