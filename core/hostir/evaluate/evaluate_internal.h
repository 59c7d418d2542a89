// SPDX-License-Identifier: Apache-2.0
// The prepared instructions and the state of the evaluator, for its files. Internal to core/hostir.
#ifndef BYOC_CORE_HOSTIR_EVALUATE_EVALUATE_INTERNAL_H_
#define BYOC_CORE_HOSTIR_EVALUATE_EVALUATE_INTERNAL_H_

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/program/c_interface.h"
#include "core/hostir/program/device_tables.h"
#include "core/kernel/interpret.h"
#include "core/runtime/collective.h"
#include "core/runtime/container.h"
#include "core/runtime/report.h"
#include "core/runtime/stop.h"
#include "core/runtime/trace.h"

typedef struct byoc_step_t byoc_step_t;

// The instructions of one region, prepared.
typedef struct byoc_steps_t {
  byoc_step_t *steps;
  size_t count;
} byoc_steps_t;

// The prepared state of one instruction.
struct byoc_step_t {
  const byoc_host_instruction_t *instruction;
  DLTensor *tensors; // operands, the values of a kernel's symbols, results; data filled in before each call
  byoc_call_t call;
  int64_t *symbols;                    // KERNEL: values of the kernel's symbols
  byoc_interpreter_t *interpreter;     // KERNEL
  byoc_packed_function_t packed;       // PACKED
  void *engine_instance;               // ENGINE
  const byoc_engine_t *engine;         // ENGINE
  byoc_c_interface_t *c_interface;     // C_CALL
  byoc_container_function_t container; // CONTAINER
  uint32_t *sources, *targets;         // cells, CONTAINER: operands; YIELD: which goes to which
  byoc_steps_t *regions;               // BRANCH, LOOP
  uint32_t command;                    // of a device; BYOC_DEVICE_NO_ROW: none
  bool is_watched;                     // it runs a function of a backend
  byoc_trace_row_t *row;               // for the trace; NULL: it has no results, or there is no trace
};

struct byoc_evaluator_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  const byoc_host_program_t *program;
  byoc_runtime_t runtime;
  byoc_collectives_t collectives;
  char error[512];
  uint8_t *workspace, *workspace_memory;
  uint8_t *edge; // the workspace of a backend's function ends here, in pages of its own; none may be used behind it
  size_t before_edge_bytes;
  uint8_t **addresses; // by buffer index; for buffers in cells: as of the last call
  byoc_steps_t body;
  void **engine_instances;                // parallel to program->engines
  byoc_runtime_option_t **engine_options; // the same
  byoc_runtime_values_t values;           // of run-time options; while it is prepared
  byoc_frame_t frame;                     // cells by buffer index; results and strings of the last run
  const byoc_host_device_tables_t *device_tables;
  byoc_devices_t *devices; // NULL: the program has none
  byoc_observer_t observer;
  byoc_reporter_t reporter; // of functions of backends
  uint32_t loop_depth;      // loops around the present instruction
  byoc_call_watch_t watch;  // run NULL: nobody watches
  byoc_stop_t stop;
  bool fills_undefined; // with `undefined`
  uint8_t undefined;
};

// In evaluate_trace.c: reports the results of an instruction that has ended.
byoc_status_t byoc_evaluator_report(byoc_evaluator_t *evaluator, const byoc_step_t *step);
// In evaluate_device.c: opens the program's devices.
byoc_status_t byoc_evaluator_open_devices(byoc_evaluator_t *evaluator, const byoc_symbol_resolver_t *resolver,
                                          byoc_diag_t *diag);
// Lets devices use the caller's buffers where they can.
byoc_status_t byoc_evaluator_lend(byoc_evaluator_t *evaluator);
// Gives a command, as symbols and buffers are now.
int32_t byoc_evaluator_command(byoc_evaluator_t *evaluator, uint32_t command);
// In evaluate_run.c: the value of a dimension.
int64_t byoc_evaluator_value(const byoc_evaluator_t *evaluator, byoc_dim_t dim);
// In evaluate_run.c: where a buffer's bytes are now; not for one on a device.
uint8_t *byoc_evaluator_address(byoc_evaluator_t *evaluator, const byoc_host_buffer_t *buffer);
// In evaluate_run.c: runs the body after the inputs were placed.
byoc_status_t byoc_evaluator_run_body(byoc_evaluator_t *evaluator, byoc_diag_t *diag);
// Reports `status` with the message that runtime->set_error received, or with the reason why the run had to end. `what`
// failed; NULL: the message says it.
byoc_status_t byoc_evaluator_failed(byoc_evaluator_t *evaluator, byoc_status_t status, const char *what,
                                    byoc_diag_t *diag);

// The workspace for a call of a backend's function: behind it are pages that may not be touched, so that a function
// that asked for less than it uses crashes at once, and the message says why (evaluate_edge.c).
void *byoc_evaluator_edge(byoc_evaluator_t *evaluator, const byoc_call_t *call);
void byoc_evaluator_drop_edge(byoc_evaluator_t *evaluator);
// For byoc_foreign_t.explain.
const char *byoc_evaluator_explain(const void *address, const char **out_name);

#endif // BYOC_CORE_HOSTIR_EVALUATE_EVALUATE_INTERNAL_H_
