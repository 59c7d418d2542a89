// SPDX-License-Identifier: Apache-2.0
// How a program ends: exit codes, and the message in front of them. Libraries return statuses; only main() exits.
#ifndef BYOC_TOOLS_COMMON_REPORT_H_
#define BYOC_TOOLS_COMMON_REPORT_H_

#include "core/base/diag.h"

// Exit codes.
enum {
  BYOC_EXIT_OK = 0,
  BYOC_EXIT_FAILED = 1, // the model, the build, a comparison or a check failed
  BYOC_EXIT_MISUSE = 2, // the command line is wrong
};

// Prints the diagnostic on standard error and gives the exit code for it: 2 for BYOC_INVALID_ARGUMENT, else 1.
int byoc_report(const byoc_diag_t *diag, byoc_status_t status);

// The last thing that main does: flushes standard output. Gives `code`, or BYOC_EXIT_FAILED, with a message, where a
// line is missing or could not be written.
int byoc_finish_output(int code);

#endif // BYOC_TOOLS_COMMON_REPORT_H_
