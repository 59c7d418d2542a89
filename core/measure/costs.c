// SPDX-License-Identifier: Apache-2.0
// Finds costs for the search: in the database, by measuring, or by estimating.
#include "core/measure/costs.h"

#include <math.h>
#include <string.h>

#include "core/base/log.h"
#include "core/collage/estimate.h"
#include "core/compose/cc/compiler.h"
#include "core/compose/cc/native.h"
#include "core/measure/batch.h"
#include "core/measure/verdict.h"

#define BUILD_TIMEOUT_MS 300000
#define RUN_TIMEOUT_MS   10000
#define MEMORY_LIMIT     (UINT64_C(8) << 30)
// The most bytes of weights in one artifact.
#define BATCH_BYTES (UINT64_C(256) << 20)
// Up to the first of these sizes everything stays in the processor's own cache; beyond the last one nothing fits any
// cache.
#define COLD_BYTES_LEAST (UINT64_C(1) << 20)
#define COLD_BYTES_MOST  (UINT64_C(64) << 20)

struct byoc_cost_measurer_t {
  byoc_allocator_t allocator;
  byoc_cost_measure_options_t options;
  const byoc_target_t *native;
  const char *compiler_version; // lives as long as the process
  byoc_string_t machine;
  const char **devices; // by target: the identity of its device, if that was measured; in the bench's arena
  byoc_arena_t call;    // until the next call
  byoc_cost_bench_t bench;
  byoc_estimator_t estimator;
  bool has_estimator;
  byoc_cost_statistics_t statistics;
};

// ---- life ----

// Rounds to the nearest power of two, so that models of about the same size share costs.
static uint64_t round_cold_bytes(uint64_t bytes) {
  uint64_t rounded = COLD_BYTES_LEAST;
  if (bytes < rounded) return 0;
  while (rounded + rounded / 2 < bytes && rounded < COLD_BYTES_MOST) rounded *= 2;
  return rounded;
}

static void set_defaults(byoc_cost_measure_options_t *options) {
  if (options->thread_count <= 0) options->thread_count = 1;
  if (options->build_timeout_ms == 0) options->build_timeout_ms = BUILD_TIMEOUT_MS;
  if (options->run_timeout_ms == 0) options->run_timeout_ms = RUN_TIMEOUT_MS;
  if (options->memory_limit_bytes == 0) options->memory_limit_bytes = MEMORY_LIMIT;
  options->model_bytes = round_cold_bytes(options->model_bytes);
}

byoc_status_t byoc_cost_measurer_create(const byoc_cost_measure_options_t *options, byoc_allocator_t allocator,
                                        byoc_diag_t *diag, byoc_cost_measurer_t **out_measurer) {
  *out_measurer = NULL;
  const byoc_target_t *native = byoc_target_list_native(options->targets);
  const char *version = NULL;
  byoc_status_t status = byoc_c_compiler_version(byoc_native_compiler(options->targets), diag, &version);
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "measuring costs");
  byoc_cost_measurer_t *measurer = byoc_allocate(allocator, 1, sizeof(*measurer));
  if (measurer == NULL) return byoc_diag_out_of_memory(diag);
  *measurer = (byoc_cost_measurer_t){
      .allocator = allocator, .options = *options, .native = native, .compiler_version = version};
  set_defaults(&measurer->options);
  byoc_string_init(&measurer->machine, allocator);
  byoc_arena_init(&measurer->call, allocator);
  measurer->bench = (byoc_cost_bench_t){.allocator = allocator,
                                        .build = options->build,
                                        .native = native,
                                        .thread_count = measurer->options.thread_count,
                                        .build_timeout_ms = measurer->options.build_timeout_ms,
                                        .run_timeout_ms = measurer->options.run_timeout_ms,
                                        .memory_limit_bytes = measurer->options.memory_limit_bytes,
                                        .cold_bytes = measurer->options.model_bytes};
  status = byoc_cost_bench_init(&measurer->bench, diag);
  if (status == BYOC_OK) {
    measurer->devices = BYOC_ARENA_ARRAY(&measurer->bench.arena, const char *, options->targets->targets.count);
    measurer->bench.code_mib = BYOC_ARENA_ARRAY(&measurer->bench.arena, double, options->targets->targets.count);
    if (measurer->devices == NULL || measurer->bench.code_mib == NULL) status = byoc_diag_out_of_memory(diag);
  }
  byoc_machine_identity(&measurer->machine);
  if (status == BYOC_OK && measurer->machine.failed) status = byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) {
    byoc_cost_measurer_destroy(measurer);
    return status;
  }
  *out_measurer = measurer;
  return BYOC_OK;
}

void byoc_cost_measurer_destroy(byoc_cost_measurer_t *measurer) {
  if (measurer == NULL) return;
  byoc_cost_bench_deinit(&measurer->bench);
  byoc_arena_deinit(&measurer->call);
  byoc_string_deinit(&measurer->machine);
  byoc_free(measurer->allocator, measurer);
}

byoc_cost_statistics_t byoc_cost_measurer_statistics(const byoc_cost_measurer_t *measurer) {
  return measurer->statistics;
}

// ---- known costs ----

static byoc_status_t estimate(byoc_cost_measurer_t *m, const byoc_function_t *function, const byoc_target_t *target,
                              byoc_diag_t *diag, double *out_ns) {
  if (!m->has_estimator) {
    BYOC_RETURN_IF_ERROR(
        byoc_estimator_init(&m->estimator, m->options.thread_count, m->options.database, m->allocator, diag));
    byoc_estimator_limit(&m->estimator, byoc_target_cpu_features(byoc_target_list_native(m->options.targets), "mcpu"),
                         byoc_target_list_foreign(m->options.targets) != NULL);
    m->has_estimator = true;
  }
  m->statistics.estimated += 1;
  *out_ns = byoc_estimate_ns(&m->estimator, function, target);
  return BYOC_OK;
}

static byoc_status_t make_key(byoc_cost_measurer_t *m, const byoc_function_t *function, const byoc_target_t *target,
                              byoc_arena_t *arena, byoc_diag_t *diag, byoc_cost_key_t *out_key) {
  const char *device = m->devices[target->index];
  const char *machine = device != NULL ? byoc_arena_format(arena, "%s; %s", m->machine.data, device) : m->machine.data;
  if (machine == NULL) return byoc_diag_out_of_memory(diag);
  const byoc_cost_key_inputs_t inputs = {.function = function,
                                         .target = target,
                                         .native = m->native,
                                         .compiler_version = m->compiler_version,
                                         .machine = machine,
                                         .thread_count = m->options.thread_count,
                                         .cold_bytes = m->options.model_bytes};
  return byoc_cost_key_make(&inputs, arena, diag, out_key);
}

// The native target computes every operator, so it has a cost even if it cannot be measured; only a wrong result makes
// it unusable.
static bool is_native(const byoc_target_t *target) {
  return target->kind->backend == NULL;
}

static bool answer_from_database(byoc_cost_measurer_t *m, const char *id, const byoc_target_t *target,
                                 byoc_arena_t *arena, byoc_cost_record_t *out_record) {
  if (m->options.database == NULL || !byoc_cost_database_get(m->options.database, id, arena, out_record)) return false;
  if (is_native(target) && !isfinite(out_record->cost_ns)) return false; // it came from an import
  m->statistics.hits += 1;
  return true;
}

static byoc_status_t look_up(void *self, const byoc_function_t *function, const byoc_target_t *target,
                             byoc_arena_t *arena, byoc_diag_t *diag, byoc_known_price_t *out_price) {
  byoc_cost_measurer_t *m = self;
  *out_price = (byoc_known_price_t){.cost_ns = NAN};
  if (!byoc_cost_can_be_run(function)) {
    out_price->is_estimate = true;
    return estimate(m, function, target, diag, &out_price->cost_ns);
  }
  byoc_cost_key_t key;
  BYOC_RETURN_IF_ERROR(make_key(m, function, target, arena, diag, &key));
  out_price->id = key.id;
  byoc_cost_record_t record;
  if (!answer_from_database(m, key.id, target, arena, &record)) return BYOC_OK;
  out_price->cost_ns = record.cost_ns;
  out_price->reason = record.reason;
  out_price->is_fallback = record.is_fallback;
  return BYOC_OK;
}

// ---- measuring ----

typedef struct question_t {
  byoc_price_request_t *request;
  byoc_cost_key_t key;
  byoc_cost_task_t task;
} question_t;

static byoc_status_t take_answer(byoc_cost_measurer_t *m, const question_t *question, byoc_diag_t *diag) {
  const byoc_cost_task_t *task = &question->task;
  const char *operators = question->key.operators, *target = task->target->kind->name;
  question->request->cost_ns = task->cost_ns;
  question->request->reason = isfinite(task->cost_ns) ? NULL : task->reason;
  question->request->is_fallback = task->is_fallback;
  question->request->is_passing = !task->is_lasting;
  question->request->is_wrong = task->is_wrong;
  m->statistics.measured += 1;
  if (!isfinite(task->cost_ns)) m->statistics.unusable += 1;
  if (task->is_wrong && is_native(task->target)) {
    byoc_log(BYOC_LOG_WARNING, "the code of %s for %s computes something else, and is not used: %s", target, operators,
             task->reason);
    return BYOC_OK; // not remembered: the next build looks again
  }
  if (!isfinite(task->cost_ns) && is_native(task->target)) {
    byoc_log(BYOC_LOG_WARNING, "the cost of %s on %s is estimated: %s", operators, target, task->reason);
    question->request->reason = NULL;
    return estimate(m, task->function, task->target, diag, &question->request->cost_ns);
  }
  if (m->options.database != NULL && task->is_lasting) {
    const byoc_cost_record_t record = {.key = question->key,
                                       .cost_ns = task->cost_ns,
                                       .reason = question->request->reason,
                                       .is_fallback = task->is_fallback};
    byoc_cost_database_put(m->options.database, &record);
  }
  if (isfinite(task->cost_ns)) {
    byoc_digest_t key;
    const bool is_right = task->is_compared && !is_native(task->target);
    if (is_right) {
      BYOC_RETURN_IF_ERROR(
          byoc_verdict_of_region(task->function, task->target, m->native, m->compiler_version, diag, &key));
      byoc_verdict_note_right(&key);
    }
    byoc_log(BYOC_LOG_INFO, "measured %s on %s: %.1f us", operators, target, task->cost_ns / 1e3);
  } else {
    byoc_log(BYOC_LOG_INFO, "%s cannot be used on %s: %s", operators, target, task->reason);
  }
  return BYOC_OK;
}

// Collects the next questions of one target, as many as go into one artifact; false if there are none.
static bool take_batch(question_t *questions, size_t count, bool *asked, question_t **out, size_t *out_count) {
  double bytes = 0;
  *out_count = 0;
  for (size_t i = 0; i < count && *out_count < BYOC_COST_PARTITIONS_MAX; ++i) {
    const byoc_cost_task_t *task = &questions[i].task;
    if (asked[i] || (*out_count > 0 && task->target != out[0]->task.target)) continue;
    if (*out_count > 0 && bytes + task->work.bytes > (double)BATCH_BYTES) continue;
    bytes += task->work.bytes;
    asked[i] = true;
    out[(*out_count)++] = &questions[i];
  }
  return *out_count > 0;
}

static byoc_status_t measure(byoc_cost_measurer_t *m, question_t *questions, size_t count, byoc_diag_t *diag) {
  question_t *batch[BYOC_COST_PARTITIONS_MAX];
  byoc_cost_task_t *tasks[BYOC_COST_PARTITIONS_MAX];
  size_t batch_count = 0;
  bool *asked = BYOC_ARENA_ARRAY(&m->call, bool, count);
  if (asked == NULL) return byoc_diag_out_of_memory(diag);
  while (take_batch(questions, count, asked, batch, &batch_count)) {
    for (size_t i = 0; i < batch_count; ++i) tasks[i] = &batch[i]->task;
    int64_t start_ns = byoc_now_ns();
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_cost_batch_measure(&m->bench, tasks, batch_count, &m->call, diag),
                            "measuring %zu function%s, '%s' first, on %s", batch_count, byoc_plural(batch_count),
                            tasks[0]->function->name, tasks[0]->target->kind->name);
    int64_t taken_ns = byoc_now_ns() - start_ns;
    m->statistics.measuring_ns += taken_ns;
    for (size_t i = 0; i < batch_count; ++i) BYOC_RETURN_IF_ERROR(take_answer(m, batch[i], diag));
    byoc_log(BYOC_LOG_INFO, "%zu on %s in %.2f s", batch_count, tasks[0]->target->kind->name, (double)taken_ns / 1e9);
  }
  return BYOC_OK;
}

static byoc_status_t price_all(void *self, byoc_price_request_t *requests, size_t count, byoc_diag_t *diag) {
  byoc_cost_measurer_t *m = self;
  byoc_arena_reset(&m->call);
  question_t *questions = BYOC_ARENA_ARRAY(&m->call, question_t, count);
  if (questions == NULL) return byoc_diag_out_of_memory(diag);
  size_t question_count = 0;
  for (size_t i = 0; i < count; ++i) {
    byoc_price_request_t *request = &requests[i];
    request->cost_ns = INFINITY;
    request->reason = NULL;
    request->is_fallback = request->is_passing = request->is_wrong = false;
    if (!byoc_cost_can_be_run(request->function)) {
      BYOC_RETURN_IF_ERROR(estimate(m, request->function, request->target, diag, &request->cost_ns));
      continue;
    }
    question_t *question = &questions[question_count];
    *question = (question_t){.request = request};
    BYOC_RETURN_IF_ERROR(make_key(m, request->function, request->target, &m->call, diag, &question->key));
    byoc_cost_record_t record;
    if (answer_from_database(m, question->key.id, request->target, &m->call, &record)) {
      request->cost_ns = record.cost_ns;
      request->reason = record.reason;
      request->is_fallback = record.is_fallback;
      continue;
    }
    question->task = (byoc_cost_task_t){.function = request->function,
                                        .target = request->target,
                                        .work = byoc_function_work(request->function),
                                        .cost_ns = INFINITY};
    question->task.computes = byoc_arena_format(&m->call, "%s %s", question->key.operators, question->key.signature);
    if (question->task.computes == NULL) return byoc_diag_out_of_memory(diag);
    question_count += 1;
  }
  return measure(m, questions, question_count, diag);
}

static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  byoc_price_request_t request = {.function = function, .target = target, .cost_ns = INFINITY};
  byoc_status_t status = price_all(self, &request, 1, diag);
  *out_ns = request.cost_ns;
  *out_reason = request.reason;
  return status;
}

// ---- devices ----

// The figures of a device, as notes in the database.
enum { FIGURES = 5 };
typedef struct figures_t {
  const char *ids[FIGURES];
  double *values[FIGURES];
} figures_t;

static bool list_figures(byoc_cost_measurer_t *m, const char *identity, byoc_device_costs_t *costs, figures_t *out) {
  static const char *const names[FIGURES] = {"command", "upload", "upload_byte", "download", "download_byte"};
  double *const values[] = {&costs->command_ns, &costs->base_ns[BYOC_DEVICE_UPLOAD],
                            &costs->ns_per_byte[BYOC_DEVICE_UPLOAD], &costs->base_ns[BYOC_DEVICE_DOWNLOAD],
                            &costs->ns_per_byte[BYOC_DEVICE_DOWNLOAD]};
  for (size_t i = 0; i < FIGURES; ++i) {
    out->values[i] = values[i];
    out->ids[i] = byoc_arena_format(&m->call, "device %s; %s: %s", m->machine.data, identity, names[i]);
    if (out->ids[i] == NULL) return false;
  }
  return true;
}

// Builds the function for the target in a child process, which then measures the device by the driver that came along.
// Earlier figures of such a device stay, so that equal builds make equal plans.
static byoc_status_t measure_device(void *self, const byoc_function_t *function, const byoc_target_t *target,
                                    byoc_diag_t *diag, byoc_device_costs_t *out_costs) {
  byoc_cost_measurer_t *m = self;
  byoc_cost_database_t *database = m->options.database;
  figures_t figures;
  byoc_arena_reset(&m->call);
  byoc_cost_building_t *building = BYOC_ARENA_NEW(&m->call, byoc_cost_building_t);
  if (building == NULL) return byoc_diag_out_of_memory(diag);
  building->build = (byoc_cost_build_t){.functions = {function}, .count = 1, .target = target, .is_for_device = true};
  byoc_cost_bench_start(&m->bench, building);
  if (byoc_cost_bench_finish(building) != BYOC_OK) return byoc_diag_adopt(diag, &building->why);
  building->answer.device_identity[BYOC_DEVICE_IDENTITY_SIZE - 1] = '\0';
  const char *identity = byoc_arena_copy_string(&m->bench.arena, building->answer.device_identity);
  if (identity == NULL || !list_figures(m, identity, out_costs, &figures)) return byoc_diag_out_of_memory(diag);
  m->devices[target->index] = identity;
  bool is_known = database != NULL;
  for (size_t i = 0; i < FIGURES && is_known; ++i) {
    is_known = byoc_cost_database_get_note(database, figures.ids[i], figures.values[i]);
  }
  if (!is_known) *out_costs = building->answer.device;
  for (size_t i = 0; i < FIGURES && !is_known && database != NULL; ++i) {
    byoc_cost_database_put_note(database, figures.ids[i], *figures.values[i]);
  }
  byoc_log(BYOC_LOG_INFO,
           "%s runs on %s: %.1f us for a command, copies %.1f us + %.2f ns/byte to it, %.1f us + %.2f ns/byte back",
           target->kind->name, identity, out_costs->command_ns / 1e3, out_costs->base_ns[BYOC_DEVICE_UPLOAD] / 1e3,
           out_costs->ns_per_byte[BYOC_DEVICE_UPLOAD], out_costs->base_ns[BYOC_DEVICE_DOWNLOAD] / 1e3,
           out_costs->ns_per_byte[BYOC_DEVICE_DOWNLOAD]);
  return BYOC_OK;
}

// ---- sizes ----

// The least size of an artifact with code of the target, in this build or an earlier one, in whole MiB: kernels are
// smaller than that. NaN: none was built.
static double size_mib(void *self, const byoc_target_t *target) {
  byoc_cost_measurer_t *m = self;
  byoc_cost_database_t *database = m->options.database;
  double least = m->bench.code_mib[target->index], noted = 0;
  byoc_string_t id;
  byoc_string_init(&id, m->allocator);
  byoc_string_appendf(&id, "MiB of %s; ", target->text);
  byoc_target_kind_print_maker(target->kind, &id);
  const bool is_noted = database != NULL && !id.failed && byoc_cost_database_get_note(database, id.data, &noted);
  const bool is_news = least > 0 && (!is_noted || least < noted);
  if (is_noted && !is_news) least = noted;
  if (is_news && database != NULL && !id.failed) byoc_cost_database_put_note(database, id.data, least);
  byoc_string_deinit(&id);
  return least > 0 ? floor(least) : NAN;
}

byoc_function_pricer_t byoc_cost_measurer_pricer(byoc_cost_measurer_t *measurer) {
  return (byoc_function_pricer_t){.self = measurer,
                                  .price = price,
                                  .price_all = price_all,
                                  .look_up = look_up,
                                  .measure_device = measure_device,
                                  .size_mib = size_mib};
}
