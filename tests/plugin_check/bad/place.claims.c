// SPDX-License-Identifier: Apache-2.0
// It counts the questions, and answers only some.
#include <stdint.h>
static uint32_t asked;
#define CLAIM                                                                                                          \
  if (asked++ % 2 == 1) return query->decline(query, query->nodes[0], "it was asked before");
#include "base.h"
