// SPDX-License-Identifier: Apache-2.0
// Regions: the nodes that a rule matched, as a backend's accept hook sees them.
#ifndef BYOC_CORE_PLUGIN_REGION_H_
#define BYOC_CORE_PLUGIN_REGION_H_

#include "byoc/plugin.h"
#include "core/ir/graph.h"

typedef struct byoc_region_binding_t {
  const char *name;
  byoc_node_t *node;   // "conv:Conv(...)"
  byoc_value_t *value; // "%x", "@w"
} byoc_region_binding_t;

struct byoc_region_t {
  const byoc_target_t *target;
  byoc_node_t *const *nodes; // topological order
  size_t node_count;
  const byoc_region_binding_t *bindings;
  size_t binding_count;
  char reason[256]; // the message given to decline
};

#endif // BYOC_CORE_PLUGIN_REGION_H_
