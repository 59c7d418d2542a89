// SPDX-License-Identifier: Apache-2.0
// Runs a backend's hooks function by function: a session of its own for each function, several at once on threads, and
// none for answers in the cache. The whole is the same in any case.
#include <pthread.h>
#include <stdatomic.h>

#include "core/base/foreign.h"
#include "core/base/jobs.h"
#include "core/base/log.h"
#include "core/base/task.h"
#include "core/plugin/host.h"
#include "core/plugin/kept_answer.h"
#include "core/plugin/session.h"
#include "core/targets/cpu.h"

typedef struct part_t {
  byoc_codegen_t *session; // of one function
  byoc_codegen_report_t report;
  byoc_kept_key_t key;
  unsigned read; // BYOC_READ_*, by the hooks
  bool is_cached;
  byoc_status_t status;
  byoc_diag_t diag;
} part_t;

typedef struct crew_t {
  part_t *parts;
  size_t count;
  atomic_size_t next, first_failed;
  pthread_mutex_t lock;
  const byoc_task_t *task;
} crew_t;

bool byoc_session_runs_in_parts(const byoc_target_t *target) {
  return (target->kind->backend->flags & (BYOC_BACKEND_CACHED | BYOC_BACKEND_GENERATES_AT_ONCE)) != 0;
}

static bool has_flag(const byoc_codegen_t *session, uint64_t flag) {
  return (session->target->kind->backend->flags & flag) != 0;
}

// ---- one function ----

static void generate_part(part_t *part) {
  byoc_graph_watch_begin();
  part->status = byoc_task_check(&part->diag);
  if (part->status == BYOC_OK) part->status = byoc_session_generate(part->session, &part->diag);
  part->read |= byoc_graph_watch_end();
}

// Functions are taken in their order. If one fails, those before it are still finished, so that the first one in the
// order that fails is the same for any number of threads.
static void work(crew_t *crew) {
  for (;;) {
    const size_t i = atomic_fetch_add(&crew->next, 1);
    if (i >= crew->count || i > atomic_load(&crew->first_failed)) return;
    part_t *part = &crew->parts[i];
    if (part->is_cached) continue;
    generate_part(part);
    size_t first = atomic_load(&crew->first_failed);
    while (part->status != BYOC_OK && i < first && !atomic_compare_exchange_weak(&crew->first_failed, &first, i)) {}
  }
}

static void *work_in_thread(void *self) {
  crew_t *crew = self;
  const byoc_task_t *before = byoc_task_enter(crew->task);
  if (byoc_foreign_join()) {
    work(crew);
    byoc_foreign_part();
  }
  byoc_task_enter(before);
  return NULL;
}

// ---- all functions ----

static bool is_system(byoc_allocator_t allocator) {
  const byoc_allocator_t system = byoc_allocator_system();
  return allocator.self == system.self && allocator.resize == system.resize;
}

static int32_t most_threads;

void byoc_session_limit_threads(int32_t count) {
  most_threads = count;
}

// Only the system's allocator is known to serve several threads.
static size_t thread_count(const byoc_codegen_t *session, size_t open_count) {
  if (!has_flag(session, BYOC_BACKEND_GENERATES_AT_ONCE) || !is_system(session->allocator)) return 1;
  size_t count = (size_t)(most_threads > 0 ? most_threads : byoc_job_count());
  if (count > open_count) count = open_count;
  return count < BYOC_FOREIGN_MOST_THREADS ? count : BYOC_FOREIGN_MOST_THREADS;
}

static void generate_parts(byoc_codegen_t *session, crew_t *crew, size_t open_count) {
  const size_t wanted = thread_count(session, open_count);
  pthread_t threads[BYOC_FOREIGN_MOST_THREADS];
  size_t started = 0;
  if (wanted > 1) byoc_foreign_start_watch();
  for (size_t i = 0; i < crew->count && wanted > 1; ++i) crew->parts[i].session->lock = &crew->lock;
  while (started + 1 < wanted && pthread_create(&threads[started], NULL, work_in_thread, crew) == 0) ++started;
  work(crew);
  for (size_t i = 0; i < started; ++i) (void)pthread_join(threads[i], NULL);
  for (size_t i = 0; i < crew->count; ++i) crew->parts[i].session->lock = NULL;
}

// An entry has what generate did, and its key the function as prepare left it. Edits are therefore all that prepare may
// do to a function whose answer is cached.
static const char *why_not_prepared(const byoc_codegen_t *session, unsigned read) {
  if ((read & BYOC_READ_MODULE) != 0) return "its hook prepare read the whole module";
  if (session->made.count > 0) return "its hook prepare added a module";
  if (session->reports.count > 0) return "its hook prepare added a report";
  if (session->paths.count > 0) return "its hook prepare handed over a file";
  if (session->results[0].precision != NULL) return "its hook prepare reported a precision";
  if (session->report->required_cpu_features.size > 0) return "its hook prepare required features of the processor";
  return NULL;
}

static byoc_status_t prepare_part(part_t *part, byoc_diag_t *diag) {
  byoc_graph_watch_begin();
  const byoc_status_t status = byoc_session_prepare(part->session, diag);
  const unsigned read = byoc_graph_watch_end();
  part->session->prepared = why_not_prepared(part->session, read);
  part->read = read & ~(unsigned)BYOC_READ_EDIT;
  return status;
}

static byoc_status_t open_part(byoc_codegen_t *session, size_t i, part_t *part, byoc_diag_t *diag) {
  byoc_codegen_report_init(&part->report, session->allocator);
  BYOC_RETURN_IF_ERROR(byoc_session_create(session->module, session->target, session->functions + i, 1,
                                           session->services, &part->report, diag, &part->session));
  part->session->is_part = true;
  const byoc_status_t status = prepare_part(part, diag);
  part->session->cannot_edit = has_flag(session, BYOC_BACKEND_GENERATES_AT_ONCE);
  if (status != BYOC_OK) session->hook_error = part->session->hook_error;
  return status;
}

static void close_parts(crew_t *crew) {
  for (size_t i = 0; i < crew->count; ++i) {
    byoc_session_destroy(crew->parts[i].session);
    byoc_codegen_report_deinit(&crew->parts[i].report);
  }
  (void)pthread_mutex_destroy(&crew->lock);
}

static byoc_status_t add_features(byoc_codegen_t *session, const byoc_codegen_report_t *report, byoc_diag_t *diag) {
  uint64_t all = 0, more = 0;
  byoc_string_t *features = &session->report->required_cpu_features;
  BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(features->data, diag, &all));
  BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(report->required_cpu_features.data, diag, &more));
  byoc_string_clear(features);
  byoc_cpu_print(all | more, features);
  return features->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

// Copies a text, or NULL, to the session.
static bool keep(byoc_codegen_t *session, const char **text) {
  if (*text == NULL) return true;
  *text = byoc_arena_copy_string(&session->arena, *text);
  return *text != NULL;
}

// Puts the answer of a part into the session.
static byoc_status_t take_part(byoc_codegen_t *session, size_t i, part_t *part, byoc_diag_t *diag) {
  byoc_codegen_result_t result = part->session->results[0];
  bool ok = keep(session, &result.reason) && keep(session, &result.precision) && keep(session, &result.lapse);
  if (ok && result.nodes != NULL) {
    result.nodes = byoc_arena_copy(&session->arena, result.nodes, result.node_count * sizeof(*result.nodes));
    ok = result.nodes != NULL;
  }
  if (!ok) return byoc_diag_out_of_memory(diag);
  session->results[i] = result;
  BYOC_RETURN_IF_ERROR(add_features(session, &part->report, diag));
  return byoc_session_absorb(session, part->session, diag);
}

// ---- the cache ----

// Looks for each answer; counts those that are not there.
static byoc_status_t look_up(const byoc_kept_answers_t *kept, crew_t *crew, size_t *out_open_count, byoc_diag_t *diag) {
  *out_open_count = crew->count;
  for (size_t i = 0; i < crew->count && kept->is_open; ++i) {
    part_t *part = &crew->parts[i];
    BYOC_RETURN_IF_ERROR(byoc_kept_answer_get(kept, part->session, part->read, diag, &part->key, &part->is_cached));
    *out_open_count -= part->is_cached;
  }
  if (!kept->is_open) return BYOC_OK;
  byoc_log(BYOC_LOG_INFO, "%s: %zu of %zu answer%s from the cache", crew->parts[0].session->target->kind->name,
           crew->count - *out_open_count, crew->count, byoc_plural(crew->count));
  return BYOC_OK;
}

static byoc_status_t store(const byoc_kept_answers_t *kept, const crew_t *crew, byoc_diag_t *diag) {
  for (size_t i = 0; i < crew->count && kept->is_open; ++i) {
    part_t *part = &crew->parts[i];
    if (part->is_cached || part->status != BYOC_OK) continue;
    BYOC_RETURN_IF_ERROR(byoc_kept_answer_put(kept, part->session, &part->key, part->read, diag));
  }
  byoc_kept_answers_close(kept);
  return BYOC_OK;
}

static byoc_status_t settle_parts(byoc_codegen_t *session, const crew_t *crew, byoc_diag_t *diag) {
  for (size_t i = 0; i < crew->count; ++i) {
    part_t *part = &crew->parts[i];
    if (part->status != BYOC_OK) {
      session->hook_error = part->session->hook_error;
      if (diag != NULL && diag->status == BYOC_OK) *diag = part->diag;
      if (session->target->kind->backend->generate == NULL) return part->status; // it has the name
      return byoc_diag_context(diag, part->status, "function '%s'", session->functions[i]->name);
    }
    BYOC_RETURN_IF_ERROR(take_part(session, i, part, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_run_parts(byoc_codegen_t *session, byoc_diag_t *diag) {
  crew_t crew = {.parts = BYOC_ARENA_ARRAY(&session->arena, part_t, session->function_count),
                 .first_failed = SIZE_MAX,
                 .task = byoc_task_current()};
  if (crew.parts == NULL) return byoc_diag_out_of_memory(diag);
  (void)pthread_mutex_init(&crew.lock, NULL);
  byoc_kept_answers_t kept;
  byoc_status_t status = byoc_kept_answers_open(session, diag, &kept);
  while (status == BYOC_OK && crew.count < session->function_count) {
    const size_t i = crew.count++;
    status = open_part(session, i, &crew.parts[i], diag);
  }
  size_t open_count = 0;
  if (status == BYOC_OK) status = look_up(&kept, &crew, &open_count, diag);
  if (status == BYOC_OK) {
    generate_parts(session, &crew, open_count);
    status = settle_parts(session, &crew, diag);
  }
  if (status == BYOC_OK) status = store(&kept, &crew, diag);
  close_parts(&crew);
  return status;
}
