// SPDX-License-Identifier: Apache-2.0
// TILE_ROWS channels (at most 32) x TILE_VECTORS vectors of positions (at most 2), by tiles. A plane is a row of the
// second operand as it lies in the workspace. Weights: [tile of 16 channels][AMX_STEPS][tap][16][AMX_DEPTH].
static void TILE_NAME(const FN(args_t) * args, const int32_t *restrict data, const int32_t *restrict weights,
                      int64_t channel, float factor, RESULT_T *output, const RESIDUAL_T *residual,
                      const uint32_t *valid, const int64_t *at) {
  static const int32_t taps[] = {TAPS};
  enum { TWO_ROWS = TILE_ROWS > 16, TWO_COLUMNS = TILE_VECTORS > 1 };
  FN(sums_t) sums;
  FN(clear_sums)(TWO_ROWS, TWO_COLUMNS);
  for (int64_t s = 0; s < AMX_STEPS; ++s, data += (int64_t)AMX_DEPTH * PLANE)
    for (int t = 0; t < TAP_COUNT; ++t, weights += 16 * AMX_DEPTH) FN(add_step)
  (weights, weights + (int64_t)16 * WEIGHT_WORDS, AMX_DEPTH * 4, data + taps[t], data + taps[t] + 16,
   (int64_t)PLANE * 4, TWO_ROWS, TWO_COLUMNS);
  FN(store_sums)(&sums, TWO_ROWS, TWO_COLUMNS);
  const w_byte_t byte = args->byte;
  const w_join_t join = args->join;
  for (int i = 0; i < TILE_ROWS; ++i) {
    const int64_t c = channel + i, row = (int64_t)i * OUT_H * OUT_W;
    int32_t offset = args->offsets[c];
    if (READS_ZERO && DOT == DOT_I8X4)
      offset = (int32_t)((uint32_t)offset - (uint32_t)args->zero * (uint32_t)args->sums[c]);
    const vf scale = v_set1(args->scales[c] * factor), shift = v_set1(args->shifts[c]);
#pragma GCC unroll 2
    for (int j = 0; j < TILE_VECTORS; ++j) FN(finish)
    ((SUM_T)w_load(&sums.at[i][j * LANES]), w_set1(offset), scale, shift, output + row + at[j],
     HAS_RESIDUAL ? residual + row + at[j] : NULL, valid[j], &byte, &join);
  }
}
