// Convolution NCHW as an implicit matrix product: weights [OUT][DEPTH] times pixels [DEPTH][OUT_H * OUT_W], image by
// image and group by group. Depth runs over (kernel row, kernel column, input channel). Pixels are copied panel by
// panel into the workspace, where strides, dilations and padding are resolved; with DIRECT (1x1, stride 1, no padding)
// they are read in place.
//   TRANSPOSED 0: lanes are pixels, and the tile's rows are output channels; results are stored in that order.
//   TRANSPOSED 1: lanes are output channels, and rows are pixels: for small images, whose pixels do not fill vectors.
// Weights arrive packed in panels of WEIGHT_PANEL channels: [GROUPS][panel][DEPTH][channels of the panel].
enum {
  FN(pixels) = OUT_H * OUT_W,
  FN(depth) = IN * KERNEL_H * KERNEL_W,
  FN(weight_panels) = (OUT + WEIGHT_PANEL - 1) / WEIGHT_PANEL,
  FN(pixel_panels) = (OUT_H * OUT_W + PIXEL_PANEL - 1) / PIXEL_PANEL,
  FN(blocks) = (FN(pixel_panels) + BLOCK_PANELS - 1) / BLOCK_PANELS,
  // One unit of work: one panel of weights over one block of pixels.
  FN(items) = BATCH * GROUPS * FN(blocks) * FN(weight_panels),
  FN(run) = FN(weight_panels), // items of one block
};

#if CONTIGUOUS && !DIRECT
// Copies depth [k, end) of `count` pixels to panels side by side. Pixels of one channel lie in one run: it is read from
// end to end before the next one.
static void FN(pack)(float *panels, const float *image, int64_t pixel, int64_t count, int64_t k, int64_t end) {
  for (int64_t i = 0; i < end - k; ++i) {
    const float *from = image + (k + i) * (int64_t)(IN_H * IN_W) + pixel;
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
static void FN(pack)(float *panel, int64_t width, const float *image, int64_t pixel, int64_t count, int64_t k,
                     int64_t end) {
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

// Weight panels [first, last) over one block of pixels of one image and group.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t image, int64_t block, int64_t first,
                      int64_t last) {
  (void)workspace;
  const int64_t group = image % GROUPS, panel = block * BLOCK_PANELS;
  const int64_t panels = FN(pixel_panels) - panel < BLOCK_PANELS ? FN(pixel_panels) - panel : BLOCK_PANELS;
  const float *input = args->input + image * IN * IN_H * IN_W;
  const float *weights = args->weights + group * WEIGHTS_OF_GROUP;
  const int64_t origin = image * OUT * FN(pixels);
#if SPLIT_DEPTH && TRANSPOSED
  float *partial = workspace + BLOCK_PANELS * PIXEL_PANEL * BLOCK_DEPTH;
#endif
  for (int64_t k = 0; k < FN(depth); k += BLOCK_DEPTH) {
    const int64_t depth = FN(depth) - k < BLOCK_DEPTH ? FN(depth) - k : BLOCK_DEPTH;
#if CONTIGUOUS && !DIRECT
    const int64_t start = panel * PIXEL_PANEL, stop = start + panels * PIXEL_PANEL;
    FN(pack)(workspace, input, start, (stop < FN(pixels) ? stop : FN(pixels)) - start, k, k + depth);
#elif !DIRECT
    for (int64_t p = 0; p < panels; ++p) {
      int64_t pixel = (panel + p) * PIXEL_PANEL;
      int64_t count = FN(pixels) - pixel < PIXEL_PANEL ? FN(pixels) - pixel : PIXEL_PANEL;
      FN(pack)
      (workspace + p * PIXEL_PANEL * depth, TRANSPOSED ? count : PIXEL_PANEL, input, pixel, count, k, k + depth);
    }
#endif
#if AHEAD_PIXELS
    const float *next =
        k + depth < FN(depth) ? input + (k + depth) * FN(pixels) + start : input + (stop < FN(pixels) ? stop : 0);
#endif
    for (int64_t w = first; w < last; ++w) {
      const int64_t channel = w * WEIGHT_PANEL;
      const int64_t wide = OUT - channel < WEIGHT_PANEL ? WEIGHT_COLUMNS(OUT - channel) : WEIGHT_PANEL;
      const float *weight = weights + channel * FN(depth) + k * wide;
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t pixel = (panel + p) * PIXEL_PANEL;
        const int64_t at = origin + channel * FN(pixels) + pixel;
#if DIRECT
        const float *pixels = input + k * FN(pixels) + pixel;
#else
        const float *pixels = workspace + p * PIXEL_PANEL * depth;
#endif
#if TRANSPOSED
        const float *rows = pixels, *columns = weight;
#if SPLIT_DEPTH
        float *sums = partial + ((w - first) * BLOCK_PANELS + p) * PIXEL_PANEL * WEIGHT_PANEL;
#else
        float *sums = NULL;
#endif
        const int row_rest = pixel + PIXEL_PANEL > FN(pixels), column_rest = channel + WEIGHT_PANEL > OUT;
#else
        const float *rows = weight, *columns = pixels;
        float *sums = args->output + at;
        const int row_rest = channel + WEIGHT_PANEL > OUT, column_rest = pixel + PIXEL_PANEL > FN(pixels);
#endif
#if AHEAD_PIXELS
        // Prefetches one vector of each channel of the pixels that are packed next. The first panels of weights
        // prefetch one vector each.
        const int64_t vector = w - first;
        const int fetch = vector * LANES < PIXEL_PANEL;
        const float *ahead = fetch ? next + p * PIXEL_PANEL + vector * LANES : weight;
        const int64_t ahead_step = fetch ? FN(pixels) : 0;
#else
        const float *ahead = weight + FN(depth) * WEIGHT_PANEL + p * depth * AHEAD;
        const int64_t ahead_step = AHEAD;
#endif
        TILES(depth, rows, columns, sums, k == 0, k + depth == FN(depth), args->output + at,
              HAS_BIAS ? args->bias + group * OUT + channel : NULL, HAS_RESIDUAL ? args->residual + at : NULL, ahead,
              ahead_step);
      }
    }
  }
}
