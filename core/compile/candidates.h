// SPDX-License-Identifier: Apache-2.0
// Builds candidates by the pipeline of every model: the builder for core/measure.
#ifndef BYOC_CORE_COMPILE_CANDIDATES_H_
#define BYOC_CORE_COMPILE_CANDIDATES_H_

#include "core/measure/candidate.h"
#include "core/measure/plans.h"

// A byoc_candidate_builder_t. It leaves in the functions' module a main function that calls them (marked for the
// target, or to be inlined for the native one); the module becomes an artifact, or is evaluated.
void byoc_build_candidates(void *self, void *answer);
// A byoc_plan_builder_t.
byoc_status_t byoc_build_plan(const byoc_plan_build_t *request, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_CANDIDATES_H_
