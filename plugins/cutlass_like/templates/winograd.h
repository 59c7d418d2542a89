// Convolution 3x3 of stride 1 by Winograd's minimal filtering, EDGE x EDGE outputs at a time. Each square of the output
// reads a patch of PATCH x PATCH inputs; patches and filters are transformed, multiplied channel by channel at each of
// PATCH * PATCH points, and the sums are transformed back. Rows of squares are counted through all images: a block is
// BLOCK_ROWS of them. A block's patches are transformed once for all panels of WEIGHT_PANEL output channels.
// PASS_PANELS panels are multiplied point by point, then transformed back: several of them where the patches outgrow
// the cache.
//   IN_LANES 16   the input is blocked, [BATCH][GROUPS * IN / 16][IN_H][IN_W][16]; 1: NCHW
//   OUT_LANES     the same for output and residual
// Weights arrive transformed: [GROUPS][pass][POINTS][panel of the pass][IN][WEIGHT_PANEL], zeros where there is no
// channel.
enum {
  FN(pixels) = OUT_H * OUT_W,
  FN(squares_w) = (OUT_W + EDGE - 1) / EDGE,
  FN(squares_h) = (OUT_H + EDGE - 1) / EDGE,
  FN(blocks) = (BATCH * FN(squares_h) + BLOCK_ROWS - 1) / BLOCK_ROWS,
  FN(panels) = (OUT + WEIGHT_PANEL - 1) / WEIGHT_PANEL,
  FN(strip_w) = FN(squares_w) * EDGE + 2,
  // One unit of work: one panel of weights over one block.
  FN(items) = GROUPS * FN(blocks) * FN(panels),
  FN(run) = FN(panels), // items of one block
};

// One patch, rows `pitch` floats and pixels `pixel` floats apart → its POINTS vectors, PATCH_STEP floats apart.
static inline __attribute__((always_inline)) void FN(patch)(const float *from, const int64_t pitch, const int64_t pixel,
                                                            float *points) {
  vf half[PATCH][PATCH];
#pragma GCC unroll 6
  for (int x = 0; x < PATCH; ++x) {
    vf d[PATCH], t[PATCH];
#pragma GCC unroll 6
    for (int y = 0; y < PATCH; ++y) d[y] = v_load(from + y * pitch + x * pixel);
    WINOGRAD_INPUT(d, t);
#pragma GCC unroll 6
    for (int y = 0; y < PATCH; ++y) half[y][x] = t[y];
  }
#pragma GCC unroll 6
  for (int y = 0; y < PATCH; ++y) {
    vf t[PATCH];
    WINOGRAD_INPUT(half[y], t);
#pragma GCC unroll 6
    for (int x = 0; x < PATCH; ++x) v_store(points + (y * PATCH + x) * PATCH_STEP, t[x]);
  }
}

// POINTS vectors of products, PRODUCT_STEP floats apart → half of the transform back: each column's EDGE values.
static inline __attribute__((always_inline)) void FN(columns)(const float *points, vf half[EDGE][PATCH]) {
#pragma GCC unroll 6
  for (int x = 0; x < PATCH; ++x) {
    vf p[PATCH], y[EDGE];
#pragma GCC unroll 6
    for (int i = 0; i < PATCH; ++i) p[i] = v_load(points + (i * PATCH + x) * PRODUCT_STEP);
    WINOGRAD_OUTPUT(p, y);
#pragma GCC unroll 4
    for (int i = 0; i < EDGE; ++i) half[i][x] = y[i];
  }
}

#if IN_LANES > 1
// Patches of one vector of channels, rows [top, top + rows) of squares; those that reach into the padding are
// assembled first.
static void FN(patches)(float *points, const float *input, int64_t top, int64_t rows, float *border) {
  for (int64_t s = 0; s < rows * FN(squares_w); ++s, points += PATCH_ROW) {
    const int64_t y = (top + s / FN(squares_w)) * EDGE - PAD_TOP, x = s % FN(squares_w) * EDGE - PAD_LEFT;
    const float *from = input + (y * IN_W + x) * IN_LANES;
    if (y >= 0 && y + PATCH <= IN_H && x >= 0 && x + PATCH <= IN_W) {
      FN(patch)(from, IN_W * IN_LANES, IN_LANES, points);
      continue;
    }
    for (int64_t i = 0; i < PATCH; ++i)
      for (int64_t j = 0; j < PATCH; ++j) {
        const int inside = y + i >= 0 && y + i < IN_H && x + j >= 0 && x + j < IN_W;
        v_store(border + (i * PATCH + j) * LANES, inside ? v_load(from + (i * IN_W + j) * IN_LANES) : v_zero());
      }
    FN(patch)(border, PATCH * LANES, LANES, points);
  }
}
#else
// Copies rows [first, first + rows) of the padded picture, `channels` channels of them, to a strip with LANES channels
// side by side.
static void FN(gather)(float *strip, const float *input, int64_t channels, int64_t first, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, strip += FN(strip_w) * LANES) {
    const int64_t y = first + r - PAD_TOP;
    int64_t x = 0;
    if (y >= 0 && y < IN_H) {
      for (; x < PAD_LEFT && x < FN(strip_w); ++x) v_store(strip + x * LANES, v_zero());
      for (int64_t p = 0; p < IN_W; p += LANES) {
        const int64_t count = IN_W - p < LANES ? IN_W - p : LANES;
        vf square[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; ++i) {
          const float *from = input + i * (int64_t)(IN_H * IN_W) + y * IN_W + p;
          square[i] = i < channels ? count == LANES ? v_load(from) : v_load_n(from, count) : v_zero();
        }
        v_transpose(square);
        float *to = strip + (x + p) * LANES;
        if (x + p + LANES <= FN(strip_w)) { // pixels beyond `count` are overwritten later
#pragma GCC unroll 16
          for (int i = 0; i < LANES; ++i) v_store(to + i * LANES, square[i]);
        } else {
#pragma GCC unroll 16
          for (int i = 0; i < LANES; ++i)
            if (i < count && x + p + i < FN(strip_w)) v_store(to + i * LANES, square[i]);
        }
      }
      x += IN_W;
    }
    for (; x < FN(strip_w); ++x) v_store(strip + x * LANES, v_zero());
  }
}

static void FN(patches)(float *points, const float *input, int64_t channels, int64_t top, int64_t rows, float *strip) {
  FN(gather)(strip, input, channels, top * EDGE, rows * EDGE + 2);
  for (int64_t s = 0; s < rows * FN(squares_w); ++s, points += PATCH_ROW) FN(patch)
  (strip + (s / FN(squares_w) * FN(strip_w) + s % FN(squares_w)) * EDGE * LANES, FN(strip_w) * LANES, LANES, points);
}
#endif

#if OUT_LANES > 1
// One row of squares of one vector of channels → rows of the output from `at` on, with bias, residual and activation.
static void FN(result)(const FN(args_t) * args, const float *points, int64_t lines, int64_t at, const float *bias) {
  const vf b = HAS_BIAS ? v_load(bias) : v_zero();
  (void)b;
  for (int64_t s = 0; s < FN(squares_w); ++s, points += PRODUCT_ROW) {
    const int64_t columns = OUT_W - s * EDGE < EDGE ? OUT_W - s * EDGE : EDGE;
    vf half[EDGE][PATCH];
    FN(columns)(points, half);
#pragma GCC unroll 4
    for (int i = 0; i < EDGE; ++i) {
      vf y[EDGE];
      if (i >= lines) break;
      WINOGRAD_OUTPUT(half[i], y);
#pragma GCC unroll 4
      for (int x = 0; x < EDGE; ++x) {
        if (x >= columns) break;
        const int64_t to = at + (i * OUT_W + s * EDGE + x) * OUT_LANES;
        const vf r = HAS_RESIDUAL ? v_load(args->residual + to) : v_zero();
        (void)r;
        v_store(args->output + to, FINISH(y[x], b, r));
      }
    }
  }
}
#else
// One square of a strip.
static inline __attribute__((always_inline)) void FN(square)(const float *points, float *strip) {
  vf half[EDGE][PATCH];
  FN(columns)(points, half);
#pragma GCC unroll 4
  for (int i = 0; i < EDGE; ++i) {
    vf y[EDGE];
    WINOGRAD_OUTPUT(half[i], y);
#pragma GCC unroll 4
    for (int x = 0; x < EDGE; ++x) v_store(strip + (i * FN(squares_w) * EDGE + x) * LANES, y[x]);
  }
}

// A strip of one row of squares, `channels` channels side by side → rows of the output from `at` on, with bias,
// residual and activation. Rows of the output follow each other: pixels are counted through.
static void FN(scatter)(const FN(args_t) * args, const float *strip, int64_t rows, int64_t at, const float *bias,
                        int64_t channels) {
  int64_t x = 0;
  for (int64_t p = 0; p < rows * OUT_W; p += LANES) {
    const int64_t count = rows * OUT_W - p < LANES ? rows * OUT_W - p : LANES;
    vf square[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) {
      square[i] = v_load(strip);
      if (i >= count) continue;
      strip += LANES;
      if (++x == OUT_W) {
        x = 0;
        strip += (FN(squares_w) * EDGE - OUT_W) * LANES;
      }
    }
    v_transpose(square);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) {
      if (i >= channels) break;
      const int64_t to = at + i * (int64_t)FN(pixels) + p;
      const vf b = HAS_BIAS ? v_set1(bias[i]) : v_zero();
      const vf r = HAS_RESIDUAL ? v_load_n(args->residual + to, count) : v_zero();
      (void)b, (void)r;
      const vf sum = FINISH(square[i], b, r);
      if (count == LANES)
        v_store(args->output + to, sum);
      else
        v_store_n(args->output + to, sum, count);
    }
  }
}
#endif

// Rows [top, top + rows) of squares of one image, the block's squares from `square` on: all channels' patches.
static void FN(transform)(const FN(args_t) * args, float *patches, int64_t image, int64_t square, int64_t top,
                          int64_t rows, float *strip) {
  for (int64_t c = 0; c < IN; c += LANES) {
    float *points = patches + square * PATCH_ROW + c;
#if IN_LANES > 1
    FN(patches)
    (points, args->input + (image * IN + c / IN_LANES * IN_LANES) * IN_H * IN_W + c % IN_LANES, top, rows, strip);
#else
    FN(patches)
    (points, args->input + (image * IN + c) * IN_H * IN_W, IN - c < LANES ? IN - c : LANES, top, rows, strip);
#endif
  }
}

// The same rows of the result, panel `w`, whose products start at `products`.
static void FN(finish)(const FN(args_t) * args, const float *products, int64_t image, int64_t w, int64_t top,
                       int64_t rows, float *strip) {
  (void)strip;
  for (int64_t c = 0; c < WEIGHT_PANEL && w * WEIGHT_PANEL + c < OUT; c += LANES) {
    const int64_t channel = w * WEIGHT_PANEL + c;
    const float *bias = HAS_BIAS ? args->bias + image % GROUPS * OUT + channel : NULL;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t y = (top + r) * EDGE, lines = OUT_H - y < EDGE ? OUT_H - y : EDGE;
      const float *points = products + r * FN(squares_w) * PRODUCT_ROW + c;
#if OUT_LANES > 1
      const int64_t start = image * OUT + channel / OUT_LANES * OUT_LANES;
      FN(result)(args, points, lines, start * FN(pixels) + y * OUT_W * OUT_LANES + channel % OUT_LANES, bias);
#else
      for (int64_t s = 0; s < FN(squares_w); ++s) FN(square)(points + s * PRODUCT_ROW, strip + s * EDGE * LANES);
      FN(scatter)
      (args, strip, lines, (image * OUT + channel) * FN(pixels) + y * OUT_W, bias,
       OUT - channel < LANES ? OUT - channel : LANES);
#endif
    }
  }
}

// Panels [first, last) over one block of one group. Where the batch is open, groups are counted through all images.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t group, int64_t block, int64_t first,
                      int64_t last) {
  const int64_t begin = block * BLOCK_ROWS, all = BATCH * FN(squares_h);
  const int64_t end = all - begin < BLOCK_ROWS ? all : begin + BLOCK_ROWS;
  const int64_t squares = (end - begin) * FN(squares_w);
  float *patches = workspace, *products = patches + POINTS * PATCH_STEP, *strip = products + POINTS * PRODUCT_STEP;
  for (int64_t row = begin, rows; row < end; row += rows) { // of one image each
    const int64_t top = row % FN(squares_h), left = FN(squares_h) - top;
    rows = left < end - row ? left : end - row;
    FN(transform)
    (args, patches, row / FN(squares_h) * GROUPS + group, (row - begin) * FN(squares_w), top, rows, strip);
  }
  while (first < last) { // as many panels as there are left in this pass
    const int64_t pass = first / PASS_PANELS * PASS_PANELS;
    const int64_t wide = FN(panels) - pass < PASS_PANELS ? FN(panels) - pass : PASS_PANELS;
    const int64_t stop = last < pass + wide ? last : pass + wide;
    const float *start = args->weights + (group % GROUPS * FN(panels) + pass) * POINTS * IN * WEIGHT_PANEL;
    for (int64_t point = 0; point < POINTS; ++point)
      for (int64_t w = first; w < stop; ++w) {
        const float *weights = start + (point * wide + w - pass) * IN * WEIGHT_PANEL;
        for (int64_t s = 0; s < squares; s += SQUARE_PANEL) {
          float *product = products + point * PRODUCT_STEP + s * PRODUCT_ROW + (w - pass) * WEIGHT_PANEL;
          TILES(squares - s)
          (IN, patches + point * PATCH_STEP + s * PATCH_ROW, weights, NULL, 1, 1, product, NULL, NULL,
           weights + IN * (WEIGHT_PANEL + s / SQUARE_PANEL * AHEAD), AHEAD);
        }
      }
    for (; first < stop; ++first)
      for (int64_t row = begin, rows; row < end; row += rows) {
        const int64_t top = row % FN(squares_h), left = FN(squares_h) - top;
        const float *product = products + (row - begin) * FN(squares_w) * PRODUCT_ROW;
        rows = left < end - row ? left : end - row;
        FN(finish)
        (args, product + (first - pass) * WEIGHT_PANEL, row / FN(squares_h) * GROUPS + group, first, top, rows, strip);
      }
  }
}
