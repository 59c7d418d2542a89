// SPDX-License-Identifier: Apache-2.0
// Emits the loops of operators that fold a tensor row by row.
#include "core/ops/loops/rows.h"

#include <string.h>

// Rows side by side: enough for a few vector registers. Vectors do not pay for rows shorter than SHORT.
enum { BLOCK = 64, SHORT = 8 };

void byoc_rows_begin(byoc_rows_t *rows, byoc_lower_t *lower, const byoc_type_t *type, const bool *over) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  *rows = (byoc_rows_t){.lower = lower, .b = b, .type = type, .last_over = -1};
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0);
  int32_t rank = type->rank;
  byoc_type_t kept = *type; // the kept dimensions before the last one, to unravel the parallel index over
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) {
    rows->over[d] = over[d];
    if (over[d]) rows->last_over = d;
    dims[d] = over[d] ? byoc_dim_constant(1) : type->dims[d];
  }
  kept.dims = dims;
  bool blocked = rank > 0 && !over[rank - 1];
  if (blocked) {
    rows->block = BLOCK;
    int64_t known = 0;
    if (byoc_loop_is_int(byoc_emit_dim(b, type, rank - 1), &known) && known >= 1 && known < BLOCK) rows->block = known;
  }
  int32_t end = blocked ? rank - 1 : rank;
  const byoc_loop_expr_t *all = byoc_emit_extent(b, &kept, 0, end);
  const byoc_loop_expr_t *blocks = NULL;
  if (blocked) {
    const byoc_loop_expr_t *width = byoc_emit_dim(b, type, rank - 1);
    blocks = BYOC_LDIV(b, BYOC_LADD(b, width, byoc_loop_int(b, rows->block - 1)), byoc_loop_int(b, rows->block));
    all = BYOC_LMUL(b, all, blocks);
  }
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, all);
  byoc_emit_unravel(b, &kept, 0, end, blocked ? BYOC_LDIV(b, t, blocks) : t, rows->indices);
  for (int32_t d = 0; d < end; ++d) {
    rows->indices[d] = over[d] ? zero : byoc_loop_let(b, "at", rows->indices[d]);
  }
  if (blocked) {
    rows->first = byoc_loop_let(b, "first", BYOC_LMUL(b, BYOC_LMOD(b, t, blocks), byoc_loop_int(b, rows->block)));
    const byoc_loop_expr_t *left = BYOC_LSUB(b, byoc_emit_dim(b, type, rank - 1), rows->first);
    rows->used = byoc_loop_let(b, "used", BYOC_LMIN(b, left, byoc_loop_int(b, rows->block)));
    rows->indices[rank - 1] = rows->first;
  }
}

void byoc_rows_end(byoc_rows_t *rows) {
  byoc_loop_end(rows->b);
}

// Opens the loop over the rows of a block.
static void open_lanes(byoc_rows_t *rows) {
  byoc_loop_builder_t *b = rows->b;
  rows->lane = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(b, 0), rows->used);
  rows->indices[rows->type->rank - 1] = BYOC_LADD(b, rows->first, rows->lane);
}

// Opens loops over the folded dimensions before `end`, outermost first.
static int32_t open_over(byoc_rows_t *rows, int32_t end, byoc_loop_for_kind_t innermost) {
  byoc_loop_builder_t *b = rows->b;
  int32_t opened = 0;
  for (int32_t d = 0; d < end; ++d) {
    if (!rows->over[d]) continue;
    byoc_loop_for_kind_t kind = d == rows->last_over ? innermost : BYOC_LOOP_SERIAL;
    rows->indices[d] = byoc_loop_for(b, kind, "r", byoc_loop_int(b, 0), byoc_emit_dim(b, rows->type, d));
    ++opened;
  }
  return opened;
}

static void close(byoc_rows_t *rows, int32_t count) {
  while (count-- > 0) byoc_loop_end(rows->b);
}

const byoc_loop_expr_t *byoc_fold_neutral(byoc_loop_builder_t *b, byoc_loop_op_t op, byoc_dtype_t dtype) {
  switch (op) {
  case BYOC_LOOP_OP_MUL:
    return byoc_loop_const(b, dtype, 1.0);
  case BYOC_LOOP_OP_MIN:
    return byoc_emit_highest(b, dtype);
  case BYOC_LOOP_OP_MAX:
    return byoc_emit_lowest(b, dtype);
  default:
    return byoc_loop_const(b, dtype, 0.0);
  }
}

static void fold_into(byoc_rows_t *rows, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *at,
                      byoc_loop_op_t op, const byoc_loop_expr_t *element) {
  byoc_loop_builder_t *b = rows->b;
  byoc_loop_store(b, buffer, at, byoc_loop_binary(b, op, byoc_loop_load(b, buffer, at), element));
}

static void clear(byoc_rows_t *rows, const byoc_loop_buffer_t *buffer, int64_t count, const byoc_loop_expr_t *value) {
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *l = byoc_loop_for(b, BYOC_LOOP_VECTOR, "l", byoc_loop_int(b, 0), byoc_loop_int(b, count));
  byoc_loop_store(b, buffer, l, value);
  byoc_loop_end(b);
}

// The folded dimensions at the end of the row, walked by one loop if they are contiguous in the operand.
static int32_t first_of_run(const byoc_rows_t *rows) {
  int32_t first = rows->last_over;
  while (rows->is_dense && first > 0 && rows->over[first - 1]) --first;
  return first;
}

// One row: outer loops, and an inner one over the end of the row whose terms compilers may vectorise.
static byoc_row_t fold_row(byoc_rows_t *rows, byoc_loop_op_t op, byoc_dtype_t dtype, byoc_rows_element_t element,
                           const void *self) {
  byoc_loop_builder_t *b = rows->b;
  if (rows->last_over < 0) return (byoc_row_t){.scalar = byoc_loop_let(b, "folded", element(rows, self))};
  const byoc_loop_expr_t *result = byoc_loop_mutable(b, "folded", byoc_fold_neutral(b, op, dtype));
  int32_t first = first_of_run(rows), end = rows->last_over + 1;
  const byoc_loop_expr_t *length = byoc_emit_extent(b, rows->type, first, end);
  int64_t known = 0;
  bool is_short = byoc_loop_is_int(length, &known) && known < SHORT;
  int32_t opened = open_over(rows, first, BYOC_LOOP_SERIAL) + 1;
  const byoc_loop_expr_t *r =
      byoc_loop_for(b, is_short ? BYOC_LOOP_SERIAL : BYOC_LOOP_REDUCE, "r", byoc_loop_int(b, 0), length);
  byoc_emit_unravel(b, rows->type, first, end, r, rows->indices);
  byoc_loop_assign(b, result, byoc_loop_binary(b, op, result, element(rows, self)));
  close(rows, opened);
  return (byoc_row_t){.scalar = result};
}

byoc_row_t byoc_rows_fold(byoc_rows_t *rows, byoc_loop_op_t op, byoc_dtype_t dtype, byoc_rows_element_t element,
                          const void *self) {
  if (rows->block == 0) return fold_row(rows, op, dtype, element, self);
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_buffer_t *folded = byoc_loop_allocate(b, "folded", dtype, rows->block);
  clear(rows, folded, rows->block, byoc_fold_neutral(b, op, dtype));
  int32_t opened = open_over(rows, rows->type->rank, BYOC_LOOP_SERIAL);
  open_lanes(rows);
  fold_into(rows, folded, rows->lane, op, element(rows, self));
  byoc_loop_end(b);
  close(rows, opened);
  return (byoc_row_t){.block = folded};
}

void byoc_rows_apply(byoc_rows_t *rows, byoc_row_t *row, byoc_rows_function_t function, const void *self) {
  byoc_loop_builder_t *b = rows->b;
  if (!row->block) {
    row->scalar = byoc_loop_let(b, "value", function(b, row->scalar, self));
    return;
  }
  const byoc_loop_expr_t *l =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "l", byoc_loop_int(b, 0), byoc_loop_int(b, rows->block));
  byoc_loop_store(b, row->block, l, function(b, byoc_loop_load(b, row->block, l), self));
  byoc_loop_end(b);
}

void byoc_rows_each(byoc_rows_t *rows) {
  rows->opened = open_over(rows, rows->type->rank, rows->block ? BYOC_LOOP_SERIAL : BYOC_LOOP_VECTOR);
  if (rows->block) {
    open_lanes(rows);
    ++rows->opened;
  }
}

void byoc_rows_each_row(byoc_rows_t *rows) {
  const byoc_loop_expr_t *zero = byoc_loop_int(rows->b, 0);
  for (int32_t d = 0; d < rows->type->rank; ++d) {
    if (rows->over[d]) rows->indices[d] = zero;
  }
  rows->opened = 0;
  if (rows->block) {
    open_lanes(rows);
    rows->opened = 1;
  }
}

void byoc_rows_each_end(byoc_rows_t *rows) {
  close(rows, rows->opened);
  rows->opened = 0;
}

const byoc_loop_expr_t *byoc_row_value(const byoc_rows_t *rows, byoc_row_t row) {
  return row.block ? byoc_loop_load(rows->b, row.block, rows->lane) : row.scalar;
}

const byoc_loop_expr_t *byoc_rows_length(const byoc_rows_t *rows, byoc_dtype_t dtype) {
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *length = byoc_loop_int(b, 1);
  for (int32_t d = 0; d < rows->type->rank; ++d) {
    if (rows->over[d]) length = BYOC_LMUL(b, length, byoc_emit_dim(b, rows->type, d));
  }
  return byoc_emit_as(b, dtype, length);
}
