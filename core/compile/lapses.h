// SPDX-License-Identifier: Apache-2.0
// Warnings about operators that are not computed in the precision that a target's option `precision` asks for.
#ifndef BYOC_CORE_COMPILE_LAPSES_H_
#define BYOC_CORE_COMPILE_LAPSES_H_

#include "core/collage/plan.h"
#include "core/targets/target.h"

// For each target whose option `precision` is not the default: one line for each reason, which names the first
// operators and counts the others, up to four lines. The reasons are those that the backend reported with its regions,
// and those for which it declined products that another target computes now. One line says it if the option changes
// nothing at all.
byoc_status_t byoc_lapses_warn(const byoc_plan_t *plan, const byoc_target_list_t *targets, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_LAPSES_H_
