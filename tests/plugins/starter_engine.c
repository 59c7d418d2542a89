// SPDX-License-Identifier: Apache-2.0
// The engine of demo_starter: Relu on f32. The chip is $BYOC_TEST_CHIP; with "none" it cannot start.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/engine.h"

static const char *chip(void) {
  const char *name = getenv("BYOC_TEST_CHIP");
  return name != NULL ? name : "acme-1";
}

static int32_t fits(const byoc_engine_init_t *init, const char *statement) {
  char text[128];
  if (strcmp(chip(), statement) == 0 || strcmp(chip(), "none") == 0) return BYOC_OK; // `create` tells of none
  snprintf(text, sizeof(text), "the chip is %s", chip());
  init->runtime->set_error(init->runtime->self, text);
  return BYOC_UNSUPPORTED;
}

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  static int instance;
  *out_instance = NULL;
  if (strcmp(chip(), "none") == 0) {
    init->runtime->set_error(init->runtime->self, "no chip answers");
    return BYOC_NOT_FOUND;
  }
  *out_instance = &instance;
  return BYOC_OK;
}

static void destroy(void *instance) {
  (void)instance;
}

static int32_t run(void *instance, uint32_t function, const byoc_call_t *call) {
  (void)instance, (void)function;
  const float *x = call->tensors[0].data;
  float *y = call->tensors[1].data;
  int64_t count = 1;
  for (int32_t d = 0; d < call->tensors[0].ndim; ++d) count *= call->tensors[0].shape[d];
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  return BYOC_OK;
}

extern BYOC_PACKED const byoc_engine_t starter_engine;
const byoc_engine_t starter_engine = {.struct_size = sizeof(starter_engine),
                                      .abi_version = BYOC_ENGINE_ABI_VERSION,
                                      .name = "starter",
                                      .create = create,
                                      .destroy = destroy,
                                      .run = run,
                                      .fits = fits};
