// SPDX-License-Identifier: Apache-2.0
// byoc::LookUp: a function of one byte as a table. Element k of the table is the result for the byte with the bits of
// k.
#include "core/op/util.h"

enum { X, TABLE, ENTRIES = 256, SHARE = 16384 };

static byoc_status_t infer_look_up(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, X, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, TABLE, byoc_dtype_is_byte, "a table of bytes"));
  const byoc_type_t *table = byoc_operand_type(infer->node, TABLE);
  if (!byoc_is_ranked(table) || table->rank != 1 || byoc_type_element_count(table) != ENTRIES) {
    char text[BYOC_TYPE_TEXT_SIZE];
    return byoc_infer_error(infer, "operand 1: expected 256 elements, got %s", byoc_type_text(table, text));
  }
  return byoc_infer_set_like(infer, 0, table->dtype, byoc_operand_type(infer->node, X));
}

// Shares of the elements, whatever the shape; the emitter knows the inner loop.
static byoc_status_t loops_look_up(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->operands[X]->type;
  const byoc_loop_buffer_t *y = NULL;
  if (!byoc_lower_result_buffer(lower, node, 0, &y)) return byoc_lower_unsupported(lower, "nothing is fused with it");
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *share = byoc_loop_int(b, SHARE);
  const byoc_loop_expr_t *total = byoc_emit_extent(b, type, 0, type->rank);
  const byoc_loop_expr_t *shares = BYOC_LDIV(b, BYOC_LADD(b, total, byoc_loop_int(b, SHARE - 1)), share);
  const byoc_loop_expr_t *p = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "p", zero, shares);
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, p, share));
  const byoc_loop_expr_t *count = byoc_loop_let(b, "count", BYOC_LMIN(b, share, BYOC_LSUB(b, total, first)));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", zero, count);
  const byoc_loop_expr_t *at = BYOC_LADD(b, first, i);
  const byoc_loop_expr_t *x = byoc_loop_cast(b, BYOC_DTYPE_U8, byoc_lower_load_flat(lower, node, X, at));
  const byoc_loop_expr_t *entry = byoc_loop_cast(b, BYOC_DTYPE_I64, x);
  byoc_loop_store(b, y, at, byoc_lower_load_flat(lower, node, TABLE, entry));
  byoc_loop_end(b);
  byoc_loop_end(b);
  return BYOC_OK;
}

const byoc_op_t byoc_ops_look_up[] = {
    {.domain = "byoc",
     .name = "LookUp",
     .since_version = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_OPAQUE,
     .infer = infer_look_up,
     .loops = loops_look_up},
};
const size_t byoc_ops_look_up_count = sizeof byoc_ops_look_up / sizeof *byoc_ops_look_up;
