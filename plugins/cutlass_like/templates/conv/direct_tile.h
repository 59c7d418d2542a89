// SPDX-License-Identifier: Apache-2.0
// One register tile of a direct convolution: TILE_H x TILE_W pixels of the output by TILE_VECTORS vectors of channels.
//   TILE_LANES  channels of the last vector that exist
// `in` points to the value that the first tap of the first pixel reads. There are TAP_BLOCKS x TAPS_H x TAPS_W blocks
// of STEPS terms. `ahead` points to the weights that later tiles will read from memory; each block of terms prefetches
// AHEAD lines of them. `next` is the number of floats from this tile's pixels to those of the next tile.
static void TILE_NAME(const float *restrict in, const float *restrict weights, RESULT_T *out,
                      const float *restrict bias, const RESIDUAL_T *restrict residual, const WEIGHT_T *ahead,
                      int64_t next) {
  vf sum[TILE_H * TILE_W][TILE_VECTORS];
#define TILE_IN(p) ((p) / TILE_W * PITCH + (p) % TILE_W * PIXEL_STEP)
#define TILE_OUT(p, j)                                                                                                 \
  (((p) / TILE_W * OUT_W + (p) % TILE_W) * OUT_LANES + (int64_t)((j)*LANES / OUT_LANES) * OUT_PLANE +                  \
   (j)*LANES % OUT_LANES)
  // The lines of the result are prefetched. With SPREAD each term prefetches one, so that no other read has to wait for
  // them; otherwise all are prefetched before the first term.
  enum { PLANES = (TILE_VECTORS * LANES + 15) / 16, SPREAD = TILE_SPREAD && TILE_H == 1 && TILE_W <= STEPS };
  if (!SPREAD && OUT_LANES > 1) {
#pragma GCC unroll 32
    for (int p = 0; p < TILE_H * TILE_W; ++p)
#pragma GCC unroll 8
      for (int j = 0; j < TILE_VECTORS; ++j) {
        __builtin_prefetch(out + TILE_OUT(p, j), 1);
        if (HAS_RESIDUAL) __builtin_prefetch(residual + TILE_OUT(p, j));
      }
  } else if (!SPREAD) {
    for (int j = 0; j < (TILE_VECTORS - 1) * LANES + TILE_LANES; ++j) {
      __builtin_prefetch(out + j * (int64_t)OUT_PLANE, 1);
      if (HAS_RESIDUAL) __builtin_prefetch(residual + j * (int64_t)OUT_PLANE);
    }
  }
#pragma GCC unroll 32
  for (int p = 0; p < TILE_H * TILE_W; ++p)
#pragma GCC unroll 8
    for (int j = 0; j < TILE_VECTORS; ++j) sum[p][j] = v_zero();
  int64_t block = 0;
  for (int64_t b = 0; b < TAP_BLOCKS; ++b, in += BLOCK_STEP)
    for (int64_t r = 0; r < TAPS_H; ++r)
      for (int64_t s = 0; s < TAPS_W; ++s) {
        const float *x = in + r * TAP_H_STEP + s * TAP_W_STEP, *later = IN_PLACE ? x + next : x;
        const RESULT_T *result = (const void *)weights;
        if (SPREAD && block < PLANES * (1 + HAS_RESIDUAL))
          result = (block < PLANES ? out : (const RESULT_T *)(const void *)residual) + block % PLANES * OUT_PLANE;
        ++block;
#pragma GCC unroll 16
        for (int i = 0; i < AHEAD; ++i) __builtin_prefetch(ahead + i * 16, 0, 2);
        ahead += AHEAD * 16;
#pragma GCC unroll 4
        for (int i = 0; i < STEPS; ++i, weights += TILE_VECTORS * LANES) {
          if (SPREAD) __builtin_prefetch(result + i * OUT_LANES);
          if (IN_PLACE) __builtin_prefetch(later + i * PIXEL_STEP, 0, 2);
          vf column[TILE_VECTORS];
#pragma GCC unroll 8
          for (int j = 0; j < TILE_VECTORS; ++j) column[j] = v_load(weights + j * LANES);
#pragma GCC unroll 32
          for (int p = 0; p < TILE_H * TILE_W; ++p) {
            const vf value = v_set1(x[TILE_IN(p)]);
#pragma GCC unroll 8
            for (int j = 0; j < TILE_VECTORS; ++j) sum[p][j] = v_fma(value, column[j], sum[p][j]);
          }
          x += STEP;
          __asm__("" : "+r"(x)); // a value that two terms share is read twice: keeping it would cost a register
        }
      }
#if OUT_LANES > 1
#pragma GCC unroll 8
  for (int j = 0; j < TILE_VECTORS; ++j) {
    const vf y = HAS_BIAS ? v_load(bias + j * LANES) : v_zero();
    (void)y;
#pragma GCC unroll 32
    for (int p = 0; p < TILE_H * TILE_W; ++p) {
      const vf r = HAS_RESIDUAL ? v_load(residual + TILE_OUT(p, j)) : v_zero();
      (void)r;
      v_store(out + TILE_OUT(p, j), FINISH(sum[p][j], y, r));
    }
  }
#else // columns of the tile are planes of the result
#pragma GCC unroll 8
  for (int j = 0; j < TILE_VECTORS; ++j)
#pragma GCC unroll 8
    for (int y0 = 0; y0 < TILE_H; ++y0)
#pragma GCC unroll 8
      for (int x0 = 0; x0 < TILE_W; x0 += LANES) {
        enum { LAST = TILE_VECTORS - 1 };
        const int pixels = TILE_W - x0 < LANES ? TILE_W - x0 : LANES, columns = j == LAST ? TILE_LANES : LANES;
        vf square[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; ++i)
          square[i] = i < pixels ? sum[i < pixels ? y0 * TILE_W + x0 + i : 0][j] : v_zero();
        v_transpose(square);
#pragma GCC unroll 16
        for (int i = 0; i < columns; ++i) {
          const int64_t at = (int64_t)(j * LANES + i) * OUT_PLANE + y0 * OUT_W + x0;
          const vf y = HAS_BIAS ? v_set1(bias[j * LANES + i]) : v_zero();
          const vf r = HAS_RESIDUAL ? v_load_n(residual + at, pixels) : v_zero();
          (void)y, (void)r;
          v_store_n(out + at, FINISH(square[i], y, r), pixels);
        }
      }
#endif
  (void)bias, (void)residual, (void)ahead, (void)next, (void)block;
#undef TILE_IN
#undef TILE_OUT
}
