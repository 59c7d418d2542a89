// SPDX-License-Identifier: Apache-2.0
// Forked processes with limits; reports how each of them ended.
#define _GNU_SOURCE
#include "core/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/foreign.h"
#include "core/base/group.h"
#include "core/base/log.h"
#include "core/base/task.h"

// ---- in the child ----

// No limit under sanitizers: they map terabytes that are never touched.
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

// The child must not use the host's terminal.
static void isolate(const byoc_child_limits_t *limits) {
  limit_memory(limits->memory_bytes);
  int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= (limits->keeps_messages ? 1 : 2) && null_fd >= 0; fd++) (void)dup2(null_fd, fd);
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

byoc_status_t byoc_child_start(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                               void *answer, size_t answer_size_bytes, byoc_diag_t *diag, byoc_child_t *out_child) {
  memset(answer, 0, answer_size_bytes);
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return byoc_diag_error(diag, BYOC_IO, "cannot make a pipe: %s", strerror(errno));
  // Without this file the child has no message for its end.
  const bool is_contained = limits->contains_foreign && byoc_foreign_is_contained();
  const int words_fd = is_contained ? memfd_create("byoc-last-words", MFD_CLOEXEC) : -1;
  pid_t pid = byoc_group_fork();
  if (pid < 0) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_IO, "cannot start a child process: %s", strerror(errno));
    close(fds[0]);
    close(fds[1]);
    if (words_fd >= 0) close(words_fd);
    return status;
  }
  if (pid == 0) {
    close(fds[0]);
    (void)byoc_task_enter(NULL); // the task belongs to the parent process
    isolate(limits);
    // The child reports a hang before its parent stops it.
    if (words_fd >= 0) byoc_foreign_contain_in_child(words_fd, (int64_t)limits->timeout_ms * 9 / 10);
    body(self, answer);
    _exit(write_all(fds[1], answer, answer_size_bytes) ? 0 : 1);
  }
  close(fds[1]);
  (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
  int64_t timeout_ns = (int64_t)limits->timeout_ms * 1000000;
  *out_child = (byoc_child_t){.pid = pid,
                              .fd = fds[0],
                              .words_fd = words_fd,
                              .leads = true,
                              .deadline_ns = timeout_ns > 0 ? byoc_now_ns() + timeout_ns : INT64_MAX,
                              .timeout_ms = limits->timeout_ms,
                              .answer = answer,
                              .answer_size_bytes = answer_size_bytes};
  return BYOC_OK;
}

byoc_status_t byoc_child_wait(byoc_child_t *child, byoc_diag_t *diag) {
  byoc_child_await(child);
  if (child->end == BYOC_CHILD_ANSWERED) return BYOC_OK;
  memset(child->answer, 0, child->answer_size_bytes);
  BYOC_RETURN_IF_ERROR(byoc_task_check(diag));
  if (child->last_words[0] != '\0') return byoc_diag_error(diag, BYOC_TOOL, "%s", child->last_words);
  const char *name = strsignal(child->number);
  switch (child->end) {
  case BYOC_CHILD_LATE:
    return byoc_diag_error(diag, BYOC_TOOL, "it took longer than %u ms", (unsigned)child->timeout_ms);
  case BYOC_CHILD_CRASHED:
    return byoc_diag_error(diag, BYOC_TOOL, "it crashed (signal %d, %s)", child->number, name);
  case BYOC_CHILD_ENDED:
    if (child->number == 0) return byoc_diag_error(diag, BYOC_CANCELLED, "it was stopped from outside for a while");
    if (child->number == SIGKILL) {
      return byoc_diag_error(diag, BYOC_CANCELLED, "it was killed (signal 9): memory may have run out");
    }
    return byoc_diag_error(diag, BYOC_CANCELLED, "it was ended from outside (signal %d, %s)", child->number, name);
  default:
    return byoc_diag_error(diag, BYOC_TOOL, "the process ended without an answer");
  }
}

byoc_status_t byoc_child_run(const byoc_child_limits_t *limits, void (*body)(void *self, void *answer), void *self,
                             void *answer, size_t answer_size_bytes, byoc_diag_t *diag) {
  byoc_child_t child;
  BYOC_RETURN_IF_ERROR(byoc_child_start(limits, body, self, answer, answer_size_bytes, diag, &child));
  return byoc_child_wait(&child, diag);
}
