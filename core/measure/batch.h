// Functions of one target, measured together. Internal to core/measure.
//
// A failure is remembered only where the candidate itself did it, and twice: it crashed, hung, failed or computed
// something else; or its backend gave it back. What stopped a compiler, or took memory, descriptors or time away, may
// be gone by the next build, and an infinite cost would stay.
#ifndef BYOC_CORE_MEASURE_BATCH_H_
#define BYOC_CORE_MEASURE_BATCH_H_

#include "core/measure/bench.h"

// Tasks of one target, in functions of one module. What goes wrong in one costs that one alone: the others are tried
// without it. Statuses other than BYOC_OK are the host's own failures.
byoc_status_t byoc_cost_batch_measure(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                      byoc_arena_t *scratch, byoc_diag_t *diag);

#endif // BYOC_CORE_MEASURE_BATCH_H_
