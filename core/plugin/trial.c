// SPDX-License-Identifier: Apache-2.0
// The trial: a plugin is first loaded in a child process, where it can do no harm.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/plugin/host.h"
#include "core/plugin/hygiene.h"
#include "core/plugin/library.h"

enum { LEFT_THE_PROCESS = 113 }; // exit code of a child whose plugin called exit

// The report of the child, in one write.
typedef struct verdict_t {
  byoc_status_t status;
  char reason[2048];
} verdict_t;

static void leave(void) {
  _exit(LEFT_THE_PROCESS); // without running the parent's exit handlers or flushing its streams
}

// A file that receives the plugin's output, so that it does not reach the terminal.
static int catch_output(void) {
  const int output_fd = memfd_create("byoc-trial", MFD_CLOEXEC);
  (void)dup2(output_fd, STDOUT_FILENO);
  (void)dup2(output_fd, STDERR_FILENO);
  return output_fd;
}

typedef struct trial_t {
  const char *path;
  const byoc_plugin_note_t *note;
} trial_t;

// Runs in the child.
static void try_it(void *self, void *answer) {
  const trial_t *trial = self;
  verdict_t *verdict = answer;
  const int output_fd = catch_output();
  if (atexit(leave) != 0) _exit(LEFT_THE_PROCESS);

  byoc_diag_t diag = {0};
  byoc_hygiene_t before;
  byoc_hygiene_take(&before);
  byoc_plugin_library_t *library = NULL;
  verdict->status = byoc_plugin_library_load(trial->path, trial->note, byoc_host_fill_tables, byoc_allocator_system(),
                                             &diag, &library);
  byoc_plugin_library_release(library);
  if (verdict->status == BYOC_OK) verdict->status = byoc_hygiene_check(&before, &diag);
  if (verdict->status == BYOC_OK) {
    (void)fflush(stdout);
    const bool loader_prints = getenv("LD_DEBUG") != NULL;
    if (!loader_prints && lseek(output_fd, 0, SEEK_END) > 0) {
      char text[161];
      const ssize_t size = pread(output_fd, text, sizeof(text) - 1, 0);
      text[size > 0 ? size : 0] = '\0';
      verdict->status = byoc_diag_error(&diag, BYOC_INVALID_DATA, "it prints while it is loaded: %s", text);
    }
  }
  byoc_diag_format(&diag, verdict->reason, sizeof(verdict->reason));
}

static byoc_status_t judge(const byoc_child_t *child, const verdict_t *verdict, int64_t timeout_ms, byoc_diag_t *diag) {
  const char *name = sigabbrev_np(child->number), *text = strsignal(child->number);
  switch (child->end) {
  case BYOC_CHILD_ANSWERED:
    return verdict->status == BYOC_OK ? BYOC_OK : byoc_diag_error(diag, verdict->status, "%s", verdict->reason);
  case BYOC_CHILD_LATE:
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "loading it took more than %lld ms; it was stopped",
                           (long long)timeout_ms);
  case BYOC_CHILD_CRASHED:
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it crashes while it is loaded: SIG%s (%s)",
                           name != NULL ? name : "?", text);
  case BYOC_CHILD_ENDED:
    if (child->number == 0) {
      return byoc_diag_error(diag, BYOC_CANCELLED, "something stopped the process that was loading it; try again");
    }
    return byoc_diag_error(diag, BYOC_CANCELLED, "something ended the process that was loading it: SIG%s (%s)",
                           name != NULL ? name : "?", text);
  default:
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it ends the process while it is loaded");
  }
}

byoc_status_t byoc_plugin_try(const char *path, const byoc_plugin_note_t *note, int64_t timeout_ms, byoc_diag_t *diag) {
  // Otherwise the child would write the content of these buffers once more.
  (void)fflush(stdout);
  (void)fflush(stderr);
  const byoc_child_limits_t limits = {.timeout_ms = (uint32_t)timeout_ms};
  trial_t trial = {path, note};
  verdict_t verdict;
  byoc_child_t child;
  byoc_diag_t why = {0};
  if (byoc_child_start(&limits, try_it, &trial, &verdict, sizeof(verdict), &why, &child) != BYOC_OK) {
    return byoc_diag_error(diag, BYOC_IO, "cannot start a process to try it in: %s", why.message);
  }
  byoc_child_await(&child);
  verdict.reason[sizeof(verdict.reason) - 1] = '\0';
  return judge(&child, &verdict, timeout_ms, diag);
}
