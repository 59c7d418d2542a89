// Convolution 3x3 of stride 1, NCHW, by Winograd's minimal filtering: the output is cut into squares of EDGE x EDGE,
// each from a patch of PATCH x PATCH pixels. Transformed patches times transformed weights are POINTS independent
// matrix products [squares][IN] x [IN][OUT]. Lanes are channels throughout. One block is BLOCK_ROWS rows of squares.
// For each block: patches of all input channels are transformed to the workspace; then, for each panel of WEIGHT_PANEL
// output channels, the products and the transform back. Weights arrive transformed:
// [GROUPS][panel][POINTS][IN][WEIGHT_PANEL], zeros where there is no channel.
enum {
  FN(pixels) = OUT_H * OUT_W,
  FN(squares_w) = (OUT_W + EDGE - 1) / EDGE,
  FN(squares_h) = (OUT_H + EDGE - 1) / EDGE,
  FN(blocks) = (FN(squares_h) + BLOCK_ROWS - 1) / BLOCK_ROWS,
  FN(weight_panels) = (OUT + WEIGHT_PANEL - 1) / WEIGHT_PANEL,
  FN(strip_w) = FN(squares_w) * EDGE + 2,
  // One unit of work: one panel of weights over one block.
  FN(items) = BATCH * GROUPS * FN(blocks) * FN(weight_panels),
};

typedef struct FN(args_t) {
  const float *input, *weights, *bias, *residual;
  float *output, *workspace;
  int64_t shares;
} FN(args_t);

// Pixels of `channels` channels, rows [first, first + rows) of the padded picture, to a strip with LANES channels side
// by side.
static void FN(gather)(float *strip, const float *input, int64_t channels, int64_t first, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, strip += FN(strip_w) * LANES) {
    const int64_t y = first + r - PAD_TOP;
    int64_t x = 0;
    if (y >= 0 && y < IN_H) {
      for (; x < PAD_LEFT; ++x) v_store(strip + x * LANES, v_zero());
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
        if (x + p + LANES <= FN(strip_w)) { // what is too much is written over
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

// One patch of a strip → its POINTS vectors, `step` floats apart.
static inline __attribute__((always_inline)) void FN(patch)(const float *strip, float *points, int64_t step) {
  vf half[PATCH][PATCH];
#pragma GCC unroll 6
  for (int x = 0; x < PATCH; ++x) {
    vf d[PATCH], t[PATCH];
#pragma GCC unroll 6
    for (int y = 0; y < PATCH; ++y) d[y] = v_load(strip + (y * FN(strip_w) + x) * LANES);
    WINOGRAD_INPUT(d, t);
#pragma GCC unroll 6
    for (int y = 0; y < PATCH; ++y) half[y][x] = t[y];
  }
#pragma GCC unroll 6
  for (int y = 0; y < PATCH; ++y) {
    vf t[PATCH];
    WINOGRAD_INPUT(half[y], t);
#pragma GCC unroll 6
    for (int x = 0; x < PATCH; ++x) v_store(points + (y * PATCH + x) * step, t[x]);
  }
}

// POINTS vectors of products, `step` floats apart → one square of a strip.
static inline __attribute__((always_inline)) void FN(square)(const float *points, int64_t step, float *strip) {
  vf half[EDGE][PATCH];
#pragma GCC unroll 6
  for (int x = 0; x < PATCH; ++x) {
    vf p[PATCH], y[EDGE];
#pragma GCC unroll 6
    for (int i = 0; i < PATCH; ++i) p[i] = v_load(points + (i * PATCH + x) * step);
    WINOGRAD_OUTPUT(p, y);
#pragma GCC unroll 4
    for (int i = 0; i < EDGE; ++i) half[i][x] = y[i];
  }
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

// Weight panels [first, last) over one block of one image and group.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t image, int64_t block, int64_t first,
                      int64_t last) {
  const int64_t group = image % GROUPS, top = block * BLOCK_ROWS;
  const int64_t rows = FN(squares_h) - top < BLOCK_ROWS ? FN(squares_h) - top : BLOCK_ROWS;
  const int64_t squares = rows * FN(squares_w);
  float *patches = workspace, *products = patches + POINTS * PATCH_STEP, *strip = products + POINTS * PRODUCT_STEP;
  for (int64_t c = 0; c < IN; c += LANES) {
    FN(gather)
    (strip, args->input + (image * IN + c) * IN_H * IN_W, IN - c < LANES ? IN - c : LANES, top * EDGE, rows * EDGE + 2);
    for (int64_t s = 0; s < squares; ++s) FN(patch)
    (strip + (s / FN(squares_w) * FN(strip_w) + s % FN(squares_w)) * EDGE * LANES, patches + s * PATCH_ROW + c,
     PATCH_STEP);
  }
  for (int64_t w = first; w < last; ++w) {
    const float *weights = args->weights + (group * FN(weight_panels) + w) * POINTS * IN * WEIGHT_PANEL;
    for (int64_t point = 0; point < POINTS; ++point, weights += IN * WEIGHT_PANEL)
      for (int64_t s = 0; s < squares; s += SQUARE_PANEL) {
        float *product = products + point * PRODUCT_STEP + s * WEIGHT_PANEL;
        TILES(squares - s)
        (IN, patches + point * PATCH_STEP + s * PATCH_ROW, weights, NULL, 1, 1, product, NULL, NULL,
         weights + IN * (WEIGHT_PANEL + s / SQUARE_PANEL * AHEAD), AHEAD);
      }
    for (int64_t c = 0; c < WEIGHT_PANEL && w * WEIGHT_PANEL + c < OUT; c += LANES) {
      const int64_t channel = w * WEIGHT_PANEL + c;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t y = (top + r) * EDGE;
        for (int64_t s = 0; s < FN(squares_w); ++s) FN(square)
        (products + (r * FN(squares_w) + s) * WEIGHT_PANEL + c, PRODUCT_STEP, strip + s * EDGE * LANES);
        FN(scatter)
        (args, strip, OUT_H - y < EDGE ? OUT_H - y : EDGE, (image * OUT + channel) * FN(pixels) + y * OUT_W,
         HAS_BIAS ? args->bias + group * OUT + channel : NULL, OUT - channel < LANES ? OUT - channel : LANES);
      }
    }
  }
}

static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share) {
    int64_t item = FN(items) * share / args->shares;
    const int64_t stop = FN(items) * (share + 1) / args->shares;
    while (item < stop) { // as many weight panels as there are left in this block
      int64_t first = item % FN(weight_panels);
      int64_t last = FN(weight_panels) - first < stop - item ? FN(weight_panels) : first + stop - item;
      int64_t block = item / FN(weight_panels);
      FN(block)(args, args->workspace + share * SLOT_FLOATS, block / FN(blocks), block % FN(blocks), first, last);
      item += last - first;
    }
  }
}
