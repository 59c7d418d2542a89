// Attention: softmax(Q * K transposed * SCALE + mask) * V, head by head, a block of KEY_BLOCK keys after the other.
// Scores of ROW_PANEL queries live in the workspace between the two products; where there are several blocks, the
// largest score and the sum of a row travel from block to block, and what was summed so far is scaled to the new
// largest one.
//   DIRECT 0: a block's keys are copied to panels, [panel][SIZE][KEY_PANEL], its values side by side.
//   DIRECT 1: few queries: keys and values are read once, in place.
// Operands lie as *_BATCH, *_HEAD and *_ROW say; GROUP heads of queries share one of keys and values.
enum {
  FN(row_panels) = (QUERIES + ROW_PANEL - 1) / ROW_PANEL,
  FN(blocks) = (KEYS + KEY_BLOCK - 1) / KEY_BLOCK,
  FN(score_row) = KEY_BLOCK + 16, // rows do not fall into the same sets of the cache
  FN(value_row) = (VALUE_SIZE + LANES - 1) / LANES * LANES,
  // One unit of work: one panel of queries of one head.
  FN(items) = BATCH * HEADS * FN(row_panels),
};

// Queries, keys, values and mask, by the names that every function's entry knows.
typedef struct FN(args_t) {
  const float *input, *weights, *bias, *residual;
  float *output, *workspace;
  int64_t shares;
} FN(args_t);

// What a share works on.
typedef struct FN(head_t) {
  const float *q, *k, *v, *mask;
  float *y;
  float *keys, *values, *queries, *scores, *most, *sum; // in the workspace
} FN(head_t);

#if DIRECT
// Scores of one query against `count` keys, LANES of them at a time: a dot product each, turned at the end into one
// vector. Missing keys repeat the last one.
static inline __attribute__((always_inline)) void FN(dots)(float *to, const float *q, const float *k, int64_t count) {
  for (int64_t key = 0; key < count; key += LANES) {
    vf sum[LANES];
    const float *row[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) {
      sum[i] = v_zero();
      row[i] = k + (key + i < count ? key + i : count - 1) * K_ROW;
    }
    for (int64_t d = 0; d < SIZE / LANES * LANES; d += LANES) {
      const vf x = v_load(q + d);
#pragma GCC unroll 16
      for (int i = 0; i < LANES; ++i) sum[i] = v_fma(x, v_load(row[i] + d), sum[i]);
    }
    if (SIZE % LANES != 0) {
      const int64_t d = SIZE / LANES * LANES;
      const vf x = v_load_n(q + d, SIZE % LANES);
#pragma GCC unroll 16
      for (int i = 0; i < LANES; ++i) sum[i] = v_fma(x, v_load_n(row[i] + d, SIZE % LANES), sum[i]);
    }
    v_transpose(sum);
    vf x = sum[0];
#pragma GCC unroll 16
    for (int i = 1; i < LANES; ++i) x = x + sum[i];
    v_store(to + key, x);
  }
}
#else
// Copies `count` keys and values; lanes of missing keys become zero.
static void FN(pack)(const FN(head_t) * head, const float *k, const float *v, int64_t count) {
  for (int64_t panel = 0; panel < count; panel += KEY_PANEL)
    for (int64_t c = 0; c < KEY_PANEL; c += LANES)
      for (int64_t d = 0; d < SIZE; d += LANES) {
        const int64_t terms = SIZE - d < LANES ? SIZE - d : LANES;
        for (int i = 0; i < LANES; ++i) { // rows lie far apart, where no hardware prefetcher follows
          if (d % 16 == 0 && panel + c + LANES + i < count) __builtin_prefetch(k + (panel + c + LANES + i) * K_ROW + d);
          if (d % 16 == 0 && panel + c + i < count) __builtin_prefetch(v + (panel + c + i) * V_ROW + d);
        }
        float *to = head->keys + panel * SIZE + d * KEY_PANEL + c;
        vf square[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; ++i)
          square[i] = panel + c + i < count ? v_load_n(k + (panel + c + i) * K_ROW + d, terms) : v_zero();
        v_transpose(square);
        for (int i = 0; i < terms; ++i) v_store(to + i * KEY_PANEL, square[i]);
      }
  for (int64_t key = 0; key < count; ++key)
    for (int64_t d = 0; d < VALUE_SIZE; d += LANES)
      v_store(head->values + key * FN(value_row) + d,
              v_load_n(v + key * V_ROW + d, VALUE_SIZE - d < LANES ? VALUE_SIZE - d : LANES));
}

// Scores of ROW_PANEL queries against one panel of keys.
static void FN(scores)(float *to, const float *q, const float *k) {
  vf sum[ROW_PANEL][KEY_PANEL / LANES];
#pragma GCC unroll 16
  for (int i = 0; i < ROW_PANEL; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < KEY_PANEL / LANES; ++j) sum[i][j] = v_zero();
#pragma GCC unroll 2
  for (int64_t d = 0; d < SIZE; ++d) {
    vf column[KEY_PANEL / LANES];
#pragma GCC unroll 8
    for (int j = 0; j < KEY_PANEL / LANES; ++j) column[j] = v_load(k + d * KEY_PANEL + j * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < ROW_PANEL; ++i) {
      const vf x = v_set1(q[i * SIZE + d]);
#pragma GCC unroll 8
      for (int j = 0; j < KEY_PANEL / LANES; ++j) sum[i][j] = v_fma(x, column[j], sum[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < ROW_PANEL; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < KEY_PANEL / LANES; ++j) v_store(to + i * FN(score_row) + j * LANES, sum[i][j]);
}
#endif

// Turns the scores of one query against keys [key, key + count) into e^(score - largest), in place. Returns their sum;
// *most: the largest score so far on entry, with these on return.
static float FN(soften)(float *scores, const float *mask, int64_t count, float *most) {
  vf largest = v_set1(*most), sum = v_zero();
  int64_t j = 0;
  for (; j + LANES <= count; j += LANES) {
    vf x = v_load(scores + j);
#if HAS_RESIDUAL
    x = x + (MASK_KEY ? v_load(mask + j) : v_set1(mask[0]));
    v_store(scores + j, x);
#endif
    largest = v_max(x, largest);
  }
  if (j < count) { // what lies behind the last key does not count
    vf x = v_load(scores + j);
#if HAS_RESIDUAL
    x = x + (MASK_KEY ? v_load_n(mask + j, count - j) : v_set1(mask[0]));
#endif
    v_store(scores + j, v_set1(-__builtin_inff()));
    v_store_n(scores + j, x, count - j);
    largest = v_max(v_load(scores + j), largest);
  }
  (void)mask;
  *most = v_most(largest);
  const vf origin = v_set1(*most == -__builtin_inff() ? 0.0f : *most);
  for (j = 0; j < count; j += LANES) {
    const vf x = v_exp(v_load(scores + j) - origin);
    v_store(scores + j, x);
    sum = sum + x;
  }
  return v_sum(sum);
}

// Adds weights * values of `count` keys to columns of `rows` results: `vectors` of them, the last of `lanes` lanes.
// `kept`: what results so far are multiplied by, NULL where there are none; `factor`: by what they are once they are
// complete, NULL before.
static inline __attribute__((always_inline)) void FN(gather)(float *y, const float *v, const float *weights,
                                                             int64_t count, int64_t rows, int vectors, int lanes,
                                                             const float *kept, const float *factor) {
  vf sum[ROW_PANEL][VALUE_VECTORS];
#pragma GCC unroll 16
  for (int i = 0; i < ROW_PANEL; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      sum[i][j] = v_zero();
      if (kept && i < rows) sum[i][j] = v_load_n(y + i * Y_ROW + j * LANES, j + 1 < vectors ? LANES : lanes) * kept[i];
    }
  for (int64_t key = 0; key < count; ++key) {
    vf column[VALUE_VECTORS];
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j)
      column[j] = DIRECT && j + 1 == vectors && lanes < LANES ? v_load_n(v + j * LANES, lanes) : v_load(v + j * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < ROW_PANEL; ++i) {
      const vf x = v_set1(weights[i * FN(score_row) + key]);
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) sum[i][j] = v_fma(x, column[j], sum[i][j]);
    }
    v += DIRECT ? V_ROW : FN(value_row);
  }
#pragma GCC unroll 16
  for (int i = 0; i < ROW_PANEL; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      vf x = sum[i][j];
      if (factor) x = x * factor[i];
      if (i < rows) v_store_n(y + i * Y_ROW + j * LANES, x, j + 1 < vectors ? LANES : lanes);
    }
}

// One panel of queries against `count` keys from `key` on.
static void FN(panel)(const FN(head_t) * head, int64_t panel, int64_t key, int64_t count) {
  const int64_t row = panel * ROW_PANEL, rows = QUERIES - row < ROW_PANEL ? QUERIES - row : ROW_PANEL;
  const int first = key == 0, last = key + count == KEYS || (CAUSAL && key + count > row + rows - 1);
  float kept[ROW_PANEL], factor[ROW_PANEL];
  if (CAUSAL && count > row + rows - key) count = row + rows - key;
  for (int64_t i = 0; i < ROW_PANEL; ++i) { // missing rows repeat the last one
    const float *from = head->q + (row + (i < rows ? i : rows - 1)) * Q_ROW;
    for (int64_t d = 0; d < SIZE; d += 16) __builtin_prefetch(from + ROW_PANEL * Q_ROW + d); // the next panel's
    for (int64_t d = 0; d < SIZE; d += LANES) {
      const int64_t lanes = SIZE - d < LANES ? SIZE - d : LANES;
      v_store_n(head->queries + i * SIZE + d, v_load_n(from + d, lanes) * SCALE, lanes);
    }
  }
#if DIRECT
  for (int64_t i = 0; i < ROW_PANEL; ++i)
    FN(dots)(head->scores + i * FN(score_row), head->queries + i * SIZE, head->k + key * K_ROW, count);
#else
  for (int64_t c = 0; c < count; c += KEY_PANEL) FN(scores)(head->scores + c, head->queries, head->keys + c * SIZE);
#endif
  for (int64_t i = 0; i < rows; ++i) {
    const float before = first ? -__builtin_inff() : head->most[row + i];
    float most = before, *scores = head->scores + i * FN(score_row);
    const int64_t seen = CAUSAL && row + i + 1 - key < count ? (row + i + 1 - key > 0 ? row + i + 1 - key : 0) : count;
    for (int64_t j = seen; j < count; ++j) scores[j] = -__builtin_inff();
    const float sum = FN(soften)(scores, head->mask + (row + i) * MASK_ROW + key * MASK_KEY, count, &most);
    kept[i] = first || before == -__builtin_inff() ? 0.0f : v_exp(v_set1(before - most))[0];
    const float whole = first ? sum : head->sum[row + i] * kept[i] + sum;
    factor[i] = most == -__builtin_inff() ? 0.0f : 1.0f / whole; // no key counts: zeros
    if (!last) head->most[row + i] = most, head->sum[row + i] = whole;
  }
  const float *v = DIRECT ? head->v + key * V_ROW : head->values;
  float *y = head->y + row * Y_ROW;
  int64_t c = 0;
  for (; c + VALUE_VECTORS * LANES <= VALUE_SIZE; c += VALUE_VECTORS * LANES) FN(gather)
  (y + c, v + c, head->scores, count, rows, VALUE_VECTORS, LANES, first ? NULL : kept, last ? factor : NULL);
  if (VALUE_SIZE % (VALUE_VECTORS * LANES) != 0) {
    enum { REST = VALUE_SIZE % (VALUE_VECTORS * LANES), VECTORS = (REST + LANES - 1) / LANES };
    FN(gather)
    (y + c, v + c, head->scores, count, rows, VECTORS, REST - (VECTORS - 1) * LANES, first ? NULL : kept,
     last ? factor : NULL);
  }
}

static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share) {
    int64_t item = FN(items) * share / args->shares;
    const int64_t stop = FN(items) * (share + 1) / args->shares;
    FN(head_t) head;
    head.scores = args->workspace + share * SLOT_FLOATS;
    head.queries = head.scores + ROW_PANEL * FN(score_row);
    head.most = head.queries + ROW_PANEL * SIZE;
    head.sum = head.most + (FN(blocks) > 1 ? QUERIES : 0);
    head.keys = head.sum + (FN(blocks) > 1 ? QUERIES : 0);
    head.values = head.keys + (DIRECT ? 0 : KEY_BLOCK * SIZE);
    while (item < stop) { // as many row panels as there are left of this head
      const int64_t first = item % FN(row_panels), batch = item / FN(row_panels) / HEADS;
      const int64_t at = item / FN(row_panels) % HEADS;
      const int64_t last = FN(row_panels) - first < stop - item ? FN(row_panels) : first + stop - item;
      head.q = args->input + batch * Q_BATCH + at * Q_HEAD;
      head.k = args->weights + batch * K_BATCH + at / GROUP * K_HEAD;
      head.v = args->bias + batch * V_BATCH + at / GROUP * V_HEAD;
      head.mask = HAS_RESIDUAL ? args->residual + batch * MASK_BATCH + at * MASK_HEAD : NULL;
      head.y = args->output + batch * Y_BATCH + at * Y_HEAD;
      for (int64_t key = 0; key < KEYS && !(CAUSAL && key > last * ROW_PANEL - 1); key += KEY_BLOCK) {
        const int64_t count = KEYS - key < KEY_BLOCK ? KEYS - key : KEY_BLOCK;
#if !DIRECT
        FN(pack)(&head, head.k + key * K_ROW, head.v + key * V_ROW, count);
#endif
        for (int64_t r = first; r < last; ++r)
          if (!CAUSAL || key < (r + 1) * ROW_PANEL) FN(panel)(&head, r, key, count);
      }
      item += last - first;
    }
  }
}
