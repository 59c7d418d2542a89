// SPDX-License-Identifier: Apache-2.0
// A context as the files of the runtime see it: what generated code reads (byoc_context_t), and more behind that.
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
  bool has_pace; // it has several threads of the pool
  byoc_pace_t pace;
  bool minds_others; // this run leaves out threads that do not repay themselves beside other programs
  byoc_crowd_t crowd;
  byoc_stop_t stop;
  byoc_runtime_t in_parts;    // for kernels of target c, where `stop` is set
  uint32_t fork_generation;   // of the process that made it
  byoc_atomic_bool_t used;    // by a run
  byoc_atomic_bool_t misused; // a second thread came while it was used
  byoc_atomic_pointer_t own;  // the inputs by which run_arguments calls run; NULL outside of that call
  const void **checked;       // the inputs and outputs that were found to be there and not to overlap
  bool has_checked;
  byoc_span_t *spans;             // scratch of that check
  const byoc_run_options_t *with; // of run_with; NULL outside of that call
  byoc_buffer_t *placed;          // by output: the caller's memory in this run
  byoc_thread_pool_t user_pool;   // a copy; parallel_for is NULL if there is none
  bool flushes;                   // runs treat subnormal numbers as zeros
  uint64_t float_mode;            // of the thread that runs, as it was before
  // What shares loops among threads, where runtime.parallel_for only sets the threads' mode.
  void (*share)(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain);
  byoc_kept_t *kept; // by libraries
  byoc_collectives_t collectives;
  char reason[512]; // of set_error; cut at 511
  char error[1024];
} byoc_model_context_t;

// Why the run failed, as far as it is known.
static inline const char *byoc_model_reason(const byoc_model_context_t *context, int32_t status) {
  return context->reason[0] != '\0' ? context->reason : byoc_status_name(status);
}

// ---- the caller's memory for outputs (results.c); for runs with context->with ----
// Finds what is given for each output. Refuses what cannot be used.
int32_t byoc_model_take_buffers(byoc_model_context_t *context);
// Asks the caller's allocator for an output that has no memory yet, once in a run.
int32_t byoc_model_ask_for(byoc_model_context_t *context, uint32_t output, const byoc_argument_t *tensor,
                           uint64_t size_bytes);
// byoc_frame_t.place: the memory of the cells that become outputs.
void *byoc_model_place(void *self, uint32_t cell, const byoc_argument_t *tensor, uint64_t size_bytes);
// Copies what an output that may be written over an input passes on of any input: another output may be written over
// that one first.
int32_t byoc_model_keep_input(byoc_model_context_t *context, uint32_t output);
// What the run has made of an output goes where it belongs.
int32_t byoc_model_hand_out(byoc_model_context_t *context, uint32_t output, byoc_argument_t *out_argument);

#endif // BYOC_CORE_RUNTIME_CONTEXT_H_
