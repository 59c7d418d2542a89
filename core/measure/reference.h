// SPDX-License-Identifier: Apache-2.0
// References, with which the results of candidates are compared. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_REFERENCE_H_
#define BYOC_CORE_MEASURE_REFERENCE_H_

#include "core/measure/bench.h"

// Finds the results to compare each task's with, made by the native target: evaluated, or compiled if evaluating would
// be slow; NULL if there are none. Children work between begin and end; each begin needs an end. Strings are in
// `scratch`.
typedef struct byoc_cost_references_t byoc_cost_references_t;
byoc_status_t byoc_cost_references_begin(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                         byoc_arena_t *scratch, byoc_diag_t *diag, byoc_cost_references_t **out_begun);
byoc_status_t byoc_cost_references_end(byoc_cost_bench_t *bench, byoc_cost_references_t *begun, byoc_diag_t *diag,
                                       const char **out_paths);

#endif // BYOC_CORE_MEASURE_REFERENCE_H_
