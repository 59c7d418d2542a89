// SPDX-License-Identifier: Apache-2.0
// The launches of a function on a device, after the checks of bind_kernel (byoc/device_plugin.h). Extents are over
// symbols that name dimensions of the function's operands and results (core/module/extent.h).
#ifndef BYOC_CORE_MODULE_KERNELS_H_
#define BYOC_CORE_MODULE_KERNELS_H_

#include "core/module/runtime_module.h"

typedef struct byoc_bound_argument_t {
  uint32_t kind;         // BYOC_KERNEL_ARGUMENT_*
  uint32_t type;         // EXTENT, INTEGER, REAL: BYOC_C_*
  uint32_t index;        // OPERAND, RESULT, CONSTANT, TEMPORARY
  byoc_dim_t value;      // EXTENT, INTEGER; LOCAL: bytes
  double real;           // REAL
  uint64_t offset_bytes; // OPERAND, RESULT, CONSTANT, SCRATCH, TEMPORARY
} byoc_bound_argument_t;

typedef struct byoc_bound_launch_t {
  const byoc_runtime_module_t *module; // DEVICE
  const char *entry;                   // one of its entries
  byoc_dim_t grid[3], block[3];
  const byoc_bound_argument_t *arguments;
  uint32_t argument_count;
} byoc_bound_launch_t;

struct byoc_kernel_launches_t {
  const byoc_runtime_module_t *driver;
  int32_t device_type; // of the driver's devices, as DLPack has it
  const byoc_bound_launch_t *launches;
  uint32_t launch_count;
  byoc_dim_t scratch_bytes;      // 0: none
  const byoc_dim_t *temporaries; // bytes of each tensor between launches
  uint32_t temporary_count;
  // The memory scope of each operand and each result; NULL: any scope.
  const char **operand_scopes, **result_scopes;
};

#endif // BYOC_CORE_MODULE_KERNELS_H_
