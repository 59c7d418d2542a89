// SPDX-License-Identifier: Apache-2.0
// Det, and Inverse of com.microsoft: elimination with partial pivoting, one matrix per parallel iteration.
#include "core/op/axes.h"
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

enum { LARGEST = 128 }; // the copy that is eliminated is on the stack

// The rows of a matrix.
static byoc_status_t read_side(const byoc_lower_t *lower, const byoc_type_t *x, int64_t *out_side) {
  const byoc_dim_t side = x->dims[x->rank - 1];
  *out_side = 0;
  if (!byoc_dim_is_constant(side)) return byoc_lower_unsupported(lower, "the size of the matrices must be known");
  if (side.constant > LARGEST) {
    return byoc_lower_unsupported(lower, "matrices of %lld rows are larger than %d", (long long)side.constant, LARGEST);
  }
  *out_side = side.constant;
  return BYOC_OK;
}

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
  int64_t size = 0;
  BYOC_RETURN_IF_ERROR(read_side(lower, x, &size));
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
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

// ---- Inverse ----

static byoc_status_t infer_inverse(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_same(infer);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, x->rank - 1, x->dims[x->rank - 2]));
  return byoc_infer_same(infer);
}

// The operands of the elimination: m beside the matrix that becomes the inverse, [n, 2 n].
typedef struct inverse_t {
  byoc_loop_builder_t *b;
  byoc_dtype_t dtype;
  const byoc_loop_buffer_t *m;
  const byoc_loop_expr_t *size, *width; // n, 2 n
} inverse_t;

static const byoc_loop_expr_t *place_of(const inverse_t *v, const byoc_loop_expr_t *row, const byoc_loop_expr_t *j) {
  return BYOC_LADD(v->b, BYOC_LMUL(v->b, row, v->width), j);
}

static const byoc_loop_expr_t *open_line(const inverse_t *v) {
  return byoc_loop_for(v->b, BYOC_LOOP_SERIAL, "j", byoc_loop_int(v->b, 0), v->width);
}

// Row k gets the largest pivot of those below, and is divided by it.
static void choose_pivot(const inverse_t *v, const byoc_loop_expr_t *k) {
  byoc_loop_builder_t *b = v->b;
  const byoc_loop_expr_t *best = byoc_loop_mutable(b, "best", k);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", BYOC_LADD(b, k, byoc_loop_int(b, 1)), v->size);
  const byoc_loop_expr_t *here = UN(ABS, byoc_loop_load(b, v->m, place_of(v, i, k)));
  const byoc_loop_expr_t *most = UN(ABS, byoc_loop_load(b, v->m, place_of(v, best, k)));
  byoc_loop_assign(b, best, byoc_loop_select(b, BIN(LT, most, here), i, best));
  byoc_loop_end(b);
  byoc_loop_if(b, BIN(NE, best, k));
  const byoc_loop_expr_t *j = open_line(v);
  const byoc_loop_expr_t *held = byoc_loop_let(b, "held", byoc_loop_load(b, v->m, place_of(v, k, j)));
  byoc_loop_store(b, v->m, place_of(v, k, j), byoc_loop_load(b, v->m, place_of(v, best, j)));
  byoc_loop_store(b, v->m, place_of(v, best, j), held);
  byoc_emit_close(b, 2);
  const byoc_loop_expr_t *pivot = byoc_loop_let(b, "pivot", byoc_loop_load(b, v->m, place_of(v, k, k)));
  j = open_line(v);
  byoc_loop_store(b, v->m, place_of(v, k, j), BIN(DIV, byoc_loop_load(b, v->m, place_of(v, k, j)), pivot));
  byoc_loop_end(b);
}

// Takes row k off all others, so that column k becomes that of the identity.
static void clear_column(const inverse_t *v, const byoc_loop_expr_t *k) {
  byoc_loop_builder_t *b = v->b;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", byoc_loop_int(b, 0), v->size);
  byoc_loop_if(b, BIN(NE, i, k));
  const byoc_loop_expr_t *factor = byoc_loop_let(b, "factor", byoc_loop_load(b, v->m, place_of(v, i, k)));
  const byoc_loop_expr_t *j = open_line(v);
  const byoc_loop_expr_t *less = BYOC_LMUL(b, factor, byoc_loop_load(b, v->m, place_of(v, k, j)));
  byoc_loop_store(b, v->m, place_of(v, i, j), BYOC_LSUB(b, byoc_loop_load(b, v->m, place_of(v, i, j)), less));
  byoc_emit_close(b, 3);
}

static byoc_status_t loops_inverse(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  int64_t n = 0;
  BYOC_RETURN_IF_ERROR(read_side(lower, x, &n));
  const int32_t row = x->rank - 2, column = x->rank - 1;
  inverse_t v = {b, byoc_compute_dtype(x->dtype), NULL, byoc_loop_int(b, n), byoc_loop_int(b, 2 * n)};
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0);
  const int32_t opened = byoc_emit_open(b, x, 0, row, true, at);
  v.m = byoc_loop_allocate(b, "m", v.dtype, n > 0 ? 2 * n * n : 1);
  int32_t lines = byoc_emit_open(b, x, row, x->rank, false, at);
  byoc_loop_store(b, v.m, place_of(&v, at[row], at[column]), byoc_emit_load(lower, node, 0, at));
  const byoc_loop_expr_t *unit = byoc_loop_select(b, BIN(EQ, at[row], at[column]), byoc_loop_const(b, v.dtype, 1.0),
                                                  byoc_loop_const(b, v.dtype, 0.0));
  byoc_loop_store(b, v.m, place_of(&v, at[row], BYOC_LADD(b, at[column], v.size)), unit);
  byoc_emit_close(b, lines);
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, v.size);
  choose_pivot(&v, k);
  clear_column(&v, k);
  byoc_loop_end(b);
  lines = byoc_emit_open(b, x, row, x->rank, false, at);
  const byoc_loop_expr_t *from = place_of(&v, at[row], BYOC_LADD(b, at[column], v.size));
  byoc_emit_store(lower, node, 0, at, byoc_loop_load(b, v.m, from));
  byoc_emit_close(b, lines + opened);
  return BYOC_OK;
}

#define DET(version)                                                                                                   \
  {                                                                                                                    \
    .domain = "", .name = "Det", .since_version = version, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,         \
    .max_outputs = 1, .traits = BYOC_OP_HEAVY, .infer = infer_det, .loops = loops_det                                  \
  }

const byoc_op_t byoc_ops_determinant[] = {
    DET(11),
    DET(22),
    {.domain = "com.microsoft",
     .name = "Inverse",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_HEAVY,
     .infer = infer_inverse,
     .loops = loops_inverse,
     .axes = byoc_axes_matrices},
};
const size_t byoc_ops_determinant_count = sizeof byoc_ops_determinant / sizeof *byoc_ops_determinant;
