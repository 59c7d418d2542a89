// SPDX-License-Identifier: Apache-2.0
// Limits for elements of operands that are indices, lengths or divisors. Inference refuses constants outside of a
// limit. For other elements it records the limit, and core/kernel/require.h makes a byoc::CheckRange of it, unless the
// elements cannot be outside. Rows of operators that call one of these functions have the trait LIMITS.
#ifndef BYOC_CORE_OP_LIMIT_H_
#define BYOC_CORE_OP_LIMIT_H_

#include "core/op/relation.h"

// Records the limit, or refuses constant elements. A missing operand has no limit.
byoc_status_t byoc_infer_limit(const byoc_infer_t *infer, const byoc_limit_t *limit);

// The elements of operand `index`, called `name`, must lie in [0, most].
byoc_status_t byoc_infer_need_within(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t most);
// They must be at least 0 and less than `count`.
byoc_status_t byoc_infer_need_indices(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t count);
// They are indices, of which negative ones count from the end: in [-extent, extent - 1].
byoc_status_t byoc_infer_need_index(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t extent);
// They are axes of a tensor of this rank. With `is_distinct`, no two may be equal; operators check constants for that
// themselves.
byoc_status_t byoc_infer_need_axes(const byoc_infer_t *infer, uint32_t index, int32_t rank, bool is_distinct);
// They must not be 0.
byoc_status_t byoc_infer_need_not_zero(const byoc_infer_t *infer, uint32_t index, const char *name);
// They must be at least 1.
byoc_status_t byoc_infer_need_positive(const byoc_infer_t *infer, uint32_t index, const char *name);

// Are indices out of range clamped, and is a division by 0 no error? True by the module's attribute
// (BYOC_ATTRIBUTE_INDICES).
bool byoc_indices_are_clamped(const byoc_graph_module_t *module);
bool byoc_indices_set_clamped(byoc_graph_module_t *module); // false if out of memory

// Are all elements of `value` known to be inside? Results of ArgMax, Range, Clip, Mod and the like are.
bool byoc_limit_always_holds(const byoc_value_t *value, const byoc_limit_t *limit, byoc_arena_t *arena, bool *failed);

// Inserts CheckRange before `place` for elements of `value` that the operator `where` limits. Dimensions of the limit
// are those of operands of `place`; `extent` is the operand of a limit by data. Inserts nothing if the operands do not
// have a dimension.
byoc_status_t byoc_check_limit(byoc_node_t *place, byoc_value_t *value, byoc_value_t *extent, const char *where,
                               const byoc_limit_t *limit, byoc_diag_t *diag);

#endif // BYOC_CORE_OP_LIMIT_H_
