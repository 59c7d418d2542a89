// SPDX-License-Identifier: Apache-2.0
// The task of a thread receives its log lines and its progress, and can cancel its work. Without a task, log lines go
// to standard error, and work cannot be cancelled. Threads that work for another thread enter its task; a forked child
// has no task.
//
// Example:
//   byoc_task_t task = {.self = &build, .log_level = BYOC_LOG_WARNING, .log = take_line, .is_cancelled = is_cancelled};
//   const byoc_task_t *before = byoc_task_enter(&task);
//   // What this thread does here is part of the build.
//   byoc_task_enter(before);
#ifndef BYOC_CORE_BASE_TASK_H_
#define BYOC_CORE_BASE_TASK_H_

#include "core/base/diag.h"
#include "core/base/log.h"

// Functions may be NULL. They are called on the threads that work for the task, one at a time or at the same time.
typedef struct byoc_task_t {
  void *self;
  byoc_log_level_t log_level;                                           // the least important level for `log`
  void (*log)(void *self, byoc_log_level_t level, const char *message); // NULL: lines go to standard error
  // As in core/base/log.h; `detail` may be NULL, and a `total` of 0 means unknown.
  void (*progress)(void *self, const char *title, int64_t done, int64_t total, const char *detail);
  bool (*is_cancelled)(void *self);
} byoc_task_t;

// The task must live until another one is entered. NULL: none. Returns the one before.
const byoc_task_t *byoc_task_enter(const byoc_task_t *task);
const byoc_task_t *byoc_task_current(void); // of this thread; NULL: none
bool byoc_task_is_cancelled(void);
// BYOC_CANCELLED if this thread's task is cancelled. Long work calls it between its steps; a wait for child processes
// ends by itself.
byoc_status_t byoc_task_check(byoc_diag_t *diag);

#endif // BYOC_CORE_BASE_TASK_H_
