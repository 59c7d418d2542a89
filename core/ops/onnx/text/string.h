// SPDX-License-Identifier: Apache-2.0
// Operators on strings. Functions of the artifact runtime (core/runtime/text.h) run them, except data movement;
// byoc::Text nodes call these.
#ifndef BYOC_CORE_OPS_ONNX_TEXT_STRING_H_
#define BYOC_CORE_OPS_ONNX_TEXT_STRING_H_

#include "core/op/write.h"

// byoc::Text {function} of these operands, with one result of the given type. NULL after a failure.
byoc_value_t *byoc_write_string(byoc_writer_t *w, const char *function, byoc_value_t *const *operands,
                                uint32_t operand_count, const byoc_type_t *type);
// A constant vector of strings.
byoc_value_t *byoc_write_strings(byoc_writer_t *w, const char *name, size_t count, const char *const *texts);
// i64[1]: the largest of the counts, i64; 0 if there are none.
byoc_value_t *byoc_write_most(byoc_writer_t *w, byoc_value_t *counts);
// A tensor with the shape of x and one more last dimension of `places` elements, i64[1].
byoc_value_t *byoc_write_scratch(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *places);
// The expansions for strings of Cast, between strings and any other type, and of Equal.
byoc_status_t byoc_expand_text_cast(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);
byoc_status_t byoc_expand_text_equal(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);
static inline bool byoc_is_string(const byoc_type_t *type) {
  return byoc_type_is_tensor(type) && type->dtype == BYOC_DTYPE_STRING;
}

#endif // BYOC_CORE_OPS_ONNX_TEXT_STRING_H_
