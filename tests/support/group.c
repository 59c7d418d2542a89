// SPDX-License-Identifier: Apache-2.0
// Runs the tests of a program: filter, skipped tests with their reasons, results that later runs take over.
#include "tests/support/support.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_TESTS = 256, LINE_BYTES = 1024 };

// The group that runs: cmocka calls run_current for each of its tests in order, and only a failed set-up leaves one
// out.
static struct {
  struct CMUnitTest tests[MOST_TESTS];
  CMUnitTestFunction functions[MOST_TESTS];
  char reasons[MOST_TESTS][256]; // of skipped tests; empty: not skipped
  size_t count, next;
} group;

static void run_current(void **state) {
  group.functions[group.next++](state);
}

static void say(const char *what, const char *format, va_list arguments, char *text, size_t size) {
  vsnprintf(text, size, format, arguments);
  for (char *c = text; *c != '\0'; c++) {
    if (*c == '\n') *c = ' ';
  }
  print_message("%s: %s\n", what, text);
}

void byoc_test_skip(const char *format, ...) {
  static char outside[256]; // of a test, as in the set-up of a group
  char *reason = group.next > 0 ? group.reasons[group.next - 1] : outside;
  va_list arguments;
  va_start(arguments, format);
  say("skipped", format, arguments, reason, sizeof(outside));
  va_end(arguments);
  _skip(__FILE__, __LINE__);
}

void byoc_test_leave_out(const char *format, ...) {
  char reason[256];
  va_list arguments;
  va_start(arguments, format);
  say("left out", format, arguments, reason, sizeof(reason));
  va_end(arguments);
}

bool byoc_test_is_long(void) {
  const char *asked = getenv("BYOC_TEST_LONG");
  return asked != NULL && strcmp(asked, "1") == 0;
}

static void choose_tests(const struct CMUnitTest *tests, size_t count, const char *filter) {
  memset(&group, 0, sizeof(group));
  for (size_t i = 0; i < count; i++) {
    if (tests[i].test_func == NULL) continue; // as cmocka does
    if (filter != NULL && fnmatch(filter, tests[i].name, 0) != 0) continue;
    if (group.count == MOST_TESTS) {
      print_error("a program has %d tests at most: raise MOST_TESTS\n", MOST_TESTS);
      abort();
    }
    group.tests[group.count] = tests[i];
    group.tests[group.count].test_func = run_current;
    group.functions[group.count++] = tests[i].test_func;
  }
}

// ---- results that stay for the same run of ctest ----

// Writes what names this run of ctest, the program's parent: its process and when that began. False where the parent is
// another program.
static bool name_run(char *out, size_t size) {
  char path[64], text[512];
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  const size_t length = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[length] = '\0';
  const char *end = strstr(text, "(ctest) ");
  for (int field = 2; end != NULL && field < 22; field++) end = strchr(end + 1, ' ');
  if (end == NULL) return false;
  snprintf(out, size, "ctest %d %.*s\n", (int)getppid(), (int)strcspn(end + 1, " "), end + 1);
  return true;
}

static bool results_path(char *out, size_t size, const char *suffix) {
  const char *folder = getenv("BYOC_TEST_RESULTS");
  if (folder == NULL || folder[0] == '\0') return false;
  return snprintf(out, size, "%s/%s%s", folder, program_invocation_short_name, suffix) < (int)size;
}

static void keep_results(void) {
  char path[1024], draft[1024], run[128], suffix[32];
  snprintf(suffix, sizeof(suffix), ".%d", (int)getpid());
  if (!results_path(path, sizeof(path), "") || !results_path(draft, sizeof(draft), suffix)) return;
  FILE *file = name_run(run, sizeof(run)) ? fopen(draft, "w") : NULL;
  if (file == NULL) return;
  fputs(run, file);
  for (size_t i = 0; i < group.count; i++) {
    const char *reason = group.reasons[i];
    fprintf(file, "%s %s%s%s\n", *reason ? "skipped" : "passed", group.tests[i].name, *reason ? ": " : "", reason);
  }
  const bool written = !ferror(file);
  if (fclose(file) != 0 || !written || rename(draft, path) != 0) unlink(draft);
}

// Looks up one test in the lines of a file of results; prints its line and notes its reason.
static bool take_result(FILE *file, size_t index) {
  char line[LINE_BYTES];
  const char *name = group.tests[index].name;
  rewind(file);
  while (fgets(line, sizeof(line), file) != NULL) {
    const char *word = line + strcspn(line, " ");
    const size_t length = strlen(name);
    if (*word++ == '\0' || strncmp(word, name, length) != 0 || strchr(":\n", word[length]) == NULL) continue;
    const char *reason = word[length] == ':' ? word + length + 2 : "";
    snprintf(group.reasons[index], sizeof(group.reasons[index]), "%.*s", (int)strcspn(reason, "\n"), reason);
    if (*reason != '\0') print_message("skipped: %s\n", group.reasons[index]);
    print_message("%s %s in the run of all tests of %s\n", name, *reason ? "was skipped" : "passed",
                  program_invocation_short_name);
    return true;
  }
  return false;
}

// Whether this run of ctest has the results of all chosen tests.
static bool take_results(void) {
  char path[1024], run[128], line[LINE_BYTES];
  FILE *file = results_path(path, sizeof(path), "") && name_run(run, sizeof(run)) ? fopen(path, "r") : NULL;
  if (file == NULL) return false;
  bool found = fgets(line, sizeof(line), file) != NULL && strcmp(line, run) == 0;
  for (size_t i = 0; found && i < group.count; i++) found = take_result(file, i);
  fclose(file);
  return found;
}

int byoc_test_run_group(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                        CMFixtureFunction teardown) {
  const char *filter = getenv("BYOC_TEST_FILTER");
  choose_tests(tests, count, filter);
  if (group.count == 0) {
    print_error("no test of %s matches BYOC_TEST_FILTER=%s\n", program_invocation_short_name, filter ? filter : "");
    return 1;
  }
  if (filter == NULL || !take_results()) {
    if (_cmocka_run_group_tests(name, group.tests, group.count, setup, teardown) != 0) return 1;
    if (filter == NULL) keep_results();
  }
  for (size_t i = 0; i < group.count; i++) {
    if (group.reasons[i][0] == '\0') return 0;
  }
  return BYOC_TEST_SKIPPED;
}
