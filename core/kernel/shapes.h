// SPDX-License-Identifier: Apache-2.0
// Makes the dimensions of a function that is about to be lowered known before they are needed: for each symbol that
// comes from data, a kernel computes its value. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_SHAPES_H_
#define BYOC_CORE_KERNEL_SHAPES_H_

#include "core/ir/graph.h"

// Puts a copy of the retained body in front of each call of an extern function whose results' shapes depend on data;
// the copy's values provide those shapes. Nodes of the copy that the shapes do not need are dead.
byoc_status_t byoc_shapes_copy_bodies(byoc_block_t *block, byoc_diag_t *diag, bool *out_changed);

// Puts the computation of symbols (core/ops/byoc/symbolic.h) in front of each operator whose results have symbols that
// occur nowhere before. Unknown dimensions must have names by now. If a result has a constant dimension that does not
// follow from the operands, because a model declares it, adds a check that the computation gives that constant.
byoc_status_t byoc_shapes_bind(byoc_function_t *function, byoc_diag_t *diag);

// A value that is read only for its shape stops being an operand: views of several operands become views of one.
byoc_status_t byoc_shapes_drop_unread(byoc_block_t *block, byoc_diag_t *diag);

#endif // BYOC_CORE_KERNEL_SHAPES_H_
