// SPDX-License-Identifier: Apache-2.0
// Attention by templates/matmul/attention.h, held against its definition in double precision, on each instruction set:
// heads side by side or one after the other, masks of every shape, causality, several blocks of keys, rows without a
// key, a cache of keys and values that grows. The same code takes sizes that each call brings.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { SLOTS = 3, MOST_PLANS = 32, MARGIN = 64 };

typedef struct tensors_t {
  float *q, *k, *v, *mask, *past_k, *past_v, *expected;
  float *results[3]; // and the next cache; each with a margin behind it
  int64_t counts[3];
} tensors_t;

static float *make_random(byoc_test_random_t *random, int64_t count) {
  float *values = malloc((size_t)count * sizeof(float));
  assert_non_null(values);
  for (int64_t i = 0; i < count; ++i) values[i] = byoc_test_float(random);
  return values;
}

static int64_t at(const byoc_cutlass_attention_t *a, int64_t batch, int64_t head, int64_t row, int64_t heads,
                  int64_t length, int64_t size) {
  return a->flat ? ((batch * length + row) * heads + head) * size : ((batch * heads + head) * length + row) * size;
}

// Key or value j of a head, cached or new.
static const float *row_at(const byoc_cutlass_attention_t *a, const float *past, const float *rows, int64_t b,
                           int64_t h, int64_t j, int64_t size) {
  if (j < a->past) return past + ((b * a->kv_heads + h) * a->past + j) * size;
  return rows + at(a, b, h, j - a->past, a->kv_heads, a->keys - a->past, size);
}

// Floats between two batches, heads, queries or keys of the mask.
static int64_t mask_step(const byoc_cutlass_attention_t *a, int axis) {
  const int64_t dims[] = {a->batch, a->heads, a->queries, a->keys};
  int64_t step = 1;
  for (int i = axis + 1; i < 4; ++i) step *= a->mask_axes[i] ? dims[i] : 1;
  return a->mask_axes[axis] ? step : 0;
}

static float masked(const byoc_cutlass_attention_t *a, const tensors_t *t, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (a->causal && j > a->past + i) return -INFINITY;
  const int64_t at = b * mask_step(a, 0) + h * mask_step(a, 1) + i * mask_step(a, 2) + j * mask_step(a, 3);
  return a->has_mask ? t->mask[at] : 0.0f;
}

// One row of the result, by the definition.
static void expect_row(const byoc_cutlass_attention_t *a, const tensors_t *t, int64_t b, int64_t h, int64_t i) {
  double scores[2048], most = -INFINITY, sum = 0;
  int64_t group = a->heads / a->kv_heads;
  const float *q = t->q + at(a, b, h, i, a->heads, a->queries, a->size);
  float *y = t->expected + at(a, b, h, i, a->heads, a->queries, a->value_size);
  for (int64_t j = 0; j < a->keys; ++j) {
    const float *k = row_at(a, t->past_k, t->k, b, h / group, j, a->size);
    double score = 0;
    for (int64_t d = 0; d < a->size; ++d) score += (double)q[d] * k[d];
    scores[j] = score * a->scale + masked(a, t, b, h, i, j);
    if (scores[j] > most) most = scores[j];
  }
  for (int64_t j = 0; j < a->keys; ++j) sum += scores[j] = most == -INFINITY ? 0 : exp(scores[j] - most);
  for (int64_t d = 0; d < a->value_size; ++d) {
    double value = 0;
    for (int64_t j = 0; j < a->keys; ++j)
      value += scores[j] * row_at(a, t->past_v, t->v, b, h / group, j, a->value_size)[d];
    y[d] = sum > 0 ? (float)(value / sum) : 0.0f;
  }
}

static void make_tensors(const byoc_cutlass_attention_t *a, bool has_past, tensors_t *t) {
  byoc_test_random_t random = {7};
  int64_t masks = 0;
  for (int i = 0; i < 4; ++i) { // the last element that the steps reach
    const int64_t dims[] = {a->batch, a->heads, a->queries, a->keys};
    masks += mask_step(a, i) * (dims[i] > 0 ? dims[i] - 1 : 0);
  }
  const int64_t lists = a->batch * a->kv_heads;
  t->counts[0] = a->batch * a->heads * a->queries * a->value_size;
  t->counts[1] = has_past ? lists * a->keys * a->size : 0;
  t->counts[2] = has_past ? lists * a->keys * a->value_size : 0;
  t->q = make_random(&random, a->batch * a->heads * a->queries * a->size);
  t->k = make_random(&random, lists * (a->keys - a->past) * a->size);
  t->v = make_random(&random, lists * (a->keys - a->past) * a->value_size);
  t->past_k = make_random(&random, lists * a->past * a->size + 1);
  t->past_v = make_random(&random, lists * a->past * a->value_size + 1);
  t->mask = make_random(&random, masks + 1);
  for (int64_t i = 0; i <= masks; i += 3) t->mask[i] = i % 2 ? -INFINITY : -20.0f;
  if (a->mask_axes[2] && a->queries > 1) // the second row of the first head attends to nothing
    for (int64_t j = 0; j < a->keys; ++j) t->mask[mask_step(a, 2) + j * mask_step(a, 3)] = -INFINITY;
  t->expected = malloc((size_t)t->counts[0] * sizeof(float));
  assert_non_null(t->expected);
  for (int i = 0; i < 3; ++i) {
    t->results[i] = aligned_alloc(64, ((size_t)(t->counts[i] + MARGIN) * sizeof(float) + 63) / 64 * 64);
    assert_non_null(t->results[i]);
  }
  for (int64_t b = 0; b < a->batch; ++b)
    for (int64_t h = 0; h < a->heads; ++h)
      for (int64_t i = 0; i < a->queries; ++i) expect_row(a, t, b, h, i);
}

static void free_tensors(const tensors_t *t) {
  float *all[] = {t->q,      t->k,        t->v,          t->mask,       t->past_k,
                  t->past_v, t->expected, t->results[0], t->results[1], t->results[2]};
  for (size_t i = 0; i < sizeof(all) / sizeof(*all); ++i) free(all[i]);
}

// The next cache holds what the last one did and the new rows, element by element. `shift`: floats from where vectors
// are aligned to where it starts.
static void check_cache(const char *name, const byoc_cutlass_attention_t *a, const tensors_t *t, int64_t shift) {
  const int64_t sizes[] = {a->size, a->value_size};
  for (int r = 0; r < 2 && t->counts[1] > 0; ++r) {
    const float *past = r == 0 ? t->past_k : t->past_v, *rows = r == 0 ? t->k : t->v, *kept = t->results[1 + r] + shift;
    for (int64_t b = 0; b < a->batch; ++b)
      for (int64_t h = 0; h < a->kv_heads; ++h)
        for (int64_t j = 0; j < a->keys; ++j, kept += sizes[r])
          if (memcmp(kept, row_at(a, past, rows, b, h, j, sizes[r]), (size_t)sizes[r] * sizeof(float)) != 0)
            fail_msg("%s: %s %lld of head %lld are not kept", name, r == 0 ? "keys" : "values", (long long)j,
                     (long long)h);
  }
}

// `problem` is what the plan was made for, `attention` what is computed.
static void check_plan(const char *name, const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                       const byoc_cutlass_attention_t *attention, byoc_packed_function_t function, const tensors_t *t,
                       int32_t threads, int64_t shift) {
  const int64_t fresh = attention->keys - attention->past;
  int64_t q_shape[] = {attention->batch, attention->heads, attention->queries, attention->size};
  int64_t k_shape[] = {attention->batch, attention->kv_heads, fresh, attention->size};
  int64_t past_shape[] = {attention->batch, attention->kv_heads, attention->past, attention->size};
  if (attention->flat) {
    q_shape[1] = attention->queries, q_shape[2] = attention->heads * attention->size;
    k_shape[1] = fresh, k_shape[2] = attention->kv_heads * attention->size;
  }
  uint64_t size = byoc_cutlass_workspace_bytes(problem, plan);
  char *workspace = aligned_alloc(BYOC_BUFFER_ALIGNMENT, (size + MARGIN + 63) / 64 * 64);
  assert_non_null(workspace);
  memset(workspace, 0xff, size + MARGIN);                                                                   // NaN
  for (int i = 0; i < 3; ++i) memset(t->results[i], 0xff, (size_t)(t->counts[i] + MARGIN) * sizeof(float)); // NaN
  const int32_t rank = attention->flat ? 3 : 4;
  DLTensor tensors[9] = {{.data = t->q, .ndim = rank, .shape = q_shape},
                         {.data = t->k, .ndim = rank, .shape = k_shape},
                         {.data = t->v},
                         {.data = t->mask}};
  uint32_t inputs = 4, outputs = problem->attention.past > 0 ? 3 : 1;
  if (outputs == 3) {
    tensors[inputs++] = (DLTensor){.data = t->past_k, .ndim = 4, .shape = past_shape};
    tensors[inputs++] = (DLTensor){.data = t->past_v, .ndim = 4, .shape = past_shape};
  }
  for (uint32_t i = 0; i < outputs; ++i) tensors[inputs + i].data = t->results[i] + (i > 0 ? shift : 0);
  kernels_call(function, tensors, inputs, outputs, threads, workspace, size);
  for (int64_t i = 0; i < t->counts[0]; ++i)
    if (!(fabsf(t->results[0][i] - t->expected[i]) <= 1e-5f + 1e-4f * fabsf(t->expected[i])))
      fail_msg("%s: isa %u rows %d vectors %d block %d, %d threads: element %lld is %g, not %g", name, plan->isa,
               plan->rows, plan->vectors, plan->block_depth, threads, (long long)i, (double)t->results[0][i],
               (double)t->expected[i]);
  check_cache(name, attention, t, shift);
  for (int r = 0; r < 3; ++r)
    for (int64_t i = r > 0 ? shift : 0; i < MARGIN; ++i) assert_true(isnan(t->results[r][t->counts[r] + i]));
  for (int64_t i = 0; i < MARGIN; ++i) assert_int_equal((unsigned char)workspace[size + (uint64_t)i], 0xff);
  free(workspace);
}

// Of plans that differ from each other, the one of the narrowest tiles and, of these, the shortest blocks.
static size_t find_smallest(const byoc_cutlass_plan_t *plans, size_t count) {
  size_t smallest = 0;
  for (size_t i = 0; i < count; ++i) {
    const byoc_cutlass_plan_t *a = &plans[i], *b = &plans[smallest];
    if (a->vectors < b->vectors || (a->vectors == b->vectors && a->block_depth < b->block_depth)) smallest = i;
    for (size_t k = 0; k < i; ++k)
      assert_false(a->vectors == plans[k].vectors && a->block_depth == plans[k].block_depth &&
                   a->rows == plans[k].rows);
  }
  return smallest;
}

// The default plan, and one of narrow tiles and short blocks.
static void check(const char *name, byoc_cutlass_attention_t attention) {
  byoc_cutlass_problem_t problem = {
      .kind = BYOC_CUTLASS_ATTENTION, .attention = attention, .inputs = {0, 1, 2, 3, .past_keys = 4, .past_values = 5}};
  attention.scale = 0.3f;
  problem.attention = attention;
  tensors_t t;
  make_tensors(&attention, attention.past > 0, &t);
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    byoc_cutlass_plan_t plans[MOST_PLANS];
    if (!kernels_try_here(isa)) continue;
    size_t count = byoc_cutlass_plan_candidates(&problem, isa, SLOTS, true, plans, MOST_PLANS);
    const size_t chosen[] = {0, find_smallest(plans, count)};
    assert_int_equal(plans[chosen[1]].vectors, 1);
    kernels_t kernels;
    kernels_begin(&kernels, isa);
    for (size_t i = 0; i < 2; ++i) kernels_add(&kernels, &problem, &plans[chosen[i]]);
    kernels_compile(&kernels, "-O1");
    for (size_t i = 0; i < 2; ++i) {
      const byoc_cutlass_plan_t *plan = &plans[chosen[i]];
      check_plan(name, &problem, plan, &attention, kernels.functions[i], &t, 1, 0);
      check_plan(name, &problem, plan, &attention, kernels.functions[i], &t, SLOTS, 0);
      if (attention.past > 0) check_plan(name, &problem, plan, &attention, kernels.functions[i], &t, SLOTS, 3);
    }
    kernels_end(&kernels);
  }
  free_tensors(&t);
}

// One kernel, compiled for heads alone, called with the batches and lengths of all cases. `heads`: the rest of them.
static void check_open(const char *name, byoc_cutlass_attention_t heads, const int64_t (*sizes)[4], size_t count) {
  heads.scale = 0.3f;
  byoc_cutlass_problem_t problem = {
      .kind = BYOC_CUTLASS_ATTENTION, .attention = heads, .inputs = {0, 1, 2, 3, .past_keys = 4, .past_values = 5}};
  problem.attention.open = true;
  problem.attention.batch = 1;
  problem.attention.keys = BYOC_CUTLASS_OPEN_KEYS + heads.past;
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    byoc_cutlass_plan_t plan;
    if (!kernels_try_here(isa)) continue;
    byoc_cutlass_plan_default(&problem, isa, SLOTS, true, &plan);
    kernels_t kernels;
    kernels_begin(&kernels, isa);
    kernels_add(&kernels, &problem, &plan);
    kernels_compile(&kernels, "-O1");
    for (size_t i = 0; i < count; ++i) {
      byoc_cutlass_attention_t attention = heads;
      attention.batch = sizes[i][0], attention.queries = sizes[i][1];
      attention.past = sizes[i][2], attention.keys = sizes[i][3];
      tensors_t t;
      make_tensors(&attention, heads.past > 0, &t);
      check_plan(name, &problem, &plan, &attention, kernels.functions[0], &t, 1, 0);
      check_plan(name, &problem, &plan, &attention, kernels.functions[0], &t, SLOTS, 0);
      free_tensors(&t);
    }
    kernels_end(&kernels);
  }
}

typedef byoc_cutlass_attention_t attention_t;

static void test_flat(void **state) {
  (void)state;
  check("flat", (attention_t){.batch = 2,
                              .heads = 3,
                              .kv_heads = 3,
                              .queries = 19,
                              .keys = 37,
                              .size = 20,
                              .value_size = 24,
                              .flat = true,
                              .has_mask = true,
                              .mask_axes = {true, false, false, true}});
  check("blocks", (attention_t){.batch = 1,
                                .heads = 4,
                                .kv_heads = 2,
                                .queries = 13,
                                .keys = 700,
                                .size = 16,
                                .value_size = 80,
                                .flat = true,
                                .has_mask = true,
                                .mask_axes = {false, false, true, true}});
}

static void test_by_heads(void **state) {
  (void)state;
  check("causal", (attention_t){.batch = 1,
                                .heads = 2,
                                .kv_heads = 1,
                                .queries = 150,
                                .keys = 150,
                                .size = 33,
                                .value_size = 7,
                                .causal = true});
  check("mask of heads", (attention_t){.batch = 1,
                                       .heads = 2,
                                       .kv_heads = 2,
                                       .queries = 8,
                                       .keys = 5,
                                       .size = 64,
                                       .value_size = 64,
                                       .has_mask = true,
                                       .mask_axes = {false, true, false, false}});
}

// The last rows of a panel that is not full see no key of the blocks behind them.
static void test_causal_with_more_keys(void **state) {
  (void)state;
  const attention_t square = {
      .batch = 1, .heads = 2, .kv_heads = 1, .queries = 512, .keys = 1024, .size = 8, .value_size = 20, .causal = true};
  check("blocks of keys", square);
  attention_t past = square;
  past.past = 8, past.queries = 120;
  check("blocks of keys behind a cache", past);
  attention_t few = square;
  few.queries = 3, few.keys = 700, few.past = 510;
  check("few queries behind a cache", few);
}

static void test_one_query(void **state) {
  (void)state;
  check("step",
        (attention_t){.batch = 2, .heads = 6, .kv_heads = 3, .queries = 1, .keys = 601, .size = 40, .value_size = 72});
  check("few", (attention_t){.batch = 1,
                             .heads = 2,
                             .kv_heads = 2,
                             .queries = 3,
                             .keys = 30,
                             .size = 9,
                             .value_size = 64,
                             .flat = true,
                             .causal = true});
}

static void test_cache(void **state) {
  (void)state;
  const attention_t step = {
      .batch = 1, .heads = 6, .kv_heads = 6, .queries = 1, .keys = 700, .past = 699, .size = 32, .value_size = 64};
  check("step", step);
  attention_t small = step;
  small.keys = 10, small.past = 9, small.size = 20, small.value_size = 7;
  check("small step", small);
  check("shared heads, masked", (attention_t){.batch = 2,
                                              .heads = 6,
                                              .kv_heads = 2,
                                              .queries = 2,
                                              .keys = 60,
                                              .past = 41,
                                              .size = 24,
                                              .value_size = 40,
                                              .has_mask = true,
                                              .mask_axes = {false, false, false, true}});
  check("causal", (attention_t){.batch = 1,
                                .heads = 2,
                                .kv_heads = 2,
                                .queries = 50,
                                .keys = 650,
                                .past = 600,
                                .size = 33,
                                .value_size = 16,
                                .causal = true});
  check("flat", (attention_t){.batch = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .queries = 9,
                              .keys = 30,
                              .past = 21,
                              .size = 16,
                              .value_size = 20,
                              .flat = true});
}

enum { ANY = BYOC_CUTLASS_OPEN_ROWS, PAST = BYOC_CUTLASS_OPEN_KEYS }; // what open sizes are planned for

static void test_open_lengths(void **state) {
  (void)state;
  static const int64_t batch_queries_past_keys[][4] = {{1, 1, 0, 1},   {2, 19, 0, 37}, {1, 7, 0, 600},
                                                       {3, 512, 0, 5}, {1, 400, 0, 9}, {1, 13, 0, 700},
                                                       {0, 5, 0, 5},   {2, 0, 0, 4},   {2, 3, 0, 0}};
  const attention_t flat = {.heads = 3,
                            .kv_heads = 3,
                            .queries = ANY,
                            .size = 20,
                            .value_size = 24,
                            .flat = true,
                            .has_mask = true,
                            .mask_axes = {true, false, false, true}};
  check_open("open, flat", flat, batch_queries_past_keys, 9);
  attention_t by_heads = flat;
  by_heads.flat = false, by_heads.kv_heads = 1, by_heads.mask_axes[2] = true;
  check_open("open, by heads", by_heads, batch_queries_past_keys, 9);
  by_heads.has_mask = false, by_heads.causal = true;
  check_open("open, causal", by_heads, batch_queries_past_keys, 9);
}

static void test_open_cache(void **state) {
  (void)state;
  static const int64_t steps[][4] = {{1, 1, 0, 1}, {1, 1, 1, 2}, {2, 1, 36, 37}, {1, 1, 699, 700}, {1, 1, 1100, 1101}};
  static const int64_t any[][4] = {{1, 1, 0, 1},       {2, 5, 3, 8},   {1, 20, 600, 620},
                                   {1, 400, 130, 530}, {1, 0, 40, 40}, {2, 0, 5, 9}};
  const attention_t step = {
      .heads = 4, .kv_heads = 2, .queries = 1, .past = PAST, .size = 32, .value_size = 64, .causal = true};
  check_open("open step", step, steps, 5);
  attention_t prompt = step;
  prompt.queries = ANY, prompt.value_size = 40;
  check_open("open prompt", prompt, any, 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flat),      cmocka_unit_test(test_by_heads), cmocka_unit_test(test_causal_with_more_keys),
      cmocka_unit_test(test_one_query), cmocka_unit_test(test_cache),    cmocka_unit_test(test_open_lengths),
      cmocka_unit_test(test_open_cache)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
