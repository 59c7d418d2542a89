// SPDX-License-Identifier: Apache-2.0
// Sub-programs alone, chained and as a DAG, against numbers computed here: nvFuser's tests of host programs, by intent.
#include <math.h>

#include "both_ways.h"
#include "host_model.h"

enum { BATCH = 4, ROWS = 8, COLUMNS = 32, COUNT = BATCH * ROWS * COLUMNS, PLANE = ROWS * COLUMNS };

static void fill(float *x, int count, int seed) {
  for (int k = 0; k < count; ++k) x[k] = (float)((k * 37 + seed * 101) % 200 - 100) / 16.0f;
}

static void expect_close(const float *got, const double *expected, int count) {
  for (int k = 0; k < count; ++k) {
    if (fabs((double)got[k] - expected[k]) > 1e-5 * (1 + fabs(expected[k]))) {
      fail_msg("element %d: %g, not %g", k, (double)got[k], expected[k]);
    }
  }
}

#define RELU_SUM                                                                                                       \
  "kernel {\n name \"relu_sum\"\n input x : f32[4,8,32]\n output y : f32[8,32]\n"                                      \
  "  parallel i in 0 .. 256 {\n    var s : f32 = 0.0\n"                                                                \
  "    serial b in 0 .. 4 {\n      s = s + max(x[b * 256 + i], 0.0)\n    }\n    y[i] = s\n  }\n}\n"
#define SUM_TWICE                                                                                                      \
  "kernel {\n name \"sum_twice\"\n input x : f32[8,32]\n output y : f32[32]\n"                                         \
  "  parallel i in 0 .. 32 {\n    var s : f32 = 0.0\n"                                                                 \
  "    serial b in 0 .. 8 {\n      s = s + x[b * 32 + i]\n    }\n    y[i] = s * 2.0\n  }\n}\n"

// relu, the sum over two axes, twice that.
static void reference_of_chain(const float *x, double *y) {
  memset(y, 0, COLUMNS * sizeof(*y));
  for (int k = 0; k < COUNT; ++k) y[k % COLUMNS] += x[k] > 0 ? 2.0 * (double)x[k] : 0;
}

// Runs the model by the evaluator and compiled, with buffers of its own each time, and compares both with `expected`.
static void expect_run(host_model_t *m, const float *x, const double *expected, int count) {
  byoc_diag_t diag = {0};
  const void *inputs[1] = {x};
  for (int way = 0; way < 2; ++way) {
    float *y = malloc((size_t)count * sizeof(*y));
    assert_non_null(y);
    for (int k = 0; k < count; ++k) y[k] = NAN;
    void *outputs[1] = {y};
    if (way == 0) byoc_test_ok(byoc_evaluator_run(m->evaluator, inputs, outputs, &diag), &diag);
    if (way == 1) assert_int_equal(m->artifact.table->run(m->context, inputs, outputs), BYOC_OK);
    expect_close(y, expected, count);
    free(y);
  }
}

static void test_h3_one_fusion_matches_the_reference(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(
      &m,
      "host program \"single\" {\n  input %x : f32[4,8,32]\n  output %y : f32[32]\n"
      "  kernel all(%x) -> (%y)\n}\n"
      "kernel {\n name \"all\"\n input x : f32[4,8,32]\n output y : f32[32]\n"
      "  parallel i in 0 .. 32 {\n    var s : f32 = 0.0\n"
      "    serial b in 0 .. 32 {\n      s = s + max(x[b * 32 + i], 0.0)\n    }\n    y[i] = s * 2.0\n  }\n}\n",
      BYOC_HOST_STANDARD_PASSES);
  float x[COUNT];
  double expected[COLUMNS];
  fill(x, COUNT, 1);
  reference_of_chain(x, expected);
  expect_run(&m, x, expected, COLUMNS);
  host_model_close(&m);
}

static void test_h3_two_fusions_match_the_reference(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m,
                  "host program \"two\" {\n  input %x : f32[4,8,32]\n  output %y : f32[32]\n  local %t : f32[8,32]\n"
                  "  kernel relu_sum(%x) -> (%t)\n  kernel sum_twice(%t) -> (%y)\n}\n" RELU_SUM SUM_TWICE,
                  BYOC_HOST_STANDARD_PASSES);
  float x[COUNT];
  double expected[COLUMNS];
  fill(x, COUNT, 2);
  reference_of_chain(x, expected);
  expect_run(&m, x, expected, COLUMNS);
  assert_int_equal(m.program->workspace_size_bytes, PLANE * sizeof(float));
  host_model_close(&m);
}

// (%t1, %t2) = first(%x), %t3 = second(%t1), %y = third(%t2, %t3).
static const char three[] =
    "host program \"three\" {\n  input %x : f32[4,8,32]\n  output %y : f32[8,32]\n"
    "  local %t1 : f32[4,8,32]\n  local %t2 : f32[8,32]\n  local %t3 : f32[8,32]\n"
    "  kernel first(%x) -> (%t1, %t2)\n  kernel second(%t1) -> (%t3)\n  kernel third(%t2, %t3) -> (%y)\n}\n"
    "kernel {\n name \"first\"\n input x : f32[4,8,32]\n output d : f32[4,8,32]\n output y : f32[8,32]\n"
    "  parallel i in 0 .. 256 {\n    var s : f32 = 0.0\n    serial b in 0 .. 4 {\n"
    "      let v : f32 = x[b * 256 + i] + x[b * 256 + i]\n      d[b * 256 + i] = v\n      s = s + v\n    }\n"
    "    y[i] = s\n  }\n}\n"
    "kernel {\n name \"second\"\n input x : f32[4,8,32]\n output y : f32[8,32]\n"
    "  parallel i in 0 .. 256 {\n    var s : f32 = 0.0\n"
    "    serial b in 0 .. 4 {\n      s = s + x[b * 256 + i] * x[b * 256 + i]\n    }\n    y[i] = s\n  }\n}\n"
    "kernel {\n name \"third\"\n input a : f32[8,32]\n input b : f32[8,32]\n output y : f32[8,32]\n"
    "  parallel i in 0 .. 256 {\n    y[i] = a[i] + b[i]\n  }\n}\n";

static void reference_of_three(const float *x, double *y) {
  memset(y, 0, PLANE * sizeof(*y));
  for (int k = 0; k < COUNT; ++k) y[k % PLANE] += 2.0 * (double)x[k] + 4.0 * (double)x[k] * (double)x[k];
}

static void test_h3_three_fusions_match_the_reference(void **state) {
  (void)state;
  static const char *const passes[] = {BYOC_HOST_STANDARD_PASSES, "gather-segments," BYOC_HOST_STANDARD_PASSES};
  for (int k = 0; k < 2; ++k) {
    host_model_t m;
    host_model_open(&m, three, passes[k]);
    float x[COUNT];
    double expected[PLANE];
    fill(x, COUNT, 3);
    reference_of_three(x, expected);
    expect_run(&m, x, expected, PLANE);
    host_model_close(&m);
  }
}

// One evaluator and one context under other buffers and other contents each time: nothing of an earlier run is left.
static void test_h5_a_second_run_takes_other_buffers(void **state) {
  (void)state;
  enum { SETS = 3 };
  host_model_t m;
  host_model_open(&m, three, BYOC_HOST_STANDARD_PASSES);
  static float x[SETS][COUNT];
  static double expected[SETS][PLANE];
  for (int s = 0; s < SETS; ++s) {
    fill(x[s], COUNT, s);
    reference_of_three(x[s], expected[s]);
  }
  static const int order[] = {0, 1, 0, 2, 2, 1};
  for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); ++k) expect_run(&m, x[order[k]], expected[order[k]], PLANE);
  memcpy(x[0], x[1], sizeof(x[0])); // the same address, and other contents
  expect_run(&m, x[0], expected[1], PLANE);
  host_model_close(&m);
}

// ---- reductions ----

#define REDUCTIONS(n)                                                                                                  \
  MAIN("(%x : f32[" n ",1,2,3]) -> (%a : f32[" n ",1], %b : f32[1,2,3], %c : f32[" n ",1,3,4], %d : f32[" n ",1])",    \
       "    %a = ReduceMax@13(%x) {axes = [2, 3], keepdims = 0} : f32[" n ",1]\n"                                      \
       "    %b = ReduceMax@13(%x) {axes = [0], keepdims = 0} : f32[1,2,3]\n"                                           \
       "    %c = MaxPool@12(%x) {kernel_shape = [2, 2], pads = [1, 1, 1, 1]} : f32[" n ",1,3,4]\n"                     \
       "    %n = Neg@13(%x) : f32[" n ",1,2,3]\n"                                                                      \
       "    %d = ReduceMin@13(%n) {axes = [2, 3], keepdims = 0} : f32[" n ",1]\n    return %a, %b, %c, %d")

// The identity of MAX is -inf, not 0, and that of MIN +inf; so it is for windows with padded borders.
static void test_h3_extremes_begin_at_infinity(void **state) {
  (void)state;
  static const char *const texts[] = {REDUCTIONS("2"), REDUCTIONS("N")};
  float x[12];
  const int64_t dims[4] = {2, 1, 2, 3};
  for (int k = 0; k < 12; ++k) x[k] = k < 6 ? -(float)(k * 5 % 6 + 1) : -INFINITY;
  for (int t = 0; t < 2; ++t) {
    model_t m;
    byoc_argument_t results[MAX_RESULTS];
    open_model(texts[t], &m);
    assert_int_equal(m.program->is_dynamic, t == 1);
    const byoc_argument_t input = floats(4, dims, x);
    run(&m, &input, results);
    for (int k = 0; k < 2; ++k) {
      assert_true(at(&results[0], k) == (k == 0 ? -1 : -INFINITY));
      assert_true(at(&results[3], k) == (k == 0 ? 1 : INFINITY));
    }
    for (int k = 0; k < 6; ++k) assert_true(at(&results[1], k) == x[k]);
    for (int k = 0; k < 24; ++k) {
      float most = -INFINITY;
      for (int place = 0; place < 4; ++place) {
        const int row = k % 12 / 4 - place / 2, column = k % 4 - place % 2;
        if (row < 0 || row > 1 || column < 0 || column > 2) continue;
        const float value = x[k / 12 * 6 + row * 3 + column];
        if (value > most) most = value;
      }
      assert_true(at(&results[2], k) == most);
    }
    close_model(&m);
  }
}

// More steps than one function of C may have: copies back and forth, which no pass takes out here.
static void many_steps_are_cut_into_functions(void **state) {
  (void)state;
  enum { COPIES = 600 };
  host_model_t m;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "host program \"many\" {\n  input %x : f32[4]\n  output %y : f32[4]\n"
                            "  local %a : f32[4]\n  local %b : f32[4]\n  copy %x -> %a\n");
  for (int i = 0; i < COPIES; ++i) byoc_string_append(&text, i % 2 == 0 ? "  copy %a -> %b\n" : "  copy %b -> %a\n");
  byoc_string_append(&text, "  copy %a -> %y\n}\n");
  host_model_open(&m, text.data, "place-lifetimes,plan-memory");
  byoc_string_deinit(&text);
  const float x[4] = {1, -2, 3, -4};
  const int64_t four = 4;
  const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, &four, x);
  byoc_argument_t result;
  host_model_run(&m, &input, &result);
  assert_memory_equal(result.data, x, sizeof(x));
  host_model_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h3_one_fusion_matches_the_reference),
      cmocka_unit_test(test_h3_two_fusions_match_the_reference),
      cmocka_unit_test(test_h3_three_fusions_match_the_reference),
      cmocka_unit_test(test_h3_extremes_begin_at_infinity),
      cmocka_unit_test(test_h5_a_second_run_takes_other_buffers),
      cmocka_unit_test(many_steps_are_cut_into_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
