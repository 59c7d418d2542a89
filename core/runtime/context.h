// SPDX-License-Identifier: Apache-2.0
// The context inside the runtime: the part that generated code reads (byoc_context_t), then the runtime's own.
#ifndef BYOC_CORE_RUNTIME_CONTEXT_H_
#define BYOC_CORE_RUNTIME_CONTEXT_H_

#include <stdbool.h>

#include "core/runtime/atomics.h"
#include "core/runtime/crowd.h"
#include "core/runtime/model.h"
#include "core/runtime/overlap.h"
#include "core/runtime/pace.h"
#include "core/runtime/stop.h"

typedef struct byoc_kept_t byoc_kept_t;

typedef struct byoc_model_context_t {
  byoc_context_t shared;
  const byoc_model_t *model;
  bool pool_acquired;
  bool has_pace; // the context has several threads of the pool
  byoc_pace_t pace;
  bool minds_others; // this run leaves out threads that cost more than they save beside other programs
  byoc_crowd_t crowd;
  byoc_stop_t stop;
  byoc_runtime_t in_parts;    // for kernels of target c, where `stop` is set
  uint32_t fork_generation;   // that of the process that made the context
  byoc_atomic_bool_t used;    // a run is in progress
  byoc_atomic_bool_t misused; // a second thread called while it was used
  byoc_atomic_pointer_t own;  // the inputs that run_arguments gives to run; NULL outside of that call
  const void **checked;       // the inputs and outputs of the last check, which are there and do not overlap
  bool has_checked;
  byoc_span_t *spans;             // scratch memory of that check
  const byoc_run_options_t *with; // the options of run_with; NULL outside of that call
  byoc_buffer_t *placed;          // by output: the caller's memory in this run
  byoc_thread_pool_t user_pool;   // a copy; parallel_for is NULL if there is none
  bool flushes;                   // runs treat subnormal numbers as zeros
  uint64_t float_mode;            // that of the thread that runs, before the run
  // Divides loops among threads; runtime.parallel_for then only sets the threads' floating-point mode.
  void (*share)(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain);
  byoc_kept_t *kept;                      // memory that libraries keep here
  byoc_runtime_option_t **engine_options; // by engine: its run-time options, or NULL
  byoc_collectives_t collectives;
  char reason[512]; // the message given to set_error; cut at 511
  char error[1024];
} byoc_model_context_t;

// The reason of a failure: that of set_error, or the name of the status.
static inline const char *byoc_model_reason(const byoc_model_context_t *context, int32_t status) {
  return context->reason[0] != '\0' ? context->reason : byoc_status_name(status);
}

// ---- the caller's memory for outputs (results.c); for runs with context->with ----
// Finds the buffer that is given for each output. Refuses a buffer that cannot be used.
int32_t byoc_model_take_buffers(byoc_model_context_t *context);
// Asks the caller's allocator for an output that has no memory yet, once in a run.
int32_t byoc_model_ask_for(byoc_model_context_t *context, uint32_t output, const byoc_argument_t *tensor,
                           uint64_t size_bytes);
// byoc_frame_t.place: the memory of the cells that become outputs.
void *byoc_model_place(void *self, uint32_t cell, const byoc_argument_t *tensor, uint64_t size_bytes);
// Copies an output that is an input passed on, where another output may be written over that input before.
int32_t byoc_model_keep_input(byoc_model_context_t *context, uint32_t output);
// Puts a result of the run where the caller wants it.
int32_t byoc_model_hand_out(byoc_model_context_t *context, uint32_t output, byoc_argument_t *out_argument);

#endif // BYOC_CORE_RUNTIME_CONTEXT_H_
