// SPDX-License-Identifier: Apache-2.0
// byoc::HalfWord: the upper (index 1) or lower (index 0) byte of x, for i16 of x + 2^15. Nothing is fused with it: what
// makes x may round to the next integer in other code, which can change each half by up to 255.
#include "core/op/util.h"

static byoc_status_t infer_half_word(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_word, "a tensor of 16-bit integers"));
  return byoc_infer_set_like(infer, 0, BYOC_DTYPE_U8, byoc_operand_type(infer->node, 0));
}

static const byoc_loop_expr_t *point_half_word(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                               const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const bool is_signed = node->operands[0]->type->dtype == BYOC_DTYPE_I16, is_upper = byoc_node_flag(node, "index");
  const byoc_loop_expr_t *x = byoc_emit_load(lower, node, 0, indices);
  if (!x) return NULL;
  x = byoc_emit_as(b, BYOC_DTYPE_I32, x);
  if (is_signed) x = BYOC_LADD(b, x, byoc_loop_const(b, BYOC_DTYPE_I32, 0x8000));
  const byoc_loop_expr_t *by = byoc_loop_const(b, BYOC_DTYPE_I32, is_upper ? 8 : 0xff);
  x = byoc_loop_binary(b, is_upper ? BYOC_LOOP_OP_SHR : BYOC_LOOP_OP_AND, x, by);
  return byoc_emit_as(b, BYOC_DTYPE_U8, x);
}

static const byoc_op_attribute_t half_word_attributes[] = {{BYOC_ATTR_INT("index", 0)}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_half_word[] = {
    {.domain = "byoc",
     .name = "HalfWord",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_ELEMENTWISE | BYOC_OP_OPAQUE,
     .attributes = half_word_attributes,
     .infer = infer_half_word,
     .point = point_half_word},
};
const size_t byoc_ops_half_word_count = sizeof byoc_ops_half_word / sizeof *byoc_ops_half_word;
