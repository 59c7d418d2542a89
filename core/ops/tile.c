// Emits the register tile.
#include "core/ops/tile.h"

void byoc_tile_choose(byoc_tile_t *tile, byoc_lower_t *lower, byoc_dtype_t dtype, const byoc_loop_expr_t *row_count,
                      const byoc_loop_expr_t *column_count) {
  *tile = (byoc_tile_t){.lower = lower,
                        .b = byoc_lower_builder(lower),
                        .dtype = byoc_compute_dtype(dtype),
                        .rows = BYOC_TILE_ROWS,
                        .row_block = BYOC_TILE_ROW_BLOCK,
                        .columns = BYOC_TILE_COLUMNS,
                        .depth = BYOC_TILE_DEPTH};
  int64_t count = 0;
  if (row_count && byoc_loop_is_int(row_count, &count) && count >= 1) {
    if (count < tile->rows) tile->rows = (int32_t)count;
    int64_t all = (count + tile->rows - 1) / tile->rows * tile->rows;
    if (all < tile->row_block) tile->row_block = (int32_t)all;
  }
  if (column_count && byoc_loop_is_int(column_count, &count) && count >= 1) {
    while (tile->columns > 1 && tile->columns / 2 >= count) tile->columns /= 2;
  }
}

void byoc_tile_begin(byoc_tile_t *tile, const byoc_loop_expr_t *columns_used) {
  byoc_loop_builder_t *b = tile->b;
  tile->panel = byoc_loop_allocate(b, "panel", tile->dtype, (int64_t)tile->depth * tile->columns);
  tile->sums = byoc_loop_allocate(b, "sums", tile->dtype, (int64_t)tile->row_block * tile->columns);
  const byoc_loop_expr_t *zero = byoc_loop_const(b, tile->dtype, 0.0);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0),
                                            byoc_loop_int(b, (int64_t)tile->row_block * tile->columns));
  byoc_loop_store(b, tile->sums, i, zero);
  byoc_loop_end(b);
  int64_t used = 0;
  if (columns_used && byoc_loop_is_int(columns_used, &used) && used == tile->columns) return;
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, columns_used, byoc_loop_int(b, tile->columns)));
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0),
                    byoc_loop_int(b, (int64_t)tile->depth * tile->columns));
  byoc_loop_store(b, tile->panel, i, zero);
  byoc_loop_end(b);
  byoc_loop_end(b);
}

void byoc_tile_multiply(const byoc_tile_t *tile, const byoc_loop_expr_t *rows_used, const byoc_loop_expr_t *depth_used,
                        const byoc_loop_buffer_t *a, byoc_tile_row_base_t row_base, const void *self,
                        const byoc_loop_expr_t *step) {
  byoc_loop_builder_t *b = tile->b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *columns = byoc_loop_int(b, tile->columns);
  const byoc_loop_expr_t *groups = byoc_tile_count(b, rows_used, tile->rows);
  int64_t known = 0;
  bool whole = rows_used && byoc_loop_is_int(rows_used, &known) && known % tile->rows == 0;
  const byoc_loop_expr_t *last = BYOC_LSUB(b, rows_used, byoc_loop_int(b, 1));
  const byoc_loop_expr_t *group = byoc_loop_for(b, BYOC_LOOP_SERIAL, "group", zero, groups);
  const byoc_loop_expr_t *row0 = byoc_loop_let(b, "row0", BYOC_LMUL(b, group, byoc_loop_int(b, tile->rows)));

  // One buffer a row rather than one for all: compilers then keep each in registers across the loop over k.
  const byoc_loop_buffer_t *sum[BYOC_TILE_ROWS];
  const byoc_loop_expr_t *base[BYOC_TILE_ROWS], *from[BYOC_TILE_ROWS], *weight[BYOC_TILE_ROWS];
  for (int32_t r = 0; r < tile->rows; ++r) {
    const byoc_loop_expr_t *row = BYOC_LADD(b, row0, byoc_loop_int(b, r));
    from[r] = byoc_loop_let(b, "from", BYOC_LMUL(b, row, columns));
    base[r] = byoc_loop_let(b, "base", row_base(self, whole ? row : BYOC_LMIN(b, row, last)));
    sum[r] = byoc_loop_allocate(b, "sum", tile->dtype, tile->columns);
  }
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, columns);
  for (int32_t r = 0; r < tile->rows; ++r) {
    byoc_loop_store(b, sum[r], j, byoc_loop_load(b, tile->sums, BYOC_LADD(b, from[r], j)));
  }
  byoc_loop_end(b);
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, depth_used);
  for (int32_t r = 0; r < tile->rows; ++r) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, base[r], BYOC_LMUL(b, k, step));
    weight[r] = byoc_loop_let(b, "a", byoc_emit_as(b, tile->dtype, byoc_loop_load(b, a, at)));
  }
  const byoc_loop_expr_t *line = byoc_loop_let(b, "line", BYOC_LMUL(b, k, columns));
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, columns);
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", byoc_loop_load(b, tile->panel, BYOC_LADD(b, line, j)));
  for (int32_t r = 0; r < tile->rows; ++r) {
    byoc_loop_store(b, sum[r], j, BYOC_LADD(b, byoc_loop_load(b, sum[r], j), BYOC_LMUL(b, weight[r], x)));
  }
  byoc_loop_end(b);
  byoc_loop_end(b);
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, columns);
  for (int32_t r = 0; r < tile->rows; ++r) {
    byoc_loop_store(b, tile->sums, BYOC_LADD(b, from[r], j), byoc_loop_load(b, sum[r], j));
  }
  byoc_loop_end(b);
  byoc_loop_end(b);
}

const byoc_loop_expr_t *byoc_tile_sum(const byoc_tile_t *tile, const byoc_loop_expr_t *row,
                                      const byoc_loop_expr_t *column) {
  byoc_loop_builder_t *b = tile->b;
  return byoc_loop_load(b, tile->sums, BYOC_LADD(b, BYOC_LMUL(b, row, byoc_loop_int(b, tile->columns)), column));
}

const byoc_loop_expr_t *byoc_tile_count(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t by) {
  return BYOC_LDIV(b, BYOC_LADD(b, x, byoc_loop_int(b, by - 1)), byoc_loop_int(b, by));
}

const byoc_loop_expr_t *byoc_tile_used(byoc_loop_builder_t *b, const byoc_loop_expr_t *total,
                                       const byoc_loop_expr_t *begin, int64_t block) {
  int64_t known = 0;
  if (total && byoc_loop_is_int(total, &known) && known % block == 0) return byoc_loop_int(b, block);
  return BYOC_LMIN(b, byoc_loop_int(b, block), BYOC_LSUB(b, total, begin));
}
