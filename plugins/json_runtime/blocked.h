// blocked.h - byoc::ToBlocked and byoc::FromBlocked. In a draft they are no nodes: a blocked tensor of the model is the
// value that it has the elements of, and the blocks are a layout (aBcd16b to oneDNN) of the function's inputs and
// outputs, which the engine reads and writes as it does any layout.
#ifndef BYOC_DNNL_BLOCKED_H_
#define BYOC_DNNL_BLOCKED_H_

#include "draft.h"

// What the value is another name of: the operand of the layout changes that make it; itself where none do.
const byoc_value_t *byoc_dnnl_plain_value(const byoc_graph_api_t *graph, const byoc_value_t *value);
// Is the value read once, by a node that computes, layout changes on the way left out?
int byoc_dnnl_has_one_reader(const byoc_graph_api_t *graph, const byoc_value_t *value);

// Give a function's input or output its layout where the model has it in blocks. Return NULL, or why that is not done.
const char *byoc_dnnl_draft_blocked_input(byoc_dnnl_draft_t *draft, const byoc_value_t *parameter, int32_t value);
const char *byoc_dnnl_draft_blocked_output(byoc_dnnl_draft_t *draft, const byoc_value_t *result, int32_t value);

#endif // BYOC_DNNL_BLOCKED_H_
