// SPDX-License-Identifier: Apache-2.0
// instance.h - all functions of one context: for the engine's table, and for the compiler side when
// it packs constants at build time.
#ifndef BYOC_DNNL_INSTANCE_H_
#define BYOC_DNNL_INSTANCE_H_

#include "engine/instance/variants.h"

typedef struct byoc_dnnl_instance_t {
  const byoc_dnnl_api_t *api;
  const byoc_runtime_t *runtime;
  int32_t thread_count;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  byoc_dnnl_variants_t *functions;
  uint32_t function_count;
  uint8_t *arena, *scratchpad; // as large as any shape so far needed
  uint64_t arena_size_bytes, scratchpad_size_bytes;
} byoc_dnnl_instance_t;

int32_t byoc_dnnl_instance_create(const byoc_engine_init_t *init, byoc_dnnl_instance_t **out_instance,
                                  byoc_dnnl_error_t *error);
void byoc_dnnl_instance_destroy(byoc_dnnl_instance_t *instance); // accepts NULL
int32_t byoc_dnnl_instance_run(byoc_dnnl_instance_t *instance, uint32_t function_index, const byoc_call_t *call,
                               byoc_engine_profile_sink_t sink, void *argument, byoc_dnnl_error_t *error);

// Makes a function with open sizes ready for calls where the sizes of its inputs are these: in the order of the
// function's open sizes, BYOC_DNNL_SIZE_UNKNOWN for those that no input has.
int32_t byoc_dnnl_instance_prepare(byoc_dnnl_instance_t *instance, uint32_t function_index, const int64_t *sizes,
                                   byoc_dnnl_error_t *error);

// If a constant is used only in one other layout, returns that layout and the repacked bytes, which live as long as the
// instance. Returns 0 if the constant is used as it is or in several ways, or if the function was not made ready for
// any sizes.
int byoc_dnnl_instance_packed_constant(const byoc_dnnl_instance_t *instance, uint32_t function_index,
                                       uint32_t constant_index, const dnnl_memory_desc_t **out_desc,
                                       const void **out_data, uint64_t *out_size_bytes);

#endif // BYOC_DNNL_INSTANCE_H_
