// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax. Before version 13 the operand counts as a matrix whose columns are all dimensions
// from `axis` on; from 13 on one dimension alone is normalised.
#include <string.h>

#include "core/op/axes.h"
#include "core/ops/loops/rows.h"

static byoc_status_t infer_softmax(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  int32_t axis = 0;
  // Before version 13 the default axis of 1 made a vector a single row.
  bool whole = infer->opset < 13 && byoc_is_ranked(x) && byoc_node_int(infer->node, "axis") == x->rank;
  if (byoc_is_ranked(x) && x->rank > 0 && !whole) {
    BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  }
  return byoc_infer_same(infer);
}

typedef struct {
  const byoc_node_t *node;
  byoc_dtype_t dtype;
  byoc_row_t max, sum;
  const byoc_loop_buffer_t *scratch; // holds exp(x - max) between sweeps: the result if it can, or a row; NULL: none
  bool is_row;
} softmax_t;

// The longest row that is kept in local memory.
enum { LONGEST_ROW = 4096 };

static const byoc_loop_expr_t *element(byoc_rows_t *rows, const void *self) {
  const softmax_t *s = self;
  return byoc_emit_load(rows->lower, s->node, 0, rows->indices);
}

static const byoc_loop_expr_t *shifted(byoc_rows_t *rows, const softmax_t *s) {
  return BYOC_LSUB(rows->b, element(rows, s), byoc_row_value(rows, s->max));
}

// The element's place in its row.
static const byoc_loop_expr_t *place(byoc_rows_t *rows) {
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *at = byoc_loop_int(b, 0);
  for (int32_t d = 0; d < rows->type->rank; ++d) {
    if (rows->over[d]) at = BYOC_LADD(b, BYOC_LMUL(b, at, byoc_emit_dim(b, rows->type, d)), rows->indices[d]);
  }
  return at;
}

static const byoc_loop_expr_t *scratch_index(byoc_rows_t *rows, const softmax_t *s) {
  return s->is_row ? place(rows) : byoc_loop_linear_index(rows->b, rows->type->rank, rows->type->dims, rows->indices);
}

static const byoc_loop_expr_t *exponential(byoc_rows_t *rows, const void *self) {
  const softmax_t *s = self;
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *value = byoc_loop_unary(b, BYOC_LOOP_OP_EXP, shifted(rows, s));
  if (!s->scratch) return value;
  value = byoc_loop_let(b, "e", value);
  byoc_loop_store(b, s->scratch, scratch_index(rows, s), value);
  return value;
}

static const byoc_loop_expr_t *reciprocal(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  (void)self;
  return byoc_loop_binary(b, BYOC_LOOP_OP_DIV, byoc_emit_number_like(b, x, 1.0), x);
}

static const byoc_loop_expr_t *logarithm(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  (void)self;
  return byoc_loop_unary(b, BYOC_LOOP_OP_LOG, x);
}

static const byoc_loop_expr_t *place_of_max(byoc_rows_t *rows, const void *self) {
  const softmax_t *s = self;
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", element(rows, s));
  const byoc_loop_expr_t *equal = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, x, byoc_row_value(rows, s->max));
  equal = byoc_loop_binary(b, BYOC_LOOP_OP_OR, equal, byoc_loop_unary(b, BYOC_LOOP_OP_ISNAN, x));
  return byoc_loop_select(b, equal, place(rows), byoc_emit_highest(b, BYOC_DTYPE_I64));
}

// The exponentials are not rounded to a narrower type between the sweeps, which would cost accuracy.
static void find_scratch(byoc_rows_t *rows, softmax_t *s) {
  int64_t length = 0;
  if (s->dtype == rows->type->dtype) {
    if (!byoc_lower_result_buffer(rows->lower, s->node, 0, &s->scratch)) s->scratch = NULL;
    return;
  }
  const bool is_last = rows->block == 0 && rows->last_over == rows->type->rank - 1 && rows->type->rank > 0;
  for (int32_t d = 0; d < rows->last_over; ++d)
    if (rows->over[d]) return;
  if (!is_last || !byoc_loop_is_int(byoc_emit_dim(rows->b, rows->type, rows->last_over), &length)) return;
  if (length < 1 || length > LONGEST_ROW) return;
  s->scratch = byoc_loop_allocate(rows->b, "powers", s->dtype, length);
  s->is_row = s->scratch != NULL;
}

static byoc_status_t loops_softmax(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->operands[0]->type;
  int32_t axis = byoc_node_axis(node, "axis", type->rank);
  bool over[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) over[d] = node->since_version < 13 ? d >= axis : d == axis;
  softmax_t s = {.node = node, .dtype = byoc_compute_dtype(type->dtype)};
  byoc_rows_t rows;
  byoc_rows_begin(&rows, lower, type, over);
  rows.is_dense = byoc_lower_operand_buffer(lower, node, 0) != NULL;
  s.max = byoc_rows_fold(&rows, BYOC_LOOP_OP_MAX, s.dtype, element, &s);
  const byoc_loop_expr_t *value = NULL;
  if (strcmp(node->op, "Hardmax") == 0) {
    byoc_row_t at = byoc_rows_fold(&rows, BYOC_LOOP_OP_MIN, BYOC_DTYPE_I64, place_of_max, &s);
    byoc_rows_each(&rows);
    const byoc_loop_expr_t *here = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, place(&rows), byoc_row_value(&rows, at));
    value = byoc_loop_select(b, here, byoc_loop_const(b, s.dtype, 1.0), byoc_loop_const(b, s.dtype, 0.0));
  } else if (strcmp(node->op, "LogSoftmax") == 0) {
    s.sum = byoc_rows_fold(&rows, BYOC_LOOP_OP_ADD, s.dtype, exponential, &s);
    byoc_rows_apply(&rows, &s.sum, logarithm, NULL);
    byoc_rows_each(&rows);
    value = BYOC_LSUB(b, shifted(&rows, &s), byoc_row_value(&rows, s.sum));
  } else {
    find_scratch(&rows, &s);
    s.sum = byoc_rows_fold(&rows, BYOC_LOOP_OP_ADD, s.dtype, exponential, &s);
    byoc_rows_apply(&rows, &s.sum, reciprocal, NULL);
    byoc_rows_each(&rows);
    const byoc_loop_expr_t *power = s.scratch ? byoc_loop_load(b, s.scratch, scratch_index(&rows, &s))
                                              : byoc_loop_unary(b, BYOC_LOOP_OP_EXP, shifted(&rows, &s));
    value = BYOC_LMUL(b, power, byoc_row_value(&rows, s.sum));
  }
  byoc_emit_store(lower, node, 0, rows.indices, value);
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

static const byoc_op_attribute_t softmax_attributes[] = {
    {BYOC_ATTR_INT("axis", 1), .until = 13},
    {BYOC_ATTR_INT("axis", -1), .since = 13},
    BYOC_ATTR_END,
};

#define ROW(kind, op_name, version)                                                                                    \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,      \
    .max_outputs = 1, .traits = BYOC_OP_REDUCES, .work = BYOC_WORK_##kind, .attributes = softmax_attributes,           \
    .infer = infer_softmax, .loops = loops_softmax, .axes = byoc_axes_softmax                                          \
  }

const byoc_op_t byoc_ops_softmax[] = {
    ROW(TRANSCENDENTAL, Softmax, 1),
    ROW(TRANSCENDENTAL, Softmax, 11),
    ROW(TRANSCENDENTAL, Softmax, 13),
    ROW(TRANSCENDENTAL, LogSoftmax, 1),
    ROW(TRANSCENDENTAL, LogSoftmax, 11),
    ROW(TRANSCENDENTAL, LogSoftmax, 13),
    ROW(USUAL, Hardmax, 1),
    ROW(USUAL, Hardmax, 11),
    ROW(USUAL, Hardmax, 13),
};
const size_t byoc_ops_softmax_count = sizeof byoc_ops_softmax / sizeof *byoc_ops_softmax;
