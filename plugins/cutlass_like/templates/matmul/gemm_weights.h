// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N] with constant B, which was packed into panels of COLUMN_PANEL columns when the model was
// built: [panel][K][columns of the panel, padded to whole vectors]. Each panel of B is read once per block of
// BLOCK_PANELS row panels and stays in the cache for them. With DIRECT, A is read in place. Otherwise the rows of a
// block are copied to the workspace, [panel][depth][row], because rows that lie a power of two apart in memory share
// sets of the cache, and because f16 and bf16 are widened by it. Such weights are widened panel by panel
// into the workspace, from WEIGHTS_AT on. If the result is not f32 either, partial sums lie there, behind the
// PANEL_FLOATS of A.
enum {
  FN(row_panels) = (M + ROW_PANEL - 1) / ROW_PANEL,
  FN(column_panels) = (N + COLUMN_PANEL - 1) / COLUMN_PANEL,
  FN(blocks) = (FN(row_panels) + BLOCK_PANELS - 1) / BLOCK_PANELS,
  // One unit of work: one panel of B over one block of rows.
  FN(items) = BATCH * FN(blocks) * FN(column_panels),
  FN(run) = FN(column_panels), // items of one block
};

// Column panels [first, last) over one block of rows of one matrix.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t batch, int64_t block, int64_t first,
                      int64_t last) {
  const int64_t panel = block * BLOCK_PANELS;
  const int64_t panels = FN(row_panels) - panel < BLOCK_PANELS ? FN(row_panels) - panel : BLOCK_PANELS;
  const DATA_T *a = args->input + A_MATRIX(batch) * M * K;
  const WEIGHT_T *b = args->weights + B_MATRIX(batch) * WEIGHTS_OF_MATRIX;
#if HALF_WEIGHTS
  float *const columns = workspace + WEIGHTS_AT;
#endif
#if PARTIAL_PANELS
  float *const partial = workspace + PANEL_FLOATS;
#endif
  (void)workspace;
  for (int64_t k = 0; k < K; k += BLOCK_DEPTH) {
    const int64_t depth = K - k < BLOCK_DEPTH ? K - k : BLOCK_DEPTH;
#if !DIRECT
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t row = (panel + p) * ROW_PANEL;
      float *to = workspace + p * ROW_PANEL * depth;
      const DATA_T *from = a + row * A_ROW + k * A_DEPTH;
      if (row + ROW_PANEL <= M)
        FN(pack_rows)(to, from, ROW_PANEL, depth);
      else
        FN(pack_rows)(to, from, M % ROW_PANEL, depth);
    }
#endif
    for (int64_t w = first; w < last; ++w) {
      const int64_t column = w * COLUMN_PANEL;
      const int64_t wide = N - column < COLUMN_PANEL ? WEIGHT_COLUMNS(N - column) : COLUMN_PANEL;
      const WEIGHT_T *weights = b + column * K + k * wide;
      const int column_rest = column + COLUMN_PANEL > N;
      // The panel that is read next: the following one, or after the last one the next block of depth of the first.
      const int64_t start = first * COLUMN_PANEL, start_wide = N - start < COLUMN_PANEL ? wide : COLUMN_PANEL;
      const WEIGHT_T *next = w + 1 < last ? weights + K * COLUMN_PANEL : b + start * K + (k + depth) * start_wide;
#if HALF_WEIGHTS
      widen(columns, weights, depth * wide);
#else
      const float *columns = weights;
#endif
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t row = (panel + p) * ROW_PANEL, at = batch * M * N + row * N + column;
        const int row_rest = row + ROW_PANEL > M;
#if DIRECT
        const float *rows = a + row * A_ROW + k * A_DEPTH;
#else
        const float *rows = workspace + p * ROW_PANEL * depth;
#endif
        TILES(depth, rows, columns, PARTIAL_AT(at), k == 0, k + depth == K, args->output + at,
              HAS_BIAS ? args->bias + column : NULL, HAS_RESIDUAL ? args->residual + at : NULL,
              AHEAD_OF(next + p * depth * AHEAD), AHEAD_STEP);
      }
    }
  }
}
