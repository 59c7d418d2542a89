// SPDX-License-Identifier: Apache-2.0
// byoc/driver_check.h - definitions that `byoc-plugin-check --driver FILE.so` needs: the driver's table
// (byoc/device.h), and kernels of its device, which the checks launch.
//
// Example:
//   static const byoc_driver_kernels_t kernels = {
//       .struct_size = sizeof(kernels), .abi_version = BYOC_DRIVER_ABI_VERSION, .format = "mine", .data = code,
//       .size_bytes = sizeof(code), .scale = "scale", .count = "count"};
//   const byoc_driver_t *const byoc_driver = &my_driver;
//   const byoc_driver_kernels_t *const byoc_driver_kernels = &kernels;
//
// FILE.so is the driver's sources and a file with these two definitions. No plugin and no artifact carries them. Each
// check runs in a process of its own, so that a crash or a hang fails one check only; if the device cannot start, they
// are skipped with the driver's own message.
#ifndef BYOC_DRIVER_CHECK_H_
#define BYOC_DRIVER_CHECK_H_

#include "byoc/device.h"

#ifdef __cplusplus
extern "C" {
#endif

// Since minor 5. The kernels that the checks launch, in the driver's own format: the names of their entries. Work-items
// go along the first axis, one for each element up to n, unless a comment says otherwise. Checks whose kernel is NULL
// are skipped: a device that executes command streams has none of these kernels, and `data` is any stream that it
// takes.
typedef struct byoc_driver_kernels_t {
  uint32_t struct_size; // sizeof(byoc_driver_kernels_t)
  uint32_t abi_version; // BYOC_DRIVER_ABI_VERSION
  const char *format;   // of `data`, which module_load takes
  const void *data;
  uint64_t size_bytes;
  const char *options;    // for the driver's compiler; NULL: none
  const char *scale;      // (f32 x, f32 y, F32 factor, I64 n): y[i] = x[i] * factor
  const char *count;      // (i32 y, I64 n): y[i] += 1
  const char *sum_groups; // (f32 x, f32 y, LOCAL of an f32 for each item, I64 n): y[group] = the sum of the group's x
  const char *places;     // (i32 y), three axes: y[p] = p, p = (z * height + y) * width + x of the item in the grid
  const char *arguments;  // (f64 y, I32 a, I64 b, F32 c, F64 d), one item: y[0 .. 4) = a, b, c, d
  const char *work;       // (i32 y, I64 rounds), one item: takes longer with more rounds, and writes y[0]
  const char *fail;       // (): fails when it runs
  // A queue of the caller, for BYOC_QUEUE_NATIVE; NULL: none. `device` is open and outlives it.
  void *(*native_create)(byoc_device_t *device);
  void (*native_wait)(void *native); // waits until all its commands have ended
  void (*native_destroy)(void *native);
} byoc_driver_kernels_t;

#if defined(__GNUC__)
#define BYOC_DRIVER_EXPORT __attribute__((visibility("default")))
#else
#define BYOC_DRIVER_EXPORT
#endif

// The two symbols that FILE.so exports.
extern BYOC_DRIVER_EXPORT const byoc_driver_t *const byoc_driver;
extern BYOC_DRIVER_EXPORT const byoc_driver_kernels_t *const byoc_driver_kernels;

#ifdef __cplusplus
}
#endif
#endif // BYOC_DRIVER_CHECK_H_
