// SPDX-License-Identifier: Apache-2.0
// Remembers for each thread which task it works for.
#include "core/base/task.h"

static _Thread_local const byoc_task_t *current;

const byoc_task_t *byoc_task_enter(const byoc_task_t *task) {
  const byoc_task_t *before = current;
  current = task;
  return before;
}

const byoc_task_t *byoc_task_current(void) {
  return current;
}

bool byoc_task_is_cancelled(void) {
  return current != NULL && current->is_cancelled != NULL && current->is_cancelled(current->self);
}

byoc_status_t byoc_task_check(byoc_diag_t *diag) {
  return byoc_task_is_cancelled() ? byoc_diag_error(diag, BYOC_CANCELLED, "the build was cancelled") : BYOC_OK;
}
