// SPDX-License-Identifier: Apache-2.0
// The engine of the targets port*: negates f32. `turn` is a name that shim.c has, too.
#include <port/negate.h>

#include "byoc/engine.h"
#include "sign.h"

#ifdef PORT_TEXT // the flags of portable.c arrive as they are
_Static_assert(PORT_SUM == 3 && PORT_DOLLAR == 36 && PORT_HASH == 35 && sizeof(PORT_TEXT) == sizeof("\\#`$(x)"), "");
#endif

int turn(int sign) {
  return sign;
}

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  static int instance;
  (void)init;
  *out_instance = &instance;
  return BYOC_OK;
}

static void destroy(void *instance) {
  (void)instance;
}

static int32_t run(void *instance, uint32_t function, const byoc_call_t *call) {
  (void)instance, (void)function;
  int64_t count = 1;
  for (int32_t d = 0; d < call->tensors[0].ndim; ++d) count *= call->tensors[0].shape[d];
  port_negate(call->tensors[0].data, call->tensors[1].data, count, (float)turn(SIGN));
  return BYOC_OK;
}

extern BYOC_PACKED const byoc_engine_t port_engine;
const byoc_engine_t port_engine = {.struct_size = sizeof(port_engine),
                                   .abi_version = BYOC_ENGINE_ABI_VERSION,
                                   .name = "port",
                                   .create = create,
                                   .destroy = destroy,
                                   .run = run};
