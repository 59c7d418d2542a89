// SPDX-License-Identifier: Apache-2.0
// Makes graphs from lists of edges, so that tests can say what their dataflow is.
#include "tests/support/flow.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/ir/graph.h"
#include "tests/support/support.h"

void byoc_test_flow_make(byoc_dataflow_t *flow, uint32_t node_count, const byoc_dataflow_edge_t *edges,
                         size_t edge_count) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &module), &diag);
  byoc_block_t *body = byoc_function_create(module, "main")->body;
  byoc_value_t *x = byoc_block_add_parameter(body, "x", byoc_type_unknown());
  byoc_node_t **nodes = calloc(node_count + 1, sizeof(byoc_node_t *));
  byoc_value_t **operands = calloc(edge_count + 1, sizeof(byoc_value_t *));
  size_t *first = calloc(node_count + 1, sizeof(size_t)), *next = calloc(edge_count + 1, sizeof(size_t)); // edge plus 1
  assert_true(x != NULL && nodes != NULL && operands != NULL && first != NULL && next != NULL);
  for (size_t e = 0; e < edge_count; ++e) {
    assert_true(edges[e].from < edges[e].to && edges[e].to < node_count);
    next[e] = first[edges[e].to];
    first[edges[e].to] = e + 1;
  }
  for (uint32_t n = 0; n < node_count; ++n) {
    uint32_t count = 0;
    for (size_t e = first[n]; e != 0; e = next[e - 1]) operands[count++] = nodes[edges[e - 1].from]->results[0];
    if (count == 0) operands[count++] = x;
    nodes[n] = byoc_node_create(body, NULL, "", "Sum", 13, operands, count, 1);
    char name[16];
    snprintf(name, sizeof(name), "n%u", n);
    assert_true(nodes[n] != NULL && byoc_node_set_name(nodes[n], name));
  }
  for (uint32_t n = 0; n < node_count; ++n) {
    if (nodes[n]->results[0]->uses.count == 0) assert_true(byoc_block_add_result(body, NULL, nodes[n]->results[0]));
  }
  free(nodes);
  free(operands);
  free(first);
  free(next);
  byoc_test_ok(byoc_dataflow_init(flow, body, byoc_allocator_system(), &diag), &diag);
}

void byoc_test_flow_destroy(byoc_dataflow_t *flow) {
  byoc_graph_module_t *module = flow->block->function->module;
  byoc_dataflow_deinit(flow);
  byoc_graph_module_destroy(module);
}
