// SPDX-License-Identifier: Apache-2.0
// module.h - the code of all kernels of a build. Equal kernels are one.
#ifndef BYOC_OPENCL_MODULE_H_
#define BYOC_OPENCL_MODULE_H_

#include "emit.h"

#define BYOC_OPENCL_MODULE "kernels"

typedef struct byoc_opencl_entry_t {
  byoc_opencl_name_t name;
  size_t begin, end; // of what follows the name in the source
  const char *stem;
  uint64_t hash; // of that text
} byoc_opencl_entry_t;

typedef struct byoc_opencl_module_t {
  byoc_plugin_string_t source;
  byoc_opencl_entry_t *entries;
  uint32_t entry_count, entry_capacity;
} byoc_opencl_module_t;

void byoc_opencl_module_deinit(byoc_opencl_module_t *module);
// Adds the kernel unless there is one like it. False: out of memory.
bool byoc_opencl_module_add(byoc_opencl_module_t *module, const byoc_opencl_kernel_t *kernel, uint32_t *out_entry);
const char *byoc_opencl_module_entry_name(const byoc_opencl_module_t *module, uint32_t entry);

#endif // BYOC_OPENCL_MODULE_H_
