// Det: elimination with partial pivoting, one matrix per parallel iteration.
#include "core/ops/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

enum { LARGEST = 128 }; // the copy that is eliminated is on the stack

static byoc_status_t infer_det(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, x->rank - 1, x->dims[x->rank - 2]));
  return byoc_infer_set(infer, 0, x->dtype, x->rank - 2, x->dims);
}

static byoc_status_t loops_det(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  byoc_dim_t side = x->dims[x->rank - 1];
  if (!byoc_dim_is_constant(side) || side.constant > LARGEST) return BYOC_UNSUPPORTED;
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  int64_t size = side.constant;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *n = byoc_loop_int(b, size);
  int32_t opened = byoc_emit_open(b, y, 0, y->rank, true, at);
  const byoc_loop_buffer_t *m = byoc_loop_allocate(b, "m", dtype, size > 0 ? size * size : 1);
  int32_t copied = byoc_emit_open(b, x, y->rank, x->rank, false, at);
  const byoc_loop_expr_t *to = BYOC_LADD(b, BYOC_LMUL(b, at[y->rank], n), at[y->rank + 1]);
  byoc_loop_store(b, m, to, byoc_emit_load(lower, node, 0, at));
  byoc_emit_close(b, copied);
  const byoc_loop_expr_t *det = byoc_loop_mutable(b, "det", byoc_loop_const(b, dtype, 1.0));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, n), *row = BYOC_LMUL(b, k, n);
  const byoc_loop_expr_t *best = byoc_loop_mutable(b, "best", k);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", BYOC_LADD(b, k, one), n);
  const byoc_loop_expr_t *size_here = UN(ABS, byoc_loop_load(b, m, BYOC_LADD(b, BYOC_LMUL(b, i, n), k)));
  const byoc_loop_expr_t *size_best = UN(ABS, byoc_loop_load(b, m, BYOC_LADD(b, BYOC_LMUL(b, best, n), k)));
  byoc_loop_assign(b, best, byoc_loop_select(b, BIN(LT, size_best, size_here), i, best));
  byoc_loop_end(b);
  byoc_loop_if(b, BIN(NE, best, k)); // swapping rows flips the sign
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", k, n);
  const byoc_loop_expr_t *from = BYOC_LADD(b, BYOC_LMUL(b, best, n), j), *here = BYOC_LADD(b, row, j);
  const byoc_loop_expr_t *held = byoc_loop_let(b, "held", byoc_loop_load(b, m, here));
  byoc_loop_store(b, m, here, byoc_loop_load(b, m, from));
  byoc_loop_store(b, m, from, held);
  byoc_loop_end(b);
  byoc_loop_assign(b, det, UN(NEG, det));
  byoc_loop_end(b);
  const byoc_loop_expr_t *pivot = byoc_loop_let(b, "pivot", byoc_loop_load(b, m, BYOC_LADD(b, row, k)));
  byoc_loop_assign(b, det, BYOC_LMUL(b, det, pivot));
  byoc_loop_if(b, BIN(NE, pivot, byoc_loop_const(b, dtype, 0.0)));
  i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", BYOC_LADD(b, k, one), n);
  const byoc_loop_expr_t *line = BYOC_LMUL(b, i, n);
  const byoc_loop_expr_t *factor = BIN(DIV, byoc_loop_load(b, m, BYOC_LADD(b, line, k)), pivot);
  factor = byoc_loop_let(b, "factor", factor);
  j = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", BYOC_LADD(b, k, one), n);
  const byoc_loop_expr_t *place = BYOC_LADD(b, line, j);
  const byoc_loop_expr_t *less = BYOC_LMUL(b, factor, byoc_loop_load(b, m, BYOC_LADD(b, row, j)));
  byoc_loop_store(b, m, place, BYOC_LSUB(b, byoc_loop_load(b, m, place), less));
  byoc_emit_close(b, 4);
  byoc_emit_store(lower, node, 0, at, det);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

#define DET(version)                                                                                                   \
  {                                                                                                                    \
    .domain = "", .name = "Det", .since_version = version, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,         \
    .max_outputs = 1, .traits = BYOC_OP_HEAVY, .infer = infer_det, .loops = loops_det                                  \
  }

const byoc_op_t byoc_ops_determinant[] = {DET(11), DET(22)};
const size_t byoc_ops_determinant_count = sizeof byoc_ops_determinant / sizeof *byoc_ops_determinant;
