// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution NCHW on words: a word holds the next TAPS taps of a row of the kernel, so that a row takes
// ROW_WORDS products. A band of BAND_H rows of results at a time: the rows that it reads are copied with their padding,
// TALL rows of WIDE terms each. Lanes run over the positions of a row; or over all of a small plane, with the positions
// between its rows (FLAT), which are not stored. Weights: [channel][row][word].
#if DOT == DOT_I8X4
#define TERM_T uint8_t
#else
#define TERM_T int16_t
#endif
enum {
  FN(channels) = GROUPS * OUT,
  FN(bands) = (OUT_H + BAND_H - 1) / BAND_H,
  FN(blocks) = 1,
  FN(run) = FN(channels) * FN(bands), // one unit of work: a band of a channel
  FN(items) = BATCH * FN(run),
  FN(positions) = FLAT ? (OUT_H - 1) * WIDE + OUT_W : OUT_W, // of a line
  FN(vectors) = (FN(positions) + LANES - 1) / LANES,
  FN(left) = PAD_LEFT < WIDE ? PAD_LEFT : WIDE, // terms of padding in front of a row, and terms of the image in it
  FN(inner) = IN_W < WIDE - FN(left) ? IN_W : WIDE - FN(left),
};

static inline void FN(fill)(TERM_T *to, int64_t count, int32_t zero) {
#if DOT == DOT_I8X4
  memset(to, zero, (size_t)count);
#else
  (void)zero; // is subtracted from all terms
  memset(to, 0, (size_t)count * sizeof *to);
#endif
}

static inline void FN(copy)(TERM_T *to, const DATA_T *from, int32_t zero) {
#if DOT == DOT_I8X4
  (void)zero;
  memcpy(to, from, FN(inner));
#if DATA == AS_I8
  int64_t x = 0;
  for (uint64_t eight; x + 8 <= FN(inner); x += 8) {
    memcpy(&eight, to + x, 8);
    eight ^= UINT64_C(0x8080808080808080);
    memcpy(to + x, &eight, 8);
  }
  for (; x < FN(inner); ++x) to[x] ^= 128;
#endif
#else
  for (int64_t x = 0; x < FN(inner); x += LANES) {
    const int64_t n = FN(inner) - x < LANES ? FN(inner) - x : LANES;
    w_store_low(to + x, FN(terms)(from + x, n, 1, zero, 0.0f), n, BITS);
  }
#endif
}

// The rows that the results from row `first` on read. The padding of a single band is there before.
static void FN(pad)(const FN(args_t) * args, TERM_T *to, const DATA_T *plane, int64_t first) {
  for (int64_t y = 0; y < TALL; ++y, to += WIDE) {
    const int64_t in_y = first * STRIDE_H + y - PAD_TOP;
    const int is_inside = in_y >= 0 && in_y < IN_H;
    if (FN(bands) > 1 && is_inside) {
      FN(fill)(to, FN(left), args->zero);
      FN(fill)(to + FN(left) + FN(inner), WIDE - FN(left) - FN(inner), args->zero);
    } else if (FN(bands) > 1) {
      FN(fill)(to, WIDE, args->zero);
    }
    if (is_inside) FN(copy)(to + FN(left), plane + in_y * IN_W, args->zero);
  }
}

// Of a FLAT line: which lanes of each vector are results, and where the first of them is stored. Rows of any length
// need no table.
typedef struct FN(line_t) {
  uint32_t valid[FLAT ? FN(vectors) : 1];
  int32_t at[FLAT ? FN(vectors) : 1];
} FN(line_t);

static void FN(measure_line)(FN(line_t) * line) {
  for (int64_t v = 0; FLAT && v < FN(vectors); ++v) {
    const int64_t row = v * LANES / WIDE, column = v * LANES % WIDE;
    line->at[v] = (int32_t)(row * OUT_W + (column < OUT_W ? column : OUT_W));
    line->valid[v] = 0;
    for (int64_t l = 0, x = column; l < LANES; ++l) {
      line->valid[v] |= (uint32_t)(v * LANES + l < FN(positions) && x < OUT_W) << l;
      if (++x == WIDE) x = 0;
    }
  }
}

// The valid lanes of vector v.
static inline uint32_t FN(valid)(const FN(line_t) * line, int64_t v) {
  if (FLAT) return line->valid[v];
  const int64_t left = FN(positions) - v * LANES;
  return (uint32_t)((UINT64_C(1) << (left < LANES ? left : LANES)) - 1);
}

// What a channel's sums are made of, and what makes results of them.
typedef struct FN(channel_t) {
  vi weights[KERNEL_H][ROW_WORDS], offset;
  vf scale, shift, exact, summand;
  float factor;
  w_byte_t byte;
  w_join_t join;
} FN(channel_t);

static inline __attribute__((always_inline)) void FN(begin)(const FN(args_t) * args, int64_t channel,
                                                            FN(channel_t) * out) {
  for (int r = 0; r < KERNEL_H; ++r)
    for (int j = 0; j < ROW_WORDS; ++j)
      out->weights[r][j] = w_set1(args->weights[(channel * KERNEL_H + r) * ROW_WORDS + j]);
  int32_t summand = args->offsets[channel];
  if (READS_ZERO && DOT == DOT_I8X4) summand -= (int32_t)((uint32_t)args->zero * (uint32_t)args->sums[channel]);
  out->offset = w_set1(summand);
  out->byte = args->byte;
  out->join = args->join;
  out->scale = v_set1(args->scales[channel] * args->factor), out->shift = v_set1(args->shifts[channel]);
#if HAS_FACTORS
  out->factor = args->factors[channel];
  out->exact = v_set1(args->factors[channel]), out->summand = v_set1(args->summands[channel]);
#endif
}

static inline __attribute__((always_inline)) void FN(end)(const FN(args_t) * args, const FN(channel_t) * c, SUM_T sum,
                                                          int64_t to, uint32_t valid) {
  RESULT_T *output = args->output + to;
  const RESIDUAL_T *residual = HAS_RESIDUAL ? args->residual + to : NULL;
#if HAS_FACTORS
  if (c->factor > 0.0f) {
    FN(finish_exact)(sum, c->offset, c->exact, c->summand, output, residual, valid, &c->byte, &c->join);
    return;
  }
  if (__builtin_expect(c->factor == 0.0f, 1)) {
    FN(finish_inverse)(sum, c->offset, c->scale, output, residual, valid, &c->byte, &c->join);
    return;
  }
#endif
  FN(finish)(sum, c->offset, c->scale, c->shift, output, residual, valid, &c->byte, &c->join);
}

// One vector of `rows` rows of results, below each other: words that several of them read are made once. Row y begins
// at at + y * OUT_W of the result.
static inline __attribute__((always_inline)) void FN(rows)(const FN(args_t) * args, const FN(channel_t) * c,
                                                           const TERM_T *from, const int rows, int64_t at,
                                                           uint32_t valid) {
  SUM_T sum[MOST_ROWS];
#pragma GCC unroll 8
  for (int y = 0; y < rows; ++y) sum[y] = (SUM_T){0};
#pragma GCC unroll 32
  for (int i = 0; i < (rows - 1) * STRIDE_H + (KERNEL_H - 1) * DILATION_H + 1; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < ROW_WORDS; ++j) {
      vi word = w_spread(from + (int64_t)i * WIDE + j * TAPS * DILATION_W, STRIDE_W, UNIT);
#pragma GCC unroll 8
      for (int y = 0; y < rows; ++y) {
        const int r = (i - y * STRIDE_H) / DILATION_H;
        if (i >= y * STRIDE_H && r < KERNEL_H && r * DILATION_H == i - y * STRIDE_H)
          sum[y] = FN(dot)(sum[y], word, c->weights[r][j]);
      }
    }
#pragma GCC unroll 8
  for (int y = 0; y < rows; ++y) FN(end)(args, c, sum[y], at + y * OUT_W, valid);
}

// One band of a channel, whose terms lie at `from` and whose results at `at` of the tensor.
static void FN(band)(const FN(args_t) * args, const FN(line_t) * line, const TERM_T *from, int64_t channel, int64_t at,
                     int64_t rows) {
  FN(channel_t) c;
  FN(begin)(args, channel, &c);
  for (int64_t v = 0; v < FN(vectors); ++v) {
    const TERM_T *column = from + v * LANES * STRIDE_W;
    const int64_t to = at + (FLAT ? line->at[v] : v * LANES), lines = FLAT ? 1 : rows;
    const uint32_t valid = FN(valid)(line, v);
    int64_t y = 0;
    for (; y + MOST_ROWS <= lines; y += MOST_ROWS)
      FN(rows)(args, &c, column + y * STRIDE_H * WIDE, MOST_ROWS, to + y * OUT_W, valid);
    for (; MOST_ROWS > 1 && y < lines; ++y) FN(rows)(args, &c, column + y * STRIDE_H * WIDE, 1, to + y * OUT_W, valid);
  }
}

// Bands [first, last) of the channels of one image.
static void FN(block)(const FN(args_t) * args, int32_t *slot, int64_t image, int64_t block, int64_t first,
                      int64_t last) {
  (void)block;
  FN(line_t) line;
  FN(measure_line)(&line);
  TERM_T *padded = (TERM_T *)(void *)slot;
  if (FN(bands) == 1) FN(fill)(padded, TALL * WIDE, args->zero);
  for (int64_t item = first; item < last; ++item) {
    const int64_t channel = item / FN(bands), row = item % FN(bands) * BAND_H;
    const int64_t rows = OUT_H - row < BAND_H ? OUT_H - row : BAND_H;
    FN(pad)(args, padded, args->input + (image * GROUPS + channel / OUT) * (int64_t)(IN_H * IN_W), row);
    FN(band)(args, &line, padded, channel, ((image * FN(channels) + channel) * OUT_H + row) * OUT_W, rows);
  }
}

static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker);

static void FN(run_all)(FN(args_t) * args, const byoc_runtime_t *runtime) {
  runtime->parallel_for(runtime->self, FN(share), args, args->shares, 1);
}
#undef TERM_T
