// SPDX-License-Identifier: Apache-2.0
// layout_change.h - byoc::ToBlocked and byoc::FromBlocked in the model. They are not nodes of a draft: a blocked tensor
// of the model becomes the value whose elements it holds.
#ifndef BYOC_DNNL_LAYOUT_CHANGE_H_
#define BYOC_DNNL_LAYOUT_CHANGE_H_

#include "byoc/plugin.h"

// Channels of one block.
enum { BYOC_DNNL_BLOCK = 16 };

// True if the node (NULL: no) is the layout change "ToBlocked" or "FromBlocked".
int byoc_dnnl_is_layout_change(const byoc_graph_api_t *graph, const byoc_node_t *node, const char *op);
// The value without layout changes: the operand of those that make it; itself if there are none.
const byoc_value_t *byoc_dnnl_plain_value(const byoc_graph_api_t *graph, const byoc_value_t *value);
// True if the value is read once, by a node that computes, perhaps through layout changes.
int byoc_dnnl_has_one_reader(const byoc_graph_api_t *graph, const byoc_value_t *value);

#endif // BYOC_DNNL_LAYOUT_CHANGE_H_
