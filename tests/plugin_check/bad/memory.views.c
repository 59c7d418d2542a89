// SPDX-License-Identifier: Apache-2.0
// Keeps a node of the graph in accept and asks about it in generate.
#include "byoc/plugin.h"

static const byoc_node_t *kept;
static uint64_t seen;
#define ACCEPT_FIRST   kept = host->region->node_at(region, 0);
#define GENERATE_FIRST seen += kept != NULL ? host->graph->node_id(kept) : 0;
#include "base.h"
