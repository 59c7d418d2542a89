// The suite for drivers (byoc/device.h): a program that checks what the interface promises, on any driver.
//
//   driver_suite my_driver.so                      // exports `byoc_driver` and `byoc_driver_kernels`
//
//   int main(int argc, char **argv) {              // or a program of one's own, with the driver linked in
//     return suite_run(&my_driver, &my_kernels, argc, argv);
//   }
//
// Each check runs in a process of its own, so that one that crashes or hangs fails alone. The exit status is 0 if all
// passed, 77 if the device cannot start, 1 otherwise. The suite needs include/byoc and the C library alone.
#ifndef BYOC_TESTS_DEVICES_SUITE_H_
#define BYOC_TESTS_DEVICES_SUITE_H_

#include "byoc/device.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kernels that the suite launches, in the driver's own format: the names of their entries. Work-items go along the
// first axis, one for each element up to n, unless a line says otherwise. What needs a kernel that is NULL is skipped.
typedef struct suite_kernels_t {
  uint32_t struct_size; // sizeof(suite_kernels_t)
  uint32_t reserved;    // 0
  const char *format;
  const void *data;
  uint64_t size_bytes;
  const char *options;    // for the driver's compiler; NULL: none
  const char *scale;      // (f32 x, f32 y, F32 factor, I64 n): y[i] = x[i] * factor. Never NULL
  const char *count;      // (i32 y, I64 n): y[i] += 1. Never NULL
  const char *sum_groups; // (f32 x, f32 y, LOCAL of an f32 for each item, I64 n): y[group] = the sum of the group's x
  const char *places;     // (i32 y), three axes: y[p] = p, p = (z * height + y) * width + x of the item in the grid
  const char *arguments;  // (f64 y, I32 a, I64 b, F32 c, F64 d), one item: y[0 .. 4) = a, b, c, d
  const char *work;       // (i32 y, I64 rounds), one item: takes longer with more rounds, and writes y[0]
  const char *fail;       // (): fails when it runs
  // A queue of the caller, for BYOC_QUEUE_NATIVE; NULL: none. `device` is open and outlives it.
  void *(*native_create)(byoc_device_t *device);
  void (*native_wait)(void *native); // until all that was put into it has ended
  void (*native_destroy)(void *native);
} suite_kernels_t;

// Arguments: [--list] [--ordinal N] [CHECK...]. Returns the program's exit status.
int suite_run(const byoc_driver_t *driver, const suite_kernels_t *kernels, int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif // BYOC_TESTS_DEVICES_SUITE_H_
