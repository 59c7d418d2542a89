// SPDX-License-Identifier: Apache-2.0
// Says that generate may be called by several threads, and fails where it is.
#include "byoc/plugin.h"

static volatile int inside;
#define BACKEND_FLAGS BYOC_BACKEND_GENERATES_AT_ONCE
#define GENERATE_FIRST                                                                                                 \
  if (inside) return host->codegen->error(codegen, BYOC_INTERNAL, "busy");                                             \
  inside = 1;                                                                                                          \
  for (volatile int i = 0; i < 2000000; ++i) {}                                                                        \
  inside = 0;
#include "base.h"
