// SPDX-License-Identifier: Apache-2.0
// What contains foreign code: sentences, and the children that contain it too. What plugins do wrong is in
// tests/mistakes.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/foreign.h"
#include "core/base/interrupt.h"
#include "tests/support/support.h"

typedef struct deed_t {
  const char *subject;
  void (*call)(void);
} deed_t;

static void nothing(void) {}

static void leave(void) {
  exit(0);
}

static void crash(void) {
  (void)raise(SIGSEGV);
}

static void hang(void) {
  for (;;) (void)pause();
}

static void speak(void) {
  (void)!write(STDOUT_FILENO, "one\ntwo\n", 8);
}

// The host works for the foreign code: what it prints is its own.
static void call_the_host(void) {
  const byoc_foreign_t outer = byoc_foreign_enter(NULL);
  speak();
  byoc_foreign_leave(&outer);
}

static void crash_the_host(void) {
  const byoc_foreign_t outer = byoc_foreign_enter(NULL);
  crash();
  byoc_foreign_leave(&outer);
}

static void run_deed(void *self, void *answer) {
  const deed_t *deed = self;
  const byoc_foreign_t entered = {.kind = "plugin",
                                  .name = "demo",
                                  .version = "1.0",
                                  .where = "hook accept",
                                  .target = "demo",
                                  .subject_kind = deed->subject != NULL ? "rule" : NULL,
                                  .subject = deed->subject};
  const byoc_foreign_t outer = byoc_foreign_enter(&entered);
  deed->call();
  byoc_foreign_leave(&outer);
  *(int *)answer = 1;
}

static byoc_status_t run(deed_t deed, uint32_t timeout_ms, byoc_diag_t *diag) {
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms, .contains_foreign = true};
  int answer = 0;
  *diag = (byoc_diag_t){0};
  return byoc_child_run(&limits, run_deed, &deed, &answer, sizeof(answer), diag);
}

static void test_sentences(void **state) {
  (void)state;
  byoc_diag_t diag;
  byoc_test_ok(run((deed_t){NULL, nothing}, 60000, &diag), &diag);
  byoc_test_ok(run((deed_t){NULL, call_the_host}, 60000, &diag), &diag);
  byoc_test_error(run((deed_t){"demo.relu", leave}, 60000, &diag), BYOC_TOOL, &diag,
                  "the plugin demo 1.0 called exit() in its hook accept for the target 'demo', rule 'demo.relu'");
  byoc_test_error(run((deed_t){"a\033b", crash}, 60000, &diag), BYOC_TOOL, &diag,
                  "crashed in its hook accept for the target 'demo', rule 'a\\x1bb': SIGSEGV (Segmentation fault)");
  byoc_test_error(run((deed_t){NULL, speak}, 60000, &diag), BYOC_TOOL, &diag,
                  "printed in its hook accept for the target 'demo': one two");
  byoc_test_error(run((deed_t){NULL, hang}, 60000, &diag), BYOC_TOOL, &diag,
                  "has neither called the host nor come back from its hook accept for the target 'demo' within 1 s");
}

// A crash of the host is not blamed on those for whom it works.
static void test_the_host_crashes(void **state) {
  (void)state;
  byoc_diag_t diag;
  byoc_test_error(run((deed_t){NULL, crash_the_host}, 60000, &diag), BYOC_TOOL, &diag, "it crashed (signal 11");
}

// Whoever reads a mapped file that somebody cuts short is not to blame, and the process ends.
static void read_lost_file(int error) {
  const int file = memfd_create("lost", 0);
  if (dup2(error, STDERR_FILENO) < 0 || file < 0 || ftruncate(file, 1 << 16) != 0) _exit(7);
  const volatile char *data = mmap(NULL, 1 << 16, PROT_READ, MAP_SHARED, file, 0);
  (void)signal(SIGBUS, SIG_DFL);
  byoc_interrupt_install();
  byoc_foreign_contain(0);
  const byoc_foreign_t entered = {.kind = "plugin", .name = "demo", .where = "hook accept"};
  (void)byoc_foreign_enter(&entered);
  if (ftruncate(file, 0) == 0) (void)data[0];
  _exit(8);
}

static void test_a_lost_file_ends_the_process_with_its_own_sentence(void **state) {
  (void)state;
  enum { TURNS = 200, TURN_US = 100000 };
  const int error = memfd_create("error", 0);
  const pid_t child = fork();
  if (child == 0) read_lost_file(error);
  int status = 0;
  pid_t ended = 0;
  for (int turn = 0; turn < TURNS && ended == 0; ++turn) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) (void)usleep(TURN_US);
  }
  if (ended == 0) (void)kill(child, SIGKILL);
  char text[256] = "";
  assert_int_equal(ended, child);
  assert_true(pread(error, text, sizeof(text) - 1, 0) >= 0);
  (void)close(error);
  assert_string_equal(text, "error: a file was cut short while it was being read\n");
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

int main(void) {
  byoc_foreign_contain(1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sentences),
      cmocka_unit_test(test_the_host_crashes),
      cmocka_unit_test(test_a_lost_file_ends_the_process_with_its_own_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
