// SPDX-License-Identifier: Apache-2.0
// Rules about hooks: they come back, keep no views, and accept is re-entrant where the plugin says so.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/session.h"
#include "tools/plugin_check/guard.h"
#include "tools/plugin_check/hooks.h"
#include "tools/plugin_check/trial.h"

enum { MOST_SPECIMENS = 80 };

static void build(trial_t *trial, byoc_build_extent_t extent, byoc_allocator_t allocator, const char *what) {
  byoc_diag_t diag = {0};
  trial_build_t built;
  check_ok(trial->check,
           trial_open(trial, 0, trial->specimens.items.count, &trial->targets, (byoc_placer_t){0}, extent, allocator,
                      &diag, &built),
           &diag, what);
  trial_close(&built);
}

// ---- coming back ----

// A mistake is told once for each hook.
static bool is_told(const check_t *check, const char *hook) {
  return strstr(check->answer->findings, hook) != NULL;
}

static void judge_answer(void *self, const char *hook, int32_t accepted) {
  if (accepted == 0 || accepted == 1 || is_told(self, hook)) return;
  check_fail(self, "%s answered %d: it must answer 1 (the target takes the region) or 0 (it does not)", hook,
             (int)accepted);
}

static void judge_error(void *self, const char *hook, double error) {
  if ((error >= 0 && error < HUGE_VAL) || is_told(self, hook)) return;
  check_fail(self, "%s returned %g: it must return 0 or the largest error, relative to the magnitude of a tensor", hook,
             error);
}

static void come_back(trial_t *trial) {
  trial_add_usual(trial, MOST_SPECIMENS);
  (void)byoc_target_relative_error(trial->target);
  build(trial, BYOC_BUILD_GENERATED, byoc_allocator_system(), "compiling specimens of its rules");
}

void check_hooks_return(check_t *check) {
  const hook_watch_t watch = {.self = check, .answered = judge_answer, .stated_error = judge_error};
  const byoc_target_registry_t kinds = hooks_watched(check, &watch);
  trial_each(check, &kinds, false, come_back);
}

// ---- views ----

// Answers of accept, recorded in one build and given back in the next, so that the plugin's accept does not see the
// second module: what generate then touches of the first one, accept has kept.
typedef struct record_t {
  bool *answers;
  size_t count, capacity, given;
  bool gives;
} record_t;
static record_t record;

static bool give_answer(void *self, int32_t *out_accepted) {
  (void)self;
  if (!record.gives || record.given >= record.count) return false;
  *out_accepted = record.answers[record.given++];
  return true;
}

static void keep_answer(void *self, const char *hook, int32_t accepted) {
  (void)self, (void)hook;
  if (record.gives) return;
  if (record.count == record.capacity) {
    record.capacity = record.capacity * 2 + 64;
    bool *grown = realloc(record.answers, record.capacity * sizeof(*grown));
    if (grown == NULL) abort();
    record.answers = grown;
  }
  record.answers[record.count++] = accepted != 0;
}

static void keep_no_views(trial_t *trial) {
  trial_add_usual(trial, MOST_SPECIMENS / 4);
  record.count = record.given = 0;
  record.gives = false;
  build(trial, BYOC_BUILD_GENERATED, guard_allocator(), "compiling specimens of its rules");
  record.gives = true;
  build(trial, BYOC_BUILD_GENERATED, guard_allocator(), "compiling specimens of its rules again");
  record.gives = false;
  build(trial, BYOC_BUILD_PLACED, guard_allocator(), "placing specimens of its rules a third time");
}

void check_memory_views(check_t *check) {
  const hook_watch_t watch = {.answer = give_answer, .answered = keep_answer};
  const byoc_target_registry_t kinds = hooks_watched(check, &watch);
  guard_begin(check);
  guard_name_freed("a view that an earlier hook was given: views end when the hook returns");
  trial_each(check, &kinds, false, keep_no_views);
}

// ---- several threads ----

enum { THREADS = 4, ROUNDS = 3 };

typedef struct worker_t {
  trial_t *trial;
  trial_tally_t tally;
  byoc_status_t status;
  byoc_diag_t diag;
} worker_t;

static void *place(void *self) {
  worker_t *worker = self;
  trial_build_t built;
  worker->status = trial_open(worker->trial, 0, worker->trial->specimens.items.count, &worker->trial->targets,
                              (byoc_placer_t){0}, BYOC_BUILD_PLACED, byoc_allocator_system(), &worker->diag, &built);
  if (worker->status == BYOC_OK) trial_tally(worker->trial, &built, &worker->tally);
  trial_close(&built);
  return NULL;
}

static void compare_tallies(trial_t *trial, const worker_t *worker, const trial_tally_t *alone) {
  for (size_t i = 0; i < alone->count; ++i) {
    if (worker->tally.claimed[i] == alone->claimed[i]) continue;
    const specimen_t *specimen = trial->specimens.items.data[i];
    check_fail(trial->check, "%s: %s: accept took %zu operators when several threads called it and %zu otherwise",
               specimen->rule, specimen->label, worker->tally.claimed[i], alone->claimed[i]);
    return;
  }
}

static void accept_on_threads(trial_t *trial) {
  if ((trial->target->kind->backend->flags & BYOC_BACKEND_REENTRANT) == 0) {
    check_property(trial->check, "'%s' does not say BYOC_BACKEND_REENTRANT", trial->target->kind->name);
    return;
  }
  trial_add_usual(trial, MOST_SPECIMENS);
  worker_t alone = {.trial = trial};
  check_doing(trial->check, "accept runs on one thread");
  (void)place(&alone);
  check_ok(trial->check, alone.status, &alone.diag, "placing specimens of its rules");
  check_doing(trial->check, "accept runs on %d threads", THREADS);
  for (int round = 0; round < ROUNDS; ++round) {
    worker_t workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i) {
      workers[i] = (worker_t){.trial = trial};
      if (pthread_create(&threads[i], NULL, place, &workers[i]) != 0) check_skip(trial->check, "too few threads");
    }
    for (int i = 0; i < THREADS; ++i) {
      (void)pthread_join(threads[i], NULL);
      check_ok(trial->check, workers[i].status, &workers[i].diag, "placing specimens on several threads");
      compare_tallies(trial, &workers[i], &alone.tally);
      trial_tally_deinit(&workers[i].tally);
    }
  }
  trial_tally_deinit(&alone.tally);
}

void check_threads_accept(check_t *check) {
  trial_each(check, NULL, false, accept_on_threads);
}

// ---- generate on several threads ----

static bool same_module(const byoc_runtime_module_t *a, const byoc_runtime_module_t *b) {
  bool same = strcmp(a->name, b->name) == 0 && byoc_session_same_content(a, b) &&
              a->workspace_size_bytes == b->workspace_size_bytes && a->constants.count == b->constants.count &&
              (a->json == NULL) == (b->json == NULL) && (a->json == NULL || strcmp(a->json, b->json) == 0);
  for (size_t i = 0; i < a->constants.count && same; ++i) {
    const byoc_bound_constant_t *x = &a->constants.data[i], *y = &b->constants.data[i];
    same = x->size_bytes == y->size_bytes && (x->size_bytes == 0 || memcmp(x->data, y->data, x->size_bytes) == 0);
  }
  return same;
}

static void compare_modules(trial_t *trial, const byoc_graph_module_t *alone, const byoc_graph_module_t *beside) {
  const char *kind = trial->target->kind->name;
  const size_t count = alone->runtime_modules.count;
  if (count != beside->runtime_modules.count) {
    check_fail(trial->check, "'%s' adds %zu modules on one thread, and %zu if its hook runs on several", kind, count,
               beside->runtime_modules.count);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const byoc_runtime_module_t *one = alone->runtime_modules.data[i], *other = beside->runtime_modules.data[i];
    if (same_module(one, other)) continue;
    check_fail(trial->check, "the module '%s' of '%s' is another one if its hook runs on several threads", one->name,
               kind);
    return;
  }
}

static byoc_status_t generate_with(trial_t *trial, int32_t threads, byoc_diag_t *diag, trial_build_t *out_build) {
  byoc_session_limit_threads(threads);
  const byoc_status_t status = trial_open(trial, 0, trial->specimens.items.count, &trial->targets, (byoc_placer_t){0},
                                          BYOC_BUILD_GENERATED, byoc_allocator_system(), diag, out_build);
  byoc_session_limit_threads(1);
  return status;
}

static void generate_on_threads(trial_t *trial) {
  check_t *check = trial->check;
  if ((trial->target->kind->backend->flags & BYOC_BACKEND_GENERATES_AT_ONCE) == 0) {
    check_property(check, "'%s' does not say BYOC_BACKEND_GENERATES_AT_ONCE", trial->target->kind->name);
    return;
  }
  byoc_diag_t diag = {0};
  trial_build_t alone;
  trial_add_usual(trial, MOST_SPECIMENS);
  check_doing(check, "generate runs on one thread");
  check_ok(check, generate_with(trial, 1, &diag, &alone), &diag, "compiling specimens of its rules");
  check_doing(check, "generate runs on %d threads", THREADS);
  for (int round = 0; round < ROUNDS; ++round) {
    trial_build_t beside;
    check_ok(check, generate_with(trial, THREADS, &diag, &beside), &diag, "compiling specimens on several threads");
    compare_modules(trial, alone.module, beside.module);
    trial_close(&beside);
  }
  trial_close(&alone);
}

void check_threads_generate(check_t *check) {
  trial_each(check, NULL, false, generate_on_threads);
}
