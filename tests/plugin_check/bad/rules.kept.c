// SPDX-License-Identifier: Apache-2.0
// Takes Neg, and gives each back.
#define DECLINES(region)                                                                                               \
  if (strcmp(host->graph->node_operator(host->region->node(region, "op")), "Neg") == 0) {                              \
    const int32_t declined = api->decline(codegen, function, "negative results are not for this chip");                \
    if (declined != BYOC_OK) return declined;                                                                          \
    continue;                                                                                                          \
  }
#include "base.h"
