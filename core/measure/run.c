// SPDX-License-Identifier: Apache-2.0
// Runs whole artifacts in a child and times them in turns.
#include "core/measure/run.h"

#include <math.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/base/statistics.h"
#include "core/measure/runner.h"

#define SAMPLE_NS   20000
#define LONG_RUN_NS 50000000
enum { SAMPLES_AT_LEAST = 5, SAMPLES_OF_LONG = 2, SAMPLES_AT_MOST = 101, WARM_UP_RUNS = 2, RUNS_A_TURN = 3 };

// One artifact, ready to run.
typedef struct entrant_t {
  byoc_cost_runner_t runner;
  int64_t runs_a_sample;
  bool is_long; // one run takes so long that the state of the caches matters little
  double passed_ns[SAMPLES_AT_MOST], processor_ns[SAMPLES_AT_MOST];
} entrant_t;

static byoc_status_t take_sample(const entrant_t *entrant, byoc_diag_t *diag, double *out_passed_ns,
                                 double *out_processor_ns) {
  int64_t processor_ns = byoc_cost_processor_ns(), start_ns = byoc_now_ns();
  for (int64_t i = 0; i < entrant->runs_a_sample; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_cost_runner_run(&entrant->runner, diag));
  }
  *out_passed_ns = (double)(byoc_now_ns() - start_ns) / (double)entrant->runs_a_sample;
  *out_processor_ns = (double)(byoc_cost_processor_ns() - processor_ns) / (double)entrant->runs_a_sample;
  if (*out_passed_ns < 1) *out_passed_ns = 1;
  if (*out_processor_ns < 1) *out_processor_ns = 1;
  return BYOC_OK;
}

static byoc_status_t warm_up(entrant_t *entrant, int32_t thread_count, byoc_diag_t *diag) {
  double once_ns = 0, processor_ns = 0;
  entrant->runs_a_sample = 1;
  // The first run brought most of it; long runs need no more.
  for (int i = 0; i < WARM_UP_RUNS && once_ns < LONG_RUN_NS; ++i) {
    BYOC_RETURN_IF_ERROR(take_sample(entrant, diag, &once_ns, &processor_ns));
  }
  entrant->is_long = once_ns >= LONG_RUN_NS;
  if (once_ns < SAMPLE_NS) entrant->runs_a_sample = (int64_t)(SAMPLE_NS / once_ns) + 1;
  // With several threads the first runs of a round are slow, so a round makes more runs.
  bool is_short = entrant->runs_a_sample < RUNS_A_TURN && !entrant->is_long;
  if (thread_count > 1 && is_short) entrant->runs_a_sample = RUNS_A_TURN;
  return BYOC_OK;
}

// A model that runs repeatedly finds its own data in the caches, not that of other entrants, and no other artifact's
// threads spin beside it.
static byoc_status_t take_over(const entrant_t *entrant, const byoc_cost_run_t *job, byoc_diag_t *diag) {
  if (job->artifact_count == 1) return BYOC_OK;
  const bool has_threads = job->thread_count > 1;
  if (has_threads) byoc_cost_runner_let_threads_sleep();
  return entrant->is_long && !has_threads ? BYOC_OK : byoc_cost_runner_run(&entrant->runner, diag);
}

// Every second round runs backwards, so that no artifact always follows the same one.
static byoc_status_t take_round(entrant_t *const *entrants, const byoc_cost_run_t *job, size_t round,
                                byoc_diag_t *diag) {
  for (size_t i = 0; i < job->artifact_count; ++i) {
    entrant_t *entrant = entrants[round % 2 == 0 ? i : job->artifact_count - 1 - i];
    BYOC_RETURN_IF_ERROR(take_over(entrant, job, diag));
    BYOC_RETURN_IF_ERROR(take_sample(entrant, diag, &entrant->passed_ns[round], &entrant->processor_ns[round]));
  }
  return BYOC_OK;
}

static byoc_status_t time_entrants(entrant_t *const *entrants, const byoc_cost_run_t *job, byoc_diag_t *diag,
                                   size_t *out_count) {
  int64_t begin_ns = byoc_now_ns();
  size_t count = 0;
  for (size_t i = 0; i < job->artifact_count; ++i) BYOC_RETURN_IF_ERROR(warm_up(entrants[i], job->thread_count, diag));
  while (count < SAMPLES_AT_MOST) {
    BYOC_RETURN_IF_ERROR(take_round(entrants, job, count++, diag));
    int64_t elapsed_ns = byoc_now_ns() - begin_ns;
    bool is_enough = count >= (elapsed_ns > job->limit_ns ? SAMPLES_OF_LONG : SAMPLES_AT_LEAST);
    if (elapsed_ns > job->budget_ns * (int64_t)job->artifact_count && is_enough) break;
  }
  *out_count = count;
  return BYOC_OK;
}

// The standard error of the median, as a share of it. Overwrites the samples with their distances from it.
static double find_error(double *samples, size_t count, double median) {
  for (size_t s = 0; s < count; ++s) samples[s] = fabs(samples[s] - median);
  // For a normal distribution the deviation is 1.4826 times the median distance, and a median's error 1.2533 times a
  // mean's.
  return 1.4826 * byoc_median(samples, count) / median * 1.2533 / sqrt((double)count);
}

static void conclude(entrant_t *const *entrants, const byoc_cost_run_t *job, size_t count, bool by_processor,
                     byoc_cost_run_answer_t *out) {
  double *first = by_processor ? entrants[0]->processor_ns : entrants[0]->passed_ns, errors[BYOC_COST_RUN_MAX];
  for (size_t i = 1; i < job->artifact_count; ++i) {
    double *samples = by_processor ? entrants[i]->processor_ns : entrants[i]->passed_ns;
    for (size_t s = 0; s < count; ++s) samples[s] /= first[s];
    out->median_ns[i] = byoc_median(samples, count);
    errors[i - 1] = find_error(samples, count, out->median_ns[i]);
  }
  out->median_ns[0] = byoc_median(first, count);
  for (size_t i = 1; i < job->artifact_count; ++i) out->median_ns[i] *= out->median_ns[0];
  out->error = job->artifact_count > 1 ? byoc_median(errors, job->artifact_count - 1) : 0;
}

static byoc_status_t run(const byoc_cost_run_t *job, byoc_arena_t *arena, byoc_diag_t *diag,
                         byoc_cost_run_answer_t *out) {
  entrant_t *entrants[BYOC_COST_RUN_MAX];
  for (size_t i = 0; i < job->artifact_count; ++i) {
    entrants[i] = BYOC_ARENA_NEW(arena, entrant_t);
    if (entrants[i] == NULL) return byoc_diag_out_of_memory(diag);
    byoc_cost_runner_t *runner = &entrants[i]->runner;
    BYOC_RETURN_IF_ERROR(byoc_cost_runner_open(job->artifacts[i], job->thread_count, arena, diag, runner));
    byoc_cost_runner_fill(runner, 0, runner->table->input_count, false);
    BYOC_RETURN_IF_ERROR(byoc_cost_runner_run(runner, diag));
  }
  if (job->once || job->artifact_count == 0) return BYOC_OK;
  size_t count = 0;
  int64_t waits = byoc_cost_wait_count();
  BYOC_RETURN_IF_ERROR(time_entrants(entrants, job, diag, &count));
  bool is_busy = byoc_cost_wait_count() - waits < (int64_t)count;
  conclude(entrants, job, count, is_busy && job->thread_count == 1, out);
  return BYOC_OK;
}

void byoc_cost_run(void *self, void *answer) {
  byoc_cost_run_answer_t *out = answer;
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  out->status = run(self, &arena, &diag, out);
  if (out->status != BYOC_OK) snprintf(out->message, sizeof(out->message), "%s", diag.message);
}
