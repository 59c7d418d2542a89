// SPDX-License-Identifier: Apache-2.0
// byoc build --error: mixed precisions within a measured error, and the messages of what cannot be. Row C13.
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "tests/support/command.h"

static json_t *load(const char *file) {
  json_error_t error;
  json_t *root = json_load_file(file, 0, &error);
  if (root == NULL) fail_msg("%s:%d: %s", file, error.line, error.text);
  return root;
}

static double number_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("'%s' is no number", key);
  return json_number_value(value);
}

static void write_model(const char *path, const char *results, const char *nodes) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "module {\n  func @main(%%x : f32[4,8], %%w : f32[8,8]) -> (%s) {\n%s    return %%y\n  }\n}\n", results,
          nodes);
  assert_int_equal(fclose(file), 0);
}

// The promise is within the budget, what was measured is within the promise, and so is what other inputs show. The
// plan can be replayed, and is refused where less is allowed.
static void test_c13_precisions_are_chosen_within_a_measured_error(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx");
  byoc_test_shell(0, "byoc build mlp.onnx -o exact.so -t cutlass --plan greedy");
  byoc_test_shell(0, "byoc build mlp.onnx -o model.so -t cutlass --error 3e-2 --cost-budget 2 --save-plan plan.json "
                     "--html plan.html");
  byoc_test_printed("measured on 8 generated inputs (--calibrate PATH gives real ones); 0.03 is allowed");
  json_t *plan = load("plan.json"), *budget = json_object_get(plan, "budget");
  assert_true(number_of(budget, "promised") <= 0.03);
  assert_true(number_of(budget, "measured") <= number_of(budget, "promised"));
  assert_int_equal(number_of(budget, "samples"), 8);
  const double promised = number_of(budget, "promised");
  json_decref(plan);
  byoc_test_shell(0, "grep -q tradeOff plan.html");
  byoc_test_shell(0, "byoc explain plan.json");
  byoc_test_printed("0.03 is allowed");
  // The outputs are probabilities, so that no difference is larger than their norm.
  for (int seed = 100; seed < 104; ++seed) {
    byoc_test_shell(0, "rm -rf expected && byoc run exact.so --random --seed %d --output-dir expected", seed);
    byoc_test_shell(0, "byoc run model.so --random --seed %d --expect output=expected/output.npy --rtol 0 --atol %g",
                    seed, promised + 1e-6);
  }
  byoc_test_shell(0, "byoc build mlp.onnx -o again.so -t cutlass --error 3e-2 --plan plan.json");
  byoc_test_shell(0, "rm -rf expected && byoc run model.so --random --output-dir expected");
  byoc_test_shell(0, "byoc run again.so --random --expect output=expected/output.npy --rtol 0 --atol 0");
  byoc_test_shell(1, "byoc build mlp.onnx -o other.so -t cutlass --error 1e-6 --plan plan.json");
  byoc_test_printed("more than the allowed 1e-06");
  byoc_test_shell(1, "test -e other.so");
  // A saved plan that the environment names is the plan, too.
  byoc_test_shell(1, "BYOC_PLAN=plan.json byoc build mlp.onnx -o other.so -t cutlass --error 1e-6");
  byoc_test_printed("more than the allowed 1e-06");
  byoc_test_shell(1, "test -e other.so");
}

// The option needs a plan by cost: the greedy one of the environment gives way, and the user learns it.
static void a_greedy_plan_of_the_environment_gives_way(void **state) {
  (void)state;
  write_model("small.byoc", "%y : f32[4,8]", "    %y = MatMul@13(%x, %w) : f32[4,8]\n");
  byoc_test_shell(0, "BYOC_PLAN=greedy byoc build small.byoc -o small.so -t cutlass --error 1e-2 --cost-budget 1");
  byoc_test_printed("BYOC_PLAN=greedy is not followed: --error needs a plan by cost");
}

// The line of the targets begins with the first one that is named, although others come before it.
static void the_line_of_targets_has_no_empty_place(void **state) {
  (void)state;
  write_model("plain.byoc", "%y : f32[4,8]", "    %0 = MatMul@13(%x, %w) : f32[4,8]\n    %y = Sin@7(%0) : f32[4,8]\n");
  byoc_test_shell(0, "byoc build plain.byoc -o plain.so -t 'cutlass -precision=int8' --error 1e-9 --cost-budget 1");
  byoc_test_printed("c 2 operators");
  byoc_test_no_line(", , ");
}

// Without a budget nothing changes: the target is not copied, and the artifact is that of a build before.
static void a_build_without_a_budget_is_exact(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx");
  byoc_test_shell(0, "byoc build mlp.onnx -o plain.so -t cutlass --plan greedy --save-plan plain.json");
  json_t *plan = load("plain.json");
  assert_null(json_object_get(plan, "budget"));
  assert_int_equal(json_array_size(json_object_get(plan, "targets")), 2);
  json_decref(plan);
}

static void wrong_budgets_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"0", "-1", "nan", "inf", "1.5", "1e-2x", "much"};
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx && byoc-modelgen mlp --batch 0 -o open.onnx");
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    byoc_test_shell(2, "byoc build mlp.onnx -o wrong.so -t cutlass --error %s", wrong[i]);
    byoc_test_printed("--error takes a relative error above 0 and at most 1");
  }
  static const struct {
    const char *arguments, *message;
    int code;
  } cases[] = {
      {"mlp.onnx -t c --error 1e-2", "--error needs a target that offers precisions", 2},
      {"mlp.onnx -t cblas --error 1e-2", "--error needs a target that offers precisions", 2},
      {"mlp.onnx -t cutlass --error 1e-2 --plan greedy", "--error needs a plan by cost", 2},
      {"mlp.onnx -t cutlass --error 1e-2 --cost estimate", "--error needs measured costs", 2},
      {"mlp.onnx -t cutlass --error 1e-2 --triple aarch64-linux-gnu", "for aarch64-linux-gnu errors cannot be measured",
       2},
      {"mlp.onnx -t cutlass --calibrate mlp.onnx", "--calibrate gives the inputs of --error", 2},
      {"mlp.onnx -t cutlass --error 1e-2 --calibrate missing.npz", "missing.npz", 1},
      {"open.onnx -t cutlass --error 1e-2",
       "an error budget needs a model whose inputs and outputs are tensors of known", 1},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(cases[i].code, "byoc build %s -o wrong.so", cases[i].arguments);
    byoc_test_printed(cases[i].message);
  }
  byoc_test_shell(1, "test -e wrong.so");
}

static void outputs_without_a_relative_error_are_named(void **state) {
  (void)state;
  write_model("integers.byoc", "%y : i64[4]",
              "    %0 = MatMul@13(%x, %w) : f32[4,8]\n"
              "    %y = ArgMax@13(%0) {axis = 1, keepdims = 0} : i64[4]\n");
  byoc_test_shell(1, "byoc build integers.byoc -o wrong.so -t cutlass --error 1e-2 --cost-budget 1");
  byoc_test_printed("an error budget needs an output of floats");
  write_model("zero.byoc", "%y : f32[4,8]",
              "    %0 = Abs@13(%x) : f32[4,8]\n    %1 = Abs@13(%w) : f32[8,8]\n    %2 = Neg@13(%1) : f32[8,8]\n"
              "    %3 = MatMul@13(%0, %2) : f32[4,8]\n    %y = Relu@14(%3) : f32[4,8]\n");
  byoc_test_shell(2, "byoc build zero.byoc -o wrong.so -t cutlass --error 1e-2 --cost-budget 1");
  byoc_test_printed("is all zero for a sample of the inputs: it has no relative error");
  byoc_test_shell(1, "test -e wrong.so");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_budgets_are_refused),
      cmocka_unit_test(outputs_without_a_relative_error_are_named),
      cmocka_unit_test(a_greedy_plan_of_the_environment_gives_way),
      cmocka_unit_test(the_line_of_targets_has_no_empty_place),
      cmocka_unit_test(a_build_without_a_budget_is_exact),
      cmocka_unit_test(test_c13_precisions_are_chosen_within_a_measured_error),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
