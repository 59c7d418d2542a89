// SPDX-License-Identifier: Apache-2.0
// byoc/call.h - the packed calling convention, by which an artifact calls the functions that backends generate.
//
// Example:
//   BYOC_PACKED int32_t relu_4(const byoc_call_t *call) {
//     const float *x = (const float *)call->tensors[0].data;      // inputs first,
//     float *y = (float *)call->tensors[call->input_count].data;  // then outputs
//     for (int i = 0; i < 4; ++i) y[i] = x[i] > 0 ? x[i] : 0;
//     return BYOC_OK;
//   }
//
// Inputs are read-only, and so are constants: weights are mapped read-only, and other functions read the same bytes.
// Inputs may share bytes with each other; an output shares none with an input or another output, and its contents are
// undefined until the function writes them. If the model's shapes are dynamic, all shapes are those of this call: the
// host computes the outputs' shapes before. A tensor may have no elements; then its data must not be read.
//
// Tensors are DLPack's: data is row-major and dense, strides is NULL, byte_offset is 0, shape counts elements. Buffers
// that byoc allocates are aligned to BYOC_BUFFER_ALIGNMENT bytes; an artifact's own inputs and outputs are aligned to
// their element size only. Everything reachable from a byoc_call_t belongs to the caller and is valid until the
// function returns. A function may be called from several threads at once with different calls.
#ifndef BYOC_CALL_H_
#define BYOC_CALL_H_

#include <stdint.h>

#include "byoc/dlpack.h"
#include "byoc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct byoc_communicator_t; // byoc/communicator.h

// Alignment in bytes of constants, workspaces and intermediate buffers: one cache line, and one AVX-512 register.
#define BYOC_BUFFER_ALIGNMENT 64

// Marks a packed function that the artifact links to: visible to the link, hidden in the finished file.
#if defined(__GNUC__)
#define BYOC_PACKED __attribute__((visibility("hidden")))
#else
#define BYOC_PACKED
#endif

// One chunk of a parallel loop: iterations [begin, end) on worker `worker` (0 <= worker < thread_count, each worker
// runs one chunk at a time). Returns nothing: a body that can fail records its failure through `argument`.
typedef void (*byoc_parallel_body_t)(void *argument, int64_t begin, int64_t end, int32_t worker);

// Services of a running artifact for the functions inside it. Read-only; outlives every call made with it.
typedef struct byoc_runtime_t {
  uint32_t struct_size; // sizeof(byoc_runtime_t) of the artifact
  int32_t thread_count; // workers of parallel_for, the calling thread included; at least 1
  void *self;           // first argument of the functions below

  // Splits [0, count) into at most thread_count contiguous chunks of at least `grain` iterations, runs them, and
  // returns when all are done. Runs on the calling thread alone if one chunk suffices. Must not be nested.
  void (*parallel_for)(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain);

  // Records the reason of a failure; the message is copied at once and cut at 511 bytes. The function then returns a
  // status.
  void (*set_error)(void *self, const char *message);

  // Memory that lives until the context's next run begins, for strings that a function makes; aligned for any type,
  // NULL if out of memory. The pointer itself may be NULL, or beyond struct_size. On the calling thread only.
  void *(*allocate)(void *self, uint64_t size_bytes);

  // Memory that a library keeps for as long as the context lives, aligned to BYOC_BUFFER_ALIGNMENT, contents undefined
  // at first. `key` is an address of the library's own: the first call with it allocates, later ones return the same
  // memory for any size. A set-up function allocates all memory that runs need, so that no run allocates. NULL when out
  // of memory. May be NULL itself where struct_size does not cover it. On the calling thread only.
  void *(*keep)(void *self, const void *key, uint64_t size_bytes);

  // The communicator of a context that is one of several ranks; NULL: there is one rank. Only the host program may use
  // it.
  const struct byoc_communicator_t *communicator;

  // 1: the devices that the host program names have started. 0: there are none, or one has not started and the
  // program's alternative runs. Only the host program reads it.
  uint32_t has_devices;
  uint32_t reserved; // 0

  // Returns 1 if this run must end, because its time is over or its caller has cancelled it
  // (byoc_context_options_t.timeout_ms). A long function may call it now and then, on any thread, and returns
  // BYOC_CANCELLED then; its results are not used. It stays 1 until the run has ended. May be NULL itself: runs have no
  // limit; or beyond struct_size. Since minor 5.
  int32_t (*is_ending)(void *self);

  // 1: the engines that the host program names have started. 0: one has not, and the program's alternative runs, if it
  // has one. Only the host program reads it. Since minor 5.
  uint32_t has_engines;
  uint32_t reserved_engines; // 0

  // ---- what a function shows of itself (since minor 5) ----
  // Each of these may be NULL, or beyond struct_size. They may be called during a call of a packed function or of an
  // engine, on the thread that was called. Texts and data are read before they return. Each returns BYOC_OK, also if
  // nobody wants what is reported; BYOC_INVALID_DATA for what cannot be shown (no name, a name or a unit that is
  // longer than BYOC_REPORTED_NAME_BYTES or is not printable UTF-8, a counter that is NaN or infinite, a tensor that is
  // not dense in the host's memory, or too many of them): the run then ends with an error that says so; or
  // BYOC_OUT_OF_MEMORY.
  //
  // What this run wants: BYOC_WANTS_*, joined by |; 0 in an ordinary run. Collecting it may make the run slower, but
  // must not change results.
  uint32_t (*wanted)(void *self);
  // A part of the function, and the time that it took: a row below the function's in a profile. An engine with the slot
  // `profile` may use its sink instead.
  int32_t (*report_step)(void *self, const char *name, uint64_t duration_ns);
  // A counter, such as ("cycles", "", 4096) or ("utilisation", "%", 71.5). It belongs to the part that is reported
  // next, or, behind the last part, to the function. BYOC_COUNTER_DEVICE_TIME, in "ns", is the time that the chip took.
  int32_t (*report_counter)(void *self, const char *name, const char *unit, double value);
  // An intermediate tensor, for `byoc run --dump`, under its name in the model where it has one.
  int32_t (*report_tensor)(void *self, const char *name, const DLTensor *tensor);
} byoc_runtime_t;

enum {
  BYOC_WANTS_PROFILE = 1, // the run is profiled: steps and counters
  BYOC_WANTS_TENSORS = 2, // the run is traced: intermediate tensors
};

// Bytes of a name or unit that a function reports, at most.
#define BYOC_REPORTED_NAME_BYTES 200
// The names of two counters, in nanoseconds: the time on the chip, and the host's time for a command of a device.
#define BYOC_COUNTER_DEVICE_TIME "device_time"
#define BYOC_COUNTER_HOST_TIME   "host_time"

// A run-time option of an engine or a driver, with its value in one context. Since minor 5.
typedef struct byoc_runtime_option_t {
  const char *name;
  const char *text; // the value as it was written, otherwise the default
  int64_t integer;  // INT and BOOL: the value; CHOICE: its index among the choices
  double real;      // FLOAT: the value
} byoc_runtime_option_t;

// One call. For static shapes the artifact fills it once per context and changes data pointers only.
typedef struct byoc_call_t {
  uint32_t struct_size;  // sizeof(byoc_call_t) of the artifact
  uint32_t input_count;  // tensors[0 .. input_count)
  uint32_t output_count; // tensors[input_count .. input_count + output_count)
  uint32_t reserved;     // 0
  const DLTensor *tensors;
  const byoc_runtime_t *runtime;
  void *workspace;               // scratch memory as large as the function asked for; contents undefined
  uint64_t workspace_size_bytes; // 0 if it asked for none
} byoc_call_t;

// A packed function. Returns BYOC_OK, or calls runtime->set_error and returns another status.
typedef int32_t (*byoc_packed_function_t)(const byoc_call_t *call);

#ifdef __cplusplus
}
#endif
#endif // BYOC_CALL_H_
