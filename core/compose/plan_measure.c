#define _GNU_SOURCE
#include "core/compose/plan_measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compose/child.h"
#include "core/compose/compose.h"
#include "core/compose/cost_lock.h"
#include "core/compose/cost_run.h"

// A backend may tune; a model of the native target alone may take seconds a run.
#define BUILD_TIMEOUT_MS 600000
#define RUN_TIMEOUT_MS   300000
// Of one plan's samples.
#define SAMPLES_NS INT64_C(1500000000)

typedef struct contest_t {
  const byoc_plan_measurer_t *measurer;
  byoc_status_t (*apply)(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag);
  void *context;
  const char *folder;
  byoc_arena_t arena;
  byoc_diag_t *diag;
} contest_t;

// ---- building, in a child ----

typedef struct build_t {
  const contest_t *contest;
  size_t plan;
  const char *output, *folder;
} build_t;

typedef struct build_answer_t {
  int32_t status;
  char message[500];
} build_answer_t;

static byoc_status_t place(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                           byoc_diag_t *diag, byoc_placement_t *placement) {
  (void)module;
  (void)targets;
  const build_t *build = self;
  return build->contest->apply(build->contest->context, build->plan, placement, diag);
}

static byoc_status_t make(build_t *build, byoc_diag_t *diag) {
  const byoc_plan_measurer_t *measurer = build->contest->measurer;
  if (setenv("TMPDIR", build->folder, 1) != 0) return byoc_diag_out_of_memory(diag);
  byoc_pipeline_result_t result;
  byoc_pipeline_result_init(&result, measurer->allocator);
  const byoc_pipeline_options_t options = {.targets = measurer->targets,
                                           .placer = {.self = build, .place = place, .strategy = "rival"},
                                           .is_simplified = true};
  BYOC_RETURN_IF_ERROR(byoc_pipeline_run(measurer->module, &options, measurer->allocator, diag, &result));
  const byoc_compose_options_t compose = {.output = build->output,
                                          .model_name = "rival",
                                          .targets = measurer->targets,
                                          .thread_count = measurer->thread_count,
                                          .cpu_features = result.required_cpu_features.data};
  return byoc_compose_artifact(result.program, &compose, measurer->allocator, diag);
}

static void build_body(void *self, void *answer) {
  build_answer_t *out = answer;
  byoc_diag_t diag = {0};
  out->status = make(self, &diag);
  if (out->status != BYOC_OK) snprintf(out->message, sizeof(out->message), "%s", diag.message);
}

static byoc_status_t build(contest_t *contest, size_t plan, const char *output, byoc_diag_t *why) {
  build_t self = {.contest = contest, .plan = plan, .output = output};
  self.folder = byoc_arena_format(&contest->arena, "%s/build", contest->folder);
  if (self.folder == NULL) return byoc_diag_out_of_memory(why);
  BYOC_RETURN_IF_ERROR(byoc_make_directories(self.folder, why));
  const byoc_child_limits_t limits = {.timeout_ms = BUILD_TIMEOUT_MS};
  build_answer_t answer;
  byoc_status_t status = byoc_child_run(&limits, build_body, &self, &answer, sizeof(answer), why);
  (void)byoc_remove_tree(self.folder, NULL);
  answer.message[sizeof(answer.message) - 1] = '\0';
  if (status == BYOC_OK && answer.status != BYOC_OK) status = byoc_diag_error(why, answer.status, "%s", answer.message);
  return status;
}

// ---- running ----

static byoc_status_t run(const contest_t *contest, byoc_cost_run_t *self, byoc_diag_t *why,
                         byoc_cost_run_answer_t *answer) {
  self->thread_count = contest->measurer->thread_count;
  self->budget_ns = SAMPLES_NS;
  self->limit_ns = (int64_t)RUN_TIMEOUT_MS * 1000000 / 2;
  const byoc_child_limits_t limits = {.timeout_ms = RUN_TIMEOUT_MS};
  byoc_status_t status = byoc_child_run(&limits, byoc_cost_run, self, answer, sizeof(*answer), why);
  answer->message[sizeof(answer->message) - 1] = '\0';
  if (status == BYOC_OK && answer->status != BYOC_OK) {
    status = byoc_diag_error(why, answer->status, "%s", answer->message);
  }
  return status;
}

// Builds one plan and runs it once; NULL where that does not go.
static const char *enter(contest_t *contest, size_t plan) {
  byoc_diag_t why = {0};
  const char *artifact = byoc_arena_format(&contest->arena, "%s/plan%zu.so", contest->folder, plan);
  const char *results = byoc_arena_format(&contest->arena, "%s/results", contest->folder);
  if (artifact == NULL || results == NULL) return NULL;
  byoc_status_t status = build(contest, plan, artifact, &why);
  byoc_cost_run_t self = {.artifacts = {artifact}, .artifact_count = 1, .record = results};
  byoc_cost_run_answer_t answer;
  if (status == BYOC_OK) status = run(contest, &self, &why, &answer);
  (void)unlink(results);
  if (status == BYOC_OK) return artifact;
  byoc_log(BYOC_LOG_WARNING, "one of the plans cannot be timed as a whole: %s", why.message);
  (void)unlink(artifact);
  return NULL;
}

// What can be run at all: static shapes, and no strings.
static bool can_be_run(const byoc_graph_module_t *module) {
  const byoc_function_t *function = byoc_graph_module_main(module);
  const byoc_block_t *body = function != NULL ? function->body : NULL;
  if (body == NULL) return false;
  for (size_t i = 0; i < body->parameters.count + body->results.count; ++i) {
    const byoc_value_t *value =
        i < body->parameters.count ? body->parameters.data[i] : body->results.data[i - body->parameters.count];
    if (!byoc_type_is_static(value->type) || value->type->dtype == BYOC_DTYPE_STRING) return false;
  }
  return true;
}

static void time_all(contest_t *contest, size_t count, double *out_ns) {
  byoc_cost_run_t self = {0};
  size_t plans[BYOC_COST_RUN_MAX];
  byoc_progress_t progress;
  byoc_progress_begin(&progress, "measuring whole plans:", (int64_t)count);
  for (size_t i = 0; i < count && self.artifact_count < BYOC_COST_RUN_MAX; ++i) {
    byoc_progress_step(&progress, (int64_t)i, "built");
    const char *artifact = enter(contest, i);
    if (artifact == NULL) continue;
    plans[self.artifact_count] = i;
    self.artifacts[self.artifact_count++] = artifact;
  }
  byoc_progress_step(&progress, (int64_t)count, "built; timing them in turns");
  byoc_diag_t why = {0};
  byoc_cost_run_answer_t answer;
  int lock = byoc_cost_lock(contest->measurer->allocator);
  byoc_status_t status = self.artifact_count > 0 ? run(contest, &self, &why, &answer) : BYOC_OK;
  byoc_cost_unlock(lock);
  byoc_progress_end(&progress);
  if (status != BYOC_OK) byoc_log(BYOC_LOG_WARNING, "plans cannot be timed as a whole: %s", why.message);
  for (size_t i = 0; i < self.artifact_count && status == BYOC_OK; ++i) out_ns[plans[i]] = answer.median_ns[i];
}

static byoc_status_t price(void *self, size_t count,
                           byoc_status_t (*apply)(void *context, size_t i, byoc_placement_t *placement,
                                                  byoc_diag_t *diag),
                           void *context, byoc_diag_t *diag, double *out_ns) {
  const byoc_plan_measurer_t *measurer = self;
  for (size_t i = 0; i < count; ++i) out_ns[i] = NAN;
  if (!can_be_run(measurer->module)) return BYOC_OK;
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-plans", measurer->allocator, diag, &folder));
  contest_t contest = {.measurer = measurer, .apply = apply, .context = context, .folder = folder, .diag = diag};
  byoc_arena_init(&contest.arena, measurer->allocator);
  time_all(&contest, count, out_ns);
  byoc_arena_deinit(&contest.arena);
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(measurer->allocator, folder);
  return BYOC_OK;
}

byoc_whole_pricer_t byoc_plan_measurer_pricer(byoc_plan_measurer_t *measurer) {
  return (byoc_whole_pricer_t){.self = measurer, .price = price};
}
