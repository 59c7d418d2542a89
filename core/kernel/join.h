// SPDX-License-Identifier: Apache-2.0
// Concat, Split, Slice, and Gather of a Loop's slices, without copies. If the bytes of the parts follow each other in
// the whole, the operators become byoc::Join and byoc::Part (core/ops/byoc/storage.h), which the host program turns
// into addresses. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_JOIN_H_
#define BYOC_CORE_KERNEL_JOIN_H_

#include "core/ir/graph.h"

// Is it a model's main function with known shapes, those of nested blocks included? The host program then has all of it
// in the workspace.
bool byoc_stays_in_workspace(const byoc_function_t *function);

// Rewrites such a function, before fusion. Operators stay as they are if a kernel does better: a Concat most of whose
// operands would be copied, a part whose computation can be fused into its readers, and parts that would not begin at
// BYOC_BUFFER_ALIGNMENT.
byoc_status_t byoc_join_in_place(byoc_function_t *function, byoc_diag_t *diag);

#endif // BYOC_CORE_KERNEL_JOIN_H_
