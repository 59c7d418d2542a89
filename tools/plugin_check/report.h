// SPDX-License-Identifier: Apache-2.0
// Writes the results of rules as text, as JSON or in the Test Anything Protocol.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_REPORT_H_
#define BYOC_TOOLS_PLUGIN_CHECK_REPORT_H_

#include "core/base/json.h"
#include "tools/plugin_check/runner.h"

// How the results are written.
typedef enum check_format_t { CHECK_TEXT, CHECK_JSON, CHECK_TAP } check_format_t;
typedef struct check_report_t {
  check_format_t format;
  const check_t *check;
  size_t count;  // rules that will be added
  bool has_note; // `note` is the plugin's
  byoc_plugin_note_t note;
  size_t counts[CHECK_BLOCKED + 1]; // rules so far, by verdict
  json_t *rows;                     // CHECK_JSON
} check_report_t;
// In this order: begin, one call for each rule as soon as it has run, end. `end` must be called in any case.
byoc_status_t check_report_begin(check_report_t *report, byoc_diag_t *diag);
byoc_status_t check_report_add(check_report_t *report, const check_result_t *result, byoc_diag_t *diag);
byoc_status_t check_report_end(check_report_t *report, byoc_diag_t *diag);
// All rules, for --list.
byoc_status_t check_report_list(check_format_t format, byoc_diag_t *diag);

#endif // BYOC_TOOLS_PLUGIN_CHECK_REPORT_H_
