// Child processes: run to completion, with output captured and a time limit. No shell is involved. Each leads a process
// group (core/base/group.h), unless the caller is itself in one that another process ends.
#ifndef BYOC_CORE_BASE_PROCESS_H_
#define BYOC_CORE_BASE_PROCESS_H_

#include "core/base/diag.h"
#include "core/base/string.h"

typedef struct byoc_process_options_t {
  const char *directory;        // working folder; NULL: the caller's
  const char *const *variables; // NAME=VALUE settings added to the environment, NULL-terminated; may be NULL
  bool without_errors;          // what it writes to standard error is thrown away, not captured
  int64_t timeout_ms;           // 0: none; on expiry the child is killed with what it started
} byoc_process_options_t;

typedef struct byoc_process_result_t {
  int exit_code; // -1 where a signal ended it
  int signal;    // 0 where it exited
  bool timed_out;
} byoc_process_result_t;

// argv is NULL-terminated; argv[0] is looked up in PATH. Standard output and error are appended to `output` (both, in
// order of arrival; may be NULL). BYOC_NOT_FOUND where the program is not there; a non-zero exit is BYOC_OK here.
byoc_status_t byoc_process_run(const char *const *argv, const byoc_process_options_t *options, byoc_string_t *output,
                               byoc_diag_t *diag, byoc_process_result_t *out_result);
// The file that runs as `program`, as an absolute path from `allocator`; NULL where there is none.
char *byoc_program_path(const char *program, byoc_allocator_t allocator);
// True where `program` (a path, or a name looked up in PATH) can be executed.
bool byoc_program_exists(const char *program);

#endif // BYOC_CORE_BASE_PROCESS_H_
