// SPDX-License-Identifier: Apache-2.0
// One child process per case, several at a time. A child answers with its record as JSON; one that ends without has
// crashed, one that takes too long is killed with what it started.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/runtime/processors.h"
#include "tools/common/json_print.h"

// The answer of a child; a record is a few lines. Empty: the child was out of memory.
typedef struct record_t {
  char text[32768];
} record_t;

typedef struct pool_t pool_t;

typedef struct worker_t {
  const pool_t *pool;
  bool is_busy;
  size_t index; // of the case
  byoc_child_t child;
  record_t record;
} worker_t;

struct pool_t {
  byoc_conform_t *conform;
  byoc_diag_t *diag;
  const char *folder; // TMPDIR of the children, so that the files of a killed one are removed too
  worker_t *workers;
  size_t worker_count, next, done;
  byoc_progress_t progress;
};

// ---- the child ----

static void run_case(void *self, void *answer) {
  const worker_t *worker = self;
  const byoc_conform_t *conform = worker->pool->conform;
  json_t *record = NULL;
  if (setenv("TMPDIR", worker->pool->folder, 1) == 0) {
    record = byoc_conform_run_case(&conform->session, conform->options, conform->cases.data[worker->index].path);
  }
  char *text = byoc_json_dump(record, JSON_COMPACT);
  const bool fits = text == NULL || strlen(text) < sizeof(record_t);
  snprintf(((record_t *)answer)->text, sizeof(record_t), "%s",
           text == NULL ? ""
           : fits       ? text
                        : "{\"outcome\":\"failed\",\"stage\":\"record\",\"reason\":\"its record is too long\"}");
}

// ---- the parent ----

static byoc_status_t start(pool_t *pool, worker_t *worker) {
  const byoc_conform_options_t *options = pool->conform->options;
  const int64_t timeout_ms = options->timeout_s < UINT32_MAX / 1000 ? options->timeout_s * 1000 : UINT32_MAX;
  const byoc_child_limits_t limits = {
      .timeout_ms = (uint32_t)timeout_ms, .keeps_messages = options->session.verbose, .contains_foreign = true};
  (void)fflush(stdout);
  (void)fflush(stderr);
  worker->pool = pool;
  worker->index = pool->next;
  BYOC_RETURN_IF_ERROR(
      byoc_child_start(&limits, run_case, worker, &worker->record, sizeof(worker->record), pool->diag, &worker->child));
  worker->is_busy = true;
  pool->next += 1;
  return BYOC_OK;
}

static json_t *read_record(const worker_t *worker) {
  const byoc_child_t *child = &worker->child;
  char reason[160];
  if (child->last_words[0] != '\0') return byoc_conform_record("failed", "crash", child->last_words);
  switch (child->end) {
  case BYOC_CHILD_ANSWERED:
    if (worker->record.text[0] == '\0') return byoc_conform_record("failed", "memory", "its process was out of memory");
    return json_loads(worker->record.text, 0, NULL);
  case BYOC_CHILD_LATE:
    snprintf(reason, sizeof(reason), "it took longer than %lld s (--timeout)",
             (long long)worker->pool->conform->options->timeout_s);
    return byoc_conform_record("failed", "time", reason);
  case BYOC_CHILD_EXITED:
    snprintf(reason, sizeof(reason), "its process ended with exit code %d", child->number);
    return byoc_conform_record("failed", "crash", reason);
  default:
    snprintf(reason, sizeof(reason), "its process was ended by signal %d (%s)", child->number,
             strsignal(child->number));
    return byoc_conform_record("failed", "crash", reason);
  }
}

static byoc_status_t finish(pool_t *pool, worker_t *worker) {
  byoc_conform_case_t *item = &pool->conform->cases.data[worker->index];
  item->record = read_record(worker);
  worker->is_busy = false;
  byoc_progress_step(&pool->progress, (int64_t)++pool->done, item->name);
  return item->record != NULL ? BYOC_OK : byoc_diag_out_of_memory(pool->diag);
}

static byoc_status_t wait_for_some(pool_t *pool) {
  byoc_child_t *children[BYOC_CHILDREN_MAX];
  size_t count = 0;
  for (size_t i = 0; i < pool->worker_count; ++i) {
    if (pool->workers[i].is_busy) children[count++] = &pool->workers[i].child;
  }
  byoc_children_watch(children, count, 100);
  for (size_t i = 0; i < pool->worker_count; ++i) {
    worker_t *worker = &pool->workers[i];
    if (worker->is_busy && worker->child.end != BYOC_CHILD_RUNS) BYOC_RETURN_IF_ERROR(finish(pool, worker));
  }
  byoc_progress_step(&pool->progress, (int64_t)pool->done, "");
  return BYOC_OK;
}

static byoc_status_t run_all(pool_t *pool) {
  size_t total = pool->conform->cases.count;
  while (pool->done < total) {
    for (size_t i = 0; i < pool->worker_count && pool->next < total; ++i) {
      if (!pool->workers[i].is_busy) BYOC_RETURN_IF_ERROR(start(pool, &pool->workers[i]));
    }
    BYOC_RETURN_IF_ERROR(wait_for_some(pool));
  }
  return BYOC_OK;
}

byoc_status_t byoc_conform_run(byoc_conform_t *conform, byoc_diag_t *diag) {
  byoc_allocator_t allocator = conform->session.allocator;
  int64_t jobs = conform->options->job_count > 0 ? conform->options->job_count : byoc_model_processor_count();
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-conform", allocator, diag, &folder));
  pool_t pool = {.conform = conform, .diag = diag, .folder = folder};
  pool.worker_count = (size_t)(jobs < BYOC_CHILDREN_MAX ? jobs : BYOC_CHILDREN_MAX);
  pool.workers = byoc_allocate(allocator, pool.worker_count, sizeof(*pool.workers));
  byoc_progress_begin(&pool.progress, "running cases", (int64_t)conform->cases.count);
  byoc_status_t status = pool.workers != NULL ? run_all(&pool) : byoc_diag_out_of_memory(diag);
  byoc_progress_end(&pool.progress);
  for (size_t i = 0; i < pool.worker_count && pool.workers != NULL; ++i) { // after an error
    if (pool.workers[i].is_busy) byoc_child_kill(&pool.workers[i].child);
  }
  byoc_free(allocator, pool.workers);
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, folder);
  return status;
}
