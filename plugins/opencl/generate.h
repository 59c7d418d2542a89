// SPDX-License-Identifier: Apache-2.0
// generate.h - the hook that plans every function and hands over its kernels.
#ifndef BYOC_OPENCL_GENERATE_H_
#define BYOC_OPENCL_GENERATE_H_

#include "byoc/device_plugin.h"

#define BYOC_OPENCL_OPTION_BINARY "binary"

// For OpenCL's compiler.
#define BYOC_OPENCL_OPTIONS "-cl-std=CL1.2"

typedef struct byoc_opencl_state_t {
  const byoc_host_t *host;
  const byoc_device_api_t *device;
} byoc_opencl_state_t;

int32_t byoc_opencl_generate(void *self, byoc_codegen_t *codegen);

#endif // BYOC_OPENCL_GENERATE_H_
