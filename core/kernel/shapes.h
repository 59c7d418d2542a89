// Makes the dimensions of a function that is about to be lowered known before they are needed: each symbol that comes
// from data gets a kernel that computes it. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_SHAPES_H_
#define BYOC_CORE_KERNEL_SHAPES_H_

#include "core/ir/graph.h"

// In front of each call of an extern function whose results' shapes depend on data: a copy of its retained body, whose
// values stand for those shapes. What of it the shapes do not need is dead.
byoc_status_t byoc_shapes_copy_bodies(byoc_block_t *block, byoc_diag_t *diag, bool *out_changed);

// In front of each operator whose results have symbols that stand nowhere before: the computation of them
// (core/ops/symbolic.h). Unknown dimensions have names by now. Where a result has a constant dimension that does not
// follow from the operands, because a model declares it, a check that the computation comes to that.
byoc_status_t byoc_shapes_bind(byoc_function_t *function, byoc_diag_t *diag);

// What is read for its shape alone is no longer an operand: views of several operands become views of one.
byoc_status_t byoc_shapes_drop_unread(byoc_block_t *block, byoc_diag_t *diag);

#endif // BYOC_CORE_KERNEL_SHAPES_H_
