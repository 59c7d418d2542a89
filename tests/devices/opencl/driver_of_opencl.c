// SPDX-License-Identifier: Apache-2.0
// The OpenCL driver for byoc-plugin-check, with kernels in OpenCL C.
#include "byoc/driver_check.h"
#include "plugins/opencl/driver/driver.h"

extern const byoc_driver_t byoc_driver_opencl;

static const char source[] =
    "kernel void scale(global const float *x, global float *y, float factor, long n) {\n"
    "  if (get_global_id(0) < n) y[get_global_id(0)] = x[get_global_id(0)] * factor;\n"
    "}\n"
    "kernel void count(global int *y, long n) {\n"
    "  if (get_global_id(0) < n) y[get_global_id(0)] += 1;\n"
    "}\n"
    "kernel void sum_groups(global const float *x, global float *y, local float *parts, long n) {\n"
    "  int i = get_local_id(0);\n"
    "  parts[i] = get_global_id(0) < n ? x[get_global_id(0)] : 0.0f;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (i == 0) {\n"
    "    float sum = 0.0f;\n"
    "    for (int k = 0; k < get_local_size(0); ++k) sum += parts[k];\n"
    "    y[get_group_id(0)] = sum;\n"
    "  }\n"
    "}\n"
    "kernel void places(global int *y) {\n"
    "  int x = get_global_id(0), width = get_global_size(0), height = get_global_size(1);\n"
    "  int p = (get_global_id(2) * height + get_global_id(1)) * width + x;\n"
    "  y[p] = p;\n"
    "}\n"
    "kernel void arguments(global double *y, int a, long b, float c, double d) {\n"
    "  y[0] = a, y[1] = b, y[2] = c, y[3] = d;\n"
    "}\n"
    "kernel void work(global int *y, long rounds) {\n"
    "  unsigned value = y[0];\n"
    "  for (long i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u + (value >> 7);\n"
    "  y[0] = (int)value;\n"
    "}\n";

// The functions of the device that was opened last, for native_wait and native_destroy, which are not given it.
static byoc_opencl_api_t api;

static void *native_create(byoc_device_t *device) {
  cl_int code = CL_SUCCESS;
  api = device->cl;
  return api.clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
}

static void native_wait(void *native) {
  (void)api.clFinish(native);
}

static void native_destroy(void *native) {
  (void)api.clReleaseCommandQueue(native);
}

const byoc_driver_t *const byoc_driver = &byoc_driver_opencl;

// No kernel of OpenCL C fails when it runs: it would end the process.
static const byoc_driver_kernels_t kernels = {
    .struct_size = sizeof(kernels),
    .abi_version = BYOC_DRIVER_ABI_VERSION,
    .format = BYOC_OPENCL_FORMAT_SOURCE,
    .data = source,
    .size_bytes = sizeof(source) - 1,
    .options = "-cl-std=CL1.2",
    .scale = "scale",
    .count = "count",
    .sum_groups = "sum_groups",
    .places = "places",
    .arguments = "arguments",
    .work = "work",
    .native_create = native_create,
    .native_wait = native_wait,
    .native_destroy = native_destroy,
};

const byoc_driver_kernels_t *const byoc_driver_kernels = &kernels;
