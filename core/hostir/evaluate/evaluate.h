// SPDX-License-Identifier: Apache-2.0
// The evaluator: runs a host program in this process. Kernels are interpreted, C functions are called through libffi,
// engines run in this process, and packed functions are called at the address that the resolver finds.
#ifndef BYOC_CORE_HOSTIR_EVALUATE_EVALUATE_H_
#define BYOC_CORE_HOSTIR_EVALUATE_EVALUATE_H_

#include "core/hostir/program/program.h"
#include "core/runtime/cell.h"
#include "core/runtime/option.h"

// Finds the code of symbols that backends defined (core/compose/artifact/resolve.h makes one: it uses dlsym on a
// library opened in this process, or links objects into a temporary shared object).
typedef struct byoc_symbol_resolver_t {
  void *self;
  // Stores the address in *out_address, or reports the missing function.
  byoc_status_t (*resolve)(void *self, const char *symbol, byoc_diag_t *diag, void **out_address);
} byoc_symbol_resolver_t;

// A runtime table without an evaluator, for setting up libraries: loops run on the calling thread, error messages are
// dropped.
byoc_runtime_t byoc_serial_runtime(int32_t thread_count);

typedef struct byoc_evaluator_t byoc_evaluator_t;

// Prepares all state that does not depend on data: interpreters, engine instances, libffi call interfaces, memory.
// `program` must be planned. The program and the code that the resolver found must outlive the evaluator.
byoc_status_t byoc_evaluator_create(const byoc_host_program_t *program, const byoc_symbol_resolver_t *resolver,
                                    int32_t thread_count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                    byoc_evaluator_t **out_evaluator);
// The same with values of run-time options, as byoc_context_options_t.runtime_options; they are copied.
byoc_status_t byoc_evaluator_create_with(const byoc_host_program_t *program, const byoc_symbol_resolver_t *resolver,
                                         int32_t thread_count, byoc_runtime_values_t values, byoc_allocator_t allocator,
                                         byoc_diag_t *diag, byoc_evaluator_t **out_evaluator);
void byoc_evaluator_destroy(byoc_evaluator_t *evaluator); // accepts NULL
// From now on `sink` gets each result of each instruction that runs, as byoc_artifact_t.trace reports them; NULL: no
// more. Strings of events live as long as the evaluator.
byoc_status_t byoc_evaluator_trace(byoc_evaluator_t *evaluator, byoc_trace_sink_t sink, void *argument,
                                   byoc_diag_t *diag);
// From now on functions of backends report steps and counters to these sinks, as in a profiled run of an artifact;
// NULL: no more.
void byoc_evaluator_profile(byoc_evaluator_t *evaluator, byoc_profile_sink_t sink, byoc_counter_sink_t counter,
                            void *argument);
// The communicator of this rank; it outlives the evaluator. NULL: there is one rank. BYOC_INVALID_ARGUMENT unless it
// fits the program.
byoc_status_t byoc_evaluator_set_communicator(byoc_evaluator_t *evaluator, const byoc_communicator_t *communicator,
                                              byoc_diag_t *diag);
// The most iterations of a loop, as byoc_context_options_t.max_iterations; 0: no limit.
void byoc_evaluator_set_max_iterations(byoc_evaluator_t *evaluator, uint64_t max_iterations);
// Ends runs early, as byoc_context_options_t.timeout_ms and .cancel do; 0 and NULL: never.
void byoc_evaluator_set_stop(byoc_evaluator_t *evaluator, uint64_t timeout_ms, const volatile int32_t *cancel);
// Memory that the program allocates is filled with `byte` from now on, so that a test sees whether results depend on
// undefined bytes.
void byoc_evaluator_set_undefined(byoc_evaluator_t *evaluator, uint8_t byte);
// Stands between the evaluator and the code of backends, for tools that watch that code.
typedef struct byoc_call_watch_t {
  void *self;
  // The evaluator calls this instead of each function of a backend. It runs the function by `body(body_self, call)`,
  // any number of times, with tensors and a workspace of its choice. In the end the results must be where `call` has
  // them. Returns the status of the call. `keeps_results`: results hold data that the function reads (a C matrix that
  // is added to).
  int32_t (*run)(void *self, const char *name, const byoc_call_t *call, bool keeps_results,
                 int32_t (*body)(void *body_self, const byoc_call_t *call), void *body_self);
} byoc_call_watch_t;
// `watch` is copied.
void byoc_evaluator_watch(byoc_evaluator_t *evaluator, const byoc_call_watch_t *watch);
// inputs[i], outputs[i]: dense tensors of the program's input and output types. BYOC_UNSUPPORTED for a dynamic program,
// BYOC_INVALID_ARGUMENT if an output overlaps another tensor, but for an input that it may be written over.
byoc_status_t byoc_evaluator_run(byoc_evaluator_t *evaluator, const void *const *inputs, void *const *outputs,
                                 byoc_diag_t *diag);
// Follows the contract of byoc_artifact_t.run_arguments, for any program.
byoc_status_t byoc_evaluator_run_arguments(byoc_evaluator_t *evaluator, const byoc_argument_t *inputs,
                                           byoc_argument_t *outputs, byoc_diag_t *diag);

// The most memory that the last run had in use at once, as byoc_artifact_t.peak_bytes.
uint64_t byoc_evaluator_peak_bytes(const byoc_evaluator_t *evaluator);

// The deepest nesting of sequences and optionals, and a NUL.
#define BYOC_HOST_MAX_KINDS 16
// Describes an input or output of a program. The caller provides `kinds` and `dims`, of BYOC_HOST_MAX_KINDS and
// BYOC_MAX_RANK elements.
void byoc_host_port_info(const byoc_host_buffer_t *buffer, byoc_port_info_t *out_info, char *kinds, int64_t *dims);

#endif // BYOC_CORE_HOSTIR_EVALUATE_EVALUATE_H_
