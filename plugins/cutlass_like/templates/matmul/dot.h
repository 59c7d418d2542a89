// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[N][K] transposed, for few rows of A: every element is a dot product of two rows of memory, and
// B is read once, in place. LANES columns are taken at a time, each with a vector of partial sums. At the end these
// become one vector of results.
enum {
  FN(blocks) = (N + LANES - 1) / LANES,
  FN(items) = BATCH * FN(blocks),
};

// Columns [column, column + count) of one row of one matrix; missing columns repeat the last one.
static inline void FN(columns)(const FN(args_t) * args, const DATA_T *a, const WEIGHT_T *b, int64_t at, int64_t column,
                               int64_t count) {
  vf sum[LANES];
  const WEIGHT_T *row[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; ++i) {
    sum[i] = v_zero();
    row[i] = b + (column + (i < count ? i : count - 1)) * K;
  }
  for (int64_t k = 0; k < K / LANES * LANES; k += LANES) {
    const vf x = v_load(a + k);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) sum[i] = v_fma(x, v_load(row[i] + k), sum[i]);
  }
  if (K % LANES != 0) {
    const int64_t k = K / LANES * LANES;
    const vf x = v_load_n(a + k, K % LANES);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) sum[i] = v_fma(x, v_load_n(row[i] + k, K % LANES), sum[i]);
  }
  v_transpose(sum);
  vf x = sum[0];
#pragma GCC unroll 16
  for (int i = 1; i < LANES; ++i) x = x + sum[i];
  const vf y = HAS_BIAS ? v_load_n(args->bias + column, count) : v_zero();
  const vf r = HAS_RESIDUAL ? v_load_n(args->residual + at, count) : v_zero();
  (void)y, (void)r;
  v_store_n(args->output + at, FINISH(x, y, r), count);
}

static inline __attribute__((always_inline)) void FN(item)(const FN(args_t) * args, float *slot, int64_t item) {
  (void)slot;
  const int64_t batch = item / FN(blocks), column = item % FN(blocks) * LANES;
  const int64_t count = N - column < LANES ? N - column : LANES;
  const WEIGHT_T *b = args->weights + B_MATRIX(batch) * K * N;
  for (int64_t m = 0; m < M; ++m)
    FN(columns)(args, args->input + (A_MATRIX(batch) * M + m) * K, b, (batch * M + m) * N + column, column, count);
}
