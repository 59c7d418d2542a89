// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N] with constant B and so few rows that reading B is all the work. B lies packed as in
// gemm_weights.h, [panel][K][columns of the panel, padded to whole vectors]. A panel is read as STREAMS parts of its
// depth side by side: several streams keep more of the memory's channels busy than one. Sums stay in registers; weights
// of 16 bits are widened there, and rows of A before (PREPARES).
enum {
  FN(panels) = (N + COLUMN_PANEL - 1) / COLUMN_PANEL,
  FN(part) = K / STREAMS,      // terms of a stream
  FN(rest) = N % COLUMN_PANEL, // columns of the last panel, where it is narrower
  FN(items) = BATCH * FN(panels),
  // Floats to prefetch ahead of those that are read, where the processor likes it (prefetches_streams): at 20 GB/s a
  // core reads 2 KiB in the 100 ns that memory takes to answer.
  FN(ahead) = 2048 / (int)sizeof(WEIGHT_T),
  FN(line) = 64 / (int)sizeof(WEIGHT_T), // weights of a cache line
};

// Terms [0, count) of `streams` parts that lie `apart` terms from each other.
static inline __attribute__((always_inline)) void FN(sum)(vf sum[M][COLUMN_PANEL / LANES], const float *a,
                                                          const WEIGHT_T *b, int vectors, int64_t count, int streams,
                                                          int64_t apart, int prefetches) {
  const int64_t width = (int64_t)vectors * LANES;
  for (int64_t k = 0; k < count; ++k) {
#pragma GCC unroll 8
    for (int s = 0; s < streams; ++s) {
      const WEIGHT_T *from = b + (s * apart + k) * width;
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) {
        if (prefetches && j * LANES % FN(line) == 0) __builtin_prefetch(from + FN(ahead) + j * LANES);
        const vf column = v_load(from + j * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i)
          sum[i][j] = v_fma(v_set1(a[i * A_ROW + (s * apart + k) * A_DEPTH]), column, sum[i][j]);
      }
    }
  }
}

#if PREPARES
// Widens the rows of A, all of them, as every panel reads them.
static void FN(prepare)(const FN(args_t) * args, float *slot) {
  widen(slot, args->input, (int64_t)A_MATRICES * M * K);
}
#endif

// One panel of columns: all rows of one matrix.
static inline __attribute__((always_inline)) void FN(panel)(const FN(args_t) * args, const float *rows, int64_t batch,
                                                            int64_t panel, int vectors, int64_t columns,
                                                            int prefetches) {
  const float *a = rows + A_MATRIX(batch) * M * K;
  const WEIGHT_T *b = args->weights + B_MATRIX(batch) * WEIGHTS_OF_MATRIX + panel * COLUMN_PANEL * K;
  vf sum[M][COLUMN_PANEL / LANES];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) sum[i][j] = v_zero();
  FN(sum)(sum, a, b, vectors, FN(part), STREAMS, FN(part), prefetches);
  const int64_t done = (int64_t)FN(part) * STREAMS;
  if (done < K) FN(sum)(sum, a + done * A_DEPTH, b + done * vectors * LANES, vectors, K - done, 1, 0, prefetches);
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      const int64_t column = panel * COLUMN_PANEL + j * LANES, at = (batch * M + i) * N + column;
      const int64_t lanes = columns - j * LANES < LANES ? columns - j * LANES : LANES;
      const vf y = HAS_BIAS ? v_load_n(args->bias + column, lanes) : v_zero();
      const vf r = HAS_RESIDUAL ? v_load_n(args->residual + at, lanes) : v_zero();
      (void)y, (void)r;
      v_store_n(args->output + at, FINISH(sum[i][j], y, r), lanes);
    }
}

static inline __attribute__((always_inline)) void FN(columns)(const FN(args_t) * args, const float *rows, int64_t item,
                                                              int prefetches) {
  const int64_t batch = item / FN(panels), panel = item % FN(panels);
  if (FN(rest) && panel == FN(panels) - 1)
    FN(panel)(args, rows, batch, panel, (FN(rest) + LANES - 1) / LANES, FN(rest), prefetches);
  else
    FN(panel)(args, rows, batch, panel, COLUMN_PANEL / LANES, COLUMN_PANEL, prefetches);
}

static inline __attribute__((always_inline)) void FN(item)(const FN(args_t) * args, float *slot, int64_t item) {
#if PREPARES
  const float *rows = slot;
#else
  const float *rows = args->input;
  (void)slot;
#endif
  if (prefetches_streams())
    FN(columns)(args, rows, item, 1);
  else
    FN(columns)(args, rows, item, 0);
}
