// SPDX-License-Identifier: Apache-2.0
// Answers accept with a status.
#define ACCEPT_FIRST                                                                                                   \
  if (host->graph->value_dtype(host->region->value(region, "x")) != ELEMENT) return BYOC_UNSUPPORTED;
#include "base.h"
