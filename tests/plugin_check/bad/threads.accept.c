// SPDX-License-Identifier: Apache-2.0
// Says that accept may be called by several threads, and declines where it is.
#include "byoc/plugin.h"

static volatile int inside;
#define BACKEND_FLAGS BYOC_BACKEND_REENTRANT
#define ACCEPT_FIRST                                                                                                   \
  if (inside) return host->region->decline(region, "busy");                                                            \
  inside = 1;                                                                                                          \
  for (volatile int i = 0; i < 2000000; ++i) {}                                                                        \
  inside = 0;
#include "base.h"
