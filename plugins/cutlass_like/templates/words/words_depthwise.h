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

// The rows that the results from row `first` on read.
static void FN(pad)(const FN(args_t) * args, TERM_T *to, const DATA_T *plane, int64_t first) {
  for (int64_t y = 0; y < TALL; ++y, to += WIDE) {
    const int64_t in_y = first * STRIDE_H + y - PAD_TOP;
    if (in_y < 0 || in_y >= IN_H) {
      FN(fill)(to, WIDE, args->zero);
      continue;
    }
    FN(fill)(to, FN(left), args->zero);
    FN(copy)(to + FN(left), plane + in_y * IN_W, args->zero);
    FN(fill)(to + FN(left) + FN(inner), WIDE - FN(left) - FN(inner), args->zero);
  }
}

// Which lanes of each vector of a line are results, and where the first of them is stored.
typedef struct FN(line_t) {
  uint32_t valid[FN(vectors)];
  int32_t at[FN(vectors)];
} FN(line_t);

static void FN(measure_line)(FN(line_t) * line) {
  for (int64_t v = 0; v < FN(vectors); ++v) {
    const int64_t row = v * LANES / WIDE, column = v * LANES % WIDE;
    line->at[v] = (int32_t)(FLAT ? row * OUT_W + (column < OUT_W ? column : OUT_W) : v * LANES);
    line->valid[v] = 0;
    for (int64_t l = 0, x = FLAT ? column : 0; l < LANES; ++l) {
      line->valid[v] |= (uint32_t)(v * LANES + l < FN(positions) && (!FLAT || x < OUT_W)) << l;
      if (++x == WIDE) x = 0;
    }
  }
}

static inline __attribute__((always_inline)) SUM_T FN(sum)(const TERM_T *from, const vi weights[KERNEL_H][ROW_WORDS]) {
  SUM_T sum = {0};
#pragma GCC unroll 16
  for (int r = 0; r < KERNEL_H; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < ROW_WORDS; ++j)
      sum = FN(dot)(sum, w_spread(from + (int64_t)r * DILATION_H * WIDE + j * TAPS * DILATION_W, STRIDE_W, UNIT),
                    weights[r][j]);
  return sum;
}

// One band of a channel, whose terms lie at `from` and whose results at `at` of the tensor.
static void FN(band)(const FN(args_t) * args, const FN(line_t) * line, const TERM_T *from, int64_t channel, int64_t at,
                     int64_t rows) {
  vi weights[KERNEL_H][ROW_WORDS];
  for (int r = 0; r < KERNEL_H; ++r)
    for (int j = 0; j < ROW_WORDS; ++j) weights[r][j] = w_set1(args->weights[(channel * KERNEL_H + r) * ROW_WORDS + j]);
  int32_t summand = args->offsets[channel];
  if (READS_ZERO && DOT == DOT_I8X4) summand -= (int32_t)((uint32_t)args->zero * (uint32_t)args->sums[channel]);
  const vi offset = w_set1(summand);
  const w_byte_t byte = args->byte;
  const w_join_t join = args->join;
  const vf scale = v_set1(args->scales[channel] * args->factor), shift = v_set1(args->shifts[channel]);
#if HAS_FACTORS
  const vf exact = v_set1(args->factors[channel]), exact_summand = v_set1(args->summands[channel]);
  const int is_exact = args->factors[channel] > 0.0f, has_inverse = args->factors[channel] == 0.0f;
#endif
  for (int64_t y = 0; y < (FLAT ? 1 : rows); ++y, from += STRIDE_H * WIDE, at += OUT_W)
    for (int64_t v = 0; v < FN(vectors); ++v) {
      const SUM_T sum = FN(sum)(from + v * LANES * STRIDE_W, weights);
      const int64_t to = at + line->at[v];
#if HAS_FACTORS
      if (is_exact) {
        FN(finish_exact)
        (sum, offset, exact, exact_summand, args->output + to, HAS_RESIDUAL ? args->residual + to : NULL,
         line->valid[v], &byte, &join);
        continue;
      }
      if (__builtin_expect(has_inverse, 1)) {
        FN(finish_inverse)
        (sum, offset, scale, args->output + to, HAS_RESIDUAL ? args->residual + to : NULL, line->valid[v], &byte,
         &join);
        continue;
      }
#endif
      FN(finish)
      (sum, offset, scale, shift, args->output + to, HAS_RESIDUAL ? args->residual + to : NULL, line->valid[v], &byte,
       &join);
    }
}

// Bands [first, last) of the channels of one image.
static void FN(block)(const FN(args_t) * args, int32_t *slot, int64_t image, int64_t block, int64_t first,
                      int64_t last) {
  (void)block;
  FN(line_t) line;
  FN(measure_line)(&line);
  TERM_T *padded = (TERM_T *)(void *)slot;
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
