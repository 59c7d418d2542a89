// SPDX-License-Identifier: Apache-2.0
// A product whose number of rows each call brings: one kernel, called with many numbers of rows, gives what the
// definition says. Buffers end where a page that nobody may touch begins; workspace and result start as NaN.
#include <math.h>
#include <stdio.h>

#include "kernels.h"
#include "pack/pack_half.h"

enum { SLOTS = 3, CASES = 7 };

typedef struct case_t {
  int64_t n, k;
  bool transpose_b, has_residual;
  uint32_t activation;
  byoc_cutlass_types_t types;
} case_t;

// Columns that lanes divide or not, fewer than a panel has, depth in several blocks, rows that share sets of the cache.
static const case_t cases[CASES] = {
    {96, 40, false, true, BYOC_CUTLASS_ACT_NONE},
    {131, 77, true, false, BYOC_CUTLASS_ACT_RELU},
    {5, 3, false, false, BYOC_CUTLASS_ACT_NONE},
    {400, 1024, false, true, BYOC_CUTLASS_ACT_RELU},
    {131, 77, true, true, BYOC_CUTLASS_ACT_RELU, {BYOC_DTYPE_F16, BYOC_DTYPE_F16, BYOC_DTYPE_F16, BYOC_DTYPE_F16}},
    {600, 700, false, false, BYOC_CUTLASS_ACT_NONE, {BYOC_DTYPE_BF16, BYOC_DTYPE_BF16, 0, BYOC_DTYPE_BF16}},
    {96, 600, false, true, BYOC_CUTLASS_ACT_NONE, {0, BYOC_DTYPE_F16, 0, 0}},
};
static const int64_t row_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 19, 29, 100, 277};

static byoc_cutlass_problem_t problem_of(const case_t *one) {
  return (byoc_cutlass_problem_t){.kind = BYOC_CUTLASS_GEMM,
                                  .types = one->types,
                                  .gemm = {.m = BYOC_CUTLASS_OPEN_ROWS,
                                           .n = one->n,
                                           .k = one->k,
                                           .transpose_b = one->transpose_b,
                                           .constant_b = true,
                                           .open_rows = true},
                                  .epilogue = {.alpha = 1.0f,
                                               .beta = 1.0f,
                                               .has_bias = true,
                                               .has_residual = one->has_residual,
                                               .activation = one->activation},
                                  .inputs = {0, 1, 2, 3}};
}

static guarded_t make_random(byoc_test_random_t *random, int64_t count, float scale, uint32_t type) {
  guarded_t buffer = guarded_create((size_t)count * sizeof(float), sizeof(float));
  float *values = buffer.data;
  for (int64_t i = 0; i < count; ++i) values[i] = kernels_round(type, byoc_test_float(random) * scale);
  return buffer;
}

static double expected(const case_t *one, const float *a, const float *b, int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t k = 0; k < one->k; ++k)
    sum += (double)a[row * one->k + k] * b[one->transpose_b ? column * one->k + k : k * one->n + column];
  return sum;
}

// One call with `rows` rows, as [2, rows / 2, n] where that is possible: all axes but the last are rows.
static void check_rows(const case_t *one, const byoc_cutlass_plan_t *plan, byoc_packed_function_t function,
                       const float *weights, const void *packed, int64_t rows, int32_t threads) {
  byoc_test_random_t random = {(uint64_t)rows + 7};
  const byoc_cutlass_problem_t problem = problem_of(one);
  guarded_t a = make_random(&random, rows * one->k, 1.0f, one->types.data);
  guarded_t bias = make_random(&random, one->n, 1.0f, 0);
  guarded_t residual = make_random(&random, rows * one->n, 1.0f, one->types.residual);
  guarded_t data = kernels_narrow(one->types.data, a.data, rows * one->k);
  guarded_t added = kernels_narrow(one->types.residual, residual.data, rows * one->n);
  const size_t workspace_size = (size_t)byoc_cutlass_workspace_bytes(&problem, plan);
  guarded_t workspace = guarded_create(workspace_size, BYOC_BUFFER_ALIGNMENT);
  guarded_t result = guarded_create((size_t)(rows * one->n * byoc_cutlass_type_bytes(one->types.result)), 2);
  const double error = one->types.result == BYOC_DTYPE_F16    ? 6e-4
                       : one->types.result == BYOC_DTYPE_BF16 ? 4.2e-3
                                                              : 1e-4;
  int64_t shape[] = {rows % 2 ? 1 : 2, rows % 2 ? rows : rows / 2, one->n};
  DLTensor tensors[] = {{.data = data.data},
                        {.data = (void *)(uintptr_t)packed},
                        {.data = bias.data},
                        {.data = added.data},
                        {.data = result.data, .ndim = 3, .shape = shape}};
  kernels_call(function, tensors, 4, 1, threads, workspace.data, workspace_size);
  for (int64_t i = 0; i < rows * one->n; ++i) {
    double want = expected(one, a.data, weights, i / one->n, i % one->n) + bias.data[i % one->n];
    if (one->has_residual) want += residual.data[i];
    if (one->activation == BYOC_CUTLASS_ACT_RELU) want = fmax(want, 0);
    const float got = kernels_element(one->types.result, result.data, i);
    if (!(fabs(got - want) <= 1e-4 + error * fabs(want)))
      fail_msg("isa %u, %lldx%lldx%lld, %d threads: element %lld is %g, not %g", plan->isa, (long long)rows,
               (long long)one->n, (long long)one->k, threads, (long long)i, (double)got, want);
  }
  guarded_destroy(&data), guarded_destroy(&added);
  guarded_destroy(&a), guarded_destroy(&bias), guarded_destroy(&residual);
  guarded_destroy(&workspace), guarded_destroy(&result);
}

static void check_case(const case_t *one, const byoc_cutlass_plan_t *plan, byoc_packed_function_t function) {
  byoc_test_random_t random = {42};
  const byoc_cutlass_problem_t problem = problem_of(one);
  guarded_t weights = make_random(&random, one->n * one->k, 0.2f, one->types.weights);
  const size_t count = byoc_cutlass_packed_floats(&problem, plan);
  guarded_t packed = guarded_create(count * sizeof(float), BYOC_BUFFER_ALIGNMENT);
  byoc_cutlass_pack_weights(&problem, plan, weights.data, packed.data);
  if (byoc_cutlass_is_half(one->types.weights)) {
    guarded_t halves = guarded_create(count * 2, BYOC_BUFFER_ALIGNMENT);
    byoc_cutlass_narrow(one->types.weights, packed.data, (int64_t)count, (uint16_t *)(void *)halves.data);
    guarded_destroy(&packed);
    packed = halves;
  }
  for (size_t i = 0; i < sizeof(row_counts) / sizeof(*row_counts); ++i) {
    check_rows(one, plan, function, weights.data, packed.data, row_counts[i], 1);
    check_rows(one, plan, function, weights.data, packed.data, row_counts[i], SLOTS);
  }
  guarded_destroy(&packed), guarded_destroy(&weights);
}

static void test_open_rows(void **state) {
  (void)state;
  bool copies = false, reads_in_place = false;
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    if (!kernels_try_here(isa)) continue;
    byoc_cutlass_plan_t plans[CASES];
    kernels_t kernels;
    kernels_begin(&kernels, isa);
    kernels.half = byoc_cutlass_half_feature(isa);
    for (size_t c = 0; c < CASES; ++c) {
      const byoc_cutlass_problem_t problem = problem_of(&cases[c]);
      byoc_cutlass_plan_default(&problem, isa, SLOTS, true, &plans[c]);
      assert_int_equal(plans[c].form, BYOC_CUTLASS_FORM_WEIGHTS);
      kernels_add(&kernels, &problem, &plans[c]);
      copies = copies || !plans[c].direct;
      reads_in_place = reads_in_place || plans[c].direct;
    }
    kernels_compile(&kernels, "-O1");
    for (size_t c = 0; c < CASES; ++c) check_case(&cases[c], &plans[c], kernels.functions[c]);
    kernels_end(&kernels);
  }
  assert_true(copies && reads_in_place);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_open_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
