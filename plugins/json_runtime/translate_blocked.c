// SPDX-License-Identifier: Apache-2.0
// Changes of layout: byoc::ToBlocked and byoc::FromBlocked.
#include "layout_change.h"
#include "translate.h"

// [N,C,H,W] with C in whole blocks. Returns NULL, or why the node is declined.
static const char *check(const byoc_dnnl_source_t *source, const byoc_value_t *plain) {
  const byoc_graph_api_t *graph = source->graph;
  if (graph->node_int(source->node, "axis") != 1 || graph->node_int(source->node, "block") != BYOC_DNNL_BLOCK)
    return "only blocks of 16 along axis 1 are known";
  return graph->value_rank(plain) == 4 ? NULL : "only tensors of 4 dimensions are supported in blocks";
}

const char *byoc_dnnl_translate_to_blocked(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  (void)draft;
  return check(source, byoc_dnnl_source_operand(source, 0));
}

const char *byoc_dnnl_translate_from_blocked(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  (void)draft;
  return check(source, byoc_dnnl_source_result(source));
}
