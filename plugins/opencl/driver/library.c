// SPDX-License-Identifier: Apache-2.0
// Finds libOpenCL.so.1 and fills the table of its functions.
#include "driver.h"

#define LOADER "libOpenCL.so.1"

int32_t byoc_opencl_library_open(const byoc_runtime_t *runtime, byoc_opencl_api_t *out_api) {
  memset(out_api, 0, sizeof(*out_api));
  void *library = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL); // it is never closed
  if (library == NULL) {
    return byoc_plugin_fail(runtime, BYOC_NOT_FOUND,
                            "there is no " LOADER "; install an OpenCL loader and a driver for the device, such as the "
                            "Debian packages ocl-icd-libopencl1 and pocl-opencl-icd");
  }
  const char *missing = NULL;
#define BYOC_OPENCL_FUNCTION(name)                                                                                     \
  if (missing == NULL && !byoc_plugin_resolve(library, #name, &out_api->name)) missing = #name;
#include "api_functions.def"
#undef BYOC_OPENCL_FUNCTION
  if (missing == NULL) return BYOC_OK;
  return byoc_plugin_fail(runtime, BYOC_VERSION, LOADER " lacks %s; install a loader of OpenCL 1.2 or newer", missing);
}
