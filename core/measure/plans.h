// SPDX-License-Identifier: Apache-2.0
// Measures whole models. Each plan is built in a child process as the model would be (two at a time) and run once in
// another child; all that ran are timed in turns in a third. A plan that cannot be built, crashes or hangs is out of
// the contest.
#ifndef BYOC_CORE_MEASURE_PLANS_H_
#define BYOC_CORE_MEASURE_PLANS_H_

#include "core/collage/place_collage.h"

// One plan as an artifact.
typedef struct byoc_plan_build_t {
  byoc_graph_module_t *module; // simplified, not placed
  const byoc_target_list_t *targets;
  byoc_placer_t placer; // places as the plan says
  int32_t thread_count;
  const char *output;
  byoc_allocator_t allocator;
} byoc_plan_build_t;
// Called in a child process, where the module is a copy. The caller passes it in (core/measure/candidate.h says why).
typedef byoc_status_t (*byoc_plan_builder_t)(const byoc_plan_build_t *build, byoc_diag_t *diag);

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
