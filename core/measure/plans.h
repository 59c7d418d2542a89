// SPDX-License-Identifier: Apache-2.0
// Measures whole models. Each plan is built in a child process as the model would be (two at a time) and run once in
// another child; all that ran are timed in turns in a third. A plan that cannot be built, crashes or hangs is out of
// the contest.
#ifndef BYOC_CORE_MEASURE_PLANS_H_
#define BYOC_CORE_MEASURE_PLANS_H_

#include "core/measure/plan_job.h"

typedef struct byoc_plan_measurer_t {
  byoc_plan_builder_t build;
  byoc_graph_module_t *module; // simplified, not placed
  const byoc_target_list_t *targets;
  byoc_allocator_t allocator;
  int32_t thread_count;
} byoc_plan_measurer_t;

// The measurer must outlive the pricer.
byoc_whole_pricer_t byoc_plan_measurer_pricer(byoc_plan_measurer_t *measurer);

#endif // BYOC_CORE_MEASURE_PLANS_H_
