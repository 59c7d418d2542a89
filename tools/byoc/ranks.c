// SPDX-License-Identifier: Apache-2.0
// Runs what several ranks do, in processes of this machine or with the communicator of a shared object.
#include "ranks.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "core/base/file.h"
#include "core/loader/shared_ranks.h"

// ---- processes of this machine ----

// Several processes write to one terminal: each line is written at once, so that those of others stay out of it.
static void write_whole_lines(void) {
  static char line[4096];
  (void)setvbuf(stderr, line, _IOLBF, sizeof(line));
}

// Only the first rank writes to standard output.
static void silence(void) {
  const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (file >= 0) (void)dup2(file, STDOUT_FILENO);
  if (file >= 0) (void)close(file);
}

static int run_rank(byoc_shared_ranks_t *ranks, int32_t rank, byoc_rank_body_t body, void *self) {
  byoc_diag_t diag = {0};
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  write_whole_lines();
  if (rank > 0) silence();
  const byoc_communicator_t *communicator = byoc_shared_ranks_join(ranks, rank);
  byoc_status_t status = body(self, communicator, &diag);
  if (status == BYOC_OK && fflush(stdout) != 0) {
    status = byoc_diag_error(&diag, BYOC_IO, "cannot write to standard output");
  }
  byoc_shared_ranks_leave(ranks, status != BYOC_OK);
  if (status == BYOC_OK) return BYOC_EXIT_OK;
  byoc_diag_context(&diag, status, "rank %d", rank);
  return byoc_report(&diag, status);
}

// Waits for one of the processes; -1: something is wrong with all of them.
static int32_t wait_for_any(const pid_t *processes, int32_t count, int *out_status) {
  for (;;) {
    const pid_t ended = waitpid(-1, out_status, 0);
    if (ended < 0 && errno != EINTR) return -1;
    for (int32_t r = 0; r < count && ended > 0; ++r) {
      if (processes[r] == ended) return r;
    }
  }
}

byoc_status_t byoc_ranks_fork(int32_t count, byoc_rank_body_t body, void *self, byoc_diag_t *diag, int *out_exit_code) {
  byoc_shared_ranks_t *ranks = NULL;
  pid_t processes[BYOC_SHARED_RANKS_MOST];
  int32_t started = 0, killed = -1;
  int signal = 0;
  *out_exit_code = 0;
  BYOC_RETURN_IF_ERROR(byoc_shared_ranks_create(count, byoc_allocator_system(), diag, &ranks));
  byoc_status_t status = BYOC_OK;
  (void)fflush(stdout);
  (void)fflush(stderr);
  for (; started < count && status == BYOC_OK; ++started) {
    processes[started] = fork();
    if (processes[started] == 0) exit(run_rank(ranks, started, body, self));
    if (processes[started] > 0) continue;
    status =
        byoc_diag_error(diag, BYOC_OUT_OF_MEMORY, "cannot start a process for rank %d: %s", started, strerror(errno));
    break;
  }
  for (int32_t r = started; r < count; ++r) byoc_shared_ranks_ended(ranks, r);
  for (int32_t waits = 0; waits < started; ++waits) {
    int how = 0;
    const int32_t rank = wait_for_any(processes, started, &how);
    if (rank < 0) break;
    byoc_shared_ranks_ended(ranks, rank);
    if (WIFSIGNALED(how) && killed < 0) {
      killed = rank;
      signal = WTERMSIG(how);
    }
    if (WIFEXITED(how) && WEXITSTATUS(how) != 0 && *out_exit_code == 0) *out_exit_code = WEXITSTATUS(how);
  }
  byoc_shared_ranks_destroy(ranks);
  if (killed < 0) return status;
  return byoc_diag_error(diag, BYOC_TOOL, "rank %d was killed by signal %d (%s)", killed, signal, strsignal(signal));
}

// ---- with a communicator from elsewhere ----

byoc_status_t byoc_ranks_join(const char *path, byoc_rank_body_t body, void *self, byoc_diag_t *diag) {
  write_whole_lines();
  const char *slash = strchr(path, '/');
  char here[4096];
  (void)snprintf(here, sizeof(here), "%s%s", slash == NULL ? "./" : "", path);
  if (byoc_file_is_special(here)) { // a pipe would wait for its writer
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "cannot load the communicator: '%s' is not a regular file", path);
  }
  void *library = dlopen(here, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return byoc_diag_error(diag, BYOC_NOT_FOUND, "cannot load the communicator: %s", dlerror());
  byoc_communicator_entry_t open_communicator = NULL;
  byoc_communicator_exit_t close_communicator = NULL;
  void *entry = dlsym(library, BYOC_COMMUNICATOR_ENTRY), *end = dlsym(library, BYOC_COMMUNICATOR_EXIT);
  if (entry == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' has no function %s", path, BYOC_COMMUNICATOR_ENTRY);
  }
  memcpy(&open_communicator, &entry, sizeof(entry)); // ISO C has no cast from object to function pointer
  memcpy(&close_communicator, &end, sizeof(end));
  const byoc_communicator_t *communicator = NULL;
  char message[512] = "";
  byoc_status_t status = open_communicator(&communicator, message, sizeof(message));
  if (status != BYOC_OK) return byoc_diag_error(diag, status, "%s: %s", path, message);
  if (communicator->rank > 0) silence();
  status = body(self, communicator, diag);
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "rank %d", communicator->rank);
  if (close_communicator != NULL) close_communicator(communicator);
  return BYOC_OK; // the library stays: what it has started may still run
}
