// SPDX-License-Identifier: Apache-2.0
// Modules: cubins for one architecture, PTX for those that are as new or newer.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t load(byoc_device_t *device, const byoc_device_code_t *code, CUmodule *out_module) {
  char log[400] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
  CUresult result = device->cu.cuModuleLoadDataEx(out_module, code->data, 2, options, values);
  if (result == CUDA_SUCCESS) return BYOC_OK;
  log[sizeof(log) - 1] = '\0';
  if (log[0] == '\0') return byoc_cuda_check(device, result, "load a module");
  return byoc_plugin_fail(device->runtime, byoc_cuda_status_of(result), "CUDA cannot load a module: %s", log);
}

// The library reads no size, so that what is cut short must be found out here: an ELF file ends behind its tables.
static bool is_cubin_whole(const byoc_device_code_t *code) {
  const unsigned char *bytes = code->data;
  uint64_t sections = 0;
  uint16_t entry_bytes = 0, count = 0;
  if (code->size_bytes < 64 || memcmp(bytes, "\177ELF", 4) != 0) return false;
  memcpy(&sections, bytes + 40, sizeof(sections));
  memcpy(&entry_bytes, bytes + 58, sizeof(entry_bytes));
  memcpy(&count, bytes + 60, sizeof(count));
  return sections <= code->size_bytes && (uint64_t)entry_bytes * count <= code->size_bytes - sections;
}

int32_t byoc_cuda_module_load(byoc_device_t *device, const byoc_device_code_t *code,
                              byoc_device_module_t **out_module) {
  *out_module = NULL;
  bool is_cubin = strcmp(code->format, BYOC_CUDA_FORMAT_CUBIN) == 0;
  if (!is_cubin && strcmp(code->format, BYOC_CUDA_FORMAT_PTX) != 0) {
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED, "the CUDA driver loads cubin and PTX, not '%s'",
                            code->format);
  }
  if (is_cubin && !is_cubin_whole(code))
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_DATA, "a cubin is damaged: it is cut short, or not ELF");
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  byoc_device_module_t *module = calloc(1, sizeof(*module));
  status = module != NULL ? load(device, code, &module->module) : byoc_cuda_out_of_memory(device);
  byoc_cuda_leave(device);
  if (status != BYOC_OK) {
    free(module);
    return status;
  }
  *out_module = module;
  return BYOC_OK;
}

void byoc_cuda_module_unload(byoc_device_t *device, byoc_device_module_t *module) {
  if (module == NULL) return;
  if (byoc_cuda_enter(device) == BYOC_OK) {
    (void)device->cu.cuCtxSynchronize(); // its kernels may be running
    (void)device->cu.cuModuleUnload(module->module);
    byoc_cuda_leave(device);
  }
  while (module->entries != NULL) {
    byoc_device_entry_t *entry = module->entries;
    module->entries = entry->next;
    free(entry);
  }
  free(module);
}

int32_t byoc_cuda_module_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                               byoc_device_entry_t **out_entry) {
  *out_entry = NULL;
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  CUfunction function = NULL;
  CUresult code = device->cu.cuModuleGetFunction(&function, module->module, name);
  byoc_cuda_leave(device);
  if (code == CUDA_ERROR_NOT_FOUND)
    return byoc_plugin_fail(device->runtime, BYOC_NOT_FOUND, "a module has no kernel '%s'", name);
  if (code != CUDA_SUCCESS) return byoc_cuda_check(device, code, "find a kernel");
  byoc_device_entry_t *entry = calloc(1, sizeof(*entry));
  if (entry == NULL) return byoc_cuda_out_of_memory(device);
  entry->function = function;
  entry->next = module->entries;
  module->entries = entry;
  *out_entry = entry;
  return BYOC_OK;
}
