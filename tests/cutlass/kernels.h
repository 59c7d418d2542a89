// SPDX-License-Identifier: Apache-2.0
// What the tests of cutlass's kernels share: emitting them, compiling them, the memory that they work on.
#ifndef BYOC_TESTS_CUTLASS_KERNELS_H_
#define BYOC_TESTS_CUTLASS_KERNELS_H_

#include <stdbool.h>

#include "byoc/call.h"
#include "emit/emit.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "tests/support/support.h"

// Kernels for one instruction set, compiled into one shared object. Whatever fails, fails the test.
typedef struct kernels_t {
  byoc_plugin_string_t text; // may be added to before it is compiled
  byoc_cutlass_isa_t isa;
  uint32_t dot;     // dot that functions may use too; BYOC_CUTLASS_DOT_F32 unless it is set before compiling
  const char *half; // feature for f16 that functions may use too; ""
  size_t count;
  void *library;
  const byoc_packed_function_t *functions; // in the order in which they were added
} kernels_t;
void kernels_begin(kernels_t *kernels, byoc_cutlass_isa_t isa);
void kernels_add(kernels_t *kernels, const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
// `flags`: the optimisation and what else it takes, separated by spaces. Functions may be called where the processor
// has the instructions.
void kernels_compile(kernels_t *kernels, const char *flags);
void kernels_end(kernels_t *kernels);

// True if this processor has the instruction set and the dot.
bool kernels_run_here(byoc_cutlass_isa_t isa, uint32_t dot);
// Whether a test runs kernels of floats of this instruction set: any that this processor has, or in a short test its
// best.
bool kernels_try_here(byoc_cutlass_isa_t isa);

// parallel_for of a byoc_runtime_t: shares one after the other, in reverse: none may depend on another.
void kernels_run_shares(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain);
// Calls the function with these inputs and, behind them, outputs, as a run on so many threads.
void kernels_call(byoc_packed_function_t function, const DLTensor *tensors, uint32_t input_count, uint32_t output_count,
                  int32_t threads, void *workspace, uint64_t workspace_bytes);

// Memory that ends at the end of a page, except for `alignment`; the next page must not be touched. Starts as NaN.
typedef struct guarded_t {
  float *data;
  void *pages;
  size_t size_bytes;
} guarded_t;
guarded_t guarded_create(size_t size_bytes, size_t alignment);
void guarded_destroy(guarded_t *memory);

// Floats rounded to a type as problems name it, and a tensor of that type: f32, f16 or bf16. By core's conversions,
// which share nothing with those of the kernels.
float kernels_round(uint32_t type, float value);
guarded_t kernels_narrow(uint32_t type, const float *values, int64_t count);
float kernels_element(uint32_t type, const void *data, int64_t i);

#endif // BYOC_TESTS_CUTLASS_KERNELS_H_
