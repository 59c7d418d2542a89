// SPDX-License-Identifier: Apache-2.0
// Compares compiled loop kernels with the interpreter: the same kernel, run by the two executors on the same data.
//
// The objects are those of the artifact, linked once more into a temporary shared object that a child process loads. A
// kernel runs on generated data, ordinary and special values (core/measure/data.h), its constants being those of a
// call. Of a long kernel only some parallel iterations are interpreted: the first, the middle and the last. Symbolic
// dimensions get several small sizes; sizes that do not fit the kernel are left out, which the interpreter sees by the
// index that leaves a buffer. A kernel that differs runs again on other data, so that a result on the edge of a
// rounding is no error.
#ifndef BYOC_CORE_MEASURE_KERNELS_H_
#define BYOC_CORE_MEASURE_KERNELS_H_

#include "core/base/file.h"
#include "core/hostir/program/program.h"

typedef enum byoc_kernel_verdict_t {
  BYOC_KERNEL_UNCHECKED, // the time was over, or no data could be generated
  BYOC_KERNEL_RIGHT,
  BYOC_KERNEL_WRONG,
} byoc_kernel_verdict_t;

typedef struct byoc_kernel_trial_t {
  const byoc_loop_kernel_t *kernel;    // its name is that of its function in the objects
  const byoc_host_instruction_t *call; // one of its calls
  // The answer:
  byoc_kernel_verdict_t verdict;
  char message[240]; // the difference
} byoc_kernel_trial_t;

typedef struct byoc_kernel_trials_t {
  byoc_kernel_trial_t *trials; // in the order in which they are run
  size_t count;
  const byoc_bytes_t *objects; // that define the kernels
  size_t object_count;
  const char *compiler; // that links them; NULL: the default
  int64_t budget_ns;    // for all of them; later ones stay unchecked
} byoc_kernel_trials_t;

// How long the interpreter would take, roughly: the trials that take little time come first.
double byoc_kernel_trial_ns(const byoc_kernel_trial_t *trial);
// Statuses other than BYOC_OK are the host's own failures.
byoc_status_t byoc_kernels_try(const byoc_kernel_trials_t *trials, byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_MEASURE_KERNELS_H_
