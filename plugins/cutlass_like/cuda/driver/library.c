// SPDX-License-Identifier: Apache-2.0
// Finds libcuda.so.1 and fills the table of its functions.
#include "driver.h"

#define LIBRARY "libcuda.so.1"

int32_t byoc_cuda_library_open(const byoc_runtime_t *runtime, byoc_cuda_api_t *out_api) {
  memset(out_api, 0, sizeof(*out_api));
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); // it is never closed
  if (library == NULL) {
    return byoc_plugin_fail(runtime, BYOC_NOT_FOUND,
                            "%s; install NVIDIA's driver, such as the Debian package nvidia-driver", dlerror());
  }
  const char *missing = NULL;
#define BYOC_CUDA_FUNCTION(name, symbol, parameters)                                                                   \
  if (missing == NULL && !byoc_plugin_resolve(library, #symbol, &out_api->name)) missing = #symbol;
#include "api_functions.def"
#undef BYOC_CUDA_FUNCTION
  if (missing == NULL) return BYOC_OK;
  return byoc_plugin_fail(runtime, BYOC_VERSION, LIBRARY " lacks %s: install a driver of CUDA 11 or newer", missing);
}
