// SPDX-License-Identifier: Apache-2.0
// C[M][N] = A[M][K] * B[K][N] by tiles, B known when the model was built: [tile of 16 columns][word of terms][16]. A is
// read as it lies (IN_PLACE) or turned into rows of ROW_WORDS words in the workspace first, padded with zeros to whole
// steps. A panel is 32 rows or columns: two tiles.
//   RAW_SIGNED   bytes of data are signed and stay so; the tables are those of such bytes plus 128
enum {
  FN(words) = (K + UNIT - 1) / UNIT,        // of a row
  FN(padded_words) = AMX_STEPS * AMX_DEPTH, // and of a column of B
  FN(column_panels) = (N + 31) / 32,
  FN(run) = FN(column_panels), // items of one block
};

CALL_SIZE FN(row_panels)(const FN(args_t) * args) {
  (void)args;
  return (M + 31) / 32;
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
    memset(to + FN(words) - 1, 0, (size_t)(FN(padded_words) - FN(words) + 1) * sizeof(int32_t));
#if DATA != AS_F32
    memcpy(to, from, K);
#else
    float inverse = 0.0f;
#if DOT != DOT_BF16X2
    vi most = w_set1(0);
    for (int64_t k = 0; k < K; k += LANES)
      most = w_larger(most, w_magnitude(v_load_n(from + k, K - k < LANES ? K - k : LANES)));
    const int32_t largest = w_largest(most);
    inverse = w_inverse(largest);
    ((float *)args->workspace)[m] = w_step(largest);
#endif
    for (int64_t k = 0; k < K; k += LANES) {
      const int64_t n = K - k < LANES ? K - k : LANES;
      w_store_low((char *)to + k * BITS / 8, FN(terms)(from + k, n, 1, args->zero, inverse), n, BITS);
    }
#endif
  }
}
#endif

// Row i of a block's sums → row `row` of the result, from column `column` on.
static inline __attribute__((always_inline)) void FN(finish_row)(const FN(args_t) * args, const int32_t *sums,
                                                                 int64_t row, int64_t column) {
  const w_byte_t byte = args->byte;
  const w_join_t join = args->join;
  for (int64_t c = column; c < column + 32 && c < N; c += LANES, sums += LANES) {
    const uint32_t valid = N - c >= LANES ? W_ALL : (1u << (N - c)) - 1u;
    vi offset = w_load(args->offsets + c);
    if (READS_ZERO && DOT == DOT_I8X4) offset -= w_load(args->sums + c) * args->zero;
    if (RAW_SIGNED) offset += w_load(args->sums + c) * 128;
    vf scale = v_load(args->scales + c) * v_set1(args->factor);
    const vf shift = v_load(args->shifts + c);
    if (DATA == AS_F32 && DOT == DOT_I8X4) scale = scale * v_set1(((const float *)args->workspace)[row]);
    const int64_t at = row * N + c;
    FN(finish)
    ((SUM_T)w_load(sums), offset, scale, shift, args->output + at, HAS_RESIDUAL ? args->residual + at : NULL, valid,
     &byte, &join);
  }
}

// The panel of 32 columns at `column` for the rows [row, end), at most 32.
static inline __attribute__((always_inline)) void FN(panel)(const FN(args_t) * args, int64_t row, int64_t end,
                                                            int64_t column, int two_rows, int two_columns) {
#if IN_PLACE
  const char *data = (const char *)args->input;
  enum { ROW_BYTES = K * sizeof(DATA_T) };
#else
  const char *data = (const char *)(args->workspace + HEAD);
  enum { ROW_BYTES = ROW_WORDS * 4 };
#endif
  const int64_t height = M < 16 ? M : 16, last = end - height;
  const int64_t first = two_rows ? row : last; // rows of the first tile; those of the second begin at `last`
  const char *a0 = data + first * ROW_BYTES, *a1 = data + last * ROW_BYTES;
  const int32_t *b0 = args->weights + column * FN(padded_words), *b1 = b0 + (int64_t)16 * FN(padded_words);
  FN(sums_t) sums;
  FN(clear_sums)(two_rows, two_columns);
  for (int64_t s = 0; s < AMX_STEPS; ++s, a0 += AMX_DEPTH * 4, a1 += AMX_DEPTH * 4) FN(add_step)
  (a0, a1, ROW_BYTES, b0 + s * 16 * AMX_DEPTH, b1 + s * 16 * AMX_DEPTH, 64, two_rows, two_columns);
  FN(store_sums)(&sums, two_rows, two_columns);
  if (two_rows) {
    for (int64_t m = row; m < row + 16; ++m) FN(finish_row)(args, sums.at[m - row], m, column);
    row += 16;
  }
  const int32_t *from = sums.at[two_rows ? 16 : 0];
  for (int64_t m = row; m < end; ++m) FN(finish_row)(args, from + (m - last) * 32, m, column);
}

// Column panels [first, last) over one block of rows.
static void FN(block)(const FN(args_t) * args, int32_t *slot, int64_t batch, int64_t block, int64_t first,
                      int64_t last) {
  (void)slot, (void)batch; // there is one matrix
  const int64_t begin = block * BLOCK_PANELS * 32, stop = begin + BLOCK_PANELS * 32 < M ? begin + BLOCK_PANELS * 32 : M;
  __asm__ volatile("" : : : "memory");
  for (int64_t w = first; w < last; ++w) {
    const int64_t column = w * 32;
    const int two_columns = N - column > 16;
    for (int64_t row = begin; row < stop; row += 32) {
      const int64_t end = stop - row < 32 ? stop : row + 32;
      if (end - row > 16 && two_columns)
        FN(panel)(args, row, end, column, 1, 1);
      else if (end - row > 16)
        FN(panel)(args, row, end, column, 1, 0);
      else if (two_columns)
        FN(panel)(args, row, end, column, 0, 1);
      else
        FN(panel)(args, row, end, column, 0, 0);
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
