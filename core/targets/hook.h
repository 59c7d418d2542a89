// SPDX-License-Identifier: Apache-2.0
// Records which hook of a plugin runs, for messages about its faults (core/base/foreign.h). Every call of a hook is
// between byoc_hook_enter and byoc_foreign_leave.
#ifndef BYOC_CORE_TARGETS_HOOK_H_
#define BYOC_CORE_TARGETS_HOOK_H_

#include "core/base/foreign.h"
#include "core/targets/target.h"

// `where`: "hook generate". The subject is the object of its work, as "function" and its name, or NULL. Returns the
// previous record of this thread.
byoc_foreign_t byoc_hook_enter(const byoc_target_t *target, const char *where, const char *subject_kind,
                               const char *subject);

#endif // BYOC_CORE_TARGETS_HOOK_H_
