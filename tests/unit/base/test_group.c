// SPDX-License-Identifier: Apache-2.0
// Process groups: a signal leaves nothing of a process behind.
#include "tests/support/support.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/group.h"
#include "core/base/interrupt.h"
#include "core/base/process.h"

static char *folder;

static void await_file(const char *path) {
  for (int i = 0; i < 10000 && !byoc_file_exists(path); i++) (void)poll(NULL, 0, 1);
  assert_true(byoc_file_exists(path));
}

// Is `leader`'s group empty within 5 seconds? Zombies of others count, so this process adopts and reaps them.
static bool group_ends(pid_t leader) {
  for (int i = 0; i < 5000; i++) {
    while (waitpid(-leader, NULL, WNOHANG) > 0) continue;
    if (kill(-leader, 0) != 0 && errno == ESRCH) return true;
    (void)poll(NULL, 0, 1);
  }
  return false;
}

static void run_script(const char *script) {
  byoc_process_result_t result;
  const char *const argv[] = {"sh", "-c", script, NULL};
  (void)byoc_process_run(argv, NULL, NULL, NULL, &result);
}

// A process that a leader started stays in its group and ends with it.
static void groups_end_whole(void **state) {
  (void)state;
  char *started = byoc_path_join(byoc_allocator_system(), folder, "started");
  char script[512];
  snprintf(script, sizeof(script), "touch '%s'; sleep 60", started);
  pid_t pid = byoc_group_fork();
  if (pid == 0) {
    run_script(script);
    _exit(0);
  }
  assert_true(pid > 0);
  await_file(started);
  byoc_group_kill(pid);
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  byoc_group_forget(pid);
  assert_true(WIFSIGNALED(status));
  assert_true(group_ends(pid));
  byoc_free(byoc_allocator_system(), started);
}

static void interrupted(const char *started) {
  byoc_interrupt_install();
  byoc_diag_t diag = {0};
  char *own = NULL, script[1024];
  if (byoc_make_temporary_directory("byoc-own", byoc_allocator_system(), &diag, &own) != BYOC_OK) _exit(1);
  // Writes into the folder without end, as a compiler might that does not get the signal.
  snprintf(script, sizeof(script), "touch '%s'; while true; do echo > '%s'/object.o; done", started, own);
  run_script(script);
  _exit(2);
}

static void a_signal_leaves_nothing(void **state) {
  (void)state;
  static const int numbers[] = {SIGINT, SIGTERM};
  for (size_t i = 0; i < 2; i++) {
    char name[16];
    snprintf(name, sizeof(name), "signal%d", numbers[i]);
    char *started = byoc_path_join(byoc_allocator_system(), folder, name);
    pid_t pid = fork();
    if (pid == 0) interrupted(started);
    assert_true(pid > 0);
    await_file(started);
    assert_int_equal(kill(pid, numbers[i]), 0); // to it alone, not to what it started
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), numbers[i]);
    char **names = NULL;
    size_t count = 0;
    byoc_diag_t diag = {0};
    assert_int_equal(unlink(started), 0);
    byoc_test_ok(byoc_list_directory(folder, byoc_allocator_system(), &diag, &names, &count), &diag);
    assert_int_equal(count, 1); // the file of the previous test
    byoc_free_names(byoc_allocator_system(), names, count);
    byoc_free(byoc_allocator_system(), started);
  }
}

// A program that was just started may run before the process that started it has it in its table, on a busy machine for
// long. While a process puts something there, SIGTERM waits: so its handler knows that it is there, and says so.
static char announced[512];

static void announce(int number) {
  (void)number;
  char made[sizeof(announced) + 8];
  snprintf(made, sizeof(made), "%s.new", announced);
  (void)rename(made, announced);
}

static void pass_on(int number) {
  (void)kill(getppid(), number);
}

// Writes its number, tells this process, then goes on with a child that no signal to a parent reaches.
static void run_until_killed(void) {
  char script[1024];
  snprintf(script, sizeof(script), "sleep 60 & echo $$ > '%s.new'; kill -TERM $PPID; wait", announced);
  run_script(script);
  _exit(2);
}

// SIGKILL cannot be handled, but the guard sees the end of the process.
static void a_killed_process_leaves_no_program(void **state) {
  (void)state;
  for (int nested = 0; nested < 2; nested++) {
    char *started = byoc_path_join(byoc_allocator_system(), folder, nested ? "nested" : "plain");
    snprintf(announced, sizeof(announced), "%s", started);
    pid_t pid = fork();
    if (pid == 0) {
      (void)signal(SIGTERM, announce);
      byoc_group_guard_start();
      pid_t inner = nested ? byoc_group_fork() : 0;
      if (nested && inner == 0) (void)signal(SIGTERM, pass_on);
      if (inner == 0) run_until_killed();
      while (true) (void)pause();
    }
    assert_true(pid > 0);
    await_file(started);
    byoc_diag_t diag = {0};
    char *text = NULL;
    size_t size = 0;
    byoc_test_ok(byoc_file_read(started, byoc_allocator_system(), &diag, &text, &size), &diag);
    pid_t leader = getpgid(atoi(text));
    assert_true(leader > 0 && leader != getpgrp());
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(group_ends(leader));
    byoc_free(byoc_allocator_system(), text);
    assert_int_equal(unlink(started), 0);
    byoc_free(byoc_allocator_system(), started);
  }
}

// The guard and what it knows end with the process that stops it.
static void a_guard_ends_when_told(void **state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) {
    byoc_group_guard_start();
    run_script("exit 0");
    byoc_group_guard_stop();
    _exit(waitpid(-1, NULL, 0) < 0 && errno == ECHILD ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

static int told[2]; // a pipe

static void tell_processes(void) {
  (void)!write(told[1], "p", 1);
}

static void tell_files(void) {
  (void)!write(told[1], "f", 1);
}

// Processes end before their files are removed, in whichever order they were registered.
static void stages_end_in_order(void **state) {
  (void)state;
  assert_int_equal(pipe(told), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    byoc_interrupt_install();
    byoc_interrupt_register(BYOC_INTERRUPT_FILES, tell_files);
    byoc_interrupt_register(BYOC_INTERRUPT_PROCESSES, tell_processes);
    (void)raise(SIGTERM);
    _exit(2);
  }
  assert_true(pid > 0);
  (void)close(told[1]);
  char text[4] = "";
  size_t size = 0;
  for (ssize_t got; size < 3 && (got = read(told[0], text + size, 3 - size)) > 0;) size += (size_t)got;
  assert_string_equal(text, "pf");
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGTERM);
  (void)close(told[0]);
}

typedef struct holding_t {
  pthread_mutex_t lock;
  pthread_barrier_t taken;
  _Atomic bool has_finished;
} holding_t;

static void *hold_the_lock(void *self) {
  holding_t *holding = self;
  pthread_mutex_lock(&holding->lock);
  (void)pthread_barrier_wait(&holding->taken);
  (void)poll(NULL, 0, 50);
  atomic_store(&holding->has_finished, true);
  pthread_mutex_unlock(&holding->lock);
  return NULL;
}

// A handler must not look at a table that another thread is changing: it waits until that thread has finished.
static void a_handler_waits_for_the_lock(void **state) {
  (void)state;
  holding_t holding = {.lock = PTHREAD_MUTEX_INITIALIZER};
  pthread_t thread;
  assert_int_equal(pthread_barrier_init(&holding.taken, NULL, 2), 0);
  assert_int_equal(pthread_create(&thread, NULL, hold_the_lock, &holding), 0);
  (void)pthread_barrier_wait(&holding.taken);
  byoc_interrupt_seize(&holding.lock);
  assert_true(atomic_load(&holding.has_finished));
  assert_int_equal(pthread_mutex_trylock(&holding.lock), EBUSY); // it is the handler's now
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(pthread_mutex_unlock(&holding.lock), 0);
  (void)pthread_barrier_destroy(&holding.taken);
}

static int enter(void **state) {
  (void)state;
  folder = byoc_test_folder();
  // Processes whose parent is gone become ours, and can be reaped here.
  return prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || setenv("TMPDIR", folder, 1) != 0;
}

static int leave(void **state) {
  (void)state;
  byoc_remove_tree(folder, NULL);
  free(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_end_whole),
      cmocka_unit_test(a_signal_leaves_nothing),
      cmocka_unit_test(a_killed_process_leaves_no_program),
      cmocka_unit_test(a_guard_ends_when_told),
      cmocka_unit_test(stages_end_in_order),
      cmocka_unit_test(a_handler_waits_for_the_lock),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
