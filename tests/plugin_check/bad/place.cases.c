// SPDX-License-Identifier: Apache-2.0
// Does not take the tensors of one dimension that the cases want it to take.
#define ACCEPT_FIRST                                                                                                   \
  if (host->graph->value_rank(host->region->value(region, "x")) == 1) return host->region->decline(region, "rank 1");
#include "base.h"
