// SPDX-License-Identifier: Apache-2.0
// The key of the cost database: everything that a cost depends on, as text and as a hash.
//
// The key holds
//   - the structure of the function with its attributes, element types and shapes;
//   - the data of its small constants (axes, clip bounds: a backend may choose its code by them), not of its weights;
//   - the target with every option, the plugin, its version and the content of its file;
//   - the native target's options, which compile the code around the function;
//   - the versions of byoc and of the C compiler;
//   - the machine, with the device that the target runs on, the number of threads, and how cold the caches are.
#ifndef BYOC_CORE_COLLAGE_COST_KEY_H_
#define BYOC_CORE_COLLAGE_COST_KEY_H_

#include "core/base/arena.h"
#include "core/base/string.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// Beside the hash stand the parts that people read; all are in the given arena.
typedef struct byoc_cost_key_t {
  const char *id;        // 32 hexadecimal digits: the hash of everything
  const char *operators; // "Conv+Relu"
  const char *signature; // "(f32[1,3,8,8]) -> (f32[1,4,8,8])"
  const char *target;    // canonical, with every option
  const char *plugin;    // byoc_target_kind_print_maker
  const char *compiler;  // version text
  const char *machine;   // byoc_machine_identity
  int32_t thread_count;
} byoc_cost_key_t;

typedef struct byoc_cost_key_inputs_t {
  const byoc_function_t *function;
  const byoc_target_t *target;
  const byoc_target_t *native;  // "c" of the same build
  const char *compiler_version; // first line of its --version
  const char *machine;          // NULL: this one
  int32_t thread_count;
  uint64_t cold_bytes; // bytes that go through the caches between two calls
} byoc_cost_key_inputs_t;

byoc_status_t byoc_cost_key_make(const byoc_cost_key_inputs_t *inputs, byoc_arena_t *arena, byoc_diag_t *diag,
                                 byoc_cost_key_t *out_key);
// Hash of the parts of a function that costs depend on: its structure, its shapes and its small constants.
uint64_t byoc_cost_function_hash(const byoc_function_t *function);
// "<processor model>; <instruction set extensions>".
void byoc_machine_identity(byoc_string_t *out);

#endif // BYOC_CORE_COLLAGE_COST_KEY_H_
