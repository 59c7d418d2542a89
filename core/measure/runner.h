// SPDX-License-Identifier: Apache-2.0
// An artifact in this process with tensors of its own, ready to run. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_RUNNER_H_
#define BYOC_CORE_MEASURE_RUNNER_H_

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/file.h"
#include "core/loader/loader.h"
#include "core/measure/special_values.h"

typedef struct byoc_cost_runner_t {
  const byoc_artifact_t *table;
  byoc_context_t *context;
  void **inputs, **outputs;
} byoc_cost_runner_t;

// Call it in a process that times parts one by one, before it opens the first artifact. Threads then stay awake between
// parts, as they would in a whole model. Their pool is the artifact's own, or OpenMP's.
void byoc_cost_runner_keep_threads_awake(void);
// Waits until idle threads sleep: otherwise the threads of another artifact would use the processors.
void byoc_cost_runner_let_threads_sleep(void);

// Loads the artifact, fills its outputs with values that no result has, and makes a context. Inputs are left to be
// filled. Nothing is released: the process is short-lived.
byoc_status_t byoc_cost_runner_open(const char *path, int32_t thread_count, byoc_arena_t *arena, byoc_diag_t *diag,
                                    byoc_cost_runner_t *out_runner);
// Fills inputs `first` to `first + count` with byoc_measure_fill's data, from its beginning, or with special values.
void byoc_cost_runner_fill(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count, bool is_special);
// Classifies the status of a call: BYOC_TOOL if the code failed by itself, BYOC_OUT_OF_MEMORY or BYOC_IO if it reports
// a lack of memory or descriptors. The reason begins with `what`, e.g. "it failed".
byoc_status_t byoc_cost_runner_result(const byoc_cost_runner_t *runner, int32_t status, const char *what,
                                      byoc_diag_t *diag);
byoc_status_t byoc_cost_runner_run(const byoc_cost_runner_t *runner, byoc_diag_t *diag);

// Compares the data of these outputs, one after the other, with a file (byoc_cost_check_within). The file has results
// for ordinary inputs and, unless the reference failed on them, for special ones behind those: `wild` asks for the
// latter.
byoc_status_t byoc_cost_runner_check(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count,
                                     byoc_special_values_t special, double relative_error, const char *path,
                                     byoc_diag_t *diag);
// Writes such a file: the kept results of the run on ordinary inputs, and these outputs behind them. `kept` NULL: only
// these.
byoc_status_t byoc_cost_runner_write(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count,
                                     const byoc_bytes_t *kept, const char *path, byoc_arena_t *arena,
                                     byoc_diag_t *diag);
// Copies these outputs into one piece.
byoc_status_t byoc_cost_runner_keep(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count,
                                    byoc_arena_t *arena, byoc_diag_t *diag, byoc_bytes_t *out_kept);

// Processor time of all threads of this process. Beside other work it is a better measure than elapsed time, as long as
// nothing waits: the count of waits says how often threads of this process gave up the processor.
int64_t byoc_cost_processor_ns(void);
int64_t byoc_cost_wait_count(void);

#endif // BYOC_CORE_MEASURE_RUNNER_H_
