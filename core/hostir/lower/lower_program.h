// SPDX-License-Identifier: Apache-2.0
// Lowers a graph module to a host program. The main function and the blocks nested in it must hold only:
//
//   calls of kernels and of extern functions, views, byoc::CallC
//   byoc::Join and byoc::Part                         tensors inside of others (core/ops/byoc/storage.h)
//   If, Loop, and the operators on sequences and optionals of core/runtime/container.h
//   byoc::BindSymbols@1(%sizes) {symbols = ["u0"]}    elements of an i64 tensor become the values of symbols
//   byoc::CheckDims@1(%sizes, %declared, %names)      elements of two i64 tensors must be the same
//   byoc::Fail@1(%text)                               ends the run with the text
//   byoc::CheckRange@1(%values, %low, %high, %name)   elements of an integer tensor must be in [low, high]
//   byoc::DeviceCopy@1(%x)                            from the device of its operand to that of its result
//   byoc::DevicesReady@1()                            whether the program's devices have started
//   byoc::EnginesReady@1()                            whether the program's engines have started
//   byoc::ThreadsAtLeast@1(%n)                        whether the context has that many threads
//   byoc::Text@1(...) {function = "concat"}           a call of byoc_text_concat, of the artifact's own text room
//
// A program is static if all shapes are known and each If and Loop is static (core/ops/onnx/control/control.h): both
// cases of a branch, and all iterations of a loop, write into the buffers of their results.
//
// Dimensions are constants or expressions over symbols; none is unknown. A symbol gets its value from a BindSymbols
// above, or from the first value with that plain dimension: a model's input, a parameter of a nested block, a result of
// If, Loop or an operator on containers. Later values are checked against it.
#ifndef BYOC_CORE_HOSTIR_LOWER_LOWER_PROGRAM_H_
#define BYOC_CORE_HOSTIR_LOWER_LOWER_PROGRAM_H_

#include "core/hostir/program/program.h"

// `module` must outlive the program, which has no lifetimes yet (core/hostir/pass/pass.h). Errors: a dimension that
// nothing gives a value to (naming it and the value that has it), a node that nothing implements, an extern function
// without a binding.
byoc_status_t byoc_host_lower(const byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                              byoc_host_program_t **out_program);

// Will the program of this function be dynamic? Then the host stacks the results of Loops.
bool byoc_host_will_be_dynamic(const byoc_function_t *main);

// Puts `allocate` in front of the first use of each local buffer and `free` after the last one.
byoc_status_t byoc_host_place_lifetimes(byoc_host_program_t *program, byoc_diag_t *diag);

// Erases the lifetimes that place-lifetimes can add again: not those of a zeroed or cached buffer.
void byoc_host_forget_lifetimes(byoc_host_program_t *program);

// Gives each local buffer a place in one workspace. Buffers share bytes if their lifetimes do not overlap. The method
// is first fit with the largest first, and other orders if that takes more than the liveness bound. Sets
// workspace_size_bytes and the bounds. Buffers on devices get offsets in the memories of their scopes.
byoc_status_t byoc_host_plan_memory(byoc_host_program_t *program, byoc_diag_t *diag);

// Sets workspace_bound_bytes and live_bound_bytes of a program that has lifetimes.
byoc_status_t byoc_host_find_bounds(byoc_host_program_t *program, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_LOWER_LOWER_PROGRAM_H_
