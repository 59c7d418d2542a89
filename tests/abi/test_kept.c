// SPDX-License-Identifier: Apache-2.0
// Plugins of released minors on this host, and plugins of today on a host of the oldest minor: loaded, run, compared.
#include "tests/support/command.h"

#include <stdio.h>
#include <unistd.h>

#include "byoc/plugin.h"

#define KEPT          BYOC_TEST_SOURCE_DIR "/tests/plugins/kept"
#define TODAY         BYOC_TEST_BUILD_DIR "/tests/plugins/kept"
#define TEXT_AGAIN(x) #x
#define TEXT(x)       TEXT_AGAIN(x)
// The target of today's plugin.
#define OF_TODAY "kept" TEXT(BYOC_ABI_MINOR)
// The command as a host of minor 1 (oldest_host.c).
#define OLDEST BYOC_TEST_BUILD_DIR "/tests/byoc_oldest"

// Each operator is one that the plugins answer in another flavour.
static const char model[] = "module {\n"
                            "  constant @m : f32[2,12] = splat -0.5\n"
                            "  constant @b : f32[2,12] = splat 0.25\n"
                            "  func @main(%x : f32[2,12]) -> (%y : f32[2,12], %z : f32[2,12]) {\n"
                            "    %c = Add@14(%x, @m) : f32[2,12]\n"
                            "    %0 = Neg@13(%c) : f32[2,12]\n"
                            "    %1 = Relu@14(%0) : f32[2,12]\n"
                            "    %2 = LeakyRelu@16(%c) : f32[2,12]\n"
                            "    %3 = Add@14(%1, @b) : f32[2,12]\n"
                            "    %4 = Mul@14(%3, %2) : f32[2,12]\n"
                            "    %5 = Abs@13(%4) : f32[2,12]\n"
                            "    %6 = Sqrt@13(%5) : f32[2,12]\n"
                            "    %y = Tanh@13(%6) : f32[2,12]\n"
                            "    %7 = Floor@13(%2) : f32[2,12]\n"
                            "    %8 = Add@14(%7, @m) : f32[2,12]\n"
                            "    %z = Ceil@13(%8) : f32[2,12]\n"
                            "    return %y, %z\n"
                            "  }\n"
                            "}\n";
enum { OPERATORS = 12 };
#define DRAWN    "--random --seed 5"
#define EXPECTED DRAWN " --expect y=reference/y.npy --expect z=reference/z.npy"

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return 1;
  FILE *file = fopen("model.byoc", "w");
  if (file == NULL || fputs(model, file) < 0 || fclose(file) != 0) return 1;
  byoc_test_shell(0, "byoc run model.byoc --evaluate " DRAWN " --output-dir reference");
  // Whoever checked the sources out may have let others write there; such files are not loaded.
  byoc_test_shell(0,
                  "install -m 755 " KEPT "/minor*.so " TODAY "/today.so " TODAY "/forgetful.so " TODAY "/hasty.so .");
  return 0;
}

// Runs the model on the plugin's target, compiled and evaluated, and asserts that it took every operator.
static void expect_runs(const char *byoc, const char *file, const char *target) {
  char taken[64];
  byoc_test_shell(0, "%s run model.byoc --plugin %s -t %s " EXPECTED, byoc, file, target);
  byoc_test_shell(0, "%s run model.byoc --evaluate --plugin %s -t %s " EXPECTED, byoc, file, target);
  byoc_test_shell(0, "%s build model.byoc --plugin %s -t %s --require %s -o %s.artifact.so", byoc, file, target, target,
                  file);
  snprintf(taken, sizeof(taken), "%s %d operators", target, OPERATORS);
  byoc_test_printed(taken);
  byoc_test_shell(0, "byoc run %s.artifact.so " EXPECTED, file);
}

// Options, collage and a second artifact with another host's choices: what a target of that minor can do.
static void expect_serves(const char *file, const char *target) {
  byoc_test_shell(0, "byoc run model.byoc --plugin %s -t '%s -O=3 -note=any -log; c' " EXPECTED, file, target);
  byoc_test_shell(1, "byoc run model.byoc --plugin %s -t '%s -factor=2; c' " EXPECTED, file, target);
  byoc_test_shell(2, "byoc run model.byoc --plugin %s -t '%s -O=4; c'", file, target);
  byoc_test_printed("option '-O' takes an integer from 0 to 3");
  byoc_test_shell(0, "byoc run model.byoc --plugin %s -t '%s; c' --plan collage --cost estimate " EXPECTED, file,
                  target);
}

static void test_a6_kept_plugins_run(void **state) {
  (void)state;
#ifndef __x86_64__
  byoc_test_skip("the kept binaries are for x86-64");
#endif
  int minor = 1;
  for (; minor <= BYOC_ABI_MINOR; ++minor) {
    char file[32], target[32], built[64];
    snprintf(file, sizeof(file), "minor%d.so", minor);
    if (access(file, R_OK) != 0) break;
    snprintf(target, sizeof(target), "kept%d", minor);
    snprintf(built, sizeof(built), "\"minor_built\": %d", minor);
    byoc_test_shell(0, "byoc plugins --plugin %s --json", file);
    byoc_test_printed(built);
    expect_runs("byoc", file, target);
    expect_serves(file, target);
  }
  assert_true(minor >= BYOC_ABI_MINOR); // today's minor has none before it is released
}

static void test_a6_a_plugin_of_today_runs(void **state) {
  (void)state;
  expect_runs("byoc", "today.so", OF_TODAY);
  expect_serves("today.so", OF_TODAY);
}

static void test_a6_a_new_plugin_runs_on_the_oldest_host(void **state) {
  (void)state;
  // It states that it needs minor 1, and asks the host for its minor before it uses what came later.
  expect_runs(OLDEST, "today.so", OF_TODAY);
#ifdef __x86_64__
  expect_runs(OLDEST, "minor1.so", "kept1");
  byoc_test_shell(1, OLDEST " run model.byoc --plugin minor3.so -t kept3");
  byoc_test_printed("it needs plugin ABI 1.3, this host has 1.1");
#endif
  byoc_test_shell(1, OLDEST " run model.byoc --plugin " BYOC_TEST_PLUGIN_DIR "/cutlass.so -t cutlass");
  byoc_test_printed("it needs plugin ABI 1." TEXT(BYOC_ABI_MINOR) ", this host has 1.1");
}

// Plugins that use later slots or constants without asking are found out there: the oldest host of this test is no
// pretence. (The host of that commit, built and run by hand, says the same of them.)
static void test_a6_a_plugin_that_does_not_ask_is_found_out(void **state) {
  (void)state;
  expect_runs("byoc", "forgetful.so", OF_TODAY);
  byoc_test_shell(1, OLDEST " run model.byoc --plugin forgetful.so -t " OF_TODAY);
  byoc_test_printed("SIGSEGV");
  expect_runs("byoc", "hasty.so", OF_TODAY);
  byoc_test_shell(1, OLDEST " run model.byoc --plugin hasty.so -t " OF_TODAY);
  byoc_test_printed("option 'mcpu' has unknown type 6");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a6_kept_plugins_run),
      cmocka_unit_test(test_a6_a_plugin_of_today_runs),
      cmocka_unit_test(test_a6_a_new_plugin_runs_on_the_oldest_host),
      cmocka_unit_test(test_a6_a_plugin_that_does_not_ask_is_found_out),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}
