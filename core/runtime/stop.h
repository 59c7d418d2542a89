// SPDX-License-Identifier: Apache-2.0
// Ends a run early: by a time limit, or by the caller's flag. Once a run is ending, it stays so until it has ended:
// kernels have left out work, and their results are not used.
#ifndef BYOC_CORE_RUNTIME_STOP_H_
#define BYOC_CORE_RUNTIME_STOP_H_

#include <stddef.h>

#include "byoc/call.h"
#include "core/runtime/atomics.h"

// Zeros: nothing ends a run.
typedef struct byoc_stop_t {
  uint64_t timeout_ms;            // 0: any time
  const volatile int32_t *cancel; // the caller's; NULL: none
  uint64_t start_ns;              // of this run
  byoc_atomic_status_t found;     // BYOC_OK, or why this run ends
} byoc_stop_t;

static inline bool byoc_stop_is_set(const byoc_stop_t *stop) {
  return stop->timeout_ms > 0 || stop->cancel != NULL;
}
// A run begins.
void byoc_stop_begin(byoc_stop_t *stop);
// BYOC_OK, BYOC_TIMED_OUT or BYOC_CANCELLED. Any thread.
int32_t byoc_stop_status(byoc_stop_t *stop);
// Writes a message for a status that byoc_stop_status has returned, cut at `size`.
void byoc_stop_explain(const byoc_stop_t *stop, int32_t status, char *message, size_t size);

// Loops of target c, whose chunks may be run in parts.
typedef struct byoc_parts_t {
  byoc_stop_t *stop;
  byoc_parallel_body_t body;
  void *argument;
  int64_t grain;
} byoc_parts_t;

// A byoc_parallel_body_t: runs a chunk of the loop in parts of about a millisecond, and leaves out the rest when the
// run is ending. `parts` is a byoc_parts_t.
void byoc_stop_run_parts(void *parts, int64_t begin, int64_t end, int32_t worker);

#endif // BYOC_CORE_RUNTIME_STOP_H_
