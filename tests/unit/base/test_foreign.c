// What contains foreign code: sentences, and the children that contain it too. What plugins do wrong is in
// tests/mistakes.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/foreign.h"
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

int main(void) {
  byoc_foreign_contain(1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sentences),
      cmocka_unit_test(test_the_host_crashes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
