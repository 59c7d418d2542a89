// SPDX-License-Identifier: Apache-2.0
// Runs hooks in child processes, and judges how they ended.
#include "core/plugin/child_hook.h"

#include "core/base/child.h"
#include "core/base/foreign.h"
#include "core/base/task.h"

#define TIMEOUT_MS 300000 // a backend may simulate its chip, or compile

byoc_status_t byoc_hook_run_in_child(void (*body)(void *self, void *answer), void *self, void *answer,
                                     size_t answer_size_bytes, byoc_diag_t *diag) {
  const byoc_child_limits_t limits = {.timeout_ms = byoc_foreign_is_contained() ? 0 : TIMEOUT_MS,
                                      .contains_foreign = true};
  byoc_diag_t why = {0};
  const byoc_status_t status = byoc_child_run(&limits, body, self, answer, answer_size_bytes, &why);
  BYOC_RETURN_IF_ERROR(byoc_task_check(diag));
  if (status == BYOC_CANCELLED) return byoc_diag_error(diag, BYOC_TOOL, "%s", why.message); // not by this task
  return status == BYOC_OK ? BYOC_OK : byoc_diag_adopt(diag, &why);
}

int32_t byoc_hook_keep_error(byoc_diag_t *error, int32_t status, const char *message) {
  byoc_foreign_beat();
  byoc_diag_clear(error);
  if (status != BYOC_OK) (void)byoc_diag_error(error, BYOC_TOOL, "%s", message != NULL ? message : "no reason");
  return status;
}

byoc_status_t byoc_hook_end(const char *name, int32_t status, byoc_diag_t *error, const byoc_hygiene_t *before,
                            byoc_diag_t *diag) {
  if (status != BYOC_OK && error != NULL && error->status != BYOC_OK) return byoc_diag_adopt(diag, error);
  const char *changed = byoc_hygiene_changed(before);
  if (changed != NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "the hook %s %s", name, changed);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_TOOL, "the hook %s returned %d and gave no reason", name, (int)status);
}
