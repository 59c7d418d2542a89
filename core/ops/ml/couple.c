// SPDX-License-Identifier: Apache-2.0
// byoc::CouplePairs: probabilities of classes from those of all pairs of them.
#include "core/op/util.h"

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

// Operand 0, f32[N,K,K], holds at [n,i,j] the probability of class i where it is i or j. Result 0, f32[N,K], are the
// probabilities p of all classes: they minimise the sum over all pairs of (r_ji p_i - r_ij p_j)^2. This is the second
// method of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling" (2004), with
// libsvm's limits and order, as in ONNX Runtime.
enum { MOST_ROUNDS = 100, MOST_CLASSES = 256 };

static byoc_status_t infer_couple(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_f32, "probabilities of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 3));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  const bool is_known = byoc_is_ranked(x) && byoc_dim_is_constant(x->dims[1]);
  if (!is_known) return byoc_infer_unsupported(infer, "the number of classes must be known");
  const int64_t classes = x->dims[1].constant;
  if (classes < 1 || classes > MOST_CLASSES) {
    return byoc_infer_unsupported(infer, "it has %lld classes, expected 1 to %d", (long long)classes, MOST_CLASSES);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, 2, x->dims[1]));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 2, x->dims);
}

// Shared by the parts of the loop nest: the buffers, and the first indices of a row in them.
typedef struct couple_t {
  byoc_lower_t *lower;
  const byoc_node_t *node;
  byoc_loop_builder_t *b;
  const byoc_loop_buffer_t *p, *q, *gradient;
  const byoc_loop_expr_t *classes, *pairs, *row;
} couple_t;

static const byoc_loop_expr_t *probability(const couple_t *c, const byoc_loop_expr_t *i) {
  return BYOC_LADD(c->b, c->row, i);
}

static const byoc_loop_expr_t *at_pair(const couple_t *c, const byoc_loop_expr_t *i, const byoc_loop_expr_t *j) {
  return BYOC_LADD(c->b, BYOC_LMUL(c->b, i, c->classes), j);
}

static const byoc_loop_expr_t *load_pair(const couple_t *c, const byoc_loop_expr_t *i, const byoc_loop_expr_t *j) {
  return byoc_lower_load_flat(c->lower, c->node, 0, BYOC_LADD(c->b, c->pairs, at_pair(c, i, j)));
}

static const byoc_loop_expr_t *over_classes(const couple_t *c, const char *name) {
  return byoc_loop_for(c->b, BYOC_LOOP_SERIAL, name, byoc_loop_int(c->b, 0), c->classes);
}

// q_ii = sum over j != i of r_ji^2, q_ij = -r_ji r_ij; all p_i are the same.
static void emit_start(const couple_t *c) {
  byoc_loop_builder_t *b = c->b;
  const byoc_loop_expr_t *none = byoc_loop_const(b, BYOC_DTYPE_F32, 0);
  const byoc_loop_expr_t *i = over_classes(c, "i");
  const byoc_loop_expr_t *squares = byoc_loop_mutable(b, "squares", none);
  const byoc_loop_expr_t *j = over_classes(c, "j");
  const byoc_loop_expr_t *there = byoc_loop_let(b, "there", load_pair(c, j, i));
  const byoc_loop_expr_t *is_other = byoc_loop_binary(b, BYOC_LOOP_OP_NE, i, j);
  const byoc_loop_expr_t *square = byoc_loop_select(b, is_other, BYOC_LMUL(b, there, there), none);
  byoc_loop_assign(b, squares, BYOC_LADD(b, squares, square));
  byoc_loop_store(b, c->q, at_pair(c, i, j), BYOC_LSUB(b, none, BYOC_LMUL(b, there, load_pair(c, i, j))));
  byoc_loop_end(b);
  byoc_loop_store(b, c->q, at_pair(c, i, i), squares);
  const double share = (double)(1.0f / (float)c->node->operands[0]->type->dims[1].constant);
  byoc_loop_store(b, c->p, probability(c, i), byoc_loop_const(b, BYOC_DTYPE_F32, share));
  byoc_loop_end(b);
}

// gradient = q p; the result is p q p.
static const byoc_loop_expr_t *emit_gradient(const couple_t *c) {
  byoc_loop_builder_t *b = c->b;
  const byoc_loop_expr_t *none = byoc_loop_const(b, BYOC_DTYPE_F32, 0);
  const byoc_loop_expr_t *total = byoc_loop_mutable(b, "total", none);
  const byoc_loop_expr_t *i = over_classes(c, "i");
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", none);
  const byoc_loop_expr_t *j = over_classes(c, "j");
  const byoc_loop_expr_t *term =
      BYOC_LMUL(b, byoc_loop_load(b, c->q, at_pair(c, i, j)), byoc_loop_load(b, c->p, probability(c, j)));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, term));
  byoc_loop_end(b);
  byoc_loop_store(b, c->gradient, i, sum);
  byoc_loop_assign(b, total, BYOC_LADD(b, total, BYOC_LMUL(b, byoc_loop_load(b, c->p, probability(c, i)), sum)));
  byoc_loop_end(b);
  return total;
}

// Changes one p after the other so that its derivative becomes 0, and scales all of them back to a sum of 1.
static void emit_round(const couple_t *c, const byoc_loop_expr_t *total) {
  byoc_loop_builder_t *b = c->b;
  const byoc_loop_expr_t *one = byoc_loop_const(b, BYOC_DTYPE_F32, 1), *two = byoc_loop_const(b, BYOC_DTYPE_F32, 2);
  const byoc_loop_expr_t *i = over_classes(c, "i");
  const byoc_loop_expr_t *slope = byoc_loop_let(b, "slope", byoc_loop_load(b, c->gradient, i));
  const byoc_loop_expr_t *own = byoc_loop_let(b, "own", byoc_loop_load(b, c->q, at_pair(c, i, i)));
  const byoc_loop_expr_t *change =
      byoc_loop_let(b, "change", byoc_loop_binary(b, BYOC_LOOP_OP_DIV, BYOC_LSUB(b, total, slope), own));
  const byoc_loop_expr_t *scale = byoc_loop_let(b, "scale", BYOC_LADD(b, one, change));
  const byoc_loop_expr_t *p = byoc_loop_load(b, c->p, probability(c, i));
  byoc_loop_store(b, c->p, probability(c, i), BYOC_LADD(b, p, change));
  const byoc_loop_expr_t *grown =
      BYOC_LADD(b, total, BYOC_LMUL(b, change, BYOC_LADD(b, BYOC_LMUL(b, change, own), BYOC_LMUL(b, two, slope))));
  grown = byoc_loop_binary(b, BYOC_LOOP_OP_DIV, grown, scale);
  byoc_loop_assign(b, total, byoc_loop_binary(b, BYOC_LOOP_OP_DIV, grown, scale));
  const byoc_loop_expr_t *j = over_classes(c, "j");
  const byoc_loop_expr_t *moved =
      BYOC_LADD(b, byoc_loop_load(b, c->gradient, j), BYOC_LMUL(b, change, byoc_loop_load(b, c->q, at_pair(c, i, j))));
  byoc_loop_store(b, c->gradient, j, byoc_loop_binary(b, BYOC_LOOP_OP_DIV, moved, scale));
  const byoc_loop_expr_t *other = byoc_loop_load(b, c->p, probability(c, j));
  byoc_loop_store(b, c->p, probability(c, j), byoc_loop_binary(b, BYOC_LOOP_OP_DIV, other, scale));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

static byoc_status_t loops_couple(byoc_lower_t *lower, const byoc_node_t *node) {
  couple_t c = {.lower = lower, .node = node, .b = byoc_lower_builder(lower)};
  byoc_loop_builder_t *b = c.b;
  if (!byoc_lower_result_buffer(lower, node, 0, &c.p)) return BYOC_UNSUPPORTED;
  const byoc_type_t *x = node->operands[0]->type;
  const int64_t classes = x->dims[1].constant;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  c.classes = byoc_loop_int(b, classes);
  const byoc_loop_expr_t *n = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "n", zero, byoc_emit_dim(b, x, 0));
  c.row = byoc_loop_let(b, "row", BYOC_LMUL(b, n, c.classes));
  c.pairs = byoc_loop_let(b, "pairs", BYOC_LMUL(b, c.row, c.classes));
  c.q = byoc_loop_allocate(b, "q", BYOC_DTYPE_F32, classes * classes);
  c.gradient = byoc_loop_allocate(b, "gradient", BYOC_DTYPE_F32, classes);
  emit_start(&c);
  const byoc_loop_expr_t *most = byoc_loop_int(b, MOST_ROUNDS);
  const byoc_loop_expr_t *round = byoc_loop_mutable(b, "round", zero);
  byoc_loop_while(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, round, most));
  const byoc_loop_expr_t *total = emit_gradient(&c);
  const byoc_loop_expr_t *error = byoc_loop_mutable(b, "error", byoc_loop_const(b, BYOC_DTYPE_F32, 0));
  const byoc_loop_expr_t *i = over_classes(&c, "i");
  const byoc_loop_expr_t *off = BYOC_LSUB(b, byoc_loop_load(b, c.gradient, i), total);
  byoc_loop_assign(b, error, BYOC_LMAX(b, error, byoc_loop_unary(b, BYOC_LOOP_OP_ABS, off)));
  byoc_loop_end(b);
  const byoc_loop_expr_t *limit = byoc_loop_const(b, BYOC_DTYPE_F32, (double)(0.005f / (float)classes));
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, error, limit));
  byoc_loop_assign(b, round, most);
  byoc_loop_else(b);
  emit_round(&c, total);
  byoc_loop_assign(b, round, BYOC_LADD(b, round, one));
  byoc_loop_end(b); // if
  byoc_loop_end(b); // while
  byoc_loop_end(b); // rows
  return BYOC_OK;
}

const byoc_op_t byoc_ops_ml_couple[] = {
    {.domain = "byoc",
     .name = "CouplePairs",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_OPAQUE | BYOC_OP_HEAVY,
     .infer = infer_couple,
     .loops = loops_couple},
};
const size_t byoc_ops_ml_couple_count = sizeof byoc_ops_ml_couple / sizeof *byoc_ops_ml_couple;
