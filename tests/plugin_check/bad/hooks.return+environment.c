// SPDX-License-Identifier: Apache-2.0
// Changes the environment in generate.
int setenv(const char *name, const char *value, int overwrite);
#define GENERATE_FIRST                                                                                                 \
  if (setenv("BAD", "1", 1) != 0) return BYOC_OUT_OF_MEMORY;
#include "base.h"
