// SPDX-License-Identifier: Apache-2.0
// One kernel run by both executors: what happens in the child of core/measure/kernels.h. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_KERNEL_TRIAL_H_
#define BYOC_CORE_MEASURE_KERNEL_TRIAL_H_

#include "byoc/call.h"
#include "core/measure/kernels.h"

// Runs the compiled function and the interpreter on several sets of data and compares what they make.
byoc_kernel_verdict_t byoc_kernel_trial_run(const byoc_kernel_trial_t *trial, byoc_packed_function_t function,
                                            byoc_diag_t *why);
// The interpreter's time for a whole run.
double byoc_kernel_whole_ns(const byoc_host_instruction_t *call);
// Interpreting longer than this is not worth it: some iterations are taken.
#define BYOC_KERNEL_WHOLE_NS 2e7
// The loop whose iterations can be taken one by one, with constant bounds; NULL: there is none.
const byoc_loop_stmt_t *byoc_kernel_shared_loop(const byoc_loop_kernel_t *kernel, int64_t *out_begin, int64_t *out_end);

#endif // BYOC_CORE_MEASURE_KERNEL_TRIAL_H_
