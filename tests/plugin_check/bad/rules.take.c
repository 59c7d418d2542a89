// SPDX-License-Identifier: Apache-2.0
// Declines whatever its own rules name.
#define ACCEPT_FIRST                                                                                                   \
  if (host->region->node_count(region) > 0) return host->region->decline(region, "not today");
#include "base.h"
