// SPDX-License-Identifier: Apache-2.0
#if PACKS_ROWS
// Copies `rows` rows and `depth` terms of A side by side.
static inline __attribute__((always_inline)) void FN(pack_rows)(float *panel, const DATA_T *a, int64_t rows,
                                                                int64_t depth) {
#if A_ROW == 1
  copy_runs(panel, rows, a, A_DEPTH, depth, rows, 0, rows, 1);
#else
#if HALF_DATA
  if (rows == 1) {
    widen(panel, a, depth);
    return;
  }
#endif
  for (int64_t k = 0; k < depth; k += LANES) {
    const int64_t terms = depth - k < LANES ? depth - k : LANES;
    for (int64_t r = 0; r < rows; r += LANES) {
      vf square[LANES];
#pragma GCC unroll 16
      for (int i = 0; i < LANES; ++i) square[i] = r + i < rows ? v_load_n(a + (r + i) * A_ROW + k, terms) : v_zero();
      v_transpose(square);
      for (int i = 0; i < terms; ++i)
        v_store_n(panel + (k + i) * rows + r, square[i], rows - r < LANES ? rows - r : LANES);
    }
  }
#endif
}
#endif
