// SPDX-License-Identifier: Apache-2.0
// Programs from OpenCL C or from binaries, and the kernels in them.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

static cl_program create_program(byoc_device_t *device, const byoc_device_code_t *code, cl_int *out_code) {
  size_t size = code->size_bytes;
  if (strcmp(code->format, BYOC_OPENCL_FORMAT_SOURCE) == 0) {
    const char *source = code->data;
    return device->cl.clCreateProgramWithSource(device->context, 1, &source, &size, out_code);
  }
  const unsigned char *binary = code->data;
  cl_int loaded = CL_SUCCESS;
  return device->cl.clCreateProgramWithBinary(device->context, 1, &device->id, &size, &binary, &loaded, out_code);
}

static int32_t report_build(const byoc_device_t *device, cl_program program, cl_int code) {
  size_t size = 0;
  char *log = NULL;
  if (device->cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS)
    log = calloc(size + 1, 1);
  if (log != NULL &&
      device->cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS)
    log[0] = '\0';
  int32_t status = byoc_opencl_status_of(code);
  if (status != BYOC_OUT_OF_MEMORY) status = BYOC_INVALID_DATA;
  status =
      byoc_plugin_fail(device->runtime, status, "OpenCL cannot compile the kernels: %s%s%s",
                       byoc_opencl_code_name(code), log != NULL && log[0] != '\0' ? ": " : "", log != NULL ? log : "");
  free(log);
  return status;
}

int32_t byoc_opencl_module_load(byoc_device_t *device, const byoc_device_code_t *code,
                                byoc_device_module_t **out_module) {
  *out_module = NULL;
  bool is_binary = strcmp(code->format, BYOC_OPENCL_FORMAT_BINARY) == 0;
  if (!is_binary && strcmp(code->format, BYOC_OPENCL_FORMAT_SOURCE) != 0) {
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED, "the OpenCL driver does not load code of format %s",
                            code->format);
  }
  byoc_device_module_t *module = calloc(1, sizeof(*module));
  if (module == NULL) return byoc_opencl_out_of_memory(device);
  cl_int result = CL_SUCCESS;
  module->program = create_program(device, code, &result);
  int32_t status = byoc_opencl_check_code(device->runtime, result, "load a program");
  if (status != BYOC_OK) goto cleanup;
  result = device->cl.clBuildProgram(module->program, 1, &device->id, code->options, NULL, NULL);
  // A binary that does not build is one for another device or version.
  if (result != CL_SUCCESS && is_binary)
    status = byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED, "the binary is not for the device %s", device->name);
  else if (result != CL_SUCCESS)
    status = report_build(device, module->program, result);
  if (status != BYOC_OK) goto cleanup;
  *out_module = module;
  module = NULL; // now the caller's
cleanup:
  byoc_opencl_module_unload(device, module);
  return status;
}

void byoc_opencl_module_unload(byoc_device_t *device, byoc_device_module_t *module) {
  if (module == NULL) return;
  for (byoc_device_entry_t *entry = module->entries, *next; entry != NULL; entry = next) {
    next = entry->next;
    (void)device->cl.clReleaseKernel(entry->kernel);
    free(entry);
  }
  if (module->program != NULL) (void)device->cl.clReleaseProgram(module->program);
  free(module);
}

int32_t byoc_opencl_module_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                                 byoc_device_entry_t **out_entry) {
  *out_entry = NULL;
  for (byoc_device_entry_t *entry = module->entries; entry != NULL; entry = entry->next) {
    if (strcmp(entry->name, name) != 0) continue;
    *out_entry = entry;
    return BYOC_OK;
  }
  size_t name_size = strlen(name) + 1;
  byoc_device_entry_t *entry = malloc(sizeof(*entry) + name_size);
  if (entry == NULL) return byoc_opencl_out_of_memory(device);
  cl_int code = CL_SUCCESS;
  memcpy(entry->name, name, name_size);
  entry->kernel = device->cl.clCreateKernel(module->program, name, &code);
  if (code == CL_INVALID_KERNEL_NAME) {
    free(entry);
    return byoc_plugin_fail(device->runtime, BYOC_NOT_FOUND, "the program has no kernel %s", name);
  }
  if (code == CL_SUCCESS) {
    code = device->cl.clGetKernelInfo(entry->kernel, CL_KERNEL_NUM_ARGS, sizeof(entry->argument_count),
                                      &entry->argument_count, NULL);
    if (code != CL_SUCCESS) (void)device->cl.clReleaseKernel(entry->kernel);
  }
  if (code != CL_SUCCESS) {
    free(entry);
    return byoc_opencl_check_code(device->runtime, code, "make a kernel");
  }
  entry->next = module->entries;
  module->entries = entry;
  *out_entry = entry;
  return BYOC_OK;
}
