// SPDX-License-Identifier: Apache-2.0
// byoc/engine.h - the interface of a JSON engine: the code that runs JSON runtime modules inside an artifact.
//
// Example:
//   extern BYOC_PACKED const byoc_engine_t my_engine;
//   const byoc_engine_t my_engine = {.struct_size = sizeof(my_engine), .abi_version = BYOC_ENGINE_ABI_VERSION,
//                                    .name = "mine", .create = my_create, .destroy = my_destroy, .run = my_run};
//
// A JSON backend hands back one JSON description for each function, its constants, and the archive that defines one
// engine table under a symbol that it names. The artifact links the archive once. Each context creates one instance for
// all functions of the engine, before its first run. One thread at a time uses an instance; different instances run
// concurrently. Data of `init` stays valid until destroy returns.
#ifndef BYOC_ENGINE_H_
#define BYOC_ENGINE_H_

#include "byoc/call.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_ENGINE_ABI_VERSION 1

// One function that the engine is to run.
typedef struct byoc_engine_function_t {
  const char *symbol; // the function's global symbol, for messages
  const char *json;   // its description, NUL-terminated UTF-8
  uint64_t json_size; // bytes without the NUL
  // Constants in the order in which the backend handed them back; read-only data aligned to BYOC_BUFFER_ALIGNMENT.
  const DLTensor *constants;
  uint32_t constant_count;
  uint32_t reserved; // 0
} byoc_engine_function_t;

// A file that travels inside the artifact (a shared library that the engine loads from memory).
typedef struct byoc_engine_blob_t {
  const char *name; // as the backend named it, e.g. "libdnnl.so.2"
  const void *data;
  uint64_t size_bytes;
} byoc_engine_blob_t;

typedef struct byoc_engine_init_t {
  uint32_t struct_size; // sizeof(byoc_engine_init_t) of the caller
  uint32_t function_count;
  const byoc_engine_function_t *functions;
  const byoc_engine_blob_t *blobs; // in the order in which the backend handed them back
  uint32_t blob_count;
  uint32_t reserved; // 0
  const byoc_runtime_t *runtime;
  // Since minor 5. The run-time options that the backend declared for this engine, in the order of the declaration,
  // each with its value (codegen->declare_runtime_options). They are valid until `destroy` returns.
  const byoc_runtime_option_t *options;
  uint32_t option_count;
  uint32_t reserved_options; // 0
} byoc_engine_init_t;

// Receives one line of a profile: the JSON node's name and the time that it took, in nanoseconds.
typedef void (*byoc_engine_profile_sink_t)(void *argument, const char *node, uint64_t duration_ns);

typedef struct byoc_engine_t {
  uint32_t struct_size; // sizeof(byoc_engine_t) of the engine
  uint32_t abi_version; // BYOC_ENGINE_ABI_VERSION
  const char *name;     // as the JSON modules name it, and byoc_engine_module_t
  uint64_t flags;       // 0

  // Builds everything that needs no data (primitives, reordered weights). On failure calls init->runtime->set_error,
  // leaves *out_instance NULL and holds no resource.
  int32_t (*create)(const byoc_engine_init_t *init, void **out_instance);
  void (*destroy)(void *instance); // accepts NULL
  // Runs function `function_index` of init->functions. Reads nothing after the last element of a tensor (for a library
  // that does, the engine copies inputs), looks up no names, and allocates nothing that `create` could have allocated.
  // If the engine's library allocates in each run, the engine's documentation mentions it.
  int32_t (*run)(void *instance, uint32_t function_index, const byoc_call_t *call);
  // Optional (may be NULL): runs like `run` and reports the time of each JSON node.
  int32_t (*profile)(void *instance, uint32_t function_index, const byoc_call_t *call, byoc_engine_profile_sink_t sink,
                     void *argument);
  // Since minor 5; optional, and required if a module states what it fits (byoc_json_module_t). Compares a statement
  // with the chip at hand; called before `create`, once for each statement, one equal to the last left out. If it does
  // not fit, calls init->runtime->set_error with what is there ("the chip is npu-1, revision A") and returns a status;
  // the host says which function wants what.
  int32_t (*fits)(const byoc_engine_init_t *init, const char *statement);
} byoc_engine_t;

#ifdef __cplusplus
}
#endif
#endif // BYOC_ENGINE_H_
