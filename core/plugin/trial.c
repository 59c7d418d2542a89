// The trial: a plugin is first loaded in a child process, where it can do no harm.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/group.h"
#include "core/base/log.h"
#include "core/plugin/host.h"
#include "core/plugin/hygiene.h"
#include "core/plugin/library.h"

enum { LEFT_THE_PROCESS = 113 }; // exit code of a child whose plugin called exit

// What the child says, in one write.
typedef struct verdict_t {
  byoc_status_t status;
  char reason[2048];
} verdict_t;

static void leave(void) {
  _exit(LEFT_THE_PROCESS); // before the parent's own exit handlers and streams
}

static void redirect(int output_fd) {
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd >= 0) (void)dup2(null_fd, STDIN_FILENO);
  (void)dup2(output_fd, STDOUT_FILENO);
  (void)dup2(output_fd, STDERR_FILENO);
}

__attribute__((noreturn)) static void run_child(const char *path, const byoc_plugin_note_t *note, int report_fd,
                                                int output_fd) {
  redirect(output_fd);
  if (atexit(leave) != 0) _exit(LEFT_THE_PROCESS);

  byoc_diag_t diag = {0};
  byoc_hygiene_t before;
  byoc_hygiene_take(&before);
  byoc_plugin_library_t *library = NULL;
  verdict_t verdict = {0};
  verdict.status =
      byoc_plugin_library_load(path, note, byoc_host_fill_tables, byoc_allocator_system(), &diag, &library);
  byoc_plugin_library_release(library);
  if (verdict.status == BYOC_OK) verdict.status = byoc_hygiene_check(&before, &diag);
  if (verdict.status == BYOC_OK) {
    (void)fflush(stdout);
    const bool loader_prints = getenv("LD_DEBUG") != NULL;
    if (!loader_prints && lseek(output_fd, 0, SEEK_END) > 0) {
      char text[161];
      const ssize_t size = pread(output_fd, text, sizeof(text) - 1, 0);
      text[size > 0 ? size : 0] = '\0';
      verdict.status = byoc_diag_error(&diag, BYOC_INVALID_DATA, "it prints while it is loaded: %s", text);
    }
  }
  byoc_diag_format(&diag, verdict.reason, sizeof(verdict.reason));
  const ssize_t written = write(report_fd, &verdict, sizeof(verdict));
  _exit(written == (ssize_t)sizeof(verdict) ? 0 : 1);
}

// Waits for the verdict or the child's end, whichever is first. False where the time limit came before both.
static bool await(pid_t pid, int report_fd, int64_t timeout_ms, verdict_t *out_verdict, bool *out_reported) {
  const int64_t deadline_ns = byoc_now_ns() + timeout_ms * 1000000;
  bool open = true;
  for (;;) {
    const int64_t left_ms = (deadline_ns - byoc_now_ns()) / 1000000;
    struct pollfd poll_fd = {.fd = open ? report_fd : -1, .events = POLLIN};
    // In slices: a process that the plugin started may hold the pipe open after the child's end.
    (void)poll(&poll_fd, 1, open && left_ms > 20 ? 20 : 1);
    if (poll_fd.revents != 0) {
      const ssize_t got = read(report_fd, out_verdict, sizeof(*out_verdict));
      if (got == (ssize_t)sizeof(*out_verdict)) {
        *out_reported = true;
        return true;
      }
      open = false;
    }
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid) {
      // The verdict may have been written between the two looks.
      *out_reported = open && read(report_fd, out_verdict, sizeof(*out_verdict)) == (ssize_t)sizeof(*out_verdict);
      return true;
    }
    if (left_ms <= 0) return false;
  }
}

static int reap(pid_t pid) {
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) continue;
  byoc_group_forget(pid);
  return wait_status;
}

static byoc_status_t judge(bool in_time, bool reported, int wait_status, const verdict_t *verdict, int64_t timeout_ms,
                           byoc_diag_t *diag) {
  if (reported && verdict->status == BYOC_OK) return BYOC_OK;
  if (reported) return byoc_diag_error(diag, verdict->status, "%s", verdict->reason);
  if (!in_time) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "loading it took more than %lld ms; it was stopped",
                           (long long)timeout_ms);
  }
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    const char *name = sigabbrev_np(number);
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it crashes while it is loaded: SIG%s (%s)",
                           name != NULL ? name : "?", strsignal(number));
  }
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "it ends the process while it is loaded");
}

byoc_status_t byoc_plugin_try(const char *path, const byoc_plugin_note_t *note, int64_t timeout_ms, byoc_diag_t *diag) {
  int report_fds[2] = {-1, -1};
  int output_fd = -1;
  byoc_status_t status = BYOC_OK;
  if (pipe2(report_fds, O_CLOEXEC | O_NONBLOCK) != 0 || (output_fd = memfd_create("byoc-trial", MFD_CLOEXEC)) < 0) {
    status = byoc_diag_error(diag, BYOC_IO, "cannot prepare a trial of it: %s", strerror(errno));
    goto cleanup;
  }
  // The child would write out again what is still in these.
  (void)fflush(stdout);
  (void)fflush(stderr);
  const pid_t pid = byoc_group_fork();
  if (pid < 0) {
    status = byoc_diag_error(diag, BYOC_IO, "cannot start a process to try it in: %s", strerror(errno));
    goto cleanup;
  }
  if (pid == 0) run_child(path, note, report_fds[1], output_fd);
  close(report_fds[1]);
  report_fds[1] = -1;
  verdict_t verdict = {0};
  bool reported = false;
  const bool in_time = await(pid, report_fds[0], timeout_ms, &verdict, &reported);
  verdict.reason[sizeof(verdict.reason) - 1] = '\0';
  if (in_time && !reported) {
    // Ended by itself: learn how, then end what it may have started. Its number is ours until it is reaped.
    siginfo_t info = {0};
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
  }
  byoc_group_kill(pid);
  status = judge(in_time, reported, reap(pid), &verdict, timeout_ms, diag);

cleanup:
  if (report_fds[0] >= 0) close(report_fds[0]);
  if (report_fds[1] >= 0) close(report_fds[1]);
  if (output_fd >= 0) close(output_fd);
  return status;
}
