// SPDX-License-Identifier: Apache-2.0
// Options that no other test of the command names: each changes what it says.
#include "core/base/file.h"
#include "models.h"
#include "tests/support/command.h"

static const char open_product[] =
    "module {\n  constant @w : f32[3,2] = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]\n"
    "  func @main(%x : f32[N,3]) -> (%y : f32[N,2]) {\n    %y = MatMul@13(%x, @w) : f32[N,2]\n    return %y\n  }\n}\n";
static const char twice[] = "module {\n  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                            "    %y = Add@14(%x, %x) : f32[4]\n    return %y\n  }\n}\n";

static void write_text(const char *path, const char *text) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write_atomic(path, text, strlen(text), 0644, &diag), &diag);
}

static int set_up(void **state) {
  if (byoc_test_enter_folder(state) != 0) return 1;
  static const float tiny[4] = {1e-39f, 1e-39f, 1e-39f, 1e-39f}, rows[6] = {1, 2, 3, 4, 5, 6};
  write_text("open.byoc", open_product);
  write_text("twice.byoc", twice);
  write_npy("tiny.npy", 1, (const int64_t[]){4}, tiny);
  write_npy("rows.npy", 2, (const int64_t[]){2, 3}, rows);
  write_npy("row.npy", 2, (const int64_t[]){1, 3}, rows);
  return 0;
}

static void test_runs_may_take_subnormal_numbers_for_zeros(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build twice.byoc -o twice.so -t c && byoc run twice.so -i tiny.npy");
  byoc_test_printed("= 2e-39 2e-39");
  byoc_test_shell(0, "byoc run twice.so -i tiny.npy --flush-subnormals");
  byoc_test_printed("= 0 0 0 0");
  byoc_test_shell(2, "byoc run twice.byoc -i tiny.npy --evaluate --flush-subnormals");
  byoc_test_printed("--flush-subnormals is for compiled runs, not for --evaluate");
  byoc_test_shell(0, "byoc bench twice.so --runs 1 --flush-subnormals");
}

// Without runs before those that are measured, the first run is one of them.
static void test_runs_that_are_not_measured_may_be_left_out(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build twice.byoc -o warm.so -t c && byoc bench warm.so --runs 1 --warm-up 0 --json");
  byoc_test_printed("\"median_ms\":");
  byoc_test_shell(0, "byoc build twice.byoc -o profiled.so -t c --profile && "
                     "byoc profile profiled.so --runs 1 --warm-up 0 --json p.json && grep -q '\"runs\"' p.json");
  byoc_test_shell(2, "byoc bench warm.so --warm-up -1");
}

static void test_cases_run_one_at_a_time_give_the_same(void **state) {
  (void)state;
  const char *folder = BYOC_TEST_SOURCE_DIR "/tests/conform/decode";
  byoc_test_shell(0,
                  "byoc conform %s --filter narrow --jobs 1 --json | grep -v seconds > one.json && "
                  "byoc conform %s --filter narrow --jobs 3 --json | grep -v seconds > three.json && "
                  "cmp one.json three.json && grep '\"passed\": 1' one.json",
                  folder, folder);
}

static void test_a_context_may_keep_the_primitives_of_one_shape(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build open.byoc -o open.so --plan greedy --target 'dnnl -shapes=1; c' && "
                     "byoc run open.so -i row.npy");
  byoc_test_printed("= 4 5 ");
  byoc_test_shell(0, "byoc run open.so -i rows.npy");
  byoc_test_printed("= 4 5 10 11 ");
  byoc_test_shell(2, "byoc build open.byoc -o open.so --target 'dnnl -shapes=0; c'");
  byoc_test_printed("'-shapes' takes an integer from 1 to 1024, not '0'");
}

static void test_tuning_takes_a_budget_of_seconds(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build open.byoc -o tuned.so --plan greedy "
                     "--target 'cutlass -tune_trials=2 -tune_seconds=1; c' && byoc run tuned.so -i rows.npy");
  byoc_test_printed("= 4 5 10 11 ");
  byoc_test_shell(2, "byoc build open.byoc -o tuned.so --target 'cutlass -tune_seconds=-1; c'");
  byoc_test_printed("'-tune_seconds' takes an integer from 0 to 86400, not '-1'");
}

static void test_the_gpu_of_binaries_is_one_that_there_is(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc build open.byoc -o gpu.so --target 'cutlass -device=cuda -arch=sm_12; c'");
  byoc_test_printed("'-arch' takes one of sm_80, ");
}

// Needs an OpenCL device on the machine that builds.
static void test_kernels_are_compiled_for_the_device_that_is_there(void **state) {
  (void)state;
  byoc_test_shell(0, "sed s/N/128/g open.byoc > fixed.byoc && "
                     "byoc build fixed.byoc --plan greedy --emit=host --target 'opencl; c' > plain.host && "
                     "grep -q opencl plain.host && ! grep -q opencl-binary plain.host");
  if (byoc_test_try_shell("byoc build fixed.byoc --plan greedy --emit=host --target 'opencl -binary=1; c'") != 0) {
    byoc_test_printed("OpenCL");
    byoc_test_skip("no OpenCL device compiles kernels here");
  }
  byoc_test_printed("\"opencl-binary\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs_may_take_subnormal_numbers_for_zeros),
      cmocka_unit_test(test_runs_that_are_not_measured_may_be_left_out),
      cmocka_unit_test(test_cases_run_one_at_a_time_give_the_same),
      cmocka_unit_test(test_a_context_may_keep_the_primitives_of_one_shape),
      cmocka_unit_test(test_tuning_takes_a_budget_of_seconds),
      cmocka_unit_test(test_the_gpu_of_binaries_is_one_that_there_is),
      cmocka_unit_test(test_kernels_are_compiled_for_the_device_that_is_there),
  };
  return cmocka_run_group_tests(tests, set_up, byoc_test_leave_folder);
}
