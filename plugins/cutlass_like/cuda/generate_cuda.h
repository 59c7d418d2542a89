// SPDX-License-Identifier: Apache-2.0
// generate_cuda.h - the hook of `cutlass -device=cuda`: each function becomes launches of kernels from CUTLASS'
// templates.
#ifndef BYOC_CUTLASS_GENERATE_CUDA_H_
#define BYOC_CUTLASS_GENERATE_CUDA_H_

#include <stdbool.h>

#include "byoc/plugin.h"

// Does the target say -device=cuda?
bool byoc_cutlass_is_cuda(const byoc_host_t *host, const byoc_target_t *target);

int32_t byoc_cutlass_cuda_generate(const byoc_host_t *host, byoc_codegen_t *codegen);

#endif // BYOC_CUTLASS_GENERATE_CUDA_H_
