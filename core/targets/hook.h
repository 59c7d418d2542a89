// SPDX-License-Identifier: Apache-2.0
// Which hook of a plugin runs, noted for those who contain it (core/base/foreign.h). Every call of a hook stands
// between byoc_hook_enter and byoc_foreign_leave.
#ifndef BYOC_CORE_TARGETS_HOOK_H_
#define BYOC_CORE_TARGETS_HOOK_H_

#include "core/base/foreign.h"
#include "core/targets/target.h"

// `where`: "hook generate". The subject is what it works on, as "function" and its name; NULL: nothing single. Returns
// what this thread was in before.
byoc_foreign_t byoc_hook_enter(const byoc_target_t *target, const char *where, const char *subject_kind,
                               const char *subject);

#endif // BYOC_CORE_TARGETS_HOOK_H_
