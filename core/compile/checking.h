// SPDX-License-Identifier: Apache-2.0
// Checks each region and each kernel that this machine has not checked before, once, within a budget of time.
//
// Example:
//   byoc_checking_t checking = {.budget_s = BYOC_CHECK_BUDGET_S};
//   byoc_build_options_t options = {.targets = targets, .checker = byoc_checking_checker(&checking)};
//
// Regions of backends are built as candidates are (core/compile/candidates.h) and held against the evaluator, by the
// code that also measures; kernels of the native target are held against the interpreter, as they were compiled for the
// artifact (core/measure/kernels.h). Both run in child processes, on ordinary data and on NaN and infinities. Code that
// was found right is remembered (core/measure/verdict.h). A region that computes something else, or that crashes or
// fails, is given back, so that another target takes it; a kernel that does ends the build.
//
// Not checked: regions with open dimensions, strings or random operators, what runs on devices, and what is for another
// machine.
#ifndef BYOC_CORE_COMPILE_CHECKING_H_
#define BYOC_CORE_COMPILE_CHECKING_H_

#include "core/compile/checker.h"

// Seconds. docs/performance.md says what models take; what is left unchecked, later builds check.
#define BYOC_CHECK_BUDGET_S 2.0

typedef struct byoc_checking_t {
  double budget_s; // 0: nothing is checked
  // What was done so far; zeros at first.
  int64_t spent_ns;
} byoc_checking_t;

// The checking must outlive the checker.
byoc_checker_t byoc_checking_checker(byoc_checking_t *checking);

#endif // BYOC_CORE_COMPILE_CHECKING_H_
