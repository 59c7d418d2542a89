// SPDX-License-Identifier: Apache-2.0
// Reading a model past byoc::ToBlocked and byoc::FromBlocked.
#include "layout_change.h"

#include <string.h>

int byoc_dnnl_is_layout_change(const byoc_graph_api_t *graph, const byoc_node_t *node, const char *op) {
  return node != NULL && strcmp(graph->node_domain(node), "byoc") == 0 && strcmp(graph->node_operator(node), op) == 0;
}

static int changes_layout(const byoc_graph_api_t *graph, const byoc_node_t *node) {
  return byoc_dnnl_is_layout_change(graph, node, "ToBlocked") || byoc_dnnl_is_layout_change(graph, node, "FromBlocked");
}

const byoc_value_t *byoc_dnnl_plain_value(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  for (;;) {
    const byoc_node_t *node = graph->value_producer(value);
    if (!changes_layout(graph, node)) return value;
    value = graph->operand(node, 0);
  }
}

// Counts readers up to 2; a result of the function counts as 2.
static int count_readers(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  int count = 0;
  for (uint64_t i = 0; count < 2 && i < graph->value_use_count(value); ++i) {
    const byoc_node_t *user = graph->value_user(value, i);
    if (user == NULL) return 2;
    count += changes_layout(graph, user) ? count_readers(graph, graph->node_result(user, 0)) : 1;
  }
  return count;
}

int byoc_dnnl_has_one_reader(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  return count_readers(graph, value) == 1;
}
