// SPDX-License-Identifier: Apache-2.0
// Ends runs by time and by the caller's flag.
#include "core/runtime/stop.h"

#include <stdio.h>

#include "core/runtime/model.h"

// After a part of a chunk that took less than this, the next part is twice as large.
#define PART_NS 500000

void byoc_stop_begin(byoc_stop_t *stop) {
  atomic_store_explicit(&stop->found, BYOC_OK, memory_order_relaxed);
  stop->start_ns = stop->timeout_ms > 0 ? byoc_model_now_ns() : 0;
}

static int32_t flag_of(const byoc_stop_t *stop) {
#if defined(__GNUC__)
  return __atomic_load_n(stop->cancel, __ATOMIC_RELAXED);
#else
  return *stop->cancel;
#endif
}

int32_t byoc_stop_status(byoc_stop_t *stop) {
  int32_t found = atomic_load_explicit(&stop->found, memory_order_relaxed);
  if (found != BYOC_OK) return found;
  if (stop->cancel != NULL && flag_of(stop) != 0) {
    found = BYOC_CANCELLED;
  } else if (stop->timeout_ms > 0 && (byoc_model_now_ns() - stop->start_ns) / 1000000 >= stop->timeout_ms) {
    found = BYOC_TIMED_OUT;
  }
  if (found != BYOC_OK) atomic_store_explicit(&stop->found, found, memory_order_relaxed);
  return found;
}

void byoc_stop_explain(const byoc_stop_t *stop, int32_t status, char *message, size_t size) {
  if (status == BYOC_CANCELLED) {
    (void)snprintf(message, size, "the caller cancelled the run");
  } else {
    (void)snprintf(message, size, "the run took longer than %llu ms, the limit that the caller set",
                   (unsigned long long)stop->timeout_ms);
  }
}

void byoc_stop_run_parts(void *parts, int64_t begin, int64_t end, int32_t worker) {
  const byoc_parts_t *loop = parts;
  int64_t size = loop->grain > 1 ? loop->grain : 1;
  while (begin < end && byoc_stop_status(loop->stop) == BYOC_OK) {
    const int64_t next = end - begin <= size ? end : begin + size;
    const uint64_t start_ns = byoc_model_now_ns();
    loop->body(loop->argument, begin, next, worker);
    if (byoc_model_now_ns() - start_ns < PART_NS && size <= INT64_MAX / 2) size *= 2;
    begin = next;
  }
}
