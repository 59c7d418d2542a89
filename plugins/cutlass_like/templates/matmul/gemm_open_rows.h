// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N] with constant B, packed as for gemm_weights.h, where each call brings its own M. Its rows
// are split into panels of nearly equal height, at most ROW_PANEL: there is a tile for each height.
enum {
  FN(column_panels) = (N + COLUMN_PANEL - 1) / COLUMN_PANEL,
  FN(run) = FN(column_panels), // items of one block
};

// How the rows of a call are split; returns how many shares of work there are.
static int64_t FN(split)(FN(args_t) * args, const byoc_call_t *call) {
  const DLTensor *result = &call->tensors[call->input_count];
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < result->ndim; ++i) rows *= result->shape[i];
  args->row_panels = (rows + ROW_PANEL - 1) / ROW_PANEL;
  if (rows == 0) return 0;
  args->low = rows / args->row_panels;
  args->high_panels = rows % args->row_panels;
  args->items = (args->row_panels + BLOCK_PANELS - 1) / BLOCK_PANELS * FN(column_panels);
  const int64_t shares = rows * N * K / SHARE_MACS;
  return shares < 1 ? 1 : shares < args->items ? shares : args->items;
}

// The first row of a panel: the first `high_panels` panels are one row higher than the others.
static inline int64_t FN(first_row)(const FN(args_t) * args, int64_t panel) {
  return panel * args->low + (panel < args->high_panels ? panel : args->high_panels);
}

// Column panels [first, last) over one block of rows.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t block, int64_t first, int64_t last) {
  const int64_t panel = block * BLOCK_PANELS;
  const int64_t panels = args->row_panels - panel < BLOCK_PANELS ? args->row_panels - panel : BLOCK_PANELS;
  const DATA_T *a = args->input;
  const WEIGHT_T *b = args->weights;
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
      const int64_t row = FN(first_row)(args, panel + p), height = FN(first_row)(args, panel + p + 1) - row;
      FN(pack_rows)(workspace + p * ROW_PANEL * depth, a + row * A_ROW + k * A_DEPTH, height, depth);
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
#if !HALF_WEIGHTS
      const float *columns = weights;
#endif
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t row = FN(first_row)(args, panel + p), height = FN(first_row)(args, panel + p + 1) - row;
        const int64_t at = row * N + column;
#if DIRECT
        const float *rows = a + row * A_ROW + k * A_DEPTH;
#else
        const float *rows = workspace + p * ROW_PANEL * depth;
#endif
#if HALF_WEIGHTS
        if (p == 0) { // other panels of rows read what it widens
          FIRST_TILES(height, column_rest, depth, rows, weights, PARTIAL_AT(at), k == 0, k + depth == K,
                      args->output + at, HAS_BIAS ? args->bias + column : NULL,
                      HAS_RESIDUAL ? args->residual + at : NULL, columns, panels > 1 ? wide : 0);
          continue;
        }
#endif
        TILES(height, column_rest, depth, rows, columns, PARTIAL_AT(at), k == 0, k + depth == K, args->output + at,
              HAS_BIAS ? args->bias + column : NULL, HAS_RESIDUAL ? args->residual + at : NULL,
              AHEAD_OF(next + p * depth * AHEAD), AHEAD_STEP);
      }
    }
  }
}

// Items are column panels, those of a block of rows one after the other, shared out evenly.
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share) {
    int64_t item = args->items * share / args->shares;
    const int64_t stop = args->items * (share + 1) / args->shares;
    while (item < stop) {
      const int64_t first = item % FN(run);
      int64_t last = FN(run) - first < stop - item ? FN(run) : first + stop - item;
#if PARTIAL_PANELS
      if (last - first > PARTIAL_PANELS) last = first + PARTIAL_PANELS;
#endif
      FN(block)(args, args->workspace + share * SLOT_FLOATS, item / FN(run), first, last);
      item += last - first;
    }
  }
}
