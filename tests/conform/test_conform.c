// SPDX-License-Identifier: Apache-2.0
// byoc conform over ONNX's own cases: every case outside the list passes, none crashes, compiled and evaluated agree;
// and the command itself: its exit codes, its JSON, cases that are damaged.
#include <jansson.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "tests/support/support.h"

#define COMMAND BYOC_TEST_PROGRAM_DIR "/byoc"

typedef struct conform_t {
  int exit_code;
  json_t *report; // NULL where the output is no JSON
  byoc_string_t text;
} conform_t;

static conform_t run_conform(const char *const *arguments) {
  const char *argv[16] = {COMMAND, "conform"};
  size_t count = 2;
  for (; *arguments != NULL; ++arguments) argv[count++] = *arguments;
  conform_t run = {0};
  byoc_diag_t diag = {0};
  byoc_process_result_t result;
  byoc_string_init(&run.text, byoc_allocator_system());
  byoc_status_t status =
      byoc_process_run(argv, &(byoc_process_options_t){.timeout_ms = 500000}, &run.text, &diag, &result);
  if (status != BYOC_OK) fail_msg("%s", diag.message);
  run.exit_code = result.exit_code;
  run.report = json_loads(run.text.data, 0, NULL);
  return run;
}

static void conform_deinit(conform_t *run) {
  json_decref(run->report);
  byoc_string_deinit(&run->text);
}

static json_int_t number(const conform_t *run, const char *key) {
  return json_integer_value(json_object_get(run->report, key));
}

// "node/test_x" stands on a line of its own in the list.
static bool is_expected(const char *list, const char *name) {
  char line[256];
  snprintf(line, sizeof(line), "\n%s\n", name);
  return strstr(list, line) != NULL;
}

static void check_outcomes(const conform_t *run) {
  char *list = NULL;
  size_t size = 0, i, wrong = 0;
  byoc_diag_t diag = {0};
  if (byoc_file_read(BYOC_CONFORM_LIST, byoc_allocator_system(), &diag, &list, &size) != BYOC_OK) {
    fail_msg("%s", diag.message);
  }
  json_t *item;
  json_array_foreach(json_object_get(run->report, "cases"), i, item) {
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *outcome = json_string_value(json_object_get(item, "outcome"));
    bool passed = strcmp(outcome, "passed") == 0, expected = is_expected(list, name);
    const char *stage = json_string_value(json_object_get(item, "stage"));
    bool crashed = stage != NULL && (strcmp(stage, "crash") == 0 || strcmp(stage, "time") == 0);
    if (passed && expected) print_message("%s passes by now: take it out of the list\n", name);
    if ((passed || expected) && !crashed) continue;
    print_message("%s: %s: %s\n", name, outcome, json_string_value(json_object_get(item, "reason")));
    wrong += 1;
  }
  byoc_free(byoc_allocator_system(), list);
  if (wrong > 0) fail_msg("%zu cases fail that should pass", wrong);
}

static void test_all_evaluated(void **state) {
  (void)state;
  const char *const arguments[] = {BYOC_CONFORM_DATA "/node",
                                   BYOC_CONFORM_DATA "/simple",
                                   BYOC_CONFORM_DATA "/pytorch-converted",
                                   BYOC_CONFORM_DATA "/pytorch-operator",
                                   "--evaluate",
                                   "--json",
                                   NULL};
  conform_t run = run_conform(arguments);
  assert_non_null(run.report);
  assert_int_equal(number(&run, "passed") + number(&run, "failed") + number(&run, "skipped"), number(&run, "total"));
  assert_true(number(&run, "total") >= 1000);
  check_outcomes(&run);
  conform_deinit(&run);
}

// One letter's cases, of many operators; in the short test, fewer letters.
static void test_some_compiled(void **state) {
  (void)state;
  static const char *const filters[] = {"test_q", "test_sc", "test_l", "test_re"};
  for (size_t i = 0; i < (byoc_test_is_long() ? sizeof(filters) / sizeof(filters[0]) : 2); ++i) {
    const char *const arguments[] = {
        BYOC_CONFORM_DATA "/node", "--filter", filters[i], "--target", "c -O=0", "--json", NULL};
    conform_t run = run_conform(arguments);
    assert_non_null(run.report);
    check_outcomes(&run);
    conform_deinit(&run);
  }
}

static void test_single_case(void **state) {
  (void)state;
  const char *const passing[] = {BYOC_CONFORM_DATA "/node/test_abs", "--evaluate", NULL};
  conform_t run = run_conform(passing);
  assert_int_equal(run.exit_code, 0);
  assert_non_null(strstr(run.text.data, "1 passed, 0 failed, 0 skipped, 1 in all"));
  conform_deinit(&run);
}

static void test_first_wrong_element(void **state) {
  (void)state;
  // ONNX has Bernoulli's result depend on NumPy's generator: it never agrees.
  const char *const failing[] = {BYOC_CONFORM_DATA "/node/test_bernoulli_seed", "--evaluate", NULL};
  conform_t run = run_conform(failing);
  assert_int_equal(run.exit_code, 1);
  assert_non_null(strstr(run.text.data, "first at ["));
  assert_non_null(strstr(run.text.data, "expected "));
  conform_deinit(&run);
}

static void test_misuse(void **state) {
  (void)state;
  const char *const nowhere[] = {"/nonexistent", NULL};
  const char *const nothing[] = {BYOC_CONFORM_DATA "/node", "--filter", "no such case", NULL};
  const char *const no_target[] = {BYOC_CONFORM_DATA "/node/test_abs", "--target", "nosuch", NULL};
  const char *const *all[] = {nowhere, nothing, no_target};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
    conform_t run = run_conform(all[i]);
    assert_int_equal(run.exit_code, 2);
    conform_deinit(&run);
  }
}

// A case without data is skipped, a damaged model and missing tensors fail, and the others go on.
static void test_damaged_cases(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = NULL;
  byoc_allocator_t allocator = byoc_allocator_system();
  if (byoc_make_temporary_directory("conform", allocator, &diag, &folder) != BYOC_OK) fail_msg("%s", diag.message);
  static const char *const names[] = {"damaged", "incomplete", "undocumented"};
  char *model = NULL;
  size_t size = 0;
  assert_int_equal(byoc_file_read(BYOC_CONFORM_DATA "/node/test_abs/model.onnx", allocator, &diag, &model, &size),
                   BYOC_OK);
  for (size_t i = 0; i < 3; ++i) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s%s", folder, names[i], i < 2 ? "/test_data_set_0" : "");
    assert_int_equal(byoc_make_directories(path, &diag), BYOC_OK);
    snprintf(path, sizeof(path), "%s/%s/model.onnx", folder, names[i]);
    assert_int_equal(byoc_file_write(path, model, i == 0 ? size / 2 : size, &diag), BYOC_OK);
  }
  const char *const arguments[] = {folder, "--evaluate", "--json", NULL};
  conform_t run = run_conform(arguments);
  assert_int_equal(run.exit_code, 1);
  assert_int_equal(number(&run, "failed"), 2);
  assert_int_equal(number(&run, "skipped"), 1);
  conform_deinit(&run);
  byoc_remove_tree(folder, NULL);
  byoc_free(allocator, model);
  byoc_free(allocator, folder);
}

int main(void) {
  if (!byoc_is_directory(BYOC_CONFORM_DATA "/node")) {
    printf("skipped: %s is missing (apt install libonnx-testdata)\n", BYOC_CONFORM_DATA);
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_evaluated), cmocka_unit_test(test_some_compiled),
      cmocka_unit_test(test_single_case),   cmocka_unit_test(test_first_wrong_element),
      cmocka_unit_test(test_misuse),        cmocka_unit_test(test_damaged_cases),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
