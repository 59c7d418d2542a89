// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution NCHW: each channel filtered by itself. A share copies one channel's plane, or a band of it,
// padded and with the columns of each stride phase side by side, to its workspace; then every tap is a whole vector at
// a fixed offset.
//   PADDED_ROW        floats of a padded row: STRIDE_W phases of PHASE_W floats; phase f holds the padded columns f,
//                     f + STRIDE_W, ...
//   PADDED_TAIL       zeros behind the last row, up to which the vectors of its last taps reach
//   BAND_H, BAND_W    rows and columns of the output that are computed from one copy: all of them, unless the sizes of
//                     the image are dynamic
//   SHARES_LOADS      1: a vector of the copy is loaded once for all rows that it is a tap of
CALL_SIZE FN(bands)(const FN(args_t) * args) {
  (void)args;
  return (OUT_H + BAND_H - 1) / BAND_H;
}

CALL_SIZE FN(bands_w)(const FN(args_t) * args) {
  (void)args;
  return (OUT_W + BAND_W - 1) / BAND_W;
}

// One unit of work: one band of one channel.
CALL_SIZE FN(items)(const FN(args_t) * args) {
  return BATCH * CHANNELS * FN(bands)(args) * FN(bands_w)(args);
}

// Copies the input that rows [top, top + rows) and columns [left, left + columns) of the output read.
static inline __attribute__((always_inline)) void FN(pad)(const FN(args_t) * args, float *padded, const DATA_T *plane,
                                                          int64_t top, int64_t left, int64_t rows, int64_t columns) {
  (void)args;
  const int64_t padded_h = (rows - 1) * STRIDE_H + (KERNEL_H - 1) * DILATION_H + 1;
  const int64_t length =
      OPEN_SIZES ? (columns + LANES - 1) / LANES * LANES + (KERNEL_W - 1) * DILATION_W / STRIDE_W : PHASE_W;
  // Rows above and below the image are zeros.
  const int64_t first = top * STRIDE_H - PAD_TOP;
  const int64_t above = first < 0 ? (-first < padded_h ? -first : padded_h) : 0;
  const int64_t stop = IN_H - first < padded_h ? IN_H - first : padded_h, end = stop > above ? stop : above;
  for (int64_t y = 0, rows_at_once; y < padded_h; y += rows_at_once) { // few enough to stay in the cache
    const int64_t inside = y >= above && y < end, to_edge = (y < above ? above : y < end ? end : padded_h) - y;
    // Loops over floats, as copies by 4 lanes are, are written out row by row if sizes are constant.
    rows_at_once = LANES == 4 && !OPEN_SIZES && !HALF_DATA ? 1 : to_edge < 8 ? to_edge : 8;
    for (int64_t phase = 0; phase < STRIDE_W; ++phase) {
      int64_t in_x = left * STRIDE_W + phase - PAD_LEFT, low = 0, high = 0;
      if (in_x < 0) low = (STRIDE_W - 1 - in_x) / STRIDE_W;
      if (in_x < IN_W) high = (IN_W - 1 - in_x) / STRIDE_W + 1;
      if (high > length) high = length;
      if (low > length) low = length;
      if (!inside) high = 0;
      copy_runs(padded + y * PADDED_ROW + phase * PHASE_W, PADDED_ROW, plane + (first + y) * IN_W + in_x, IN_W,
                rows_at_once, length, low, high, STRIDE_W);
    }
  }
  if (PADDED_TAIL) copy_runs(padded + padded_h * PADDED_ROW, 0, plane, 0, 1, PADDED_TAIL, 0, 0, 1);
}

// The sums of `rows` rows of LANES pixels, from `p` on: vector by vector of the copy. A load that crosses cache lines
// takes as long as several multiplications.
static inline __attribute__((always_inline)) void FN(sum_by_rows)(vf *sum, const float *p, const float *taps,
                                                                  const int rows) {
#pragma GCC unroll 64
  for (int row = 0; row <= (rows - 1) * STRIDE_H + (KERNEL_H - 1) * DILATION_H; ++row)
#pragma GCC unroll 8
    for (int s = 0; s < KERNEL_W; ++s) {
      const int column = s * DILATION_W;
      const vf x = v_load_once(p + row * PADDED_ROW + column % STRIDE_W * PHASE_W + column / STRIDE_W);
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        const int below = row - i * STRIDE_H;
        if (below >= 0 && below % DILATION_H == 0 && below / DILATION_H < KERNEL_H)
          sum[i] = v_fma(v_set1(taps[below / DILATION_H * KERNEL_W + s]), x, sum[i]);
      }
    }
}

// The same, tap by tap.
static inline __attribute__((always_inline)) void FN(sum_by_taps)(vf *sum, const float *p, const float *taps,
                                                                  const int rows) {
#pragma GCC unroll 8
  for (int r = 0; r < KERNEL_H; ++r)
#pragma GCC unroll 8
    for (int s = 0; s < KERNEL_W; ++s) {
      const vf tap = v_set1(taps[r * KERNEL_W + s]);
      const int column = s * DILATION_W;
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i)
        sum[i] = v_fma(
            tap,
            v_load(p + (i * STRIDE_H + r * DILATION_H) * PADDED_ROW + column % STRIDE_W * PHASE_W + column / STRIDE_W),
            sum[i]);
    }
}

// VECTOR_ROWS rows of LANES pixels at once, so that one load of a weight serves several vectors.
static inline __attribute__((always_inline)) void FN(strip)(const FN(args_t) * args, const float *padded,
                                                            const float *taps, float offset, int64_t at, int64_t y,
                                                            int64_t x, const int rows, const int64_t lanes) {
  vf sum[VECTOR_ROWS];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) sum[i] = v_zero();
  const float *p = padded + y * STRIDE_H * PADDED_ROW + x;
  if (SHARES_LOADS)
    FN(sum_by_rows)(sum, p, taps, rows);
  else
    FN(sum_by_taps)(sum, p, taps, rows);
  const vf bias = v_set1(offset);
  (void)bias;
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    const int64_t to = at + (y + i) * OUT_W + x;
    vf r = HAS_RESIDUAL ? v_load_n(args->residual + to, lanes) : v_zero();
    (void)r;
    v_store_n(args->output + to, FINISH(sum[i], bias, r), lanes);
  }
}

// One band of one channel of one image.
static inline __attribute__((always_inline)) void FN(item)(const FN(args_t) * args, float *slot, int64_t item) {
  const int64_t high = FN(bands)(args), wide = FN(bands_w)(args);
  int64_t plane = item, top = 0, left = 0;
  if (high * wide > 1) // a division takes as long as a short row
    plane = item / (high * wide), top = item / wide % high * BAND_H, left = item % wide * BAND_W;
  const int64_t channel = plane % CHANNELS;
  const int64_t rows = OUT_H - top < BAND_H ? OUT_H - top : BAND_H;
  const int64_t columns = OUT_W - left < BAND_W ? OUT_W - left : BAND_W;
  const int64_t at = plane * (OUT_H * OUT_W) + top * OUT_W + left;
#if HALF_WEIGHTS
  float taps[KERNEL_H * KERNEL_W];
  widen(taps, args->weights + channel * KERNEL_H * KERNEL_W, KERNEL_H * KERNEL_W);
#else
  const float *taps = args->weights + channel * KERNEL_H * KERNEL_W;
#endif
  const float offset = HAS_BIAS ? args->bias[channel] : 0.0f;
  FN(pad)(args, slot, args->input + plane / MULTIPLIER * IN_H * IN_W, top, left, rows, columns);
  for (int64_t x = 0; x < columns; x += LANES) {
    const int64_t lanes = columns - x < LANES ? columns - x : LANES;
    int64_t y = 0;
    for (; y + VECTOR_ROWS <= rows; y += VECTOR_ROWS) FN(strip)(args, slot, taps, offset, at, y, x, VECTOR_ROWS, lanes);
    for (; y < rows; ++y) FN(strip)(args, slot, taps, offset, at, y, x, 1, lanes);
  }
}
