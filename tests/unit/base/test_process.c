// SPDX-License-Identifier: Apache-2.0
// Child processes.
#include "tests/support/support.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/process.h"

typedef struct run_t {
  byoc_status_t status;
  byoc_process_result_t result;
  byoc_string_t output;
  byoc_diag_t diag;
} run_t;

static run_t run(const char *const *argv, const byoc_process_options_t *options) {
  run_t r = {0};
  byoc_string_init(&r.output, byoc_allocator_system());
  r.status = byoc_process_run(argv, options, &r.output, &r.diag, &r.result);
  return r;
}

static run_t run_shell(const char *script, const byoc_process_options_t *options) {
  return run((const char *const[]){"sh", "-c", script, NULL}, options);
}

static void collects_output_and_code(void **state) {
  (void)state;
  run_t r = run_shell("echo out; echo err >&2; echo more; exit 3", NULL);
  byoc_test_ok(r.status, &r.diag);
  assert_string_equal(r.output.data, "out\nerr\nmore\n");
  assert_int_equal(r.result.exit_code, 3);
  assert_int_equal(r.result.signal, 0);
  assert_false(r.result.timed_out);
  byoc_string_deinit(&r.output);
  byoc_process_result_t result;
  byoc_test_ok(byoc_process_run((const char *const[]){"true", NULL}, NULL, NULL, NULL, &result), NULL);
  assert_int_equal(result.exit_code, 0);
}

// A program finds nothing on its standard input, whatever ours holds.
static void standard_input_is_empty(void **state) {
  (void)state;
  int ends[2], saved = dup(STDIN_FILENO);
  assert_true(pipe(ends) == 0 && write(ends[1], "ours", 4) == 4 && dup2(ends[0], STDIN_FILENO) >= 0);
  close(ends[0]), close(ends[1]);
  run_t r = run_shell("cat; echo end", NULL);
  if (saved >= 0) (void)dup2(saved, STDIN_FILENO), close(saved);
  byoc_test_ok(r.status, &r.diag);
  assert_string_equal(r.output.data, "end\n");
  byoc_string_deinit(&r.output);
}

static void large_output_arrives_whole(void **state) {
  (void)state;
  run_t r = run_shell("head -c 5000000 /dev/zero | tr '\\0' x", NULL);
  byoc_test_ok(r.status, &r.diag);
  assert_int_equal(r.output.size, 5000000);
  byoc_string_deinit(&r.output);
}

static void reports_signals(void **state) {
  (void)state;
  run_t r = run_shell("kill -TERM $$", NULL);
  byoc_test_ok(r.status, &r.diag);
  assert_int_equal(r.result.exit_code, -1);
  assert_int_equal(r.result.signal, SIGTERM);
  byoc_string_deinit(&r.output);
}

static void folder_and_variables(void **state) {
  (void)state;
  char *folder = byoc_test_folder();
  assert_int_equal(setenv("BYOC_TEST_REPLACED", "old", 1), 0);
  const char *const variables[] = {"BYOC_TEST_REPLACED=new", "BYOC_TEST_ADDED=1 2", NULL};
  byoc_process_options_t options = {.directory = folder, .variables = variables};
  run_t r = run_shell("pwd; echo \"$BYOC_TEST_REPLACED,$BYOC_TEST_ADDED,${PATH:+path}\"; cat", &options);
  byoc_test_ok(r.status, &r.diag);
  char expected[512];
  snprintf(expected, sizeof(expected), "%s\nnew,1 2,path\n", folder);
  assert_string_equal(r.output.data, expected); // cat met an empty input
  byoc_string_deinit(&r.output);
  options.directory = "/nonexistent/folder";
  r = run_shell("true", &options);
  byoc_test_error(r.status, BYOC_NOT_FOUND, &r.diag, "no such folder");
  byoc_string_deinit(&r.output);
  free(folder);
}

static void relative_program_in_another_folder(void **state) {
  (void)state;
  char *folder = byoc_test_folder();
  char *script = byoc_path_join(byoc_allocator_system(), folder, "tool");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write_atomic(script, "#!/bin/sh\necho ran\n", 19, 0755, &diag), &diag);
  char before[4096];
  assert_non_null(getcwd(before, sizeof(before)));
  assert_int_equal(chdir(folder), 0);
  byoc_process_options_t options = {.directory = "/"};
  run_t r = run((const char *const[]){"./tool", NULL}, &options);
  assert_int_equal(chdir(before), 0);
  byoc_test_ok(r.status, &r.diag);
  assert_string_equal(r.output.data, "ran\n");
  byoc_string_deinit(&r.output);
  free(script);
  free(folder);
}

static void kills_on_timeout(void **state) {
  (void)state;
  static const char *const scripts[] = {
      "echo started; sleep 60",
      "sleep 60 & wait",                // a grandchild is in the same group
      "exec >/dev/null 2>&1; sleep 60", // the output closes long before the end
      "trap '' TERM; sleep 60",
  };
  for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
    byoc_process_options_t options = {.timeout_ms = 200};
    int64_t start = byoc_now_ns();
    run_t r = run_shell(scripts[i], &options);
    // On a busy machine, the shell may not come to print in time.
    for (; i == 0 && r.output.size == 0 && options.timeout_ms < 20000; start = byoc_now_ns()) {
      byoc_string_deinit(&r.output);
      options.timeout_ms *= 4;
      r = run_shell(scripts[i], &options);
    }
    int64_t took_ms = (byoc_now_ns() - start) / 1000000;
    byoc_test_ok(r.status, &r.diag);
    assert_true(r.result.timed_out);
    assert_int_equal(r.result.signal, SIGKILL);
    assert_in_range(took_ms, 190, 50000); // of 60 s
    if (i == 0) assert_string_equal(r.output.data, "started\n");
    byoc_string_deinit(&r.output);
  }
}

static void endless_output_meets_the_limit(void **state) {
  (void)state;
  byoc_process_options_t options = {.timeout_ms = 100};
  byoc_process_result_t result;
  byoc_test_ok(byoc_process_run((const char *const[]){"yes", NULL}, &options, NULL, NULL, &result), NULL);
  assert_true(result.timed_out);
}

static void grandchild_may_keep_the_pipe(void **state) {
  (void)state;
  int64_t start = byoc_now_ns();
  run_t r = run_shell("sleep 60 & echo $!; exit 0", NULL);
  byoc_test_ok(r.status, &r.diag);
  const pid_t grandchild = (pid_t)atoi(r.output.data);
  assert_true(grandchild > 1 && kill(grandchild, SIGKILL) == 0);
  assert_true((byoc_now_ns() - start) / 1000000 < 50000);
  byoc_string_deinit(&r.output);
}

// A file that may be executed but is not a program. The caller frees its path.
static char *write_garbage(const char *folder) {
  static const char garbage[] = "\x7f"
                                "ELFgarbage";
  char *path = byoc_path_join(byoc_allocator_system(), folder, "garbage");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write_atomic(path, garbage, sizeof(garbage) - 1, 0755, &diag), &diag);
  return path;
}

static void missing_programs(void **state) {
  (void)state;
  run_t r = run((const char *const[]){"byoc-no-such-program", NULL}, NULL);
  byoc_test_error(r.status, BYOC_NOT_FOUND, &r.diag, "'byoc-no-such-program' was not found in PATH");
  byoc_string_deinit(&r.output);
  r = run((const char *const[]){"/nonexistent/cc", NULL}, NULL);
  byoc_test_error(r.status, BYOC_NOT_FOUND, &r.diag, "'/nonexistent/cc' was not found");
  byoc_string_deinit(&r.output);
  r = run((const char *const[]){"/", NULL}, NULL);
  byoc_test_error(r.status, BYOC_PERMISSION, &r.diag, "cannot run '/'");
  byoc_string_deinit(&r.output);
  r = run((const char *const[]){"", NULL}, NULL);
  byoc_test_error(r.status, BYOC_NOT_FOUND, &r.diag, "''");
  byoc_string_deinit(&r.output);

  // A file that may be executed but is not a program.
  char *folder = byoc_test_folder(), *path = write_garbage(folder);
  r = run((const char *const[]){path, NULL}, NULL);
  byoc_test_error(r.status, BYOC_IO, &r.diag, "Exec format error");
  byoc_string_deinit(&r.output);
  free(path);
  free(folder);
}

// Whether a program ran, failed to start, or was not there, what was opened for it is closed.
static void no_file_stays_open(void **state) {
  (void)state;
  char *folder = byoc_test_folder(), *path = write_garbage(folder);
  const char *const programs[] = {"true", "byoc-no-such-program", path};
  for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
    const size_t before = byoc_test_count_entries("/proc/self/fd");
    run_t r = run((const char *const[]){programs[i], NULL}, NULL);
    assert_int_equal(byoc_test_count_entries("/proc/self/fd"), before);
    byoc_string_deinit(&r.output);
  }
  free(path);
  free(folder);
}

static void looks_programs_up(void **state) {
  (void)state;
  assert_true(byoc_program_exists("sh"));
  assert_true(byoc_program_exists("/bin/sh"));
  assert_false(byoc_program_exists("byoc-no-such-program"));
  assert_false(byoc_program_exists("/etc/passwd"));
  assert_false(byoc_program_exists("/"));
  assert_false(byoc_program_exists(""));
  char *path = strdup(getenv("PATH"));
  assert_non_null(path);
  assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
  assert_false(byoc_program_exists("sh"));
  assert_int_equal(setenv("PATH", path, 1), 0);
  free(path);
}

static void output_without_memory(void **state) {
  (void)state;
  byoc_failing_allocator_t failing = {.fail_at = 0, .sticky = true};
  byoc_string_t output;
  byoc_string_init(&output, byoc_failing_allocator(&failing));
  byoc_process_result_t result;
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_process_run((const char *const[]){"echo", "x", NULL}, NULL, &output, &diag, &result);
  byoc_test_error(status, BYOC_OUT_OF_MEMORY, &diag, "out of memory");
  byoc_string_deinit(&output);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(collects_output_and_code),
      cmocka_unit_test(standard_input_is_empty),
      cmocka_unit_test(large_output_arrives_whole),
      cmocka_unit_test(reports_signals),
      cmocka_unit_test(folder_and_variables),
      cmocka_unit_test(relative_program_in_another_folder),
      cmocka_unit_test(kills_on_timeout),
      cmocka_unit_test(endless_output_meets_the_limit),
      cmocka_unit_test(grandchild_may_keep_the_pipe),
      cmocka_unit_test(missing_programs),
      cmocka_unit_test(no_file_stays_open),
      cmocka_unit_test(looks_programs_up),
      cmocka_unit_test(output_without_memory),
  };
  return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
