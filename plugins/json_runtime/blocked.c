// SPDX-License-Identifier: Apache-2.0
// The layouts of a function's inputs and outputs that the model has in blocks.
#include "blocked.h"

#include "layout_change.h"

// Returns NULL, or why the function is declined.
static const char *set_layout(byoc_dnnl_draft_t *draft, int32_t value) {
  if (!byoc_dnnl_shape_is_static(&draft->values[value].shape)) return "dynamic sizes in blocks";
  const int64_t *dims = draft->values[value].shape.dims, block = BYOC_DNNL_BLOCK, axis = 1;
  const int64_t pixels = dims[2] * dims[3];
  const int64_t strides[] = {dims[1] * pixels, pixels * BYOC_DNNL_BLOCK, dims[3] * BYOC_DNNL_BLOCK, BYOC_DNNL_BLOCK};
  json_t *layout = json_pack("{s:o, s:o, s:o, s:o}", "padded", byoc_dnnl_json_ints(dims, 4), "strides",
                             byoc_dnnl_json_ints(strides, 4), "blocks", byoc_dnnl_json_ints(&block, 1), "block_dims",
                             byoc_dnnl_json_ints(&axis, 1));
  if (layout == NULL) draft->failed = 1;
  draft->values[value].layout = layout;
  return NULL;
}

const char *byoc_dnnl_draft_blocked_input(byoc_dnnl_draft_t *draft, const byoc_value_t *parameter, int32_t value) {
  const byoc_graph_api_t *graph = draft->graph;
  uint64_t uses = graph->value_use_count(parameter), blocked = 0;
  const byoc_node_t *from = NULL;
  for (uint64_t i = 0; i < uses; ++i) {
    const byoc_node_t *user = graph->value_user(parameter, i);
    if (!byoc_dnnl_is_layout_change(graph, user, "FromBlocked")) continue;
    from = user;
    ++blocked;
  }
  if (from == NULL || value < 0) return NULL;
  if (blocked < uses) return "an input that is read in blocks and as it is";
  draft->values[value].shape = byoc_dnnl_shape_of(&draft->sizes, graph->node_result(from, 0));
  return set_layout(draft, value);
}

const char *byoc_dnnl_draft_blocked_output(byoc_dnnl_draft_t *draft, const byoc_value_t *result, int32_t value) {
  if (value < 0 || byoc_dnnl_plain_value(draft->graph, result) == result) return NULL;
  const byoc_dnnl_draft_value_t *v = &draft->values[value];
  if (v->producer < 0 || v->layout != NULL) return "an output that is another value's copy in another layout";
  if (byoc_dnnl_is_layout_change(draft->graph, draft->graph->value_producer(result), "ToBlocked"))
    return set_layout(draft, value);
  return NULL;
}
