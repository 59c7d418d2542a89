// SPDX-License-Identifier: Apache-2.0
// The engine of demo_expensive: Relu, Neg, Abs and Exp of f32, whose JSON is the operator's name.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/engine.h"

typedef struct instance_t {
  uint32_t count;
  char operators[256]; // the first letter of each
} instance_t;

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  instance_t *instance = calloc(1, sizeof(*instance));
  *out_instance = instance;
  if (instance == NULL) return BYOC_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < init->function_count && i < sizeof(instance->operators); ++i) {
    instance->operators[i] = init->functions[i].json[1];
  }
  return BYOC_OK;
}

static void destroy(void *instance) {
  free(instance);
}

static float apply(char op, float x) {
  if (op == 'R') return x < 0 ? 0 : x;
  if (op == 'N') return -x;
  return op == 'A' ? fabsf(x) : expf(x);
}

static int32_t run(void *self, uint32_t function, const byoc_call_t *call) {
  const instance_t *instance = self;
  const float *x = call->tensors[0].data;
  float *y = call->tensors[1].data;
  int64_t count = 1;
  for (int32_t d = 0; d < call->tensors[0].ndim; ++d) count *= call->tensors[0].shape[d];
  for (int64_t i = 0; i < count; ++i) y[i] = apply(instance->operators[function % 256], x[i]);
  return BYOC_OK;
}

extern BYOC_PACKED const byoc_engine_t expensive_engine;
const byoc_engine_t expensive_engine = {.struct_size = sizeof(expensive_engine),
                                        .abi_version = BYOC_ENGINE_ABI_VERSION,
                                        .name = "expensive",
                                        .create = create,
                                        .destroy = destroy,
                                        .run = run};
