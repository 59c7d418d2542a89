// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N], both computed by the model. Blocks of BLOCK_PANELS column panels of B are copied to the
// workspace, transposed if B is; with DIRECT they are read in place. A is read in
// place, or if it is f16 or bf16 (PACKS_ROWS) a panel of rows is copied to the workspace from WEIGHTS_AT on.
enum {
  FN(row_panels) = (M + ROW_PANEL - 1) / ROW_PANEL,
  FN(column_panels) = (N + COLUMN_PANEL - 1) / COLUMN_PANEL,
  FN(blocks) = (FN(column_panels) + BLOCK_PANELS - 1) / BLOCK_PANELS,
  // One unit of work: one panel of rows over one block of columns.
  FN(items) = BATCH * FN(blocks) * FN(row_panels),
  FN(run) = FN(row_panels), // items of one block
};

#if !DIRECT
// Copies `count` columns and `depth` terms of B to a panel of COLUMN_PANEL columns, zeros where there are none.
static void FN(pack)(float *panel, const WEIGHT_T *b, int64_t count, int64_t depth) {
#if B_COLUMN == 1
  copy_runs(panel, COLUMN_PANEL, b, B_DEPTH, depth, COLUMN_PANEL, 0, count, 1);
#else // columns of B lie in rows of memory: by squares of LANES x LANES
  for (int64_t c = 0; c < COLUMN_PANEL; c += LANES)
    for (int64_t k = 0; k < depth; k += LANES) {
      const int64_t terms = depth - k < LANES ? depth - k : LANES;
      vf square[LANES];
      for (int i = 0; i < LANES; ++i)
        square[i] = c + i < count ? v_load_n(b + (c + i) * B_COLUMN + k, terms) : v_zero();
      v_transpose(square);
      for (int i = 0; i < terms; ++i) v_store(panel + (k + i) * COLUMN_PANEL + c, square[i]);
    }
#endif
}
#endif

// Row panels [first, last) over one block of columns of one matrix.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t batch, int64_t block, int64_t first,
                      int64_t last) {
  const int64_t panel = block * BLOCK_PANELS;
  const int64_t panels = FN(column_panels) - panel < BLOCK_PANELS ? FN(column_panels) - panel : BLOCK_PANELS;
  const DATA_T *a = args->input + A_MATRIX(batch) * M * K;
  const WEIGHT_T *b = args->weights + B_MATRIX(batch) * K * N;
  (void)workspace;
  for (int64_t k = 0; k < K; k += BLOCK_DEPTH) {
    const int64_t depth = K - k < BLOCK_DEPTH ? K - k : BLOCK_DEPTH;
#if !DIRECT
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t column = (panel + p) * COLUMN_PANEL;
      FN(pack)
      (workspace + p * COLUMN_PANEL * depth, b + k * B_DEPTH + column * B_COLUMN,
       N - column < COLUMN_PANEL ? N - column : COLUMN_PANEL, depth);
    }
#endif
    for (int64_t r = first; r < last; ++r) {
      const int64_t row = r * ROW_PANEL;
      const int row_rest = row + ROW_PANEL > M;
#if PACKS_ROWS
      float *const rows = workspace + WEIGHTS_AT;
      FN(pack_rows)(rows, a + row * A_ROW + k * A_DEPTH, row_rest ? M % ROW_PANEL : ROW_PANEL, depth);
#else
      const float *rows = a + row * A_ROW + k * A_DEPTH;
#endif
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t column = (panel + p) * COLUMN_PANEL, at = batch * M * N + row * N + column;
        const int column_rest = column + COLUMN_PANEL > N;
#if DIRECT
        const WEIGHT_T *columns = b + k * B_DEPTH + column;
#else
        const float *columns = workspace + p * COLUMN_PANEL * depth;
#endif
        TILES(depth, rows, columns, PARTIAL_AT(at), k == 0, k + depth == K, args->output + at,
              HAS_BIAS ? args->bias + column : NULL, HAS_RESIDUAL ? args->residual + at : NULL, NULL, 0);
      }
    }
  }
}
