// SPDX-License-Identifier: Apache-2.0
// Splits the indices of loop nests of point definitions, and computes and stores one element.
#include "core/kernel/walk.h"

// Splits the index of a merged walk into the indices of its axes.
void byoc_schedule_split(byoc_loop_builder_t *builder, const byoc_type_t *space, int32_t first, int32_t last,
                         const byoc_loop_expr_t *index, const byoc_loop_expr_t **indices) {
  for (int32_t axis = last; axis >= first; --axis) {
    const byoc_loop_expr_t *extent = byoc_loop_dim(builder, space->dims[axis]);
    indices[axis] = axis == first ? index : byoc_loop_binary(builder, BYOC_LOOP_OP_MOD, index, extent);
    if (axis > first) index = byoc_loop_binary(builder, BYOC_LOOP_OP_FLOORDIV, index, extent);
  }
}

void byoc_schedule_element(byoc_lower_t *lower, const byoc_node_t *anchor, uint32_t result,
                           const byoc_loop_expr_t *const *indices) {
  size_t mark = byoc_lower_begin_element(lower);
  byoc_lower_store(lower, anchor, result, indices, byoc_lower_point(lower, anchor, result, indices));
  byoc_lower_end_element(lower, mark);
}
