// Forked processes with limits, and how each ended.
#define _GNU_SOURCE
#include "core/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/group.h"
#include "core/base/log.h"

// ---- in the child ----

// Sanitizers map terabytes that are never touched.
static void limit_memory(uint64_t memory_bytes) {
#ifdef BYOC_SANITIZED
  (void)memory_bytes;
#else
  unsigned long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL) return;
  bool known = fscanf(file, "%llu", &pages) == 1;
  fclose(file);
  if (!known || memory_bytes == 0) return;
  rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)memory_bytes;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  if (limit.rlim_max == RLIM_INFINITY || bytes < limit.rlim_max) limit.rlim_cur = bytes;
  (void)setrlimit(RLIMIT_AS, &limit);
#endif
}

// The host's terminal is none of the child's business.
static void isolate(const byoc_child_limits_t *limits) {
  limit_memory(limits->memory_bytes);
  int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null_fd >= 0; fd++) (void)dup2(null_fd, fd);
}

static bool write_all(int fd, const void *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t written = write(fd, (const char *)data + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += (size_t)written;
  }
  return true;
}

// ---- in the parent ----

// Somebody stopped it, or it goes on after that: the time it took says nothing.
static bool was_stopped(pid_t pid) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid == pid;
}

// Waits for the child's answer until `deadline_ns`; false where the time is over.
static bool await_answer(const byoc_child_t *child, size_t *out_size, bool *out_was_stopped) {
  const int fd = child->fd;
  const size_t size = child->answer_size_bytes;
  *out_size = 0;
  for (;;) {
    *out_was_stopped = was_stopped(child->pid) || *out_was_stopped;
    int64_t left_ms = (child->deadline_ns - byoc_now_ns()) / 1000000;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int ready = poll(&poll_fd, 1, left_ms > 1000 ? 1000 : left_ms > 0 ? (int)left_ms : 0);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0 && left_ms <= 0) return false; // what came before the end counts, whoever looked for it later
    if (ready <= 0) continue;
    ssize_t got = read(fd, (char *)child->answer + *out_size, size - *out_size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true; // the child has closed its end
    *out_size += (size_t)got;
    if (*out_size == size) return true;
  }
}

// What code does to itself; the others come from people, the system, or its limits of time and file size.
static bool is_own_signal(int number) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE, SIGALRM};
  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
    if (own[i] == number) return true;
  }
  return false;
}

byoc_status_t byoc_child_start(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                               void *answer, size_t answer_size_bytes, byoc_diag_t *diag, byoc_child_t *out_child) {
  memset(answer, 0, answer_size_bytes);
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return byoc_diag_error(diag, BYOC_IO, "no pipe: %s", strerror(errno));
  pid_t pid = byoc_group_fork();
  if (pid < 0) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_IO, "no child process: %s", strerror(errno));
    close(fds[0]);
    close(fds[1]);
    return status;
  }
  if (pid == 0) {
    close(fds[0]);
    isolate(limits);
    body(self, answer);
    _exit(write_all(fds[1], answer, answer_size_bytes) ? 0 : 1);
  }
  close(fds[1]);
  *out_child = (byoc_child_t){.pid = pid,
                              .fd = fds[0],
                              .deadline_ns = byoc_now_ns() + (int64_t)limits->timeout_ms * 1000000,
                              .timeout_ms = limits->timeout_ms,
                              .answer = answer,
                              .answer_size_bytes = answer_size_bytes};
  return BYOC_OK;
}

byoc_status_t byoc_child_wait(const byoc_child_t *child, byoc_diag_t *diag) {
  size_t size = 0;
  bool stopped = false, in_time = await_answer(child, &size, &stopped);
  close(child->fd);
  bool answered = in_time && size == child->answer_size_bytes;
  // Whatever it started ends too, and the child itself where it goes on behind a closed pipe. How a child ended is
  // settled before its end of the pipe closes: this changes nothing of that.
  byoc_group_kill(child->pid);
  int wait_status = 0;
  while (waitpid(child->pid, &wait_status, 0) < 0 && errno == EINTR) continue;
  byoc_group_forget(child->pid);
  if (answered) return BYOC_OK;
  memset(child->answer, 0, child->answer_size_bytes);
  if (stopped) return byoc_diag_error(diag, BYOC_CANCELLED, "it was stopped from outside for a while");
  if (!in_time) return byoc_diag_error(diag, BYOC_TOOL, "it took longer than %u ms", (unsigned)child->timeout_ms);
  if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) {
    return byoc_diag_error(diag, BYOC_CANCELLED, "it was killed (signal 9): memory may have run out");
  }
  if (WIFSIGNALED(wait_status) && !is_own_signal(WTERMSIG(wait_status))) {
    return byoc_diag_error(diag, BYOC_CANCELLED, "it was ended from outside (signal %d, %s)", WTERMSIG(wait_status),
                           strsignal(WTERMSIG(wait_status)));
  }
  if (WIFSIGNALED(wait_status)) {
    return byoc_diag_error(diag, BYOC_TOOL, "it crashed (signal %d, %s)", WTERMSIG(wait_status),
                           strsignal(WTERMSIG(wait_status)));
  }
  return byoc_diag_error(diag, BYOC_TOOL, "the process ended without an answer");
}

byoc_status_t byoc_child_run(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                             void *answer, size_t answer_size_bytes, byoc_diag_t *diag) {
  byoc_child_t child;
  BYOC_RETURN_IF_ERROR(byoc_child_start(limits, body, self, answer, answer_size_bytes, diag, &child));
  return byoc_child_wait(&child, diag);
}
