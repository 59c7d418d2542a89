// SPDX-License-Identifier: Apache-2.0
// byoc::RoundInBlocks: numbers rounded to bytes, with a scale for each block along the last axis.
//
// The largest number of a block becomes 127 steps, and every number the nearest whole number of steps. If the largest
// is below 2^-119, all become 0, because 127 divided by it may be infinite. Products of such numbers by weights of few
// bits can be computed as sums of bytes (MatMulNBits of com.microsoft with accuracy_level 4).
#include "core/op/axes.h"
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

enum { MOST_STEPS = 127 };
static const double least_largest = 0x1p-119;

static bool is_narrow_float(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16;
}

static byoc_status_t infer_round(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_narrow_float, "a tensor of f16, bf16 or f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  const int64_t block = byoc_node_int(infer->node, "block_size");
  if (block < 1 || block > INT32_MAX) {
    return byoc_infer_error(infer, "attribute 'block_size': expected a positive number, got %lld", (long long)block);
  }
  return byoc_infer_same(infer);
}

static byoc_status_t loops_round(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->operands[0]->type;
  const int32_t last = type->rank - 1;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *block = byoc_loop_int(b, byoc_node_int(node, "block_size"));
  const byoc_loop_expr_t *none = byoc_loop_const(b, BYOC_DTYPE_F32, 0.0);
  const byoc_loop_expr_t *steps = byoc_loop_const(b, BYOC_DTYPE_F32, MOST_STEPS);
  const byoc_loop_expr_t *length = byoc_emit_dim(b, type, last), *at[BYOC_MAX_RANK];
  const byoc_loop_expr_t *blocks = BYOC_LDIV(b, BYOC_LADD(b, length, BYOC_LSUB(b, block, byoc_loop_int(b, 1))), block);
  const byoc_loop_expr_t *rows = byoc_emit_extent(b, type, 0, last);
  const byoc_loop_expr_t *p = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "p", zero, BYOC_LMUL(b, rows, blocks));
  byoc_emit_unravel(b, type, 0, last, BYOC_LDIV(b, p, blocks), at);
  for (int32_t d = 0; d < last; ++d) at[d] = byoc_loop_let(b, "row", at[d]);
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, BYOC_LMOD(b, p, blocks), block));
  const byoc_loop_expr_t *count = byoc_loop_let(b, "count", BYOC_LMIN(b, block, BYOC_LSUB(b, length, first)));
  const byoc_loop_expr_t *most = byoc_loop_mutable(b, "most", none);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, count);
  at[last] = BYOC_LADD(b, first, i);
  byoc_loop_assign(b, most, BYOC_LMAX(b, most, UN(ABS, byoc_emit_load(lower, node, 0, at))));
  byoc_loop_end(b);
  const byoc_loop_expr_t *step = byoc_loop_let(b, "step", BIN(DIV, most, steps));
  const byoc_loop_expr_t *is_tiny = BIN(LT, most, byoc_loop_const(b, BYOC_DTYPE_F32, least_largest));
  const byoc_loop_expr_t *factor =
      byoc_loop_let(b, "factor", byoc_loop_select(b, is_tiny, none, BIN(DIV, steps, most)));
  i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, count);
  at[last] = BYOC_LADD(b, first, i);
  const byoc_loop_expr_t *x = UN(ROUND, BYOC_LMUL(b, byoc_emit_load(lower, node, 0, at), factor));
  byoc_emit_store(lower, node, 0, at, BYOC_LMUL(b, x, step));
  byoc_loop_end(b);
  byoc_loop_end(b);
  return BYOC_OK;
}

static const byoc_op_attribute_t round_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "block_size")}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_packed_rounding[] = {
    {.domain = "byoc",
     .name = "RoundInBlocks",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = round_attributes,
     .infer = infer_round,
     .loops = loops_round,
     .axes = byoc_axes_rows},
};
const size_t byoc_ops_packed_rounding_count = sizeof byoc_ops_packed_rounding / sizeof *byoc_ops_packed_rounding;
