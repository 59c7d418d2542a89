// SPDX-License-Identifier: Apache-2.0
// The work of C calls that a backend put in the place of operators. It is known only before the backend's hook runs,
// and profiles need it.
#ifndef BYOC_CORE_COMPILE_CALL_WORK_H_
#define BYOC_CORE_COMPILE_CALL_WORK_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

// Before the hook: the operations of each function, as an array of `count` numbers from `allocator`.
byoc_status_t byoc_call_work_note(byoc_function_t *const *functions, size_t count, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, double **out_flops);
// After the hook: the C calls in a function's body share its operations in equal parts (BYOC_ATTRIBUTE_FLOPS).
byoc_status_t byoc_call_work_mark(byoc_function_t *const *functions, size_t count, const double *flops,
                                  byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_CALL_WORK_H_
