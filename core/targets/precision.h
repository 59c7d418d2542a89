// SPDX-License-Identifier: Apache-2.0
// Precisions that targets offer: the values of an option of the type BYOC_OPTION_PRECISION.
//
// Example:
//   size_t added = 0;
//   BYOC_RETURN_IF_ERROR(byoc_precisions_offer(&list, diag, &added)); // cutlass → cutlass in f32, in bf16, in int8
//   if (added == 0) return BYOC_OK; // no target of the list offers any
#ifndef BYOC_CORE_TARGETS_PRECISION_H_
#define BYOC_CORE_TARGETS_PRECISION_H_

#include "core/targets/target.h"

// The precision that the target's option names: "bf16". NULL: the target has no such option.
const char *byoc_target_precision(const byoc_target_t *target);
// Adds a target for each other precision, right behind its target. Targets with a precision that the user gave stay
// alone. *out_added: how many were added.
byoc_status_t byoc_precisions_offer(byoc_target_list_t *list, byoc_diag_t *diag, size_t *out_added);
// "cutlass -precision=bf16", if the list has another target of this kind; otherwise "cutlass". NULL: out
// of memory.
const char *byoc_target_short_name(const byoc_target_list_t *list, const byoc_target_t *target, byoc_arena_t *arena);

#endif // BYOC_CORE_TARGETS_PRECISION_H_
