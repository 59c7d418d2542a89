// SPDX-License-Identifier: Apache-2.0
// Holds all functions of one context, and packs constants at build time.
#include "engine/instance/instance.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/layout.h"
#include "engine/graph/open_sizes.h"
#include "engine/instance/primitives.h"
#include "engine/library/out_of_memory.h"

// oneDNN makes its kernels for the thread count of the thread that creates them, and runs them with that of the thread
// that executes them: both must be the instance's. Returns the count to restore.
static int32_t enter_threads(const byoc_dnnl_instance_t *instance) {
  int32_t before = instance->api->omp_get_max_threads();
  if (before != instance->thread_count) instance->api->omp_set_num_threads(instance->thread_count);
  return before;
}

static void leave_threads(const byoc_dnnl_instance_t *instance, int32_t before) {
  if (before != instance->thread_count) instance->api->omp_set_num_threads(before);
}

// Makes the arena and the scratchpad large enough. Functions are moved to the new ones before they run. On failure the
// old memory is kept: the shapes that were met before still need it.
static int32_t reserve(uint8_t **memory, uint64_t *size_bytes, uint64_t wanted, byoc_dnnl_error_t *error) {
  if (*memory != NULL && *size_bytes >= wanted) return BYOC_OK;
  uint8_t *larger = byoc_dnnl_allocate_pages(wanted);
  if (larger == NULL) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory for the dnnl engine's arena");
  free(*memory);
  *memory = larger;
  *size_bytes = wanted;
  return BYOC_OK;
}

// Creates primitives and memory objects of functions that have been described.
static int32_t finish_functions(byoc_dnnl_instance_t *instance, byoc_dnnl_function_t *const *functions, uint32_t count,
                                byoc_dnnl_error_t *error) {
  uint64_t arena_size = 1, scratchpad_size = 1;
  for (uint32_t i = 0; i < count; ++i) {
    if (functions[i]->arena_size_bytes > arena_size) arena_size = functions[i]->arena_size_bytes;
    if (functions[i]->scratchpad_size_bytes > scratchpad_size) scratchpad_size = functions[i]->scratchpad_size_bytes;
  }
  int32_t status = byoc_dnnl_primitives_create(instance->api, functions, count, instance->thread_count, error);
  if (status == BYOC_OK) status = reserve(&instance->arena, &instance->arena_size_bytes, arena_size, error);
  if (status == BYOC_OK)
    status = reserve(&instance->scratchpad, &instance->scratchpad_size_bytes, scratchpad_size, error);
  for (uint32_t i = 0; status == BYOC_OK && i < count; ++i)
    status = byoc_dnnl_function_finish(functions[i], instance->arena, instance->scratchpad, instance->stream, error);
  return status;
}

// All functions whose sizes are known by now.
static int32_t build_functions(byoc_dnnl_instance_t *instance, const byoc_engine_init_t *init,
                               byoc_dnnl_error_t *error) {
  byoc_dnnl_function_t **ready = malloc(((size_t)init->function_count + 1) * sizeof(*ready));
  if (ready == NULL) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
  int32_t status = BYOC_OK;
  uint32_t count = 0;
  for (uint32_t i = 0; status == BYOC_OK && i < init->function_count; ++i) {
    byoc_dnnl_variants_t *variants = &instance->functions[i];
    instance->function_count = i + 1; // also a half-built function is cleaned up
    status = byoc_dnnl_variants_init(&init->functions[i], variants, error);
    if (status == BYOC_OK && variants->open_count == 0)
      status = byoc_dnnl_variants_add(variants, 0, instance->api, instance->engine, &ready[count++], error);
  }
  if (status == BYOC_OK) status = finish_functions(instance, ready, count, error);
  free(ready);
  return status;
}

// oneDNN keeps primitives in a cache. Primitives whose memory is the reserve's must not stay there.
static void empty_cache(const byoc_dnnl_api_t *api) {
  int capacity = 0;
  if (api->dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success) return;
  if (api->dnnl_set_primitive_cache_capacity(0) == dnnl_success) (void)api->dnnl_set_primitive_cache_capacity(capacity);
}

// The variant for variants->sizes, made if there is none.
static int32_t find_variant(byoc_dnnl_instance_t *instance, byoc_dnnl_variants_t *variants, int is_careful,
                            byoc_dnnl_function_t **out_function, byoc_dnnl_error_t *error) {
  *out_function = byoc_dnnl_variants_find(variants, is_careful);
  if (*out_function != NULL) return BYOC_OK;
  const uint64_t reserve_count = byoc_dnnl_reserve_count();
  int32_t status = byoc_dnnl_variants_add(variants, is_careful, instance->api, instance->engine, out_function, error);
  if (status == BYOC_OK) {
    status = finish_functions(instance, out_function, 1, error);
    if (status != BYOC_OK) byoc_dnnl_variants_drop_newest(variants);
  }
  if (byoc_dnnl_reserve_count() != reserve_count) empty_cache(instance->api);
  return status;
}

int32_t byoc_dnnl_instance_create(const byoc_engine_init_t *init, byoc_dnnl_instance_t **out_instance,
                                  byoc_dnnl_error_t *error) {
  *out_instance = NULL;
  const byoc_dnnl_api_t *api = NULL;
  int32_t status = byoc_dnnl_library_get(init->blobs, init->blob_count, &api, error);
  if (status != BYOC_OK) return status;

  const uint64_t reserve_count = byoc_dnnl_reserve_count();
  byoc_dnnl_instance_t *instance = calloc(1, sizeof(*instance));
  if (instance == NULL) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
  instance->api = api;
  instance->runtime = init->runtime;
  instance->thread_count = init->runtime->thread_count > 0 ? init->runtime->thread_count : 1;
  instance->functions = calloc((size_t)init->function_count + 1, sizeof(*instance->functions));
  dnnl_status_t created = dnnl_out_of_memory;
  if (instance->functions != NULL) created = api->dnnl_engine_create(&instance->engine, dnnl_cpu, 0);
  if (created == dnnl_success)
    created = api->dnnl_stream_create(&instance->stream, instance->engine, dnnl_stream_default_flags);
  if (created != dnnl_success) {
    status = byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "oneDNN cannot create its CPU engine: %s",
                            api->dnnl_status2str(created));
    goto cleanup;
  }
  int32_t before = enter_threads(instance);
  status = build_functions(instance, init, error);
  leave_threads(instance, before);
  if (status != BYOC_OK) goto cleanup;
  if (byoc_dnnl_reserve_count() != reserve_count) {
    status = byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory while oneDNN made its primitives");
    goto cleanup;
  }
  *out_instance = instance;
  instance = NULL; // now the caller's
cleanup:
  byoc_dnnl_instance_destroy(instance);
  if (byoc_dnnl_reserve_count() != reserve_count) empty_cache(api);
  return status;
}

void byoc_dnnl_instance_destroy(byoc_dnnl_instance_t *instance) {
  if (instance == NULL) return;
  for (uint32_t i = 0; i < instance->function_count; ++i) byoc_dnnl_variants_deinit(&instance->functions[i]);
  // Ends the idle workers of this thread; if the caller has OpenMP code of its own, they are started again when it
  // needs them (OpenMP 5.0, 3.2.8 omp_pause_resource_all, soft).
  if (instance->thread_count > 1 && instance->api->omp_pause_resource_all != NULL)
    (void)instance->api->omp_pause_resource_all(1); // omp_pause_soft
  if (instance->stream != NULL) (void)instance->api->dnnl_stream_destroy(instance->stream);
  if (instance->engine != NULL) (void)instance->api->dnnl_engine_destroy(instance->engine);
  free(instance->functions);
  free(instance->arena);
  free(instance->scratchpad);
  free(instance);
}

// `*out_may_have_lost`: a NaN, which a careful variant keeps (watch.h).
static int32_t run_variant(byoc_dnnl_instance_t *instance, byoc_dnnl_variants_t *variants, int is_careful,
                           int *out_may_have_lost, const byoc_call_t *call, byoc_engine_profile_sink_t sink,
                           void *argument, byoc_dnnl_error_t *error) {
  byoc_dnnl_function_t *function = NULL;
  byoc_dnnl_watch_t watch;
  *out_may_have_lost = 0;
  int32_t status = find_variant(instance, variants, is_careful, &function, error);
  if (status == BYOC_OK) status = byoc_dnnl_function_move(function, instance->arena, instance->scratchpad, error);
  if (status != BYOC_OK) return status;
  if (!function->may_lose_nan && !is_careful)
    return byoc_dnnl_function_run(function, instance->stream, call, NULL, sink, argument, error);
  byoc_dnnl_watch_begin(instance->thread_count, &watch);
  status = byoc_dnnl_function_run(function, instance->stream, call, &watch, sink, argument, error);
  *out_may_have_lost = byoc_dnnl_watch_end(&watch);
  return status;
}

int32_t byoc_dnnl_instance_run(byoc_dnnl_instance_t *instance, uint32_t function_index, const byoc_call_t *call,
                               byoc_engine_profile_sink_t sink, void *argument, byoc_dnnl_error_t *error) {
  if (function_index >= instance->function_count)
    return byoc_dnnl_fail(error, BYOC_INVALID_ARGUMENT, "the dnnl engine has no function %u", function_index);
  byoc_dnnl_variants_t *variants = &instance->functions[function_index];
  int32_t status = BYOC_OK;
  if (variants->open_count > 0) status = byoc_dnnl_open_sizes_of_call(&variants->graph, call, variants->sizes, error);
  if (status != BYOC_OK) return status;
  int32_t before = enter_threads(instance);
  int may_have_lost = 0;
  status = run_variant(instance, variants, 0, &may_have_lost, call, sink, argument, error);
  if (status == BYOC_OK && may_have_lost)
    status = run_variant(instance, variants, 1, &may_have_lost, call, sink, argument, error);
  leave_threads(instance, before);
  return status;
}

int32_t byoc_dnnl_instance_prepare(byoc_dnnl_instance_t *instance, uint32_t function_index, const int64_t *sizes,
                                   byoc_dnnl_error_t *error) {
  byoc_dnnl_variants_t *variants = &instance->functions[function_index];
  byoc_dnnl_function_t *function = NULL;
  memcpy(variants->sizes, sizes, variants->open_count * sizeof(*sizes));
  int32_t before = enter_threads(instance);
  int32_t status = find_variant(instance, variants, 0, &function, error);
  leave_threads(instance, before);
  return status;
}

int byoc_dnnl_instance_packed_constant(const byoc_dnnl_instance_t *instance, uint32_t function_index,
                                       uint32_t constant_index, const dnnl_memory_desc_t **out_desc,
                                       const void **out_data, uint64_t *out_size_bytes) {
  const byoc_dnnl_variants_t *variants = &instance->functions[function_index];
  if (variants->count == 0) return 0;
  const byoc_dnnl_function_t *function = &variants->items[0]->function;
  const byoc_dnnl_version_t *packed = NULL;
  for (uint32_t i = 0; i < function->step_count; ++i) {
    const byoc_dnnl_step_t *step = &function->steps[i];
    for (int32_t j = 0; j < step->argument_count; ++j) {
      // The scratchpad is the one argument that comes after those of the step.
      if (step->exec_arguments[j].arg == DNNL_ARG_SCRATCHPAD) continue;
      const byoc_dnnl_version_t *version = &function->versions[step->arguments[j].version];
      const byoc_dnnl_buffer_t *buffer = &function->buffers[version->buffer];
      if (buffer->kind != BYOC_DNNL_BUFFER_CONSTANT || buffer->index != (int32_t)constant_index) continue;
      if (!step->is_setup || packed != NULL) return 0;
      packed = &function->versions[step->arguments[1].version];
    }
  }
  if (packed == NULL || !byoc_dnnl_layout_is_blocked(&packed->desc)) return 0;
  *out_desc = &packed->desc;
  *out_data = function->buffers[packed->buffer].packed->data;
  *out_size_bytes = function->api->dnnl_memory_desc_get_size(&packed->desc);
  return 1;
}
