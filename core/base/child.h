// SPDX-License-Identifier: Apache-2.0
// Work in a forked process: a crash, a hang or a lack of memory there costs only that work.
#ifndef BYOC_CORE_BASE_CHILD_H_
#define BYOC_CORE_BASE_CHILD_H_

#include <stddef.h>
#include <stdint.h>

#include "core/base/diag.h"
#include "core/base/watch.h"

typedef struct byoc_child_limits_t {
  uint32_t timeout_ms;   // 0: none
  bool keeps_messages;   // it keeps the caller's standard error
  bool contains_foreign; // contains foreign code as the caller does (core/base/foreign.h); its message is the reason
  uint64_t memory_bytes; // beyond what this process has mapped; 0: no limit (sanitizers ignore any limit)
} byoc_child_limits_t;

// Runs `body` in a child process, which begins as a copy of this one. Its changes are lost; only `answer` comes back, a
// plain struct that it fills in (cleared before). The child has default signal handlers and /dev/null as its standard
// streams. It leads a process group, which is killed as a whole when the time is over. It dies with this process, and
// ends without running exit handlers. If there is no answer and the child itself is the cause, returns BYOC_TOOL with
// the reason: "it crashed (signal 11, ...)", "it took longer than ...", "the process ended without an answer". Returns
// BYOC_CANCELLED for a cause from outside: the child was killed (as the system does when memory runs out), was stopped
// for a while, or reached a limit of this process (ulimit).
byoc_status_t byoc_child_run(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                             void *answer, size_t answer_size_bytes, byoc_diag_t *diag);

// The same in two steps, so that several can run at once (see byoc_children_watch). `self` and `answer` must live until
// the wait is over. Every child that was started must be waited for, even if others failed.
byoc_status_t byoc_child_start(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                               void *answer, size_t answer_size_bytes, byoc_diag_t *diag, byoc_child_t *out_child);
byoc_status_t byoc_child_wait(byoc_child_t *child, byoc_diag_t *diag);

#endif // BYOC_CORE_BASE_CHILD_H_
