// SPDX-License-Identifier: Apache-2.0
// Times whole plans: builds them two at a time, tries them out, and times them against each other.
#define _GNU_SOURCE
#include "core/measure/plans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/measure/candidate.h"
#include "core/measure/lock.h"
#include "core/measure/run.h"

// Limits for one build and one run: a backend may tune; a model of the native target alone may take seconds per run.
#define BUILD_TIMEOUT_MS 600000
#define RUN_TIMEOUT_MS   300000
// Extra time beyond the time for measuring, so that work that is nearly done is not thrown away.
#define GRACE_MS 5000
// Time for one plan's samples: first to see which plans are worth a closer look, then for that closer look.
#define SAMPLES_NS       INT64_C(300000000)
#define FINAL_SAMPLES_NS INT64_C(3000000000)
// Plans that are nearer than this to the fastest are compared again.
#define FINAL_RATIO 1.15
#define AT_A_TIME   2

typedef struct contest_t {
  const byoc_plan_measurer_t *measurer;
  byoc_status_t (*apply)(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag);
  void *context;
  const char *folder;
  byoc_arena_t arena;
  int64_t budget_ns; // left
} contest_t;

// ---- building, in a child ----

typedef struct rival_t {
  const contest_t *contest;
  size_t plan;
} rival_t;

static byoc_status_t place(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                           byoc_diag_t *diag, byoc_placement_t *placement) {
  (void)module;
  (void)targets;
  const rival_t *rival = self;
  return rival->contest->apply(rival->contest->context, rival->plan, placement, diag);
}

// One plan on its way into the contest.
typedef struct entry_t {
  rival_t rival;
  byoc_plan_job_t job;
  byoc_status_t status;
  byoc_diag_t why;
  const char *artifact; // NULL: the plan is out of the contest
} entry_t;

static void start_build(contest_t *contest, entry_t *entry) {
  const byoc_plan_measurer_t *measurer = contest->measurer;
  byoc_plan_job_t *job = &entry->job;
  *job = (byoc_plan_job_t){.build = measurer->build,
                           .plan = {.module = measurer->module,
                                    .targets = measurer->targets,
                                    .placer = {.self = &entry->rival, .place = place, .strategy = "rival"},
                                    .thread_count = measurer->thread_count,
                                    .allocator = measurer->allocator}};
  job->plan.output = byoc_arena_format(&contest->arena, "%s/plan%zu.so", contest->folder, entry->rival.plan);
  job->folder = byoc_arena_format(&contest->arena, "%s/build%zu", contest->folder, entry->rival.plan);
  const bool ok = job->plan.output != NULL && job->folder != NULL;
  entry->status = ok ? byoc_make_directories(job->folder, &entry->why) : byoc_diag_out_of_memory(&entry->why);
  const int64_t timeout_ms = contest->budget_ns / 1000000 + GRACE_MS;
  if (entry->status != BYOC_OK) return;
  entry->status =
      byoc_plan_job_start(job, timeout_ms < BUILD_TIMEOUT_MS ? (uint32_t)timeout_ms : BUILD_TIMEOUT_MS, &entry->why);
}

static void finish_build(entry_t *entry) {
  if (entry->status != BYOC_OK) return; // there is no child
  entry->status = byoc_plan_job_wait(&entry->job, &entry->why);
  (void)byoc_remove_tree(entry->job.folder, NULL);
}

// ---- running ----

static byoc_status_t run(const contest_t *contest, byoc_cost_run_t *self, byoc_diag_t *why,
                         byoc_cost_run_answer_t *answer) {
  self->thread_count = contest->measurer->thread_count;
  const byoc_child_limits_t limits = {.timeout_ms = RUN_TIMEOUT_MS};
  byoc_status_t status = byoc_child_run(&limits, byoc_cost_run, self, answer, sizeof(*answer), why);
  answer->message[sizeof(answer->message) - 1] = '\0';
  if (status == BYOC_OK && answer->status != BYOC_OK) {
    status = byoc_diag_error(why, answer->status, "%s", answer->message);
  }
  return status;
}

// Runs each plan that was built once: it may crash.
static void try_out(const contest_t *contest, entry_t *entry) {
  byoc_cost_run_t self = {.artifacts = {entry->job.plan.output}, .artifact_count = 1, .once = true};
  byoc_cost_run_answer_t answer;
  if (entry->status == BYOC_OK) entry->status = run(contest, &self, &entry->why, &answer);
  if (entry->status == BYOC_OK) {
    entry->artifact = entry->job.plan.output;
    return;
  }
  byoc_log(BYOC_LOG_WARNING, "one of the plans cannot be timed as a whole: %s", entry->why.message);
  if (entry->job.plan.output != NULL) (void)unlink(entry->job.plan.output);
}

// ---- the contest ----

// Plans are built two at a time: one build keeps one processor busy most of the time.
static void enter_some(contest_t *contest, entry_t *entries, size_t count) {
  for (size_t i = 0; i < count; ++i) start_build(contest, &entries[i]);
  for (size_t i = 0; i < count; ++i) finish_build(&entries[i]);
  for (size_t i = 0; i < count; ++i) try_out(contest, &entries[i]);
}

static double size_mib(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (double)info.st_size / (1 << 20) : NAN;
}

// Builds as many as there is time for.
static size_t enter_all(contest_t *contest, entry_t *entries, size_t count) {
  byoc_progress_t progress;
  int64_t last_ns = 0;
  size_t entered = 0;
  byoc_progress_begin(&progress, "measuring whole plans:", (int64_t)count);
  while (entered < count) {
    // The expected time of the next builds, and of timing two plans.
    if (entered > 0 && last_ns + 4 * SAMPLES_NS > contest->budget_ns) break;
    byoc_progress_step(&progress, (int64_t)entered, "built");
    size_t now = count - entered < AT_A_TIME ? count - entered : AT_A_TIME;
    int64_t start_ns = byoc_now_ns();
    enter_some(contest, entries + entered, now);
    entered += now;
    last_ns = byoc_now_ns() - start_ns;
    contest->budget_ns -= last_ns;
  }
  byoc_progress_end(&progress);
  return entered;
}

static double least(const double *times, size_t count) {
  double ns = INFINITY;
  for (size_t i = 0; i < count; ++i) ns = times[i] < ns ? times[i] : ns; // no NaN is
  return ns;
}

// Times the plans that took at most `limit_ns` so far, against each other; those left out keep their times.
static void time_some(const contest_t *contest, const entry_t *entries, size_t count, double limit_ns,
                      int64_t samples_ns, double *out_ns, double *out_error) {
  byoc_cost_run_t self = {.budget_ns = samples_ns};
  size_t plans[BYOC_COST_RUN_MAX];
  for (size_t i = 0; i < count && self.artifact_count < BYOC_COST_RUN_MAX; ++i) {
    if (entries[i].artifact == NULL || out_ns[entries[i].rival.plan] > limit_ns) continue;
    plans[self.artifact_count] = entries[i].rival.plan;
    self.artifacts[self.artifact_count++] = entries[i].artifact;
  }
  if (self.artifact_count == 0) return;
  self.limit_ns = 2 * samples_ns * (int64_t)self.artifact_count; // a model may run for seconds
  byoc_diag_t why = {0};
  byoc_cost_run_answer_t answer;
  byoc_status_t status = run(contest, &self, &why, &answer);
  if (status != BYOC_OK) byoc_log(BYOC_LOG_WARNING, "plans cannot be timed as a whole: %s", why.message);
  if (status == BYOC_OK) *out_error = answer.error;
  for (size_t i = 0; i < self.artifact_count && status == BYOC_OK; ++i) out_ns[plans[i]] = answer.median_ns[i];
}

static size_t count_within(const double *times, size_t count, double limit_ns) {
  size_t within = 0;
  for (size_t i = 0; i < count; ++i) within += times[i] <= limit_ns;
  return within;
}

// In two heats: first all plans, then those that are near the fastest, as long as there is time.
static void time_all(contest_t *contest, const entry_t *entries, size_t entered, size_t count, double *out_ns,
                     double *out_error) {
  int lock = byoc_cost_lock(contest->measurer->allocator);
  int64_t start_ns = byoc_now_ns();
  time_some(contest, entries, entered, INFINITY, SAMPLES_NS, out_ns, out_error);
  double limit_ns = least(out_ns, count) * FINAL_RATIO;
  size_t finalists = count_within(out_ns, count, limit_ns);
  int64_t left_ns = contest->budget_ns - (byoc_now_ns() - start_ns);
  if (finalists > 1) {
    int64_t samples_ns = left_ns / (int64_t)finalists;
    if (samples_ns < SAMPLES_NS) samples_ns = SAMPLES_NS;
    if (samples_ns > FINAL_SAMPLES_NS) samples_ns = FINAL_SAMPLES_NS;
    time_some(contest, entries, entered, limit_ns, samples_ns, out_ns, out_error);
  }
  byoc_cost_unlock(lock);
}

static byoc_status_t hold(contest_t *contest, size_t count, byoc_diag_t *diag, double *out_ns, double *out_mib,
                          double *out_error) {
  byoc_allocator_t allocator = contest->measurer->allocator;
  entry_t *entries = byoc_allocate(allocator, count + 1, sizeof(*entries));
  if (entries == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) entries[i] = (entry_t){.rival = {contest, i}};
  size_t entered = enter_all(contest, entries, count);
  for (size_t i = 0; i < entered; ++i) {
    if (entries[i].artifact != NULL) out_mib[entries[i].rival.plan] = size_mib(entries[i].artifact);
  }
  time_all(contest, entries, entered, count, out_ns, out_error);
  byoc_free(allocator, entries);
  return BYOC_OK;
}

static byoc_status_t
price(void *self, size_t count,
      byoc_status_t (*apply)(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag), void *context,
      int64_t budget_ns, byoc_diag_t *diag, double *out_ns, double *out_mib, double *out_error) {
  const byoc_plan_measurer_t *measurer = self;
  *out_error = 0;
  for (size_t i = 0; i < count; ++i) out_ns[i] = out_mib[i] = NAN;
  const byoc_function_t *main = byoc_graph_module_main(measurer->module);
  if (budget_ns <= 0 || main == NULL || !byoc_cost_can_be_run(main)) return BYOC_OK;
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-plans", measurer->allocator, diag, &folder));
  contest_t contest = {
      .measurer = measurer, .apply = apply, .context = context, .folder = folder, .budget_ns = budget_ns};
  byoc_arena_init(&contest.arena, measurer->allocator);
  byoc_status_t status = hold(&contest, count, diag, out_ns, out_mib, out_error);
  byoc_arena_deinit(&contest.arena);
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(measurer->allocator, folder);
  return status;
}

byoc_whole_pricer_t byoc_plan_measurer_pricer(byoc_plan_measurer_t *measurer) {
  return (byoc_whole_pricer_t){.self = measurer, .price = price};
}
