// SPDX-License-Identifier: Apache-2.0
// Convolution NCHW as an implicit matrix product: weights [OUT][DEPTH] times pixels [DEPTH][OUT_H * OUT_W], image by
// image and group by group. Depth runs over (kernel row, kernel column, input channel). Pixels are copied panel by
// panel into the workspace, where strides, dilations and padding are resolved; with DIRECT (1x1, stride 1, no padding)
// they are read in place.
//   TRANSPOSED 0: lanes are pixels, and the tile's rows are output channels; results are stored in that order.
//   TRANSPOSED 1: lanes are output channels, and rows are pixels: for small images, whose pixels do not fill vectors.
// Weights arrive packed in panels of WEIGHT_PANEL channels: [GROUPS][panel][DEPTH][channels of the panel].
// SKIPS_TAPS 1: blocks of depth whose taps read nothing but padding are left out, as dilated kernels have them.
// Pixels of f16 and bf16 are widened by that copy, such weights panel by panel into the workspace from WEIGHTS_AT on.
// Sizes of images may be dynamic (open_images.h): TILE_SIZES then passes the sizes to a tile.
enum {
  FN(depth) = IN * KERNEL_H * KERNEL_W,
  FN(weight_panels) = (OUT + WEIGHT_PANEL - 1) / WEIGHT_PANEL,
  FN(run) = FN(weight_panels), // items of one block
};

CALL_SIZE FN(pixels)(const FN(args_t) * args) {
  (void)args;
  return OUT_H * OUT_W;
}

CALL_SIZE FN(pixel_panels)(const FN(args_t) * args) {
  return (FN(pixels)(args) + PIXEL_PANEL - 1) / PIXEL_PANEL;
}

CALL_SIZE FN(blocks)(const FN(args_t) * args) {
  return (FN(pixel_panels)(args) + BLOCK_PANELS - 1) / BLOCK_PANELS;
}

// One unit of work: one panel of weights over one block of pixels.
CALL_SIZE FN(items)(const FN(args_t) * args) {
  return BATCH * GROUPS * FN(blocks)(args) * FN(weight_panels);
}

#if CONTIGUOUS && !DIRECT
// Copies depth [k, end) of `count` pixels to panels side by side. Pixels of one channel lie in one run: it is read from
// end to end before the next one.
static void FN(pack)(const FN(args_t) * args, float *panels, const DATA_T *image, int64_t pixel, int64_t count,
                     int64_t k, int64_t end) {
  (void)args;
  for (int64_t i = 0; i < end - k; ++i) {
    const DATA_T *from = image + (k + i) * (int64_t)(IN_H * IN_W) + pixel;
    int64_t done = 0;
    for (; done + PIXEL_PANEL <= count; done += PIXEL_PANEL) {
      float *to = panels + done * (end - k) + i * PIXEL_PANEL;
#pragma GCC unroll 8
      for (int64_t x = 0; x < PIXEL_PANEL; x += LANES) {
        const int64_t lanes = PIXEL_PANEL - x < LANES ? PIXEL_PANEL - x : LANES;
        if (lanes == LANES)
          v_store(to + x, v_load(from + done + x));
        else
          v_store_n(to + x, v_load_n(from + done + x, lanes), lanes);
      }
    }
    if (done == count) continue;
    const int64_t width = TRANSPOSED ? count - done : PIXEL_PANEL;
    float *to = panels + done * (end - k) + i * width;
    for (int64_t x = 0; x < width; x += LANES) {
      const int64_t wanted = width - x < LANES ? width - x : LANES, left = count - done - x;
      v_store_n(to + x, v_load_n(from + done + x, left < 0 ? 0 : left < LANES ? left : LANES), wanted);
    }
  }
}
#elif !DIRECT
// Copies the pixels [pixel, pixel + count) of depth [k, end) to a panel, whose rows are PIXEL_PANEL wide (or as wide as
// the last panel, where lanes are channels).
static void FN(pack)(const FN(args_t) * args, float *panel, int64_t width, const DATA_T *image, int64_t pixel,
                     int64_t count, int64_t k, int64_t end) {
  (void)args;
  while (k < end) {
    int64_t tap = k / IN, channel = k % IN, run = IN - channel < end - k ? IN - channel : end - k;
    int64_t row = tap / KERNEL_W * DILATION_H - PAD_TOP, column = tap % KERNEL_W * DILATION_W - PAD_LEFT;
    for (int64_t done = 0; done < count;) { // along one row of the output at a time
      int64_t y = (pixel + done) / OUT_W, x = (pixel + done) % OUT_W;
      int64_t length = OUT_W - x < count - done ? OUT_W - x : count - done;
      int64_t in_y = y * STRIDE_H + row, in_x = x * STRIDE_W + column, low = 0, high = length;
      if (in_x < 0) low = (STRIDE_W - 1 - in_x) / STRIDE_W;
      if (in_x + (length - 1) * STRIDE_W >= IN_W) high = in_x < IN_W ? (IN_W - 1 - in_x) / STRIDE_W + 1 : 0;
      if (in_y < 0 || in_y >= IN_H) high = 0;
      copy_runs(panel + done, width, image + (channel * IN_H + in_y) * IN_W + in_x, IN_H * IN_W, run, length, low, high,
                STRIDE_W);
      done += length;
    }
    if (count < width) copy_runs(panel + count, width, image, 0, run, width - count, 0, 0, 1);
    panel += run * width;
    k += run;
  }
}
#endif

#if SKIPS_TAPS
// Do the taps of depth [k, end) read nothing but padding for the pixels [pixel, stop)?
static int FN(idle)(const FN(args_t) * args, int64_t pixel, int64_t stop, int64_t k, int64_t end) {
  (void)args;
  const int64_t top = pixel / OUT_W * STRIDE_H - PAD_TOP, bottom = (stop - 1) / OUT_W * STRIDE_H - PAD_TOP;
  const int64_t left = -PAD_LEFT, right = (OUT_W - 1) * STRIDE_W - PAD_LEFT;
  for (int64_t tap = k / IN; tap * IN < end; ++tap) {
    const int64_t row = tap / KERNEL_W * DILATION_H, column = tap % KERNEL_W * DILATION_W;
    if (bottom + row >= 0 && top + row < IN_H && right + column >= 0 && left + column < IN_W) return 0;
  }
  return 1;
}
#endif

// Weight panels [first, last) over one block of pixels of one image and group.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t image, int64_t block, int64_t first,
                      int64_t last) {
  (void)workspace;
  const int64_t group = image % GROUPS, panel = block * BLOCK_PANELS;
  const int64_t pixels = FN(pixels)(args), all_panels = FN(pixel_panels)(args);
  const int64_t panels = all_panels - panel < BLOCK_PANELS ? all_panels - panel : BLOCK_PANELS;
  const DATA_T *input = args->input + image * IN * IN_H * IN_W;
  const WEIGHT_T *weights = args->weights + group * WEIGHTS_OF_GROUP;
  const int64_t origin = image * OUT * pixels;
#if SPLIT_DEPTH && TRANSPOSED
  float *partial = workspace + BLOCK_PANELS * PIXEL_PANEL * BLOCK_DEPTH;
#elif PARTIAL_PANELS
  float *const partial = workspace + PANEL_FLOATS;
#endif
#if HALF_WEIGHTS
  float *const weight = workspace + WEIGHTS_AT;
#endif
  int64_t begin = 0, end = FN(depth);
#if SKIPS_TAPS
  const int64_t from = panel * PIXEL_PANEL,
                to = from + panels * PIXEL_PANEL < pixels ? from + panels * PIXEL_PANEL : pixels;
  while (begin + BLOCK_DEPTH < end && FN(idle)(args, from, to, begin, begin + BLOCK_DEPTH)) begin += BLOCK_DEPTH;
  for (int64_t k = (end - 1) / BLOCK_DEPTH * BLOCK_DEPTH; k > begin && FN(idle)(args, from, to, k, end);) {
    end = k;
    k -= BLOCK_DEPTH;
  }
#endif
  for (int64_t k = begin; k < end; k += BLOCK_DEPTH) {
    const int64_t depth = end - k < BLOCK_DEPTH ? end - k : BLOCK_DEPTH;
#if SKIPS_TAPS
    if (k > begin && FN(idle)(args, from, to, k, k + depth)) continue;
#endif
#if CONTIGUOUS && !DIRECT
    const int64_t start = panel * PIXEL_PANEL, stop = start + panels * PIXEL_PANEL;
    FN(pack)(args, workspace, input, start, (stop < pixels ? stop : pixels) - start, k, k + depth);
#elif !DIRECT
    for (int64_t p = 0; p < panels; ++p) {
      int64_t pixel = (panel + p) * PIXEL_PANEL;
      int64_t count = pixels - pixel < PIXEL_PANEL ? pixels - pixel : PIXEL_PANEL;
      FN(pack)
      (args, workspace + p * PIXEL_PANEL * depth, TRANSPOSED ? count : PIXEL_PANEL, input, pixel, count, k, k + depth);
    }
#endif
#if AHEAD_PIXELS
    const DATA_T *next =
        k + depth < FN(depth) ? input + (k + depth) * pixels + start : input + (stop < pixels ? stop : 0);
#endif
    for (int64_t w = first; w < last; ++w) {
      const int64_t channel = w * WEIGHT_PANEL;
      const int64_t wide = OUT - channel < WEIGHT_PANEL ? WEIGHT_COLUMNS(OUT - channel) : WEIGHT_PANEL;
      const WEIGHT_T *packed = weights + channel * FN(depth) + k * wide;
#if HALF_WEIGHTS
      widen(weight, packed, depth * wide);
#else
      const float *weight = packed;
#endif
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t pixel = (panel + p) * PIXEL_PANEL;
        const int64_t at = origin + channel * pixels + pixel;
#if DIRECT
        const float *moving = input + k * pixels + pixel;
#else
        const float *moving = workspace + p * PIXEL_PANEL * depth;
#endif
#if TRANSPOSED
        const float *rows = moving, *columns = weight;
#if SPLIT_DEPTH
        float *sums = partial + ((w - first) * BLOCK_PANELS + p) * PIXEL_PANEL * WEIGHT_PANEL;
#else
        float *sums = NULL;
#endif
        const int row_rest = pixel + PIXEL_PANEL > pixels, column_rest = channel + WEIGHT_PANEL > OUT;
#else
        const float *rows = weight, *columns = moving;
        float *sums = PARTIAL_AT(at);
        const int row_rest = channel + WEIGHT_PANEL > OUT, column_rest = pixel + PIXEL_PANEL > pixels;
#endif
#if OPEN_SIZES
        // Prefetches the next weights if all pixels are in this block, else the pixels that are packed next, if they
        // lie in runs: one vector of each channel; the first panels of weights prefetch one vector each.
        const int64_t vector = w - first, step = (WEIGHT_PANEL + panels - 1) / panels;
        const WEIGHT_T *later = w + 1 < last ? packed + FN(depth) * WEIGHT_PANEL
                                             : weights + first * WEIGHT_PANEL * FN(depth) + (k + depth) * WEIGHT_PANEL;
        const float *ahead = AHEAD_OF(later + p * depth * step);
        int64_t ahead_step = step;
        if (all_panels > BLOCK_PANELS) ahead = weight, ahead_step = 0;
#if AHEAD_PIXELS
        if (all_panels > BLOCK_PANELS && vector * LANES < PIXEL_PANEL)
          ahead = AHEAD_OF(next + p * PIXEL_PANEL + vector * LANES), ahead_step = AHEAD_PIXEL_STEP(pixels);
#else
        (void)vector;
#endif
#elif AHEAD_PIXELS
        // Prefetches one vector of each channel of the pixels that are packed next. The first panels of weights
        // prefetch one vector each.
        const int64_t vector = w - first;
        const int fetch = vector * LANES < PIXEL_PANEL;
        const float *ahead = fetch ? AHEAD_OF(next + p * PIXEL_PANEL + vector * LANES) : weight;
        const int64_t ahead_step = fetch ? AHEAD_PIXEL_STEP(pixels) : 0;
#else
        const float *ahead = AHEAD_OF(packed + FN(depth) * WEIGHT_PANEL + p * depth * AHEAD);
        const int64_t ahead_step = AHEAD_STEP;
#endif
        TILES(depth, rows, columns, sums, k == begin, k + depth == end, args->output + at,
              HAS_BIAS ? args->bias + group * OUT + channel : NULL, HAS_RESIDUAL ? args->residual + at : NULL, ahead,
              ahead_step TILE_SIZES);
      }
    }
  }
}
