// SPDX-License-Identifier: Apache-2.0
// Measures functions of one target together, in one artifact. Internal to core/measure.
//
// A failure is remembered only if the candidate itself caused it, and twice: it crashed, hung, failed or computed
// something else; or if its backend declined it. If a compiler was stopped, or memory, descriptors or time ran out, the
// cause may be gone by the next build, but an infinite cost would stay. A candidate that failed once is measured once
// more, alone; one that failed among several must work alone twice.
#ifndef BYOC_CORE_MEASURE_BATCH_H_
#define BYOC_CORE_MEASURE_BATCH_H_

#include "core/measure/bench.h"

// Measures tasks of one target, in functions of one module. A failure in one is charged to that one only: the others
// are tried without it. Statuses other than BYOC_OK are the host's own failures.
byoc_status_t byoc_cost_batch_measure(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                      byoc_arena_t *scratch, byoc_diag_t *diag);

#endif // BYOC_CORE_MEASURE_BATCH_H_
