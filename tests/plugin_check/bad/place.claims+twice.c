// SPDX-License-Identifier: Apache-2.0
// Its claim lists a node twice.
#define CLAIM                                                                                                          \
  byoc_node_t *const nodes[] = {query->nodes[0], query->nodes[0]};                                                     \
  return query->claim(query, "bad.pair", 0, nodes, 2);
#include "base.h"
