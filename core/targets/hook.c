// SPDX-License-Identifier: Apache-2.0
// Records which hook of a target's plugin runs.
#include "core/targets/hook.h"

byoc_foreign_t byoc_hook_enter(const byoc_target_t *target, const char *where, const char *subject_kind,
                               const char *subject) {
  const byoc_target_kind_t *kind = target->kind;
  const byoc_foreign_t entered = {.kind = "plugin",
                                  .name = kind->plugin_name,
                                  .version = kind->plugin_version,
                                  .where = where,
                                  .target = kind->name,
                                  .subject_kind = subject_kind,
                                  .subject = subject};
  return byoc_foreign_enter(&entered);
}
