// SPDX-License-Identifier: Apache-2.0
// Runs the rules of rules.def, each in a watched child process, and says how each ended.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_RUNNER_H_
#define BYOC_TOOLS_PLUGIN_CHECK_RUNNER_H_

#include "tools/plugin_check/check.h"

extern const check_rule_t check_rules[];
extern const size_t check_rule_count;

typedef enum check_verdict_t {
  CHECK_PASSED,
  CHECK_FAILED,
  CHECK_SKIPPED, // the rule does not concern this plugin, or cannot run here: `findings` says why
  CHECK_WAIVED,  // it failed, as --waive says it may
  CHECK_BLOCKED, // not run: an earlier rule of the stage CHECK_LOAD or CHECK_GATE failed
} check_verdict_t;

typedef struct check_result_t {
  const check_rule_t *rule;
  check_verdict_t verdict;
  int32_t failure_count;
  int64_t elapsed_ms;
  char *findings, *facts; // lines; never NULL
} check_result_t;

// Runs one rule in a child. `timeout_ms` is its time.
byoc_status_t check_run_rule(check_t *check, const check_rule_t *rule, uint32_t timeout_ms, byoc_diag_t *diag,
                             check_result_t *out_result);
void check_result_deinit(check_result_t *result);

#endif // BYOC_TOOLS_PLUGIN_CHECK_RUNNER_H_
