// One child process a case, several at a time. A child writes its record as JSON to a pipe; one that ends without has
// crashed, one that takes too long is killed with what it started.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"
#include "core/base/file.h"
#include "core/base/group.h"
#include "core/base/log.h"
#include "core/base/system_error.h"
#include "json_print.h"

enum { MAX_JOBS = 256 };

typedef struct worker_t {
  pid_t pid; // 0: free
  int fd;    // the pipe's end to read from
  size_t index;
  int64_t start_ns;
  bool timed_out;
  byoc_string_t text;
} worker_t;

typedef struct pool_t {
  byoc_conform_t *conform;
  byoc_diag_t *diag;
  const char *folder; // TMPDIR of the children, so that what a killed one leaves behind goes too
  worker_t workers[MAX_JOBS];
  size_t worker_count, running, next, done;
  byoc_progress_t progress;
} pool_t;

// ---- the child ----

static _Noreturn void run_child(const pool_t *pool, const byoc_conform_case_t *item, int fd) {
  const byoc_conform_options_t *options = pool->conform->options;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (!options->session.verbose) dup2(null, STDERR_FILENO);
  }
  json_t *record = NULL;
  if (setenv("TMPDIR", pool->folder, 1) == 0) {
    record = byoc_conform_run_case(&pool->conform->session, options, item->path);
  }
  char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
  size_t size = text ? strlen(text) : 0, sent = 0;
  while (sent < size) {
    ssize_t written = write(fd, text + sent, size - sent);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) sent += (size_t)written;
  }
  // The parent's temporary folders and buffers are none of this process's business.
  _exit(size > 0 && sent == size ? 0 : 1);
}

static byoc_status_t start(pool_t *pool, worker_t *worker) {
  const byoc_conform_case_t *item = &pool->conform->cases.data[pool->next];
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return byoc_diag_system_error(pool->diag, errno, "make a pipe for", item->name);
  fflush(stdout);
  fflush(stderr);
  pid_t pid = byoc_group_fork();
  if (pid == 0) run_child(pool, item, ends[1]);
  int error = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return byoc_diag_system_error(pool->diag, error, "start a process for", item->name);
  }
  byoc_string_clear(&worker->text);
  worker->pid = pid;
  worker->fd = ends[0];
  worker->index = pool->next++;
  worker->start_ns = byoc_now_ns();
  worker->timed_out = false;
  pool->running += 1;
  return BYOC_OK;
}

// ---- the parent ----

static json_t *read_record(const pool_t *pool, const worker_t *worker, int wait_status) {
  char reason[160];
  if (worker->timed_out) {
    snprintf(reason, sizeof(reason), "it took longer than %lld s (--timeout)",
             (long long)pool->conform->options->timeout_s);
    return byoc_conform_record("failed", "time", reason);
  }
  json_t *record =
      WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 ? json_loads(worker->text.data, 0, NULL) : NULL;
  if (record != NULL) return record;
  if (WIFSIGNALED(wait_status)) {
    snprintf(reason, sizeof(reason), "its process was ended by signal %d (%s)", WTERMSIG(wait_status),
             strsignal(WTERMSIG(wait_status)));
  } else {
    snprintf(reason, sizeof(reason), "its process ended with exit code %d",
             WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1);
  }
  return byoc_conform_record("failed", "crash", reason);
}

static byoc_status_t finish(pool_t *pool, worker_t *worker) {
  byoc_group_kill(worker->pid); // what it started, and itself where it goes on behind a closed pipe
  int wait_status = 0;
  while (waitpid(worker->pid, &wait_status, 0) < 0 && errno == EINTR) {}
  byoc_group_forget(worker->pid);
  close(worker->fd);
  byoc_conform_case_t *item = &pool->conform->cases.data[worker->index];
  item->record = read_record(pool, worker, wait_status);
  worker->pid = 0;
  pool->running -= 1;
  byoc_progress_step(&pool->progress, (int64_t)++pool->done, item->name);
  return item->record != NULL ? BYOC_OK : byoc_diag_out_of_memory(pool->diag);
}

// Reads what there is; at the end of the pipe the child is over.
static byoc_status_t receive(pool_t *pool, worker_t *worker) {
  char buffer[4096];
  ssize_t size = read(worker->fd, buffer, sizeof(buffer));
  if (size < 0 && errno == EINTR) return BYOC_OK;
  if (size > 0) {
    byoc_string_append_bytes(&worker->text, buffer, (size_t)size);
    return worker->text.failed ? byoc_diag_out_of_memory(pool->diag) : BYOC_OK;
  }
  return finish(pool, worker);
}

static byoc_status_t wait_for_some(pool_t *pool) {
  struct pollfd polls[MAX_JOBS];
  worker_t *polled[MAX_JOBS];
  nfds_t count = 0;
  int64_t limit_ns = pool->conform->options->timeout_s * INT64_C(1000000000);
  for (size_t i = 0; i < pool->worker_count; ++i) {
    worker_t *worker = &pool->workers[i];
    if (worker->pid == 0) continue;
    polls[count] = (struct pollfd){.fd = worker->fd, .events = POLLIN};
    polled[count++] = worker;
    if (limit_ns > 0 && !worker->timed_out && byoc_now_ns() - worker->start_ns > limit_ns) {
      worker->timed_out = true;
      byoc_group_kill(worker->pid);
    }
  }
  if (poll(polls, count, 100) < 0 && errno != EINTR) {
    return byoc_diag_system_error(pool->diag, errno, "wait for", "the cases");
  }
  for (nfds_t i = 0; i < count; ++i) {
    if (polls[i].revents != 0) BYOC_RETURN_IF_ERROR(receive(pool, polled[i]));
  }
  byoc_progress_step(&pool->progress, (int64_t)pool->done, "");
  return BYOC_OK;
}

static byoc_status_t run_all(pool_t *pool) {
  size_t total = pool->conform->cases.count;
  while (pool->done < total) {
    for (size_t i = 0; i < pool->worker_count && pool->next < total; ++i) {
      if (pool->workers[i].pid == 0) BYOC_RETURN_IF_ERROR(start(pool, &pool->workers[i]));
    }
    BYOC_RETURN_IF_ERROR(wait_for_some(pool));
  }
  return BYOC_OK;
}

byoc_status_t byoc_conform_run(byoc_conform_t *conform, byoc_diag_t *diag) {
  byoc_allocator_t allocator = conform->session.allocator;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t jobs = conform->options->job_count > 0 ? conform->options->job_count : processors > 0 ? processors : 1;
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-conform", allocator, diag, &folder));
  pool_t pool = {.conform = conform, .diag = diag, .folder = folder};
  pool.worker_count = (size_t)(jobs < MAX_JOBS ? jobs : MAX_JOBS);
  for (size_t i = 0; i < pool.worker_count; ++i) byoc_string_init(&pool.workers[i].text, allocator);
  byoc_progress_begin(&pool.progress, "running cases", (int64_t)conform->cases.count);
  byoc_status_t status = run_all(&pool);
  byoc_progress_end(&pool.progress);
  for (size_t i = 0; i < pool.worker_count; ++i) {
    worker_t *worker = &pool.workers[i];
    if (worker->pid != 0) { // after an error
      byoc_group_kill(worker->pid);
      waitpid(worker->pid, NULL, 0);
      byoc_group_forget(worker->pid);
      close(worker->fd);
    }
    byoc_string_deinit(&worker->text);
  }
  byoc_remove_tree(folder, NULL);
  byoc_free(allocator, folder);
  return status;
}
