// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of blocked tensors, [BATCH][CHANNELS / 16][H][W][16]: lanes are channels, the input is read in
// place. Pixels whose taps all lie inside the image are computed PIXELS at a time; the others one by one, with
// only the taps that lie inside. Weights arrive as [CHANNELS / 16][KERNEL_H][KERNEL_W][16].
enum { FN(channel_blocks) = CHANNELS / BLOCK };

// One unit of work: one row of the output of one block of channels.
CALL_SIZE FN(items)(const FN(args_t) * args) {
  (void)args;
  return BATCH * FN(channel_blocks) * OUT_H;
}

// Columns [first, last) of the output are those whose taps lie inside the image.
CALL_SIZE FN(first)(const FN(args_t) * args) {
  (void)args;
  const int64_t first = (PAD_LEFT + STRIDE_W - 1) / STRIDE_W;
  return first < OUT_W ? first : OUT_W;
}

CALL_SIZE FN(last)(const FN(args_t) * args) {
  const int64_t reach = IN_W + PAD_LEFT - (KERNEL_W - 1) * DILATION_W - 1,
                inside = reach < 0 ? 0 : reach / STRIDE_W + 1;
  const int64_t end = inside < OUT_W ? inside : OUT_W, first = FN(first)(args);
  return end < first ? first : end;
}

// `count` pixels from `x` on of one row, one vector of channels, by the taps of rows [top, bottom) and columns
// [left, right). `row`: where the first tap of pixel 0 would lie.
static inline __attribute__((always_inline)) void FN(pixels)(const FN(args_t) * args, const float *row,
                                                             const float *taps, const vf bias, int64_t to, int64_t x,
                                                             const int count, const int top, const int bottom,
                                                             const int left, const int right) {
  vf sum[PIXELS];
  (void)bias;
#pragma GCC unroll 16
  for (int p = 0; p < count; ++p) sum[p] = v_zero();
#pragma GCC unroll 8
  for (int r = top; r < bottom; ++r)
#pragma GCC unroll 8
    for (int s = left; s < right; ++s) {
      const vf tap = v_load(taps + (r * KERNEL_W + s) * BLOCK);
      const float *from = row + (r * DILATION_H * IN_W + x * STRIDE_W + s * DILATION_W) * BLOCK;
#pragma GCC unroll 16
      for (int p = 0; p < count; ++p) sum[p] = v_fma(tap, v_load(from + p * STRIDE_W * BLOCK), sum[p]);
    }
#pragma GCC unroll 16
  for (int p = 0; p < count; ++p) {
    const int64_t at = to + (x + p) * BLOCK;
    const vf r = HAS_RESIDUAL ? v_load(args->residual + at) : v_zero();
    (void)r;
    v_store(args->output + at, FINISH(sum[p], bias, r));
  }
}

// A pixel near the left or right edge.
static void FN(edge)(const FN(args_t) * args, const float *row, const float *taps, const vf bias, int64_t to, int64_t x,
                     int top, int bottom) {
  int left = 0, right = KERNEL_W;
  while (left < right && x * STRIDE_W + left * DILATION_W < PAD_LEFT) ++left;
  while (right > left && x * STRIDE_W + (right - 1) * DILATION_W - PAD_LEFT >= IN_W) --right;
  FN(pixels)(args, row, taps, bias, to, x, 1, top, bottom, left, right);
}

// One row of the output of one block of channels.
static inline __attribute__((always_inline)) void FN(item)(const FN(args_t) * args, float *slot, int64_t item) {
  (void)slot;
  const int64_t plane = item / OUT_H, block = plane % FN(channel_blocks), y = item % OUT_H;
  int top = 0, bottom = KERNEL_H;
  while (top < bottom && y * STRIDE_H + top * DILATION_H < PAD_TOP) ++top;
  while (bottom > top && y * STRIDE_H + (bottom - 1) * DILATION_H - PAD_TOP >= IN_H) --bottom;
  for (int64_t c = 0; c < BLOCK; c += LANES) {
    const float *taps = args->weights + block * KERNEL_H * KERNEL_W * BLOCK + c;
    const float *row = args->input + ((plane * IN_H + y * STRIDE_H - PAD_TOP) * IN_W - PAD_LEFT) * (int64_t)BLOCK + c;
    const vf bias = HAS_BIAS ? v_load(args->bias + block * BLOCK + c) : v_zero();
    const int64_t to = item * OUT_W * BLOCK + c;
    const int64_t first = FN(first)(args), last = FN(last)(args);
    int64_t x = 0;
    for (; x < first; ++x) FN(edge)(args, row, taps, bias, to, x, top, bottom);
    if (top == 0 && bottom == KERNEL_H)
      for (; x + PIXELS <= last; x += PIXELS)
        FN(pixels)(args, row, taps, bias, to, x, PIXELS, 0, KERNEL_H, 0, KERNEL_W);
    else
      for (; x + PIXELS <= last; x += PIXELS)
        FN(pixels)(args, row, taps, bias, to, x, PIXELS, top, bottom, 0, KERNEL_W);
    for (; x < OUT_W; ++x) FN(edge)(args, row, taps, bias, to, x, top, bottom);
  }
}
