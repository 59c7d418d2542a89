// SPDX-License-Identifier: Apache-2.0
// Leaves a file open in generate.
#include <stdio.h>
#define GENERATE_FIRST                                                                                                 \
  if (fopen("/dev/null", "r") == NULL) return BYOC_IO;
#include "base.h"
