// SPDX-License-Identifier: Apache-2.0
// Emits the register tile of convolutions and matrix products.
#include "core/ops/loops/tile.h"

// The largest tiles whose sums fit into registers.
static void choose_sums(byoc_tile_t *tile) {
  const int32_t bytes = byoc_lower_vector_bytes(tile->lower);
  const bool is_wide = bytes >= BYOC_TILE_WIDE_BYTES;
  const int32_t vectors = BYOC_TILE_NARROW_COLUMNS * (int32_t)sizeof(float) / bytes;
  tile->rows = is_wide ? BYOC_TILE_ROWS : BYOC_TILE_NARROW_SUMS / vectors;
  tile->columns = is_wide ? BYOC_TILE_COLUMNS : BYOC_TILE_NARROW_COLUMNS;
}

static void fit(byoc_tile_t *tile, const byoc_loop_expr_t *row_count, const byoc_loop_expr_t *column_count,
                int32_t least_columns) {
  int64_t count = 0;
  if (row_count && byoc_loop_is_int(row_count, &count) && count >= 1) {
    if (count < tile->rows) tile->rows = (int32_t)count;
    int64_t all = (count + tile->rows - 1) / tile->rows * tile->rows;
    if (all < tile->row_block) tile->row_block = (int32_t)all;
  }
  if (column_count && byoc_loop_is_int(column_count, &count) && count >= 1) {
    while (tile->columns > least_columns && tile->columns / 2 >= count) tile->columns /= 2;
  }
}

void byoc_tile_choose(byoc_tile_t *tile, byoc_lower_t *lower, byoc_dtype_t dtype, const byoc_loop_expr_t *row_count,
                      const byoc_loop_expr_t *column_count) {
  *tile = (byoc_tile_t){.lower = lower,
                        .b = byoc_lower_builder(lower),
                        .dtype = byoc_compute_dtype(dtype),
                        .row_block = BYOC_TILE_ROW_BLOCK,
                        .depth = BYOC_TILE_DEPTH};
  choose_sums(tile);
  fit(tile, row_count, column_count, 1);
}

void byoc_tile_choose_bytes(byoc_tile_t *tile, byoc_lower_t *lower, const byoc_loop_expr_t *row_count,
                            const byoc_loop_expr_t *column_count) {
  *tile = (byoc_tile_t){.lower = lower,
                        .b = byoc_lower_builder(lower),
                        .dtype = BYOC_DTYPE_I32,
                        .row_block = BYOC_TILE_BYTES_ROW_BLOCK,
                        .depth = BYOC_TILE_BYTES_DEPTH,
                        .is_bytes = true};
  choose_sums(tile);
  fit(tile, row_count, column_count, BYOC_TILE_BYTES_LEAST_COLUMNS);
}

static int64_t panel_size(const byoc_tile_t *tile) {
  return (int64_t)(tile->is_bytes ? (tile->depth + 3) / 4 : tile->depth) * tile->columns;
}

const byoc_loop_expr_t *byoc_tile_byte(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t place) {
  // Converts to an unsigned byte first, so that the sign does not fill the higher bytes.
  x = byoc_emit_as(b, BYOC_DTYPE_I32, byoc_emit_as(b, BYOC_DTYPE_U8, x));
  return byoc_loop_binary(b, BYOC_LOOP_OP_SHL, x, byoc_loop_const_int(b, BYOC_DTYPE_I32, 8 * place));
}

const byoc_loop_expr_t *byoc_tile_word(byoc_loop_builder_t *b, const byoc_loop_buffer_t *bytes,
                                       const byoc_loop_expr_t *at, const byoc_loop_expr_t *count) {
  const byoc_loop_expr_t *word = NULL;
  for (int64_t q = 0; q < 4; ++q) {
    const byoc_loop_expr_t *x = byoc_loop_load(b, bytes, BYOC_LADD(b, at, byoc_loop_int(b, q)));
    x = byoc_tile_byte(b, x, q);
    if (count && q > 0) {
      const byoc_loop_expr_t *has = byoc_loop_binary(b, BYOC_LOOP_OP_LT, byoc_loop_int(b, q), count);
      x = byoc_loop_select(b, has, x, byoc_loop_const_int(b, BYOC_DTYPE_I32, 0));
    }
    word = word ? byoc_loop_binary(b, BYOC_LOOP_OP_OR, word, x) : x;
  }
  return word;
}

void byoc_tile_begin(byoc_tile_t *tile, const byoc_loop_expr_t *columns_used) {
  byoc_loop_builder_t *b = tile->b;
  tile->panel = byoc_loop_allocate(b, "panel", tile->dtype, panel_size(tile));
  tile->sums = byoc_loop_allocate(b, "sums", tile->dtype, (int64_t)tile->row_block * tile->columns);
  const byoc_loop_expr_t *zero = byoc_loop_const(b, tile->dtype, 0.0);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0),
                                            byoc_loop_int(b, (int64_t)tile->row_block * tile->columns));
  byoc_loop_store(b, tile->sums, i, zero);
  byoc_loop_end(b);
  int64_t used = 0;
  if (columns_used && byoc_loop_is_int(columns_used, &used) && used == tile->columns) return;
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, columns_used, byoc_loop_int(b, tile->columns)));
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), byoc_loop_int(b, panel_size(tile)));
  byoc_loop_store(b, tile->panel, i, zero);
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// The number of rows that are computed together.
typedef struct {
  const byoc_tile_t *tile;
  const byoc_loop_buffer_t *a;
  const byoc_loop_expr_t *step;
  // One buffer per row instead of one for all: compilers then keep each in registers across the loop over k.
  const byoc_loop_buffer_t *sum[BYOC_TILE_ROWS];
  const byoc_loop_expr_t *base[BYOC_TILE_ROWS];
} rows_t;

// sum[r][j] += a[r][k] * panel[k][j]
static void add_elements(const rows_t *rows, const byoc_loop_expr_t *k) {
  const byoc_tile_t *tile = rows->tile;
  byoc_loop_builder_t *b = tile->b;
  const byoc_loop_expr_t *columns = byoc_loop_int(b, tile->columns), *weight[BYOC_TILE_ROWS];
  for (int32_t r = 0; r < tile->rows; ++r) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, rows->base[r], BYOC_LMUL(b, k, rows->step));
    weight[r] = byoc_loop_let(b, "a", byoc_emit_as(b, tile->dtype, byoc_loop_load(b, rows->a, at)));
  }
  const byoc_loop_expr_t *line = byoc_loop_let(b, "line", BYOC_LMUL(b, k, columns));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(b, 0), columns);
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", byoc_loop_load(b, tile->panel, BYOC_LADD(b, line, j)));
  for (int32_t r = 0; r < tile->rows; ++r) {
    byoc_loop_store(b, rows->sum[r], j, BYOC_LADD(b, byoc_loop_load(b, rows->sum[r], j), BYOC_LMUL(b, weight[r], x)));
  }
  byoc_loop_end(b);
}

// The same for four bytes each, of which `count` (NULL: all) are in use.
static void add_words(const rows_t *rows, const byoc_loop_expr_t *word, const byoc_loop_expr_t *count) {
  const byoc_tile_t *tile = rows->tile;
  byoc_loop_builder_t *b = tile->b;
  const byoc_loop_expr_t *columns = byoc_loop_int(b, tile->columns), *weight[BYOC_TILE_ROWS];
  for (int32_t r = 0; r < tile->rows; ++r) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, rows->base[r], BYOC_LMUL(b, word, byoc_loop_int(b, 4)));
    weight[r] = byoc_loop_let(b, "a", byoc_tile_word(b, rows->a, at, count));
  }
  const byoc_loop_expr_t *line = byoc_loop_let(b, "line", BYOC_LMUL(b, word, columns));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(b, 0), columns);
  for (int32_t r = 0; r < tile->rows; ++r) {
    const byoc_loop_expr_t *x = byoc_loop_load(b, tile->panel, BYOC_LADD(b, line, j));
    bool is_signed = rows->a && rows->a->dtype == BYOC_DTYPE_I8;
    const byoc_loop_expr_t *dot =
        byoc_loop_binary(b, BYOC_LOOP_OP_DOT4, is_signed ? x : weight[r], is_signed ? weight[r] : x);
    byoc_loop_store(b, rows->sum[r], j, BYOC_LADD(b, byoc_loop_load(b, rows->sum[r], j), dot));
  }
  byoc_loop_end(b);
}

static void add_all(const rows_t *rows, const byoc_loop_expr_t *depth_used) {
  byoc_loop_builder_t *b = rows->tile->b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *four = byoc_loop_int(b, 4);
  if (!rows->tile->is_bytes) {
    add_elements(rows, byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, depth_used));
    byoc_loop_end(b);
    return;
  }
  const byoc_loop_expr_t *words = byoc_loop_let(b, "words", BYOC_LDIV(b, depth_used, four));
  add_words(rows, byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, words), NULL);
  byoc_loop_end(b);
  int64_t known = 0;
  if (depth_used && byoc_loop_is_int(depth_used, &known) && known % 4 == 0) return;
  const byoc_loop_expr_t *rest = byoc_loop_let(b, "rest", BYOC_LMOD(b, depth_used, four));
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, zero, rest));
  add_words(rows, words, rest);
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

  rows_t rows = {.tile = tile, .a = a, .step = step};
  const byoc_loop_expr_t *from[BYOC_TILE_ROWS];
  for (int32_t r = 0; r < tile->rows; ++r) {
    const byoc_loop_expr_t *row = BYOC_LADD(b, row0, byoc_loop_int(b, r));
    from[r] = byoc_loop_let(b, "from", BYOC_LMUL(b, row, columns));
    rows.base[r] = byoc_loop_let(b, "base", row_base(self, whole ? row : BYOC_LMIN(b, row, last)));
    rows.sum[r] = byoc_loop_allocate(b, "sum", tile->dtype, tile->columns);
  }
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, columns);
  for (int32_t r = 0; r < tile->rows; ++r) {
    byoc_loop_store(b, rows.sum[r], j, byoc_loop_load(b, tile->sums, BYOC_LADD(b, from[r], j)));
  }
  byoc_loop_end(b);
  add_all(&rows, depth_used);
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, columns);
  for (int32_t r = 0; r < tile->rows; ++r) {
    byoc_loop_store(b, tile->sums, BYOC_LADD(b, from[r], j), byoc_loop_load(b, rows.sum[r], j));
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
