// SPDX-License-Identifier: Apache-2.0
// Dataflow graphs for tests, made from lists of edges.
#ifndef BYOC_TESTS_SUPPORT_FLOW_H_
#define BYOC_TESTS_SUPPORT_FLOW_H_

#include "core/collage/dataflow.h"

// Edges go from lower numbers to higher ones. The flow of a function of Sum nodes, which are called "n0", "n1", ...
// Each reads the nodes that its edges come from; one without such edges reads the parameter. Nodes that no node reads
// are results.
void byoc_test_flow_make(byoc_dataflow_t *flow, uint32_t node_count, const byoc_dataflow_edge_t *edges,
                         size_t edge_count);
// Destroys the module of the function, too.
void byoc_test_flow_destroy(byoc_dataflow_t *flow);

#endif // BYOC_TESTS_SUPPORT_FLOW_H_
