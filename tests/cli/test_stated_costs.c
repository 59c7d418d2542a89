// SPDX-License-Identifier: Apache-2.0
// Costs that a backend states (tests/plugins/demo_costs.c), in plans beside estimated and measured ones. Rows A27, C12.
#include <stdio.h>

#include "models.h"
#include "tests/support/command.h"

#define WITH "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result == 0) write_chain("chain.byoc");
  return result;
}

#define EXPLAIN(options) WITH "byoc explain chain.byoc --plan=collage --cost=estimate --target 'chip " options "' "

#define BUILD                                                                                                          \
  WITH "BYOC_CACHE_DIR=$PWD/costs byoc build chain.byoc --plan=collage --cost-budget 0.5 -o chain.so --save-plan "     \
       "mixed.json --target 'chip -clock_mhz=1000000' 2>&1"

static void test_c12_the_plan_follows_the_clock_of_the_chip(void **state) {
  (void)state;
  byoc_test_shell(0, EXPLAIN("-clock_mhz=1000000") "| grep '^  chip'");
  byoc_test_printed("chip           4       2");
  byoc_test_shell(0, EXPLAIN("-clock_mhz=1") "| grep '^  chip'");
  byoc_test_printed("chip           0       0");
}

static void test_a27_boundaries_and_least_sizes_are_stated(void **state) {
  (void)state;
  byoc_test_shell(0, EXPLAIN("-clock_mhz=1000000 -least_operators=2") "--node 0");
  byoc_test_printed("chip states that it is not worth it for fewer than 2 operators");
  byoc_test_shell(0, EXPLAIN("-clock_mhz=1000000 -least_operations=1000000") "| grep '^  chip'");
  byoc_test_printed("chip           0       0");
  byoc_test_shell(0, EXPLAIN("-clock_mhz=1000000 -boundary_ns=1000000") "| grep '^  chip'");
  byoc_test_printed("chip           0       0");
}

static void test_a27_functions_are_declined_with_a_reason(void **state) {
  (void)state;
  byoc_test_shell(0, EXPLAIN("-clock_mhz=1000000 -costs=decline") "--node 3");
  byoc_test_printed("placed on chip, region 2, by chip.any, 66 ns stated by chip");
  byoc_test_printed("the chip has no room for two");
}

static void test_c12_explain_says_whose_figure_it_is(void **state) {
  (void)state;
  byoc_test_shell(0, EXPLAIN("-clock_mhz=1000000") "--node 0 --save-plan plan.json --html plan.html");
  byoc_test_printed("66 ns stated by chip, 524288 bytes moved, 3.277e+04 nJ");
  byoc_test_shell(0, "byoc explain plan.json --node 0");
  byoc_test_printed("66 ns stated by chip, 524288 bytes moved, 3.277e+04 nJ");
  byoc_test_shell(0, "grep -c '\"source\": \"stated\"' plan.html");
}

// The sum decides between plans with stated parts: no whole plan is timed here. No database keeps what is stated.
static void test_c12_stated_and_measured_costs_are_in_one_plan(void **state) {
  (void)state;
  byoc_test_shell(0, BUILD);
  byoc_test_shell(0, "grep -c '\"source\": \"measured\"' mixed.json && grep 'source.*chosen' mixed.json");
  byoc_test_printed("\"source\": \"stated\"");
  byoc_test_shell(0, "cat mixed.json");
  byoc_test_no_line("whole_ns");
  byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/costs byoc costs list");
  byoc_test_printed("us  Exp\n");
  byoc_test_no_line("chip");
  byoc_test_shell(
      0,
      WITH "byoc run chain.byoc --target c --random --output-dir c && byoc run chain.so --random --output-dir chip && "
           "diff -r c chip");
}

static void test_a27_a_hook_that_fails_is_named_and_its_target_estimated(void **state) {
  (void)state;
  static const struct {
    const char *how, *reason;
  } rows[] = {{"negative", "for function 0 of 7, which begins with Relu: time_ns is -65536, but figures are finite"},
              {"nan", "which begins with Relu: time_ns is not a number"},
              {"infinite", "time_ns is inf, but figures are finite and at least 0"},
              {"crash", "the plugin demo_costs 1.0 crashed in its hook state_costs for the target 'chip': SIGABRT"},
              {"exit", "the plugin demo_costs 1.0 called exit() in its hook state_costs"},
              {"environment", "the hook state_costs changed the environment of the process"},
              {"fail", "cannot be used: the model of the chip is missing"},
              {"speechless", "the hook state_costs returned 13 and gave no reason"},
              {"beyond", "it states the cost of function 7 of 7, counted from 0"},
              {"twice", "it states the cost of function 0 of 7 twice"},
              {"mute", "it declines function 0 of 7 without a printable reason"},
              {"null", "which begins with Relu: the cost is NULL"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0, EXPLAIN("-costs=%s") "--node 0 2>&1", rows[i].how);
    byoc_test_printed(
        "target 'chip' is measured or estimated, because the costs that its plugin 'demo_costs' 1.0 states "
        "cannot be used: ");
    byoc_test_printed(rows[i].reason);
    byoc_test_no_line("stated by");
  }
  byoc_test_shell(0, EXPLAIN("-boundary_ns=-1") "--node 0 2>&1");
  byoc_test_printed("the costs that it states for the target: enter_ns is -1, but figures are finite and at least 0");
  byoc_test_no_line("stated by");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c12_the_plan_follows_the_clock_of_the_chip),
      cmocka_unit_test(test_a27_boundaries_and_least_sizes_are_stated),
      cmocka_unit_test(test_a27_functions_are_declined_with_a_reason),
      cmocka_unit_test(test_c12_explain_says_whose_figure_it_is),
      cmocka_unit_test(test_c12_stated_and_measured_costs_are_in_one_plan),
      cmocka_unit_test(test_a27_a_hook_that_fails_is_named_and_its_target_estimated),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
