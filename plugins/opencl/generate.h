// generate.h - the generator's hook.
#ifndef BYOC_OPENCL_GENERATE_H_
#define BYOC_OPENCL_GENERATE_H_

#include "byoc/device_plugin.h"

typedef struct byoc_opencl_state_t {
  const byoc_host_t *host;
  const byoc_device_api_t *device;
} byoc_opencl_state_t;

int32_t byoc_opencl_generate(void *self, byoc_codegen_t *codegen);

#endif // BYOC_OPENCL_GENERATE_H_
