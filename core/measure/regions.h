// SPDX-License-Identifier: Apache-2.0
// Compares regions of backends with the evaluator.
//
// One child process makes the code of several regions by the pipeline of every model, runs it as byoc run --evaluate
// does, on generated data, and leaves the results in files. The build later finds the objects in the cache. For each
// region another child computes the same by the native target's kernels, interpreted, and compares. Of long kernels it
// interprets some iterations (core/measure/window.h).
#ifndef BYOC_CORE_MEASURE_REGIONS_H_
#define BYOC_CORE_MEASURE_REGIONS_H_

#include "core/measure/candidate.h"

typedef struct byoc_region_trial_t {
  const byoc_function_t *function; // all in one module
  // The answer:
  bool is_right, is_wrong; // neither: it was not checked
  char message[240];       // the difference
} byoc_region_trial_t;

typedef struct byoc_region_trials_t {
  byoc_region_trial_t *trials;
  size_t count;
  const byoc_target_t *target, *native;
  byoc_candidate_builder_t build;
  int64_t budget_ns;      // for comparing; making the code is not part of it
  uint32_t run_timeout_s; // that a run may take, beside 20 seconds per billion operations; 0: 10
} byoc_region_trials_t;

// How long comparing would take, roughly; INFINITY if the function cannot be checked.
double byoc_region_trial_ns(const byoc_function_t *function);
// `out_spent_ns`: of the budget. Statuses other than BYOC_OK are the host's own failures.
byoc_status_t byoc_regions_try(const byoc_region_trials_t *trials, byoc_allocator_t allocator, byoc_diag_t *diag,
                               int64_t *out_spent_ns);

#endif // BYOC_CORE_MEASURE_REGIONS_H_
