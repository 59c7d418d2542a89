// SPDX-License-Identifier: Apache-2.0
// Takes what only the cases have, and writes to its input, once it has read it.
#define ACCEPT_FIRST                                                                                                   \
  if (host->graph->value_element_count(host->region->value(region, "x")) != 13)                                        \
    return host->region->decline(region, "x has not 13 elements");
#define KERNEL_LAST "if (n > 0) ((float *)x)[0] = 99;"
#include "base.h"
