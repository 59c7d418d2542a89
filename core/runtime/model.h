// SPDX-License-Identifier: Apache-2.0
// The interface between the generated C of an artifact and the runtime inside it. It is private to one artifact: both
// are linked into the same file, so nothing here needs to stay compatible.
//
// The generated file describes the model with constant tables (byoc_model_t) and defines `run` as straight-line calls;
// everything that is the same for every model (contexts, errors, threads, processor check) is in the runtime archive.
#ifndef BYOC_CORE_RUNTIME_MODEL_H_
#define BYOC_CORE_RUNTIME_MODEL_H_

#include "byoc/artifact.h"
#include "byoc/call.h"
#include "byoc/engine.h"
#include "core/runtime/collective.h"
#include "core/runtime/container.h"
#include "core/runtime/device.h"
#include "core/runtime/isa_level.h"
#include "core/runtime/option.h"
#include "core/runtime/relation.h"
#include "core/runtime/report.h"
#include "core/runtime/trace.h"
#include "core/runtime/weights.h"

// One call by the packed convention: tensors[first ..] of the model's table, inputs then outputs.
typedef struct byoc_model_call_t {
  uint32_t first_tensor, input_count, output_count;
  uint32_t is_kernel;                              // 1: a kernel of target c, whose loops can be interrupted
  uint64_t workspace_offset, workspace_size_bytes; // scratch in the context's workspace; size 0: none
} byoc_model_call_t;

// A tensor whose data lies in the context's workspace.
typedef struct byoc_model_place_t {
  uint32_t tensor;
  uint64_t offset_bytes;
} byoc_model_place_t;

// Bytes of the context's workspace.
typedef struct byoc_model_range_t {
  uint64_t offset_bytes, size_bytes;
} byoc_model_range_t;

typedef struct byoc_model_engine_t {
  const char *name;
  const byoc_engine_t *table;
  const byoc_engine_function_t *functions;
  const byoc_engine_blob_t *blobs;
  uint32_t function_count, blob_count;
  const byoc_runtime_option_row_t *options; // those that a context may set; NULL: none
  uint32_t option_count;
  const char *const *fits; // what each function, and then the blobs, fit, or NULL (core/runtime/fit.h); NULL: none says
} byoc_model_engine_t;

// A library's setup function, run once per context.
typedef struct byoc_model_setup_t {
  const char *name;
  int32_t (*function)(const byoc_runtime_t *runtime);
} byoc_model_setup_t;

// A constant that is also a value.
typedef struct byoc_model_constant_t {
  uint32_t cell, dtype, rank;
  const void *data;
  const int64_t *dims;
} byoc_model_constant_t;

typedef struct byoc_model_t {
  const byoc_artifact_t *artifact;
  const char *cpu_features;             // required, space-separated
  const byoc_model_isa_level_t *levels; // the best first; NULL: the artifact has one level
  uint32_t level_count;
  int32_t thread_count; // chosen when building; 0: none
  uint32_t huge_pages;  // 1: constants move to huge pages, unless $BYOC_HUGE_PAGES says otherwise
  uint32_t is_static;   // 1: it was linked into a program, so there is no file of its own that could be checked
  const uint8_t *data;  // the constants, as many bytes as the artifact says; NULL: they are in `weights`
  const byoc_model_weights_t *weights; // constants in a file of their own; NULL: there is none
  uint32_t tensor_count, call_count, place_count, engine_count, setup_count;
  const DLTensor *tensors; // data is set for constants, those of `weights` once they are open; NULL otherwise
  const byoc_model_call_t *calls;
  const byoc_model_place_t *places;
  const byoc_model_range_t *cached; // zero in a new context
  uint32_t cached_count;
  const byoc_model_engine_t *engines;
  uint32_t has_engine_fallback; // 1: without engines, the program has another branch (byoc_check_engines)
  const byoc_model_setup_t *setups;
  const char *const *steps; // by instruction: the node that it computes, for errors and profiles

  // For a dynamic model: the host program, run on cells, and the cells that are inputs and outputs.
  int32_t (*execute)(byoc_context_t *context); // NULL: a static model
  uint32_t cell_count, symbol_count, constant_count;
  const uint32_t *input_cells, *output_cells;
  const uint32_t *output_destinations; // by output: its cell, so that it can be made in the caller's memory
  const byoc_model_constant_t *constants;

  const byoc_device_tables_t *on_devices; // its devices; NULL: none
  uint32_t rank_count;                    // the number of ranks that it was built for; 0: any
  int32_t rank;                           // its own rank
  uint64_t rank_build;                    // a hash of the inputs of the build, the same for all ranks; 0: unknown
} byoc_model_t;

// The part of a context that generated code reads; the runtime keeps more after it.
struct byoc_context_t {
  DLTensor *tensors;
  byoc_call_t *calls;
  uint8_t *workspace;
  void **instances; // one per engine
  byoc_runtime_t runtime;
  byoc_frame_t frame;        // cells of a dynamic model; results of run_arguments; strings
  byoc_observer_t *observer; // of this run; only code that was generated for observers reads it; NULL: none
  byoc_devices_t *devices;   // NULL: the model has none
  struct byoc_stop_t *stop;  // NULL: nothing ends a run early
  byoc_reporter_t reporter;  // what functions of backends report; generated code sets what is wanted
};

// The entries of byoc_artifact_t, with the model as an argument.
int32_t byoc_model_check(const byoc_model_t *model, char *message, uint64_t size);
int32_t byoc_model_create(const byoc_model_t *model, const byoc_context_options_t *options,
                          byoc_context_t **out_context);
void byoc_model_destroy(byoc_context_t *context);
const char *byoc_model_last_error(const byoc_context_t *context);

// Begins a run of the context. BYOC_OK if no other thread runs it, every pointer that the run needs is set, and no
// output shares bytes with another port. Otherwise BYOC_INVALID_ARGUMENT with the names, or BYOC_UNSUPPORTED for a
// context that a fork has left without the threads of its libraries. byoc_model_failed or byoc_model_end ends the run.
int32_t byoc_model_begin(byoc_context_t *context, const void *const *inputs, void *const *outputs);
// Waits for devices. BYOC_OK, or the status of a command that failed on one.
int32_t byoc_model_end(byoc_context_t *context);
// run_arguments, for every artifact.
int32_t byoc_model_run_arguments(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs);
// The same with an observer, which may be NULL.
int32_t byoc_model_run_observed(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                                byoc_observer_t *observer);
// The entries `trace` and `profile_arguments` of byoc_artifact_t.
int32_t byoc_model_trace(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                         byoc_trace_sink_t sink, void *argument);
int32_t byoc_model_profile_arguments(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                                     byoc_profile_sink_t sink, void *argument);
// run_with, for every artifact.
int32_t byoc_model_run_with(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                            const byoc_run_options_t *options);
// `run` of a dynamic model: refuses; the message names run_arguments.
int32_t byoc_model_refuse_run(byoc_context_t *context, const void *const *inputs, void *const *outputs);
uint64_t byoc_model_peak_bytes(const byoc_context_t *context); // accepts NULL
// Frees the strings of the run before the last one. A static model that makes strings calls it at the start of a run;
// memory that run_arguments has reserved for this run stays.
void byoc_model_forget_texts(byoc_context_t *context);
// Makes the step's name and the reason the context's error, and returns `status`.
int32_t byoc_model_failed(byoc_context_t *context, int32_t status, uint32_t step);
// Called after a step if `context->stop` is set: BYOC_OK if the run goes on, otherwise the status of byoc_model_failed.
int32_t byoc_model_stopped(byoc_context_t *context, uint32_t step);
// Called before a run of an engine, whose library may have threads of its own: idle workers sleep until the next loop,
// and leave their processors to those threads.
void byoc_model_rest(byoc_context_t *context);
// Calls an engine under a profile; reports each node if the engine can.
int32_t byoc_model_profile_engine(byoc_context_t *context, uint32_t engine, uint32_t function, const byoc_call_t *call,
                                  byoc_profile_sink_t sink, void *argument);
// byoc_artifact_t.set_counter_sink.
void byoc_model_set_counter_sink(byoc_context_t *context, byoc_counter_sink_t sink, void *argument);
uint64_t byoc_model_now_ns(void);

#endif // BYOC_CORE_RUNTIME_MODEL_H_
