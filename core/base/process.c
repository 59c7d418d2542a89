// SPDX-License-Identifier: Apache-2.0
// Child processes by posix_spawn, which does not copy a large parent and returns the errno of a failed exec.
#define _GNU_SOURCE
#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/group.h"
#include "core/base/log.h"
#include "core/base/system_error.h"
#include "core/base/task.h"
#include "core/base/vector.h"
#include "core/base/watch.h"

extern char **environ;

static int executable_error(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return access(path, X_OK) == 0 ? 0 : errno;
}

// Finds the file of `program`, as an absolute path with `absolute`. Returns an errno: ENOENT if there is none. It
// allocates nothing, so that a lack of memory does not look like a missing program.
static int find_program(const char *program, bool absolute, char out_path[PATH_MAX]) {
  int error = ENOENT;
  if (strchr(program, '/') != NULL) {
    error = strlen(program) < PATH_MAX ? executable_error(program) : ENAMETOOLONG;
    if (error == 0) strcpy(out_path, program);
  } else if (program[0] != '\0') {
    const char *path = getenv("PATH");
    if (path == NULL) path = "/usr/local/bin:/usr/bin:/bin";
    for (const char *start = path; error != 0 && start != NULL;) {
      const char *end = strchr(start, ':');
      int size = end == NULL ? (int)strlen(start) : (int)(end - start);
      bool here = size == 0;
      int written = snprintf(out_path, PATH_MAX, "%.*s/%s", here ? 1 : size, here ? "." : start, program);
      int found = written < PATH_MAX ? executable_error(out_path) : ENAMETOOLONG;
      // A file that this user may not run is skipped: a later folder may have another one.
      if (found == 0 || found == EACCES) error = found;
      start = end == NULL ? NULL : end + 1;
    }
  }
  if (error != 0 || !absolute || out_path[0] == '/') return error;
  char relative[PATH_MAX];
  strcpy(relative, out_path);
  return realpath(relative, out_path) != NULL ? 0 : errno;
}

byoc_status_t byoc_program_path(const char *program, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path) {
  char path[PATH_MAX];
  *out_path = NULL;
  int error = find_program(program, true, path);
  if (error == ENOENT) return BYOC_OK;
  if (error != 0) return byoc_diag_system_error(diag, error, "run", program);
  *out_path = byoc_copy_string(allocator, path);
  return *out_path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

bool byoc_program_exists(const char *program) {
  char path[PATH_MAX];
  return find_program(program, false, path) == 0;
}

// The environment with `variables`, which replace settings of the same name. The strings are borrowed.
static char **make_environment(const char *const *variables) {
  size_t count = 0;
  size_t added = 0;
  while (environ[count] != NULL) count++;
  while (variables[added] != NULL) added++;
  char **result = byoc_allocate(byoc_allocator_system(), count + added + 1, sizeof(*result));
  if (result == NULL) return NULL;
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    bool replaced = false;
    for (size_t j = 0; j < added && !replaced; j++) {
      size_t name_size = strcspn(variables[j], "=");
      replaced = strncmp(environ[i], variables[j], name_size) == 0 && environ[i][name_size] == '=';
    }
    if (!replaced) result[used++] = environ[i];
  }
  for (size_t j = 0; j < added; j++) result[used++] = (char *)(uintptr_t)variables[j];
  return result;
}

typedef struct start_t {
  const char *path;
  const char *const *argv;
  const char *directory; // NULL: the caller's
  char **environment;
  int output_fd;
  bool without_errors;
} start_t;

// Starts the program with its output going to `output_fd`. Returns an errno.
static int spawn(void *argument, bool lead, pid_t *out_pid) {
  const start_t *start = argument;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  error = posix_spawnattr_init(&attributes);
  if (error != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigset_t defaults, unblocked;
  sigemptyset(&defaults);
  sigemptyset(&unblocked);
  sigaddset(&defaults, SIGPIPE);
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  if (lead) flags |= POSIX_SPAWN_SETPGROUP;
  error = posix_spawnattr_setflags(&attributes, flags);
  if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &defaults);
  if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &unblocked);
  if (error == 0) error = posix_spawnattr_setpgroup(&attributes, 0);
  if (error == 0) error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, start->output_fd, STDOUT_FILENO);
  if (error == 0 && start->without_errors) {
    error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  } else if (error == 0) {
    error = posix_spawn_file_actions_adddup2(&actions, start->output_fd, STDERR_FILENO);
  }
  if (error == 0 && start->directory != NULL) {
    error = posix_spawn_file_actions_addchdir_np(&actions, start->directory);
  }
  if (error == 0) {
    error = posix_spawn(out_pid, start->path, &actions, &attributes, (char *const *)(uintptr_t)start->argv,
                        start->environment);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

byoc_status_t byoc_process_run(const char *const *argv, const byoc_process_options_t *options, byoc_string_t *output,
                               byoc_diag_t *diag, byoc_process_result_t *out_result) {
  static const byoc_process_options_t no_options;
  *out_result = (byoc_process_result_t){.exit_code = -1};
  if (options == NULL) options = &no_options;
  byoc_status_t status = BYOC_OK;
  char **environment = NULL;
  int pipe_fds[2] = {-1, -1};
  byoc_child_t child = {.fd = -1};
  int error = 0;

  char path[PATH_MAX];
  error = find_program(argv[0], options->directory != NULL, path);
  if (error == ENOENT) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "the program '%s' was not found%s", argv[0],
                           strchr(argv[0], '/') == NULL ? " in PATH" : "");
  }
  if (error != 0) return byoc_diag_system_error(diag, error, "run", argv[0]);
  if (options->directory != NULL && !byoc_is_directory(options->directory)) {
    status =
        byoc_diag_error(diag, BYOC_NOT_FOUND, "cannot run '%s' in '%s': no such folder", argv[0], options->directory);
    goto cleanup;
  }
  if (options->variables != NULL) {
    environment = make_environment(options->variables);
    if (environment == NULL) {
      status = byoc_diag_out_of_memory(diag);
      goto cleanup;
    }
  }
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    status = byoc_diag_system_error(diag, errno, "open a pipe for", argv[0]);
    goto cleanup;
  }
  start_t start = {path,
                   argv,
                   options->directory,
                   environment != NULL ? environment : environ,
                   pipe_fds[1],
                   options->without_errors};
  error = byoc_group_spawn(spawn, &start, &child.pid, &child.leads);
  if (error != 0) {
    status = byoc_diag_system_error(diag, error, "run", argv[0]);
    goto cleanup;
  }
  (void)fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
  child.is_program = true;
  child.fd = pipe_fds[0];
  child.deadline_ns = options->timeout_ms > 0 ? byoc_now_ns() + options->timeout_ms * 1000000 : INT64_MAX;
  child.text = output;
  pipe_fds[0] = -1; // the child's now
  close(pipe_fds[1]);
  pipe_fds[1] = -1;
  byoc_child_await(&child);
  status = byoc_task_check(diag);
  if (status != BYOC_OK) goto cleanup;
  out_result->timed_out = child.end == BYOC_CHILD_LATE || (child.end == BYOC_CHILD_ENDED && child.number == 0);
  if (child.error != 0) {
    status = byoc_diag_system_error(diag, child.error, "learn the exit code of", argv[0]);
    goto cleanup;
  }
  if (child.end == BYOC_CHILD_EXITED) out_result->exit_code = child.number;
  if (child.end == BYOC_CHILD_CRASHED || child.end == BYOC_CHILD_ENDED) out_result->signal = child.number;
  if (out_result->timed_out) out_result->signal = SIGKILL;
  if (output != NULL && output->failed) status = byoc_diag_out_of_memory(diag);

cleanup:
  if (pipe_fds[0] >= 0) close(pipe_fds[0]);
  if (pipe_fds[1] >= 0) close(pipe_fds[1]);
  byoc_free(byoc_allocator_system(), environment);
  return status;
}
