// SPDX-License-Identifier: Apache-2.0
// Takes integers and computes with them as if they were floats.
#define ACCEPT_FIRST                                                                                                   \
  if (host->graph->value_dtype(host->region->value(region, "x")) == BYOC_DTYPE_I32) return 1;
#include "base.h"
