// Depthwise convolution NCHW: each channel filtered by itself. A share copies one channel's plane, padded and with the
// columns of each stride phase side by side, to its workspace; then every tap is a whole vector at a fixed offset.
//   PADDED_ROW, PADDED_H  the padded plane: of a row, STRIDE_W phases of PHASE_W floats; phase f holds the padded
//                         columns f, f + STRIDE_W, ...
enum {
  FN(pixels) = OUT_H * OUT_W,
  FN(items) = BATCH * CHANNELS,
};

static void FN(pad)(float *padded, const float *plane) {
  for (int64_t y = 0; y < PADDED_H; ++y, padded += PADDED_ROW) {
    const int64_t in_y = y - PAD_TOP;
    for (int64_t phase = 0; phase < STRIDE_W; ++phase) {
      int64_t in_x = phase - PAD_LEFT, low = 0, high = 0;
      if (in_x < 0) low = (STRIDE_W - 1 - in_x) / STRIDE_W;
      if (in_x < IN_W) high = (IN_W - 1 - in_x) / STRIDE_W + 1;
      if (high > PHASE_W) high = PHASE_W;
      if (low > PHASE_W) low = PHASE_W;
      if (in_y < 0 || in_y >= IN_H) high = 0;
      copy_runs(padded + phase * PHASE_W, 0, plane + in_y * IN_W + in_x, 0, 1, PHASE_W, low, high, STRIDE_W);
    }
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

// One channel of one image.
static inline __attribute__((always_inline)) void FN(item)(const FN(args_t) * args, float *slot, int64_t item) {
  const int64_t channel = item % CHANNELS;
  const float *taps = args->weights + channel * KERNEL_H * KERNEL_W;
  const float offset = HAS_BIAS ? args->bias[channel] : 0.0f;
  FN(pad)(slot, args->input + item / MULTIPLIER * IN_H * IN_W);
  for (int64_t x = 0; x < OUT_W; x += LANES) {
    const int64_t lanes = OUT_W - x < LANES ? OUT_W - x : LANES;
    int64_t y = 0;
    for (; y + VECTOR_ROWS <= OUT_H; y += VECTOR_ROWS)
      FN(strip)(args, slot, taps, offset, item * FN(pixels), y, x, VECTOR_ROWS, lanes);
    for (; y < OUT_H; ++y) FN(strip)(args, slot, taps, offset, item * FN(pixels), y, x, 1, lanes);
  }
}
