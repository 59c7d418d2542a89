// SPDX-License-Identifier: Apache-2.0
// C[rows][N] = A[rows][K] * B[K][N], where B's numbers have BITS bits and a scale, and maybe a zero point, for each
// BLOCK of a column:
//   words   int32[tile][WORDS][TILE]: a tile is TILE columns. A word holds SLOTS numbers of a column, the first lowest
//   scales  float[tile][BLOCKS][TILE]
//   zeros   like scales (ZEROS_OF_FLOATS), or of BITS bits in words, a word of a column for SLOTS blocks
//           (ZEROS_OF_WORDS); else ZERO for all
// A block's sum is scale * (sum of x * number - zero point * sum of x). A number stays in its place in the word; x is
// divided by what that place is worth beforehand, which is a power of two. With BYTES, data are rounded to bytes, a
// scale for each block, and numbers of several words are summed up as bytes.
enum {
  FN(slots) = 32 / BITS,
  FN(quarter) = FN(slots) / 4, // words of bytes that a word is
  FN(mask) = (1 << BITS) - 1,
  FN(block_words) = BLOCK / FN(slots),
  FN(blocks) = (K + BLOCK - 1) / BLOCK,
  FN(words) = FN(blocks) * FN(block_words),
  FN(zero_words) = (FN(blocks) + FN(slots) - 1) / FN(slots),
  FN(tiles) = (N + TILE - 1) / TILE,
#if BYTES
  FN(row_floats) = FN(words) * FN(quarter),
#else
  FN(row_floats) = FN(words) * FN(slots),
#endif
};

typedef struct FN(args_t) {
  const float *input, *scales, *bias, *residual;
  const int32_t *words;
  const void *zeros;
  float *output, *workspace;
  int64_t shares, items, rows;
  int64_t groups, low, high_groups; // rows are split into groups: of `low` rows, the first high_groups of one more
  byoc_cutlass_part_t parts[SHARES];
} FN(args_t);

// The data of a group of rows as its tiles read them.
typedef struct FN(data_t) {
  float *numbers; // [row][row_floats]: floats, or words of four bytes
  float *totals;  // [row][block]: the sum of a block's data, what it is without zero points times ZERO
  float *steps;   // [row][block]: the scale of a block's bytes
} FN(data_t);

static FN(data_t) FN(data)(float *workspace) {
  float *totals = workspace + (int64_t)GROUP_MOST * FN(row_floats);
  return (FN(data_t)){workspace, totals, totals + GROUP_MOST * FN(blocks)};
}

// LANES numbers of a row from `k` on; 0 beyond the depth.
static inline vf FN(numbers)(const float *row, int64_t k) {
  if (k + LANES <= K) return v_load(row + k);
  return k < K ? v_load_n(row + k, K - k) : v_zero();
}

#if ROUNDS
// The factor by which the numbers of the block from `k` on become steps; *out_step is the value of a step. The factor
// is 0 if 127 divided by the largest number may be infinite, as byoc::RoundInBlocks says.
static float FN(round)(const float *row, int64_t k, float *out_step) {
  vf most = v_zero();
  for (int64_t i = 0; i < BLOCK; i += LANES) {
    const vf x = FN(numbers)(row, k + i);
    most = v_max(most, v_max(x, v_zero() - x));
  }
  const float largest = v_most(most);
  *out_step = largest / 127.0f;
  return largest < 0x1p-119f ? 0.0f : 127.0f / largest;
}
#endif

#if BYTES
// Byte b of word q of a word is its number b * quarter + q.
static void FN(prepare_block)(const FN(data_t) * data, const float *row, int64_t at, int64_t block) {
  float step;
  const float factor = FN(round)(row, block * BLOCK, &step);
  int8_t bytes[BLOCK];
  vf total = v_zero();
  for (int64_t i = 0; i < BLOCK; i += LANES) {
    const vf x = v_round(FN(numbers)(row, block * BLOCK + i) * v_set1(factor));
    int32_t steps[LANES];
    const vi whole = __builtin_convertvector(x, vi);
    memcpy(steps, &whole, sizeof steps);
    for (int j = 0; j < LANES; ++j) bytes[i + j] = (int8_t)steps[j];
    total = total + x;
  }
  char *to = (char *)(data->numbers + at * FN(row_floats) + block * FN(block_words) * FN(quarter));
  for (int64_t w = 0; w < FN(block_words); ++w)
    for (int q = 0; q < FN(quarter); ++q)
      for (int b = 0; b < 4; ++b) to[(w * FN(quarter) + q) * 4 + b] = (char)bytes[w * FN(slots) + b * FN(quarter) + q];
  data->steps[at * FN(blocks) + block] = step;
  data->totals[at * FN(blocks) + block] = v_sum(total) * (HAS_ZEROS ? 1.0f : (float)ZERO);
}
#else
// The factor of the data at place i of 16.
#define WORTH(i) (1.0f / (float)(1u << ((i) % (32 / BITS) + 1 < 32 / BITS ? (i) % (32 / BITS) * BITS : 0)))
static const float FN(worth)[] = {WORTH(0), WORTH(1), WORTH(2),  WORTH(3),  WORTH(4),  WORTH(5),  WORTH(6),  WORTH(7),
                                  WORTH(8), WORTH(9), WORTH(10), WORTH(11), WORTH(12), WORTH(13), WORTH(14), WORTH(15)};

static void FN(prepare_block)(const FN(data_t) * data, const float *row, int64_t at, int64_t block) {
#if ROUNDS
  float step;
  const float factor = FN(round)(row, block * BLOCK, &step);
#endif
  float *to = data->numbers + at * FN(row_floats) + block * BLOCK;
  vf total = v_zero();
  for (int64_t i = 0; i < BLOCK; i += LANES) {
    vf x = FN(numbers)(row, block * BLOCK + i);
#if ROUNDS
    x = v_round(x * v_set1(factor)) * v_set1(step);
#endif
    total = total + x;
    v_store(to + i, x * v_load(FN(worth) + i % 16));
  }
  data->totals[at * FN(blocks) + block] = v_sum(total) * (HAS_ZEROS ? 1.0f : (float)ZERO);
}
#endif

#if HAS_ZEROS
// The zero points of LANES columns from `first` on of a tile, as floats.
static inline vf FN(zeros)(const FN(args_t) * args, int64_t tile, int64_t block, int64_t first) {
#if HAS_ZEROS == ZEROS_OF_WORDS
  const int32_t *zeros = args->zeros;
  const int32_t *at = zeros + (tile * FN(zero_words) + block / FN(slots)) * TILE + first;
  return w_float((w_load(at) >> (int32_t)(block % FN(slots) * BITS)) & FN(mask));
#else
  return v_load((const float *)args->zeros + (tile * FN(blocks) + block) * TILE + first);
#endif
}
#endif
