// SPDX-License-Identifier: Apache-2.0
// Checks each region and each kernel that this machine has not checked before, once, within a budget of time.
//
// Example:
//   byoc_checking_t checking = {.budget_s = BYOC_CHECK_BUDGET_S};
//   byoc_build_options_t options = {.targets = targets, .checker = byoc_checking_checker(&checking)};
//
// Regions of backends are built as candidates are (core/compile/candidates.h) and compared with the evaluator, by the
// code that also measures. Kernels of the native target, as they were compiled for the artifact, are compared with the
// interpreter (core/measure/kernels.h). Both run in child processes, on ordinary data and on NaN and infinities. Code
// that was found right is remembered (core/measure/verdict.h). A region that computes something else, or that crashes
// or fails, is declined, so that another target claims it. A kernel that does ends the build.
//
// Not checked: regions with dynamic dimensions, strings or random operators, and code for devices or for another
// machine.
#ifndef BYOC_CORE_COMPILE_CHECKING_H_
#define BYOC_CORE_COMPILE_CHECKING_H_

#include "core/compile/checker.h"

// Seconds. docs/performance.md has the times of models; later builds check the rest.
#define BYOC_CHECK_BUDGET_S 2.0

typedef struct byoc_checking_t {
  double budget_s;        // 0: nothing is checked
  uint32_t run_timeout_s; // of byoc_region_trials_t
  // Counts so far; zeros at first.
  int64_t spent_ns;
} byoc_checking_t;

// The checking must outlive the checker.
byoc_checker_t byoc_checking_checker(byoc_checking_t *checking);

#endif // BYOC_CORE_COMPILE_CHECKING_H_
