// SPDX-License-Identifier: Apache-2.0
// Code that computes something else is found before it is used: what a build checks by itself, and byoc build --verify.
#include <stdio.h>

#include "models.h"
#include "tests/support/command.h"

#define FAULTY "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "
// Checks within so many seconds, in a cache of its own.
#define CHECKS "BYOC_CHECK_BUDGET=60 BYOC_CACHE_DIR=$PWD/checks "

static const char scale_text[] = "module {opset_import. = 17} {\\n"
                                 "  constant @k : f32[1] = splat 3.25\\n"
                                 "  func @main(%%x : f32[4,64]) -> (%%y : f32[4,64]) {\\n"
                                 "    %%r = Relu@14(%%x) : f32[4,64]\\n"
                                 "    %%y = Mul@14(%%r, @k) : f32[4,64]\\n"
                                 "    return %%y\\n  }\\n}\\n";
static const char relu_text[] = "module {opset_import. = 17} {\\n"
                                "  func @main(%%x : f32[4096]) -> (%%y : f32[4096]) {\\n"
                                "    %%0 = Relu@14(%%x) : f32[4096]\\n"
                                "    %%y = Exp@13(%%0) : f32[4096]\\n"
                                "    return %%y\\n  }\\n}\\n";
// A product of open height, in the C of which the number of rows is a symbol.
static const char open_text[] = "module {opset_import. = 17} {\\n"
                                "  constant @k : f32[1] = splat 3.25\\n"
                                "  func @main(%%x : f32[N,M]) -> (%%y : f32[N,M]) {\\n"
                                "    %%y = Mul@14(%%x, @k) : f32[N,M]\\n"
                                "    return %%y\\n  }\\n}\\n";

// A compiler that reads one constant as another.
static const char wrong_cc[] = "#!/bin/sh\\ncase \" $* \" in\\n*\" --version \"*) echo wrong-cc 1; exit 0;;\\n"
                               "*\" source.c \"*) sed -i \"s/3\\\\.25f/3.5f/g\" source.c;;\\nesac\\nexec cc \"$@\"\\n";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result == 0) result = byoc_test_try_shell("printf '%s' > scale.byoc", scale_text);
  if (result == 0) result = byoc_test_try_shell("printf '%s' > relu.byoc", relu_text);
  if (result == 0) result = byoc_test_try_shell("printf '%s' > open.byoc", open_text);
  return result == 0 ? byoc_test_try_shell("printf '%s' > wrong-cc && chmod +x wrong-cc", wrong_cc) : result;
}

static void test_wrong_kernels_end_the_build(void **state) {
  (void)state;
  static const char *const models[] = {"scale", "open"};
  for (size_t i = 0; i < 2; ++i) {
    byoc_test_shell(1, CHECKS "byoc build %s.byoc -o wrong.so --target \"c -cc=$PWD/wrong-cc\"", models[i]);
    byoc_test_printed("internal error: ");
    byoc_test_printed("target 'c' computes something else for ");
    byoc_test_printed("wrong result: element ");
    byoc_test_printed("hint: byoc debug bisect ");
    byoc_test_shell(0, "test ! -e wrong.so && test ! -e wrong.h");
  }
  // The node is named, and the command that the hint gives finds it.
  byoc_test_shell(1, CHECKS "byoc build scale.byoc -o wrong.so --target \"c -cc=$PWD/wrong-cc\"");
  byoc_test_printed("Mul");
  byoc_test_shell(1, "$(" CHECKS "byoc build scale.byoc -o wrong.so --target \"c -cc=$PWD/wrong-cc\" 2>&1 | "
                     "sed -n \"s/^hint: \\(byoc debug .*\\) --target .*/\\1/p\") --target \"c -cc=$PWD/wrong-cc\"");
  byoc_test_printed("first difference: \"y\"");
  byoc_test_shell(0, CHECKS "byoc build scale.byoc -o right.so --target c && rm right.so");
  byoc_test_shell(0, CHECKS "byoc build scale.byoc -o wrong.so --check-budget 0 --target \"c -cc=$PWD/wrong-cc\"");
}

// By measured costs, too: no target has a price for it.
static void test_wrong_kernels_are_not_placed_by_cost(void **state) {
  (void)state;
  byoc_test_shell(1, "BYOC_CACHE_DIR=$PWD/checks byoc build scale.byoc -o cost.so --plan collage --cost-budget 10 "
                     "--target \"cblas; c -cc=$PWD/wrong-cc\"");
  byoc_test_printed("computes something else, and is not used: wrong result: element ");
  byoc_test_printed("internal error: no target computes the right values of Mul");
  byoc_test_printed("hint: byoc debug bisect scale.byoc --evaluate --target ");
  byoc_test_shell(0, "test ! -e cost.so");
}

static void test_a_second_build_checks_nothing(void **state) {
  (void)state;
  write_vision("vision.onnx");
  const char *build = CHECKS "byoc build vision.onnx -o vision.so -v --target 'cutlass; c' 2>&1 | grep '^checked'";
  byoc_test_shell(0, "%s", build);
  byoc_test_printed("checked regions of cutlass: ");
  byoc_test_printed("checked kernels: ");
  byoc_test_printed(" right, 0 wrong, 0 found right before, 0 not checked");
  byoc_test_shell(0, "%s", build);
  byoc_test_printed("checked regions of cutlass: 0 right, 0 wrong, ");
  byoc_test_printed("checked kernels: 0 right, 0 wrong, ");
  byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/checks byoc build vision.onnx -o vision.so -v --check-budget 0");
  byoc_test_no_line("^checked");
  byoc_test_shell(2, "byoc build vision.onnx -o vision.so --check-budget soon");
  byoc_test_printed("--check-budget takes a number of seconds from 0 to 86400, not 'soon'");
  byoc_test_shell(2, "BYOC_CHECK_BUDGET=soon byoc build vision.onnx -o vision.so");
  byoc_test_printed("BYOC_CHECK_BUDGET takes a number of seconds");
  byoc_test_shell(2, "BYOC_RUN_TIMEOUT=0 byoc build vision.onnx -o vision.so");
  byoc_test_printed("BYOC_RUN_TIMEOUT takes a whole number of seconds from 1 to 86400, not '0'");
}

// Regions that compute something else, crash or hang: another target takes the part, and the others stay.
static void test_wrong_regions_go_to_another_target(void **state) {
  (void)state;
  static const char *const faults[][2] = {{"wrong", "wrong result: element "},
                                          {"one", "wrong result: element 3 of output0"},
                                          {"loses_nan", "on NaN and infinities"},
                                          {"crash", "crashed in its run: SIGSEGV"},
                                          {"status", "the moon is full"}};
  byoc_test_shell(0, "byoc run relu.byoc --target c --random --output-dir expected");
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); ++i) {
    byoc_test_shell(0, FAULTY CHECKS "byoc build relu.byoc -o relu.so --plan greedy --target 'faulty -fault=%s; c'",
                    faults[i][0]);
    byoc_test_printed("warning: the code of faulty for Relu is not used: ");
    byoc_test_printed(faults[i][1]);
    byoc_test_printed("faulty 0 operators in 0 regions, c 2 operators");
    byoc_test_shell(0, "byoc run relu.so --random --expect expected/y.npy");
  }
  byoc_test_shell(0, FAULTY CHECKS "byoc build relu.byoc -o relu.so --plan greedy --target 'faulty; c' -v 2>&1");
  byoc_test_printed("checked regions of faulty: 1 right, 0 wrong");
  byoc_test_printed("faulty 1 operator in 1 region");
  // A saved plan is no reason to place what is wrong.
  byoc_test_shell(0, FAULTY "byoc build relu.byoc -o relu.so --plan greedy --target 'faulty; c' --save-plan plan.json");
  byoc_test_shell(0,
                  FAULTY CHECKS "byoc build relu.byoc -o relu.so --plan plan.json --target 'faulty -fault=wrong; c'");
  byoc_test_printed("faulty 0 operators in 0 regions, c 2 operators");
}

static void test_verify_leaves_what_was_there(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build scale.byoc -o keep.so --verify");
  byoc_test_printed("verified: 4 runs as the evaluator has them");
  byoc_test_shell(0, "cp keep.so before.so && cp keep.h before.h");
  byoc_test_shell(1, "byoc build scale.byoc -o keep.so --verify --target \"c -cc=$PWD/wrong-cc\"");
  byoc_test_printed("verifying on random numbers: wrong result: element ");
  byoc_test_printed(" of y is ");
  byoc_test_printed("hint: byoc debug bisect scale.byoc --evaluate --target 'c -cc=");
  byoc_test_shell(0, "cmp keep.so before.so && cmp keep.h before.h");
  byoc_test_shell(1, "byoc build scale.byoc -o new.so --verify --save-plan new.json --target \"c -cc=$PWD/wrong-cc\"");
  byoc_test_shell(0, "test ! -e new.so && test ! -e new.h && test ! -e new.json");
  byoc_test_shell(1, FAULTY "byoc build relu.byoc -o new.so --verify --plan greedy --target 'faulty -fault=crash; c'");
  byoc_test_printed("verifying on random numbers: it crashed (signal 11");
  byoc_test_shell(1,
                  FAULTY "byoc build relu.byoc -o new.so --verify --plan greedy --target 'faulty -fault=loses_nan; c'");
  byoc_test_printed("verifying on NaN, infinities and subnormal numbers: wrong result: element ");
  byoc_test_shell(0, "test ! -e new.so");
}

static void test_verify_takes_open_sizes_texts_and_sequences(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build open.byoc -o open.so --verify");
  byoc_test_printed("verified: 12 runs");
  byoc_test_shell(0, "byoc build open.byoc -o open.a --verify && test -e open.a");
  byoc_test_shell(1, "byoc build open.byoc -o open.so --verify --target \"c -cc=$PWD/wrong-cc\"");
  byoc_test_printed("verifying on random numbers, N=2, M=5: wrong result: element ");
  byoc_test_shell(0, "printf 'module {opset_import. = 20} {\\n  func @main(%%%%s : string[N], %%%%q : seq<f32[M]>) -> "
                     "(%%%%t : string[N], %%%%y : f32[K]) {\\n    %%%%t = StringConcat@20(%%%%s, %%%%s) : string[N]\\n"
                     "    %%%%y = ConcatFromSequence@11(%%%%q) {axis = 0} : f32[K]\\n    return %%%%t, %%%%y\\n  }\\n"
                     "}\\n' > values.byoc && byoc build values.byoc -o values.so --verify");
  byoc_test_printed("verified: 12 runs");
}

static void test_verify_of_several_models(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build --entry a=scale.byoc --entry b=open.byoc -o two.so --verify");
  byoc_test_printed("verified: 4 runs");
  byoc_test_printed("verified: 12 runs");
  byoc_test_shell(1, "byoc build --entry a=relu.byoc --entry b=open.byoc -o three.so --verify --target \"c "
                     "-cc=$PWD/wrong-cc\"");
  byoc_test_printed("the entry 'b': verifying on ");
  byoc_test_shell(0, "test ! -e three.so");
}

static void test_verify_refuses_what_it_cannot_run(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc build scale.byoc -o scale.c --verify");
  byoc_test_printed("C source is not compiled here");
  byoc_test_shell(2, "byoc build scale.byoc --emit=c --verify");
  byoc_test_printed("--emit makes none");
  byoc_test_shell(2, "byoc build scale.byoc -o s.so --triple aarch64-linux-gnu --verify");
  byoc_test_printed("this machine cannot run code for aarch64-linux-gnu");
  byoc_test_shell(0, "printf 'module {opset_import. = 17} {\\n  func @main() -> (%%%%y : f32[4]) {\\n    %%%%y = "
                     "RandomNormal@1() {shape = [4]} : f32[4]\\n    return %%%%y\\n  }\\n}\\n' > random.byoc");
  byoc_test_shell(1, "byoc build random.byoc -o r.so --verify");
  byoc_test_printed("it draws random numbers");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrong_kernels_end_the_build),
      cmocka_unit_test(test_wrong_kernels_are_not_placed_by_cost),
      cmocka_unit_test(test_a_second_build_checks_nothing),
      cmocka_unit_test(test_wrong_regions_go_to_another_target),
      cmocka_unit_test(test_verify_leaves_what_was_there),
      cmocka_unit_test(test_verify_takes_open_sizes_texts_and_sequences),
      cmocka_unit_test(test_verify_of_several_models),
      cmocka_unit_test(test_verify_refuses_what_it_cannot_run),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
