// SPDX-License-Identifier: Apache-2.0
// Watches the pipes, ends and deadlines of child processes.
#define _GNU_SOURCE
#include "core/base/watch.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/group.h"
#include "core/base/log.h"
#include "core/base/task.h"

// The time for which a silent pipe is watched before the child's state is checked, because a process that the child
// started may hold the pipe open. After the pipe is closed the time is short, because the child is about to end.
enum { SLICE_MS = 50, LAST_SLICE_MS = 1 };

// ---- output ----

static bool has_answered(const byoc_child_t *child) {
  return child->answer != NULL && child->received_bytes == child->answer_size_bytes;
}

static void close_pipe(byoc_child_t *child) {
  if (child->fd >= 0) (void)close(child->fd);
  child->fd = -1;
}

// Reads the present content of the pipe: at most the size of the largest pipe, so that a program that writes without
// end still has a deadline.
static void drain(byoc_child_t *child) {
  char buffer[16384];
  for (int i = 0; i < 64 && child->fd >= 0 && !has_answered(child); i++) {
    char *to = child->answer != NULL ? (char *)child->answer + child->received_bytes : buffer;
    size_t room = child->answer != NULL ? child->answer_size_bytes - child->received_bytes : sizeof(buffer);
    ssize_t got = read(child->fd, to, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      close_pipe(child);
      return;
    }
    if (child->answer != NULL) child->received_bytes += (size_t)got;
    if (child->text != NULL) byoc_string_append_bytes(child->text, buffer, (size_t)got);
  }
}

// ---- ends ----

// Signals that code causes itself. The others come from people, the system, or limits of time and file size.
static bool is_own_signal(int number) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE, SIGALRM};
  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
    if (own[i] == number) return true;
  }
  return false;
}

static bool has_ended(const byoc_child_t *child) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child->pid;
}

// Records that the child was stopped, even if it has continued since: then its duration means nothing.
static void note_stop(byoc_child_t *child) {
  siginfo_t info = {0};
  int found = waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WCONTINUED | WNOHANG);
  if (found == 0 && info.si_pid == child->pid) child->was_stopped = true;
}

static void take_last_words(byoc_child_t *child) {
  if (child->words_fd <= 0) return;
  const ssize_t got = pread(child->words_fd, child->last_words, sizeof(child->last_words) - 1, 0);
  child->last_words[got > 0 ? got : 0] = '\0';
  (void)close(child->words_fd);
  child->words_fd = -1;
}

// The end of a child is recorded before its end of the pipe closes, so killing its group does not change it.
static void reap(byoc_child_t *child, bool is_late) {
  int wait_status = 0;
  if (!child->is_program) byoc_group_kill(child->pid);
  // Inside another process's group, processes that a program started end with that group.
  if (child->is_program && is_late) (void)kill(child->leads ? -child->pid : child->pid, SIGKILL);
  while (waitpid(child->pid, &wait_status, 0) < 0) {
    if (errno == EINTR) continue;
    child->error = errno;
    break;
  }
  if (child->leads) byoc_group_forget(child->pid);
  drain(child);
  close_pipe(child);
  take_last_words(child);
  child->number = 0;
  if (has_answered(child) && !is_late) {
    child->end = BYOC_CHILD_ANSWERED;
  } else if (is_late) {
    child->end = child->was_stopped ? BYOC_CHILD_ENDED : BYOC_CHILD_LATE;
  } else if (WIFSIGNALED(wait_status)) {
    child->number = WTERMSIG(wait_status);
    child->end = is_own_signal(child->number) ? BYOC_CHILD_CRASHED : BYOC_CHILD_ENDED;
  } else {
    child->number = WEXITSTATUS(wait_status);
    child->end = BYOC_CHILD_EXITED;
  }
}

// Output before the deadline counts, even if it is read later.
static void look_at(byoc_child_t *child) {
  note_stop(child);
  bool is_over = has_ended(child);
  drain(child);
  is_over = is_over || has_answered(child) || (child->fd < 0 && !child->is_program);
  bool is_late = !is_over && (byoc_now_ns() >= child->deadline_ns || byoc_task_is_cancelled());
  if (is_over || is_late) reap(child, is_late);
}

// ---- several ----

static int64_t slice_ms(const byoc_child_t *child, int64_t wait_ms) {
  int64_t slice = child->fd >= 0 ? SLICE_MS : LAST_SLICE_MS;
  if (child->deadline_ns != INT64_MAX) {
    int64_t left_ms = (child->deadline_ns - byoc_now_ns() + 999999) / 1000000;
    if (left_ms < slice) slice = left_ms > 0 ? left_ms : 0;
  }
  return slice < wait_ms ? slice : wait_ms;
}

void byoc_children_watch(byoc_child_t *const *children, size_t count, int64_t wait_ms) {
  assert(count <= BYOC_CHILDREN_MAX);
  int64_t until_ns = byoc_now_ns() + wait_ms * 1000000;
  for (;;) {
    struct pollfd polls[BYOC_CHILDREN_MAX];
    int64_t left_ms = (until_ns - byoc_now_ns()) / 1000000, wait = left_ms > 0 ? left_ms : 0;
    nfds_t used = 0;
    for (size_t i = 0; i < count; i++) {
      if (children[i]->end != BYOC_CHILD_RUNS) continue;
      wait = slice_ms(children[i], wait);
      if (children[i]->fd >= 0) polls[used++] = (struct pollfd){.fd = children[i]->fd, .events = POLLIN};
    }
    (void)poll(polls, used, (int)wait);
    bool has_news = false;
    for (size_t i = 0; i < count; i++) {
      if (children[i]->end != BYOC_CHILD_RUNS) continue;
      look_at(children[i]);
      has_news = has_news || children[i]->end != BYOC_CHILD_RUNS;
    }
    if (has_news || left_ms <= 0) return;
  }
}

void byoc_child_await(byoc_child_t *child) {
  while (child->end == BYOC_CHILD_RUNS) byoc_children_watch(&child, 1, 1000);
}

void byoc_child_kill(byoc_child_t *child) {
  if (child->end == BYOC_CHILD_RUNS) reap(child, true);
}
