// SPDX-License-Identifier: Apache-2.0
// The register tile of convolutions and matrix products: sums[row][column] += A[row][k] * panel[k][column].
//
// A panel is a packed block of the right-hand side, `columns` wide, on the stack of one parallel iteration. A block of
// rows runs over it, ROWS at a time, with the sums of each row in registers. Rows after the edge are clamped and
// columns after it are zero. They are computed but not stored, so that the inner loop has no tests.
//
// Products of bytes use words of four consecutive k: a word of the panel holds a column at k .. k + 3, lowest first,
// and zeros after the last k.
#ifndef BYOC_CORE_OPS_LOOPS_TILE_H_
#define BYOC_CORE_OPS_LOOPS_TILE_H_

#include "core/op/util.h"

// 8 x 32 sums fill 16 of AVX-512's 32 registers and leave 2 loads for 8 multiply-adds per vector of columns. The panel
// (256 deep: 32 KiB of f32) and the sums of a block of rows (8 KiB) stay in the first two levels of cache.
enum { BYOC_TILE_ROWS = 8, BYOC_TILE_COLUMNS = 32, BYOC_TILE_DEPTH = 256, BYOC_TILE_ROW_BLOCK = 64 };
// Processors with narrower registers have 16: sums of 16 columns take 8 of them, and the factors the others. (With 8 x
// 32 sums, compilers keep sums in memory: products by AVX2 took a quarter longer.)
enum { BYOC_TILE_WIDE_BYTES = 64, BYOC_TILE_NARROW_COLUMNS = 16, BYOC_TILE_NARROW_SUMS = 8 };
// For bytes: the panel takes 16 KiB and the sums up to 64 KiB; many rows share the cost of packing words.
enum { BYOC_TILE_BYTES_DEPTH = 512, BYOC_TILE_BYTES_ROW_BLOCK = 512, BYOC_TILE_BYTES_LEAST_COLUMNS = 16 };

typedef struct byoc_tile_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  byoc_dtype_t dtype; // the type of the sums
  int32_t rows;       // computed at a time
  int32_t row_block;  // rows over one panel
  int32_t columns;
  int32_t depth; // of the panel
  bool is_bytes; // A and the panel hold bytes, one of them signed ones
  const byoc_loop_buffer_t *panel, *sums;
} byoc_tile_t;

// Chooses sizes for a product of `row_count` rows (an expression; constant or not) and `column_count` columns.
void byoc_tile_choose(byoc_tile_t *tile, byoc_lower_t *lower, byoc_dtype_t dtype, const byoc_loop_expr_t *row_count,
                      const byoc_loop_expr_t *column_count);
// The same for a product of bytes, in i32. One operand is signed, the other is not.
void byoc_tile_choose_bytes(byoc_tile_t *tile, byoc_lower_t *lower, const byoc_loop_expr_t *row_count,
                            const byoc_loop_expr_t *column_count);
// x (any of the byte types) as byte `place` (0 to 3) of a word that is zero elsewhere.
const byoc_loop_expr_t *byoc_tile_byte(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t place);
// Four consecutive bytes of a buffer, from `at` on, as a word. Only the first `count` are in use (NULL: all); the
// others are 0.
const byoc_loop_expr_t *byoc_tile_word(byoc_loop_builder_t *b, const byoc_loop_buffer_t *bytes,
                                       const byoc_loop_expr_t *at, const byoc_loop_expr_t *count);
// Declares panel and sums in the open block and clears the sums; if not all columns are in use, clears the panel too.
void byoc_tile_begin(byoc_tile_t *tile, const byoc_loop_expr_t *columns_used);
// Runs the rows over the panel: A's element (row, k) is a[row_base(row) + k * step]; steps of bytes are 1.
typedef const byoc_loop_expr_t *(*byoc_tile_row_base_t)(const void *self, const byoc_loop_expr_t *row);
void byoc_tile_multiply(const byoc_tile_t *tile, const byoc_loop_expr_t *rows_used, const byoc_loop_expr_t *depth_used,
                        const byoc_loop_buffer_t *a, byoc_tile_row_base_t row_base, const void *self,
                        const byoc_loop_expr_t *step);
const byoc_loop_expr_t *byoc_tile_sum(const byoc_tile_t *tile, const byoc_loop_expr_t *row,
                                      const byoc_loop_expr_t *column);

// ceil(x / by), and min(block, total - begin) simplified where total is a known multiple of block.
const byoc_loop_expr_t *byoc_tile_count(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, int64_t by);
const byoc_loop_expr_t *byoc_tile_used(byoc_loop_builder_t *b, const byoc_loop_expr_t *total,
                                       const byoc_loop_expr_t *begin, int64_t block);

#endif // BYOC_CORE_OPS_LOOPS_TILE_H_
