// SPDX-License-Identifier: Apache-2.0
// Work in forked processes: several at once, and those that go wrong.
#include "tests/support/support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/log.h"

typedef struct sum_t {
  int32_t a, b;
} sum_t;

static void add(void *self, void *answer) {
  const sum_t *sum = self;
  *(int32_t *)answer = sum->a + sum->b;
}

static void crash(void *self, void *answer) {
  (void)self;
  (void)answer;
  abort();
}

static void wait_for_ever(void *self, void *answer) {
  (void)self;
  (void)answer;
  for (;;) pause();
}

static void be_killed(void *self, void *answer) {
  (void)self;
  (void)answer;
  (void)raise(SIGKILL);
}

static void take_long(void *self, void *answer) {
  (void)self;
  (void)answer;
  (void)raise(SIGXCPU); // as the system does at a limit of `ulimit -t`
}

static void be_stopped(void *self, void *answer) {
  (void)raise(SIGSTOP);
  wait_for_ever(self, answer);
}

// What it started lives on and holds the pipe through which the answer comes.
static void leave_somebody_behind(void *self, void *answer) {
  if (fork() == 0) wait_for_ever(self, answer);
  _exit(3);
}

// A plugin may close descriptors that are not its own.
static void close_everything(void *self, void *answer) {
  for (int fd = 3; fd < 1024; ++fd) (void)close(fd);
  wait_for_ever(self, answer);
}

static void test_several_at_once(void **state) {
  (void)state;
  enum { COUNT = 5 };
  const byoc_child_limits_t limits = {.timeout_ms = 60000};
  sum_t sums[COUNT];
  int32_t answers[COUNT];
  byoc_child_t children[COUNT];
  byoc_diag_t diag = {0};
  for (int32_t i = 0; i < COUNT; ++i) {
    sums[i] = (sum_t){i, 10};
    void (*body)(void *, void *) = i == 2 ? crash : add;
    byoc_test_ok(byoc_child_start(&limits, body, &sums[i], &answers[i], sizeof(answers[i]), &diag, &children[i]),
                 &diag);
  }
  for (int32_t i = COUNT; i-- > 0;) { // in any order
    byoc_status_t status = byoc_child_wait(&children[i], &diag);
    if (i == 2) {
      byoc_test_error(status, BYOC_TOOL, &diag, "it crashed (signal 6");
      byoc_diag_clear(&diag);
    } else {
      byoc_test_ok(status, &diag);
      assert_int_equal(answers[i], i + 10);
    }
  }
}

// An answer that came in time counts, however late it is looked at.
static void test_a_late_look(void **state) {
  (void)state;
  const byoc_child_limits_t hasty = {.timeout_ms = 1000}, patient = {.timeout_ms = 60000};
  sum_t sum = {3, 4};
  int32_t answers[2];
  byoc_child_t done, endless;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_child_start(&patient, add, &sum, &answers[0], sizeof(answers[0]), &diag, &done), &diag);
  done.deadline_ns = 0; // it has passed when the answer is read
  byoc_test_ok(byoc_child_start(&hasty, wait_for_ever, &sum, &answers[1], sizeof(answers[1]), &diag, &endless), &diag);
  byoc_test_error(byoc_child_wait(&endless, &diag), BYOC_TOOL, &diag, "it took longer than 1000 ms");
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_child_wait(&done, &diag), &diag);
  assert_int_equal(answers[0], 7);
}

static void test_ends_of_other_kinds(void **state) {
  (void)state;
  const byoc_child_limits_t limits = {.timeout_ms = 60000};
  int32_t answer;
  byoc_diag_t killed = {0}, closed = {0};
  // Ends as the system ends processes when memory runs out: the work itself is not to blame.
  byoc_test_error(byoc_child_run(&limits, be_killed, NULL, &answer, sizeof(answer), &killed), BYOC_CANCELLED, &killed,
                  "it was killed (signal 9");
  byoc_diag_t limited = {0}, stopped = {0};
  byoc_test_error(byoc_child_run(&limits, take_long, NULL, &answer, sizeof(answer), &limited), BYOC_CANCELLED, &limited,
                  "it was ended from outside (signal 24");
  const byoc_child_limits_t hasty = {.timeout_ms = 500};
  byoc_test_error(byoc_child_run(&hasty, be_stopped, NULL, &answer, sizeof(answer), &stopped), BYOC_CANCELLED, &stopped,
                  "it was stopped from outside");
  byoc_diag_t left = {0};
  int64_t left_ns = byoc_now_ns();
  byoc_test_error(byoc_child_run(&limits, leave_somebody_behind, NULL, &answer, sizeof(answer), &left), BYOC_TOOL,
                  &left, "the process ended without an answer");
  assert_true(byoc_now_ns() - left_ns < INT64_C(30000000000));
  // A child that goes on after its pipe is closed is not waited for.
  int64_t start_ns = byoc_now_ns();
  assert_int_not_equal(byoc_child_run(&limits, close_everything, NULL, &answer, sizeof(answer), &closed), BYOC_OK);
  assert_true(byoc_now_ns() - start_ns < INT64_C(30000000000));
}

static void take_memory(void *self, void *answer) {
  void *volatile memory = malloc((size_t)1 << 29);
  *(int32_t *)answer = memory != NULL ? 1 : 0;
  free(memory);
  (void)self;
}

// The limit is for what the child takes, beyond what it has when it starts.
static void test_limited_memory(void **state) {
  (void)state;
#ifdef BYOC_SANITIZED
  byoc_test_skip("sanitizers map more than any limit");
#endif
  static const struct {
    uint64_t bytes;
    int32_t expected;
  } rows[] = {{0, 1}, {UINT64_C(1) << 28, 0}, {UINT64_C(1) << 30, 1}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const byoc_child_limits_t limits = {.timeout_ms = 60000, .memory_bytes = rows[i].bytes};
    byoc_diag_t diag = {0};
    int32_t answer = -1;
    byoc_test_ok(byoc_child_run(&limits, take_memory, NULL, &answer, sizeof(answer), &diag), &diag);
    assert_int_equal(answer, rows[i].expected);
  }
}

// Without a standard input, the pipe of the answer takes its place, and leaves it again.
static void test_no_standard_input(void **state) {
  (void)state;
  int saved = dup(STDIN_FILENO);
  (void)close(STDIN_FILENO);
  sum_t sum = {1, 2};
  int32_t answer = 0;
  byoc_diag_t diag = {0};
  const byoc_child_limits_t limits = {.timeout_ms = 60000};
  byoc_test_ok(byoc_child_run(&limits, add, &sum, &answer, sizeof(answer), &diag), &diag);
  assert_int_equal(answer, 3);
  assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
  if (saved >= 0) assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
  if (saved >= 0) (void)close(saved);
}

static void look_at_file(void *self, void *answer) {
  const struct stat *opened = self;
  struct stat info;
  *(int32_t *)answer =
      fstat(STDERR_FILENO + 1, &info) == 0 && info.st_dev == opened->st_dev && info.st_ino == opened->st_ino;
}

// A child has no terminal, but what its parent has opened besides is open in the child too, from descriptor 3 on.
static void test_open_files_stay_open(void **state) {
  (void)state;
  char *folder = byoc_test_folder();
  const int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), place = STDERR_FILENO + 1;
  const int saved = opened != place ? fcntl(place, F_DUPFD_CLOEXEC, place + 1) : -1;
  assert_int_equal(dup2(opened, place), place);
  struct stat info;
  assert_int_equal(fstat(place, &info), 0);
  int32_t answer = 0;
  byoc_diag_t diag = {0};
  const byoc_child_limits_t limits = {.timeout_ms = 60000};
  byoc_test_ok(byoc_child_run(&limits, look_at_file, &info, &answer, sizeof(answer), &diag), &diag);
  assert_int_equal(answer, 1);
  (void)close(opened);
  if (saved >= 0) assert_int_equal(dup2(saved, place), place);
  if (saved >= 0) (void)close(saved);
  free(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_several_at_once),     cmocka_unit_test(test_a_late_look),
      cmocka_unit_test(test_ends_of_other_kinds), cmocka_unit_test(test_limited_memory),
      cmocka_unit_test(test_no_standard_input),   cmocka_unit_test(test_open_files_stay_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
