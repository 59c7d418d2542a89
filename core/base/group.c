// SPDX-License-Identifier: Apache-2.0
// The table of process groups that this process has started, and the functions that end them.
#define _GNU_SOURCE
#include "core/base/group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/interrupt.h"

// A leader and the process that started it, in one word: owner << 32 | leader; 0 if the row is free.
typedef _Atomic uint64_t row_t;
enum { ROWS = 256 }; // when all are taken, further leaders are not remembered

// Held from before a process is started until it is in the table; held forever once a signal ended the groups.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static row_t own_rows[ROWS];
static row_t *rows = own_rows; // with a guard, in memory that this process shares with it and with all children
static bool inside;            // this process is in a group that another process ends
static pid_t guard;            // 0: none
static int guard_fd = -1;      // the guard sees the end of this pipe

static pid_t leader_of(uint64_t row) {
  return (pid_t)(row & UINT32_MAX);
}

static pid_t owner_of(uint64_t row) {
  return (pid_t)(row >> 32);
}

static void remember(pid_t leader) {
  const uint64_t row = (uint64_t)getpid() << 32 | (uint32_t)leader;
  for (size_t i = 0; i < ROWS; i++) {
    uint64_t none = 0;
    if (atomic_compare_exchange_strong(&rows[i], &none, row)) return;
  }
}

static void kill_groups(void) {
  for (size_t i = 0; i < ROWS; i++) {
    const uint64_t row = atomic_load(&rows[i]);
    if (row != 0) (void)kill(-leader_of(row), SIGKILL);
  }
}

// For signal handlers: kills every group and waits at most one second for its end. Inside a group, the owner of that
// group does this.
static void end_groups(void) {
  if (inside) return;
  byoc_interrupt_seize(&lock);
  kill_groups();
  for (int wait_ms = 0; wait_ms < 1000; wait_ms++) {
    bool left = false;
    for (size_t i = 0; i < ROWS; i++) {
      const uint64_t row = atomic_load(&rows[i]);
      if (row == 0) continue;
      (void)waitpid(leader_of(row), NULL, WNOHANG);
      if (kill(-leader_of(row), 0) == 0) {
        left = true;
      } else {
        atomic_store(&rows[i], 0);
      }
    }
    if (!left) break;
    (void)poll(NULL, 0, 1);
  }
}

// ---- the guard ----

// Closes all files of the tool, so that a reader of the tool's output sees its end.
static void close_all_but(int kept) {
  const unsigned last = ~0u, fd = (unsigned)kept;
  if ((fd == 0 || close_range(0, fd - 1, 0) == 0) && close_range(fd + 1, last, 0) == 0) return;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int other = 0; other < (limit > 0 && limit < 65536 ? (int)limit : 65536); other++) {
    if (other != kept) (void)close(other);
  }
}

_Noreturn static void stand_guard(int fd) {
  sigset_t all;
  sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, NULL);
  (void)setsid(); // signals to the tool's group or terminal do not reach the guard
  (void)prctl(PR_SET_NAME, "byoc-guard");
  close_all_but(fd);
  if (chdir("/") != 0) _exit(1);
  char byte;
  while (read(fd, &byte, 1) < 0 && errno == EINTR) continue;
  kill_groups();
  _exit(0);
}

void byoc_group_guard_start(void) {
  int fds[2];
  row_t *shared = mmap(NULL, sizeof(own_rows), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  if (pipe2(fds, O_CLOEXEC) == 0) {
    rows = shared;
    guard = fork();
    if (guard == 0) stand_guard(fds[0]);
    (void)close(fds[0]);
    guard_fd = fds[1];
    if (guard > 0) return;
    (void)close(guard_fd);
    guard_fd = -1;
    guard = 0;
    rows = own_rows;
  }
  (void)munmap(shared, sizeof(own_rows));
}

void byoc_group_guard_stop(void) {
  if (guard == 0) return;
  (void)close(guard_fd);
  guard_fd = -1;
  while (waitpid(guard, NULL, 0) < 0 && errno == EINTR) continue;
  guard = 0;
}

// ---- leaders ----

static void restore_signals(void) {
  static const int signals[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,  SIGABRT, SIGTRAP, SIGSYS, SIGXFSZ,
                                SIGPIPE, SIGTERM, SIGINT, SIGQUIT, SIGHUP,  SIGALRM, SIGCHLD};
  // Handlers of byoc or of a sanitizer would hide which signal ended the process.
  for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) (void)signal(signals[i], SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void lead(pid_t parent) {
  pthread_mutex_unlock(&lock); // this is the thread that took it
  inside = true;
  guard = 0;
  if (guard_fd >= 0) (void)close(guard_fd); // or the guard would wait for this process too
  guard_fd = -1;
  if (rows == own_rows) {
    for (size_t i = 0; i < ROWS; i++) atomic_store(&rows[i], 0);
  }
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); // the parent died before that was set
  const struct rlimit no_core = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &no_core);
  restore_signals();
}

pid_t byoc_group_fork(void) {
  sigset_t mask;
  byoc_interrupt_register(BYOC_INTERRUPT_PROCESSES, end_groups);
  byoc_interrupt_lock(&lock, &mask);
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    lead(parent);
    return 0;
  }
  int error = errno;
  if (pid > 0) {
    (void)setpgid(pid, pid); // parent and child both do it; either may be first
    remember(pid);
  }
  byoc_interrupt_unlock(&lock, &mask);
  errno = error;
  return pid;
}

int byoc_group_spawn(int (*spawn)(void *argument, bool lead, pid_t *out_pid), void *argument, pid_t *out_pid,
                     bool *out_leads) {
  sigset_t mask;
  byoc_interrupt_register(BYOC_INTERRUPT_PROCESSES, end_groups);
  byoc_interrupt_lock(&lock, &mask);
  *out_leads = !inside;
  int error = spawn(argument, *out_leads, out_pid);
  if (error == 0 && *out_leads) remember(*out_pid);
  byoc_interrupt_unlock(&lock, &mask);
  return error;
}

void byoc_group_kill(pid_t leader) {
  (void)kill(-leader, SIGKILL);
}

// Also ends processes that the leader has started in groups of their own: only the leader knew these groups.
static void drop(pid_t leader) {
  for (size_t i = 0; i < ROWS; i++) {
    const uint64_t row = atomic_load(&rows[i]);
    if (row == 0 || (owner_of(row) != leader && leader_of(row) != leader)) continue;
    atomic_store(&rows[i], 0);
    if (leader_of(row) == leader) continue;
    (void)kill(-leader_of(row), SIGKILL);
    drop(leader_of(row));
  }
}

void byoc_group_forget(pid_t leader) {
  sigset_t mask;
  byoc_interrupt_lock(&lock, &mask);
  drop(leader);
  byoc_interrupt_unlock(&lock, &mask);
}
