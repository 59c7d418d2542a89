// SPDX-License-Identifier: Apache-2.0
// What hooks have in common that answer a question and are asked in a child process: byoc_backend_t.state_costs,
// state_target_costs and partition. Internal to core/plugin.
#ifndef BYOC_CORE_PLUGIN_CHILD_HOOK_H_
#define BYOC_CORE_PLUGIN_CHILD_HOOK_H_

#include <stddef.h>
#include <stdint.h>

#include "core/base/diag.h"
#include "core/plugin/hygiene.h"

// Runs `body`, which calls the hook, in a child process (byoc_child_run). A crash, an exit and a hang fail the hook
// with BYOC_TOOL or the child's reason; only a cancelled task is BYOC_CANCELLED. A process that contains foreign code
// has the hooks' own time limit (BYOC_HOOK_TIMEOUT of the command); another one gives a hook 300 seconds.
byoc_status_t byoc_hook_run_in_child(void (*body)(void *self, void *answer), void *self, void *answer,
                                     size_t answer_size_bytes, byoc_diag_t *diag);

// For a query's slot `error`: keeps the message of the last failure in `error`, and returns `status`.
int32_t byoc_hook_keep_error(byoc_diag_t *error, int32_t status, const char *message);

// After the hook came back: its status, what it left in `error`, and what it changed of the process since `before`.
byoc_status_t byoc_hook_end(const char *name, int32_t status, byoc_diag_t *error, const byoc_hygiene_t *before,
                            byoc_diag_t *diag);

#endif // BYOC_CORE_PLUGIN_CHILD_HOOK_H_
