// SPDX-License-Identifier: Apache-2.0
// TILE_ROWS channels x TILE_VECTORS vectors of positions.
static void TILE_NAME(const FN(args_t) * args, const int32_t *restrict data, const int32_t *restrict weights,
                      int64_t channel, float factor, RESULT_T *output, const RESIDUAL_T *residual,
                      const uint32_t *valid, const int64_t *at) {
  static const int32_t taps[] = {TAPS};
  SUM_T sum[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
  for (int i = 0; i < TILE_ROWS; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) sum[i][j] = (SUM_T){0};
  for (int64_t plane = 0; plane < PLANES; plane += CHUNK, data += (int64_t)CHUNK * PLANE) {
    const int64_t planes = PLANES - plane < CHUNK ? PLANES - plane : CHUNK;
    for (int t = 0; t < TAP_COUNT; ++t) {
      const int32_t *from = data + taps[t];
      for (int64_t k = 0; k < planes; ++k) {
        vi column[TILE_VECTORS];
#pragma GCC unroll 8
        for (int j = 0; j < TILE_VECTORS; ++j) column[j] = w_load(from + j * LANES);
#pragma GCC unroll 32
        for (int i = 0; i < TILE_ROWS; ++i) {
          vi x = w_set1(weights[i]);
#pragma GCC unroll 8
          for (int j = 0; j < TILE_VECTORS; ++j) sum[i][j] = FN(dot)(sum[i][j], column[j], x);
        }
        from += PLANE;
        weights += TILE_ROWS;
      }
    }
  }
  const w_byte_t byte = args->byte;
  const w_join_t join = args->join;
#pragma GCC unroll 32
  for (int i = 0; i < TILE_ROWS; ++i) {
    const int64_t c = channel + i, row = (int64_t)i * OUT_H * OUT_W;
    int32_t offset = args->offsets[c];
    if (READS_ZERO && DOT == DOT_I8X4) offset -= (int32_t)((uint32_t)args->zero * (uint32_t)args->sums[c]);
#if HAS_FACTORS
    if (args->factors[c] > 0.0f) {
      const vf exact = v_set1(args->factors[c]), summand = v_set1(args->summands[c]);
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) FN(finish_exact)
      (sum[i][j], w_set1(offset), exact, summand, output + row + at[j], HAS_RESIDUAL ? residual + row + at[j] : NULL,
       valid[j], &byte, &join);
      continue;
    }
#endif
    vf scale = v_set1(args->scales[c] * factor), shift = v_set1(args->shifts[c]);
#if HAS_FACTORS
    if (__builtin_expect(args->factors[c] == 0.0f, 1)) {
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) FN(finish_inverse)
      (sum[i][j], w_set1(offset), scale, output + row + at[j], HAS_RESIDUAL ? residual + row + at[j] : NULL, valid[j],
       &byte, &join);
      continue;
    }
#endif
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) FN(finish)
    (sum[i][j], w_set1(offset), scale, shift, output + row + at[j], HAS_RESIDUAL ? residual + row + at[j] : NULL,
     valid[j], &byte, &join);
  }
}
