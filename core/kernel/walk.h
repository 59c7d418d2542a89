// SPDX-License-Identifier: Apache-2.0
// Walks over the elements of a point definition, for schedule.c and transposed.c. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_WALK_H_
#define BYOC_CORE_KERNEL_WALK_H_

#include "core/op/lowering_context.h"

// Consecutive axes that are walked by one loop; `count` is the number of loops.
typedef struct byoc_walk_t {
  int32_t first[BYOC_MAX_RANK], last[BYOC_MAX_RANK]; // axes
  const byoc_loop_expr_t *extent[BYOC_MAX_RANK];
  int32_t count;
} byoc_walk_t;

// Splits the index of a loop over axes `first` to `last` into the indices of its axes.
void byoc_schedule_split(byoc_loop_builder_t *builder, const byoc_type_t *space, int32_t first, int32_t last,
                         const byoc_loop_expr_t *index, const byoc_loop_expr_t **indices);
// Computes the anchor's element at these indices and stores it through the epilogue.
void byoc_schedule_element(byoc_lower_t *lower, const byoc_node_t *anchor, uint32_t result,
                           const byoc_loop_expr_t *const *indices);

#endif // BYOC_CORE_KERNEL_WALK_H_
