// Concat, Split and Slice without copies: where the bytes of the parts lie one behind the other in the whole, the
// operators become byoc::Join and byoc::Part (core/ops/storage.h), which the host program turns into addresses.
// Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_JOIN_H_
#define BYOC_CORE_KERNEL_JOIN_H_

#include "core/ir/graph.h"

// A model's main function of known shapes, with nothing nested: the host program has all of it in the workspace.
bool byoc_stays_in_workspace(const byoc_function_t *function);

// Looks at such a function, in front of fusion. Operators stay what they
// are where a kernel does better: a Concat most of whose operands would be copied, a part whose computation can be
// fused into that of its readers, and parts that would begin off BYOC_BUFFER_ALIGNMENT.
byoc_status_t byoc_join_in_place(byoc_function_t *function, byoc_diag_t *diag);

#endif // BYOC_CORE_KERNEL_JOIN_H_
