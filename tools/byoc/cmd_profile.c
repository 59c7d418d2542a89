// SPDX-License-Identifier: Apache-2.0
// byoc profile: times each instruction of an artifact.
#include <stdlib.h>

#include "command.h"
#include "core/compile/outputs.h"
#include "profile.h"

typedef struct profile_options_t {
  const char *artifact, *entry, *json, *trace, *html;
  byoc_string_items_t inputs, dims, runtime_options;
  int64_t run_count, warm_up_count, thread_count, seed;
  bool best;
} profile_options_t;

static byoc_status_t report(const profile_options_t *options, const byoc_profile_t *profile, byoc_diag_t *diag) {
  const bool has_threads = profile->thread_count > 1;
  size_t *order = byoc_profile_order(profile), *losses = has_threads ? byoc_profile_losses(profile) : NULL;
  byoc_status_t status = BYOC_OK;
  if (order == NULL || (has_threads && losses == NULL)) {
    status = byoc_diag_out_of_memory(diag);
    goto cleanup;
  }
  byoc_profile_print(profile, order);
  if (has_threads) byoc_profile_print_threads(profile, losses);
  if (options->json != NULL) status = byoc_profile_write_json(profile, options->json, diag);
  if (status == BYOC_OK && options->trace != NULL) status = byoc_profile_write_trace(profile, options->trace, diag);
  if (status == BYOC_OK && options->html != NULL) {
    status = byoc_profile_write_html(profile, order, losses, options->html, diag);
  }
cleanup:
  free(losses);
  free(order);
  return status;
}

static byoc_status_t profile(const profile_options_t *options, byoc_diag_t *diag) {
  if (options->run_count < 1 || options->thread_count < 1) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s takes a number from 1 on",
                           options->run_count < 1 ? "runs" : "threads");
  }
  const byoc_output_t outputs[] = {{"--json", options->json}, {"--trace", options->trace}, {"--html", options->html}};
  BYOC_RETURN_IF_ERROR(byoc_outputs_check(outputs, sizeof(outputs) / sizeof(outputs[0]), options->artifact, diag));
  byoc_runtime_words_t words;
  byoc_status_t status = byoc_runtime_words_read(&options->runtime_options, diag, &words);
  const byoc_context_options_t one_thread = {.struct_size = sizeof(one_thread),
                                             .thread_count = 1,
                                             .runtime_options = words.items,
                                             .runtime_option_count = words.count};
  byoc_context_options_t chosen = one_thread;
  byoc_profile_request_t request = {
      .warm_up_count = options->warm_up_count, .run_count = options->run_count, .best = options->best};
  byoc_artifact_run_t run = {0};
  byoc_profile_t result = {0};
  if (status == BYOC_OK && options->thread_count > 1) {
    status = byoc_profile_pool_create((int32_t)options->thread_count, diag, &request.pool);
    if (status == BYOC_OK) chosen.pool = byoc_profile_pool_table(request.pool);
  }
  if (status == BYOC_OK)
    status = byoc_artifact_run_open_with(options->artifact, options->entry, NULL, &chosen, diag, &run);
  if (status == BYOC_OK && request.pool != NULL) {
    status = byoc_artifact_run_context(&run, &one_thread, diag, &request.alone);
  }
  if (status == BYOC_OK) status = byoc_ports_read(&run.inputs, &options->inputs, NULL, diag);
  if (status == BYOC_OK) status = byoc_ports_set_dims(&run.inputs, &options->dims, diag);
  if (status == BYOC_OK) status = byoc_ports_randomise(&run.inputs, (uint64_t)options->seed, diag);
  if (status == BYOC_OK) status = byoc_profile_collect(&run, &request, diag, &result);
  if (status == BYOC_OK) status = byoc_profile_compare(&result, diag);
  if (status == BYOC_OK) status = report(options, &result, diag);
  byoc_profile_deinit(&result);
  if (request.alone != NULL) byoc_artifact_run_end_context(&run, request.alone);
  byoc_artifact_run_close(&run);
  byoc_profile_pool_destroy(request.pool);
  byoc_runtime_words_deinit(&words);
  return status;
}

int byoc_main_profile(int argc, char **argv) {
  profile_options_t options = {.run_count = 30, .warm_up_count = 3, .thread_count = 1};
  const byoc_option_row_t rows[] = {
      {"runs", 'n', BYOC_OPT_COUNT, &options.run_count, "N", "profiled runs (default 30)"},
      {"warm-up", 0, BYOC_OPT_COUNT, &options.warm_up_count, "N", "runs before them (default 3)"},
      {"threads", 0, BYOC_OPT_THREADS, &options.thread_count, "N",
       "threads (default 1); from 2 on, compared with one thread"},
      {"input", 'i', BYOC_OPT_LIST, &options.inputs, "[NAME=]FILE",
       "an input's values, as byoc run takes them (default: random)"},
      {"dim", 0, BYOC_OPT_LIST, &options.dims, "NAME=VALUE", "the size of a symbolic dimension of random inputs"},
      {"seed", 0, BYOC_OPT_COUNT, &options.seed, "N", "seed of the random inputs (default 0)"},
      BYOC_ENTRY_ROW(options.entry, "time this one"),
      BYOC_RUNTIME_OPTION_ROW(options.runtime_options),
      {"best", 0, BYOC_OPT_FLAG, &options.best, "", "each instruction's fastest time instead of its median"},
      {"json", 0, BYOC_OPT_STRING, &options.json, "FILE", "write the table as JSON"},
      {"trace", 0, BYOC_OPT_STRING, &options.trace, "FILE", "write the fastest run as Chrome-trace JSON (Perfetto)"},
      {"html", 0, BYOC_OPT_STRING, &options.html, "FILE", "write a page: time line, slowest instructions, roofline"},
  };
  static const char *const operands[] = {"an artifact (.so) built with --profile", NULL};
  const byoc_usage_t usage = {
      .command = "byoc profile",
      .synopsis = "ARTIFACT [--html FILE] [--trace FILE] [--json FILE] [options]",
      .summary = "time each instruction of an artifact, and compare it with the limits of the machine",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "Times are medians; the nodes of an engine follow its instruction. The host's work between two calls "
          "(shapes,\n"
          "memory, control flow) counts for the second call. Commands of a device have the device's own time, and\n"
          "await is the time that the host waits for it. A multiply-add counts as two operations; bytes are operands,\n"
          "constants and results, each once. Both are compared with the limits of the machine, measured here with as\n"
          "many threads: multiply-adds of the instruction's type (f32, int8, bf16), and copying memory. Instructions\n"
          "that are faster than memory read from caches: they have the word cache instead of a percentage. Winograd\n"
          "convolutions count as direct ones; if they are faster than arithmetic allows, they have the word fewer.\n"
          "Counters that backends report (cycles, bytes, utilisation) follow: those of several calls are added, those "
          "in\n"
          "percent averaged. Sums by operators and target are next.\n"
          "With --threads N, runs with one thread alternate with runs with N, and a second table reports the lost "
          "time\n"
          "of each instruction: the times on one and on N threads, the parallel loops, the slowest thread's "
          "percentage\n"
          "of their work, and the time beyond an N-th of that on one thread, as the sum of four causes. An engine "
          "with\n"
          "its own threads counts as one thread.\n",
  };
  byoc_diag_t diag = {0};
  bool done = false;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &options.artifact, &done);
  if (status == BYOC_OK && !done) {
    status = profile(&options, &diag);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "profiling %s", options.artifact);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
