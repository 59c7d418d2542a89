#define _GNU_SOURCE
#include "core/compose/cost_measure.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/collage/estimate.h"
#include "core/compose/child.h"
#include "core/compose/compiler.h"
#include "core/compose/cost_build.h"
#include "core/compose/cost_lock.h"
#include "core/compose/cost_run.h"
#include "core/ir/structural.h"
#include "core/ops/op.h"

#define BUILD_TIMEOUT_MS 300000
#define RUN_TIMEOUT_MS   10000
#define MEMORY_LIMIT     (UINT64_C(8) << 30)
// What a large function is given on top: a slow backend does a billion operations a second, and runs it ten times.
#define RUN_MS_A_GFLOP 10000
// Functions of fewer operations are evaluated in less time than a compiler takes.
#define EVALUATED_FLOPS 2e6
// Times nearer than this are compared once more, in turns: single measurements differ by as much.
#define CLOSE_RATIO 1.1
// Artifacts kept for that (some carry a library of tens of megabytes).
#define KEPT_BYTES (UINT64_C(512) << 20)

// An artifact that was timed: the fastest of its function so far.
typedef struct built_t {
  const char *path, *target;
  double cost_ns;
} built_t;

struct byoc_cost_measurer_t {
  byoc_allocator_t allocator;
  byoc_cost_measure_options_t options;
  const byoc_target_t *native;
  const char *compiler_version; // lives as long as the process
  byoc_string_t machine;
  byoc_arena_t arena; // as long as the measurer
  byoc_arena_t call;  // until the next call
  char *folder;
  byoc_map_t references; // structural hash → path of the results; NULL where there are none
  byoc_map_t built;      // operators and signature → built_t
  uint64_t kept_bytes;
  uint64_t file_count;
  byoc_estimator_t estimator;
  bool has_estimator;
  byoc_cost_statistics_t statistics;
};

// ---- life ----

byoc_status_t byoc_cost_measurer_create(const byoc_cost_measure_options_t *options, byoc_allocator_t allocator,
                                        byoc_diag_t *diag, byoc_cost_measurer_t **out_measurer) {
  *out_measurer = NULL;
  const byoc_target_t *native = options->targets->targets.data[options->targets->targets.count - 1];
  const char *compiler = byoc_target_option_string(native, "cc"), *version = NULL;
  byoc_status_t status = byoc_compiler_version(compiler && compiler[0] ? compiler : NULL, diag, &version);
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "measuring costs");
  byoc_cost_measurer_t *measurer = byoc_allocate(allocator, 1, sizeof(*measurer));
  if (measurer == NULL) return byoc_diag_out_of_memory(diag);
  measurer->allocator = allocator;
  measurer->options = *options;
  measurer->native = native;
  measurer->compiler_version = version;
  if (measurer->options.thread_count <= 0) measurer->options.thread_count = 1;
  if (measurer->options.build_timeout_ms == 0) measurer->options.build_timeout_ms = BUILD_TIMEOUT_MS;
  if (measurer->options.run_timeout_ms == 0) measurer->options.run_timeout_ms = RUN_TIMEOUT_MS;
  if (measurer->options.memory_limit_bytes == 0) measurer->options.memory_limit_bytes = MEMORY_LIMIT;
  byoc_string_init(&measurer->machine, allocator);
  byoc_arena_init(&measurer->arena, allocator);
  byoc_arena_init(&measurer->call, allocator);
  byoc_text_map_init(&measurer->references, allocator);
  byoc_text_map_init(&measurer->built, allocator);
  byoc_machine_identity(&measurer->machine);
  if (measurer->machine.failed) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_make_temporary_directory("byoc-costs", allocator, diag, &measurer->folder);
  if (status != BYOC_OK) {
    byoc_cost_measurer_destroy(measurer);
    return status;
  }
  *out_measurer = measurer;
  return BYOC_OK;
}

void byoc_cost_measurer_destroy(byoc_cost_measurer_t *measurer) {
  if (measurer == NULL) return;
  if (measurer->folder != NULL) (void)byoc_remove_tree(measurer->folder, NULL);
  byoc_free(measurer->allocator, measurer->folder);
  byoc_map_deinit(&measurer->references);
  byoc_map_deinit(&measurer->built);
  byoc_arena_deinit(&measurer->arena);
  byoc_arena_deinit(&measurer->call);
  byoc_string_deinit(&measurer->machine);
  byoc_free(measurer->allocator, measurer);
}

byoc_cost_statistics_t byoc_cost_measurer_statistics(const byoc_cost_measurer_t *measurer) {
  return measurer->statistics;
}

// ---- one measurement ----

typedef struct measurement_t {
  byoc_cost_measurer_t *m;
  const byoc_function_t *function;
  const byoc_target_t *target;
  byoc_work_t work;
  const char *artifact;
  byoc_diag_t *diag;
  double cost_ns;
  const char *reason;
  bool passing; // the reason lies with the machine at this moment: not to be remembered
} measurement_t;

// An answer, not an error.
static byoc_status_t unusable(measurement_t *job, byoc_status_t status, const char *reason) {
  job->cost_ns = INFINITY;
  job->reason = byoc_arena_copy_string(&job->m->call, reason);
  job->passing = status == BYOC_IO || status == BYOC_CANCELLED || status == BYOC_PERMISSION;
  return job->reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(job->diag);
}

// Its own failures are in the answer of a child; `diag` says why there is none.
static byoc_status_t run_child(const measurement_t *job, uint32_t timeout_ms, void (*body)(void *, void *), void *self,
                               void *answer, size_t size, byoc_diag_t *diag) {
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms, .memory_bytes = job->m->options.memory_limit_bytes};
  return byoc_child_run(&limits, body, self, answer, size, diag);
}

// A fresh path in the measurer's folder, in the long-lived arena.
static const char *new_path(byoc_cost_measurer_t *m, const char *ending) {
  return byoc_arena_format(&m->arena, "%s/%llu%s", m->folder, (unsigned long long)m->file_count++, ending);
}

// Builds into `output`; `why` says why it could not be built.
static byoc_status_t build(const measurement_t *job, const byoc_target_t *target, const char *output, bool evaluate,
                           byoc_diag_t *why) {
  byoc_cost_measurer_t *m = job->m;
  const char *folder = byoc_arena_format(&m->call, "%s/build", m->folder);
  if (folder == NULL) return byoc_diag_out_of_memory(why);
  BYOC_RETURN_IF_ERROR(byoc_make_directories(folder, why));
  byoc_cost_build_t self = {.function = job->function,
                            .target = target,
                            .native = m->native,
                            .thread_count = m->options.thread_count,
                            .folder = folder,
                            .output = output,
                            .evaluate = evaluate};
  byoc_cost_build_answer_t answer;
  byoc_status_t status =
      run_child(job, m->options.build_timeout_ms, byoc_cost_build, &self, &answer, sizeof(answer), why);
  (void)byoc_remove_tree(folder, NULL);
  answer.message[sizeof(answer.message) - 1] = '\0';
  if (status == BYOC_OK && answer.status != BYOC_OK) status = byoc_diag_error(why, answer.status, "%s", answer.message);
  return status;
}

static uint32_t run_timeout_ms(const measurement_t *job) {
  double more_ms = (job->work.product_flops + job->work.other_flops) / 1e9 * RUN_MS_A_GFLOP;
  double timeout_ms = job->m->options.run_timeout_ms + more_ms;
  return timeout_ms < BUILD_TIMEOUT_MS ? (uint32_t)timeout_ms : BUILD_TIMEOUT_MS;
}

static byoc_status_t run(const measurement_t *job, byoc_cost_run_t *self, byoc_diag_t *why,
                         byoc_cost_run_answer_t *answer) {
  uint32_t timeout_ms = run_timeout_ms(job);
  self->thread_count = job->m->options.thread_count;
  self->limit_ns = (int64_t)timeout_ms * 1000000 / 2;
  byoc_status_t status = run_child(job, timeout_ms, byoc_cost_run, self, answer, sizeof(*answer), why);
  answer->message[sizeof(answer->message) - 1] = '\0';
  if (status == BYOC_OK && answer->status != BYOC_OK) {
    status = byoc_diag_error(why, answer->status, "%s", answer->message);
  }
  return status;
}

// ---- the reference ----

static bool is_not_random(void *self, byoc_node_t *node) {
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, is_not_random, self);
  return !byoc_node_has_trait(node, BYOC_OP_RANDOM);
}

// The results to compare with, by the native target; NULL where there are none.
static const char *make_reference(const measurement_t *job, bool evaluate) {
  byoc_cost_measurer_t *m = job->m;
  byoc_diag_t why = {0};
  const char *results = new_path(m, ".results"), *artifact = new_path(m, ".so");
  if (results == NULL || artifact == NULL) return NULL;
  byoc_status_t status = build(job, m->native, evaluate ? results : artifact, evaluate, &why);
  if (status == BYOC_OK && !evaluate) {
    byoc_cost_run_t self = {.artifacts = {artifact}, .artifact_count = 1, .record = results};
    byoc_cost_run_answer_t answer;
    status = run(job, &self, &why, &answer);
  }
  (void)unlink(artifact);
  if (status == BYOC_OK) return results;
  byoc_log(BYOC_LOG_WARNING, "candidates of '%s' are timed without being checked: the reference: %s",
           job->function->name, why.message);
  return NULL;
}

static byoc_status_t find_reference(const measurement_t *job, const char **out_path) {
  *out_path = NULL;
  byoc_cost_measurer_t *m = job->m;
  bool evaluate = job->work.product_flops + job->work.other_flops <= EVALUATED_FLOPS;
  if (!evaluate && job->target->kind->backend == NULL) return BYOC_OK; // it would be compared with itself
  if (!byoc_block_walk(job->function->body, is_not_random, NULL)) return BYOC_OK;
  uint64_t hash = byoc_function_structural_hash(job->function, BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES);
  const char *key = byoc_arena_format(&m->call, "%016llx", (unsigned long long)hash);
  if (key == NULL) return byoc_diag_out_of_memory(job->diag);
  const byoc_map_entry_t *known = byoc_text_map_find(&m->references, key);
  *out_path = known != NULL ? known->value : make_reference(job, evaluate);
  if (known == NULL && !byoc_text_map_put(&m->references, key, (void *)(uintptr_t)*out_path)) {
    return byoc_diag_out_of_memory(job->diag);
  }
  return BYOC_OK;
}

// ---- time ----

// Keeps the artifact for comparisons with later ones, or removes it.
static byoc_status_t settle_artifact(measurement_t *job, const char *key, built_t *rival) {
  byoc_cost_measurer_t *m = job->m;
  struct stat info;
  uint64_t size = stat(job->artifact, &info) == 0 ? (uint64_t)info.st_size : 0;
  bool is_best = isfinite(job->cost_ns) && (rival == NULL || job->cost_ns < rival->cost_ns);
  if (!is_best || m->kept_bytes + size > KEPT_BYTES) {
    (void)unlink(job->artifact);
    return BYOC_OK;
  }
  built_t *built = BYOC_ARENA_NEW(&m->arena, built_t);
  if (built == NULL || !byoc_text_map_put(&m->built, key, built)) return byoc_diag_out_of_memory(job->diag);
  if (rival != NULL) {
    if (stat(rival->path, &info) == 0) m->kept_bytes -= (uint64_t)info.st_size;
    (void)unlink(rival->path);
  }
  m->kept_bytes += size;
  *built = (built_t){.path = job->artifact, .target = job->target->text, .cost_ns = job->cost_ns};
  return BYOC_OK;
}

static byoc_status_t time_artifact(measurement_t *job, const char *expect, const built_t *rival) {
  byoc_diag_t why = {0};
  byoc_cost_run_answer_t answer;
  byoc_cost_run_t self = {.artifacts = {job->artifact}, .artifact_count = 1, .expect = expect};
  self.relative_error = byoc_target_relative_error(job->target);
  byoc_status_t status = run(job, &self, &why, &answer);
  if (status != BYOC_OK) return unusable(job, status, why.message);
  job->cost_ns = answer.median_ns[0];
  if (rival == NULL || strcmp(rival->target, job->target->text) == 0) return BYOC_OK;
  double ratio = job->cost_ns / rival->cost_ns;
  if (ratio > CLOSE_RATIO || ratio < 1 / CLOSE_RATIO) return BYOC_OK;
  self = (byoc_cost_run_t){.artifacts = {job->artifact, rival->path}, .artifact_count = 2};
  // Both ran before: a failure now says that the machine is busy, not more.
  if (run(job, &self, &why, &answer) == BYOC_OK && answer.median_ns[1] > 0) {
    job->cost_ns = rival->cost_ns * (answer.median_ns[0] / answer.median_ns[1]);
  }
  return BYOC_OK;
}

static byoc_status_t measure(measurement_t *job, const byoc_cost_key_t *key) {
  byoc_cost_measurer_t *m = job->m;
  byoc_diag_t why = {0};
  job->artifact = new_path(m, ".so");
  const char *built_key = byoc_arena_format(&m->call, "%s %s", key->operators, key->signature), *expect = NULL;
  if (job->artifact == NULL || built_key == NULL) return byoc_diag_out_of_memory(job->diag);
  byoc_status_t status = build(job, job->target, job->artifact, false, &why);
  if (status != BYOC_OK) {
    char reason[1100];
    snprintf(reason, sizeof(reason), "it cannot be built: %s", why.message);
    return unusable(job, status, reason);
  }
  BYOC_RETURN_IF_ERROR(find_reference(job, &expect));
  built_t *rival = byoc_text_map_get(&m->built, built_key);
  int lock = byoc_cost_lock(m->allocator);
  status = time_artifact(job, expect, rival);
  byoc_cost_unlock(lock);
  if (status == BYOC_OK) status = settle_artifact(job, built_key, rival);
  return status;
}

// ---- pricing ----

static bool is_plain(const byoc_type_t *type) {
  return byoc_type_is_static(type) && type->dtype != BYOC_DTYPE_STRING;
}

static bool can_be_run(const byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    if (!is_plain(body->parameters.data[i]->type)) return false;
  }
  for (size_t i = 0; i < body->results.count; ++i) {
    if (!is_plain(body->results.data[i]->type)) return false;
  }
  return true;
}

static byoc_status_t estimate(byoc_cost_measurer_t *m, const byoc_function_t *function, const byoc_target_t *target,
                              byoc_diag_t *diag, double *out_ns) {
  if (!m->has_estimator) {
    BYOC_RETURN_IF_ERROR(
        byoc_estimator_init(&m->estimator, m->options.thread_count, m->options.database, m->allocator, diag));
    m->has_estimator = true;
  }
  m->statistics.estimated += 1;
  *out_ns = byoc_estimate_ns(&m->estimator, function, target);
  return BYOC_OK;
}

static byoc_status_t measure_and_keep(byoc_cost_measurer_t *m, const byoc_function_t *function,
                                      const byoc_target_t *target, const byoc_cost_key_t *key, byoc_diag_t *diag,
                                      double *out_ns, const char **out_reason) {
  measurement_t job = {
      .m = m, .function = function, .target = target, .diag = diag, .work = byoc_function_work(function)};
  int64_t start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR_IN(diag, measure(&job, key), "measuring '%s' on %s", function->name, target->kind->name);
  m->statistics.measured += 1;
  m->statistics.measuring_ns += byoc_now_ns() - start_ns;
  if (!isfinite(job.cost_ns)) m->statistics.unusable += 1;
  if (m->options.database != NULL && !job.passing) {
    const byoc_cost_record_t record = {.key = *key, .cost_ns = job.cost_ns, .reason = job.reason};
    byoc_cost_database_put(m->options.database, &record);
  }
  if (isfinite(job.cost_ns)) {
    byoc_log(BYOC_LOG_INFO, "measured %s on %s: %.1f us", key->operators, target->kind->name, job.cost_ns / 1e3);
  } else {
    byoc_log(BYOC_LOG_INFO, "%s cannot be used on %s: %s", key->operators, target->kind->name, job.reason);
  }
  *out_ns = job.cost_ns;
  *out_reason = job.reason;
  return BYOC_OK;
}

static byoc_status_t make_key(byoc_cost_measurer_t *m, const byoc_function_t *function, const byoc_target_t *target,
                              byoc_arena_t *arena, byoc_diag_t *diag, byoc_cost_key_t *out_key) {
  const byoc_cost_key_inputs_t inputs = {.function = function,
                                         .target = target,
                                         .native = m->native,
                                         .compiler_version = m->compiler_version,
                                         .machine = m->machine.data,
                                         .thread_count = m->options.thread_count};
  return byoc_cost_key_make(&inputs, arena, diag, out_key);
}

static byoc_status_t look_up(void *self, const byoc_function_t *function, const byoc_target_t *target,
                             byoc_arena_t *arena, byoc_diag_t *diag, byoc_known_price_t *out_price) {
  byoc_cost_measurer_t *m = self;
  *out_price = (byoc_known_price_t){.cost_ns = NAN};
  if (!can_be_run(function)) {
    out_price->is_estimate = true;
    return estimate(m, function, target, diag, &out_price->cost_ns);
  }
  byoc_cost_key_t key;
  BYOC_RETURN_IF_ERROR(make_key(m, function, target, arena, diag, &key));
  out_price->id = key.id;
  byoc_cost_record_t record;
  if (m->options.database == NULL || !byoc_cost_database_get(m->options.database, key.id, arena, &record)) {
    return BYOC_OK;
  }
  m->statistics.hits += 1;
  out_price->cost_ns = record.cost_ns;
  out_price->reason = record.reason;
  return BYOC_OK;
}

static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  byoc_cost_measurer_t *m = self;
  *out_ns = INFINITY;
  *out_reason = NULL;
  byoc_arena_reset(&m->call);
  if (!can_be_run(function)) return estimate(m, function, target, diag, out_ns);
  byoc_cost_key_t key;
  BYOC_RETURN_IF_ERROR(make_key(m, function, target, &m->call, diag, &key));
  byoc_cost_record_t record;
  if (m->options.database != NULL && byoc_cost_database_get(m->options.database, key.id, &m->call, &record)) {
    m->statistics.hits += 1;
    *out_ns = record.cost_ns;
    *out_reason = record.reason;
    return BYOC_OK;
  }
  return measure_and_keep(m, function, target, &key, diag, out_ns, out_reason);
}

byoc_function_pricer_t byoc_cost_measurer_pricer(byoc_cost_measurer_t *measurer) {
  return (byoc_function_pricer_t){.self = measurer, .price = price, .look_up = look_up};
}
