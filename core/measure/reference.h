// What candidates are compared with. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_REFERENCE_H_
#define BYOC_CORE_MEASURE_REFERENCE_H_

#include "core/measure/bench.h"

// The results to compare each task's with, by the native target: evaluated, or compiled where evaluating would be slow;
// NULL where there are none. Children are at work between the two; what was begun must be ended. In `scratch`.
typedef struct byoc_cost_references_t byoc_cost_references_t;
byoc_status_t byoc_cost_references_begin(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                         byoc_arena_t *scratch, byoc_diag_t *diag, byoc_cost_references_t **out_begun);
byoc_status_t byoc_cost_references_end(byoc_cost_bench_t *bench, byoc_cost_references_t *begun, byoc_diag_t *diag,
                                       const char **out_paths);

#endif // BYOC_CORE_MEASURE_REFERENCE_H_
