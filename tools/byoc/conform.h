// SPDX-License-Identifier: Apache-2.0
// byoc conform: runs ONNX backend test cases. A case is a folder with model.onnx and
// test_data_set_*/{input,output}_*.pb; each runs in a child process of its own, so that one that crashes or hangs costs
// that case only.
//
//   conform_find.c     folders → cases
//   conform_pool.c     child processes, time limits, progress
//   conform_case.c     one case: read, compile, run, compare
//   conform_compare.c  results against expectations
//   conform_report.c   table by operator, failures, JSON
#ifndef BYOC_TOOLS_BYOC_CONFORM_H_
#define BYOC_TOOLS_BYOC_CONFORM_H_

#include <jansson.h>

#include "byoc/artifact.h"
#include "core/base/vector.h"
#include "core/frontend/onnx_data.h"
#include "session.h"

typedef struct byoc_conform_options_t {
  byoc_session_options_t session;
  byoc_string_items_t directories;
  const char *filter; // runs only cases whose name contains it; NULL: all
  int64_t job_count;  // 0: one for each processor that may be used
  int64_t timeout_s;  // for one case
  double rtol, atol;
  bool evaluate, json;
  bool symbolic; // symbolic dimensions of inputs stay symbolic
} byoc_conform_options_t;

// The record of a case, as JSON (--json prints it too): "outcome" (passed, failed, skipped), "stage" where it
// did not pass (read, data, compile, run, compare, crash, time), "reason", "seconds", "operators": [...] and
// "nodes": {target: count}.
typedef struct byoc_conform_case_t {
  char *name; // "node/test_abs"
  char *path;
  json_t *record; // NULL until it ran
} byoc_conform_case_t;

typedef struct byoc_conform_t {
  const byoc_conform_options_t *options;
  byoc_session_t session; // plugins and targets; every child works on its own copy
  BYOC_VECTOR(byoc_conform_case_t) cases;
} byoc_conform_t;

// Fills `conform->cases` from the options' folders, sorted by name. BYOC_INVALID_ARGUMENT if there is none.
byoc_status_t byoc_conform_find(byoc_conform_t *conform, byoc_diag_t *diag);
// Runs all cases; afterwards every one has a record.
byoc_status_t byoc_conform_run(byoc_conform_t *conform, byoc_diag_t *diag);
// Runs one case in this process and returns its record (NULL if out of memory). The session's registry and targets are
// shared, everything else in it is the case's own.
json_t *byoc_conform_run_case(const byoc_session_t *session, const byoc_conform_options_t *options, const char *path);
// Prints the records as text or, with --json, as one document. *out_failed counts the cases that failed.
byoc_status_t byoc_conform_report(const byoc_conform_t *conform, byoc_diag_t *diag, size_t *out_failed);

// Compares a result with what is expected, items of sequences and optionals one by one. BYOC_MISMATCH names the first
// item that differs.
byoc_status_t byoc_conform_compare(const byoc_conform_options_t *options, const char *name,
                                   const byoc_argument_t *result, const byoc_onnx_value_t *expected, byoc_diag_t *diag);

// A record with outcome, stage and reason; stage and reason may be NULL.
json_t *byoc_conform_record(const char *outcome, const char *stage, const char *reason);

#endif // BYOC_TOOLS_BYOC_CONFORM_H_
