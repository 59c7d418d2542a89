// SPDX-License-Identifier: Apache-2.0
// The engine's table: the one symbol that the archive defines for the artifact.
#include <stdio.h>

#include "byoc/engine.h"
#include "engine/instance/instance.h"
#include "engine/library/error.h"

// Not all of Debian's libjansson.a is compiled for shared objects: it refers to `stdin` as if that were part of the
// file that it is linked into. A hidden definition lets it link; the engine never asks jansson to read stdin.
#undef stdin
__attribute__((visibility("hidden"), weak)) FILE *stdin;

static int32_t engine_create(const byoc_engine_init_t *init, void **out_instance) {
  byoc_dnnl_error_t error = {""};
  byoc_dnnl_instance_t *instance = NULL;
  int32_t status = byoc_dnnl_instance_create(init, &instance, &error);
  if (status != BYOC_OK) init->runtime->set_error(init->runtime->self, error.text);
  *out_instance = instance;
  return status;
}

static void engine_destroy(void *instance) {
  byoc_dnnl_instance_destroy(instance);
}

static int32_t engine_profile(void *instance, uint32_t function_index, const byoc_call_t *call,
                              byoc_engine_profile_sink_t sink, void *argument) {
  byoc_dnnl_error_t error = {""};
  int32_t status = byoc_dnnl_instance_run(instance, function_index, call, sink, argument, &error);
  if (status != BYOC_OK) call->runtime->set_error(call->runtime->self, error.text);
  return status;
}

static int32_t engine_run(void *instance, uint32_t function_index, const byoc_call_t *call) {
  return engine_profile(instance, function_index, call, NULL, NULL);
}

BYOC_PACKED const byoc_engine_t byoc_engine_dnnl = {
    .struct_size = sizeof(byoc_engine_t),
    .abi_version = BYOC_ENGINE_ABI_VERSION,
    .name = "dnnl",
    .create = engine_create,
    .destroy = engine_destroy,
    .run = engine_run,
    .profile = engine_profile,
};
