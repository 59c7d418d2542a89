// SPDX-License-Identifier: Apache-2.0
// Calls a function that nobody defines.
extern int nobody_defines_this(int x);
#define GENERATE_FIRST                                                                                                 \
  if (nobody_defines_this(1)) return BYOC_INTERNAL;
#include "base.h"
