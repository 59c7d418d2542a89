// SPDX-License-Identifier: Apache-2.0
// Convolution 3x3 of stride 1 by Winograd's minimal filtering, EDGE x EDGE outputs at a time. Each square of the output
// reads a patch of PATCH x PATCH inputs; patches and filters are transformed, multiplied channel by channel at each of
// PATCH * PATCH points, and the sums are transformed back. Rows of squares are counted through all images: a block is
// BLOCK_ROWS of them, or where the sizes are those of a call as many rows and columns as give at most BLOCK_SQUARES. A
// block's patches are transformed once for all panels of WEIGHT_PANEL output channels.
// FN(pass_panels) panels are multiplied point by point, then transformed back: several of them where the patches
// outgrow the cache.
//   IN_LANES 16   the input is blocked, [BATCH][GROUPS * IN / 16][IN_H][IN_W][16]; 1: NCHW
//   OUT_LANES     the same for output and residual
// Weights arrive transformed: [GROUPS][pass][POINTS][panel of the pass][IN][WEIGHT_PANEL], zeros where there is no
// channel; a pass has PASS_PANELS panels. Weights of f16 and bf16 arrive as they are,
// [GROUPS][panel][IN][9][WEIGHT_PANEL], which is a quarter of the size; each block transforms the filters of one panel
// into the workspace, from TRANSFORMED_AT on.
enum {
  FN(panels) = (OUT + WEIGHT_PANEL - 1) / WEIGHT_PANEL,
  FN(run) = FN(panels), // items of one block
};

CALL_SIZE FN(pixels)(const FN(args_t) * args) {
  (void)args;
  return OUT_H * OUT_W;
}

CALL_SIZE FN(squares_w)(const FN(args_t) * args) {
  (void)args;
  return (OUT_W + EDGE - 1) / EDGE;
}

CALL_SIZE FN(squares_h)(const FN(args_t) * args) {
  (void)args;
  return (OUT_H + EDGE - 1) / EDGE;
}

// Blocks side by side, and the columns of squares in one of them.
CALL_SIZE FN(blocks_w)(const FN(args_t) * args) {
  return OPEN_SIZES ? (FN(squares_w)(args) + BLOCK_SQUARES - 1) / BLOCK_SQUARES : 1;
}

CALL_SIZE FN(block_columns)(const FN(args_t) * args) {
  return (FN(squares_w)(args) + FN(blocks_w)(args) - 1) / FN(blocks_w)(args);
}

// The rows of squares in a block: as many in each as the last one leaves.
CALL_SIZE FN(block_rows)(const FN(args_t) * args) {
  if (!OPEN_SIZES) return BLOCK_ROWS;
  const int64_t most = BLOCK_SQUARES / FN(block_columns)(args), rows = FN(squares_h)(args);
  const int64_t blocks = (rows + most - 1) / most;
  return (rows + blocks - 1) / blocks;
}

CALL_SIZE FN(blocks)(const FN(args_t) * args) {
  const int64_t rows = FN(block_rows)(args);
  return (BATCH * FN(squares_h)(args) + rows - 1) / rows * FN(blocks_w)(args);
}

// One unit of work: one panel of weights over one block.
CALL_SIZE FN(items)(const FN(args_t) * args) {
  return GROUPS * FN(blocks)(args) * FN(panels);
}

CALL_SIZE FN(pass_panels)(int64_t squares) {
  const int64_t patch_bytes = squares * POINTS * IN * (int64_t)sizeof(float);
  if (!OPEN_SIZES || HALF_WEIGHTS) return PASS_PANELS;
  return patch_bytes > LARGE_PATCHES && patch_bytes * FN(panels) > LARGE_READING ? FN(panels) : 1;
}

#if HALF_WEIGHTS
// The filters of panel `w` at all points: [POINTS][IN][WEIGHT_PANEL].
static void FN(filters)(const FN(args_t) * args, int64_t group, int64_t w, float *transformed) {
  const WEIGHT_T *from = args->weights + (group % GROUPS * FN(panels) + w) * (int64_t)(IN * 9 * WEIGHT_PANEL);
  for (int64_t i = 0; i < IN; ++i, from += 9 * WEIGHT_PANEL)
    for (int64_t c = 0; c < WEIGHT_PANEL; c += LANES) {
      vf half[PATCH][3];
      float *to = transformed + i * WEIGHT_PANEL + c;
#pragma GCC unroll 3
      for (int x = 0; x < 3; ++x) {
        vf f[3], t[PATCH];
#pragma GCC unroll 3
        for (int y = 0; y < 3; ++y) f[y] = v_load(from + (y * 3 + x) * WEIGHT_PANEL + c);
        WINOGRAD_FILTER(f, t);
#pragma GCC unroll 6
        for (int y = 0; y < PATCH; ++y) half[y][x] = t[y];
      }
#pragma GCC unroll 6
      for (int y = 0; y < PATCH; ++y) {
        vf t[PATCH];
        WINOGRAD_FILTER(half[y], t);
#pragma GCC unroll 6
        for (int x = 0; x < PATCH; ++x) v_store(to + (y * PATCH + x) * (int64_t)(IN * WEIGHT_PANEL), t[x]);
      }
    }
}
#else
// The weights of panel `w` at one point.
static inline const float *FN(weights)(const FN(args_t) * args, int64_t group, int64_t point, int64_t w) {
  const int64_t pass = w / PASS_PANELS * PASS_PANELS;
  const int64_t wide = FN(panels) - pass < PASS_PANELS ? FN(panels) - pass : PASS_PANELS;
  return args->weights +
         ((group % GROUPS * FN(panels) + pass) * POINTS + point * wide + w - pass) * (int64_t)(IN * WEIGHT_PANEL);
}
#endif

// The rows of a tile where `left` squares are left. Those of a call are split evenly.
CALL_SIZE FN(tile_rows)(int64_t left) {
  const int64_t tiles = (left + SQUARE_PANEL - 1) / SQUARE_PANEL;
  return OPEN_SIZES ? (left + tiles - 1) / tiles : SQUARE_PANEL;
}

// Part of an image: columns [left, left + columns) of rows [top, top + rows) of squares.
typedef struct FN(part_t) {
  int64_t image, top, rows, left, columns;
} FN(part_t);

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
// Patches of one vector of channels; those that reach into the padding are assembled first.
static void FN(patches)(const FN(args_t) * args, float *points, const float *input, const FN(part_t) * part,
                        float *border) {
  (void)args;
  for (int64_t s = 0; s < part->rows * part->columns; ++s, points += PATCH_ROW) {
    const int64_t y = (part->top + s / part->columns) * EDGE - PAD_TOP;
    const int64_t x = (part->left + s % part->columns) * EDGE - PAD_LEFT;
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
// Copies the input of a part's squares, `channels` channels of it, to a strip with LANES channels side by side.
static void FN(gather)(const FN(args_t) * args, float *strip, const DATA_T *input, int64_t channels,
                       const FN(part_t) * part) {
  (void)args;
  const int64_t wide = part->columns * EDGE + 2, begin = part->left * EDGE - PAD_LEFT;
  for (int64_t r = 0; r < part->rows * EDGE + 2; ++r, strip += wide * LANES) {
    const int64_t y = part->top * EDGE + r - PAD_TOP;
    int64_t x = 0;
    if (y >= 0 && y < IN_H) {
      for (; x < -begin && x < wide; ++x) v_store(strip + x * LANES, v_zero());
      for (; x < wide && begin + x < IN_W; x += LANES) {
        const int64_t p = begin + x, count = IN_W - p < LANES ? IN_W - p : LANES;
        vf square[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; ++i) {
          const DATA_T *from = input + i * (int64_t)(IN_H * IN_W) + y * IN_W + p;
          square[i] = i < channels ? count == LANES ? v_load(from) : v_load_n(from, count) : v_zero();
        }
        v_transpose(square);
        float *to = strip + x * LANES;
        if (x + LANES <= wide) { // pixels beyond `count` are overwritten later
#pragma GCC unroll 16
          for (int i = 0; i < LANES; ++i) v_store(to + i * LANES, square[i]);
        } else {
#pragma GCC unroll 16
          for (int i = 0; i < LANES; ++i)
            if (i < count && x + i < wide) v_store(to + i * LANES, square[i]);
        }
      }
      if (begin < IN_W && x > IN_W - begin) x = IN_W - begin;
    }
    for (; x < wide; ++x) v_store(strip + x * LANES, v_zero());
  }
}

static void FN(patches)(const FN(args_t) * args, float *points, const DATA_T *input, int64_t channels,
                        const FN(part_t) * part, float *strip) {
  const int64_t columns = part->columns, wide = columns * EDGE + 2;
  FN(gather)(args, strip, input, channels, part);
  for (int64_t s = 0; s < part->rows * columns; ++s, points += PATCH_ROW)
    FN(patch)(strip + (s / columns * wide + s % columns) * EDGE * LANES, wide * LANES, LANES, points);
}
#endif

#if OUT_LANES > 1
// One row of `squares` squares of one vector of channels, `wide` pixels of the output → rows of the output from `at`
// on, with bias, residual and activation.
static void FN(result)(const FN(args_t) * args, const float *points, int64_t squares, int64_t lines, int64_t wide,
                       int64_t at, const float *bias) {
  const vf b = HAS_BIAS ? v_load(bias) : v_zero();
  (void)b;
  for (int64_t s = 0; s < squares; ++s, points += PRODUCT_ROW) {
    const int64_t columns = wide - s * EDGE < EDGE ? wide - s * EDGE : EDGE;
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
// One square of a strip, whose rows are `pitch` floats apart.
static inline __attribute__((always_inline)) void FN(square)(const float *points, float *strip, int64_t pitch) {
  vf half[EDGE][PATCH];
  FN(columns)(points, half);
#pragma GCC unroll 4
  for (int i = 0; i < EDGE; ++i) {
    vf y[EDGE];
    WINOGRAD_OUTPUT(half[i], y);
#pragma GCC unroll 4
    for (int x = 0; x < EDGE; ++x) v_store(strip + i * pitch + x * LANES, y[x]);
  }
}

// `rows` rows of a strip, `channels` channels side by side, rows of `wide` pixels `pitch` floats apart → the output
// from `at` on, with bias, residual and activation. Pixels of the output are counted through.
static void FN(scatter)(const FN(args_t) * args, const float *strip, int64_t rows, int64_t wide, int64_t pitch,
                        int64_t at, const float *bias, int64_t channels) {
  int64_t x = 0;
  for (int64_t p = 0; p < rows * wide; p += LANES) {
    const int64_t count = rows * wide - p < LANES ? rows * wide - p : LANES;
    vf square[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) {
      square[i] = v_load(strip);
      if (i >= count) continue;
      strip += LANES;
      if (++x == wide) {
        x = 0;
        strip += pitch - wide * LANES;
      }
    }
    v_transpose(square);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) {
      if (i >= channels) break;
      const int64_t to = at + i * FN(pixels)(args) + p;
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

// All channels' patches of a part, the block's squares from `square` on.
static void FN(transform)(const FN(args_t) * args, float *patches, int64_t square, const FN(part_t) * part,
                          float *strip) {
  const int64_t image = part->image;
  for (int64_t c = 0; c < IN; c += LANES) {
    float *points = patches + square * PATCH_ROW + c;
#if IN_LANES > 1
    FN(patches)
    (args, points, args->input + (image * IN + c / IN_LANES * IN_LANES) * IN_H * IN_W + c % IN_LANES, part, strip);
#else
    FN(patches)
    (args, points, args->input + (image * IN + c) * IN_H * IN_W, IN - c < LANES ? IN - c : LANES, part, strip);
#endif
  }
}

// The same part of the result, panel `w`, whose products start at `products`.
static void FN(finish)(const FN(args_t) * args, const float *products, int64_t w, const FN(part_t) * part,
                       float *strip) {
  (void)strip;
  const int64_t image = part->image, columns = part->columns, x = part->left * EDGE;
  const int64_t wide = OUT_W - x < columns * EDGE ? OUT_W - x : columns * EDGE;
  for (int64_t c = 0; c < WEIGHT_PANEL && w * WEIGHT_PANEL + c < OUT; c += LANES) {
    const int64_t channel = w * WEIGHT_PANEL + c;
    const float *bias = HAS_BIAS ? args->bias + image % GROUPS * OUT + channel : NULL;
    for (int64_t r = 0; r < part->rows; ++r) {
      const int64_t y = (part->top + r) * EDGE, lines = OUT_H - y < EDGE ? OUT_H - y : EDGE;
      const float *points = products + r * columns * PRODUCT_ROW + c;
#if OUT_LANES > 1
      const int64_t start = (image * OUT + channel / OUT_LANES * OUT_LANES) * FN(pixels)(args);
      FN(result)
      (args, points, columns, lines, wide, start + (y * OUT_W + x) * OUT_LANES + channel % OUT_LANES, bias);
#else
      const int64_t at = (image * OUT + channel) * FN(pixels)(args) + y * OUT_W + x, pitch = columns * EDGE * LANES;
      const int64_t channels = OUT - channel < LANES ? OUT - channel : LANES;
      for (int64_t s = 0; s < columns; ++s) FN(square)(points + s * PRODUCT_ROW, strip + s * EDGE * LANES, pitch);
      if (!OPEN_SIZES || wide == OUT_W)
        FN(scatter)(args, strip, lines, wide, pitch, at, bias, channels);
      else
        for (int64_t i = 0; i < lines; ++i)
          FN(scatter)(args, strip + i * pitch, 1, wide, pitch, at + i * OUT_W, bias, channels);
#endif
    }
  }
}

// The part of a block that starts at `row` and ends with the image, or before row `end`. Rows are counted through all
// images.
static inline FN(part_t) FN(part)(const FN(args_t) * args, int64_t group, int64_t block, int64_t row, int64_t end) {
  FN(part_t) part = {.image = row / FN(squares_h)(args) * GROUPS + group, .top = row % FN(squares_h)(args)};
  part.rows = FN(squares_h)(args) - part.top;
  if (part.rows > end - row) part.rows = end - row;
  part.columns = FN(block_columns)(args);
  part.left = block % FN(blocks_w)(args) * part.columns;
  if (part.columns > FN(squares_w)(args) - part.left) part.columns = FN(squares_w)(args) - part.left;
  return part;
}

// Panels [first, last) over one block of one group. Where the batch is open, groups are counted through all images.
static void FN(block)(const FN(args_t) * args, float *workspace, int64_t group, int64_t block, int64_t first,
                      int64_t last) {
  const int64_t begin = block / FN(blocks_w)(args) * FN(block_rows)(args), all = BATCH * FN(squares_h)(args);
  const int64_t end = all - begin < FN(block_rows)(args) ? all : begin + FN(block_rows)(args);
  const int64_t columns = FN(part)(args, group, block, begin, end).columns, squares = (end - begin) * columns;
  const int64_t together = FN(pass_panels)(squares), tiles = (squares + SQUARE_PANEL - 1) / SQUARE_PANEL;
  const int64_t ahead = (WEIGHT_PANEL + tiles - 1) / tiles; // the tiles share the reading of the next weights
  float *patches = workspace, *products = patches + POINTS * PATCH_STEP, *strip = products + POINTS * PRODUCT_STEP;
  for (int64_t row = begin; row < end;) { // of one image each
    const FN(part_t) part = FN(part)(args, group, block, row, end);
    FN(transform)(args, patches, (row - begin) * columns, &part, strip);
    row += part.rows;
  }
#if HALF_WEIGHTS
  float *const transformed = workspace + TRANSFORMED_AT;
#endif
  while (first < last) { // as many panels as there are left in this pass
    const int64_t pass = first / together * together;
    const int64_t stop = last < pass + together ? last : pass + together;
#if HALF_WEIGHTS
    FN(filters)(args, group, first, transformed);
#endif
    for (int64_t point = 0; point < POINTS; ++point)
      for (int64_t w = first; w < stop; ++w) {
#if HALF_WEIGHTS
        const float *weights = transformed + point * (int64_t)(IN * WEIGHT_PANEL);
        const float *next = weights;
#else
        const float *weights = FN(weights)(args, group, point, w);
        const float *next = w + 1 < stop ? FN(weights)(args, group, point, w + 1)
                                         : FN(weights)(args, group, point + 1 < POINTS ? point + 1 : 0, first);
#endif
        for (int64_t s = 0, t = 0, height; s < squares; s += height, ++t) {
          float *product = products + point * PRODUCT_STEP + s * PRODUCT_ROW + (w - pass) * WEIGHT_PANEL;
          height = FN(tile_rows)(squares - s);
          TILES(OPEN_SIZES ? height : squares - s)
          (IN, patches + point * PATCH_STEP + s * PATCH_ROW, weights, NULL, 1, 1, product, NULL, NULL,
           next + t * IN * ahead, ahead);
        }
      }
    for (; first < stop; ++first)
      for (int64_t row = begin; row < end;) {
        const FN(part_t) part = FN(part)(args, group, block, row, end);
        const float *product = products + (row - begin) * columns * PRODUCT_ROW;
        FN(finish)(args, product + (first - pass) * WEIGHT_PANEL, first, &part, strip);
        row += part.rows;
      }
  }
}
