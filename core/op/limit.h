// SPDX-License-Identifier: Apache-2.0
// What operators ask of the elements of an operand that are indices, lengths or divisors. Inference refuses constants
// that do not fit; for other elements it notes a limit, from which core/kernel/require.h makes a byoc::CheckRange,
// unless the elements cannot be outside. Rows of operators that call one of these functions have the trait LIMITS.
#ifndef BYOC_CORE_OP_LIMIT_H_
#define BYOC_CORE_OP_LIMIT_H_

#include "core/op/relation.h"

// Notes the limit, or refuses constant elements. Nothing is asked of an operand that is left out.
byoc_status_t byoc_infer_limit(const byoc_infer_t *infer, const byoc_limit_t *limit);

// The elements of operand `index`, called `name`, must lie in [0, most].
byoc_status_t byoc_infer_need_within(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t most);
// They must be at least 0 and less than `count`.
byoc_status_t byoc_infer_need_indices(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t count);
// They are indices, of which negative ones count from the end: in [-extent, extent - 1].
byoc_status_t byoc_infer_need_index(const byoc_infer_t *infer, uint32_t index, const char *name, byoc_side_t extent);
// They are axes of a tensor of this rank. With `is_distinct`, no two are the same; operators that know them refuse that
// of constants themselves.
byoc_status_t byoc_infer_need_axes(const byoc_infer_t *infer, uint32_t index, int32_t rank, bool is_distinct);
// They must not be 0.
byoc_status_t byoc_infer_need_not_zero(const byoc_infer_t *infer, uint32_t index, const char *name);
// They must be at least 1.
byoc_status_t byoc_infer_need_positive(const byoc_infer_t *infer, uint32_t index, const char *name);

// Are indices out of range brought into it, and is a division by 0 no error? The module's attribute says so
// (BYOC_ATTRIBUTE_INDICES).
bool byoc_indices_are_clamped(const byoc_graph_module_t *module);
bool byoc_indices_set_clamped(byoc_graph_module_t *module); // false if out of memory

// Can no element of `value` be outside? Such are those that ArgMax, Range, Clip, Mod and the like make.
bool byoc_limit_always_holds(const byoc_value_t *value, const byoc_limit_t *limit, byoc_arena_t *arena, bool *failed);

// Puts CheckRange in front of `place` for elements of `value` that the operator `where` limits. The dimensions of the
// limit are those of operands of `place`, and `extent` is the operand that a limit by data means. Nothing is put where
// the operands do not tell a dimension.
byoc_status_t byoc_check_limit(byoc_node_t *place, byoc_value_t *value, byoc_value_t *extent, const char *where,
                               const byoc_limit_t *limit, byoc_diag_t *diag);

#endif // BYOC_CORE_OP_LIMIT_H_
