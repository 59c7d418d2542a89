// layout_change.h - byoc::ToBlocked and byoc::FromBlocked in the model. In a draft they are no nodes: a blocked tensor
// of the model is the value that it has the elements of.
#ifndef BYOC_DNNL_LAYOUT_CHANGE_H_
#define BYOC_DNNL_LAYOUT_CHANGE_H_

#include "byoc/plugin.h"

// Channels of one block.
enum { BYOC_DNNL_BLOCK = 16 };

// Is the node (NULL: no) the layout change "ToBlocked" or "FromBlocked"?
int byoc_dnnl_is_layout_change(const byoc_graph_api_t *graph, const byoc_node_t *node, const char *op);
// What the value is another name of: the operand of the layout changes that make it; itself where none do.
const byoc_value_t *byoc_dnnl_plain_value(const byoc_graph_api_t *graph, const byoc_value_t *value);
// Is the value read once, by a node that computes, layout changes on the way left out?
int byoc_dnnl_has_one_reader(const byoc_graph_api_t *graph, const byoc_value_t *value);

#endif // BYOC_DNNL_LAYOUT_CHANGE_H_
