// Runs loop kernels without a compiler: the evaluator's side of the native target "c".
//
//   byoc_interpreter_t *interpreter;
//   BYOC_RETURN_IF_ERROR(byoc_interpreter_create(kernel, allocator, diag, &interpreter));
//   int32_t status = byoc_interpreter_run(interpreter, &call);
//
// A kernel becomes register code once. Innermost independent loops, and reductions into a scalar, run in strips of
// BYOC_INTERPRETER_LANES iterations, each instruction over all of them; reductions add in the order of iterations, so
// that results are those of the emitted C to rounding. Every index is checked. Parallel loops run on the calling
// thread.
#ifndef BYOC_CORE_KERNEL_INTERPRET_H_
#define BYOC_CORE_KERNEL_INTERPRET_H_

#include "byoc/call.h"
#include "core/base/diag.h"
#include "core/ir/loop.h"

typedef struct byoc_interpreter_t byoc_interpreter_t;

// The kernel must outlive the interpreter.
byoc_status_t byoc_interpreter_create(const byoc_loop_kernel_t *kernel, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_interpreter_t **out_interpreter);
// Runs it on the tensors of `call` as the emitted function would. BYOC_INTERNAL names kernel and buffer where an index
// is out of range; the reason goes to call->runtime->set_error where there is a runtime. One run at a time an
// interpreter; different interpreters may run at once.
int32_t byoc_interpreter_run(byoc_interpreter_t *interpreter, const byoc_call_t *call);
void byoc_interpreter_destroy(byoc_interpreter_t *interpreter); // accepts NULL

#endif // BYOC_CORE_KERNEL_INTERPRET_H_
