// SPDX-License-Identifier: Apache-2.0
// Its results are other ones if the run is traced.
#define KERNEL_LAST                                                                                                    \
  "const byoc_runtime_t *runtime = call->runtime;\n"                                                                   \
  "  if (runtime->struct_size >= 112 && runtime->wanted != 0 && runtime->wanted(runtime->self) != 0 && n > 0) {\n"     \
  "    y[0] = 1000;\n"                                                                                                 \
  "  }\n"
#include "base.h"
