// SPDX-License-Identifier: Apache-2.0
// Convolution NCHW on words. First the image is spread out in the workspace: a word holds UNIT channels of a pixel,
// each phase of the strides is a plane of its own (PHASES), and the padding is written out. A kernel tap then reads at
// one fixed distance (TAPS) from every position. Lanes run over the positions of a plane, whose rows are WIDE long;
// positions beyond OUT_W are computed too, but not stored. Weights: [GROUPS][panel of CHANNEL_PANEL channels][chunk of
// CHUNK planes][tap][plane of the chunk][channel of the panel]; or those of amx/amx_conv.h.
//   PLANES         of an image, perhaps with planes of zeros behind those of its channels
//   WEIGHT_WORDS   of a channel
enum {
  FN(planes) = PLANES,
  FN(positions) = (OUT_H - 1) * WIDE + OUT_W,
  FN(panel) = POSITION_VECTORS * LANES,
  FN(position_panels) = (FN(positions) + FN(panel) - 1) / FN(panel),
  FN(channel_panels) = (OUT + CHANNEL_PANEL - 1) / CHANNEL_PANEL,
  FN(blocks) = (FN(position_panels) + BLOCK_PANELS - 1) / BLOCK_PANELS,
  // One unit of work: one panel of channels over one block of positions.
  FN(items) = BATCH * GROUPS * FN(blocks) * FN(channel_panels),
  FN(run) = FN(channel_panels), // items of one block
  FN(image_words) = FN(planes) * PLANE,
  FN(image_elements) = GROUPS * IN * IN_H * IN_W,
};

#define MEASURED (DATA == AS_F32 && DOT != DOT_BF16X2)
#if MEASURED
// The largest magnitude of each part of each image. An image has one part per share.
static void FN(measure)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t part = begin; part < end; ++part) {
    int64_t image = part / args->shares, share = part % args->shares;
    int64_t at = (int64_t)FN(image_elements) * share / args->shares;
    const int64_t stop = (int64_t)FN(image_elements) * (share + 1) / args->shares;
    const float *from = args->input + image * FN(image_elements);
    vi most = w_set1(0);
    for (; at + LANES <= stop; at += LANES) most = w_larger(most, w_magnitude(v_load(from + at)));
    most = w_larger(most, w_magnitude(v_load_n(from + at, stop - at)));
    args->workspace[part] = w_largest(most);
  }
}
#endif

static inline int32_t FN(largest)(const FN(args_t) * args, int64_t image) {
  int32_t most = 0;
  const int32_t *parts = args->workspace + image * args->shares;
  for (int64_t i = 0; i < args->shares; ++i) most = parts[i] > most ? parts[i] : most;
  return most;
}

// `count` pixels of up to UNIT channels. May write up to a vector beyond the last one.
static inline void FN(pack)(int32_t *to, const DATA_T *from, int64_t channels, int64_t count, int32_t zero,
                            float inverse) {
  int64_t x = 0;
#if DOT == DOT_I8X4 && DATA != AS_F32
  for (; STRIDE_W == 1 && channels >= UNIT && x + LANES <= count; x += LANES) {
    const vi word = w_pack_rows(from + x, (int64_t)IN_H * IN_W, DATA == AS_I8 ? 128 : 0);
    memcpy(to + x, &word, sizeof word);
  }
#endif
  for (; x < count; x += LANES) {
    int64_t n = count - x < LANES ? count - x : LANES;
    vi word = {0};
#pragma GCC unroll 4
    for (int t = 0; t < UNIT; ++t)
      if (t < channels)
        word |= (FN(terms)(from + t * (int64_t)(IN_H * IN_W) + x * STRIDE_W, n, STRIDE_W, zero, inverse) &
                 ((1 << BITS) - 1))
                << (t * BITS);
    memcpy(to + x, &word, sizeof word);
  }
}

// One plane, its channels' first element at `from`.
static void FN(spread)(int32_t *to, const DATA_T *from, int64_t channels, int32_t zero, float inverse) {
  const int32_t pad = DOT == DOT_I8X4 ? (int32_t)((uint32_t)zero * 0x01010101u) : 0;
#if WHOLE
  FN(pack)(to, from, channels, (int64_t)IN_H * IN_W, zero, inverse);
  (void)pad;
#else
  static const int32_t phases[][2] = {PHASES};
  for (size_t phase = 0; phase < sizeof phases / sizeof *phases; ++phase)
    for (int64_t y = 0; y < TALL; ++y, to += WIDE) {
      const int64_t in_y = y * STRIDE_H + phases[phase][0] - PAD_TOP, in_x = phases[phase][1] - PAD_LEFT;
      int64_t low = in_x < 0 ? (STRIDE_W - 1 - in_x) / STRIDE_W : 0;
      int64_t high = in_x < IN_W ? (IN_W - 1 - in_x) / STRIDE_W + 1 : 0;
      if (high > WIDE) high = WIDE;
      if (low > high || in_y < 0 || in_y >= IN_H) low = high = 0;
      for (int64_t x = 0; x < low; ++x) to[x] = pad;
      FN(pack)(to + low, from + in_y * IN_W + in_x + low * STRIDE_W, channels, high - low, zero, inverse);
      for (int64_t x = high; x < WIDE; ++x) to[x] = pad;
    }
#endif
}

static void FN(prepare)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t plane = begin; plane < end; ++plane) {
    int64_t image = plane / FN(planes), channel = plane % FN(planes) * UNIT;
    const float inverse = MEASURED ? w_inverse(FN(largest)(args, image / GROUPS)) : 0.0f;
    FN(spread)
    (args->workspace + HEAD + plane * PLANE, args->input + (image * IN + channel) * (int64_t)(IN_H * IN_W),
     IN - channel, args->zero, inverse);
  }
}

// Channel panels [first, last) over one block of positions of one image and group.
static void FN(block)(const FN(args_t) * args, int32_t *slot, int64_t image, int64_t block, int64_t first,
                      int64_t last) {
  (void)slot;
  const int64_t group = image % GROUPS, panel = block * BLOCK_PANELS;
  const int64_t panels = FN(position_panels) - panel < BLOCK_PANELS ? FN(position_panels) - panel : BLOCK_PANELS;
  const int32_t *data = args->workspace + HEAD + image * FN(image_words) + panel * FN(panel);
  const float factor = MEASURED ? args->factor * w_step(FN(largest)(args, image / GROUPS)) : args->factor;
  // For each vector: which lanes are results, and where the first of them is stored.
  uint32_t valid[BLOCK_PANELS * POSITION_VECTORS];
  int64_t at[BLOCK_PANELS * POSITION_VECTORS];
  for (int64_t v = 0; v < panels * POSITION_VECTORS; ++v) {
    int64_t position = panel * FN(panel) + v * LANES, row = position / WIDE, column = position % WIDE;
    at[v] = row * OUT_W + (column < OUT_W ? column : OUT_W);
    valid[v] = 0;
    for (int l = 0; l < LANES; ++l) {
      valid[v] |= (uint32_t)(column < OUT_W && position + l < FN(positions)) << l;
      if (++column == WIDE) column = 0;
    }
  }
  for (int64_t w = first; w < last; ++w) {
    const int64_t channel = w * CHANNEL_PANEL, whole = group * OUT + channel;
    const int32_t *weights = args->weights + group * WEIGHTS_OF_GROUP + channel * WEIGHT_WORDS;
    const int channel_rest = channel + CHANNEL_PANEL > OUT;
    RESULT_T *output = args->output + (image * OUT + channel) * (int64_t)(OUT_H * OUT_W);
    const RESIDUAL_T *residual =
        HAS_RESIDUAL ? args->residual + (image * OUT + channel) * (int64_t)(OUT_H * OUT_W) : NULL;
    for (int64_t p = 0; p < panels; ++p) {
      const int position_rest = panel + p + 1 == FN(position_panels);
      TILES(args, data + p * FN(panel), weights, whole, factor, output, residual, valid + p * POSITION_VECTORS,
            at + p * POSITION_VECTORS);
    }
  }
}

static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker);

static void FN(run_all)(FN(args_t) * args, const byoc_runtime_t *runtime) {
#if MEASURED
  runtime->parallel_for(runtime->self, FN(measure), args, args->shares * BATCH, 1);
#endif
  const int64_t planes = (int64_t)BATCH * GROUPS * FN(planes);
  runtime->parallel_for(runtime->self, FN(prepare), args, planes, (planes + args->shares - 1) / args->shares);
  runtime->parallel_for(runtime->self, FN(share), args, args->shares, 1);
}
#undef MEASURED
