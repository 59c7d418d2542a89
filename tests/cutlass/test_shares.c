// SPDX-License-Identifier: Apache-2.0
// How runs are split among threads: which are, and how evenly.
#include <math.h>

#include "kernels.h"
#include "plan/plan.h"

static byoc_cutlass_problem_t conv(int64_t groups, int64_t in, int64_t out, int64_t size, int64_t kernel,
                                   bool blocked) {
  const int64_t pad = kernel / 2;
  return (byoc_cutlass_problem_t){.kind = BYOC_CUTLASS_CONV,
                                  .epilogue = {.alpha = 1.0f, .beta = 1.0f},
                                  .inputs = {0, 1, 2, 3},
                                  .conv = {.batch = 1,
                                           .groups = groups,
                                           .in = in,
                                           .out = out,
                                           .in_h = size,
                                           .in_w = size,
                                           .out_h = size,
                                           .out_w = size,
                                           .kernel_h = kernel,
                                           .kernel_w = kernel,
                                           .stride_h = 1,
                                           .stride_w = 1,
                                           .dilation_h = 1,
                                           .dilation_w = 1,
                                           .pad_top = pad,
                                           .pad_left = pad,
                                           .in_blocked = blocked,
                                           .out_blocked = blocked}};
}

static byoc_cutlass_problem_t product(int64_t m, int64_t n, int64_t k) {
  return (byoc_cutlass_problem_t){.kind = BYOC_CUTLASS_GEMM,
                                  .gemm = {.m = m, .n = n, .k = k, .constant_b = true},
                                  .epilogue = {.alpha = 1.0f, .beta = 1.0f},
                                  .inputs = {0, 1, 2, 3}};
}

static int32_t shares_of(byoc_cutlass_problem_t problem) {
  byoc_cutlass_plan_t plan;
  byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 16, true, &plan);
  return byoc_cutlass_shares(&problem, &plan);
}

// Work of some microseconds is shared, whatever it waits for: sums, loads of few channels, weights.
static void test_small_kernels_are_shared(void **state) {
  (void)state;
  assert_true(shares_of(conv(384, 1, 1, 14, 3, false)) >= 2); // 20 us in MobileNet v2
  assert_true(shares_of(conv(960, 1, 1, 7, 3, true)) >= 2);
  assert_true(shares_of(product(1, 1000, 544)) >= 2); // 50 us in ShuffleNet
  assert_true(shares_of(conv(1, 24, 48, 28, 1, false)) >= 2);
  assert_int_equal(shares_of(conv(1, 8, 8, 7, 1, false)), 1);
  assert_int_equal(shares_of(product(1, 10, 100)), 1);
}

// The units of a block and the panels over it, as templates count them.
static void count(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan, int64_t *out_units,
                  int64_t *out_panels) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  const int64_t wide = (int64_t)plan->vectors * 16, pixels = c->out_h * c->out_w;
  *out_panels = byoc_cutlass_ceil_div(c->out, wide);
  if (plan->form == BYOC_CUTLASS_FORM_WINOGRAD) {
    *out_units = byoc_cutlass_ceil_div(c->out_h, plan->edge);
  } else if (plan->form == BYOC_CUTLASS_FORM_DIRECT) {
    *out_units =
        c->kernel_h == 1 ? byoc_cutlass_ceil_div(pixels, plan->rows) : byoc_cutlass_ceil_div(c->out_h, plan->lines);
  } else {
    *out_units = byoc_cutlass_ceil_div(pixels, plan->transposed ? plan->rows : wide);
    if (!plan->transposed) *out_panels = byoc_cutlass_ceil_div(c->out, plan->rows);
  }
}

// The part of the slower one of two threads, item by item.
static double slower(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  int64_t units = 0, panels = 0;
  count(problem, plan, &units, &panels);
  const int64_t blocks = byoc_cutlass_ceil_div(units, plan->block_panels),
                items = problem->conv.groups * blocks * panels;
  double parts[2] = {0, 0};
  for (int64_t item = 0; item < items; ++item) {
    const int64_t first = item / panels % blocks * plan->block_panels, left = units - first;
    parts[item >= items / 2] += (double)(left < plan->block_panels ? left : plan->block_panels);
  }
  return (parts[0] > parts[1] ? parts[0] : parts[1]) / (parts[0] + parts[1]);
}

static void test_two_threads_share_evenly(void **state) {
  (void)state;
  static const int64_t channels[] = {12, 16, 24, 32, 48, 64, 96, 128, 160, 256}, sizes[] = {7, 10, 14, 20, 28, 40, 56};
  int uneven = 0, helped = 0;
  for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); ++i)
    for (size_t o = 0; o < sizeof(channels) / sizeof(channels[0]); ++o)
      for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s)
        for (int form = 0; form < 4; ++form) {
          const bool blocked = form % 2 == 1;
          if (blocked && (channels[i] % 16 != 0 || channels[o] % 16 != 0)) continue;
          const byoc_cutlass_problem_t problem = conv(1, channels[i], channels[o], sizes[s], form < 2 ? 1 : 3, blocked);
          byoc_cutlass_plan_t one, many;
          byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 1, true, &one);
          byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 16, true, &many);
          const double alone = slower(&problem, &one), shared = slower(&problem, &many);
          assert_int_equal(one.form, many.form);
          assert_true(many.block_panels * 4 + 3 >= one.block_panels);
          assert_true(shared <= alone + 0.041); // even enough, for the sake of more items
          if (byoc_cutlass_shares(&problem, &many) < 2) continue;
          uneven += shared > 0.6;
          helped += alone > 0.6 && shared <= 0.6;
        }
  assert_true(helped > 5 * uneven);
}

// DenseNet's layers of 32 channels were one item; a build for one thread keeps its large blocks.
static void test_a_single_panel_has_several_blocks(void **state) {
  (void)state;
  const byoc_cutlass_problem_t problem = conv(1, 128, 32, 14, 3, false);
  byoc_cutlass_plan_t one, many;
  byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 1, true, &one);
  byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 16, true, &many);
  assert_true(slower(&problem, &one) > 0.99);
  assert_true(slower(&problem, &many) < 0.6);
}

// Plain tensors whose pixels are not copied for each tap: of one channel (MNIST's first layer, which is shared now),
// and where channels fill the lanes. Its other algorithm is still worth measuring.
static void test_small_layers_are_direct(void **state) {
  (void)state;
  const byoc_cutlass_problem_t first = conv(1, 1, 8, 28, 5, false), wide = conv(1, 3, 16, 32, 5, false);
  const byoc_cutlass_problem_t uneven = conv(1, 3, 24, 32, 5, false), wider = conv(1, 3, 64, 32, 5, false);
  const byoc_cutlass_problem_t *problems[] = {&first, &wide, &uneven, &wider};
  for (int i = 0; i < 4; ++i) {
    byoc_cutlass_plan_t plans[512];
    bool copies = false;
    const size_t count = byoc_cutlass_plan_candidates(problems[i], BYOC_CUTLASS_ISA_AVX512, 2, true, plans, 512);
    assert_int_equal(plans[0].form, i < 2 ? BYOC_CUTLASS_FORM_DIRECT : BYOC_CUTLASS_FORM_IMPLICIT_GEMM);
    for (size_t k = 0; k < count; ++k) copies = copies || plans[k].form == BYOC_CUTLASS_FORM_IMPLICIT_GEMM;
    assert_true(copies);
  }
  assert_int_equal(shares_of(first), 2);
}

// A machine on which the first of the threads has no processor until the others are done.
typedef struct late_t {
  const float *result;
  int64_t count, shares;
} late_t;

static void run_first_share_last(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  late_t *late = self;
  (void)grain;
  late->shares = count;
  body(argument, 1, count, 1);
  for (int64_t i = 0; i < late->count; ++i) assert_false(isnan(late->result[i]));
  body(argument, 0, 1, 0);
}

// What reads weights from memory takes as long as the memory lets each thread: who is done goes on with the others'
// parts.
static void test_threads_take_what_is_left(void **state) {
  (void)state;
  enum { N = 1000, K = 544 };
  const byoc_cutlass_problem_t problem = product(1, N, K);
  byoc_cutlass_plan_t plan;
  kernels_t kernels;
  byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_PORTABLE, 16, true, &plan);
  assert_int_equal(plan.form, BYOC_CUTLASS_FORM_FEW_ROWS);
  kernels_begin(&kernels, BYOC_CUTLASS_ISA_PORTABLE);
  kernels_add(&kernels, &problem, &plan);
  kernels_compile(&kernels, "-O1");
  const size_t packed_bytes = byoc_cutlass_packed_floats(&problem, &plan) * sizeof(float);
  guarded_t data = guarded_create(K * sizeof(float), sizeof(float));
  guarded_t weights = guarded_create(N * K * sizeof(float), sizeof(float));
  guarded_t packed = guarded_create(packed_bytes, BYOC_BUFFER_ALIGNMENT);
  guarded_t result = guarded_create(N * sizeof(float), sizeof(float));
  for (int64_t k = 0; k < K; ++k) data.data[k] = 1.0f;
  for (int64_t i = 0; i < N * K; ++i) weights.data[i] = (float)(i % N);
  byoc_cutlass_pack_weights(&problem, &plan, weights.data, packed.data);
  late_t late = {.result = result.data, .count = N};
  const byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = 3, .self = &late, .parallel_for = run_first_share_last};
  DLTensor tensors[] = {{.data = data.data}, {.data = packed.data}, {0}, {0}, {.data = result.data}};
  const byoc_call_t call = {
      .struct_size = sizeof(call), .input_count = 4, .output_count = 1, .tensors = tensors, .runtime = &runtime};
  assert_int_equal(kernels.functions[0](&call), BYOC_OK);
  assert_int_equal(late.shares, 3);
  for (int64_t i = 0; i < N; ++i) assert_true(result.data[i] == (float)(i * K));
  guarded_destroy(&result), guarded_destroy(&packed), guarded_destroy(&weights), guarded_destroy(&data);
  kernels_end(&kernels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_kernels_are_shared),          cmocka_unit_test(test_two_threads_share_evenly),
      cmocka_unit_test(test_a_single_panel_has_several_blocks), cmocka_unit_test(test_small_layers_are_direct),
      cmocka_unit_test(test_threads_take_what_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
