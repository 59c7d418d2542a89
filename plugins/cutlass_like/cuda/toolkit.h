// SPDX-License-Identifier: Apache-2.0
// toolkit.h - NVRTC and the headers that kernels are compiled with, as pip installs them into one folder:
//
//   pip install --target=DIR nvidia-cutlass nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12
//               nvidia-cuda-nvcc-cu12
//
// A child process opens NVRTC, because it takes hundreds of megabytes and may install signal handlers.
#ifndef BYOC_CUTLASS_CUDA_TOOLKIT_H_
#define BYOC_CUTLASS_CUDA_TOOLKIT_H_

#include "byoc/device_plugin.h"

enum { BYOC_CUTLASS_CUDA_MOST_INCLUDES = 4 };

typedef struct byoc_cutlass_toolkit_t {
  char library[1024];
  char includes[BYOC_CUTLASS_CUDA_MOST_INCLUDES][1024]; // "-I..."
  uint64_t library_bytes;                               // tells one version from another
} byoc_cutlass_toolkit_t;

// Finds everything below `folder`. If something is missing, reports it and returns BYOC_INVALID_ARGUMENT or
// BYOC_NOT_FOUND.
int32_t byoc_cutlass_toolkit_find(const byoc_host_t *host, byoc_codegen_t *codegen, const char *folder,
                                  byoc_cutlass_toolkit_t *out_toolkit);

// A source compiled for an architecture ("sm_80"): the binary, and the PTX, which ends with a NUL that is not counted.
typedef struct byoc_cutlass_binary_t {
  const void *cubin, *ptx; // live until the hook returns
  uint64_t cubin_bytes, ptx_bytes;
} byoc_cutlass_binary_t;

// Takes it from the cache, or compiles it.
int32_t byoc_cutlass_toolkit_compile(const byoc_host_t *host, const byoc_device_api_t *device, byoc_codegen_t *codegen,
                                     const byoc_cutlass_toolkit_t *toolkit, const char *architecture, const char *text,
                                     byoc_cutlass_binary_t *out_binary);

#endif // BYOC_CUTLASS_CUDA_TOOLKIT_H_
