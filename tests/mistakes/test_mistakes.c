// SPDX-License-Identifier: Apache-2.0
// The table of mistakes: what a plugin does wrong, where, what byoc says, and its exit code. None is silent, and none
// is a crash of byoc. The test prints the table.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mistakes/mistakes.h"
#include "tests/support/command.h"

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  byoc_test_shell(0, "mkdir tmp && cp " BYOC_TEST_SOURCE_DIR "/tests/mistakes/relu.byoc " BYOC_TEST_SOURCE_DIR
                     "/tests/mistakes/relu.c " BYOC_TEST_SOURCE_DIR "/tests/mistakes/table.json . && chmod 644 *.*");
  return 0;
}

// The first line that holds `part`, without what changes from place to place.
static void print_row(const row_t *row, int code) {
  const char *at = strstr(byoc_test_output(), row->message);
  const char *begin = at;
  while (at != NULL && begin > byoc_test_output() && begin[-1] != '\n') --begin;
  print_message("%-34s | %d | %.*s\n", row->mistake, code, at != NULL ? (int)strcspn(begin, "\n") : 6,
                at != NULL ? begin : "SILENT");
}

static int make(const row_t *row, const char *plan) {
  static const char usual[] = "byoc build relu.byoc --plugin $PLUGIN -t \"$TARGET; c\" $PLAN -o out.so";
  const bool hangs = strstr(row->mistake, "hang") != NULL || strstr(row->mistake, "sleep") != NULL;
  char line[2048];
  snprintf(line, sizeof(line),
           "export TMPDIR=$PWD/tmp BYOC_CACHE_DIR=$PWD/cache PLUGIN=%s/%s PLAN='--plan %s' "
           "TARGET='%s' BYOC_HOOK_TIMEOUT=%d BYOC_RUN_TIMEOUT=2 && rm -rf cache/costs* out.* bad.json queried\n%s",
           BYOC_TEST_BUILD_DIR "/tests", row->plugin != NULL ? row->plugin : "mistakes/mistaken.so", plan,
           row->target != NULL ? row->target : "mistaken", hangs ? 1 : 300,
           row->command != NULL ? row->command : usual);
  if (setenv("BYOC_TEST_MISTAKE", row->mistake, 1) != 0) return -1;
  return byoc_test_try_shell("%s", line);
}

// Nothing half-made is left, and no temporary file.
static void check_left(const row_t *row) {
  byoc_test_shell(0, "[ -z \"$(ls -A tmp)\" ] && [ -z \"$(ls -A . | grep byoc-tmp)\" ]");
  if (row->code != 0 && row->command == NULL && !row->is_late) byoc_test_shell(0, "! ls out.so out.h 2> /dev/null");
}

static void test_mistakes(void **state) {
  (void)state;
  size_t wrong = 0;
  for (size_t i = 0; i < mistake_count; ++i) {
    const row_t *row = &mistakes[i];
    const int code = make(row, "greedy");
    const bool is_right = code == row->code && strstr(byoc_test_output(), row->message) != NULL;
    print_row(row, code);
    if (!is_right) print_message("  expected %d, \"%s\"; it said:\n%s", row->code, row->message, byoc_test_output());
    wrong += !is_right;
    check_left(row);
  }
  assert_int_equal(wrong, 0);
}

// The search calls accept in this process, and generate and the hooks about costs and claims in children.
static void test_hooks_are_contained_by_the_search(void **state) {
  (void)state;
  static const row_t rows[] = {
      {"accept:crash", .code = 1, .message = "error: the plugin mistaken 1.0 crashed in its hook accept"},
      {"relative_error:_exit", .code = 1, .message = "the plugin mistaken 1.0 called _exit() in its hook relative_err"},
      {"prepare:crash", .message = "cannot be built: the plugin mistaken 1.0 crashed in its hook prepare for the ta"},
      {"generate:exit", .message = "it cannot be built: the plugin mistaken 1.0 called exit() in its hook generate"},
      {"generate:_exit", .message = "it cannot be built: the plugin mistaken 1.0 called _exit() in its hook generate"},
      {"generate:overflow", .message = "it cannot be built: the plugin mistaken 1.0 crashed in its hook generate"},
      {"generate:hang", .message = "has neither called the host nor come back from its hook generate for the"},
      {"generate:print and crash", .message = "(Aborted), having printed: assertion failed: x > 0"},
      {"state_costs:overflow", .message = "cannot be used: the plugin mistaken 1.0 crashed in its hook state_costs"},
      {"state_costs:hang", .message = "has neither called the host nor come back from its hook state_costs for the"},
      {"partition:overflow", .message = "cannot be used: the plugin mistaken 1.0 crashed in its hook partition"},
      {"partition:hang", .message = "has neither called the host nor come back from its hook partition for the"},
      {"partition:_exit", .message = "the plugin mistaken 1.0 called _exit() in its hook partition"},
      {"state_target_costs:_exit", .message = "the plugin mistaken 1.0 called _exit() in its hook state_target_costs"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    assert_int_equal(make(&rows[i], "collage"), rows[i].code);
    byoc_test_printed(rows[i].message);
    check_left(&rows[i]);
  }
  static const row_t required = {"generate:crash", .code = 1,
                                 .message = "Relu went to c; mistaken: it cannot be "
                                            "built: the plugin mistaken 1.0 crashed in"};
  assert_int_equal(make(&required, "collage --require mistaken"), 1);
  byoc_test_printed(required.message);
}

// Each command that calls hooks contains them.
static void test_hooks_are_contained_by_all_commands(void **state) {
  (void)state;
  static const char *const commands[] = {
      "byoc build relu.byoc --plugin $PLUGIN -t 'mistaken; c' $PLAN",
      "byoc explain relu.byoc --plugin $PLUGIN -t 'mistaken; c' $PLAN",
      "byoc run relu.byoc --plugin $PLUGIN -t 'mistaken; c' $PLAN --evaluate",
      "byoc debug bisect relu.byoc --plugin $PLUGIN -t 'mistaken; c' $PLAN",
      "byoc opt relu.byoc --plugin $PLUGIN -t 'mistaken; c' --passes merge-composites",
  };
  static const row_t hooks[] = {
      {"accept:_exit", .message = "1.0 called _exit() in its hook accept for the target 'mist"},
      {"accept:overflow", .message = "1.0 crashed in its hook accept for the target 'mistaken"}};
  for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); ++c) {
    for (size_t h = 0; h < sizeof(hooks) / sizeof(hooks[0]); ++h) {
      row_t row = hooks[h];
      row.command = commands[c];
      if (make(&row, "greedy") != 1) fail_msg("%s: %s", row.command, byoc_test_output());
      byoc_test_printed(row.message);
    }
  }
}

// A sanitizer's report is not lost in what is caught of a hook's output, and ends in a sentence, too. One that ends the
// process by itself (abort_on_error=0) does so without a signal.
static void test_reports_of_sanitizers_are_shown(void **state) {
  (void)state;
  static const char *const commands[] = {
      "LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:abort_on_error=0 byoc build relu.byoc "
      "--plugin $PLUGIN -t 'mistaken; c' $PLAN -o out.so",
      "LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 byoc build relu.byoc "
      "--plugin $PLUGIN -t 'mistaken; c' $PLAN -o out.so",
  };
  if (byoc_test_try_shell("[ -f $(gcc -print-file-name=libasan.so) ]") != 0) {
    byoc_test_skip("gcc has no address sanitizer here");
  }
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    const row_t row = {"accept:sanitizer", .command = commands[i]};
    assert_int_equal(make(&row, "greedy"), 1);
    byoc_test_printed("ERROR: AddressSanitizer: ");
    byoc_test_printed("SUMMARY: AddressSanitizer: ");
    byoc_test_printed("error: the plugin mistaken 1.0 was ended by a sanitizer in its hook accept for the target 'mi");
    check_left(&row);
  }
  const row_t child = {"generate:sanitizer", .command = commands[0]};
  (void)make(&child, "collage");
  byoc_test_printed(
      "it cannot be built: the plugin mistaken 1.0 was ended by a sanitizer in its hook generate for the");
  byoc_test_printed("ERROR: AddressSanitizer: ");
}

static void test_hook_timeout_is_checked(void **state) {
  (void)state;
  byoc_test_shell(2, "BYOC_HOOK_TIMEOUT=soon byoc targets");
  byoc_test_printed("BYOC_HOOK_TIMEOUT is 'soon', which is not a number of seconds from 0 to 1000000");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_hooks_are_contained_by_the_search),
      cmocka_unit_test(test_hooks_are_contained_by_all_commands),
      cmocka_unit_test(test_reports_of_sanitizers_are_shown),
      cmocka_unit_test(test_hook_timeout_is_checked),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}
