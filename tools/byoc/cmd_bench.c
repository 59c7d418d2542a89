// SPDX-License-Identifier: Apache-2.0
// byoc bench: loads an artifact, runs it many times, and prints the times.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "artifact.h"
#include "command.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/statistics.h"

typedef struct bench_options_t {
  const char *artifact, *entry;
  int64_t run_count, warm_up_count, thread_count, seed;
  bool json, flush_subnormals;
  byoc_string_items_t inputs, dims, runtime_options;
} bench_options_t;

typedef struct bench_result_t {
  double load_ms, first_run_ms, median_ms, min_ms;
  int32_t threads;
} bench_result_t;

static double milliseconds_since(int64_t start_ns) {
  return (double)(byoc_now_ns() - start_ns) / 1e6;
}

static byoc_status_t time_runs(byoc_artifact_run_t *run, const bench_options_t *options, double *times,
                               byoc_diag_t *diag) {
  byoc_progress_t progress;
  byoc_progress_begin(&progress, "timing", options->run_count);
  byoc_status_t status = BYOC_OK;
  for (int64_t i = 0; i < options->warm_up_count && status == BYOC_OK; ++i) status = byoc_artifact_run_once(run, diag);
  for (int64_t i = 0; i < options->run_count && status == BYOC_OK; ++i) {
    int64_t duration_ns = 0;
    status = byoc_artifact_run_timed(run, diag, &duration_ns);
    times[i] = (double)duration_ns / 1e6;
    byoc_progress_step(&progress, i + 1, "");
  }
  byoc_progress_end(&progress);
  return status;
}

static byoc_status_t bench(const bench_options_t *options, byoc_diag_t *diag, bench_result_t *result) {
  if (options->run_count < 1) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--runs takes a number from 1 on");
  }
  byoc_artifact_run_t run;
  byoc_runtime_words_t words;
  byoc_status_t status = byoc_runtime_words_read(&options->runtime_options, diag, &words);
  int64_t start_ns = byoc_now_ns();
  const byoc_context_options_t context = {.struct_size = sizeof(context),
                                          .thread_count = (int32_t)options->thread_count,
                                          .flush_subnormals = options->flush_subnormals,
                                          .runtime_options = words.items,
                                          .runtime_option_count = words.count};
  if (status == BYOC_OK) {
    status = byoc_artifact_run_open_with(options->artifact, options->entry, NULL, &context, diag, &run);
  }
  byoc_runtime_words_deinit(&words);
  if (status != BYOC_OK) return status;
  // A program that loads the artifact checks its file only if it is asked to.
  result->load_ms = milliseconds_since(start_ns) - (double)run.artifact.check_ns / 1e6;
  result->threads = (int32_t)options->thread_count;
  status = byoc_ports_read(&run.inputs, &options->inputs, NULL, diag);
  if (status == BYOC_OK) status = byoc_ports_set_dims(&run.inputs, &options->dims, diag);
  if (status == BYOC_OK) status = byoc_ports_randomise(&run.inputs, (uint64_t)options->seed, diag);
  const byoc_foreign_t outer = byoc_artifact_run_enter(&run);
  start_ns = byoc_now_ns();
  if (status == BYOC_OK) status = byoc_artifact_run_once(&run, diag);
  result->first_run_ms = milliseconds_since(start_ns);
  double *times = byoc_allocate(byoc_allocator_system(), (size_t)options->run_count, sizeof(double));
  if (status == BYOC_OK && times == NULL) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = time_runs(&run, options, times, diag);
  byoc_foreign_leave(&outer);
  if (status == BYOC_OK) {
    result->median_ms = byoc_median(times, (size_t)options->run_count);
    result->min_ms = times[0]; // they are sorted now
  }
  byoc_free(byoc_allocator_system(), times);
  byoc_artifact_run_close(&run);
  return status;
}

static byoc_status_t print_json(const bench_result_t *result, byoc_diag_t *diag) {
  json_t *object =
      json_pack("{s:f, s:f, s:i, s:f, s:f}", "median_ms", result->median_ms, "min_ms", result->min_ms, "threads",
                (int)result->threads, "load_ms", result->load_ms, "first_run_ms", result->first_run_ms);
  char *text = object ? byoc_json_dump(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(object);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  printf("%s\n", text);
  free(text);
  return BYOC_OK;
}

int byoc_main_bench(int argc, char **argv) {
  bench_options_t options = {.run_count = 30, .warm_up_count = 3, .thread_count = 1};
  const byoc_option_row_t rows[] = {
      {"runs", 'n', BYOC_OPT_COUNT, &options.run_count, "N", "timed runs (default 30)"},
      {"warm-up", 0, BYOC_OPT_COUNT, &options.warm_up_count, "N", "runs before them (default 3)"},
      {"threads", 0, BYOC_OPT_THREADS, &options.thread_count, "N", "threads (default 1; 0: the artifact's choice)"},
      {"input", 'i', BYOC_OPT_LIST, &options.inputs, "[NAME=]FILE",
       "an input's values, as byoc run takes them (default: random)"},
      {"seed", 0, BYOC_OPT_COUNT, &options.seed, "N", "seed of the random inputs (default 0)"},
      {"dim", 0, BYOC_OPT_LIST, &options.dims, "NAME=VALUE", "the size of a symbolic dimension of random inputs"},
      BYOC_ENTRY_ROW(options.entry, "time this one"),
      {"flush-subnormals", 0, BYOC_OPT_FLAG, &options.flush_subnormals, "",
       "treat subnormal numbers as zeros; some processors take a hundred times as long for them"},
      BYOC_RUNTIME_OPTION_ROW(options.runtime_options),
      {"json", 0, BYOC_OPT_FLAG, &options.json, "", "one line of JSON"},
  };
  static const char *const operands[] = {"an artifact (.so)", NULL};
  const byoc_usage_t usage = {
      .command = "byoc bench",
      .synopsis = "ARTIFACT [--runs N] [--threads N] [options]",
      .summary = "time an artifact",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "load_ms is the time from opening the file to a ready context; first_run_ms is that of the first "
              "inference.\n",
  };
  byoc_diag_t diag = {0};
  bool done = false;
  bench_result_t result = {0};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &options.artifact, &done);
  if (status == BYOC_OK && !done) {
    status = bench(&options, &diag, &result);
    if (status == BYOC_OK && options.json) status = print_json(&result, &diag);
    if (status == BYOC_OK && !options.json) {
      printf("median %.3f ms, min %.3f ms over %lld run%s, %d thread%s; load %.2f ms, first run %.2f ms\n",
             result.median_ms, result.min_ms, (long long)options.run_count, byoc_plural((uint64_t)options.run_count),
             result.threads, byoc_plural((uint64_t)result.threads), result.load_ms, result.first_run_ms);
    }
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "timing %s", options.artifact);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
