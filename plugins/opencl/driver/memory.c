// SPDX-License-Identifier: Apache-2.0
// Buffers, and sub-buffers for addresses inside them.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

// The largest alignment that code of OpenCL C assumes of a pointer: that of a float4.
enum { IMPORT_ALIGNMENT = 16 };

static int32_t create(byoc_device_t *device, cl_mem_flags flags, void *host, uint64_t size_bytes,
                      byoc_device_buffer_t **out_buffer) {
  byoc_device_buffer_t *buffer = calloc(1, sizeof(*buffer));
  if (buffer == NULL) return byoc_opencl_out_of_memory(device);
  cl_int code = CL_SUCCESS;
  buffer->size_bytes = size_bytes;
  buffer->memory = device->cl.clCreateBuffer(device->context, flags, size_bytes, host, &code);
  if (code != CL_SUCCESS) {
    free(buffer);
    return byoc_plugin_fail(device->runtime, byoc_opencl_status_of(code), "OpenCL cannot allocate %llu bytes: %s",
                            (unsigned long long)size_bytes, byoc_opencl_code_name(code));
  }
  *out_buffer = buffer;
  return BYOC_OK;
}

int32_t byoc_opencl_allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                             byoc_device_buffer_t **out_buffer) {
  *out_buffer = NULL;
  if (allocation->scope >= BYOC_OPENCL_SCOPE_COUNT)
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT, "OpenCL has no memory scope %u", allocation->scope);
  const byoc_device_scope_t *scope = &device->scopes[allocation->scope];
  if (scope->allocation_size > 0 && allocation->size_bytes > scope->allocation_size) {
    return byoc_plugin_fail(device->runtime, BYOC_OUT_OF_MEMORY,
                            "OpenCL cannot allocate %llu bytes: an allocation of scope %s has at most %llu",
                            (unsigned long long)allocation->size_bytes, scope->name,
                            (unsigned long long)scope->allocation_size);
  }
  cl_mem_flags flags = allocation->scope == BYOC_OPENCL_SCOPE_CONSTANT ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
  return create(device, flags, NULL, allocation->size_bytes, out_buffer);
}

int32_t byoc_opencl_import(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer) {
  *out_buffer = NULL;
  if (!device->info.is_unified) {
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED, "the device %s does not use the host's memory",
                            device->name);
  }
  if ((uintptr_t)host % IMPORT_ALIGNMENT != 0) {
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED,
                            "OpenCL uses memory of the host only if its address is a multiple of %d", IMPORT_ALIGNMENT);
  }
  return create(device, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host, size_bytes, out_buffer);
}

void byoc_opencl_release(byoc_device_t *device, byoc_device_buffer_t *buffer) {
  if (buffer == NULL) return;
  byoc_opencl_finish_queues(device); // imported memory is the caller's again when this returns
  for (size_t i = 0; i < buffer->part_count; ++i) (void)device->cl.clReleaseMemObject(buffer->parts[i].memory);
  (void)device->cl.clReleaseMemObject(buffer->memory);
  free(buffer->parts);
  free(buffer);
}

// The first part whose offset is not below `offset_bytes`.
static size_t find_part(const byoc_device_buffer_t *buffer, uint64_t offset_bytes) {
  size_t low = 0, high = buffer->part_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (buffer->parts[middle].offset_bytes < offset_bytes)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool reserve_part(byoc_device_buffer_t *buffer) {
  if (buffer->part_count < buffer->part_capacity) return true;
  size_t capacity = buffer->part_capacity == 0 ? 16 : buffer->part_capacity * 2;
  byoc_opencl_part_t *parts = realloc(buffer->parts, capacity * sizeof(*parts));
  if (parts == NULL) return false;
  buffer->parts = parts;
  buffer->part_capacity = capacity;
  return true;
}

int32_t byoc_opencl_part(byoc_device_t *device, byoc_device_buffer_t *buffer, uint64_t offset_bytes,
                         cl_mem *out_memory) {
  *out_memory = buffer->memory;
  if (offset_bytes == 0) return BYOC_OK;
  size_t at = find_part(buffer, offset_bytes);
  if (at == buffer->part_count || buffer->parts[at].offset_bytes != offset_bytes) {
    if (offset_bytes >= buffer->size_bytes || offset_bytes % device->info.alignment != 0) {
      return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT,
                              "an argument begins at byte %llu of %llu; it has to be inside, and a multiple of %u",
                              (unsigned long long)offset_bytes, (unsigned long long)buffer->size_bytes,
                              device->info.alignment);
    }
    if (!reserve_part(buffer)) return byoc_opencl_out_of_memory(device);
    cl_buffer_region region = {offset_bytes, buffer->size_bytes - offset_bytes};
    cl_int code = CL_SUCCESS;
    cl_mem memory = device->cl.clCreateSubBuffer(buffer->memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    int32_t status = byoc_opencl_check_code(device->runtime, code, "make a part of a buffer");
    if (status != BYOC_OK) return status;
    memmove(&buffer->parts[at + 1], &buffer->parts[at], (buffer->part_count - at) * sizeof(*buffer->parts));
    buffer->parts[at] = (byoc_opencl_part_t){offset_bytes, memory};
    ++buffer->part_count;
  }
  *out_memory = buffer->parts[at].memory;
  return BYOC_OK;
}
