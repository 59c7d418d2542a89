// SPDX-License-Identifier: Apache-2.0
// Collects the flags of invalid operations of all threads that oneDNN computes on.
#include "engine/library/watch.h"

#include <stdatomic.h>

#include "engine/library/out_of_memory.h"
#include "reserve/invalid.h"

void byoc_dnnl_watch_begin(int32_t thread_count, byoc_dnnl_watch_t *out_watch) {
  *out_watch = (byoc_dnnl_watch_t){.before = byoc_dnnl_invalid_get(), .thread_count = thread_count};
  out_watch->each_step = thread_count > 1 && !byoc_dnnl_reserve_sees_loops();
  byoc_dnnl_invalid_set(0);
  (void)byoc_dnnl_reserve_take_invalid();
}

static void take_flag(void *argument) {
  if (byoc_dnnl_invalid_get()) atomic_store((atomic_int *)argument, 1);
  byoc_dnnl_invalid_set(0);
}

void byoc_dnnl_watch_step(const byoc_dnnl_api_t *api, byoc_dnnl_watch_t *watch) {
  atomic_int is_raised = 0;
  api->GOMP_parallel(take_flag, &is_raised, (unsigned)watch->thread_count, 0);
  if (atomic_load(&is_raised)) watch->is_raised = 1;
}

int byoc_dnnl_watch_end(byoc_dnnl_watch_t *watch) {
  if (byoc_dnnl_invalid_get() || byoc_dnnl_reserve_take_invalid()) watch->is_raised = 1;
  byoc_dnnl_invalid_set(watch->before);
  return watch->is_raised;
}
