// SPDX-License-Identifier: Apache-2.0
// Remembers the shape of the first call and looks at it in the second one.
#define KERNEL_BEFORE "static const int64_t *volatile kept;"
#define KERNEL_FIRST                                                                                                   \
  "static volatile int64_t sink; if (kept && call->tensors[0].ndim > 0) sink = kept[0];"                               \
  "kept = call->tensors[0].ndim > 0 ? call->tensors[0].shape : kept; (void)sink;"
#include "base.h"
