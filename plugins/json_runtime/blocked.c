#include "blocked.h"

#include <string.h>

#include "source.h"

enum { BLOCK = 16 };

static int is_change(const byoc_graph_api_t *graph, const byoc_node_t *node, const char *op) {
  return node != NULL && strcmp(graph->node_domain(node), "byoc") == 0 && strcmp(graph->node_operator(node), op) == 0;
}

static int is_layout_change(const byoc_graph_api_t *graph, const byoc_node_t *node) {
  return is_change(graph, node, "ToBlocked") || is_change(graph, node, "FromBlocked");
}

const byoc_value_t *byoc_dnnl_plain_value(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  for (;;) {
    const byoc_node_t *node = graph->value_producer(value);
    if (!is_layout_change(graph, node)) return value;
    value = graph->operand(node, 0);
  }
}

// Readers, as far as 2; a result of the function counts for 2.
static int count_readers(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  int count = 0;
  for (uint64_t i = 0; count < 2 && i < graph->value_use_count(value); ++i) {
    const byoc_node_t *user = graph->value_user(value, i);
    if (user == NULL) return 2;
    count += is_layout_change(graph, user) ? count_readers(graph, graph->node_result(user, 0)) : 1;
  }
  return count;
}

int byoc_dnnl_has_one_reader(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  return count_readers(graph, value) == 1;
}

// [N,C,H,W] with C in whole blocks. Returns NULL, or why the node is not taken.
static const char *check(const byoc_dnnl_source_t *source, const byoc_value_t *plain) {
  const byoc_graph_api_t *graph = source->graph;
  if (graph->attribute_int(source->node, "axis", 1) != 1 || graph->attribute_int(source->node, "block", BLOCK) != BLOCK)
    return "only blocks of 16 along axis 1 are known";
  return graph->value_rank(plain) == 4 ? NULL : "only tensors of 4 dimensions are taken in blocks";
}

const char *byoc_dnnl_translate_to_blocked(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  (void)draft;
  return check(source, byoc_dnnl_source_operand(source, 0));
}

const char *byoc_dnnl_translate_from_blocked(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  (void)draft;
  return check(source, byoc_dnnl_source_result(source));
}

static void set_layout(byoc_dnnl_draft_t *draft, int32_t value) {
  const int64_t *dims = draft->values[value].shape.dims, block = BLOCK, axis = 1;
  const int64_t pixels = dims[2] * dims[3];
  const int64_t strides[] = {dims[1] * pixels, pixels * BLOCK, dims[3] * BLOCK, BLOCK};
  json_t *layout = json_pack("{s:o, s:o, s:o, s:o}", "padded", byoc_dnnl_json_ints(dims, 4), "strides",
                             byoc_dnnl_json_ints(strides, 4), "blocks", byoc_dnnl_json_ints(&block, 1), "block_dims",
                             byoc_dnnl_json_ints(&axis, 1));
  if (layout == NULL) draft->failed = 1;
  draft->values[value].layout = layout;
}

const char *byoc_dnnl_draft_blocked_input(byoc_dnnl_draft_t *draft, const byoc_value_t *parameter, int32_t value) {
  const byoc_graph_api_t *graph = draft->graph;
  uint64_t uses = graph->value_use_count(parameter), blocked = 0;
  const byoc_node_t *from = NULL;
  for (uint64_t i = 0; i < uses; ++i) {
    const byoc_node_t *user = graph->value_user(parameter, i);
    if (!is_change(graph, user, "FromBlocked")) continue;
    from = user;
    ++blocked;
  }
  if (from == NULL || value < 0) return NULL;
  if (blocked < uses) return "an input that is read in blocks and as it is";
  draft->values[value].shape = byoc_dnnl_shape_of(graph, graph->node_result(from, 0));
  set_layout(draft, value);
  return NULL;
}

const char *byoc_dnnl_draft_blocked_output(byoc_dnnl_draft_t *draft, const byoc_value_t *result, int32_t value) {
  if (value < 0 || byoc_dnnl_plain_value(draft->graph, result) == result) return NULL;
  const byoc_dnnl_draft_value_t *v = &draft->values[value];
  if (v->producer < 0 || v->layout != NULL) return "an output that is another value's copy in another layout";
  if (is_change(draft->graph, draft->graph->value_producer(result), "ToBlocked")) set_layout(draft, value);
  return NULL;
}
