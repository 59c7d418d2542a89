// SPDX-License-Identifier: Apache-2.0
// Opens, describes and closes a device.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// CL/cl_ext.h: clGetPlatformIDs of a loader that finds no driver.
#define NO_PLATFORM (-1001)

enum { MOST_PLATFORMS = 32, MOST_DEVICES = 64 };

// The devices of all platforms: those with a processor of their own first, so that device 0 is not the host's processor
// where there is another.
typedef struct devices_t {
  cl_device_id ids[MOST_DEVICES];
  cl_uint count;
} devices_t;

static void list_devices(const byoc_opencl_api_t *cl, const cl_platform_id *platforms, cl_uint platform_count,
                         cl_device_type type, devices_t *devices) {
  for (cl_uint i = 0; i < platform_count && devices->count < MOST_DEVICES; ++i) {
    cl_uint room = MOST_DEVICES - devices->count, count = 0;
    if (cl->clGetDeviceIDs(platforms[i], type, room, devices->ids + devices->count, &count) == CL_SUCCESS)
      devices->count += count < room ? count : room;
  }
}

static int32_t find_device(const byoc_runtime_t *runtime, const byoc_opencl_api_t *cl, int32_t ordinal,
                           cl_device_id *out_id) {
  cl_platform_id platforms[MOST_PLATFORMS];
  cl_uint platform_count = 0;
  devices_t devices = {.count = 0};
  cl_int code = cl->clGetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count);
  if (code == NO_PLATFORM || (code == CL_SUCCESS && platform_count == 0)) {
    return byoc_plugin_fail(runtime, BYOC_NOT_FOUND,
                            "OpenCL has no platform; install a driver for the device, such as the Debian package "
                            "pocl-opencl-icd, which runs kernels on the processor");
  }
  if (code != CL_SUCCESS) return byoc_opencl_check_code(runtime, code, "list its platforms");
  if (platform_count > MOST_PLATFORMS) platform_count = MOST_PLATFORMS;
  list_devices(cl, platforms, platform_count, CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR, &devices);
  list_devices(cl, platforms, platform_count, CL_DEVICE_TYPE_CPU, &devices);
  if (devices.count == 0)
    return byoc_plugin_fail(runtime, BYOC_NOT_FOUND, "OpenCL has no device: its driver sees none on this machine");
  if (ordinal < 0 || (cl_uint)ordinal >= devices.count) {
    return byoc_plugin_fail(runtime, BYOC_NOT_FOUND, "OpenCL has no device %d: it has %u, which are numbered from 0",
                            ordinal, devices.count);
  }
  *out_id = devices.ids[ordinal];
  return BYOC_OK;
}

static void read_text(const byoc_device_t *device, cl_device_info what, char *text, size_t size_bytes) {
  if (device->cl.clGetDeviceInfo(device->id, what, size_bytes, text, NULL) != CL_SUCCESS)
    (void)snprintf(text, size_bytes, "unknown");
  text[size_bytes - 1] = '\0';
}

static uint64_t read_number(const byoc_device_t *device, cl_device_info what, size_t size_bytes) {
  cl_ulong wide = 0;
  cl_uint narrow = 0;
  void *place = size_bytes == sizeof(wide) ? (void *)&wide : (void *)&narrow;
  if (device->cl.clGetDeviceInfo(device->id, what, size_bytes, place, NULL) != CL_SUCCESS) return 0;
  return size_bytes == sizeof(wide) ? wide : narrow;
}

static void fill_info(byoc_device_t *device) {
  static const char *const formats[] = {BYOC_OPENCL_FORMAT_BINARY, BYOC_OPENCL_FORMAT_SOURCE};
  char version[200], driver[100];
  read_text(device, CL_DEVICE_NAME, device->name, sizeof(device->name));
  read_text(device, CL_DEVICE_VERSION, version, sizeof(version));
  read_text(device, CL_DRIVER_VERSION, driver, sizeof(driver));
  (void)snprintf(device->driver_version, sizeof(device->driver_version), "%s, %s", version, driver);
  // A binary is good for one device and one version of its driver.
  (void)snprintf(device->architecture, sizeof(device->architecture), "%s, %s", device->name, device->driver_version);

  uint64_t type = read_number(device, CL_DEVICE_TYPE, sizeof(cl_device_type));
  uint64_t largest = read_number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
  uint64_t largest_constant = read_number(device, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, sizeof(cl_ulong));
  device->scopes[BYOC_OPENCL_SCOPE_GLOBAL] = (byoc_device_scope_t){"global", BYOC_SCOPE_SUBDIVIDES, largest};
  device->scopes[BYOC_OPENCL_SCOPE_CONSTANT] =
      (byoc_device_scope_t){"constant", BYOC_SCOPE_SUBDIVIDES, largest_constant};

  uint64_t alignment_bits = read_number(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint));
  device->info = (byoc_device_info_t){
      .struct_size = sizeof(byoc_device_info_t),
      .device_type = kDLOpenCL,
      .name = device->name,
      .architecture = device->architecture,
      .driver_version = device->driver_version,
      .memory_size = read_number(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong)),
      .alignment = alignment_bits >= 8 ? (uint32_t)(alignment_bits / 8) : 1,
      // OpenCL promises only after a map that the host sees what kernels wrote. On processors nothing lies in between:
      // so it is with PoCL, which the tests run. On other devices a map may be a copy.
      .is_unified =
          (type & CL_DEVICE_TYPE_CPU) != 0 && read_number(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(cl_bool)) != 0,
      .scope_count = BYOC_OPENCL_SCOPE_COUNT,
      .scopes = device->scopes,
      .formats = formats,
      .format_count = sizeof(formats) / sizeof(*formats)};
}

static int32_t make_context(byoc_device_t *device, int32_t ordinal) {
  cl_int code = CL_SUCCESS;
  int32_t status = find_device(device->runtime, &device->cl, ordinal, &device->id);
  if (status != BYOC_OK) return status;
  device->context = device->cl.clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
  return byoc_opencl_check_code(device->runtime, code, "make a context");
}

// The context of a queue of the caller's: a queue cannot use buffers of another context.
static int32_t adopt_context(byoc_device_t *device, cl_command_queue queue) {
  const byoc_opencl_api_t *cl = &device->cl;
  cl_int code = cl->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device->id), &device->id, NULL);
  if (code == CL_SUCCESS)
    code = cl->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(device->context), &device->context, NULL);
  if (code == CL_SUCCESS) code = cl->clRetainContext(device->context);
  return byoc_opencl_check_code(device->runtime, code, "read the caller's queue");
}

int32_t byoc_opencl_open(const byoc_device_init_t *init, byoc_device_t **out_device) {
  *out_device = NULL;
  byoc_device_t *device = calloc(1, sizeof(*device));
  if (device == NULL) return byoc_plugin_fail(init->runtime, BYOC_OUT_OF_MEMORY, "out of memory");
  device->runtime = init->runtime;
  device->has_times = (init->flags & BYOC_DEVICE_TIMES) != 0;
  int32_t status = byoc_opencl_library_open(init->runtime, &device->cl);
  if (status != BYOC_OK) goto cleanup;
  bool has_native = init->struct_size >= offsetof(byoc_device_init_t, native) + sizeof(init->native);
  status =
      has_native && init->native != NULL ? adopt_context(device, init->native) : make_context(device, init->ordinal);
  if (status != BYOC_OK) goto cleanup;
  fill_info(device);
  if (BYOC_DEVICE_ALIGNMENT % device->info.alignment != 0) {
    status =
        byoc_plugin_fail(init->runtime, BYOC_UNSUPPORTED,
                         "the device %s wants offsets that are multiples of %u bytes, programs have multiples of %d",
                         device->name, device->info.alignment, BYOC_DEVICE_ALIGNMENT);
    (void)device->cl.clReleaseContext(device->context);
    goto cleanup;
  }
  *out_device = device;
  device = NULL; // now the caller's
cleanup:
  free(device);
  return status;
}

void byoc_opencl_close(byoc_device_t *device) {
  if (device == NULL) return;
  byoc_opencl_finish_queues(device);
  (void)device->cl.clReleaseContext(device->context);
  free(device);
}

int32_t byoc_opencl_describe(byoc_device_t *device, byoc_device_info_t *out_info) {
  uint32_t size = out_info->struct_size < sizeof(*out_info) ? out_info->struct_size : (uint32_t)sizeof(*out_info);
  uint32_t theirs = out_info->struct_size;
  memcpy(out_info, &device->info, size);
  out_info->struct_size = theirs;
  return BYOC_OK;
}
