// SPDX-License-Identifier: Apache-2.0
// Products by the tiles of AMX: integers are those of the kernels without tiles, bit for bit, floats those of the
// definition; any number of threads gives the same bits. Here the tiles are those of amx_model.h; the same kernels are
// also compiled with the intrinsics, and run if this process gets tiles. Buffers end where a page that nobody may touch
// begins.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/runtime/cpu.h"
#include "core/targets/cpu.h"
#include "kernels.h"
#include "pack/pack_words.h"
#include "plan/plan_amx.h"
#include "tests/support/command.h"

enum { SLOTS = 7, MOST_CASES = 24, WIDE = BYOC_CUTLASS_ISA_AVX512 };

typedef struct case_t {
  byoc_cutlass_problem_t problem;
  int64_t planned; // rows, or 1 image, where the number is that of each call; 0: it is constant
} case_t;

typedef struct list_t {
  case_t cases[MOST_CASES];
  size_t count;
} list_t;

// ---- problems ----

static byoc_cutlass_problem_t *add(list_t *list, byoc_cutlass_problem_t problem, uint32_t data, uint32_t result) {
  assert_true(list->count < MOST_CASES);
  byoc_cutlass_words_t *words = &problem.words;
  problem.inputs = (byoc_cutlass_inputs_t){.data = 0, .weights = 1, .bias = 2, .residual = 3, .zero = 4, .factor = 5};
  problem.epilogue = (byoc_cutlass_epilogue_t){.alpha = 1.0f, .beta = 1.0f, .has_bias = true};
  words->dot = BYOC_CUTLASS_DOT_I8X4, words->data = data, words->result = result, words->zero = 3;
  words->result_scale = 0.3f, words->result_zero = 7.0f, words->low = 0.0f, words->high = 255.0f;
  problem.epilogue.has_residual = result == BYOC_DTYPE_F32;
  list->cases[list->count] = (case_t){.problem = problem};
  return &list->cases[list->count++].problem;
}

static byoc_cutlass_problem_t gemm(int64_t m, int64_t n, int64_t k, bool transpose_b) {
  return (byoc_cutlass_problem_t){
      .kind = BYOC_CUTLASS_GEMM,
      .gemm = {.m = m, .n = n, .k = k, .transpose_b = transpose_b, .constant_b = true},
  };
}

static byoc_cutlass_problem_t conv(int64_t groups, int64_t in, int64_t out, int64_t size, int64_t kernel,
                                   int64_t stride, int64_t pad) {
  const int64_t after = (size + 2 * pad - kernel) / stride + 1;
  return (byoc_cutlass_problem_t){
      .kind = BYOC_CUTLASS_CONV,
      .conv = {.batch = 2,
               .groups = groups,
               .in = in,
               .out = out,
               .in_h = size,
               .in_w = size,
               .out_h = after,
               .out_w = after,
               .kernel_h = kernel,
               .kernel_w = kernel,
               .stride_h = stride,
               .stride_w = stride,
               .dilation_h = 1,
               .dilation_w = 1,
               .pad_top = pad,
               .pad_left = pad},
  };
}

static void make_open(list_t *list, int64_t planned) {
  list->cases[list->count - 1].planned = planned;
}

// Sizes around those of a tile, and of two; rows in place (whole steps of bytes) and copied.
static void add_bytes(list_t *list) {
  add(list, gemm(16, 16, 64, false), BYOC_DTYPE_U8, BYOC_DTYPE_I32);
  add(list, gemm(33, 49, 128, true), BYOC_DTYPE_I8, BYOC_DTYPE_I32)->words.reads_zero = true;
  add(list, gemm(31, 33, 67, false), BYOC_DTYPE_U8, BYOC_DTYPE_U8);
  add(list, gemm(17, 15, 80, false), BYOC_DTYPE_I8, BYOC_DTYPE_F32);
  add(list, gemm(15, 70, 37, false), BYOC_DTYPE_I8, BYOC_DTYPE_I32);
  add(list, gemm(1, 32, 64, false), BYOC_DTYPE_U8, BYOC_DTYPE_I32)->words.reads_zero = true;
  add(list, gemm(70, 40, 100, true), BYOC_DTYPE_U8, BYOC_DTYPE_I32)->words.unsigned_weights = true;
  add(list, gemm(20, 40, 64, true), BYOC_DTYPE_I8, BYOC_DTYPE_I32)->words.unsigned_weights = true;
  add(list, gemm(21, 40, 70, true), BYOC_DTYPE_F32, BYOC_DTYPE_F32);
  add(list, gemm(77, 20, 64, true), BYOC_DTYPE_I8, BYOC_DTYPE_I32);
  make_open(list, 48);
  add(list, gemm(19, 20, 50, false), BYOC_DTYPE_U8, BYOC_DTYPE_F32);
  make_open(list, 16);
  add(list, conv(1, 64, 32, 8, 3, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_U8);
  // Work for seven threads.
  add(list, gemm(200, 160, 250, false), BYOC_DTYPE_I8, BYOC_DTYPE_I32);
  add(list, conv(1, 64, 50, 12, 3, 1, 1), BYOC_DTYPE_U8, BYOC_DTYPE_I32);
  add(list, conv(1, 70, 50, 7, 1, 1, 0), BYOC_DTYPE_I8, BYOC_DTYPE_I32);
  add(list, conv(2, 13, 17, 9, 3, 2, 1), BYOC_DTYPE_U8, BYOC_DTYPE_I32)->words.reads_zero = true;
  add(list, conv(1, 20, 9, 5, 3, 1, 1), BYOC_DTYPE_I8, BYOC_DTYPE_F32)->words.unsigned_weights = true;
  add(list, conv(1, 36, 33, 6, 2, 1, 0), BYOC_DTYPE_F32, BYOC_DTYPE_F32);
  make_open(list, 1);
}

static void add_floats(list_t *list) {
  const byoc_cutlass_problem_t problems[] = {
      gemm(16, 16, 32, false),   gemm(45, 50, 67, true),      gemm(7, 17, 31, false),    gemm(29, 33, 96, false),
      gemm(96, 100, 230, false), conv(1, 40, 20, 7, 3, 1, 1), conv(2, 9, 35, 9, 3, 2, 1)};
  for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); ++i) {
    add(list, problems[i], BYOC_DTYPE_F32, BYOC_DTYPE_F32)->words.dot = BYOC_CUTLASS_DOT_BF16X2;
    if (i == 3) make_open(list, 16);
  }
}

// A short test compiles the intrinsics for one case of three.
static list_t some_of(const list_t *all) {
  list_t some = {0};
  for (size_t i = 0; i < all->count; i += byoc_test_is_long() ? 1 : 3) some.cases[some.count++] = all->cases[i];
  return some;
}

static byoc_cutlass_problem_t planned_problem(const case_t *one) {
  byoc_cutlass_problem_t problem = one->problem;
  if (one->planned == 0) return problem;
  problem.conv.open_batch = problem.gemm.open_rows = true;
  problem.conv.batch = 1, problem.gemm.m = one->planned;
  return problem;
}

// ---- tensors; guarded memory is not given back: the process is short-lived ----

static void *guarded(int64_t size_bytes, size_t alignment) {
  return guarded_create((size_t)size_bytes, alignment).data;
}

typedef struct tensors_t {
  void *data;
  int16_t *bytes;
  float *weights, *residual, *scales, *shifts;
  int32_t *summands;
  uint8_t zero;
  float factor;
  int64_t channels, data_count, weight_count, result_count;
} tensors_t;

static float *random_floats(byoc_test_random_t *random, int64_t count, float scale) {
  float *values = guarded(count * 4, 4);
  for (int64_t i = 0; i < count; ++i) values[i] = byoc_test_float(random) * scale;
  return values;
}

static tensors_t make_tensors(const byoc_cutlass_problem_t *p) {
  byoc_test_random_t random = {11};
  const byoc_cutlass_conv_t *c = &p->conv;
  const byoc_cutlass_gemm_t *g = &p->gemm;
  const bool is_conv = p->kind == BYOC_CUTLASS_CONV;
  tensors_t t = {.channels = byoc_cutlass_words_channels(p), .factor = 1.0f, .zero = 3};
  t.data_count = is_conv ? c->batch * c->groups * c->in * c->in_h * c->in_w : g->m * g->k;
  t.weight_count = is_conv ? t.channels * c->in * c->kernel_h * c->kernel_w : g->k * g->n;
  t.result_count = is_conv ? c->batch * t.channels * c->out_h * c->out_w : g->m * g->n;
  t.residual = random_floats(&random, t.result_count, 1.0f);
  t.shifts = random_floats(&random, t.channels, 1.0f);
  t.scales = random_floats(&random, t.channels, 0.001f);
  t.weights = random_floats(&random, t.weight_count, 0.2f);
  t.bytes = guarded(t.weight_count * 2, 2);
  t.summands = guarded(t.channels * 4, 4);
  for (int64_t i = 0; i < t.channels; ++i) t.summands[i] = (int32_t)byoc_test_below(&random, 2000) - 1000;
  for (int64_t i = 0; i < t.weight_count; ++i) {
    const uint8_t byte = (uint8_t)byoc_test_next(&random);
    t.bytes[i] = p->words.unsigned_weights ? byte : (int8_t)byte;
  }
  if (p->words.data == BYOC_DTYPE_F32) {
    t.data = random_floats(&random, t.data_count, 1.0f);
    for (int64_t i = 0; i < t.channels; ++i) t.scales[i] = 1.0f;
  } else {
    t.data = guarded(t.data_count, 1);
    for (int64_t i = 0; i < t.data_count; ++i) ((uint8_t *)t.data)[i] = (uint8_t)byoc_test_next(&random);
  }
  return t;
}

static int64_t result_bytes(const byoc_cutlass_problem_t *problem, const tensors_t *t) {
  return t->result_count * (int64_t)byoc_dtype_bits(problem->words.result) / 8;
}

// The result of one problem, planned for the case.
static void *run(const case_t *one, const byoc_cutlass_problem_t *problem, tensors_t *t,
                 byoc_packed_function_t function, int32_t threads) {
  byoc_cutlass_plan_t plan;
  byoc_cutlass_plan_default(problem, WIDE, SLOTS, false, &plan);
  const bool is_conv = problem->kind == BYOC_CUTLASS_CONV, is_float = problem->words.dot == BYOC_CUTLASS_DOT_BF16X2;
  int64_t shape[4] = {is_conv ? one->problem.conv.batch : one->problem.gemm.m, t->channels, problem->conv.out_h,
                      problem->conv.out_w};
  int32_t *packed = guarded((int64_t)byoc_cutlass_packed_floats(problem, &plan) * 4, BYOC_BUFFER_ALIGNMENT);
  int32_t *tables = guarded(byoc_cutlass_words_parameter_count(problem) * 4, BYOC_BUFFER_ALIGNMENT);
  int16_t *bytes = t->bytes;
  float *scales = t->scales;
  if (problem->words.data == BYOC_DTYPE_F32 && !is_float) {
    bytes = guarded(t->weight_count * 2, 2);
    scales = guarded(t->channels * 4, 4);
    byoc_cutlass_words_quantise(problem, t->weights, bytes, scales);
  }
  byoc_cutlass_words_parameters(problem, is_float ? NULL : bytes, is_float ? NULL : t->summands, scales, t->shifts,
                                tables);
  if (is_float)
    byoc_cutlass_words_pack_bf16(problem, &plan, t->weights, packed);
  else
    byoc_cutlass_words_pack(problem, &plan, bytes, packed);
  const uint64_t workspace_bytes = byoc_cutlass_workspace_bytes(problem, &plan);
  void *result = guarded(result_bytes(problem, t), 1);
  DLTensor tensors[] = {{.data = t->data},
                        {.data = packed},
                        {.data = tables},
                        {.data = t->residual},
                        {.data = &t->zero},
                        {.data = &t->factor},
                        {.data = result, .ndim = is_conv ? 4 : 2, .shape = shape}};
  kernels_call(function, tensors, 6, 1, threads, guarded((int64_t)workspace_bytes + 1, BYOC_BUFFER_ALIGNMENT),
               workspace_bytes);
  return result;
}

// ---- compiling ----

static void compile(const list_t *list, kernels_t *kernels, bool amx, bool modelled, const char *level) {
  kernels_begin(kernels, WIDE);
  if (modelled)
    byoc_plugin_string_add(&kernels->text, "\n#include \"%s/tests/cutlass/amx_model.h\"\n", BYOC_TEST_SOURCE_DIR);
  kernels->dot = list->cases[0].problem.words.dot;
  if (amx && !modelled) kernels->half = byoc_cutlass_tile_features(WIDE, kernels->dot);
  for (size_t i = 0; i < list->count; ++i) {
    byoc_cutlass_problem_t problem = planned_problem(&list->cases[i]);
    problem.words.amx = amx;
    if (!amx && problem.words.unsigned_weights) problem.words.dot = BYOC_CUTLASS_DOT_I16X2; // any weights
    byoc_cutlass_plan_t plan;
    byoc_cutlass_plan_default(&problem, WIDE, SLOTS, false, &plan);
    kernels_add(kernels, &problem, &plan);
  }
  char flags[80];
  snprintf(flags, sizeof(flags), "%s -Wall -Wextra -Werror -Wno-unused -Wno-sign-compare", level);
  kernels_compile(kernels, flags);
}

static bool is_shared(const byoc_cutlass_problem_t *of_words) {
  byoc_cutlass_problem_t problem = *of_words;
  byoc_cutlass_plan_t plan;
  problem.words.amx = true;
  byoc_cutlass_plan_default(&problem, WIDE, SLOTS, false, &plan);
  return byoc_cutlass_shares(&problem, &plan) > 1;
}

static void *run_tiles(const list_t *list, size_t i, const kernels_t *kernels, tensors_t *t) {
  byoc_cutlass_problem_t problem = planned_problem(&list->cases[i]);
  problem.words.amx = true;
  void *first = NULL;
  static const int32_t threads[] = {1, 2, 7};
  for (int k = 0; k < 3; ++k) {
    void *result = run(&list->cases[i], &problem, t, kernels->functions[i], threads[k]);
    if (k == 0) first = result;
    if (memcmp(result, first, (size_t)result_bytes(&problem, t)) != 0)
      fail_msg("case %zu: %d threads give other bits", i, (int)threads[k]);
  }
  return first;
}

static void expect_released(const kernels_t *kernels) {
  const int *configured = dlsym(kernels->library, "amx_configured");
  const int *released = dlsym(kernels->library, "amx_released");
  assert_non_null(configured);
  assert_non_null(released);
  assert_true(*configured > 0);
  assert_int_equal(*configured, *released);
}

static void need_avx512(uint32_t dot) {
  if (!kernels_run_here(WIDE, dot)) byoc_test_skip("this processor lacks AVX-512, or its products of words");
}

// Whether the instructions themselves can be run here.
static bool gets_tiles(uint32_t dot) {
  byoc_diag_t diag = {0};
  uint64_t needed = 0;
  byoc_test_ok(byoc_cpu_parse_list(byoc_cutlass_tile_features(WIDE, dot), &diag, &needed), &diag);
  if ((needed & ~byoc_cpu_detect()) == 0 && byoc_cpu_ask(needed) == 0) return true;
  byoc_test_leave_out("products of real tiles are compiled but not run: this process has no tiles");
  return false;
}

static void test_integers_are_those_of_words(void **state) {
  (void)state;
  need_avx512(BYOC_CUTLASS_DOT_I8X4);
  list_t list = {0};
  kernels_t plain, modelled, real;
  add_bytes(&list);
  const bool runs = gets_tiles(BYOC_CUTLASS_DOT_I8X4);
  size_t shared = 0;
  compile(&list, &plain, false, false, "-O0");
  compile(&list, &modelled, true, true, "-O1");
  const list_t some = some_of(&list);
  compile(runs ? &list : &some, &real, true, false, runs ? "-O2" : "-O0");
  for (size_t i = 0; i < list.count; ++i) {
    byoc_cutlass_problem_t problem = planned_problem(&list.cases[i]);
    if (problem.words.unsigned_weights) problem.words.dot = BYOC_CUTLASS_DOT_I16X2;
    tensors_t t = make_tensors(&list.cases[i].problem);
    shared += list.cases[i].planned == 0 && is_shared(&list.cases[i].problem);
    const uint8_t *expected = run(&list.cases[i], &problem, &t, plain.functions[i], 1);
    const uint8_t *actual = run_tiles(&list, i, &modelled, &t);
    for (int64_t b = 0; b < result_bytes(&problem, &t); ++b)
      if (expected[b] != actual[b]) fail_msg("case %zu: byte %lld of the result differs", i, (long long)b);
    if (runs) assert_memory_equal(run_tiles(&list, i, &real, &t), expected, (size_t)result_bytes(&problem, &t));
  }
  assert_true(shared >= 2);
  expect_released(&modelled);
  kernels_end(&plain);
  kernels_end(&modelled);
  kernels_end(&real);
}

// The sum of products of rounded factors at one element, and of their magnitudes.
static double sum_at(const byoc_cutlass_problem_t *p, const tensors_t *t, int64_t at, double *magnitude) {
  const byoc_cutlass_gemm_t *g = &p->gemm;
  const byoc_cutlass_conv_t *c = &p->conv;
  const float *data = t->data;
  const bool is_conv = p->kind == BYOC_CUTLASS_CONV;
  const int64_t taps = c->kernel_h * c->kernel_w, terms = is_conv ? c->in * taps : g->k;
  const int64_t width = is_conv ? c->out_w : 1, plane = is_conv ? c->out_w * c->out_h : 1;
  const int64_t x = at % width, y = at % plane / width, channel = at / plane % t->channels;
  const int64_t image = at / plane / t->channels, group = is_conv ? channel / c->out : 0;
  double sum = *magnitude = 0;
  for (int64_t k = 0; k < terms; ++k) {
    int64_t from, weight;
    if (is_conv) {
      const int64_t in_y = y * c->stride_h + k % taps / c->kernel_w - c->pad_top;
      const int64_t in_x = x * c->stride_w + k % c->kernel_w - c->pad_left;
      if (in_y < 0 || in_x < 0 || in_y >= c->in_h || in_x >= c->in_w) continue;
      from = (((image * c->groups + group) * c->in + k / taps) * c->in_h + in_y) * c->in_w + in_x;
      weight = channel * terms + k;
    } else {
      from = at / g->n * g->k + k, weight = g->transpose_b ? at % g->n * g->k + k : k * g->n + at % g->n;
    }
    const double term =
        (double)kernels_round(BYOC_DTYPE_BF16, data[from]) * (double)kernels_round(BYOC_DTYPE_BF16, t->weights[weight]);
    sum += term, *magnitude += fabs(term);
  }
  return sum;
}

static void expect_near(const byoc_cutlass_problem_t *p, const tensors_t *t, const float *result, size_t number) {
  const int64_t plane = p->kind == BYOC_CUTLASS_CONV ? p->conv.out_h * p->conv.out_w : 1;
  for (int64_t i = 0; i < t->result_count; ++i) {
    double magnitude, sum = sum_at(p, t, i, &magnitude);
    const double expected = sum + (double)t->shifts[i / plane % t->channels] + (double)t->residual[i];
    if (!(fabs((double)result[i] - expected) <= 1e-6 + 1e-5 * magnitude))
      fail_msg("case %zu: element %lld is %g, not %g", number, (long long)i, (double)result[i], expected);
  }
}

static void test_floats_are_those_of_the_definition(void **state) {
  (void)state;
  need_avx512(BYOC_CUTLASS_DOT_F32);
  list_t list = {0};
  kernels_t modelled, real;
  add_floats(&list);
  if (kernels_run_here(WIDE, BYOC_CUTLASS_DOT_BF16X2)) {
    compile(&list, &modelled, true, true, "-O1");
  } else {
    byoc_test_skip("this processor lacks AVX512-BF16");
  }
  const bool runs = gets_tiles(BYOC_CUTLASS_DOT_BF16X2);
  const list_t some = some_of(&list);
  compile(runs ? &list : &some, &real, true, false, runs ? "-O2" : "-O0");
  for (size_t i = 0; i < list.count; ++i) {
    const byoc_cutlass_problem_t *problem = &list.cases[i].problem;
    tensors_t t = make_tensors(problem);
    const void *result = run_tiles(&list, i, &modelled, &t);
    expect_near(problem, &t, result, i);
    if (runs) assert_memory_equal(run_tiles(&list, i, &real, &t), result, (size_t)result_bytes(problem, &t));
  }
  expect_released(&modelled);
  kernels_end(&modelled);
  kernels_end(&real);
}

// clang's intrinsics are others than gcc's.
static void test_compiles_by_clang(void **state) {
  (void)state;
  if (byoc_test_try_shell("command -v clang >/dev/null") != 0) byoc_test_skip("there is no clang");
#if !defined(__x86_64__)
  byoc_test_skip("the instructions are those of x86-64");
#endif
  list_t bytes = {0}, floats = {0};
  kernels_t kernels;
  add_bytes(&bytes);
  add_floats(&floats);
  bytes = some_of(&bytes), floats = some_of(&floats);
  setenv("BYOC_TEST_CC", "clang", 1);
  compile(&bytes, &kernels, true, false, "-O0");
  kernels_end(&kernels);
  compile(&floats, &kernels, true, false, "-O0");
  kernels_end(&kernels);
  unsetenv("BYOC_TEST_CC");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers_are_those_of_words),
                                     cmocka_unit_test(test_floats_are_those_of_the_definition),
                                     cmocka_unit_test(test_compiles_by_clang)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
