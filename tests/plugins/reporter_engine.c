// SPDX-License-Identifier: Apache-2.0
// The engine of demo_reporter: the larger of -x and 0, on f32, in two steps. $BYOC_TEST_SAYS is a file to which it
// appends the values of its options.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "byoc/engine.h"

typedef struct engine_t {
  const byoc_runtime_t *runtime;
} engine_t;

static void say_options(const byoc_engine_init_t *init) {
  const char *path = getenv("BYOC_TEST_SAYS");
  const int has_options = init->struct_size >= offsetof(byoc_engine_init_t, reserved_options);
  FILE *file = path != NULL && has_options ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  for (uint32_t i = 0; i < init->option_count; ++i) {
    const byoc_runtime_option_t *option = &init->options[i];
    fprintf(file, "%s='%s' %lld %g\n", option->name, option->text, (long long)option->integer, option->real);
  }
  fclose(file);
}

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  engine_t *engine = calloc(1, sizeof(*engine));
  *out_instance = engine;
  if (engine == NULL) return BYOC_OUT_OF_MEMORY;
  engine->runtime = init->runtime;
  say_options(init);
  return BYOC_OK;
}

static void destroy(void *instance) {
  free(instance);
}

static int32_t run(void *instance, uint32_t function, const byoc_call_t *call) {
  (void)instance, (void)function;
  const float *x = call->tensors[0].data;
  float *y = call->tensors[1].data;
  int64_t count = 1;
  for (int32_t d = 0; d < call->tensors[0].ndim; ++d) count *= call->tensors[0].shape[d];
  for (int64_t i = 0; i < count; ++i) y[i] = -x[i];
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] < 0 ? 0 : y[i];
  return BYOC_OK;
}

extern BYOC_PACKED const byoc_engine_t reporter_engine;
const byoc_engine_t reporter_engine = {.struct_size = sizeof(reporter_engine),
                                       .abi_version = BYOC_ENGINE_ABI_VERSION,
                                       .name = "reporter",
                                       .create = create,
                                       .destroy = destroy,
                                       .run = run};
