// SPDX-License-Identifier: Apache-2.0
// The CUDA driver for byoc-plugin-check: on the GPU that is here, or on the stub of libcuda.so.1 that LD_LIBRARY_PATH
// names. A kernel that fails would take the whole context with it, so that there is none.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/driver_check.h"
#include "plugins/cutlass_like/cuda/driver/driver.h"

extern const byoc_driver_t byoc_cuda_driver;
extern const unsigned char byoc_embed_cuda_suite_kernels[];
extern const unsigned long long byoc_embed_cuda_suite_kernels_size;

// The device's context is current for as long as the streams are used.
static void *native_create(byoc_device_t *device) {
  CUstream stream = NULL;
  if (device->cu.cuCtxPushCurrent(device->context) != CUDA_SUCCESS) return NULL;
  if (device->cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return NULL;
  return stream;
}

static void find(const char *name, void *out_function) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol = library ? dlsym(library, name) : NULL;
  if (!symbol) abort();
  memcpy(out_function, &symbol, sizeof(symbol));
}

static void native_wait(void *native) {
  CUresult (*synchronise)(CUstream stream);
  find("cuStreamSynchronize", &synchronise);
  if (synchronise(native) != CUDA_SUCCESS) abort();
}

static void native_destroy(void *native) {
  CUresult (*destroy)(CUstream stream), (*pop)(CUcontext * context);
  CUcontext context;
  find("cuStreamDestroy_v2", &destroy);
  find("cuCtxPopCurrent_v2", &pop);
  if (destroy(native) != CUDA_SUCCESS || pop(&context) != CUDA_SUCCESS) abort();
}

const byoc_driver_t *const byoc_driver = &byoc_cuda_driver;

static byoc_driver_kernels_t kernels = {
    .struct_size = sizeof(kernels),
    .abi_version = BYOC_DRIVER_ABI_VERSION,
    .format = BYOC_CUDA_FORMAT_PTX,
    .data = byoc_embed_cuda_suite_kernels,
    .scale = "suite_scale",
    .count = "suite_count",
    .sum_groups = "suite_sum_groups",
    .places = "suite_places",
    .arguments = "suite_arguments",
    .work = "suite_work",
    .native_create = native_create,
    .native_wait = native_wait,
    .native_destroy = native_destroy,
};

__attribute__((constructor)) static void set_size(void) {
  kernels.size_bytes = byoc_embed_cuda_suite_kernels_size;
}

const byoc_driver_kernels_t *const byoc_driver_kernels = &kernels;
