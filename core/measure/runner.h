// An artifact in this process with tensors of its own, ready to run. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_RUNNER_H_
#define BYOC_CORE_MEASURE_RUNNER_H_

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/runtime/loader.h"

typedef struct byoc_cost_runner_t {
  const byoc_artifact_t *table;
  byoc_context_t *context;
  void **inputs, **outputs;
} byoc_cost_runner_t;

// In a process that is about to open the first one, and times parts one by one: their threads find more work as soon as
// they would in a whole model, although more time passes in between. Their pool is the artifact's own, or OpenMP's.
void byoc_cost_runner_keep_threads_awake(void);
// Waits until threads that wait for work sleep: another artifact's would take the processors.
void byoc_cost_runner_let_threads_sleep(void);

// Loads it, fills its outputs with what no result looks like, and makes a context. Inputs are left to be filled.
// Nothing is released: the process is short-lived.
byoc_status_t byoc_cost_runner_open(const char *path, int32_t thread_count, byoc_arena_t *arena, byoc_diag_t *diag,
                                    byoc_cost_runner_t *out_runner);
// Inputs `first` to `first + count`: byoc_measure_fill's data from its beginning.
void byoc_cost_runner_fill(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count);
// What a call of its code came to: BYOC_TOOL where that failed by itself, or BYOC_OUT_OF_MEMORY or BYOC_IO where it
// says that it lacked something; the reason begins with `what`, "it failed".
byoc_status_t byoc_cost_runner_result(const byoc_cost_runner_t *runner, int32_t status, const char *what,
                                      byoc_diag_t *diag);
byoc_status_t byoc_cost_runner_run(const byoc_cost_runner_t *runner, byoc_diag_t *diag);

// The data of these outputs, one after the other, against a file's (byoc_cost_check_within), or into one.
byoc_status_t byoc_cost_runner_check(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count,
                                     double relative_error, const char *path, byoc_diag_t *diag);
byoc_status_t byoc_cost_runner_write(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count, const char *path,
                                     byoc_arena_t *arena, byoc_diag_t *diag);

// Processor time of all threads of this process. Next to other work it says more than the time that passed, as long as
// nothing waits: how often threads of this process gave up the processor tells.
int64_t byoc_cost_processor_ns(void);
int64_t byoc_cost_wait_count(void);

#endif // BYOC_CORE_MEASURE_RUNNER_H_
