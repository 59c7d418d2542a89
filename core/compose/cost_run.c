#include "core/compose/cost_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/call.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compose/cost_check.h"
#include "core/compose/measure_data.h"
#include "core/runtime/loader.h"

// Samples are long enough for the clock to matter little, and few enough for the search to go on: about 60 ms an
// artifact.
#define SAMPLE_NS   20000
#define BUDGET_NS   60000000
#define LONG_RUN_NS 50000000
enum { SAMPLES_AT_LEAST = 5, SAMPLES_AT_MOST = 101, WARM_UP_RUNS = 2 };

// One artifact, ready to run.
typedef struct runner_t {
  const byoc_artifact_t *table;
  byoc_context_t *context;
  void **inputs, **outputs;
  int64_t runs_a_sample;
  double samples[SAMPLES_AT_MOST];
} runner_t;

static byoc_status_t allocate_tensors(const byoc_tensor_info_t *infos, uint32_t count, byoc_arena_t *arena,
                                      byoc_diag_t *diag, void ***out_tensors) {
  void **tensors = BYOC_ARENA_ARRAY(arena, void *, count);
  if (tensors == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < count; ++i) {
    size_t size = infos[i].size_bytes > 0 ? (size_t)infos[i].size_bytes : 1;
    tensors[i] = byoc_arena_allocate_aligned(arena, size, BYOC_BUFFER_ALIGNMENT);
    if (tensors[i] == NULL) return byoc_diag_out_of_memory(diag);
  }
  *out_tensors = tensors;
  return BYOC_OK;
}

static byoc_status_t run_once(runner_t *runner, byoc_diag_t *diag) {
  int32_t status = runner->table->run(runner->context, (const void *const *)runner->inputs, runner->outputs);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_TOOL, "it failed: %s", runner->table->last_error(runner->context));
}

// Loads an artifact and runs it once.
static byoc_status_t open_runner(const char *path, const byoc_cost_run_t *job, byoc_arena_t *arena, byoc_diag_t *diag,
                                 runner_t *runner) {
  byoc_loaded_artifact_t loaded;
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(path, diag, &loaded));
  const byoc_artifact_t *table = runner->table = loaded.table;
  BYOC_RETURN_IF_ERROR(allocate_tensors(table->inputs, table->input_count, arena, diag, &runner->inputs));
  BYOC_RETURN_IF_ERROR(allocate_tensors(table->outputs, table->output_count, arena, diag, &runner->outputs));
  uint64_t random = BYOC_MEASURE_SEED;
  for (uint32_t i = 0; i < table->input_count; ++i) {
    byoc_measure_fill(table->inputs[i].dtype, runner->inputs[i], (size_t)table->inputs[i].size_bytes, &random);
  }
  // A result that is never written must not look right by chance.
  for (uint32_t i = 0; i < table->output_count; ++i) {
    memset(runner->outputs[i], 0xA5, (size_t)table->outputs[i].size_bytes);
  }
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = job->thread_count};
  int32_t status = table->create(&options, &runner->context);
  if (status != BYOC_OK) {
    return byoc_diag_error(diag, BYOC_TOOL, "it cannot be set up: %s", table->last_error(NULL));
  }
  return run_once(runner, diag);
}

// ---- results ----

static byoc_status_t check_results(const runner_t *runner, const char *path, double relative_error, byoc_diag_t *diag) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_status_t status = BYOC_OK;
  size_t offset = 0;
  for (uint32_t i = 0; i < runner->table->output_count && status == BYOC_OK; ++i) {
    const byoc_tensor_info_t *info = &runner->table->outputs[i];
    size_t size = (size_t)info->size_bytes, count = 1;
    for (uint32_t d = 0; d < info->rank; ++d) count *= (size_t)info->dims[d];
    if (offset + size > view.size_bytes) {
      status = byoc_diag_error(diag, BYOC_INTERNAL, "the reference has fewer results");
    } else {
      status = byoc_cost_check_within(relative_error, info->dtype, view.data + offset, runner->outputs[i], count,
                                      info->name, diag);
    }
    offset += size;
  }
  byoc_file_view_close(&view);
  return status;
}

static byoc_status_t write_results(const runner_t *runner, const char *path, byoc_arena_t *arena, byoc_diag_t *diag) {
  byoc_bytes_t *parts = BYOC_ARENA_ARRAY(arena, byoc_bytes_t, runner->table->output_count);
  if (parts == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < runner->table->output_count; ++i) {
    parts[i] = (byoc_bytes_t){runner->outputs[i], (size_t)runner->table->outputs[i].size_bytes};
  }
  return byoc_file_write_parts(path, parts, runner->table->output_count, diag);
}

// ---- time ----

static byoc_status_t take_sample(runner_t *runner, byoc_diag_t *diag, double *out_ns) {
  int64_t start_ns = byoc_now_ns();
  for (int64_t i = 0; i < runner->runs_a_sample; ++i) BYOC_RETURN_IF_ERROR(run_once(runner, diag));
  *out_ns = (double)(byoc_now_ns() - start_ns) / (double)runner->runs_a_sample;
  return BYOC_OK;
}

static byoc_status_t warm_up(runner_t *runner, byoc_diag_t *diag) {
  double once_ns = 0;
  runner->runs_a_sample = 1;
  // The first run, which was checked, did most of it: long runs need no more.
  for (int i = 0; i < WARM_UP_RUNS && once_ns < LONG_RUN_NS; ++i) {
    BYOC_RETURN_IF_ERROR(take_sample(runner, diag, &once_ns));
  }
  if (once_ns < 1) once_ns = 1;
  if (once_ns < SAMPLE_NS) runner->runs_a_sample = (int64_t)(SAMPLE_NS / once_ns) + 1;
  return BYOC_OK;
}

static int compare_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *samples, size_t count) {
  qsort(samples, count, sizeof(samples[0]), compare_times);
  double middle = count % 2 == 1 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
  return middle > 0 ? middle : 1;
}

// Samples of the runners in turns, so that what disturbs the machine disturbs both.
static byoc_status_t time_runners(runner_t *const *runners, size_t runner_count, const byoc_cost_run_t *job,
                                  byoc_diag_t *diag, size_t *out_count) {
  int64_t begin_ns = byoc_now_ns(), budget_ns = job->budget_ns > 0 ? job->budget_ns : BUDGET_NS;
  size_t count = 0;
  for (size_t r = 0; r < runner_count; ++r) BYOC_RETURN_IF_ERROR(warm_up(runners[r], diag));
  while (count < SAMPLES_AT_MOST) {
    for (size_t r = 0; r < runner_count; ++r) {
      BYOC_RETURN_IF_ERROR(take_sample(runners[r], diag, &runners[r]->samples[count]));
    }
    count += 1;
    int64_t elapsed_ns = byoc_now_ns() - begin_ns;
    bool is_enough = count >= SAMPLES_AT_LEAST || elapsed_ns > job->limit_ns;
    if (elapsed_ns > budget_ns * (int64_t)runner_count && is_enough) break;
  }
  *out_count = count;
  return BYOC_OK;
}

static byoc_status_t run(const byoc_cost_run_t *job, byoc_arena_t *arena, byoc_diag_t *diag,
                         byoc_cost_run_answer_t *out) {
  runner_t *runners[BYOC_COST_RUN_MAX];
  for (size_t i = 0; i < job->artifact_count; ++i) {
    runners[i] = BYOC_ARENA_NEW(arena, runner_t);
    if (runners[i] == NULL) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(open_runner(job->artifacts[i], job, arena, diag, runners[i]));
    if (i == 0 && job->expect != NULL)
      BYOC_RETURN_IF_ERROR(check_results(runners[0], job->expect, job->relative_error, diag));
    if (i == 0 && job->record != NULL) return write_results(runners[0], job->record, arena, diag);
  }
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(time_runners(runners, job->artifact_count, job, diag, &count));
  for (size_t i = 0; i < job->artifact_count; ++i) out->median_ns[i] = median(runners[i]->samples, count);
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
