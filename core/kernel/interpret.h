// SPDX-License-Identifier: Apache-2.0
// Runs loop kernels without a compiler: the evaluator's executor of the native target "c".
//
// Example:
//   byoc_interpreter_t *interpreter;
//   BYOC_RETURN_IF_ERROR(byoc_interpreter_create(kernel, allocator, diag, &interpreter));
//   int32_t status = byoc_interpreter_run(interpreter, &call);
//
// A kernel is compiled to register code once. Innermost independent loops, and reductions into a scalar, run in strips
// of BYOC_INTERPRETER_LANES iterations; each instruction handles a whole strip. Reductions add in the order of
// iterations, so that results equal those of the emitted C up to rounding. Every index is checked. Parallel loops run
// on the calling thread.
#ifndef BYOC_CORE_KERNEL_INTERPRET_H_
#define BYOC_CORE_KERNEL_INTERPRET_H_

#include "byoc/call.h"
#include "core/base/diag.h"
#include "core/ir/loop.h"

typedef struct byoc_interpreter_t byoc_interpreter_t;

// The kernel must outlive the interpreter.
byoc_status_t byoc_interpreter_create(const byoc_loop_kernel_t *kernel, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_interpreter_t **out_interpreter);
// Runs it on the tensors of `call` as the emitted function would. If an index is out of range, returns BYOC_INTERNAL
// and passes the reason, with kernel and buffer, to call->runtime->set_error if there is a runtime. BYOC_CANCELLED once
// call->runtime->is_ending says so. An interpreter does one run at a time; different interpreters may run at once.
int32_t byoc_interpreter_run(byoc_interpreter_t *interpreter, const byoc_call_t *call);
void byoc_interpreter_destroy(byoc_interpreter_t *interpreter); // accepts NULL

#endif // BYOC_CORE_KERNEL_INTERPRET_H_
