// SPDX-License-Identifier: Apache-2.0
// Ifs whose branches differ in rank, or of which one cannot run: compiled and evaluated, they agree.
#include "both_ways.h"

// torch's squeeze(1): the second dimension goes away where it is 1.
#define SQUEEZE(x, q)                                                                                                  \
  "    %s_" q " = Shape@15(%" x ") : i64[3]\n    %d_" q " = Gather@13(%s_" q ", @one) : i64[]\n"                       \
  "    %c_" q " = Equal@13(%d_" q ", @one) : bool[]\n"                                                                 \
  "    %" q " = If@16(%c_" q ") [then_branch () -> (f32[*]) {\n      %t = Squeeze@13(%" x ", @axis) : f32[*]\n"        \
  "      return %t\n    }, else_branch () -> (f32[*]) {\n      %e = Identity@16(%" x ") : f32[*]\n      return %e\n"   \
  "    }] : f32[*]\n"
#define CONSTANTS "module {\n  constant @one : i64[] = [1]\n  constant @axis : i64[1] = [1]\n"

// What depends on the rank runs in either branch: results of any rank, and of one rank.
static void test_branches_may_have_results_of_different_ranks(void **state) {
  (void)state;
  model_t m;
  open_model(CONSTANTS MAIN_OF("(%x : f32[B,N,2]) -> (%y : f32[*], %s : f32[])",
                               SQUEEZE("x", "q") "    %r = Relu@14(%q) : f32[*]\n    %y = Add@14(%r, %q) : f32[*]\n"
                                                 "    %s = ReduceSum@13(%y) {keepdims = 0} : f32[]\n"
                                                 "    return %y, %s"),
             &m);
  const float x[8] = {1, -2, 3, -4, 5, -6, 7, -8};
  for (int64_t n = 1; n <= 2; ++n) {
    const int64_t dims[3] = {2, n, 2};
    const byoc_argument_t input = floats(3, dims, x);
    byoc_argument_t results[MAX_RESULTS];
    run(&m, &input, results);
    assert_int_equal(results[0].rank, n == 1 ? 2 : 3);
    assert_int_equal(results[0].dims[results[0].rank - 1], 2);
    for (int i = 0; i < 4 * n; ++i) assert_true(at(&results[0], i) == (x[i] > 0 ? 2 * x[i] : x[i]));
    assert_true(at(&results[1], 0) == (n == 1 ? 2 : 12));
  }
  close_model(&m);
}

// The second If reads what the first one leaves open, and stands in its branches.
static void test_an_if_may_read_results_of_different_ranks(void **state) {
  (void)state;
  model_t m;
  open_model(CONSTANTS MAIN_OF(
                 "(%x : f32[B,N,2], %c : bool[], %k : f32[2]) -> (%y : f32[*])",
                 SQUEEZE("x", "q") "    %h = Neg@13(%q) : f32[*]\n    %w = Exp@13(%k) : f32[2]\n"
                                   "    %p = If@16(%c) [then_branch () -> (f32[*]) {\n"
                                   "      %f = ReduceMax@18(%h, @axis) {keepdims = 0} : f32[*]\n      return %f\n"
                                   "    }, else_branch () -> (f32[*]) {\n      return %h\n    }] : f32[*]\n"
                                   "    %a = Abs@13(%p) : f32[*]\n    %y = Mul@14(%a, %w) : f32[*]\n    return %y"),
             &m);
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, k[2] = {0, 0};
  const int64_t two[1] = {2};
  for (int i = 0; i < 4; ++i) {
    const int64_t n = 1 + i / 2, dims[3] = {2, n, 2};
    const bool reduces = i % 2 != 0;
    const byoc_argument_t inputs[3] = {floats(3, dims, x), tensor(BYOC_DTYPE_BOOL, 0, NULL, &reduces),
                                       floats(1, two, k)};
    byoc_argument_t results[MAX_RESULTS];
    run(&m, inputs, results);
    assert_int_equal(results[0].rank, (n == 1 ? 2 : 3) - (reduces ? 1 : 0));
    // The largest of the negated ones is the first: of two columns, or of two rows of two.
    const float second = !reduces ? 2 : n == 1 ? 3 : 2;
    assert_true(at(&results[0], 0) == 1 && at(&results[0], 1) == second);
  }
  close_model(&m);
}

// A node that one of the ranks does not fit: the run that gets there fails, the others do not.
static void test_a_rank_that_does_not_fit_is_an_error(void **state) {
  (void)state;
  model_t m;
  open_model(CONSTANTS MAIN_OF("(%x : f32[B,N,2]) -> (%y : f32[B,2,N])",
                               SQUEEZE("x", "q") "    %t = Transpose@13(%q) {perm = [0, 2, 1]} : f32[*]\n"
                                                 "    %y = Neg@13(%t) : f32[B,2,N]\n    return %y"),
             &m);
  const float x[4] = {1, 2, 3, 4};
  const int64_t dims[3] = {1, 2, 2}, one[3] = {2, 1, 2};
  const byoc_argument_t input = floats(3, dims, x), squeezed = floats(3, one, x);
  byoc_argument_t results[MAX_RESULTS];
  run(&m, &input, results);
  assert_int_equal(results[0].rank, 3);
  assert_true(at(&results[0], 1) == -3);
  run_fails(&m, &squeezed, BYOC_INVALID_ARGUMENT,
            "its then_branch cannot run: Transpose (ai.onnx 13): attribute 'perm': expected 2 values, got 3");
  close_model(&m);
}

// The branch that cannot run gives whatever the other one gives.
static void test_a_branch_that_cannot_run_is_left_out(void **state) {
  (void)state;
  model_t m;
  open_model(MAIN("(%x : f32[N,2], %c : bool[], %t : string[2]) -> (%y : f32[N,2], %n : i64[], %q : seq<f32[N,2]>, "
                  "%u : string[2])",
                  "    %y, %n, %q, %u = If@16(%c) [then_branch () -> (?, i64[], ?, string[2]) {\n"
                  "      %p = Transpose@13(%x) {perm = [0, 2, 1]} : ?\n      %s = Size@13(%x) : i64[]\n"
                  "      %v = SequenceConstruct@11(%x) : ?\n      return %p, %s, %v, %t\n"
                  "    }, else_branch () -> (f32[N,2], i64[], seq<f32[N,2]>, string[2]) {\n"
                  "      %e = Neg@13(%x) : f32[N,2]\n      %f = Size@13(%e) : i64[]\n"
                  "      %g = SequenceConstruct@11(%e, %x) : seq<f32[N,2]>\n      return %e, %f, %g, %t\n"
                  "    }] : f32[N,2], i64[], seq<f32[N,2]>, string[2]\n    return %y, %n, %q, %u"),
             &m);
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const char *const texts[2] = {"a", "b"};
  const int64_t dims[2] = {3, 2}, two[1] = {2};
  bool chosen = false;
  const byoc_argument_t inputs[3] = {floats(2, dims, x), tensor(BYOC_DTYPE_BOOL, 0, NULL, &chosen),
                                     tensor(BYOC_DTYPE_STRING, 1, two, texts)};
  byoc_argument_t results[MAX_RESULTS];
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, inputs, results, &diag), &diag);
  assert_true(at(&results[0], 5) == -6 && *(const int64_t *)results[1].data == 6 && results[2].count == 2);
  assert_int_equal(m.artifact.table->run_arguments(m.context, inputs, results), BYOC_OK);
  assert_true(at(&results[0], 5) == -6 && *(const int64_t *)results[1].data == 6 && results[2].count == 2);
  chosen = true;
  run_fails(&m, inputs, BYOC_INVALID_ARGUMENT, "its then_branch cannot run: Transpose");
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_branches_may_have_results_of_different_ranks),
      cmocka_unit_test(test_an_if_may_read_results_of_different_ranks),
      cmocka_unit_test(test_a_rank_that_does_not_fit_is_an_error),
      cmocka_unit_test(test_a_branch_that_cannot_run_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
