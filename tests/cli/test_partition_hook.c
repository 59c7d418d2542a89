// SPDX-License-Identifier: Apache-2.0
// Sub-graphs that backends claim by the partition hook (tests/plugins/demo_claims.c). Row A27.
#include <stdio.h>

#include "models.h"
#include "tests/support/command.h"

#define WITH "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good BYOC_CACHE_DIR=$PWD/costs "

// Two chains: a claim of the beginning of one and the end of the other waits for a claim of the rest, and the other way
// round.
static const char chains_text[] = "module {\\n"
                                  "  func @main(%%x : f32[65536], %%z : f32[65536])\\n"
                                  "      -> (%%y : f32[65536], %%w : f32[65536], %%v : f32[65536]) {\\n"
                                  "    %%0 = Sin@7(%%x) : f32[65536]\\n"
                                  "    %%1 = Tanh@13(%%z) : f32[65536]\\n"
                                  "    %%y = Log@13(%%1) : f32[65536]\\n"
                                  "    %%w = Cos@7(%%0) : f32[65536]\\n"
                                  "    %%4 = Relu@14(%%x) : f32[65536]\\n"
                                  "    %%v = Abs@13(%%4) : f32[65536]\\n"
                                  "    return %%y, %%w, %%v\\n  }\\n}\\n";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_chain("chain.byoc");
  return byoc_test_try_shell("printf '%s' > chains.byoc", chains_text);
}

#define GREEDY(targets)  WITH "byoc explain chain.byoc --plan=greedy --target '" targets "' "
#define COLLAGE(targets) WITH "byoc explain chain.byoc --plan=collage --cost=estimate --target '" targets "' "

static void test_a27_a_claim_becomes_one_function_with_its_name(void **state) {
  (void)state;
  byoc_test_shell(0, WITH "byoc build chain.byoc -o chain.so --plan=greedy --target 'left -take=Neg,Abs,Add' "
                          "--save-plan plan.json --verbose 2>&1 && grep left.whole plan.json");
  byoc_test_printed("the claim left.whole has 3 nodes");
  byoc_test_printed("\"rule\": \"left.whole\", \"nodes\": [2, 3, 4]");
  byoc_test_shell(0, WITH "byoc run chain.byoc --target c --random --output-dir c && byoc run chain.so --random "
                          "--output-dir claimed && diff -r c claimed");
}

static void test_a27_claims_come_before_rules_and_are_not_joined(void **state) {
  (void)state;
  byoc_test_shell(0, GREEDY("left -take=Abs+Neg") "| grep '^  left'");
  byoc_test_printed("left           2       2");
  byoc_test_shell(0, GREEDY("left -take=Neg") "--node 3");
  byoc_test_printed("placed on left, region 1, by left.abs");
}

static void test_a27_reasons_of_declined_nodes_are_told(void **state) {
  (void)state;
  byoc_test_shell(0, GREEDY("left -take=Relu") "--node 1");
  byoc_test_printed("left declined (partition hook): the chip has no exponential");
}

// The first target takes what both claim; the search takes what is cheapest.
static void test_a27_overlapping_claims_of_two_targets(void **state) {
  (void)state;
  byoc_test_shell(0, GREEDY("left -take=Neg,Abs; right -take=Abs,Add") "--node 3 2>&1");
  byoc_test_printed("placed on left, region 0, by left.whole, with nodes 2-3");
  byoc_test_printed("right declined nodes 3-4 (right.whole): its claim has Abs");
  byoc_test_shell(0, GREEDY("right -take=Abs,Add; left -take=Neg,Abs") "--node 3 2>&1");
  byoc_test_printed("placed on right, region 0, by right.whole, with nodes 3-4");
  byoc_test_shell(0, COLLAGE("left -take=Neg,Abs -cost_ns=9000; right -take=Relu,Exp,Neg,Abs,Add") "--node 3 2>&1");
  byoc_test_printed("placed on right, region 0, by right.whole, with nodes 0-4, 1 ns stated by right");
  byoc_test_shell(0, COLLAGE("left -take=Relu,Exp,Neg,Abs,Add; right -take=Abs,Add -cost_ns=9000") "--node 3 2>&1");
  byoc_test_printed("placed on left, region 0, by left.whole, with nodes 0-4, 1 ns stated by left");
  byoc_test_no_line("declined|warning");
}

static void test_a27_claims_that_would_wait_for_each_other(void **state) {
  (void)state;
  byoc_test_shell(0, WITH "byoc explain chains.byoc --plan=greedy --target 'left -take=Sin,Log; right "
                          "-take=Tanh,Cos' --node 1 2>&1");
  byoc_test_printed("would wait");
  byoc_test_printed("placed on c");
  byoc_test_shell(0,
                  WITH "byoc explain chains.byoc --plan=collage --cost=estimate --save-plan plan.json --target 'left "
                       "-take=Sin,Log -cost_ns=9000; right -take=Tanh,Cos' | grep '^  right'");
  byoc_test_printed("right          2       1");
  byoc_test_shell(0, WITH "byoc explain chains.byoc --plan plan.json --target 'left -take=Sin,Log; right "
                          "-take=Tanh,Cos' | grep '^  right'");
  byoc_test_printed("right          2       1");
}

static void test_a27_a_wrong_claim_is_named_and_not_used(void **state) {
  (void)state;
  static const struct {
    const char *options, *reason;
  } rows[] = {{"-take=Relu,Add", "it closes a cycle: a path leaves it behind Relu (ai.onnx 14) and comes back to Add "
                                 "(ai.onnx 14) through Exp (ai.onnx 13), which it does not list"},
              {"-take=Neg -claims=twice", "it overlaps itself: it lists Neg (ai.onnx 13) twice"},
              {"-take=Neg -claims=unknown", "node 1 of the 2 that it lists, counted from 0, is none of the block"},
              {"-take=Neg -claims=null", "node 1 of the 2 that it lists, counted from 0, is none of the block"},
              {"-take=Neg -claims=empty", "it has no nodes"},
              {"-take=Neg -claims=nameless", "it is not named 'left.<what>'"},
              {"-take=Neg -claims=foreign", "the claim 'other.whole' of its plugin 'demo_claims' 1.0 is not used"},
              {"-take=Neg -claims=merge", "it has the flags 0x1"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0, GREEDY("left %s; right -take=Abs") "2>&1", rows[i].options);
    byoc_test_printed("warning: target 'left': the claim '");
    byoc_test_printed(rows[i].reason);
    byoc_test_printed("left           1       1"); // by its rule
    byoc_test_no_line("warning: target 'right'");
  }
  byoc_test_shell(0, COLLAGE("left -take=Relu,Add") "2>&1 | grep -c 'closes a cycle'");
  byoc_test_printed("1\n");
}

static void test_a27_a_hook_that_fails_is_named_and_its_rules_stay(void **state) {
  (void)state;
  static const struct {
    const char *how, *reason;
  } rows[] = {
      {"crash", "the plugin demo_claims 1.0 crashed in its hook partition for the target 'left', function 'main'"},
      {"exit", "the plugin demo_claims 1.0 called exit() in its hook partition"},
      {"environment", "the hook partition changed the environment of the process"},
      {"fail", "cannot be used: the compiler of the chip is missing"},
      {"flood", "its answers take more than 66816 bytes"},
      {"speechless", "the hook partition returned 13 and gave no reason"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0, GREEDY("left -take=Neg -claims=%s") "2>&1", rows[i].how);
    byoc_test_printed("warning: target 'left' gets only what its rules match, because the claims of its plugin "
                      "'demo_claims' 1.0 cannot be used: ");
    byoc_test_printed(rows[i].reason);
    byoc_test_printed("left           1       1");
  }
}

static void test_a27_a_hook_that_claims_nothing_changes_nothing(void **state) {
  (void)state;
  byoc_test_shell(0, GREEDY("left -take=Neg -claims=nothing") "2>&1");
  byoc_test_printed("left           1       1");
  byoc_test_no_line("warning|left.whole");
}

static void test_a27_a_claim_that_is_only_for_plans_by_cost(void **state) {
  (void)state;
  byoc_test_shell(0, GREEDY("left -take=Neg -claims=by_cost") "--node 2");
  byoc_test_printed("left declined (left.whole): this rule is only for plans by cost");
  byoc_test_shell(0, COLLAGE("left -take=Relu,Exp,Neg,Abs,Add -claims=by_cost") "--node 2");
  byoc_test_printed("placed on left, region 0, by left.whole, with nodes 0-4");
}

// The hook is asked again after generate has declined its claim.
static void test_a27_what_was_declined_cannot_be_claimed_again(void **state) {
  (void)state;
  byoc_test_shell(0, WITH "byoc build chain.byoc -o chain.so --plan=greedy --save-plan plan.json --target 'left "
                          "-take=Neg,Abs -claims=blind' 2>&1 && grep reason plan.json");
  byoc_test_printed("claimed it and declined it later: it does not fit on the chip");
  byoc_test_printed("its claim has Neg (ai.onnx 13), which it may not take");
  byoc_test_no_line("warning");
}

// The others of its function are claimed again.
static void test_a27_single_nodes_are_given_back(void **state) {
  (void)state;
  byoc_test_shell(0,
                  WITH "byoc build chain.byoc -o rest.so --plan=greedy --save-plan plan.json --verbose --target 'left "
                       "-take=Neg,Abs,Add -gives_back=Neg' 2>&1 && grep reason plan.json");
  byoc_test_printed("the claim left.whole has 3 nodes");
  byoc_test_printed("the claim left.whole has 2 nodes");
  byoc_test_printed("left 2 operators in 1 region, c 3 operators");
  byoc_test_printed("the chip has no room (Neg");
  byoc_test_shell(0, WITH "byoc run chain.byoc --target c --random --output-dir c && byoc run rest.so --random "
                          "--output-dir rest && diff -r c rest");
  byoc_test_shell(0,
                  WITH "byoc build chain.byoc -o again.so --plan plan.json --verbose --target 'left -take=Neg,Abs,Add "
                       "-gives_back=Neg' 2>&1");
  byoc_test_printed("the claim left.whole has 2 nodes");
  byoc_test_printed("left 2 operators in 1 region, c 3 operators");
}

static void test_a27_group_rules_see_neighbours(void **state) {
  (void)state;
  byoc_test_shell(0, WITH "byoc explain chains.byoc --plan=greedy --target left --node 5");
  byoc_test_printed("left declined (left.abs): it is behind Relu");
  byoc_test_shell(0, GREEDY("left") "--node 3");
  byoc_test_printed("placed on left, region 0, by left.abs");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a27_a_claim_becomes_one_function_with_its_name),
      cmocka_unit_test(test_a27_claims_come_before_rules_and_are_not_joined),
      cmocka_unit_test(test_a27_reasons_of_declined_nodes_are_told),
      cmocka_unit_test(test_a27_overlapping_claims_of_two_targets),
      cmocka_unit_test(test_a27_claims_that_would_wait_for_each_other),
      cmocka_unit_test(test_a27_a_wrong_claim_is_named_and_not_used),
      cmocka_unit_test(test_a27_a_hook_that_fails_is_named_and_its_rules_stay),
      cmocka_unit_test(test_a27_a_hook_that_claims_nothing_changes_nothing),
      cmocka_unit_test(test_a27_a_claim_that_is_only_for_plans_by_cost),
      cmocka_unit_test(test_a27_what_was_declined_cannot_be_claimed_again),
      cmocka_unit_test(test_a27_single_nodes_are_given_back),
      cmocka_unit_test(test_a27_group_rules_see_neighbours),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
