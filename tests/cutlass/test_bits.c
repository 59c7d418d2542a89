// SPDX-License-Identifier: Apache-2.0
// Products by weights of few bits: kernels for each instruction set, with all numbers of bits and kinds of zero points,
// called with many numbers of rows, give what the definition says. Buffers end where a page that nobody may touch
// begins; workspace and result start as NaN.
#include <math.h>
#include <stdio.h>

#include "kernels.h"
#include "plan/plan_bits.h"

// LANES: the columns of a tile of weights, as byoc::PackedMatMul has them.
enum { SLOTS = 3, LANES = 64 };

typedef struct case_t {
  byoc_cutlass_bits_t bits;
  uint32_t activation;
  bool has_bias, has_residual;
} case_t;

#define BITS(n, k, block_size, bit_count, zero_kind, is_rounded, is_open, row_count)                                   \
  {                                                                                                                    \
    .columns = n, .depth = k, .block = block_size, .bits = bit_count, .zeros = BYOC_CUTLASS_ZEROS_##zero_kind,         \
    .zero = 1 << ((bit_count)-1), .rounds = is_rounded, .open_rows = is_open, .rows = row_count                        \
  }

// Columns that fill a tile or not, a last block that is not full, one row, some rows, and as many as a call brings.
static const case_t cases[] = {
    {BITS(64, 64, 32, 4, NONE, false, false, 1), BYOC_CUTLASS_ACT_NONE, false, false},
    {BITS(131, 77, 16, 4, OF_WORDS, false, false, 13), BYOC_CUTLASS_ACT_RELU, true, true},
    {BITS(131, 77, 16, 4, OF_WORDS, true, true, BYOC_CUTLASS_OPEN_ROWS), BYOC_CUTLASS_ACT_RELU, true, true},
    {BITS(70, 40, 16, 2, NONE, false, false, 5), BYOC_CUTLASS_ACT_NONE, true, false},
    {BITS(70, 40, 16, 2, NONE, true, false, 5), BYOC_CUTLASS_ACT_NONE, true, false},
    {BITS(5, 300, 64, 8, OF_FLOATS, false, false, 29), BYOC_CUTLASS_ACT_NONE, false, true},
    {BITS(5, 300, 64, 8, OF_FLOATS, true, false, 29), BYOC_CUTLASS_ACT_NONE, false, true},
    {BITS(66, 90, 32, 8, OF_WORDS, true, false, 1), BYOC_CUTLASS_ACT_NONE, false, false},
    {BITS(66, 90, 32, 8, NONE, true, false, 13), BYOC_CUTLASS_ACT_NONE, false, false},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };
static const int64_t row_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 29};

static byoc_cutlass_problem_t problem_of(const case_t *one, uint32_t dot) {
  const bool are_bytes = dot == BYOC_CUTLASS_DOT_I8X4 && byoc_cutlass_bits_may_be_bytes(&one->bits);
  return (byoc_cutlass_problem_t){
      .kind = BYOC_CUTLASS_BITS,
      .bits = one->bits,
      .epilogue = {.alpha = 0.5f,
                   .beta = 1.0f,
                   .has_bias = one->has_bias,
                   .has_residual = one->has_residual,
                   .activation = one->activation},
      .inputs = {.data = 0, .weights = 1, .scales = 2, .zeros = 3, .bias = 4, .residual = 5},
      .words = {.dot = are_bytes ? BYOC_CUTLASS_DOT_I8X4 : BYOC_CUTLASS_DOT_F32}};
}

// Weights as byoc::PackedMatMul has them.
typedef struct weights_t {
  guarded_t words, scales, zeros;
  int64_t blocks, slots;
} weights_t;

static guarded_t make_floats(byoc_test_random_t *random, int64_t count, float scale) {
  guarded_t buffer = guarded_create((size_t)count * sizeof(float), sizeof(float));
  for (int64_t i = 0; i < count; ++i) buffer.data[i] = byoc_test_float(random) * scale;
  return buffer;
}

static guarded_t make_words(byoc_test_random_t *random, int64_t count) {
  guarded_t buffer = guarded_create((size_t)count * sizeof(uint32_t), sizeof(uint32_t));
  for (int64_t i = 0; i < count; ++i) {
    uint32_t word = 0;
    for (int b = 0; b < 4; ++b) word = word << 8 | ((uint32_t)(int32_t)(byoc_test_float(random) * 1e4f) & 255);
    memcpy(&buffer.data[i], &word, sizeof word);
  }
  return buffer;
}

static weights_t make_weights(const byoc_cutlass_bits_t *bits) {
  byoc_test_random_t random = {(uint64_t)(bits->columns * 100 + bits->bits)};
  weights_t w = {.slots = 32 / bits->bits, .blocks = byoc_cutlass_ceil_div(bits->depth, bits->block)};
  const int64_t columns = byoc_cutlass_ceil_div(bits->columns, LANES) * LANES;
  w.words = make_words(&random, columns * w.blocks * bits->block / w.slots);
  w.scales = make_floats(&random, columns * w.blocks, 0.2f);
  w.zeros = bits->zeros == BYOC_CUTLASS_ZEROS_OF_FLOATS
                ? make_floats(&random, columns * w.blocks, 8.0f)
                : make_words(&random, columns * byoc_cutlass_ceil_div(w.blocks, w.slots));
  return w;
}

// The number at `index` of a column, of `count` in all, whose words lie side by side for 64 columns.
static double number_at(const guarded_t *words, int64_t bits, int64_t count, int64_t index, int64_t column) {
  const int64_t slots = 32 / bits, lines = byoc_cutlass_ceil_div(count, slots);
  uint32_t word;
  memcpy(&word, &words->data[(column / LANES * lines + index / slots) * LANES + column % LANES], sizeof word);
  return (double)(word >> index % slots * bits & ((UINT32_C(1) << bits) - 1));
}

static double weight_at(const byoc_cutlass_bits_t *bits, const weights_t *w, int64_t k, int64_t n) {
  const int64_t block = k / bits->block, place = (n / LANES * w->blocks + block) * LANES + n % LANES;
  double zero = (double)bits->zero;
  if (bits->zeros == BYOC_CUTLASS_ZEROS_OF_FLOATS) zero = (double)w->zeros.data[place];
  if (bits->zeros == BYOC_CUTLASS_ZEROS_OF_WORDS) zero = number_at(&w->zeros, bits->bits, w->blocks, block, n);
  return (number_at(&w->words, bits->bits, w->blocks * bits->block, k, n) - zero) * (double)w->scales.data[place];
}

// x as the product reads it.
static double data_at(const byoc_cutlass_bits_t *bits, const float *row, int64_t k) {
  if (!bits->rounds) return (double)row[k];
  float most = 0;
  const int64_t first = k / bits->block * bits->block;
  for (int64_t i = first; i < first + bits->block && i < bits->depth; ++i) most = fmaxf(most, fabsf(row[i]));
  return most < 0x1p-119f ? 0 : (double)(nearbyintf(row[k] * (127.0f / most)) * (most / 127.0f));
}

static void check_rows(const case_t *one, const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                       byoc_packed_function_t function, const weights_t *w, int64_t rows, int32_t threads) {
  byoc_test_random_t random = {(uint64_t)rows + 7};
  const byoc_cutlass_bits_t *bits = &one->bits;
  guarded_t a = make_floats(&random, rows * bits->depth, 1.0f), bias = make_floats(&random, bits->columns, 1.0f);
  guarded_t residual = make_floats(&random, rows * bits->columns, 1.0f);
  for (int64_t k = 0; rows > 2 && k < bits->depth; ++k) a.data[2 * bits->depth + k] = 0;       // a row without a step
  for (int64_t k = 0; rows > 3 && k < bits->depth; ++k) a.data[3 * bits->depth + k] *= 1e-38f; // 127 / 1e-38 is inf
  const size_t workspace_size = (size_t)byoc_cutlass_workspace_bytes(problem, plan);
  guarded_t workspace = guarded_create(workspace_size, BYOC_BUFFER_ALIGNMENT);
  guarded_t result = guarded_create((size_t)(rows * bits->columns) * sizeof(float), sizeof(float));
  int64_t shape[] = {rows % 2 ? 1 : 2, rows % 2 ? rows : rows / 2, bits->columns};
  DLTensor tensors[] = {{.data = a.data},
                        {.data = w->words.data},
                        {.data = w->scales.data},
                        {.data = w->zeros.data},
                        {.data = bias.data},
                        {.data = residual.data},
                        {.data = result.data, .ndim = 3, .shape = shape}};
  kernels_call(function, tensors, 6, 1, threads, workspace.data, workspace_size);
  for (int64_t i = 0; i < rows * bits->columns; ++i) {
    double want = 0, size = 0;
    for (int64_t k = 0; k < bits->depth; ++k) {
      const double term =
          0.5 * data_at(bits, a.data + i / bits->columns * bits->depth, k) * weight_at(bits, w, k, i % bits->columns);
      want += term, size += fabs(term);
    }
    if (one->has_bias) want += (double)bias.data[i % bits->columns];
    if (one->has_residual) want += (double)residual.data[i];
    if (one->activation == BYOC_CUTLASS_ACT_RELU) want = fmax(want, 0);
    if (!(fabs((double)result.data[i] - want) <= 1e-5 * (1 + size) * (double)(1 << bits->bits) / 16))
      fail_msg("isa %u, case %d, %lldx%lldx%lld, %d threads: element %lld is %g, not %g", plan->isa, (int)(one - cases),
               (long long)rows, (long long)bits->columns, (long long)bits->depth, threads, (long long)i,
               (double)result.data[i], want);
  }
  guarded_destroy(&a), guarded_destroy(&bias), guarded_destroy(&residual);
  guarded_destroy(&workspace), guarded_destroy(&result);
}

static void check_case(const case_t *one, const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                       byoc_packed_function_t function) {
  weights_t w = make_weights(&one->bits);
  const size_t count = one->bits.open_rows ? sizeof(row_counts) / sizeof(row_counts[0]) : 1;
  for (size_t i = 0; i < count; ++i) {
    const int64_t rows = one->bits.open_rows ? row_counts[i] : one->bits.rows;
    check_rows(one, problem, plan, function, &w, rows, 1);
    check_rows(one, problem, plan, function, &w, rows, SLOTS);
  }
  guarded_destroy(&w.words), guarded_destroy(&w.scales), guarded_destroy(&w.zeros);
}

static void check_set(byoc_cutlass_isa_t isa, uint32_t dot) {
  byoc_cutlass_problem_t problems[CASES];
  byoc_cutlass_plan_t plans[CASES];
  kernels_t kernels;
  kernels_begin(&kernels, isa);
  kernels.dot = dot;
  for (size_t c = 0; c < CASES; ++c) {
    problems[c] = problem_of(&cases[c], dot);
    byoc_cutlass_plan_default(&problems[c], isa, SLOTS, true, &plans[c]);
    kernels_add(&kernels, &problems[c], &plans[c]);
  }
  kernels_compile(&kernels, "-O1");
  for (size_t c = 0; c < CASES; ++c) check_case(&cases[c], &problems[c], &plans[c], kernels.functions[c]);
  kernels_end(&kernels);
}

static void test_products_by_few_bits(void **state) {
  (void)state;
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa) {
    if (!kernels_try_here(isa)) continue;
    check_set(isa, BYOC_CUTLASS_DOT_F32);
    if (kernels_run_here(isa, BYOC_CUTLASS_DOT_I8X4)) check_set(isa, BYOC_CUTLASS_DOT_I8X4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products_by_few_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
