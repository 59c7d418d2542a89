// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(Q * K transposed * SCALE + mask) * V for each head, in blocks of KEY_BLOCK keys. The scores of
// ROW_PANEL queries lie in the workspace between the two products. If there are several blocks, each row keeps its
// largest score and its sum from block to block, and what was summed so far is rescaled when a larger score appears.
//   DIRECT 0: the keys of a block are copied to panels, [panel][SIZE][KEY_PANEL], and its values side by side.
//   DIRECT 1: for few queries: keys and values are read once, in place.
//   HAS_PAST: the first PAST of the KEYS keys and values come from a cache, [BATCH][KV_HEADS][PAST][SIZE]. While keys
//         and values are read, they are copied to the cache of the next step, which is KEYS long. The
//         copies bypass the processor's caches if they are large and WHOLE_VECTORS fit their rows and are aligned
//         there, because nothing in this run reads them again.
//   IS_OPEN: BATCH, QUERIES, KEYS and PAST are those of a call: members of `args`, and so are the distances.
//   SPAN_PANELS: panels of queries that read the same copies of keys and values.
//   SCORE_ROW, VALUE_ROW: floats from one row of scores, or of copied values, to the next. RUNNING_ROWS: number of rows
//         of a span that keep their largest score and their sum.
// *_BATCH, *_HEAD and *_ROW are the distances between the batches, heads and rows of the operands. HEADS / KV_HEADS
// heads of queries share one head of keys and values.
enum {
#if !IS_OPEN
  FN(row_panels) = (QUERIES + ROW_PANEL - 1) / ROW_PANEL,
  // One unit of work: one panel of queries of one head.
  FN(items) = BATCH * HEADS * FN(row_panels),
#endif
  // Floats to prefetch ahead of those that are read in place: the next two groups of 16 rows of 64 floats, because the
  // rows of a group are read side by side.
  FN(ahead) = 2048,
  // A next cache of this many bytes would push out too much of the processor's.
  FN(stream_bytes) = 256 * 1024,
};

// How a row is copied to the next cache.
enum { FN(not_kept), FN(kept), FN(streamed) };

// Queries, keys, values and mask. The fields have the names that the entry of every function uses.
typedef struct FN(args_t) {
  const float *input, *weights, *bias, *residual;
  float *output, *workspace;
  const float *past_keys, *past_values;
  float *present_keys, *present_values;
  int64_t shares;
#if IS_OPEN
  int64_t batch, queries, keys, past;
  int64_t row_panels, items; // as FN(row_panels) and FN(items), which are those of constant sizes
#endif
} FN(args_t);

#if IS_OPEN
// Reads the sizes of a call; returns how many shares they are worth. Without a query there is one panel of none, which
// writes the next cache.
static int64_t FN(split)(FN(args_t) * args, const byoc_call_t *call) {
  const DLTensor *q = &call->tensors[INPUT_DATA], *k = &call->tensors[INPUT_WEIGHTS];
  args->batch = q->shape[0];
  args->queries = q->shape[q->ndim - 2];
  args->past = HAS_PAST ? call->tensors[INPUT_PAST_KEYS].shape[2] : 0;
  args->keys = args->past + k->shape[k->ndim - 2];
  args->row_panels = args->queries == 0 ? HAS_PAST : (args->queries + ROW_PANEL - 1) / ROW_PANEL;
  args->items = args->batch * HEADS * args->row_panels;
  const int64_t shares = args->batch * HEADS * args->queries * args->keys * (SIZE + VALUE_SIZE) / SHARE_MACS;
  return args->items == 0 ? 0 : shares < 1 ? 1 : shares < args->items ? shares : args->items;
}
#endif

// The state of a share.
typedef struct FN(head_t) {
  const FN(args_t) * args;
  int64_t first; // panel of those that read the same copies
  const float *q, *k, *v, *mask;
  const float *past_k, *past_v;
  float *present_k, *present_v;
  int keeps; // how this share writes them; not_kept if another share does
  float *y;
  float *keys, *values, *queries, *scores, *most, *sum; // in the workspace
} FN(head_t);

// The queries of panel `panel` attend to this many keys, from the first one on: to all, or if CAUSAL to those up to the
// key of the panel's last query.
static inline int64_t FN(seen)(const FN(args_t) * args, int64_t panel) {
  (void)args;
  const int64_t end = (panel + 1) * ROW_PANEL < QUERIES ? (panel + 1) * ROW_PANEL : QUERIES;
  return CAUSAL && PAST + end < KEYS ? PAST + end : KEYS;
}

// How many of the keys [key, key + count) come from the cache.
static inline __attribute__((unused)) int64_t FN(cached)(const FN(args_t) * args, int64_t key, int64_t count) {
  (void)args;
  return PAST <= key ? 0 : PAST - key < count ? PAST - key : count;
}

static inline __attribute__((always_inline)) void FN(keep)(float *to, vf x, int64_t lanes, int keeps) {
  if (keeps == FN(streamed))
    v_stream(to, x);
  else if (lanes == LANES)
    v_store(to, x);
  else
    v_store_n(to, x, lanes);
}

#if HAS_PAST
// Writes the rows of the next cache that follow the cached ones.
static void FN(append)(const FN(args_t) * args, float *present, const float *rows, int64_t step, int64_t size) {
  (void)args;
  for (int64_t row = PAST; row < KEYS; ++row, rows += step)
    for (int64_t d = 0; d < size; d += LANES) {
      const int64_t lanes = size - d < LANES ? size - d : LANES;
      v_store_n(present + row * size + d, v_load_n(rows + d, lanes), lanes);
    }
}
#endif

#if DIRECT
// Scores of one query against `count` keys, which lie `step` floats apart. LANES keys are taken at a time, each with a
// vector of partial sums; at the end these become one vector of scores. Missing keys repeat the last one. The keys are
// also copied to `copy`, side by side.
static inline __attribute__((always_inline)) void FN(dots)(float *to, const float *q, const float *k, int64_t step,
                                                           int64_t count, float *copy, int keeps) {
  for (int64_t key = 0; key < count; key += LANES) {
    vf sum[LANES];
    int64_t row[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) {
      sum[i] = v_zero();
      row[i] = key + i < count ? key + i : count - 1;
    }
    for (int64_t d = 0; d < SIZE; d += LANES) {
      const int64_t lanes = SIZE - d < LANES ? SIZE - d : LANES;
      const vf x = lanes == LANES ? v_load(q + d) : v_load_n(q + d, lanes);
#pragma GCC unroll 16
      for (int i = 0; i < LANES; ++i) {
        const vf y = lanes == LANES ? v_load(k + row[i] * step + d) : v_load_n(k + row[i] * step + d, lanes);
        sum[i] = v_fma(x, y, sum[i]);
        if (d % 16 == 0) __builtin_prefetch(k + row[i] * step + d + FN(ahead));
        if (keeps != FN(not_kept)) FN(keep)(copy + row[i] * SIZE + d, y, lanes, keeps);
      }
    }
    v_transpose(sum);
    vf x = sum[0];
#pragma GCC unroll 16
    for (int i = 1; i < LANES; ++i) x = x + sum[i];
    v_store(to + key, x);
  }
}

// Scores of one query against keys [key, key + count).
static inline __attribute__((always_inline)) void FN(score)(const FN(head_t) * head, float *to, const float *q,
                                                            int64_t key, int64_t count, int keeps) {
  const FN(args_t) *const args __attribute__((unused)) = head->args;
  const int64_t cached = FN(cached)(args, key, count);
#if HAS_PAST
  const float *past = head->past_k + key * SIZE;
  float *present = head->present_k + key * SIZE;
  if (cached > 0 && keeps == FN(not_kept)) FN(dots)(to, q, past, SIZE, cached, NULL, FN(not_kept));
  if (cached > 0 && keeps == FN(kept)) FN(dots)(to, q, past, SIZE, cached, present, FN(kept));
  if (cached > 0 && keeps == FN(streamed)) FN(dots)(to, q, past, SIZE, cached, present, FN(streamed));
#endif
  (void)keeps;
  if (cached == count) return;
  FN(dots)
  (to + cached, q, head->k + (key + cached - PAST) * K_ROW, K_ROW, count - cached, NULL, FN(not_kept));
}
#else
// Row `key` of keys or values: `past` has the cached ones, `size` floats each, `rows` the others, `step` floats apart.
static inline __attribute__((always_inline)) const float *
FN(row)(const FN(args_t) * args, const float *past, int64_t size, const float *rows, int64_t step, int64_t key) {
  (void)args;
  return key < PAST ? past + key * size : rows + (key - PAST) * step;
}

// Copies keys and values [key, key + count); lanes of missing keys become zero. Cached ones are also copied to the next
// cache if this share writes it.
static void FN(pack)(const FN(head_t) * head, int64_t key, int64_t count) {
#define KEY_AT(i)   FN(row)(args, head->past_k, SIZE, head->k, K_ROW, key + (i))
#define VALUE_AT(i) FN(row)(args, head->past_v, VALUE_SIZE, head->v, V_ROW, key + (i))
  const FN(args_t) *const args __attribute__((unused)) = head->args;
  const int64_t copied = HAS_PAST && head->keeps != FN(not_kept) ? FN(cached)(args, key, count) : 0;
  for (int64_t panel = 0; panel < count; panel += KEY_PANEL)
    for (int64_t c = 0; c < KEY_PANEL; c += LANES)
      for (int64_t d = 0; d < SIZE; d += LANES) {
        const int64_t terms = SIZE - d < LANES ? SIZE - d : LANES;
        for (int i = 0; i < LANES; ++i) { // rows lie too far apart for hardware prefetchers
          if (d % 16 == 0 && panel + c + LANES + i < count) __builtin_prefetch(KEY_AT(panel + c + LANES + i) + d);
          if (d % 16 == 0 && panel + c + i < count) __builtin_prefetch(VALUE_AT(panel + c + i) + d);
        }
        float *to = head->keys + panel * SIZE + d * KEY_PANEL + c;
        vf square[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; ++i) {
          const int64_t at = panel + c + i;
          square[i] = at < count ? v_load_n(KEY_AT(at) + d, terms) : v_zero();
          if (at < copied) v_store_n(head->present_k + (key + at) * SIZE + d, square[i], terms);
        }
        v_transpose(square);
        for (int i = 0; i < terms; ++i) v_store(to + i * KEY_PANEL, square[i]);
      }
  for (int64_t at = 0; at < count; ++at)
    for (int64_t d = 0; d < VALUE_SIZE; d += LANES) {
      const int64_t lanes = VALUE_SIZE - d < LANES ? VALUE_SIZE - d : LANES;
      const vf x = v_load_n(VALUE_AT(at) + d, lanes);
      v_store(head->values + at * VALUE_ROW + d, x);
      if (at < copied) v_store_n(head->present_v + (key + at) * VALUE_SIZE + d, x, lanes);
    }
#undef KEY_AT
#undef VALUE_AT
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
    for (int j = 0; j < KEY_PANEL / LANES; ++j) v_store(to + i * SCORE_ROW + j * LANES, sum[i][j]);
}
#endif

// Turns the scores of one query against keys [key, key + count) into e^(score - largest), in place. Returns their sum;
// `*most` is the largest score of the row so far; these scores are taken into it.
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
  if (j < count) { // lanes behind the last key do not count
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

// Adds weights * values of `count` keys, `step` floats apart, to `vectors` columns of sums, the last of `lanes` lanes.
// The values are also copied to `copy`, VALUE_SIZE floats each.
static inline __attribute__((always_inline)) void FN(add)(vf sum[ROW_PANEL][VALUE_VECTORS], const float *v,
                                                          int64_t step, const float *weights, int64_t count,
                                                          int vectors, int lanes, float *copy, int keeps) {
  for (int64_t key = 0; key < count; ++key, v += step) {
    vf column[VALUE_VECTORS];
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      const int part = DIRECT && j + 1 == vectors && lanes < LANES;
      column[j] = part ? v_load_n(v + j * LANES, lanes) : v_load(v + j * LANES);
      if (DIRECT && j * LANES % 16 == 0) __builtin_prefetch(v + j * LANES + FN(ahead));
      if (keeps != FN(not_kept)) FN(keep)(copy + key * VALUE_SIZE + j * LANES, column[j], part ? lanes : LANES, keeps);
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROW_PANEL; ++i) {
      const vf x = v_set1(weights[i * SCORE_ROW + key]);
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) sum[i][j] = v_fma(x, column[j], sum[i][j]);
    }
  }
}

// Does the same for `rows` rows of the result, with keys [key, key + count) and columns from `first` on. `kept`: the
// factor of the results so far; NULL if there are none. `factor`: the factor of complete results; NULL if these are not
// complete yet.
static inline __attribute__((always_inline)) void FN(gather)(const FN(head_t) * head, float *y, int64_t first,
                                                             int64_t key, int64_t count, int64_t rows, int vectors,
                                                             int lanes, const float *kept, const float *factor) {
  const FN(args_t) *const args __attribute__((unused)) = head->args;
  vf sum[ROW_PANEL][VALUE_VECTORS];
#pragma GCC unroll 16
  for (int i = 0; i < ROW_PANEL; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      sum[i][j] = v_zero();
      if (kept && i < rows) sum[i][j] = v_load_n(y + i * Y_ROW + j * LANES, j + 1 < vectors ? LANES : lanes) * kept[i];
    }
#if DIRECT
  const int64_t cached = FN(cached)(args, key, count);
#if HAS_PAST
  const float *past = head->past_v + key * VALUE_SIZE + first, *scores = head->scores;
  float *present = head->present_v + key * VALUE_SIZE + first;
  if (head->keeps == FN(not_kept))
    FN(add)(sum, past, VALUE_SIZE, scores, cached, vectors, lanes, NULL, FN(not_kept));
  else if (head->keeps == FN(kept))
    FN(add)(sum, past, VALUE_SIZE, scores, cached, vectors, lanes, present, FN(kept));
  else
    FN(add)(sum, past, VALUE_SIZE, scores, cached, vectors, lanes, present, FN(streamed));
#endif
  FN(add)
  (sum, head->v + (key + cached - PAST) * V_ROW + first, V_ROW, head->scores + cached, count - cached, vectors, lanes,
   NULL, FN(not_kept));
#else
  (void)key;
  FN(add)(sum, head->values + first, VALUE_ROW, head->scores, count, vectors, lanes, NULL, FN(not_kept));
#endif
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
  const FN(args_t) *const args __attribute__((unused)) = head->args;
  const int64_t row = panel * ROW_PANEL, rows = QUERIES - row < ROW_PANEL ? QUERIES - row : ROW_PANEL;
  const int64_t end = FN(seen)(args, panel);
  const int first = key == 0, last = key + count >= end;
  float kept[ROW_PANEL], factor[ROW_PANEL];
  float *const most_so_far = head->most + (panel - head->first) * ROW_PANEL;
  float *const sum_so_far = head->sum + (panel - head->first) * ROW_PANEL;
  if (IS_OPEN && rows <= 0) return;
  if (count > end - key) count = end - key;
  for (int64_t i = 0; i < ROW_PANEL; ++i) { // missing rows repeat the last one
    const float *from = head->q + (row + (i < rows ? i : rows - 1)) * Q_ROW;
    for (int64_t d = 0; d < SIZE; d += 16) __builtin_prefetch(from + ROW_PANEL * Q_ROW + d); // the next panel's
    for (int64_t d = 0; d < SIZE; d += LANES) {
      const int64_t lanes = SIZE - d < LANES ? SIZE - d : LANES;
      v_store_n(head->queries + i * SIZE + d, v_load_n(from + d, lanes) * SCALE, lanes);
    }
  }
#if DIRECT
  for (int64_t i = 0; i < ROW_PANEL; ++i) FN(score)
  (head, head->scores + i * SCORE_ROW, head->queries + i * SIZE, key, count, i == 0 ? head->keeps : FN(not_kept));
#else
  for (int64_t c = 0; c < count; c += KEY_PANEL) FN(scores)(head->scores + c, head->queries, head->keys + c * SIZE);
#endif
  for (int64_t i = 0; i < rows; ++i) {
    const float before = first ? -__builtin_inff() : most_so_far[i];
    float most = before, *scores = head->scores + i * SCORE_ROW;
    const int64_t left = PAST + row + i + 1 - key, seen = CAUSAL && left < count ? (left > 0 ? left : 0) : count;
    for (int64_t j = seen; j < count; ++j) scores[j] = -__builtin_inff();
    const float sum = FN(soften)(scores, head->mask + (row + i) * MASK_ROW + key * MASK_KEY, count, &most);
    kept[i] = first || before == -__builtin_inff() ? 0.0f : v_exp(v_set1(before - most))[0];
    const float whole = first ? sum : sum_so_far[i] * kept[i] + sum;
    factor[i] = most == -__builtin_inff() ? 0.0f : 1.0f / whole; // no key takes part: the result is 0
    if (!last) most_so_far[i] = most, sum_so_far[i] = whole;
  }
  float *y = head->y + row * Y_ROW;
  int64_t c = 0;
  for (; c + VALUE_VECTORS * LANES <= VALUE_SIZE; c += VALUE_VECTORS * LANES) FN(gather)
  (head, y + c, c, key, count, rows, VALUE_VECTORS, LANES, first ? NULL : kept, last ? factor : NULL);
  if (VALUE_SIZE % (VALUE_VECTORS * LANES) != 0) {
    enum { REST = VALUE_SIZE % (VALUE_VECTORS * LANES), VECTORS = (REST + LANES - 1) / LANES };
    FN(gather)
    (head, y + c, c, key, count, rows, VECTORS, REST - (VECTORS - 1) * LANES, first ? NULL : kept,
     last ? factor : NULL);
  }
}

#if IS_OPEN
// Without a key the results are 0.
static void FN(clear)(const FN(head_t) * head, int64_t first, int64_t last) {
  const FN(args_t) *const args = head->args;
  for (int64_t row = first * ROW_PANEL; row < last * ROW_PANEL && row < QUERIES; ++row)
    memset(head->y + row * Y_ROW, 0, VALUE_SIZE * sizeof(float));
}
#endif

static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
#if HAS_PAST
  const uintptr_t across = ((uintptr_t)args->present_keys | (uintptr_t)args->present_values) % sizeof(vf);
  const int64_t cache_bytes = BATCH * KV_HEADS * KEYS * (SIZE + VALUE_SIZE) * (int64_t)sizeof(float);
  const int streams = DIRECT && WHOLE_VECTORS && across == 0 && cache_bytes >= FN(stream_bytes);
#endif
  for (int64_t share = begin; share < end; ++share) {
    int64_t item = UNITS * share / args->shares;
    const int64_t stop = UNITS * (share + 1) / args->shares;
    FN(head_t) head;
    head.args = args;
    head.scores = args->workspace + share * SLOT_FLOATS;
    head.queries = head.scores + ROW_PANEL * SCORE_ROW;
    head.most = head.queries + ROW_PANEL * SIZE;
    head.sum = head.most + RUNNING_ROWS;
    head.keys = head.sum + RUNNING_ROWS;
    head.values = head.keys + (DIRECT ? 0 : KEY_BLOCK * SIZE);
    while (item < stop) { // as many row panels as there are left of this head, and as fit a span
      const int64_t first = item % ROW_PANELS, batch = item / ROW_PANELS / HEADS, at = item / ROW_PANELS % HEADS;
      int64_t last = ROW_PANELS - first < stop - item ? ROW_PANELS : first + stop - item;
      if (last - first > SPAN_PANELS) last = first + SPAN_PANELS;
      head.first = first;
      head.q = args->input + batch * Q_BATCH + at * Q_HEAD;
      head.k = args->weights + batch * K_BATCH + at / (HEADS / KV_HEADS) * K_HEAD;
      head.v = args->bias + batch * V_BATCH + at / (HEADS / KV_HEADS) * V_HEAD;
#if HAS_PAST
      const int64_t shared = batch * KV_HEADS + at / (HEADS / KV_HEADS);
      head.past_k = args->past_keys + shared * PAST * SIZE;
      head.past_v = args->past_values + shared * PAST * VALUE_SIZE;
      head.present_k = args->present_keys + shared * KEYS * SIZE;
      head.present_v = args->present_values + shared * KEYS * VALUE_SIZE;
      head.keeps = first > 0 || at % (HEADS / KV_HEADS) > 0 ? FN(not_kept) : streams ? FN(streamed) : FN(kept);
      if (head.keeps != FN(not_kept)) {
        FN(append)(args, head.present_k, head.k, K_ROW, SIZE);
        FN(append)(args, head.present_v, head.v, V_ROW, VALUE_SIZE);
      }
#endif
      head.mask = HAS_RESIDUAL ? args->residual + batch * MASK_BATCH + at * MASK_HEAD : NULL;
      head.y = args->output + batch * Y_BATCH + at * Y_HEAD;
#if IS_OPEN
      if (KEYS == 0) FN(clear)(&head, first, last);
#endif
      for (int64_t key = 0; key < FN(seen)(args, last - 1); key += KEY_BLOCK) {
        const int64_t count = KEYS - key < KEY_BLOCK ? KEYS - key : KEY_BLOCK;
#if !DIRECT
        FN(pack)(&head, key, count);
#endif
        for (int64_t r = first; r < last; ++r)
          if (key < FN(seen)(args, r)) FN(panel)(&head, r, key, count);
      }
      item += last - first;
    }
  }
#if HAS_PAST
  if (streams) v_stream_end();
#endif
}
