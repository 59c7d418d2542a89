// SPDX-License-Identifier: Apache-2.0
// Plans for several numbers of threads in one artifact: a context takes the one for its threads, results stay the same,
// plans that are the same stand there once.
#include "tests/support/command.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

static json_t *load(const char *file) {
  json_error_t error;
  json_t *root = json_load_file(file, 0, &error);
  if (root == NULL) fail_msg("%s:%d: %s", file, error.line, error.text);
  return root;
}

static json_t *find_block(const json_t *plan, const char *name) {
  size_t index = 0;
  json_t *block = NULL;
  json_array_foreach(json_object_get(plan, "blocks"), index, block) {
    if (strcmp(json_string_value(json_object_get(block, "name")), name) == 0) return block;
  }
  fail_msg("the plan has no block '%s'", name);
  return NULL;
}

// With one thread nothing goes to cblas, with two the first product does.
static void edit_plan(void) {
  json_t *plan = load("plan.json");
  assert_int_equal(json_array_clear(json_object_get(find_block(plan, "main.threads1"), "regions")), 0);
  json_t *regions = json_object_get(find_block(plan, "main.threads2"), "regions");
  assert_int_equal(json_array_clear(regions), 0);
  json_t *region = json_pack("{s:i, s:s, s:[i]}", "target", 0, "rule", "cblas.gemm", "nodes", 0);
  assert_int_equal(json_array_append_new(regions, region), 0);
  assert_int_equal(json_dump_file(plan, "plan.json", JSON_INDENT(1)), 0);
  json_decref(plan);
}

// Which case the slowest instruction stands in, and so all that ran.
static void check_case(int threads, const char *expected) {
  byoc_test_shell(0, "byoc profile model.so --runs 1 --threads %d | sed -n 2p", threads);
  byoc_test_printed(expected);
}

static void test_a_context_takes_the_plan_for_its_threads(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx");
  byoc_test_shell(0, "byoc build mlp.onnx -o reference.so -t c --plan greedy");
  byoc_test_shell(0, "rm -rf expected && byoc run reference.so --random --seed 3 --output-dir expected");
  byoc_test_shell(0, "byoc build mlp.onnx -o model.so -t 'cblas; c' --plan collage --cost estimate --threads 1,2 "
                     "--save-plan plan.json");
  edit_plan();
  byoc_test_shell(0, "byoc build mlp.onnx -o model.so -t 'cblas; c' --plan plan.json --threads 1,2 --profile");
  byoc_test_shell(0, "byoc inspect model.so");
  byoc_test_printed("plans for 1, 2 and more threads\n");
  for (int threads = 1; threads <= 3; ++threads) {
    byoc_test_shell(0, "byoc run model.so --random --seed 3 --threads %d --expect output=expected/output.npy", threads);
  }
  check_case(1, "[fewer threads]");
  check_case(2, "[threads=2]");
  check_case(3, "[threads=2]");
  byoc_test_shell(0, "byoc profile model.so --runs 1 --threads 2");
  byoc_test_printed("The artifact has another plan for one thread than for 2.");
  // Such a plan is for these numbers of threads.
  byoc_test_shell(1, "byoc build mlp.onnx -o other.so -t 'cblas; c' --plan plan.json --threads 1,4");
  byoc_test_printed("its block 'main.threads4' is missing");
}

// Costs are measured, and whole plans race, with each number of threads.
static void test_costs_are_measured_for_each_number_of_threads(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen %s -o model.onnx", byoc_test_is_long() ? "mobilenet_v2" : "lenet");
  byoc_test_shell(0,
                  "rm -rf cache && BYOC_CACHE_DIR=$PWD/cache byoc build model.onnx -o model.so -t 'cutlass; cblas; c' "
                  "--plan collage --threads 1,2 --cost-budget 6 -v");
  byoc_test_printed("the plan for 1 thread:");
  byoc_test_printed("the plan for 2 threads:");
  byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/cache byoc costs list");
  byoc_test_printed(", 1 thread\n");
  byoc_test_printed(", 2 threads\n");
  byoc_test_shell(0, "byoc build model.onnx -o reference.so -t c --plan greedy");
  byoc_test_shell(0, "rm -rf expected && byoc run reference.so --random --seed 3 --output-dir expected");
  for (int threads = 1; threads <= 2; ++threads) {
    byoc_test_shell(0, "byoc run model.so --random --seed 3 --threads %d --expect output=expected/output.npy", threads);
  }
}

static void test_equal_plans_are_stored_once(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  static const char *const ways[] = {"-t 'cblas; c' --plan greedy", "-t c"};
  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); ++i) {
    byoc_test_shell(0, "byoc build lenet.onnx -o one.so %s --threads 2", ways[i]);
    byoc_test_shell(0, "byoc build lenet.onnx -o several.so %s --threads 1,2,4", ways[i]);
    byoc_test_shell(0, "byoc inspect several.so");
    byoc_test_no_line("plans for");
    byoc_test_shell(0, "byoc build lenet.onnx --emit host %s --threads 2 -o one.host", ways[i]);
    byoc_test_shell(0, "byoc build lenet.onnx --emit host %s --threads 1,2,4 -o several.host", ways[i]);
    byoc_test_shell(0, "cmp one.host several.host");
  }
  // By costs: equal where threads change no choice. One target has none; between two, noise may choose.
  byoc_test_shell(0, "byoc build lenet.onnx --emit host -t c --plan collage --cost estimate --threads 3,4 -o "
                     "several.host");
  byoc_test_shell(1, "grep byoc_check_threads several.host");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_context_takes_the_plan_for_its_threads),
      cmocka_unit_test(test_costs_are_measured_for_each_number_of_threads),
      cmocka_unit_test(test_equal_plans_are_stored_once),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
