// SPDX-License-Identifier: Apache-2.0
// binary.h - kernels compiled for the device of this machine while a model is built.
#ifndef BYOC_OPENCL_BINARY_H_
#define BYOC_OPENCL_BINARY_H_

#include "generate.h"

typedef struct byoc_opencl_binary_t {
  const char *architecture; // of the device; live until the hook returns
  const void *data;
  uint64_t size_bytes;
} byoc_opencl_binary_t;

// Compiles the source in a child process: vendors' compilers install signal handlers and keep threads and memory. The
// cache keeps binaries by device and version of its driver. Reports a failure.
int32_t byoc_opencl_compile(const byoc_opencl_state_t *state, byoc_codegen_t *codegen, const char *source,
                            size_t size_bytes, byoc_opencl_binary_t *out_binary);

#endif // BYOC_OPENCL_BINARY_H_
