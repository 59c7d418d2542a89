// Work in a forked process of its own: a crash, a hang or a lack of memory there costs that work alone.
#ifndef BYOC_CORE_BASE_CHILD_H_
#define BYOC_CORE_BASE_CHILD_H_

#include <stddef.h>
#include <stdint.h>

#include "core/base/diag.h"
#include "core/base/watch.h"

typedef struct byoc_child_limits_t {
  uint32_t timeout_ms;   // 0: none
  bool keeps_messages;   // standard error stays the caller's
  uint64_t memory_bytes; // beyond what this process has mapped; 0: no limit (nor is there one under sanitizers)
} byoc_child_limits_t;

// Runs `body` in a child process, which begins as a copy of this one: it may change anything, and nothing of it comes
// back but `answer`, a plain struct that it fills in (cleared before). The child has default signal handlers, a process
// group of its own that is killed whole when the time is over, /dev/null for its standard streams, and dies with this
// process; it ends without running exit handlers. BYOC_TOOL with the reason where no answer came through the child's
// own doing: "it crashed (signal 11, ...)", "it took longer than ...", "the process ended without an answer".
// BYOC_CANCELLED where the reason came from outside: it was killed, as the system does when memory runs out, it was
// stopped for a while, or it met a limit that this process has (ulimit).
byoc_status_t byoc_child_run(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                             void *answer, size_t answer_size_bytes, byoc_diag_t *diag);

// The same in two steps, so that several run at once (or watched by byoc_children_watch). `self` and `answer` live
// until the wait is over; every child that was started must be waited for, whatever became of the others.
byoc_status_t byoc_child_start(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                               void *answer, size_t answer_size_bytes, byoc_diag_t *diag, byoc_child_t *out_child);
byoc_status_t byoc_child_wait(byoc_child_t *child, byoc_diag_t *diag);

#endif // BYOC_CORE_BASE_CHILD_H_
