// SPDX-License-Identifier: Apache-2.0
// byoc/artifact.h - the interface of a compiled model: one shared object with one exported function.
//
// Example:
//   void *library = dlopen("./model.so", RTLD_NOW | RTLD_LOCAL);
//   byoc_artifact_entry_t entry = (byoc_artifact_entry_t)dlsym(library, BYOC_ARTIFACT_ENTRY);
//   const byoc_artifact_t *model = entry(BYOC_ARTIFACT_ABI);
//   byoc_context_t *context = NULL;
//   if (model->create(NULL, &context) != BYOC_OK || model->run(context, inputs, outputs) != BYOC_OK) {
//     fprintf(stderr, "%s\n", model->last_error(context));
//   }
//   model->destroy(context);
//
// The header generated beside an artifact contains this text and those of byoc/status.h, byoc/dtype.h and
// byoc/verify.h, and adds typed functions for that model; it needs no other file of byoc. A program links with -ldl
// only.
//
// Damage: the file ends with a hash of all its bytes (byoc/verify.h). With BYOC_VERIFY=1 in the environment, `create`
// checks it before it makes the first context; a tool that changes the file, such as strip, makes that check fail.
//
// Weights: an artifact of a large model has a weights file beside it (byoc build --weights), which travels with it.
// `create` maps it read-only, and with BYOC_VERIFY=1 checks the hash of every weight in it.
//
// Threads: one thread at a time uses a context (a second thread gets BYOC_INVALID_ARGUMENT during a run); contexts of
// one artifact run concurrently and share the constants. The table and everything it points to is read-only and lives
// until dlclose.
//
// Stack: a thread that creates or runs contexts needs BYOC_STACK_BYTES of stack, which `create` checks for the thread
// that calls it. Measured by filling a thread's stack with a pattern: LeNet, MobileNet v2 and a layer of BERT touch up
// to 46 KiB in a run on target c, 28 on cblas, 9 on dnnl, 6 on cutlass, and up to 29 KiB in create (dnnl). The
// artifact's own worker threads have 1 MiB each, independent of the limits of the process.
//
// Forks: a child creates its own contexts. A context that it inherits runs with fewer threads, or returns
// BYOC_UNSUPPORTED if a library inside the artifact (OpenBLAS, oneDNN) was set up by the parent, or a device opened.
#ifndef BYOC_ARTIFACT_H_
#define BYOC_ARTIFACT_H_

#include <stdint.h>

#include "byoc/dtype.h"
#include "byoc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Version of the structs below. An artifact returns NULL for a version larger than it knows, and never changes the
// meaning of a smaller one.
#define BYOC_ARTIFACT_ABI   1
#define BYOC_ARTIFACT_ENTRY "byoc_artifact_entry"
// The section of the file that holds byoc_artifact_t.metadata and its NUL: byoc inspect reads it without loading the
// artifact, and so does readelf -p.
#define BYOC_ARTIFACT_METADATA_SECTION ".byoc.metadata"

#define BYOC_STACK_BYTES               (64 * 1024)

typedef struct byoc_context_t byoc_context_t;
struct byoc_communicator_t;

// An input or output.
typedef struct byoc_tensor_info_t {
  const char *name;             // as in the model
  uint32_t dtype;               // BYOC_DTYPE_*
  uint32_t rank;                // dimensions
  const int64_t *dims;          // elements along each; -1 if symbolic
  const char *const *dim_names; // NULL for constant dimensions
  uint64_t size_bytes;          // of the dense tensor; 0 if a dimension is symbolic
} byoc_tensor_info_t;

// Threads that the caller provides, used instead of the artifact's own pool.
typedef struct byoc_thread_pool_t {
  uint32_t struct_size;
  int32_t thread_count; // the calling thread included; 1 to 256
  void *self;
  // Splits [0, count) into at most thread_count contiguous chunks of at least `grain` iterations and calls
  // body(argument, begin, end, worker) for each, with 0 <= worker < thread_count. Each worker runs one chunk at a time.
  // Returns when all are done. Never nested.
  void (*parallel_for)(void *self, void (*body)(void *argument, int64_t begin, int64_t end, int32_t worker),
                       void *argument, int64_t count, int64_t grain);
} byoc_thread_pool_t;

// A queue of the caller's, for a model with regions on a device: the context puts their commands into it, and makes no
// queue of its own.
typedef struct byoc_caller_queue_t {
  const char *driver; // "opencl"; a context without that device ignores the queue
  int32_t ordinal;    // number of the device among the driver's, from 0
  uint32_t reserved;  // 0
  void *self;
  // Returns the queue of the device's library: a cl_command_queue, in order; a CUstream. It is called when the context
  // is made and at the begin of each run, on the calling thread. All its queues belong to one context of that library.
  // The queue stays valid until that run has returned; by then all commands that the run put into it have ended.
  void *(*current)(void *self);
} byoc_caller_queue_t;

// A value of a run-time option. Since minor 5.
typedef struct byoc_option_value_t {
  const char *name; // "power", or "npu.power" for that of one engine or driver
  const char *value;
} byoc_option_value_t;

typedef struct byoc_context_options_t {
  uint32_t struct_size; // sizeof(byoc_context_options_t) of the caller
  // 0: $BYOC_THREADS, else the count chosen when building, else the processors that this process may use: those of its
  // affinity mask, or fewer if a control group limits its processor time (the quota, rounded up). At most 256 in all
  // cases.
  int32_t thread_count;
  const byoc_thread_pool_t *pool; // NULL: the artifact's own, shared by its contexts; outlives the context
  // ---- the fields below are read only if struct_size covers them ----
  const byoc_caller_queue_t *queues; // copied; what `self` points to outlives the context. NULL: none
  uint32_t queue_count;
  uint32_t reserved; // 0
  // The communicator with the other ranks (byoc/communicator.h); outlives the context. NULL: there are no others. Then
  // `create` refuses an artifact that was built for several ranks.
  const struct byoc_communicator_t *communicator;
  // The most iterations of a Loop, if `is_dynamic`: a run in which a Loop begins one more returns BYOC_CANCELLED.
  // Otherwise the model has a fixed number of iterations, and they are not counted. 0: $BYOC_MAX_ITERATIONS, else there
  // is no limit. Since minor 5.
  uint64_t max_iterations;
  // The weights file of an artifact that was built with --weights external. NULL: $BYOC_WEIGHTS, else the file beside
  // the artifact. Read when the first context of the process is made; later contexts share the open file. Since minor
  // 5.
  const char *weights;
  // The time limit of a run. It is checked between the instructions of the host program (after some of the short
  // kernels only), at each iteration of a loop, and about each millisecond in the kernels of target c; a function of a
  // backend runs to its end. A run that takes longer returns BYOC_TIMED_OUT; its outputs are undefined, and the context
  // can run again. C source without threads of its own (byoc build -o model.c) counts the time of the processor. 0:
  // there is no limit. Since minor 5.
  uint64_t timeout_ms;
  // A flag that cancels a run: it is checked at the same points, and when a run begins. If it is not 0, the run returns
  // BYOC_CANCELLED. Any thread and any signal handler may set it; only the caller sets it back to 0. Outlives the
  // context. NULL: a run is not cancelled. Since minor 5.
  const volatile int32_t *cancel;
  // 1: runs treat subnormal numbers (in f32, those below 1.2e-38) as zeros, both operands and results, on each thread
  // that computes for the artifact; the thread's own mode is restored after the run. Some processors are a hundred
  // times slower on them. `create` refuses it with BYOC_UNSUPPORTED on machines other than x86-64 and AArch64. 0: they
  // are ordinary numbers. Since minor 5.
  uint64_t flush_subnormals;
  // Values of run-time options: what the engines and drivers inside take when a context is made, such as a performance
  // mode. The metadata ("runtime_options") and `byoc inspect` list them. A name without an engine or driver in front
  // sets the option of all that have one; the last value of a name counts. `create` returns BYOC_INVALID_ARGUMENT, with
  // the names that exist, for an unknown name or a wrong value. Copied. NULL: the defaults. Since minor 5.
  const byoc_option_value_t *runtime_options;
  uint32_t runtime_option_count;
  uint32_t reserved_options; // 0
} byoc_context_options_t;

// A value of a run with dynamic shapes: a tensor, a sequence or an optional.
enum { BYOC_ARGUMENT_TENSOR = 0, BYOC_ARGUMENT_SEQUENCE = 1, BYOC_ARGUMENT_OPTIONAL = 2 };
// byoc_tensor_info_t.rank of a tensor whose rank is known only when it runs.
#define BYOC_ARGUMENT_ANY_RANK 0xffffffffu

typedef struct byoc_argument_t {
  uint32_t kind;                 // BYOC_ARGUMENT_*
  uint32_t dtype;                // tensors: as in byoc_tensor_info_t
  uint32_t rank;                 // tensors
  uint32_t reserved;             // 0
  const int64_t *dims;           // tensors: elements along each dimension; may be NULL if rank is 0
  void *data;                    // tensors: dense, row-major; strings: const char *const *, UTF-8 ended by a NUL
  uint64_t count;                // sequences: items; optionals: 0 or 1
  struct byoc_argument_t *items; // sequences and optionals
} byoc_argument_t;

// Memory of the caller, aligned to the element size of its tensor.
typedef struct byoc_buffer_t {
  void *data; // NULL: none
  uint64_t size_bytes;
} byoc_buffer_t;

// Memory for the outputs of run_with.
typedef struct byoc_run_options_t {
  uint32_t struct_size; // sizeof(byoc_run_options_t) of the caller
  uint32_t reserved;    // 0
  // One for each output; NULL: none is given. An output without memory of the caller belongs to the context, as those
  // of run_arguments do.
  const byoc_buffer_t *outputs;
  // Returns the memory of an output that has none in `outputs`; called once in a run for each, when its shape is known;
  // `tensor` has type and shape. The memory belongs to the caller, even if the run fails. It must share no bytes with
  // inputs and other outputs, except as outputs_over allows; a run with dynamic shapes does not check that. NULL makes
  // the run fail with BYOC_OUT_OF_MEMORY. Not called for sequences, optionals and tensors without bytes. `allocate` may
  // be NULL.
  void *self;
  void *(*allocate)(void *self, uint32_t output, const byoc_argument_t *tensor, uint64_t size_bytes);
} byoc_run_options_t;

// A named time in nanoseconds, reported by `profile` when an instruction ends. Commands of a device are reported when
// the run ends, with the device's own times. The nodes inside an engine are reported before the instruction that they
// are part of, with a tab before their names. `name` lives until the sink returns.
typedef void (*byoc_profile_sink_t)(void *argument, const char *name, uint64_t duration_ns);

// A counter of a backend: cycles, bytes, utilisation. It belongs to the name that the sink of the profile gets next.
// `unit` may be "". Strings live until the sink returns. Since minor 5.
typedef void (*byoc_counter_sink_t)(void *argument, const char *name, const char *unit, double value);

// A result of an instruction of the host program, reported by `trace` when the instruction has ended. Strings and
// arrays live as long as the artifact, `turns` and `value` until the sink returns. Intermediate tensors of a backend's
// function come before the results of its instruction (since minor 5): `op` is then BYOC_TRACE_INNER, there are no
// operands, and `name` and `value` live until the sink returns.
#define BYOC_TRACE_INNER "inner"
typedef struct byoc_trace_event_t {
  uint32_t struct_size;        // sizeof(byoc_trace_event_t) of the artifact
  uint32_t instruction;        // its index in the host program, from 0, where nested instructions count, too
  const char *op;              // its kind: "kernel", "engine", "loop", ...
  const char *symbol;          // the called function, or ""
  const char *origin;          // its operators in the model: "Conv+Relu 'conv1'", or ""
  const char *const *operands; // names of the tensors that it read
  uint32_t operand_count;
  uint32_t turn_count;  // number of loops around it; at most 32, without those further inside
  const int64_t *turns; // the iteration of each of these loops, from 0; the outermost loop first
  uint32_t result;      // index of the result, from 0
  uint32_t result_count;
  const char *name;      // of the tensor
  byoc_argument_t value; // its type and its data
} byoc_trace_event_t;
typedef void (*byoc_trace_sink_t)(void *argument, const byoc_trace_event_t *event);

typedef struct byoc_artifact_t {
  uint32_t struct_size; // sizeof(byoc_artifact_t) of the artifact
  uint32_t abi_version; // BYOC_ARTIFACT_ABI of the artifact
  const char *model_name;
  uint32_t input_count, output_count;
  const byoc_tensor_info_t *inputs, *outputs;
  uint64_t workspace_size_bytes; // memory that each context allocates for intermediate values
  uint64_t constants_size_bytes; // weights, inside the file or in the weights file beside it; shared
  const char *metadata;          // JSON: targets, plugin versions, CPU features, content hashes, host program summary
  uint64_t metadata_size_bytes;  // without the NUL

  // Can this processor run the artifact? BYOC_OK, or BYOC_UNSUPPORTED with the reason in `message` (cut at `size`; may
  // be NULL). `create` makes the same check. Any thread.
  int32_t (*check)(char *message, uint64_t size);
  // Does all work that needs no data. `options` may be NULL. On failure *out_context is NULL and last_error(NULL) has
  // the reason (for this thread): BYOC_UNSUPPORTED as from `check` or for a small stack, BYOC_INVALID_ARGUMENT for
  // wrong options or environment variables, with BYOC_VERIFY=1 those of byoc_verify_file, BYOC_OUT_OF_MEMORY,
  // BYOC_VERSION if an engine inside has another ABI, BYOC_IO or BYOC_INVALID_DATA if the weights file is missing or is
  // not the one for this artifact, or the status of a library, an engine or a device that cannot start. Where oneDNN
  // (target dnnl) gets no memory while it prepares primitives, the process ends. Any thread.
  int32_t (*create)(const byoc_context_options_t *options, byoc_context_t **out_context);
  // One inference. inputs[i] and outputs[i] are dense row-major tensors of the sizes above, aligned to their element
  // size. Inputs may share bytes with each other; an output shares none with an input or another output, except as
  // outputs_over allows. Allocates nothing and takes no lock, with two exceptions: libraries of devices may do both,
  // and oneDNN (target dnnl) allocates for each primitive that it executes. If that gets no memory the run returns
  // BYOC_OUT_OF_MEMORY, and the context stays usable; on AArch64, and where the allocation is one of OpenMP's worker
  // threads, the process ends. BYOC_UNSUPPORTED if is_dynamic is set (see run_arguments); BYOC_INVALID_ARGUMENT if an
  // input or output is NULL or an output overlaps another tensor; otherwise the status of the operator that failed.
  // Commands that a run put into queues of devices have ended when it returns, even after a failure.
  int32_t (*run)(byoc_context_t *context, const void *const *inputs, void *const *outputs);
  void (*destroy)(byoc_context_t *context); // accepts NULL
  // The message of the last failure of this context; with NULL, of this thread's last failed `create` or `check`. Never
  // NULL. In a new context it is "". If a device cannot start and the artifact has a plan without it, that plan runs,
  // and the message gives the reason.
  const char *(*last_error)(const byoc_context_t *context);
  // Like run, with the same statuses; also reports the time of each instruction of the host program. NULL if the
  // artifact has no profile entry.
  int32_t (*profile)(byoc_context_t *context, const void *const *inputs, void *const *outputs, byoc_profile_sink_t sink,
                     void *argument);

  // ---- the fields below exist only if struct_size covers them ----
  // The kind of each input and output, outermost first: "t" is a tensor, "st" a sequence of tensors, "ot" an optional
  // tensor, "ost" an optional sequence of tensors. Its byoc_tensor_info_t describes the tensors in it.
  const char *const *input_kinds, *const *output_kinds;
  // 1 if an input or output has a symbolic dimension or is not a tensor, or if shapes depend on data. Then `run`
  // returns BYOC_UNSUPPORTED, because the sizes of outputs are not known beforehand.
  uint32_t is_dynamic;
  uint32_t reserved;
  // One inference with shapes known at run time. Inputs are checked against the table and against each other; `inputs`
  // and `outputs` may be NULL if there are none. Input data is read during the call only, except strings: strings that
  // reach an output still belong to their owner. The artifact fills `outputs`. Their data belongs to the context and
  // stays valid until the next call has returned BYOC_OK, or until destroy. So the outputs of one call may be inputs of
  // the next one. Memory grows with the largest shapes seen and is kept for the next run. BYOC_INVALID_ARGUMENT if an
  // input does not have the model's type or shape, or if shapes do not fit each other; BYOC_OUT_OF_MEMORY; otherwise
  // the status of the operator that failed.
  int32_t (*run_arguments)(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs);
  // A hash of the names, kinds, element types and dimensions of inputs and outputs: artifacts with the same hash are
  // called in the same way. The generated header refuses to load any other.
  uint64_t signature_hash;
  // The most memory that the context had in use at once in its last run: the workspace, the results of run_arguments
  // and, where shapes are known at run time, its tensors; without memory of devices. 0 without a context.
  uint64_t (*peak_bytes)(const byoc_context_t *context);
  // Like run_arguments, for every artifact and with the same statuses; also reports each result of each instruction
  // that runs, in order. NULL unless the artifact was built with --trace.
  int32_t (*trace)(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                   byoc_trace_sink_t sink, void *argument);
  // The same for the time of each instruction, as `profile` does for static shapes. NULL unless it was built with
  // --profile.
  int32_t (*profile_arguments)(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                               byoc_profile_sink_t sink, void *argument);
  // For each output the input that it may overwrite (byoc build --alias), or -1: a run may be given the same memory for
  // both. Then a state or a cache is changed in place, and unchanged elements are not copied.
  const int32_t *outputs_over;
  // Like run_arguments, with outputs in the caller's memory. The model writes them there directly, or copies an output
  // that is a value passed on. `options` may be NULL. BYOC_INVALID_ARGUMENT, before anything runs, in three cases. A
  // buffer overlaps another one or an input tensor (except as outputs_over allows; items of sequences are not checked).
  // A buffer is given for a sequence or an optional. A model of static shapes has buffers for some outputs only, and no
  // `allocate`. After the run: if a buffer is too small; then no output has data, but all have their shapes, which live
  // until the next run, and the message gives the sizes needed and given.
  int32_t (*run_with)(byoc_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                      const byoc_run_options_t *options);
  // An artifact may hold several models, its entries (byoc build --entry), each with inputs, outputs and contexts of
  // its own; they share weights and code. `entry` is the name of this table's model, and `entries` has the tables of
  // all `entry_count`, in the order of the build; byoc_artifact_entry returns the first one. NULL, NULL and 0 if there
  // is only one. Since minor 5.
  const char *entry;
  const struct byoc_artifact_t *const *entries;
  uint32_t entry_count;
  uint32_t reserved_entries; // 0
  // Sets the sink for counters in later profiled runs of the context, and its argument. NULL: none, as in a new
  // context; collecting counters may make runs slower. Not during a run. Since minor 5.
  void (*set_counter_sink)(byoc_context_t *context, byoc_counter_sink_t sink, void *argument);
} byoc_artifact_t;

// The one exported function, byoc_artifact_entry.
typedef const byoc_artifact_t *(*byoc_artifact_entry_t)(uint32_t abi_version);

#ifdef __cplusplus
}
#endif
#endif // BYOC_ARTIFACT_H_
