// SPDX-License-Identifier: Apache-2.0
// byoc conform: runs folders of ONNX test cases.
#include "command.h"
#include "conform.h"
#include "core/base/file.h"

static byoc_status_t conform(byoc_conform_t *conform, byoc_diag_t *diag, size_t *out_failed) {
  const byoc_conform_options_t *options = conform->options;
  BYOC_RETURN_IF_ERROR(byoc_session_open(&options->session, diag, &conform->session));
  BYOC_RETURN_IF_ERROR(byoc_session_parse_targets(&conform->session, diag));
  BYOC_RETURN_IF_ERROR(byoc_conform_find(conform, diag));
  BYOC_RETURN_IF_ERROR(byoc_conform_run(conform, diag));
  return byoc_conform_report(conform, diag, out_failed);
}

static void deinit(byoc_conform_t *conform) {
  for (size_t i = 0; i < conform->cases.count; ++i) {
    byoc_free(conform->session.allocator, conform->cases.data[i].name);
    byoc_free(conform->session.allocator, conform->cases.data[i].path);
    json_decref(conform->cases.data[i].record);
  }
  if (conform->cases.data != NULL) byoc_vector_deinit(&conform->cases, conform->session.allocator);
  byoc_session_close(&conform->session);
}

int byoc_main_conform(int argc, char **argv) {
  // The tolerances are those of ONNX's own backend tests.
  byoc_conform_options_t options = {// Each case compares its results itself.
                                    .session = {.greedy_by_default = true, .check_budget = "0"},
                                    .timeout_s = 120,
                                    .rtol = 1e-3,
                                    .atol = 1e-7};
  const byoc_option_row_t rows[] = {
      {"evaluate", 0, BYOC_OPT_FLAG, &options.evaluate, "", "interpret the models, no artifacts"},
      {"symbolic", 0, BYOC_OPT_FLAG, &options.symbolic, "", "keep the inputs' symbolic dimensions when compiling"},
      {"filter", 0, BYOC_OPT_STRING, &options.filter, "TEXT", "only cases whose name contains TEXT"},
      {"jobs", 'j', BYOC_OPT_COUNT, &options.job_count, "N",
       "cases at a time (default: all processors that may be used)"},
      {"timeout", 0, BYOC_OPT_COUNT, &options.timeout_s, "SECONDS", "limit for one case (default 120; 0: none)"},
      {"rtol", 0, BYOC_OPT_NUMBER, &options.rtol, "X", "relative tolerance (default 1e-3)"},
      {"atol", 0, BYOC_OPT_NUMBER, &options.atol, "X", "absolute tolerance (default 1e-7)"},
      {"json", 0, BYOC_OPT_FLAG, &options.json, "", "print one JSON document"},
      BYOC_TARGET_ROWS(options.session, "c"),
      BYOC_PLAN_ROWS(options.session, "greedy"),
  };
  static const char *const operands[] = {"a folder that is a test case or holds some", NULL};
  const char *directory = NULL;
  const byoc_usage_t usage = {
      .command = "byoc conform",
      .synopsis = "DIR... [--target TARGET] [--evaluate] [options]",
      .summary = "run ONNX backend test cases and report which pass",
      .operands = operands,
      .more_operands = &options.directories,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "A case is a folder with model.onnx and test_data_set_*/{input,output}_*.pb; it runs in its own\n"
              "process, compiled for the shapes of its inputs. Outputs agree if |got - expected| <= atol + rtol *\n"
              "|expected|. Exit codes: 0 none failed, 1 some did, 2 misuse.\n",
  };
  byoc_diag_t diag = {0};
  byoc_conform_t state = {.options = &options};
  bool done = false;
  size_t failed = 0;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &directory, &done);
  if (status == BYOC_OK && !done) {
    status = conform(&state, &diag, &failed);
    deinit(&state);
  }
  if (status != BYOC_OK) return byoc_report(&diag, status);
  return failed == 0 ? BYOC_EXIT_OK : BYOC_EXIT_FAILED;
}
