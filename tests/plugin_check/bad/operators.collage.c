// SPDX-License-Identifier: Apache-2.0
// Counts on being asked about each node once, and fails where it is asked again, as the search does.
#include "byoc/plugin.h"

static uint64_t asked[4096];
static int is_asked_again;
#define ACCEPT_FIRST                                                                                                   \
  const uint64_t id = host->graph->node_id(host->region->node_at(region, 0)) % 4096;                                   \
  is_asked_again = is_asked_again || asked[id] != 0;                                                                   \
  asked[id] += 1;
#define GENERATE_FIRST                                                                                                 \
  const int was_asked_again = is_asked_again;                                                                          \
  memset(asked, 0, sizeof(asked));                                                                                     \
  is_asked_again = 0;                                                                                                  \
  if (was_asked_again) return host->codegen->error(codegen, BYOC_INTERNAL, "asked twice");
#include "base.h"
