// SPDX-License-Identifier: Apache-2.0
// One register tile: TILE_ROWS x TILE_VECTORS vectors of the product of a (rows) and b (columns), over `depth` terms.
//   TILE_A_ROW, TILE_A_DEPTH  floats between two rows, two terms of a
//   TILE_B_DEPTH              floats between two terms of b
//   TILE_LANES                columns of the last vector that exist
//   TILE_C_ROW                floats between two rows of the result; with TRANSPOSED, between two columns
//   TILE_AHEAD                floats that each term prefetches from `ahead` on, for later tiles; `ahead_step` floats
//                             between two terms
//   TILE_WIDENS               1: instead, the terms of b are stored there as floats, for later tiles
//   TILE_PARAMETERS           further parameters where sizes are those of a call: `c_row`, and `left`, the columns from
//                             the tile on
//   TILE_PARTIAL_ROW          like TILE_C_ROW, of the partial sums that are kept between blocks of depth
static void TILE_NAME(int64_t depth, const float *restrict a, const TILE_B_T *restrict b, float *partial, int first,
                      int last, TILE_RESULT_T *c, const float *restrict bias, const TILE_RESIDUAL_T *restrict residual,
                      const float *ahead, int64_t ahead_step TILE_PARAMETERS) {
  vf sum[TILE_ROWS][TILE_VECTORS];
  // The lines of the result are prefetched before the sums begin: they lie too far apart for hardware prefetchers.
#if TRANSPOSED
  if (last)
    for (int j = 0; j < (TILE_VECTORS - 1) * LANES + TILE_LANES; ++j) {
      __builtin_prefetch(c + (int64_t)j * TILE_C_ROW, 1);
      if (HAS_RESIDUAL) __builtin_prefetch(residual + (int64_t)j * TILE_C_ROW);
    }
#else
#pragma GCC unroll 32
  for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) {
      __builtin_prefetch(c + (int64_t)i * TILE_C_ROW + j * LANES, 1);
      if (HAS_RESIDUAL) __builtin_prefetch(residual + (int64_t)i * TILE_C_ROW + j * LANES);
    }
#endif
#if SPLIT_DEPTH
  if (!first) {
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j)
        sum[i][j] = j + 1 < TILE_VECTORS || TILE_LANES == LANES
                        ? v_load(partial + i * TILE_PARTIAL_ROW + j * LANES)
                        : v_load_n(partial + i * TILE_PARTIAL_ROW + j * LANES, TILE_LANES);
  } else
#endif
  {
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) sum[i][j] = v_zero();
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < depth; ++k) {
    vf column[TILE_VECTORS];
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j)
      column[j] = j + 1 < TILE_VECTORS || TILE_LANES == LANES || B_PADDED ? v_load(b + j * LANES)
                                                                          : v_load_n(b + j * LANES, TILE_LANES);
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i) {
      vf x = v_set1(a[i * TILE_A_ROW]);
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) sum[i][j] = v_fma(x, column[j], sum[i][j]);
    }
#if TILE_WIDENS
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) v_store((float *)(uintptr_t)ahead + j * LANES, column[j]);
#endif
#pragma GCC unroll 8
    for (int x = 0; x < TILE_AHEAD; x += 16) __builtin_prefetch(ahead + x, 0, 2);
    ahead += ahead_step;
    a += TILE_A_DEPTH;
    b += TILE_B_DEPTH;
  }
#if SPLIT_DEPTH
  if (!last) {
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) {
        float *p = partial + i * TILE_PARTIAL_ROW + j * LANES;
        if (j + 1 < TILE_VECTORS || TILE_LANES == LANES)
          v_store(p, sum[i][j]);
        else
          v_store_n(p, sum[i][j], TILE_LANES);
      }
    return;
  }
#else
  (void)partial, (void)first, (void)last;
#endif
#if TRANSPOSED // columns of the tile are rows of the result
#pragma GCC unroll 8
  for (int j = 0; j < TILE_VECTORS; ++j)
#pragma GCC unroll 8
    for (int i0 = 0; i0 < TILE_ROWS; i0 += LANES) {
      enum { LAST = TILE_VECTORS - 1 };
      const int rows = TILE_ROWS - i0 < LANES ? TILE_ROWS - i0 : LANES, columns = j == LAST ? TILE_LANES : LANES;
      vf block[LANES];
#pragma GCC unroll 16
      for (int i = 0; i < LANES; ++i) block[i] = i < rows ? sum[i0 + i < TILE_ROWS ? i0 + i : 0][j] : v_zero();
      v_transpose(block);
#pragma GCC unroll 16
      for (int i = 0; i < columns; ++i) {
        int64_t at = (int64_t)(j * LANES + i) * TILE_C_ROW + i0;
        vf x = block[i], y = HAS_BIAS ? v_set1(bias[j * LANES + i]) : v_zero();
        vf r = HAS_RESIDUAL ? v_load_n(residual + at, rows) : v_zero();
        (void)y, (void)r;
        v_store_n(c + at, FINISH(x, y, r), rows);
      }
    }
#else
#pragma GCC unroll 32
  for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) {
      int64_t at = (int64_t)i * TILE_C_ROW + j * LANES;
      const int whole = j + 1 < TILE_VECTORS || TILE_LANES == LANES;
      vf x = sum[i][j], y = v_zero(), r = v_zero();
      if (HAS_BIAS == BIAS_OF_ROW) y = v_set1(bias[i]);
      if (HAS_BIAS == BIAS_OF_COLUMN) y = whole ? v_load(bias + j * LANES) : v_load_n(bias + j * LANES, TILE_LANES);
      if (HAS_RESIDUAL) r = whole ? v_load(residual + at) : v_load_n(residual + at, TILE_LANES);
      (void)y, (void)r;
      x = FINISH(x, y, r);
      if (whole)
        v_store(c + at, x);
      else
        v_store_n(c + at, x, TILE_LANES);
    }
#endif
  (void)bias, (void)residual, (void)ahead, (void)ahead_step;
}
