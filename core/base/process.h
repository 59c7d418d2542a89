// SPDX-License-Identifier: Apache-2.0
// Runs programs to their end, with captured output and a time limit, without a shell. Each leads a process group
// (core/base/group.h), unless the caller is in a group that another process ends.
#ifndef BYOC_CORE_BASE_PROCESS_H_
#define BYOC_CORE_BASE_PROCESS_H_

#include "core/base/diag.h"
#include "core/base/string.h"

typedef struct byoc_process_options_t {
  const char *directory;        // working folder; NULL: that of the caller
  const char *const *variables; // NAME=VALUE settings added to the environment, NULL-terminated; may be NULL
  bool without_errors;          // its standard error is discarded
  int64_t timeout_ms;           // 0: none; on expiry the child and all that it started are killed
} byoc_process_options_t;

typedef struct byoc_process_result_t {
  int exit_code; // -1 if a signal ended it
  int signal;    // 0 if it exited
  bool timed_out;
} byoc_process_result_t;

// argv is NULL-terminated; argv[0] is looked up in PATH. Standard output and error are appended to `output` in order of
// arrival (it may be NULL). BYOC_NOT_FOUND if the program does not exist; BYOC_CANCELLED if this thread's task is
// cancelled (core/base/task.h); a non-zero exit code still returns BYOC_OK.
byoc_status_t byoc_process_run(const char *const *argv, const byoc_process_options_t *options, byoc_string_t *output,
                               byoc_diag_t *diag, byoc_process_result_t *out_result);
// The absolute path of the file of `program`, from `allocator`; *out_path is NULL if there is none.
byoc_status_t byoc_program_path(const char *program, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path);
// True if `program` (a path, or a name looked up in PATH) can be executed.
bool byoc_program_exists(const char *program);

#endif // BYOC_CORE_BASE_PROCESS_H_
