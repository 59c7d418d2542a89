// SPDX-License-Identifier: Apache-2.0
// The work of statements and the variables and buffers that they use, to decide how a loop is run. Internal to
// core/kernel.
#ifndef BYOC_CORE_KERNEL_WORK_H_
#define BYOC_CORE_KERNEL_WORK_H_

#include "core/base/map.h"
#include "core/ir/loop.h"

// A parallel loop with fewer operations is not worth a second thread: some microseconds of work at one or two
// operations per nanosecond, where beginning and ending a loop takes less than half of one.
#define BYOC_PARALLEL_WORK ((int64_t)8192)

// The iterations of a `for`; -1 if they are known only at run time.
int64_t byoc_loop_iterations(const byoc_loop_stmt_t *stmt);
// Rough number of operations, at least 1; unknown trip counts count as 64. Vector loops count a quarter.
int64_t byoc_work_of(const byoc_loop_stmt_t *stmt);
int64_t byoc_work_times(int64_t a, int64_t b); // saturating product
bool byoc_has_loop(const byoc_loop_stmt_t *stmt);

// One thing that a statement reads or writes but does not declare; assignments to variables that nothing needs are left
// out. Exactly one field is set.
typedef struct byoc_use_item_t {
  const byoc_loop_buffer_t *buffer;
  const byoc_loop_variable_t *variable;
  const char *symbol;
} byoc_use_item_t;

typedef struct byoc_uses_t {
  byoc_allocator_t allocator;
  byoc_use_item_t *items;
  size_t count, capacity;
  byoc_map_t seen; // pointer map: internal
  byoc_map_t read; // pointer map: variables and local buffers that a store, a condition or another one of them needs
  bool failed;
} byoc_uses_t;

// Collects them in order of first use. False if out of memory; `deinit` must be called either way.
bool byoc_uses_collect(const byoc_loop_stmt_t *stmt, byoc_allocator_t allocator, byoc_uses_t *out_uses);
void byoc_uses_deinit(byoc_uses_t *uses);

#endif // BYOC_CORE_KERNEL_WORK_H_
