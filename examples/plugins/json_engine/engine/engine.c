// SPDX-License-Identifier: Apache-2.0
// The engine's table: instances of XNNPACK's runtimes, one for each function.
#include <stdio.h>
#include <stdlib.h>

#include "byoc/engine.h"
#include "graph.h"
#include "layout.h"

typedef struct instance_t {
  const xnnpack_library_t *library;
  pthreadpool_t threads; // NULL: the calling thread alone
  xnnpack_function_t *functions;
  uint32_t function_count;
} instance_t;

static void destroy(void *pointer) {
  instance_t *instance = pointer;
  if (instance == NULL) return;
  for (uint32_t i = 0; i < instance->function_count; ++i)
    xnnpack_function_deinit(instance->library, &instance->functions[i]);
  if (instance->threads != NULL) instance->library->pthreadpool_destroy(instance->threads);
  free(instance->functions);
  free(instance);
}

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  const byoc_runtime_t *runtime = init->runtime;
  *out_instance = NULL;
  char reason[XNNPACK_MESSAGE_SIZE] = "out of memory", message[2 * XNNPACK_MESSAGE_SIZE];
  const char *symbol = "xnnpack";
  int32_t status = BYOC_OUT_OF_MEMORY;
  instance_t *instance = calloc(1, sizeof(*instance));
  if (instance == NULL) goto failed;
  status = xnnpack_library_get(init->blobs, init->blob_count, &instance->library, reason, sizeof(reason));
  if (status != BYOC_OK) goto failed;
  status = BYOC_OUT_OF_MEMORY;
  instance->functions = calloc((size_t)init->function_count + 1, sizeof(*instance->functions));
  if (instance->functions == NULL) goto failed;
  if (runtime->thread_count > 1) {
    instance->threads = instance->library->pthreadpool_create((size_t)runtime->thread_count);
    if (instance->threads == NULL) goto failed;
  }
  for (uint32_t i = 0; i < init->function_count; ++i) {
    symbol = init->functions[i].symbol;
    instance->function_count = i + 1;
    status = xnnpack_function_init(instance->library, &init->functions[i], instance->threads, &instance->functions[i],
                                   reason);
    if (status != BYOC_OK) goto failed;
  }
  *out_instance = instance;
  return BYOC_OK;
failed:
  destroy(instance);
  (void)snprintf(message, sizeof(message), "%s: %s", symbol, reason);
  runtime->set_error(runtime->self, message);
  return status;
}

static int32_t run(void *pointer, uint32_t function_index, const byoc_call_t *call) {
  const instance_t *instance = pointer;
  const xnnpack_function_t *function = &instance->functions[function_index];
  const byoc_runtime_t *runtime = call->runtime;
  for (uint32_t i = 0; i < function->input_count; ++i) {
    const xnnpack_port_t *port = &function->ports[i];
    xnnpack_transpose(runtime, call->tensors[i].data, port->buffer, port->batch, port->channels, port->pixels);
  }
  const enum xnn_status status = instance->library->xnn_invoke_runtime(function->runtime);
  if (status != xnn_status_success) {
    runtime->set_error(runtime->self, "XNNPACK fails to run a function");
    return BYOC_INTERNAL;
  }
  for (uint32_t i = 0; i < function->output_count; ++i) {
    const xnnpack_port_t *port = &function->ports[function->input_count + i];
    xnnpack_transpose(runtime, port->buffer, call->tensors[call->input_count + i].data, port->batch, port->pixels,
                      port->channels);
  }
  return BYOC_OK;
}

extern BYOC_PACKED const byoc_engine_t xnnpack_engine;
const byoc_engine_t xnnpack_engine = {
    .struct_size = sizeof(byoc_engine_t),
    .abi_version = BYOC_ENGINE_ABI_VERSION,
    .name = "xnnpack",
    .create = create,
    .destroy = destroy,
    .run = run,
};
