// SPDX-License-Identifier: Apache-2.0
// Builds a model as a plan says, in a child process: the code of backends may crash or hang there.
#ifndef BYOC_CORE_MEASURE_PLAN_JOB_H_
#define BYOC_CORE_MEASURE_PLAN_JOB_H_

#include "core/base/child.h"
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

typedef struct byoc_plan_answer_t {
  int32_t status;
  char message[500];
} byoc_plan_answer_t;

// The caller fills the first three, and keeps the job and what it refers to until the wait is over.
typedef struct byoc_plan_job_t {
  byoc_plan_builder_t build;
  byoc_plan_build_t plan;
  const char *folder; // for temporary files; it is there
  byoc_child_t child;
  byoc_plan_answer_t answer;
} byoc_plan_job_t;

// Each started job is waited for.
byoc_status_t byoc_plan_job_start(byoc_plan_job_t *job, uint32_t timeout_ms, byoc_diag_t *diag);
byoc_status_t byoc_plan_job_wait(byoc_plan_job_t *job, byoc_diag_t *diag);

#endif // BYOC_CORE_MEASURE_PLAN_JOB_H_
