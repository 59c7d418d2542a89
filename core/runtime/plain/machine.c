// SPDX-License-Identifier: Apache-2.0
// Stands for the files of the runtime that need Linux, in artifacts that are C source: one thread, the clock and the
// memory of the C library. It needs nothing beyond C11.
#include <stdlib.h>
#include <time.h>

#include "core/runtime/huge_pages.h"
#include "core/runtime/memory.h"
#include "core/runtime/model.h"
#include "core/runtime/pool.h"
#include "core/runtime/processors.h"
#include "core/runtime/stack.h"
#include "core/runtime/thread_text.h"

// ---- threads: the caller may bring some (byoc_context_options_t.pool) ----

int32_t byoc_model_processor_count(void) {
  return 1;
}

int32_t byoc_model_pool_acquire(int32_t thread_count) {
  (void)thread_count;
  return 1;
}

void byoc_model_pool_release(void) {}

void byoc_model_pool_rest(void) {}

void byoc_model_pool_wake(int32_t thread_count) {
  (void)thread_count;
}

void byoc_model_pool_set_spin(uint32_t turns) {
  (void)turns;
}

void byoc_model_pool_run(int32_t thread_count, byoc_parallel_body_t body, void *argument, int64_t count,
                         int64_t grain) {
  (void)thread_count, (void)grain;
  if (count > 0) body(argument, 0, count, 0);
}

void byoc_model_pool_run_in_crowd(byoc_crowd_t *crowd, int32_t thread_count, byoc_parallel_body_t body, void *argument,
                                  int64_t count, int64_t grain) {
  (void)crowd;
  byoc_model_pool_run(thread_count, body, argument, count, grain);
}

uint32_t byoc_model_fork_generation(void) {
  return 0;
}

size_t byoc_stack_left_bytes(void) {
  return SIZE_MAX;
}

// The message of the thread that failed last.
char *byoc_thread_text(bool make) {
  static char text[BYOC_THREAD_TEXT_BYTES];
  (void)make;
  return text;
}

bool byoc_thread_text_was_lost(void) {
  return false;
}

// ---- memory ----

void byoc_model_place_constants(const void *data, uint64_t size_bytes, bool wanted) {
  (void)data, (void)size_bytes, (void)wanted;
}

void *byoc_model_allocate(uint64_t size_bytes) {
  const uint64_t mask = BYOC_BUFFER_ALIGNMENT - 1;
  return size_bytes <= SIZE_MAX - mask ? byoc_memory_allocate((size_t)((size_bytes + mask) & ~mask)) : NULL;
}

// A pointer to the C library's memory is stored before the aligned memory: some C libraries have no aligned_alloc
// (newlib for ARM).
void *byoc_memory_allocate(size_t size_bytes) {
  const size_t more = BYOC_BUFFER_ALIGNMENT + sizeof(void *);
  char *all = size_bytes <= SIZE_MAX - more ? malloc(size_bytes + more) : NULL;
  if (all == NULL) return NULL;
  char *memory = all + sizeof(void *);
  memory += (BYOC_BUFFER_ALIGNMENT - (uintptr_t)memory % BYOC_BUFFER_ALIGNMENT) % BYOC_BUFFER_ALIGNMENT;
  ((void **)(void *)memory)[-1] = all;
  return memory;
}

void byoc_memory_free(void *memory) {
  if (memory != NULL) free(((void **)memory)[-1]);
}

// ---- time ----

uint64_t byoc_model_now_ns(void) {
  return (uint64_t)((double)clock() * (1e9 / (double)CLOCKS_PER_SEC));
}
