// The table of process groups that this process started, and what ends them.
#define _GNU_SOURCE
#include "core/base/group.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/interrupt.h"

// Held from before a process is started until it is in the table; held forever once a signal ended the groups.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t leaders[256]; // 0 if free; when all are taken, further leaders are not remembered
static bool inside;        // this process is in a group that another one ends

static void remember(pid_t leader) {
  for (size_t i = 0; i < sizeof(leaders) / sizeof(leaders[0]); i++) {
    if (leaders[i] != 0) continue;
    leaders[i] = leader;
    return;
  }
}

// For signal handlers: kills every group and waits at most one second for its end.
static void end_groups(void) {
  byoc_interrupt_seize(&lock);
  const size_t count = sizeof(leaders) / sizeof(leaders[0]);
  for (size_t i = 0; i < count; i++) {
    if (leaders[i] != 0) (void)kill(-leaders[i], SIGKILL);
  }
  for (int wait_ms = 0; wait_ms < 1000; wait_ms++) {
    bool left = false;
    for (size_t i = 0; i < count; i++) {
      if (leaders[i] == 0) continue;
      (void)waitpid(leaders[i], NULL, WNOHANG);
      if (kill(-leaders[i], 0) == 0) {
        left = true;
      } else {
        leaders[i] = 0;
      }
    }
    if (!left) break;
    (void)poll(NULL, 0, 1);
  }
}

static void restore_signals(void) {
  static const int signals[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,  SIGABRT, SIGTRAP, SIGSYS, SIGXFSZ,
                                SIGPIPE, SIGTERM, SIGINT, SIGQUIT, SIGHUP,  SIGALRM, SIGCHLD};
  // Handlers of ours or of a sanitizer would hide which signal ended the process.
  for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) (void)signal(signals[i], SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void lead(pid_t parent) {
  pthread_mutex_unlock(&lock); // this is the thread that took it
  for (size_t i = 0; i < sizeof(leaders) / sizeof(leaders[0]); i++) leaders[i] = 0;
  inside = true;
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

void byoc_group_forget(pid_t leader) {
  sigset_t mask;
  byoc_interrupt_lock(&lock, &mask);
  for (size_t i = 0; i < sizeof(leaders) / sizeof(leaders[0]); i++) {
    if (leaders[i] == leader) leaders[i] = 0;
  }
  byoc_interrupt_unlock(&lock, &mask);
}
