// SPDX-License-Identifier: Apache-2.0
// TILE_ROWS rows x TILE_VECTORS vectors of columns, of which the last has TILE_LANES.
static void TILE_NAME(const FN(args_t) * args, int64_t row, int64_t column, const int32_t *restrict weights) {
#if IN_PLACE
  const char *a = (const char *)args->input + row * K * (int64_t)sizeof(DATA_T);
  enum { ROW_BYTES = K * sizeof(DATA_T) };
#else
  const char *a = (const char *)(args->workspace + HEAD + row * ROW_WORDS);
  enum { ROW_BYTES = ROW_WORDS * 4 };
#endif
  SUM_T sum[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
  for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) sum[i][j] = (SUM_T){0};
#if DOT == DOT_BF16_WIDE
  // A small tile has too few sums to hide how long an addition takes: every CHAINS terms begin anew with the next set.
  enum {
    SUMS = TILE_ROWS * TILE_VECTORS,
    CHAINS = SUMS >= 8   ? 1
             : SUMS >= 4 ? 2
                         : 4,
    STEP = CHAINS > 2 ? CHAINS / 2 : 1
  };
  vf more[CHAINS][TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 4
  for (int s = 0; s < CHAINS; ++s)
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) more[s][i][j] = (vf){0};
  for (int64_t k = 0; k < (K + UNIT - 1) / UNIT; k += STEP) {
#pragma GCC unroll 2
    for (int u = 0; u < STEP; ++u) {
      if (STEP > 1 && k + u >= (K + UNIT - 1) / UNIT) break;
      vf low[TILE_VECTORS], high[TILE_VECTORS];
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) {
        vi both = w_load(weights + j * LANES);
        low[j] = (vf)(both << 16), high[j] = (vf)(both & (int32_t)0xffff0000);
      }
#pragma GCC unroll 32
      for (int i = 0; i < TILE_ROWS; ++i) {
        const float *x = (const float *)(const void *)(a + i * ROW_BYTES);
        vf x0 = v_set1(x[0]), x1 = v_set1(x[1]);
#pragma GCC unroll 8
        for (int j = 0; j < TILE_VECTORS; ++j) {
          vf *even = &more[2 * u % CHAINS][i][j], *odd = &more[(2 * u + 1) % CHAINS][i][j];
          *even = v_fma(x0, low[j], *even);
          *odd = v_fma(x1, high[j], *odd);
        }
      }
      a += 8;
      weights += TILE_VECTORS * LANES;
    }
  }
#pragma GCC unroll 4
  for (int s = 0; s < CHAINS; ++s)
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) sum[i][j] += more[s][i][j];
#else
#pragma GCC unroll 2
  for (int64_t k = 0; k < (K + UNIT - 1) / UNIT; ++k) {
    vi columns[TILE_VECTORS];
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) columns[j] = w_load(weights + j * LANES);
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i) {
      vi x = w_set1(w_word(a + i * ROW_BYTES));
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) sum[i][j] = FN(dot)(sum[i][j], x, columns[j]);
    }
    a += 4;
    weights += TILE_VECTORS * LANES;
  }
#endif
  const w_byte_t byte = args->byte;
  const w_join_t join = args->join;
#pragma GCC unroll 8
  for (int j = 0; j < TILE_VECTORS; ++j) {
    const int64_t c = column + j * LANES;
    const uint32_t valid = j + 1 < TILE_VECTORS ? W_ALL : (1u << TILE_LANES) - 1u;
    vi offset = w_load(args->offsets + c);
    if (READS_ZERO && DOT == DOT_I8X4) offset -= w_load(args->sums + c) * args->zero;
    const vf scale = v_load(args->scales + c) * v_set1(args->factor), shift = v_load(args->shifts + c);
#if HAS_FACTORS
    const vf exact = v_load(args->factors + c), summand = v_load(args->summands + c);
    if (!w_any_above(v_set1(1e-30f) - exact, 0.0f)) {
#pragma GCC unroll 32
      for (int i = 0; i < TILE_ROWS; ++i) {
        const int64_t at = (row + i) * N + c;
        FN(finish_exact)
        (sum[i][j], offset, exact, summand, args->output + at, HAS_RESIDUAL ? args->residual + at : NULL, valid, &byte,
         &join);
      }
      continue;
    }
    if (__builtin_expect(!w_any_above(v_zero() - exact, 0.0f), 1)) {
#pragma GCC unroll 32
      for (int i = 0; i < TILE_ROWS; ++i) {
        const int64_t at = (row + i) * N + c;
        FN(finish_inverse)
        (sum[i][j], offset, scale, args->output + at, HAS_RESIDUAL ? args->residual + at : NULL, valid, &byte, &join);
      }
      continue;
    }
#endif
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; ++i) {
      const int64_t at = (row + i) * N + c;
      vf own = scale;
      if (DATA == AS_F32 && (DOT == DOT_I8X4 || DOT == DOT_I16X2))
        own = scale * v_set1(((const float *)args->workspace)[row + i]);
      FN(finish)
      (sum[i][j], offset, own, shift, args->output + at, HAS_RESIDUAL ? args->residual + at : NULL, valid, &byte,
       &join);
    }
  }
}
