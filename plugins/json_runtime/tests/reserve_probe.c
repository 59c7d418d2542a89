// SPDX-License-Identifier: Apache-2.0
// A library whose table of addresses is so large that those of its allocations lie in several pages.
#include "reserve_probe.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ROWS_4(row, n)    row(n##0) row(n##1) row(n##2) row(n##3)
#define ROWS_16(row, n)   ROWS_4(row, n##0) ROWS_4(row, n##1) ROWS_4(row, n##2) ROWS_4(row, n##3)
#define ROWS_64(row, n)   ROWS_16(row, n##0) ROWS_16(row, n##1) ROWS_16(row, n##2) ROWS_16(row, n##3)
#define ROWS_256(row, n)  ROWS_64(row, n##0) ROWS_64(row, n##1) ROWS_64(row, n##2) ROWS_64(row, n##3)
#define ROWS_1024(row, n) ROWS_256(row, n##0) ROWS_256(row, n##1) ROWS_256(row, n##2) ROWS_256(row, n##3)

// No library defines these functions; each fills an entry of the table.
#define DECLARE(n) void reserve_probe_absent_##n(void) __attribute__((weak));
ROWS_1024(DECLARE, 1)
ROWS_1024(DECLARE, 2)

int reserve_probe_count(void) {
  int count = 0;
#define COUNT(n) count += reserve_probe_absent_##n != NULL;
  ROWS_1024(COUNT, 1)
  ROWS_1024(COUNT, 2)
  return count;
}

reserve_probe_function_t reserve_probe_address(int which) {
  switch (which) {
  case 0:
    return (reserve_probe_function_t)malloc;
  case 1:
    return (reserve_probe_function_t)free;
  case 2:
    return (reserve_probe_function_t)calloc;
  case 3:
    return (reserve_probe_function_t)realloc;
  case 4:
    return (reserve_probe_function_t)memalign;
  case 5:
    return (reserve_probe_function_t)aligned_alloc;
  case 6:
    return (reserve_probe_function_t)posix_memalign;
  case 7:
    return (reserve_probe_function_t)mmap;
  case 8:
    return (reserve_probe_function_t)munmap;
  default:
    return NULL;
  }
}
