// SPDX-License-Identifier: Apache-2.0
// The object that the kept plugins carry: kernels, a C function and a JSON engine, built with the headers of their
// minor as the plugins are.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/engine.h"
#include "byoc/plugin.h"

#define TEXT_OF(x)  #x
#define TEXT(x)     TEXT_OF(x)
#define ENGINE_NAME "kept" TEXT(BYOC_ABI_MINOR) "_engine" // as plugin.c names its module

// ---- a packed function with a bound constant, spread over the threads of the runtime ----

typedef struct sum_t {
  const float *x, *b;
  float *y;
} sum_t;

static void add_share(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const sum_t *sum = argument;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) sum->y[i] = sum->x[i] + sum->b[i];
}

BYOC_PACKED int32_t kept_add(const byoc_call_t *call);
BYOC_PACKED int32_t kept_add(const byoc_call_t *call) {
  const byoc_runtime_t *runtime = call->runtime;
  // As much of the runtime as is used here: artifacts of older hosts have smaller ones.
  if (call->struct_size < sizeof(*call) ||
      runtime->struct_size < offsetof(byoc_runtime_t, set_error) + sizeof(void *) || call->workspace_size_bytes < 64) {
    runtime->set_error(runtime->self, "the artifact's structs are smaller than those of the first minor");
    return BYOC_INTERNAL;
  }
  memset(call->workspace, 0, 64);
  const DLTensor *y = &call->tensors[call->input_count];
  int64_t count = 1;
  for (int32_t i = 0; i < y->ndim; ++i) count *= y->shape[i];
  sum_t sum = {call->tensors[0].data, call->tensors[1].data, y->data};
  runtime->parallel_for(runtime->self, add_share, &sum, count, 1);
  return BYOC_OK;
}

// ---- a C function, called from IR that is handed back ----

BYOC_PACKED void kept_abs(int64_t count, const float *x, float *y);
BYOC_PACKED void kept_abs(int64_t count, const float *x, float *y) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? -x[i] : x[i];
}

// ---- an engine: {"count":24} multiplies two tensors, and then by its one constant ----

static int32_t engine_create(const byoc_engine_init_t *init, void **out_instance) {
  long long *counts = malloc(sizeof(*counts) * (init->function_count + 1));
  *out_instance = NULL;
  if (counts == NULL) return BYOC_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < init->function_count; ++i) {
    if (sscanf(init->functions[i].json, "{\"count\":%lld", &counts[i]) == 1 && init->functions[i].constant_count == 1 &&
        init->blob_count == 1 && memcmp(init->blobs[0].data, "blob", 4) == 0) {
      continue;
    }
    init->runtime->set_error(init->runtime->self, "the engine is not given what its plugin handed over");
    free(counts);
    return BYOC_INVALID_DATA;
  }
#if BYOC_ABI_MINOR >= 5
  const int has_options = init->struct_size >= offsetof(byoc_engine_init_t, reserved_options) && init->option_count > 0;
  if (has_options && (init->option_count != 1 || strcmp(init->options[0].name, "power") != 0)) {
    init->runtime->set_error(init->runtime->self, "the options are not those that its plugin declared");
    free(counts);
    return BYOC_INVALID_DATA;
  }
#endif
  // The factors are looked up in `run`: what init points to stays valid.
  const void **instance = malloc(2 * sizeof(*instance));
  if (instance == NULL) {
    free(counts);
    return BYOC_OUT_OF_MEMORY;
  }
  instance[0] = counts;
  instance[1] = init->functions;
  *out_instance = instance;
  return BYOC_OK;
}

static void engine_destroy(void *instance) {
  if (instance == NULL) return;
  free(((void **)instance)[0]);
  free(instance);
}

static int32_t engine_run(void *instance, uint32_t function_index, const byoc_call_t *call) {
  const long long *counts = ((void **)instance)[0];
  const byoc_engine_function_t *functions = ((void **)instance)[1];
  const float factor = *(const float *)functions[function_index].constants[0].data;
  const float *a = call->tensors[0].data, *b = call->tensors[1].data;
  float *y = call->tensors[call->input_count].data;
  for (long long i = 0; i < counts[function_index]; ++i) y[i] = a[i] * b[i] * factor;
#if BYOC_ABI_MINOR >= 5
  const byoc_runtime_t *runtime = call->runtime;
  const size_t known = offsetof(byoc_runtime_t, report_tensor) + sizeof(runtime->report_tensor);
  if (runtime->struct_size >= known && runtime->wanted != NULL && runtime->wanted(runtime->self) != 0) {
    int32_t status = runtime->report_counter(runtime->self, "products", "", (double)counts[function_index]);
    if (status == BYOC_OK) status = runtime->report_step(runtime->self, "multiply", 1);
    return status == BYOC_OK ? runtime->report_tensor(runtime->self, "kept/y", &call->tensors[call->input_count])
                             : status;
  }
#endif
  return BYOC_OK;
}

#if BYOC_ABI_MINOR >= 5
static int32_t engine_fits(const byoc_engine_init_t *init, const char *statement) {
  if (strcmp(statement, "a chip of paper") == 0) return BYOC_OK;
  init->runtime->set_error(init->runtime->self, "the statement is not what its plugin handed over");
  return BYOC_INVALID_DATA;
}
#endif

extern BYOC_PACKED const byoc_engine_t kept_engine;
const byoc_engine_t kept_engine = {sizeof(byoc_engine_t),
                                   BYOC_ENGINE_ABI_VERSION,
                                   ENGINE_NAME,
                                   0,
                                   engine_create,
                                   engine_destroy,
                                   engine_run,
                                   NULL,
#if BYOC_ABI_MINOR >= 5
                                   engine_fits
#endif
};
