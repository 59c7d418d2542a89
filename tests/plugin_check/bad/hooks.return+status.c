// SPDX-License-Identifier: Apache-2.0
// Fails in generate without a reason.
#define GENERATE_FIRST                                                                                                 \
  if (codegen != NULL) return BYOC_INTERNAL;
#include "base.h"
