// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N] on words, B known when the model was built: [panel of COLUMN_VECTORS vectors][word of
// terms][column of the panel]. A is read as it lies (IN_PLACE) or turned into rows of words in the workspace first.
// Where M is that of a call, its rows are split into panels of nearly equal height: there is a tile for each height.
enum {
  FN(depth) = (K + UNIT - 1) / UNIT, // words of a row
  FN(column_panel) = COLUMN_VECTORS * LANES,
  FN(column_panels) = (N + FN(column_panel) - 1) / FN(column_panel),
  FN(run) = FN(column_panels), // items of one block
};

CALL_SIZE FN(row_panels)(const FN(args_t) * args) {
  (void)args;
  return (M + ROW_PANEL - 1) / ROW_PANEL;
}

CALL_SIZE FN(blocks)(const FN(args_t) * args) {
  return (FN(row_panels)(args) + BLOCK_PANELS - 1) / BLOCK_PANELS;
}

// One unit of work: one panel of B over one block of rows.
CALL_SIZE FN(items)(const FN(args_t) * args) {
  return FN(blocks)(args) * FN(column_panels);
}

#if !IN_PLACE
// Rows of A as words; floats that become bytes have a scale for each row.
static void FN(prepare)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t m = begin; m < end; ++m) {
    const DATA_T *from = args->input + m * K;
    int32_t *to = args->workspace + HEAD + m * ROW_WORDS;
#if DOT == DOT_BF16_WIDE
    memcpy(to, from, K * sizeof(float));
    memset(to + K, 0, (ROW_WORDS - K) * sizeof(float));
#else
    float inverse = 0.0f;
#if DATA == AS_F32 && DOT != DOT_BF16X2
    vi most = w_set1(0);
    for (int64_t k = 0; k < K; k += LANES)
      most = w_larger(most, w_magnitude(v_load_n(from + k, K - k < LANES ? K - k : LANES)));
    const int32_t largest = w_largest(most);
    inverse = w_inverse(largest);
    ((float *)args->workspace)[m] = w_step(largest);
#endif
    to[FN(depth) - 1] = 0;
    for (int64_t k = 0; k < K; k += LANES) {
      int64_t n = K - k < LANES ? K - k : LANES;
      w_store_low((char *)to + k * BITS / 8, FN(terms)(from + k, n, 1, args->zero, inverse), n, BITS);
    }
#endif
  }
}
#endif

// Column panels [first, last) over one block of rows.
static void FN(block)(const FN(args_t) * args, int32_t *slot, int64_t batch, int64_t block, int64_t first,
                      int64_t last) {
  (void)slot, (void)batch; // there is one matrix
  const int64_t panel = block * BLOCK_PANELS;
  const int64_t all = FN(row_panels)(args), panels = all - panel < BLOCK_PANELS ? all - panel : BLOCK_PANELS;
#if IS_OPEN
  const int64_t low = M / all, high = M % all; // rows of a low panel, and how many are one row higher
#endif
  for (int64_t w = first; w < last; ++w) {
    const int64_t column = w * FN(column_panel);
    const int column_rest = w + 1 == FN(column_panels);
    for (int64_t p = 0; p < panels; ++p) {
#if IS_OPEN
      const int64_t row = (panel + p) * low + (panel + p < high ? panel + p : high), height = low + (panel + p < high);
      TILES(height, column_rest, args, row, column, args->weights + column * FN(depth));
#else
      const int64_t row = (panel + p) * ROW_PANEL;
      const int row_rest = panel + p + 1 == all;
      TILES(args, row, column, args->weights + column * FN(depth));
#endif
    }
  }
}

static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker);

static void FN(run_all)(FN(args_t) * args, const byoc_runtime_t *runtime) {
#if !IN_PLACE
  runtime->parallel_for(runtime->self, FN(prepare), args, M, (M + args->shares - 1) / args->shares);
#endif
  runtime->parallel_for(runtime->self, FN(share), args, args->shares, 1);
}
