// SPDX-License-Identifier: Apache-2.0
// Tasks: who hears a thread's log lines and progress, and how cancelling ends what it waits for.
#include "tests/support/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/process.h"
#include "core/base/task.h"

typedef struct heard_t {
  char text[256];
  atomic_bool is_cancelled;
} heard_t;

static void hear(void *self, byoc_log_level_t level, const char *message) {
  heard_t *heard = self;
  const size_t used = strlen(heard->text);
  snprintf(heard->text + used, sizeof(heard->text) - used, "%d:%s ", (int)level, message);
}

static void hear_progress(void *self, const char *title, int64_t done, int64_t total, const char *detail) {
  heard_t *heard = self;
  const size_t used = strlen(heard->text);
  snprintf(heard->text + used, sizeof(heard->text) - used, "%s %d/%d %s ", title, (int)done, (int)total,
           detail != NULL ? detail : "-");
}

static bool is_cancelled(void *self) {
  return atomic_load(&((heard_t *)self)->is_cancelled);
}

static void test_lines_and_progress(void **state) {
  (void)state;
  heard_t heard = {.text = ""};
  const byoc_task_t task = {.self = &heard, .log_level = BYOC_LOG_WARNING, .log = hear, .progress = hear_progress};
  assert_null(byoc_task_enter(&task));
  byoc_log(BYOC_LOG_WARNING, "one %d", 1);
  byoc_log(BYOC_LOG_INFO, "not asked for");
  byoc_progress_t progress;
  byoc_progress_begin(&progress, "counting", 3);
  byoc_progress_step(&progress, 2, NULL);
  byoc_progress_end(&progress);
  assert_ptr_equal(byoc_task_enter(NULL), &task);
  assert_string_equal(heard.text, "1:one 1 counting 2/3 - ");
  assert_null(byoc_task_current());
}

static void *cancel(void *self) {
  heard_t *heard = self;
  (void)usleep(50000);
  atomic_store(&heard->is_cancelled, true);
  return NULL;
}

// A program that would run for a minute is ended.
static void test_program_is_ended(void **state) {
  (void)state;
  heard_t heard = {.text = ""};
  const byoc_task_t task = {.self = &heard, .is_cancelled = is_cancelled};
  pthread_t thread;
  byoc_diag_t diag = {0};
  const byoc_process_options_t options = {0};
  byoc_process_result_t result;
  const char *const argv[] = {"sleep", "60", NULL};
  const int64_t start_ns = byoc_now_ns();
  (void)byoc_task_enter(&task);
  byoc_test_ok(byoc_task_check(&diag), &diag);
  assert_int_equal(pthread_create(&thread, NULL, cancel, &heard), 0);
  const byoc_status_t status = byoc_process_run(argv, &options, NULL, &diag, &result);
  byoc_test_error(status, BYOC_CANCELLED, &diag, "the build was cancelled");
  (void)pthread_join(thread, NULL);
  (void)byoc_task_enter(NULL);
  assert_true(byoc_now_ns() - start_ns < 40000000000);
}

typedef struct answer_t {
  bool has_task;
} answer_t;

static void look(void *self, void *answer) {
  (void)self;
  ((answer_t *)answer)->has_task = byoc_task_current() != NULL;
}

static void sleep_long(void *self, void *answer) {
  (void)self;
  (void)answer;
  (void)sleep(60);
}

// Who hears the parent cannot be called in a child; and a child that would run for a minute is ended.
static void test_children(void **state) {
  (void)state;
  heard_t heard = {.text = ""};
  const byoc_task_t task = {.self = &heard, .is_cancelled = is_cancelled};
  const byoc_child_limits_t limits = {.timeout_ms = 60000};
  byoc_diag_t diag = {0};
  answer_t answer = {.has_task = true};
  (void)byoc_task_enter(&task);
  byoc_test_ok(byoc_child_run(&limits, look, NULL, &answer, sizeof(answer), &diag), &diag);
  assert_false(answer.has_task);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, cancel, &heard), 0);
  const int64_t start_ns = byoc_now_ns();
  const byoc_status_t status = byoc_child_run(&limits, sleep_long, NULL, &answer, sizeof(answer), &diag);
  byoc_test_error(status, BYOC_CANCELLED, &diag, "the build was cancelled");
  (void)pthread_join(thread, NULL);
  (void)byoc_task_enter(NULL);
  assert_true(byoc_now_ns() - start_ns < 40000000000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines_and_progress),
      cmocka_unit_test(test_program_is_ended),
      cmocka_unit_test(test_children),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
