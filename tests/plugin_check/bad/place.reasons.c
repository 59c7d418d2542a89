// SPDX-License-Identifier: Apache-2.0
// Declines tensors of four dimensions without a reason.
#define ACCEPT_FIRST                                                                                                   \
  if (host->graph->value_rank(host->region->value(region, "x")) == 4) return 0;
#include "base.h"
