// SPDX-License-Identifier: Apache-2.0
// The engine's table: instances of XNNPACK's runtimes, one for each function.
#define _GNU_SOURCE // clock_gettime
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

// ---- one run ----

// Does the caller profile the run? Artifacts of an older byoc cannot ask.
static int is_profiled(const byoc_runtime_t *runtime) {
  const size_t known = offsetof(byoc_runtime_t, report_counter) + sizeof(runtime->report_counter);
  return runtime->struct_size >= known && runtime->wanted != NULL &&
         (runtime->wanted(runtime->self) & BYOC_WANTS_PROFILE) != 0;
}

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The bytes of ports, of which each is read and written once.
static double moved_bytes(const xnnpack_port_t *ports, uint32_t count) {
  double bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    bytes += 2.0 * sizeof(float) * (double)(ports[i].batch * ports[i].channels * ports[i].pixels);
  }
  return bytes;
}

// The steps of a run with the times between them, for byoc profile.
static int32_t report(const byoc_runtime_t *runtime, const xnnpack_function_t *function, const uint64_t times[4]) {
  static const char *const names[] = {"inputs", "xnn_invoke_runtime", "outputs"};
  const double moved[] = {moved_bytes(function->ports, function->input_count), 0,
                          moved_bytes(function->ports + function->input_count, function->output_count)};
  int32_t status = BYOC_OK;
  for (int i = 0; i < 3 && status == BYOC_OK; ++i) {
    if (moved[i] > 0) status = runtime->report_counter(runtime->self, "moved", "bytes", moved[i]);
    if (status == BYOC_OK) status = runtime->report_step(runtime->self, names[i], times[i + 1] - times[i]);
  }
  return status;
}

static int32_t run(void *pointer, uint32_t function_index, const byoc_call_t *call) {
  const instance_t *instance = pointer;
  const xnnpack_function_t *function = &instance->functions[function_index];
  const byoc_runtime_t *runtime = call->runtime;
  const int profiled = is_profiled(runtime);
  uint64_t times[4] = {0};
  if (profiled) times[0] = now_ns();
  for (uint32_t i = 0; i < function->input_count; ++i) {
    const xnnpack_port_t *port = &function->ports[i];
    xnnpack_transpose(runtime, call->tensors[i].data, port->buffer, port->batch, port->channels, port->pixels);
  }
  if (profiled) times[1] = now_ns();
  const enum xnn_status status = instance->library->xnn_invoke_runtime(function->runtime);
  if (status != xnn_status_success) {
    runtime->set_error(runtime->self, "XNNPACK fails to run a function");
    return BYOC_INTERNAL;
  }
  if (profiled) times[2] = now_ns();
  for (uint32_t i = 0; i < function->output_count; ++i) {
    const xnnpack_port_t *port = &function->ports[function->input_count + i];
    xnnpack_transpose(runtime, port->buffer, call->tensors[call->input_count + i].data, port->batch, port->pixels,
                      port->channels);
  }
  if (profiled) times[3] = now_ns();
  return profiled ? report(runtime, function, times) : BYOC_OK;
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
