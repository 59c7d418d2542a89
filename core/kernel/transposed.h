// SPDX-License-Identifier: Apache-2.0
// Makes loop nests of transpositions. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_TRANSPOSED_H_
#define BYOC_CORE_KERNEL_TRANSPOSED_H_

#include "core/kernel/walk.h"

// Is it a Transpose with a result of these dimensions?
bool byoc_is_transpose(const byoc_node_t *node, const byoc_type_t *space);
// The operand's axis that becomes axis `axis` of the transposition's result.
int64_t byoc_transpose_axis(const byoc_node_t *transpose, int32_t axis);
// Does it separate elements that were neighbours, and is it large enough for tiles?
bool byoc_transpose_parts(const byoc_node_t *node);

// Emits the whole nest if a transposition in the group makes neighbours of elements that were far apart; returns false
// if none does.
bool byoc_kernel_lower_transposed(byoc_lower_t *lower, const byoc_node_t *anchor, uint32_t result,
                                  const byoc_walk_t *walk, const byoc_loop_expr_t **indices);

#endif // BYOC_CORE_KERNEL_TRANSPOSED_H_
