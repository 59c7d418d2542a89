// SPDX-License-Identifier: Apache-2.0
// TILE_ROWS rows, which were made ready, by TILE_VECTORS vectors of columns from `first` on of a tile.
static inline __attribute__((always_inline)) void
JOIN(TILE_NAME, _part)(const FN(args_t) * args, const FN(data_t) * data, int64_t row, int64_t tile, int64_t first) {
  const int32_t *words = args->words + tile * FN(words) * TILE + first;
  const float *scales = args->scales + tile * FN(blocks) * TILE + first;
  vf sum[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
  for (int r = 0; r < TILE_ROWS; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; ++v) sum[r][v] = v_zero();
  for (int64_t block = 0; block < FN(blocks); ++block, scales += TILE) {
#if BYTES
    vi part[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
    for (int r = 0; r < TILE_ROWS; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < TILE_VECTORS; ++v) part[r][v] = w_set1(0);
    const float *numbers = data->numbers + block * FN(block_words) * FN(quarter);
#pragma GCC unroll 2
    for (int64_t w = 0; w < FN(block_words); ++w, words += TILE, numbers += FN(quarter)) {
      vi loaded[TILE_VECTORS];
#pragma GCC unroll 8
      for (int v = 0; v < TILE_VECTORS; ++v) loaded[v] = w_load(words + v * LANES);
#pragma GCC unroll 4
      for (int q = 0; q < FN(quarter); ++q) {
        vi bytes[TILE_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; ++v)
          bytes[v] = BITS == 8 ? loaded[v] : loaded[v] >> (q * BITS) & (int32_t)(FN(mask) * 0x01010101u);
#pragma GCC unroll 32
        for (int r = 0; r < TILE_ROWS; ++r) {
          const vi x = w_set1(w_word(numbers + r * FN(row_floats) + q));
#pragma GCC unroll 8
          for (int v = 0; v < TILE_VECTORS; ++v) part[r][v] = w_dot_i8x4(part[r][v], bytes[v], x);
        }
      }
    }
#else
    vf part[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
    for (int r = 0; r < TILE_ROWS; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < TILE_VECTORS; ++v) part[r][v] = v_zero();
    const float *numbers = data->numbers + block * BLOCK;
    for (int64_t w = 0; w < FN(block_words); ++w, words += TILE, numbers += FN(slots)) {
#pragma GCC unroll 16
      for (int s = 0; s < FN(slots); ++s) {
        vf number[TILE_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; ++v) {
          const vi loaded = w_load(words + v * LANES);
          // The highest place would be that of the sign.
          number[v] = w_float(s + 1 < FN(slots) ? loaded & (int32_t)((uint32_t)FN(mask) << s * BITS)
                                                : loaded >> (32 - BITS) & FN(mask));
        }
#pragma GCC unroll 32
        for (int r = 0; r < TILE_ROWS; ++r) {
          const vf x = v_set1(numbers[r * FN(row_floats) + s]);
#pragma GCC unroll 8
          for (int v = 0; v < TILE_VECTORS; ++v) part[r][v] = v_fma(x, number[v], part[r][v]);
        }
      }
    }
#endif
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; ++v) {
      const vf scale = v_load(scales + v * LANES);
#if HAS_ZEROS
      const vf zero = v_zero() - FN(zeros)(args, tile, block, first + v * LANES);
#else
      const vf zero = v_set1(-1.0f);
#endif
#pragma GCC unroll 32
      for (int r = 0; r < TILE_ROWS; ++r) {
        const vf total = v_set1(data->totals[r * FN(blocks) + block]);
#if BYTES
        const vf own = v_fma(total, zero, w_float(part[r][v]));
        sum[r][v] = v_fma(own, scale * v_set1(data->steps[r * FN(blocks) + block]), sum[r][v]);
#else
        sum[r][v] = v_fma(v_fma(total, zero, part[r][v]), scale, sum[r][v]);
#endif
      }
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < TILE_VECTORS; ++v) {
    const int64_t column = tile * TILE + first + v * LANES, left = N - column < LANES ? N - column : LANES;
    if (left <= 0) return;
    const vf y = HAS_BIAS ? v_load_n(args->bias + column, left) : v_zero();
#pragma GCC unroll 32
    for (int r = 0; r < TILE_ROWS; ++r) {
      const int64_t at = (row + r) * N + column;
      const vf z = HAS_RESIDUAL ? v_load_n(args->residual + at, left) : v_zero();
      (void)y, (void)z;
      v_store_n(args->output + at, FINISH(sum[r][v], y, z), left);
    }
  }
}

static void TILE_NAME(const FN(args_t) * args, const FN(data_t) * data, int64_t row, int64_t tile) {
  for (int64_t first = 0; first < TILE; first += TILE_VECTORS * LANES)
    JOIN(TILE_NAME, _part)(args, data, row, tile, first);
}
