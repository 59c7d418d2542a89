// SPDX-License-Identifier: Apache-2.0
// Measures the errors of plans: builds a model with switches once, and runs it with one setting after the other.
#ifndef BYOC_CORE_MEASURE_ERRORS_H_
#define BYOC_CORE_MEASURE_ERRORS_H_

#include "core/collage/error_budget.h"
#include "core/measure/plans.h"
#include "core/measure/samples.h"

#define BYOC_ERROR_RUN_TIMEOUT_S 600

typedef struct byoc_error_measurer_t {
  byoc_plan_builder_t build;
  byoc_graph_module_t *module; // simplified, not placed
  const byoc_target_list_t *targets;
  byoc_allocator_t allocator;
  int32_t thread_count;
  uint32_t run_timeout_ms; // one run, before it is known how long one takes; 0: BYOC_ERROR_RUN_TIMEOUT_S
  byoc_error_samples_t samples;
  char *folder; // of the model with switches; NULL: it is not open
  size_t switch_count;
  int64_t run_ns; // the longest run so far; 0: there was none
} byoc_error_measurer_t;

// How long a process may take that runs models so many times: the time budget, or without one (0) some times as long as
// the runs are expected to take; beside it the limit for one run.
uint32_t byoc_error_timeout_ms(const byoc_error_measurer_t *measurer, size_t run_count, int64_t budget_ns);

// BYOC_UNSUPPORTED if the model's inputs cannot be given to it as tensors of known sizes, or if no output is a float.
// BYOC_INVALID_ARGUMENT for samples of other inputs than the model's.
byoc_status_t byoc_error_measurer_check(const byoc_error_measurer_t *measurer, byoc_diag_t *diag);
byoc_error_meter_t byoc_error_measurer_meter(byoc_error_measurer_t *measurer);
void byoc_error_measurer_deinit(byoc_error_measurer_t *measurer);

// The relative error of a tensor, or of several samples' worst: |y - r| / |r|. INFINITY if r is zero and y is not, or
// if y is not finite; NaN if r is not.
double byoc_relative_error(uint32_t dtype, const void *data, const void *reference, size_t count);

#endif // BYOC_CORE_MEASURE_ERRORS_H_
