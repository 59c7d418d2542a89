// SPDX-License-Identifier: Apache-2.0
// translate.h - from ONNX's operators to the engine's.
#ifndef XNNPACK_TRANSLATE_H_
#define XNNPACK_TRANSLATE_H_

#include "draft.h"

// A node, and where it goes. Without a draft the question is only whether the engine can run it.
typedef struct xnnpack_source_t {
  const byoc_graph_api_t *graph;
  const byoc_node_t *node;
  xnnpack_draft_t *draft; // NULL: only ask
} xnnpack_source_t;

// Returns NULL, or why the engine cannot run the node.
const char *xnnpack_translate(const xnnpack_source_t *source);
// The operators that may be asked about, for a rule.
byoc_text_list_t xnnpack_operators(void);

// What the translators ask. An operand that is left out is NULL.
const byoc_value_t *xnnpack_operand(const xnnpack_source_t *source, uint64_t index);
xnnpack_shape_t xnnpack_operand_shape(const xnnpack_source_t *source, uint64_t index);
xnnpack_shape_t xnnpack_result_shape(const xnnpack_source_t *source);
int xnnpack_is_constant(const xnnpack_source_t *source, const byoc_value_t *value);
// A constant's f32 elements, NULL if it is none.
const float *xnnpack_floats(const xnnpack_source_t *source, const byoc_value_t *value, int64_t *out_count);
// A list of integers: the attribute, or else the constant operand. Returns their number, at most `limit`, or -1 where
// there are more, or where the operand is no constant; 0 where there is neither.
int32_t xnnpack_ints(const xnnpack_source_t *source, const char *attribute, uint64_t operand, int64_t *out_values,
                     int32_t limit);
// Appends the node: its operand 0, then `others`, to its result. Attributes follow.
void xnnpack_emit(const xnnpack_source_t *source, const char *op, const int32_t *others, uint32_t other_count);

// The translators; the table in translate.c says which is for which operator.
const char *xnnpack_translate_average_pool(const xnnpack_source_t *source);
const char *xnnpack_translate_binary(const xnnpack_source_t *source);
const char *xnnpack_translate_clip(const xnnpack_source_t *source);
const char *xnnpack_translate_conv(const xnnpack_source_t *source);
const char *xnnpack_translate_conv_transpose(const xnnpack_source_t *source);
const char *xnnpack_translate_depth_to_space(const xnnpack_source_t *source);
const char *xnnpack_translate_gemm(const xnnpack_source_t *source);
const char *xnnpack_translate_global_average_pool(const xnnpack_source_t *source);
const char *xnnpack_translate_global_max_pool(const xnnpack_source_t *source);
const char *xnnpack_translate_mat_mul(const xnnpack_source_t *source);
const char *xnnpack_translate_max_pool(const xnnpack_source_t *source);
const char *xnnpack_translate_pad(const xnnpack_source_t *source);
const char *xnnpack_translate_prelu(const xnnpack_source_t *source);
const char *xnnpack_translate_reduce_mean(const xnnpack_source_t *source);
const char *xnnpack_translate_relu(const xnnpack_source_t *source);
const char *xnnpack_translate_reshape(const xnnpack_source_t *source);
const char *xnnpack_translate_resize(const xnnpack_source_t *source);
const char *xnnpack_translate_softmax(const xnnpack_source_t *source);
const char *xnnpack_translate_unary(const xnnpack_source_t *source);
const char *xnnpack_translate_with_alpha(const xnnpack_source_t *source);

#endif // XNNPACK_TRANSLATE_H_
