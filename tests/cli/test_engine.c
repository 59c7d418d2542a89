// SPDX-License-Identifier: Apache-2.0
// Models with an engine that may not start, by the target starter (tests/plugins): the plan without engines, and code
// that is for another chip.
#include <stdio.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

#define GOOD    "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "
#define NONE    "BYOC_TEST_CHIP=none "
#define ACME_2  "--target 'starter -chip=acme-2; c' --plan greedy --check-budget 0 "
#define STARTER "--target 'starter; c' --plan greedy --check-budget 0 "

static void write_model(void) {
  static const char text[] = "module {\n"
                             "  constant @w : f32[8,3] = splat 0.5\n"
                             "  func @main(%x : f32[4,8]) -> (%y : f32[4,3]) {\n"
                             "    %s = Softmax@13(%x) : f32[4,8]\n"
                             "    %a = MatMul@13(%s, @w) : f32[4,3]\n"
                             "    %b = Relu@14(%a) : f32[4,3]\n"
                             "    %y = Softmax@13(%b) : f32[4,3]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("model.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(0, "byoc run model.byoc --target c --random > expected.txt");
}

static void test_no_engine(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " STARTER "-o model.so");
  byoc_test_shell(0, "byoc run model.so --random > got.txt && diff expected.txt got.txt");
  byoc_test_shell(1, NONE "byoc run model.so --random");
  byoc_test_printed("cannot make a context: the engine 'starter' cannot start: no chip answers\n");
  byoc_test_shell(1, GOOD NONE "byoc run model.byoc " STARTER "--evaluate --random");
  byoc_test_printed("the engine 'starter' cannot start: no chip answers\n");
}

static void test_fallback(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " STARTER "--fallback -o both.so");
  byoc_test_shell(0,
                  "byoc run both.so --random > got.txt 2> said.txt && diff expected.txt got.txt && ! test -s said.txt");
  byoc_test_shell(0, NONE "byoc run both.so --random > got.txt 2> said.txt; cat said.txt; diff expected.txt got.txt");
  byoc_test_printed("warning: the engine 'starter' cannot start: no chip answers; the plan without engines runs\n");
  byoc_test_shell(0, GOOD "byoc run model.byoc " STARTER "--fallback --evaluate --random > got.txt 2> said.txt && "
                          "diff expected.txt got.txt && ! test -s said.txt");
  byoc_test_shell(0, GOOD NONE "byoc run model.byoc " STARTER "--fallback --evaluate --random > got.txt && "
                               "diff expected.txt got.txt");
  byoc_test_printed("warning: the engine 'starter' cannot start: no chip answers; the plan without engines runs\n");
  // A target without engines adds nothing.
  byoc_test_shell(0, GOOD "byoc build model.byoc --target 'negate; c' --plan greedy --emit host > plain.txt && " GOOD
                          "byoc build model.byoc --target 'negate; c' --plan greedy --emit host --fallback | "
                          "diff plain.txt -");
}

// Another target takes in the plan without engines what the engine has in the first one.
static void test_fallback_to_another_target(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0,
                  GOOD "byoc build model.byoc --target 'starter; negate; c' --plan greedy --check-budget 0 --fallback "
                       "--emit host > host.txt && grep -c 'engine \"starter\"' host.txt && grep -c 'negate' host.txt");
}

// Each plan is there once: with both, without devices, and without engines and devices.
static void test_fallback_with_a_device(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0,
                  GOOD "byoc build model.byoc --target 'starter; simdev; c' --plan greedy --check-budget 0 --fallback "
                       "-o three.so");
  static const char *const missing[] = {"", "BYOC_SIM=devices=0 ", NONE, NONE "BYOC_SIM=devices=0 "};
  static const char *const said[] = {"", "the plan without devices runs", "the plan without engines runs",
                                     "the plan without engines runs"};
  for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); ++i) {
    byoc_test_shell(0, "%sbyoc run three.so --random > got.txt && diff expected.txt got.txt", missing[i]);
    byoc_test_printed(said[i]);
    byoc_test_shell(0,
                    GOOD "%sbyoc run model.byoc --target 'starter; simdev; c' --plan greedy --fallback --evaluate "
                         "--check-budget 0 --random > got.txt && diff expected.txt got.txt",
                    missing[i]);
    byoc_test_printed(said[i]);
  }
}

// The code says what it is for, and a context on another chip says so; the plan without engines runs if there is one.
static void test_code_for_another_chip(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " ACME_2 "-o model.so");
  byoc_test_shell(0, "BYOC_TEST_CHIP=acme-2 byoc run model.so --random > got.txt && diff expected.txt got.txt");
  byoc_test_shell(1, "byoc run model.so --random");
  byoc_test_printed(
      "cannot make a context: the engine 'starter' cannot start: 'starter_0' is for 'acme-2': the chip is "
      "acme-1\n");
  byoc_test_shell(0, "byoc inspect model.so");
  byoc_test_printed(
      "module starter_0: json by 'starter -chip=acme-2 -mute=0', imports starter, 14 bytes, for 'acme-2'\n");
  byoc_test_shell(0, "byoc inspect model.so --json");
  byoc_test_printed("\"fits\": \"acme-2\"");
  byoc_test_shell(1, GOOD "byoc run model.byoc " ACME_2 "--evaluate --random");
  byoc_test_printed("the engine 'starter' cannot start: 'starter_0' is for 'acme-2': the chip is acme-1\n");
  byoc_test_shell(0, GOOD "byoc run model.byoc " ACME_2 "--fallback --random > got.txt && diff expected.txt got.txt");
  byoc_test_printed("'starter_0' is for 'acme-2': the chip is acme-1; the plan without engines runs\n");
  // The text of the host program keeps the statement.
  byoc_test_shell(0, GOOD "byoc build model.byoc " ACME_2
                          "--emit host --constants > model.host && byoc build model.host -o text.so");
  byoc_test_shell(1, "byoc run text.so --random");
  byoc_test_printed("is for 'acme-2': the chip is acme-1\n");
  byoc_test_shell(1, GOOD "byoc build model.byoc --target 'starter -chip=acme-2 -mute; c' --plan greedy -o model.so");
  byoc_test_printed("'starter_0' states that it fits 'acme-2', and the engine 'starter' has no function that compares");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_engine),
      cmocka_unit_test(test_fallback),
      cmocka_unit_test(test_fallback_to_another_target),
      cmocka_unit_test(test_fallback_with_a_device),
      cmocka_unit_test(test_code_for_another_chip),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
