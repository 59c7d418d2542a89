// Attention by templates/attention.h, held against its definition in double precision, on each instruction set: heads
// side by side or one after the other, masks of every shape, causality, several blocks of keys, rows without a key.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { SLOTS = 3, MOST_PLANS = 32, MARGIN = 64 };

typedef struct tensors_t {
  float *q, *k, *v, *mask, *expected, *result;
  int64_t result_count;
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

static float masked(const byoc_cutlass_attention_t *a, const tensors_t *t, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (a->causal && j > i) return -INFINITY;
  const int64_t *steps = a->mask_steps;
  return a->has_mask ? t->mask[b * steps[0] + h * steps[1] + i * steps[2] + j * steps[3]] : 0.0f;
}

// One row of the result, by the definition.
static void expect_row(const byoc_cutlass_attention_t *a, const tensors_t *t, int64_t b, int64_t h, int64_t i) {
  double scores[2048], most = -INFINITY, sum = 0;
  int64_t group = a->heads / a->kv_heads;
  const float *q = t->q + at(a, b, h, i, a->heads, a->queries, a->size);
  float *y = t->expected + at(a, b, h, i, a->heads, a->queries, a->value_size);
  for (int64_t j = 0; j < a->keys; ++j) {
    const float *k = t->k + at(a, b, h / group, j, a->kv_heads, a->keys, a->size);
    double score = 0;
    for (int64_t d = 0; d < a->size; ++d) score += (double)q[d] * k[d];
    scores[j] = score * a->scale + masked(a, t, b, h, i, j);
    if (scores[j] > most) most = scores[j];
  }
  for (int64_t j = 0; j < a->keys; ++j) sum += scores[j] = most == -INFINITY ? 0 : exp(scores[j] - most);
  for (int64_t d = 0; d < a->value_size; ++d) {
    double value = 0;
    for (int64_t j = 0; j < a->keys; ++j)
      value += scores[j] * t->v[at(a, b, h / group, j, a->kv_heads, a->keys, a->value_size) + d];
    y[d] = sum > 0 ? (float)(value / sum) : 0.0f;
  }
}

static void make_tensors(const byoc_cutlass_attention_t *a, tensors_t *t) {
  byoc_test_random_t random = {7};
  int64_t masks = 0;
  for (int i = 0; i < 4; ++i) { // the last element that the steps reach
    const int64_t dims[] = {a->batch, a->heads, a->queries, a->keys};
    masks += a->mask_steps[i] * (dims[i] - 1);
  }
  t->result_count = a->batch * a->heads * a->queries * a->value_size;
  t->q = make_random(&random, a->batch * a->heads * a->queries * a->size);
  t->k = make_random(&random, a->batch * a->kv_heads * a->keys * a->size);
  t->v = make_random(&random, a->batch * a->kv_heads * a->keys * a->value_size);
  t->mask = make_random(&random, masks + 1);
  for (int64_t i = 0; i <= masks; i += 3) t->mask[i] = i % 2 ? -INFINITY : -20.0f;
  if (a->mask_steps[2] > 0) // the second row of the first head attends to nothing
    for (int64_t j = 0; j < a->keys; ++j) t->mask[a->mask_steps[2] + j * a->mask_steps[3]] = -INFINITY;
  t->expected = malloc((size_t)t->result_count * sizeof(float));
  t->result = malloc((size_t)(t->result_count + MARGIN) * sizeof(float));
  assert_true(t->expected && t->result);
  for (int64_t b = 0; b < a->batch; ++b)
    for (int64_t h = 0; h < a->heads; ++h)
      for (int64_t i = 0; i < a->queries; ++i) expect_row(a, t, b, h, i);
}

static void free_tensors(const tensors_t *t) {
  float *all[] = {t->q, t->k, t->v, t->mask, t->expected, t->result};
  for (size_t i = 0; i < sizeof(all) / sizeof(*all); ++i) free(all[i]);
}

static void check_plan(const char *name, const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                       byoc_packed_function_t function, const tensors_t *t, int32_t threads) {
  uint64_t size = byoc_cutlass_workspace_bytes(problem, plan);
  char *workspace = aligned_alloc(BYOC_BUFFER_ALIGNMENT, (size + MARGIN + 63) / 64 * 64);
  assert_non_null(workspace);
  memset(workspace, 0xff, size + MARGIN);                                      // NaN
  memset(t->result, 0xff, (size_t)(t->result_count + MARGIN) * sizeof(float)); // NaN
  DLTensor tensors[] = {{.data = t->q}, {.data = t->k}, {.data = t->v}, {.data = t->mask}, {.data = t->result}};
  byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = threads, .parallel_for = kernels_run_shares};
  byoc_call_t call = {.struct_size = sizeof(call),
                      .input_count = 4,
                      .output_count = 1,
                      .tensors = tensors,
                      .runtime = &runtime,
                      .workspace = workspace,
                      .workspace_size_bytes = size};
  assert_int_equal(function(&call), BYOC_OK);
  for (int64_t i = 0; i < t->result_count; ++i)
    if (!(fabsf(t->result[i] - t->expected[i]) <= 1e-5f + 1e-4f * fabsf(t->expected[i])))
      fail_msg("%s: isa %u rows %d vectors %d block %d, %d threads: element %lld is %g, not %g", name, plan->isa,
               plan->rows, plan->vectors, plan->block_depth, threads, (long long)i, (double)t->result[i],
               (double)t->expected[i]);
  for (int64_t i = 0; i < MARGIN; ++i) assert_true(isnan(t->result[t->result_count + i]));
  for (int64_t i = 0; i < MARGIN; ++i) assert_int_equal((unsigned char)workspace[size + (uint64_t)i], 0xff);
  free(workspace);
}

// The default plan, and one of narrow tiles and short blocks.
static void check(const char *name, byoc_cutlass_attention_t attention) {
  byoc_cutlass_problem_t problem = {.kind = BYOC_CUTLASS_ATTENTION, .attention = attention, .inputs = {0, 1, 2, 3}};
  problem.attention.scale = 0.3f;
  tensors_t t;
  make_tensors(&problem.attention, &t);
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    byoc_cutlass_plan_t plans[MOST_PLANS];
    if (!kernels_run_here(isa)) continue;
    size_t count = byoc_cutlass_plan_candidates(&problem, isa, SLOTS, true, plans, MOST_PLANS);
    assert_true(count > 3);
    for (size_t i = 0; i < 4; i += 3) {
      kernels_t kernels;
      kernels_begin(&kernels, isa);
      kernels_add(&kernels, &problem, &plans[i]);
      kernels_compile(&kernels, "-O1");
      check_plan(name, &problem, &plans[i], kernels.functions[0], &t, 1);
      check_plan(name, &problem, &plans[i], kernels.functions[0], &t, SLOTS);
      kernels_end(&kernels);
    }
  }
  free_tensors(&t);
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
                              .mask_steps = {37, 0, 0, 1}});
  check("blocks", (attention_t){.batch = 1,
                                .heads = 4,
                                .kv_heads = 2,
                                .queries = 13,
                                .keys = 700,
                                .size = 16,
                                .value_size = 80,
                                .flat = true,
                                .has_mask = true,
                                .mask_steps = {0, 0, 700, 1}});
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
                                       .mask_steps = {0, 1, 0, 0}});
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_flat), cmocka_unit_test(test_by_heads),
                                     cmocka_unit_test(test_one_query)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
