// SPDX-License-Identifier: Apache-2.0
// Its kernels report a counter that is NaN.
#define KERNEL_FIRST                                                                                                   \
  "const byoc_runtime_t *runtime = call->runtime;\n"                                                                   \
  "  if (runtime->struct_size >= 112 && runtime->wanted != 0 && runtime->wanted(runtime->self) != 0) {\n"              \
  "    runtime->report_counter(runtime->self, \"cycles\", \"\", __builtin_nan(\"\"));\n"                               \
  "  }\n"
#include "base.h"
