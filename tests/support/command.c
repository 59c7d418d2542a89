// SPDX-License-Identifier: Apache-2.0
// Runs commands and keeps what they print.
#include "tests/support/command.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/string.h"

static char *folder;
static byoc_string_t output;
static char last_line[4096];

int byoc_test_enter_folder(void **state) {
  (void)state;
  folder = byoc_test_folder();
  const char *path = getenv("PATH");
  char extended[8192];
  snprintf(extended, sizeof(extended), "%s:%s", BYOC_TEST_PROGRAM_DIR, path ? path : "/usr/bin:/bin");
  if (setenv("PATH", extended, 1) != 0 || chdir(folder) != 0) return -1;
  byoc_string_init(&output, byoc_allocator_system());
  return 0;
}

int byoc_test_leave_folder(void **state) {
  (void)state;
  byoc_string_deinit(&output);
  if (chdir("/") != 0) return -1;
  byoc_status_t status = byoc_remove_tree(folder, NULL);
  byoc_free(byoc_allocator_system(), folder);
  return status == BYOC_OK ? 0 : -1;
}

// Of a command that hangs; others take longer than one thinks where the machine is busy.
enum { SHELL_TIMEOUT_S = 800 };

static int run_line(void) {
  const char *const argv[] = {"sh", "-c", last_line, NULL};
  const byoc_process_options_t options = {.timeout_ms = SHELL_TIMEOUT_S * 1000};
  byoc_process_result_t result = {0};
  byoc_diag_t diag = {0};
  byoc_string_clear(&output);
  byoc_test_ok(byoc_process_run(argv, &options, &output, &diag, &result), &diag);
  if (result.timed_out) fail_msg("after %d s still running: %s", SHELL_TIMEOUT_S, last_line);
  return result.signal != 0 ? 128 + result.signal : result.exit_code;
}

const char *byoc_test_shell_at(const char *file, int line, int expected, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_line, sizeof(last_line), format, arguments);
  va_end(arguments);
  int code = run_line();
  if (code != expected) {
    print_error("exit code %d, expected %d: %s\n%s\n", code, expected, last_line, output.data);
    _fail(file, line);
  }
  return output.data;
}

int byoc_test_try_shell(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_line, sizeof(last_line), format, arguments);
  va_end(arguments);
  return run_line();
}

const char *byoc_test_output(void) {
  return output.data;
}

void byoc_test_printed_at(const char *file, int line, const char *part) {
  if (strstr(output.data, part) != NULL) return;
  print_error("%s\nprinted\n%s\nwithout: %s\n", last_line, output.data, part);
  _fail(file, line);
}

void byoc_test_no_line_at(const char *file, int line, const char *expression) {
  regex_t compiled;
  regmatch_t match;
  if (regcomp(&compiled, expression, REG_EXTENDED | REG_NEWLINE) != 0) fail_msg("no expression: %s", expression);
  const bool found = regexec(&compiled, output.data, 1, &match, 0) == 0;
  regfree(&compiled);
  if (!found) return;
  print_error("%s\nprinted\n%s\nwith: %.*s\n", last_line, output.data, (int)(match.rm_eo - match.rm_so),
              output.data + match.rm_so);
  _fail(file, line);
}
