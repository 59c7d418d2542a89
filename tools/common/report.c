// SPDX-License-Identifier: Apache-2.0
// Ends a command that failed: prints why and returns the exit code.
#include "tools/common/report.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tools/common/print.h"

// Call it after writing to standard output failed. If nobody reads it any more (byoc opt ... | head), the program ends
// as others do: silently, by SIGPIPE. Otherwise this returns.
static void leave_without_reader(void) {
  struct pollfd output = {.fd = STDOUT_FILENO};
  if (!ferror(stdout) || poll(&output, 1, 0) <= 0 || !(output.revents & POLLERR)) return;
  byoc_remove_temporaries();
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
}

int byoc_report(const byoc_diag_t *diag, byoc_status_t status) {
  leave_without_reader();
  byoc_diag_print(diag, stderr);
  return status == BYOC_INVALID_ARGUMENT ? BYOC_EXIT_MISUSE : BYOC_EXIT_FAILED;
}

int byoc_finish_output(int code) {
  const char *failure = byoc_print_is_incomplete() ? "out of memory: lines of the output are missing" : NULL;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    leave_without_reader();
    failure = "cannot write to standard output";
  }
  if (failure == NULL) return code;
  fprintf(stderr, "error: %s\n", failure);
  return code == BYOC_EXIT_OK ? BYOC_EXIT_FAILED : code;
}
