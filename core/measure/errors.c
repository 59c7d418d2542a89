// SPDX-License-Identifier: Apache-2.0
// Builds a model with switches in a child, runs it in another one, and compares its outputs with the exact ones.
#define _GNU_SOURCE
#include "core/measure/errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/ir/element.h"
#include "core/measure/candidate.h"
#include "core/measure/runner.h"

// The limit for one build.
#define BUILD_TIMEOUT_MS 1800000
// Runs may take so many times as long as the longest one before: a plan may be slower, and the machine may be busy.
#define RUN_SLACK 10.0

// ---- the norm ----

double byoc_relative_error(uint32_t dtype, const void *data, const void *reference, size_t count) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < count; ++i) {
    const double exact = byoc_element_f64((byoc_dtype_t)dtype, reference, i);
    const double off = byoc_element_f64((byoc_dtype_t)dtype, data, i) - exact;
    difference += off * off;
    size += exact * exact;
  }
  if (!isfinite(size)) return NAN;
  if (!isfinite(difference)) return INFINITY;
  if (difference <= 0) return 0;
  return size > 0 ? sqrt(difference / size) : INFINITY;
}

// ---- what can be measured ----

static byoc_status_t check_ports(const byoc_error_measurer_t *measurer, const byoc_block_t *body, byoc_diag_t *diag) {
  size_t floats = 0;
  for (size_t r = 0; r < body->results.count; ++r) {
    const byoc_type_t *type = body->results.data[r]->type;
    floats += type != NULL && byoc_dtype_is_any_float(type->dtype);
  }
  if (floats == 0) {
    byoc_diag_error(diag, BYOC_UNSUPPORTED,
                    "an error budget needs an output of floats: the relative error of integers means nothing");
    byoc_diag_hint(diag,
                   "make the floats that they are found from an output, too, for example the scores of an ArgMax");
    return BYOC_UNSUPPORTED;
  }
  for (size_t r = 0; r < body->results.count && floats < body->results.count; ++r) {
    const byoc_type_t *type = body->results.data[r]->type;
    if (type != NULL && byoc_dtype_is_any_float(type->dtype)) continue;
    byoc_log(BYOC_LOG_WARNING, "the error budget does not cover output '%s', which is not of floats",
             body->result_names.data[r]);
  }
  return measurer->samples.count > 0
             ? BYOC_OK
             : byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "an error budget needs samples of the inputs");
}

byoc_status_t byoc_error_measurer_check(const byoc_error_measurer_t *measurer, byoc_diag_t *diag) {
  const byoc_function_t *main = byoc_graph_module_main(measurer->module);
  if (main == NULL || !byoc_cost_can_be_run(main)) {
    byoc_diag_error(diag, BYOC_UNSUPPORTED,
                    "an error budget needs a model whose inputs and outputs are tensors of known sizes");
    byoc_diag_hint(diag, "give symbolic dimensions their values with --dim NAME=VALUE");
    return BYOC_UNSUPPORTED;
  }
  return check_ports(measurer, main->body, diag);
}

// ---- building ----

typedef struct switched_t {
  byoc_error_apply_t apply;
  void *context;
} switched_t;

static byoc_status_t place(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                           byoc_diag_t *diag, byoc_placement_t *placement) {
  (void)module;
  (void)targets;
  const switched_t *switched = self;
  return switched->apply(switched->context, placement, diag);
}

static byoc_status_t build(const byoc_error_measurer_t *measurer, byoc_error_apply_t apply, void *context,
                           const char *output, byoc_diag_t *diag) {
  switched_t switched = {apply, context};
  byoc_plan_job_t job = {.build = measurer->build,
                         .plan = {.module = measurer->module,
                                  .targets = measurer->targets,
                                  .placer = {.self = &switched, .place = place, .strategy = "rival"},
                                  .thread_count = measurer->thread_count,
                                  .output = output,
                                  .allocator = measurer->allocator},
                         .folder = measurer->folder};
  BYOC_RETURN_IF_ERROR(byoc_plan_job_start(&job, BUILD_TIMEOUT_MS, diag));
  return byoc_plan_job_wait(&job, diag);
}

// ---- running ----

typedef struct run_t {
  byoc_error_measurer_t *measurer;
  const char *switched, *plan; // artifacts; plan NULL: the one with switches is compared with itself
  const uint8_t *settings;
  size_t count, sample_count;
  int64_t budget_ns;
} run_t;

typedef struct run_answer_t {
  int32_t status;
  char message[500];
  int64_t run_ns;                 // the longest run
  byoc_measured_error_t errors[]; // [setting]
} run_answer_t;

static size_t elements_of(const byoc_tensor_info_t *info) {
  size_t count = 1;
  for (uint32_t d = 0; d < info->rank; ++d) count *= (size_t)info->dims[d];
  return count;
}

static void fill(const run_t *run, const byoc_cost_runner_t *runner, size_t sample, size_t input_count) {
  for (size_t i = 0; i < input_count; ++i) {
    const size_t size = (size_t)runner->table->inputs[i].size_bytes;
    if (size > 0) memcpy(runner->inputs[i], run->measurer->samples.inputs[sample][i], size);
  }
}

// The worst output's error.
static byoc_status_t compare(const byoc_cost_runner_t *runner, void *const *exact, byoc_diag_t *diag,
                             double *out_error) {
  *out_error = 0;
  for (uint32_t o = 0; o < runner->table->output_count; ++o) {
    const byoc_tensor_info_t *info = &runner->table->outputs[o];
    if (!byoc_dtype_is_any_float((byoc_dtype_t)info->dtype)) continue;
    const double error = byoc_relative_error(info->dtype, runner->outputs[o], exact[o], elements_of(info));
    if (isnan(error)) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                             "output '%s' has NaN or infinities for a sample of the inputs", info->name);
    }
    if (error > *out_error) *out_error = error;
  }
  return BYOC_OK;
}

static byoc_status_t check_not_zero(const byoc_cost_runner_t *runner, void *const *exact, byoc_diag_t *diag) {
  for (uint32_t o = 0; o < runner->table->output_count; ++o) {
    const byoc_tensor_info_t *info = &runner->table->outputs[o];
    bool is_zero = byoc_dtype_is_any_float((byoc_dtype_t)info->dtype);
    const size_t count = elements_of(info);
    for (size_t i = 0; is_zero && i < count; ++i) {
      const double value = byoc_element_f64((byoc_dtype_t)info->dtype, exact[o], i);
      is_zero = !(value < 0) && !(value > 0) && !isnan(value);
    }
    if (!is_zero || count == 0) continue;
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                    "output '%s' is all zero for a sample of the inputs: it has no "
                    "relative error",
                    info->name);
    byoc_diag_hint(diag, "give typical inputs with --calibrate");
    return BYOC_INVALID_ARGUMENT;
  }
  return BYOC_OK;
}

static byoc_status_t copy_outputs(const byoc_cost_runner_t *runner, byoc_arena_t *arena, byoc_diag_t *diag,
                                  void ***out) {
  if (*out == NULL) *out = BYOC_ARENA_ARRAY(arena, void *, runner->table->output_count + 1);
  for (uint32_t o = 0; *out != NULL && o < runner->table->output_count; ++o) {
    const size_t size = (size_t)runner->table->outputs[o].size_bytes;
    if ((*out)[o] == NULL) (*out)[o] = byoc_arena_allocate_aligned(arena, size + 1, BYOC_BUFFER_ALIGNMENT);
    if ((*out)[o] == NULL) return byoc_diag_out_of_memory(diag);
    memcpy((*out)[o], runner->outputs[o], size);
  }
  return *out != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t run_once(const byoc_cost_runner_t *runner, byoc_diag_t *diag, int64_t *longest_ns) {
  const int64_t start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR(byoc_cost_runner_run(runner, diag));
  const int64_t taken_ns = byoc_now_ns() - start_ns + 1; // never 0
  if (taken_ns > *longest_ns) *longest_ns = taken_ns;
  return BYOC_OK;
}

// All settings on one sample.
static byoc_status_t run_sample(const run_t *run, size_t sample, const byoc_cost_runner_t *switched,
                                const byoc_cost_runner_t *plan, void ***exact, byoc_arena_t *arena, int64_t end_ns,
                                byoc_diag_t *diag, run_answer_t *answer) {
  const size_t switch_count = run->measurer->switch_count;
  const size_t input_count = switched->table->input_count - (switch_count > 0);
  uint8_t *switches = switch_count > 0 ? switched->inputs[input_count] : NULL;
  fill(run, switched, sample, input_count);
  if (switches != NULL) memset(switches, 0, switch_count);
  BYOC_RETURN_IF_ERROR(run_once(switched, diag, &answer->run_ns));
  BYOC_RETURN_IF_ERROR(copy_outputs(switched, arena, diag, exact));
  BYOC_RETURN_IF_ERROR(check_not_zero(switched, *exact, diag));
  const byoc_cost_runner_t *runner = plan != NULL ? plan : switched;
  if (plan != NULL) fill(run, plan, sample, input_count);
  for (size_t k = 0; k < run->count; ++k) {
    byoc_measured_error_t *measured = &answer->errors[k];
    double error = 0;
    if (byoc_now_ns() > end_ns) break;
    if (plan == NULL) memcpy(switches, run->settings + k * switch_count, switch_count);
    BYOC_RETURN_IF_ERROR(run_once(runner, diag, &answer->run_ns));
    BYOC_RETURN_IF_ERROR(compare(runner, *exact, diag, &error));
    if (!(error <= measured->error)) measured->error = error; // NaN before the first sample
    measured->sample_count += 1;
  }
  return BYOC_OK;
}

static byoc_status_t run_all(const run_t *run, byoc_arena_t *arena, byoc_diag_t *diag, run_answer_t *answer) {
  byoc_cost_runner_t switched, plan;
  const int32_t threads = run->measurer->thread_count;
  BYOC_RETURN_IF_ERROR(byoc_cost_runner_open(run->switched, threads, arena, diag, &switched));
  if (run->plan != NULL) BYOC_RETURN_IF_ERROR(byoc_cost_runner_open(run->plan, threads, arena, diag, &plan));
  const int64_t end_ns = run->budget_ns > 0 ? byoc_now_ns() + run->budget_ns : INT64_MAX;
  void **exact = NULL;
  for (size_t k = 0; k < run->count; ++k) answer->errors[k].error = NAN;
  for (size_t sample = 0; sample < run->sample_count; ++sample) {
    if (sample > 0 && byoc_now_ns() > end_ns) break;
    BYOC_RETURN_IF_ERROR(
        run_sample(run, sample, &switched, run->plan != NULL ? &plan : NULL, &exact, arena, end_ns, diag, answer));
  }
  return BYOC_OK;
}

static void run_body(void *self, void *answer) {
  run_answer_t *out = answer;
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  out->status = run_all(self, &arena, &diag, out);
  if (out->status != BYOC_OK) snprintf(out->message, sizeof(out->message), "%s\n%s", diag.message, diag.hint);
}

uint32_t byoc_error_timeout_ms(const byoc_error_measurer_t *measurer, size_t run_count, int64_t budget_ns) {
  const double run_ms = measurer->run_timeout_ms > 0 ? measurer->run_timeout_ms : BYOC_ERROR_RUN_TIMEOUT_S * 1e3;
  const double expected_ns = (double)run_count * (double)measurer->run_ns * RUN_SLACK;
  const double total_ms = run_ms + (budget_ns > 0 ? (double)budget_ns : expected_ns) / 1e6;
  return total_ms < UINT32_MAX ? (uint32_t)total_ms : UINT32_MAX;
}

// The message of a failed run, with its hint behind it on a line of its own.
static byoc_status_t adopt_failure(const run_answer_t *answer, byoc_diag_t *diag) {
  const size_t first = strcspn(answer->message, "\n");
  byoc_diag_error(diag, answer->status, "%.*s", (int)first, answer->message);
  if (answer->message[first] != '\0' && answer->message[first + 1] != '\0') {
    byoc_diag_hint(diag, "%s", answer->message + first + 1);
  }
  return answer->status;
}

// If the child takes too long nothing is known of its settings, which is no failure.
static byoc_status_t run_child(run_t *run, byoc_diag_t *diag, byoc_measured_error_t *out_errors) {
  byoc_error_measurer_t *measurer = run->measurer;
  const size_t size = sizeof(run_answer_t) + run->count * sizeof(*out_errors);
  run_answer_t *answer = byoc_allocate(measurer->allocator, 1, size);
  if (answer == NULL) return byoc_diag_out_of_memory(diag);
  const uint32_t timeout_ms = byoc_error_timeout_ms(measurer, (run->count + 1) * run->sample_count, run->budget_ns);
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms};
  byoc_child_t child;
  byoc_diag_t why = {0};
  byoc_status_t status = byoc_child_start(&limits, run_body, run, answer, size, &why, &child);
  const bool has_started = status == BYOC_OK;
  if (has_started) status = byoc_child_wait(&child, &why);
  const bool is_late = has_started && status == BYOC_TOOL && child.end == BYOC_CHILD_LATE;
  if (is_late)
    byoc_log(BYOC_LOG_WARNING, "errors of plans were not measured: a process that runs them: %s", why.message);
  answer->message[sizeof(answer->message) - 1] = '\0';
  if (status == BYOC_OK && answer->status == BYOC_OK) {
    if (run->count > 0) memcpy(out_errors, answer->errors, run->count * sizeof(*out_errors));
    if (answer->run_ns > measurer->run_ns) measurer->run_ns = answer->run_ns;
  } else if (status == BYOC_OK) {
    status = adopt_failure(answer, diag);
  } else {
    status = is_late ? BYOC_OK : byoc_diag_adopt(diag, &why);
  }
  byoc_free(measurer->allocator, answer);
  return status;
}

// Without a budget, the time of one run is what limits the others; the exact plan tells it if no run did before.
static byoc_status_t run_settings(run_t *run, byoc_diag_t *diag, byoc_measured_error_t *out_errors) {
  byoc_measured_error_t none;
  run_t first = {.measurer = run->measurer, .switched = run->switched, .sample_count = 1};
  for (size_t k = 0; k < run->count; ++k) out_errors[k] = (byoc_measured_error_t){.error = NAN};
  if (run->budget_ns <= 0 && run->measurer->run_ns == 0) {
    BYOC_RETURN_IF_ERROR(run_child(&first, diag, &none));
    if (run->measurer->run_ns == 0) return BYOC_OK; // it took too long
  }
  return run_child(run, diag, out_errors);
}

// ---- the meter ----

static char *artifact_of(const byoc_error_measurer_t *measurer, const char *name) {
  return byoc_path_join(measurer->allocator, measurer->folder, name);
}

static byoc_status_t open_model(void *self, byoc_error_apply_t apply, void *context, size_t switch_count,
                                byoc_diag_t *diag) {
  byoc_error_measurer_t *measurer = self;
  measurer->switch_count = switch_count;
  if (measurer->folder == NULL) {
    BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-errors", measurer->allocator, diag, &measurer->folder));
  }
  char *path = artifact_of(measurer, "switched.so");
  byoc_status_t status = path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = build(measurer, apply, context, path, diag);
  byoc_free(measurer->allocator, path);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "measuring errors");
}

static byoc_status_t measure(void *self, const uint8_t *settings, size_t count, size_t sample_count, int64_t budget_ns,
                             byoc_diag_t *diag, byoc_measured_error_t *out_errors) {
  byoc_error_measurer_t *measurer = self;
  char *path = artifact_of(measurer, "switched.so");
  run_t run = {.measurer = measurer,
               .switched = path,
               .settings = settings,
               .count = count,
               .sample_count = sample_count,
               .budget_ns = budget_ns};
  byoc_status_t status = path != NULL ? run_settings(&run, diag, out_errors) : byoc_diag_out_of_memory(diag);
  byoc_free(measurer->allocator, path);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "measuring errors");
}

static byoc_status_t check(void *self, byoc_error_apply_t apply, void *context, byoc_diag_t *diag, double *out_error) {
  byoc_error_measurer_t *measurer = self;
  char *switched = artifact_of(measurer, "switched.so"), *plan = artifact_of(measurer, "plan.so");
  run_t run = {
      .measurer = measurer, .switched = switched, .plan = plan, .count = 1, .sample_count = measurer->samples.count};
  byoc_status_t status = switched != NULL && plan != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = build(measurer, apply, context, plan, diag);
  byoc_measured_error_t measured;
  if (status == BYOC_OK) status = run_settings(&run, diag, &measured);
  if (status == BYOC_OK) *out_error = measured.error;
  byoc_free(measurer->allocator, switched);
  byoc_free(measurer->allocator, plan);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "checking the error of the plan");
}

// The samples as a number for keys.
static uint64_t hash_samples(const byoc_error_measurer_t *measurer) {
  const byoc_block_t *body = byoc_graph_module_main(measurer->module)->body;
  uint64_t hash = measurer->samples.count;
  for (size_t s = 0; s < measurer->samples.count; ++s) {
    for (size_t i = 0; i < body->parameters.count; ++i) {
      const int64_t size = byoc_type_size_bytes(body->parameters.data[i]->type);
      if (size > 0) hash = byoc_hash_bytes(measurer->samples.inputs[s][i], (size_t)size, hash);
    }
  }
  return hash;
}

byoc_error_meter_t byoc_error_measurer_meter(byoc_error_measurer_t *measurer) {
  return (byoc_error_meter_t){.self = measurer,
                              .sample_count = measurer->samples.count,
                              .samples_hash = hash_samples(measurer),
                              .is_generated = measurer->samples.is_generated,
                              .open = open_model,
                              .measure = measure,
                              .check = check};
}

void byoc_error_measurer_deinit(byoc_error_measurer_t *measurer) {
  if (measurer->folder == NULL) return;
  (void)byoc_remove_tree(measurer->folder, NULL);
  byoc_free(measurer->allocator, measurer->folder);
  measurer->folder = NULL;
}
