// SPDX-License-Identifier: Apache-2.0
// How kernels of the driver `sim` are written: C functions that do the work of one work-group.
//
// Example:
//   int32_t twice(const sim_group_t *group) {                      // arguments: x, y, n
//     int64_t n = group->arguments[2].integer;
//     SIM_FOR_ITEMS(group, i, n)
//       *(float *)sim_element(&group->arguments[1], i, 4) = 2 * *(float *)sim_element(&group->arguments[0], i, 4);
//     return 0;
//   }
//
// Format "elf": the bytes of a shared object that exports such functions; each is an entry.
// Format "sim": the names of kernels that the driver has itself (sim_kernels.c), with blanks between them.
#ifndef BYOC_TESTS_DEVICES_SIM_KERNEL_H_
#define BYOC_TESTS_DEVICES_SIM_KERNEL_H_

#include <stdint.h>

typedef struct sim_argument_t {
  uint32_t kind; // BYOC_DEVICE_ARGUMENT_*
  uint32_t reserved;
  void *data;           // BUFFER: the place that the launch named; LOCAL: memory of this work-group
  uint64_t size_bytes;  // BUFFER: dense bytes from there to the end of the buffer; LOCAL: all of it
  uint64_t row_bytes;   // BUFFER of a padded scope: of one row; 0 if dense
  uint64_t pitch_bytes; // BUFFER of a padded scope: from one row to the next
  int64_t integer;      // I32, I64
  double real;          // F32, F64
} sim_argument_t;

typedef struct sim_group_t {
  uint32_t group[3]; // which one
  uint32_t grid[3];  // of how many
  uint32_t block[3]; // work-items in each
  uint32_t argument_count;
  const sim_argument_t *arguments;
} sim_group_t;

// Returns 0 or a status; the command then fails.
typedef int32_t (*sim_kernel_t)(const sim_group_t *group);

// The place of an element, counted as in a dense tensor.
static inline void *sim_element(const sim_argument_t *argument, int64_t index, uint64_t element_size_bytes) {
  uint64_t offset = (uint64_t)index * element_size_bytes;
  if (argument->row_bytes) {
    offset = offset / argument->row_bytes * argument->pitch_bytes + offset % argument->row_bytes;
  }
  return (char *)argument->data + offset;
}

// Loops over the work-items of the group along the first axis that are less than `count`.
#define SIM_FOR_ITEMS(group_, i, count)                                                                                \
  for (int64_t i = (int64_t)(group_)->group[0] * (group_)->block[0],                                                   \
               i##_end = i + (group_)->block[0] < (count) ? i + (group_)->block[0] : (count);                          \
       i < i##_end; ++i)

#endif // BYOC_TESTS_DEVICES_SIM_KERNEL_H_
