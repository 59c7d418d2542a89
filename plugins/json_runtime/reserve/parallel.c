// SPDX-License-Identifier: Apache-2.0
// Watches OpenMP's loops: which of them raised the flag of invalid operations in a thread. All threads of a loop treat
// subnormal numbers as the one does that began it.
#include "parallel.h"

#include <stdatomic.h>
#include <stddef.h>

#include "invalid.h"

typedef struct region_t {
  void (*body)(void *argument);
  void *argument;
  uint64_t flush;
  atomic_int is_raised;
} region_t;

static byoc_dnnl_parallel_t *_Atomic parallel;
// By loops that this thread began. A thread has it from its beginning, so that nothing is allocated for it.
static _Thread_local __attribute__((tls_model("initial-exec"))) int is_raised;

static void run_body(void *argument) {
  region_t *region = argument;
  const int before = byoc_dnnl_invalid_get();
  const uint64_t flush = byoc_dnnl_flush_get();
  if (flush != region->flush) byoc_dnnl_flush_set(region->flush);
  if (before) byoc_dnnl_invalid_set(0);
  region->body(region->argument);
  if (byoc_dnnl_invalid_get()) atomic_store_explicit(&region->is_raised, 1, memory_order_relaxed);
  if (before) byoc_dnnl_invalid_set(1);
  if (flush != region->flush) byoc_dnnl_flush_set(flush);
}

void byoc_dnnl_parallel_watch(byoc_dnnl_parallel_t *function) {
  atomic_store(&parallel, function);
}

int byoc_dnnl_parallel_is_watched(void) {
  return atomic_load(&parallel) != NULL;
}

void byoc_dnnl_parallel_watched(void (*body)(void *), void *argument, unsigned threads, unsigned flags) {
  region_t region = {.body = body, .argument = argument, .flush = byoc_dnnl_flush_get()};
  atomic_load_explicit(&parallel, memory_order_relaxed)(run_body, &region, threads, flags);
  if (atomic_load_explicit(&region.is_raised, memory_order_relaxed)) is_raised = 1; // the loop's end is a barrier
}

int byoc_dnnl_parallel_take_raised(void) {
  const int taken = is_raised;
  is_raised = 0;
  return taken;
}
