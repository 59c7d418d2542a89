// SPDX-License-Identifier: Apache-2.0
// bind.h - a function's launches: CUTLASS' kernel, and the kernels that change layouts before and after it.
#ifndef BYOC_CUTLASS_CUDA_BIND_H_
#define BYOC_CUTLASS_CUDA_BIND_H_

#include "byoc/device_plugin.h"
#include "cuda/kernels.h"

// The module with the kernels of templates/layout.cu.
#define BYOC_CUTLASS_CUDA_LAYOUTS "cutlass_layouts"

// Binds the function, or declines it if an operand is neither a parameter nor a constant.
int32_t byoc_cutlass_cuda_bind(const byoc_host_t *host, const byoc_device_api_t *device, byoc_codegen_t *codegen,
                               byoc_function_t *function, const byoc_cutlass_match_t *match,
                               const byoc_cutlass_kernel_t *kernel);

#endif // BYOC_CUTLASS_CUDA_BIND_H_
