// SPDX-License-Identifier: Apache-2.0
// Lowers one outlined group to one kernel. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_LOWER_GROUP_H_
#define BYOC_CORE_KERNEL_LOWER_GROUP_H_

#include "core/op/lowering_context.h"
#include "core/op/op.h"

// A node's definition, element by element, from its row in the operator table.
byoc_lower_definition_t byoc_kernel_find_definition(const byoc_node_t *node);

// Makes function->kernel from its body. members[0] is the anchor, the others are its epilogue; all are in
// function->body.
byoc_status_t byoc_kernel_lower_group(byoc_function_t *function, byoc_node_t *const *members, uint32_t member_count,
                                      byoc_diag_t *diag);

#endif // BYOC_CORE_KERNEL_LOWER_GROUP_H_
