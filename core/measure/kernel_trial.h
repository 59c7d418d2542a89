// SPDX-License-Identifier: Apache-2.0
// One kernel run by both executors, in the child of core/measure/kernels.h. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_KERNEL_TRIAL_H_
#define BYOC_CORE_MEASURE_KERNEL_TRIAL_H_

#include "byoc/call.h"
#include "core/measure/kernels.h"

// Runs the compiled function and the interpreter on several sets of data and compares their results.
byoc_kernel_verdict_t byoc_kernel_trial_run(const byoc_kernel_trial_t *trial, byoc_packed_function_t function,
                                            byoc_diag_t *why);
#endif // BYOC_CORE_MEASURE_KERNEL_TRIAL_H_
