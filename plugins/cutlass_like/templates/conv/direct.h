// SPDX-License-Identifier: Apache-2.0
// Direct convolution: lanes are output channels, each value of the input is broadcast from where it lies.
//   IN_LANES 16    the input is blocked, [BATCH][GROUPS * IN / 16][IN_H][IN_W][16]; 1: NCHW
//   OUT_LANES      the same for output and residual
//   IN_PLACE       the input is read in place; else the rows that a block needs are copied, padded, to the workspace:
//                  [IN / IN_LANES][rows][STRIP_W][IN_LANES], CHANNEL_STEP floats between two blocks of channels
//   FLAT           pixels are counted through the whole image (1x1, stride 1); else tiles lie along its rows
//   BLOCK_UNITS    units of a block: tiles where FLAT, rows of tiles otherwise
// Weights of f16 and bf16 are widened panel by panel into the workspace, from WEIGHTS_AT on.
// Weights arrive as [GROUPS][panel][TAP_BLOCKS][TAPS_H][TAPS_W][STEPS][channels of the panel], zeros where there is no
// channel.
enum {
  FN(panels) = (OUT + PANEL - 1) / PANEL,
  FN(terms) = TAP_BLOCKS * TAPS_H * TAPS_W * STEPS,
  FN(run) = FN(panels), // items of one block
};

CALL_SIZE FN(tiles_w)(const FN(args_t) * args) {
  (void)args;
  return FLAT ? 1 : (OUT_W + TILE_COLUMNS - 1) / TILE_COLUMNS;
}

CALL_SIZE FN(units)(const FN(args_t) * args) {
  (void)args;
  return FLAT ? (OUT_H * OUT_W + TILE_COLUMNS - 1) / TILE_COLUMNS : (OUT_H + TILE_LINES - 1) / TILE_LINES;
}

CALL_SIZE FN(blocks)(const FN(args_t) * args) {
  return (FN(units)(args) + BLOCK_UNITS - 1) / BLOCK_UNITS;
}

// One unit of work: one panel of weights over one block of pixels.
CALL_SIZE FN(items)(const FN(args_t) * args) {
  return BATCH * GROUPS * FN(blocks)(args) * FN(panels);
}

#if !IN_PLACE && FLAT
// Copies pixels [first, first + count) of each channel to the strip.
static void FN(gather)(float *strip, const DATA_T *image, int64_t first, int64_t count) {
  for (int64_t c = 0; c < IN; ++c)
    copy_runs(strip + c * CHANNEL_STEP, 0, image + c * IN_H * IN_W + first, 0, 1, count, 0, count, 1);
}
#elif !IN_PLACE
// Copies rows [first, first + rows) of the padded image to the strip.
static void FN(gather)(float *strip, const DATA_T *image, int64_t first, int64_t rows) {
  for (int64_t c = 0; c < IN / IN_LANES; ++c, image += IN_H * IN_W * IN_LANES)
    for (int64_t y = 0; y < rows; ++y) {
      const int64_t in_y = first + y - PAD_TOP;
      float *to = strip + c * CHANNEL_STEP + y * STRIP_W * IN_LANES;
      const DATA_T *from = image + (in_y * IN_W - PAD_LEFT) * IN_LANES;
      const int64_t begin = PAD_LEFT * IN_LANES, end = begin + IN_W * IN_LANES, width = STRIP_W * IN_LANES;
      const int64_t low = begin < width ? begin : width;
      const int64_t high = in_y < 0 || in_y >= IN_H ? low : end < width ? end : width;
#if IN_LANES > 1
      for (int64_t x = 0; x < low; x += LANES) v_store(to + x, v_zero());
      for (int64_t x = low; x < high; x += LANES) v_store(to + x, v_load(from + x));
      for (int64_t x = high; x < width; x += LANES) v_store(to + x, v_zero());
#else
      copy_runs(to, 0, from, 0, 1, width, low, high, 1);
#endif
    }
}
#endif

// Panels [first, last) over one block of one image and group.
static void FN(block)(const FN(args_t) * args, float *strip, int64_t image, int64_t block, int64_t first,
                      int64_t last) {
  const int64_t group = image % GROUPS, begin = block * BLOCK_UNITS;
  const int64_t units = FN(units)(args), end = units - begin < BLOCK_UNITS ? units : begin + BLOCK_UNITS;
  const DATA_T *input = args->input + image * IN * IN_H * IN_W;
#if IN_PLACE
  const float *source = input;
  (void)strip;
#elif FLAT
  const int64_t start = begin * TILE_COLUMNS, left = OUT_H * OUT_W - start;
  const int64_t wanted = (end - begin) * TILE_COLUMNS;
  FN(gather)(strip, input, start, wanted < left ? wanted : left);
  const float *source = strip - start * PIXEL_STEP;
#else
  const int64_t top = begin * TILE_LINES * STRIDE_H, left = OUT_H - begin * TILE_LINES;
  const int64_t lines = (end - begin) * TILE_LINES < left ? (end - begin) * TILE_LINES : left;
  FN(gather)(strip, input, top, (lines - 1) * STRIDE_H + (KERNEL_H - 1) * DILATION_H + 1);
  const float *source = strip;
#endif
  for (int64_t w = first; w < last; ++w) {
    const int64_t channel = w * PANEL;
    const WEIGHT_T *packed = args->weights + group * WEIGHTS_OF_GROUP + channel * FN(terms);
    const WEIGHT_T *ahead = packed + PANEL * FN(terms);
#if HALF_WEIGHTS
    float *const weights = strip + WEIGHTS_AT;
    const int64_t left_channels = (OUT - channel + LANES - 1) / LANES * LANES;
    widen(weights, packed, (left_channels < PANEL ? left_channels : PANEL) * FN(terms));
#else
    const float *weights = packed;
#endif
    const float *bias = HAS_BIAS ? args->bias + group * OUT + channel : NULL;
    const int64_t origin = (image * OUT + channel) * (OUT_PLANE / OUT_LANES);
    const int panel_rest = OUT - channel < PANEL;
    for (int64_t u = begin; u < end; ++u)
      for (int64_t t = 0; t < FN(tiles_w)(args); ++t) {
#if FLAT
        const int64_t pixel = u * TILE_COLUMNS, at = pixel * PIXEL_STEP, next = TILE_COLUMNS * PIXEL_STEP;
        const int rest = OUT_H * OUT_W - pixel < TILE_COLUMNS;
#else
        const int64_t y = u * TILE_LINES, x = t * TILE_COLUMNS, pixel = y * OUT_W + x;
        const int64_t at = (y - (IN_PLACE ? 0 : begin * TILE_LINES)) * PITCH + x * PIXEL_STEP;
        const int64_t next =
            t + 1 < FN(tiles_w)(args) ? TILE_COLUMNS * PIXEL_STEP : TILE_LINES * PITCH - x * PIXEL_STEP;
        const int rest = OUT_H - y < TILE_LINES || OUT_W - x < TILE_COLUMNS;
#endif
        const int64_t to = origin + pixel * OUT_LANES;
        TILES(source + at, weights, args->output + to, bias, HAS_RESIDUAL ? args->residual + to : NULL, ahead, next);
        ahead += TAP_BLOCKS * TAPS_H * TAPS_W * AHEAD * 16;
      }
  }
}
