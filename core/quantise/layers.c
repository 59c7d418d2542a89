// SPDX-License-Identifier: Apache-2.0
// Chooses the layers that compute in integers.
#include "core/quantise/layers.h"

#include <math.h>
#include <string.h>

// How an operator may follow layers of integers.
typedef enum follower_kind_t {
  MOVES,    // its result has elements of its data: it keeps the scale
  COMPUTES, // it gets a scale of its own
  JOINS,    // a concatenation
  COMBINES, // both operands are data
} follower_kind_t;
static const struct {
  const char *op;
  follower_kind_t kind;
} followers[] = {
    {"MaxPool", MOVES},
    {"Transpose", MOVES},
    {"Reshape", MOVES},
    {"Flatten", MOVES},
    {"Squeeze", MOVES},
    {"Unsqueeze", MOVES},
    {"Slice", MOVES},
    {"Identity", MOVES},
    {"DepthToSpace", MOVES},
    {"SpaceToDepth", MOVES},
    {"Expand", MOVES},
    {"Tile", MOVES},
    {"Split", MOVES},
    {"Resize", MOVES},
    {"Pad", MOVES},
    {"Dropout", MOVES},
    {"Relu", COMPUTES},
    {"Clip", COMPUTES},
    {"AveragePool", COMPUTES},
    {"ReduceMean", COMPUTES},
    {"LeakyRelu", COMPUTES},
    {"Sigmoid", COMPUTES},
    {"HardSigmoid", COMPUTES},
    {"HardSwish", COMPUTES},
    {"GlobalAveragePool", COMPUTES},
    {"Concat", JOINS},
    {"Add", COMBINES},
    {"Mul", COMBINES},
};
enum { FOLLOWER_COUNT = sizeof(followers) / sizeof(followers[0]) };

static int follower_of(const Onnx__NodeProto *node) {
  for (int i = 0; i < FOLLOWER_COUNT; i++) {
    if (byoc_onnx_node_is(node, followers[i].op)) return i;
  }
  return -1;
}

static bool is_product(const Onnx__NodeProto *node) {
  return byoc_onnx_node_is(node, "Conv") || byoc_onnx_node_is(node, "ConvTranspose") ||
         byoc_onnx_node_is(node, "Gemm") || byoc_onnx_node_is(node, "MatMul");
}

bool byoc_qplan_is_data(const Onnx__NodeProto *node, uint32_t operand) {
  const int follower = follower_of(node);
  if (follower >= 0 && followers[follower].kind == JOINS) return true;
  if (byoc_onnx_node_is(node, "MatMul") || (follower >= 0 && followers[follower].kind == COMBINES)) return operand < 2;
  return operand == 0;
}

byoc_qvalue_t *byoc_qlayer_weights(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, uint32_t *out_operand) {
  *out_operand = 1;
  if (!is_product(node)) return NULL;
  byoc_qvalue_t *value = byoc_qgraph_operand(graph, node, 1);
  if (byoc_qvalue_floats(graph, value) == NULL && byoc_onnx_node_is(node, "MatMul")) {
    value = byoc_qgraph_operand(graph, node, 0);
    *out_operand = 0;
  }
  return byoc_qvalue_floats(graph, value) != NULL ? value : NULL;
}

// ---- products ----

static bool are_finite(const byoc_qgraph_t *graph, const byoc_qvalue_t *value) {
  const float *data = byoc_qvalue_floats(graph, value);
  const int64_t count = byoc_onnx_tensor_count(value->tensor);
  float sum = 0;
  for (int64_t i = 0; i < count; i++) sum += data[i] * 0;
  return count > 0 && sum == 0;
}

// Can the product compute in integers? Its weights are constants, and a Gemm has no factors.
static bool can_be_product(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, bool only_weights) {
  if (!is_product(node) || node->n_input < 2 || node->n_output != 1) return false;
  uint32_t operand;
  const byoc_qvalue_t *weights = byoc_qlayer_weights(graph, node, &operand);
  const bool is_matmul = byoc_onnx_node_is(node, "MatMul");
  if (weights != NULL && !are_finite(graph, weights)) return false;
  if (weights == NULL && (!is_matmul || only_weights)) return false;
  for (uint32_t i = 0; i < 2; i++) {
    const byoc_qvalue_t *value = byoc_qgraph_operand(graph, node, i);
    if (value != weights && !byoc_qvalue_is_activation(value)) return false;
  }
  if (byoc_onnx_node_is(node, "Gemm")) {
    const bool is_plain = byoc_onnx_attribute_float(node, "alpha", 1) == 1 &&
                          byoc_onnx_attribute_float(node, "beta", 1) == 1 &&
                          byoc_onnx_attribute_int(node, "transA", 0) == 0;
    if (!is_plain) return false;
  }
  if (!only_weights) return true;
  return operand == 1 && byoc_qvalue_rank(weights) == 2 && (is_matmul || byoc_onnx_node_is(node, "Gemm"));
}

// The only reader of a node's result; NULL if there are others.
static Onnx__NodeProto *only_reader(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, uint32_t *out_index) {
  const byoc_qvalue_t *result = byoc_qgraph_result(graph, node);
  if (!byoc_qvalue_has_one_reader(result)) return NULL;
  *out_index = result->readers[0].node;
  return graph->message->node[*out_index];
}

// Is it an Add of a constant row or scalar behind a MatMul?
static bool is_bias(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, const Onnx__NodeProto *product) {
  if (!byoc_onnx_node_is(node, "Add") || !byoc_onnx_node_is(product, "MatMul")) return false;
  for (size_t i = 0; i < 2; i++) {
    const byoc_qvalue_t *value = byoc_qgraph_operand(graph, node, i);
    if (value == NULL || value->tensor == NULL) continue;
    const int64_t count = byoc_onnx_tensor_count(value->tensor);
    return count == 1 || (value->tensor->n_dims > 0 && value->tensor->dims[value->tensor->n_dims - 1] == count);
  }
  return false;
}

// Is it an activation that ends a layer: Relu, or Clip between constants?
static bool is_ending(const byoc_qgraph_t *graph, const Onnx__NodeProto *node) {
  if (byoc_onnx_node_is(node, "Relu")) return true;
  if (!byoc_onnx_node_is(node, "Clip")) return false;
  for (size_t i = 1; i < node->n_input; i++) {
    const byoc_qvalue_t *bound = byoc_qgraph_operand(graph, node, i);
    if (bound != NULL && bound->tensor == NULL) return false;
  }
  return true;
}

static void add_layer(byoc_qplan_t *plan, const byoc_qgraph_t *graph, uint32_t first, bool is_product_layer) {
  const Onnx__NodeProto *node = graph->message->node[first];
  byoc_qlayer_t *layer = &plan->layers[plan->layer_count++];
  *layer = (byoc_qlayer_t){byoc_qnode_name(node), node->op_type, first, first, is_product_layer, true};
  plan->layer_of[first] = (uint32_t)plan->layer_count;
  const int follower = follower_of(node);
  if (follower >= 0 && followers[follower].kind == MOVES) layer->is_reported = false;
  if (follower >= 0 && followers[follower].kind != COMBINES) return;
  uint32_t next;
  const Onnx__NodeProto *reader = only_reader(graph, node, &next);
  if (reader != NULL && is_bias(graph, reader, node)) {
    layer->last = next;
    plan->layer_of[next] = (uint32_t)plan->layer_count;
    reader = only_reader(graph, reader, &next);
  }
  if (reader != NULL && is_ending(graph, reader)) {
    layer->last = next;
    plan->layer_of[next] = (uint32_t)plan->layer_count;
  }
}

// ---- followers ----

// Is the value made by a layer of integers, or a candidate for one?
static bool is_of_layer(const byoc_qgraph_t *graph, const byoc_qplan_t *plan, const bool *candidates,
                        const byoc_qvalue_t *value) {
  if (value == NULL || value->producer < 0 || !byoc_qvalue_is_activation(value)) return false;
  (void)graph;
  return plan->layer_of[value->producer] > 0 || candidates[value->producer];
}

static bool has_operand(const Onnx__NodeProto *node, size_t index) {
  return index < node->n_input && node->input[index][0] != '\0';
}

// Some operators are movements in one form only: a Resize to the nearest element, a Pad by zeros or by elements of the
// data, a Dropout that does not train.
static bool moves_only(const Onnx__NodeProto *node) {
  if (byoc_onnx_node_is(node, "Resize")) {
    const Onnx__AttributeProto *mode = byoc_onnx_find_attribute(node, "mode");
    return mode == NULL || (mode->s.len == 7 && memcmp(mode->s.data, "nearest", 7) == 0);
  }
  if (byoc_onnx_node_is(node, "Pad") || byoc_onnx_node_is(node, "Dropout")) return !has_operand(node, 2);
  return true;
}

static bool may_follow(const byoc_qgraph_t *graph, const byoc_qplan_t *plan, const bool *candidates, uint32_t index) {
  const Onnx__NodeProto *node = graph->message->node[index];
  if (plan->layer_of[index] > 0 || follower_of(node) < 0 ||
      !is_of_layer(graph, plan, candidates, byoc_qgraph_operand(graph, node, 0))) {
    return false;
  }
  if (byoc_onnx_node_is(node, "Clip") && !is_ending(graph, node)) return false;
  if (byoc_onnx_node_is(node, "MaxPool") && node->n_output > 1) return false;
  if (!moves_only(node)) return false;
  for (uint32_t i = 0; i < node->n_input; i++) {
    if (!byoc_qplan_is_data(node, i)) continue;
    if (!is_of_layer(graph, plan, candidates, byoc_qgraph_operand(graph, node, i))) return false;
  }
  return true;
}

// Does a layer of integers, or a candidate, read a result of the node as data?
static bool is_read_by_layer(const byoc_qgraph_t *graph, const byoc_qplan_t *plan, const bool *candidates,
                             uint32_t index) {
  const Onnx__NodeProto *node = graph->message->node[index];
  for (size_t o = 0; o < node->n_output; o++) {
    const byoc_qvalue_t *value = node->output[o][0] != '\0' ? byoc_qgraph_value(graph, node->output[o]) : NULL;
    for (size_t r = 0; value != NULL && r < value->reader_count; r++) {
      const uint32_t reader = value->readers[r].node;
      if (plan->layer_of[reader] == 0 && !candidates[reader]) continue;
      if (byoc_qplan_is_data(graph->message->node[reader], value->readers[r].operand)) return true;
    }
  }
  return false;
}

// Operators that read integers only and are read by layers of integers. First all that could be are taken, in the order
// of the graph; then, backwards, those without such a reader are dropped, until nothing changes.
static void add_followers(byoc_qplan_t *plan, const byoc_qgraph_t *graph, const bool *excluded, bool *candidates) {
  const size_t count = graph->message->n_node;
  for (bool changes = true; changes;) {
    changes = false;
    for (uint32_t n = 0; n < count; n++) {
      if (candidates[n] || excluded[n] || !may_follow(graph, plan, candidates, n)) continue;
      candidates[n] = true;
      changes = true;
    }
  }
  for (bool changes = true; changes;) {
    changes = false;
    for (size_t n = count; n-- > 0;) {
      if (!candidates[n]) continue;
      if (is_read_by_layer(graph, plan, candidates, (uint32_t)n) && may_follow(graph, plan, candidates, (uint32_t)n)) {
        continue;
      }
      candidates[n] = false;
      changes = true;
    }
  }
  for (uint32_t n = 0; n < count; n++) {
    if (candidates[n] && plan->layer_of[n] == 0) add_layer(plan, graph, n, false);
  }
}

// ---- values ----

byoc_qparams_t *byoc_qparams_root(byoc_qparams_t *params) {
  while (params->shares != NULL) params = params->shares;
  return params;
}

byoc_qparams_t *byoc_qplan_params(const byoc_qplan_t *plan, const byoc_qvalue_t *value) {
  return value != NULL ? byoc_pointer_map_get(&plan->params, value) : NULL;
}

static bool add_params(byoc_qplan_t *plan, byoc_qvalue_t *value) {
  if (byoc_qplan_params(plan, value) != NULL) return true;
  byoc_qparams_t *params = BYOC_ARENA_NEW(&plan->arena, byoc_qparams_t);
  if (params == NULL) return false;
  params->value = value;
  return byoc_pointer_map_put(&plan->params, value, params);
}

// What the first node of each layer reads as data becomes integers.
static bool add_values(byoc_qplan_t *plan, const byoc_qgraph_t *graph) {
  for (size_t l = 0; l < plan->layer_count; l++) {
    const Onnx__NodeProto *node = graph->message->node[plan->layers[l].first];
    for (uint32_t i = 0; i < node->n_input; i++) {
      byoc_qvalue_t *value = byoc_qgraph_operand(graph, node, i);
      if (!byoc_qplan_is_data(node, i) || !byoc_qvalue_is_activation(value)) continue;
      if (!add_params(plan, value)) return false;
    }
  }
  return true;
}

static void share(byoc_qparams_t *a, byoc_qparams_t *b) {
  if (a == NULL || b == NULL) return;
  a = byoc_qparams_root(a);
  b = byoc_qparams_root(b);
  if (a != b) b->shares = a;
}

// Results of movements have the scale of what they move; so do the parts of a concatenation that nothing else reads.
static void share_scales(byoc_qplan_t *plan, const byoc_qgraph_t *graph) {
  for (size_t l = 0; l < plan->layer_count; l++) {
    const Onnx__NodeProto *node = graph->message->node[plan->layers[l].first];
    const int follower = follower_of(node);
    if (follower < 0 || (followers[follower].kind != MOVES && followers[follower].kind != JOINS)) continue;
    byoc_qparams_t *from = byoc_qplan_params(plan, byoc_qgraph_operand(graph, node, 0));
    for (size_t o = 0; followers[follower].kind == MOVES && o < node->n_output; o++) {
      share(from, byoc_qplan_params(plan, byoc_qgraph_value(graph, node->output[o])));
    }
    byoc_qparams_t *joined = byoc_qplan_params(plan, byoc_qgraph_result(graph, node));
    for (size_t i = 0; followers[follower].kind == JOINS && i < node->n_input; i++) {
      byoc_qvalue_t *part = byoc_qgraph_operand(graph, node, i);
      if (byoc_qvalue_has_one_reader(part)) share(joined, byoc_qplan_params(plan, part));
    }
  }
}

// ---- the plan ----

static byoc_status_t unknown_layer(const byoc_qgraph_t *graph, const char *name, byoc_arena_t *arena,
                                   byoc_diag_t *diag) {
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the model has no layer '%s' that could be left out", name);
  const char **names = BYOC_ARENA_ARRAY(arena, const char *, graph->message->n_node);
  for (size_t n = 0; names != NULL && n < graph->message->n_node; n++)
    names[n] = byoc_qnode_name(graph->message->node[n]);
  const char *nearest = names != NULL ? byoc_nearest_match(name, names, graph->message->n_node) : NULL;
  if (nearest != NULL) {
    byoc_diag_hint(diag, "there is '%s'", nearest);
  } else {
    byoc_diag_hint(diag, "a layer is called as its node or its result; without --exclude the table lists them");
  }
  return status;
}

static byoc_status_t mark_excluded(byoc_qplan_t *plan, const byoc_qgraph_t *graph, const byoc_qlayer_options_t *options,
                                   bool *excluded, byoc_diag_t *diag) {
  for (size_t i = 0; i < options->excluded_count; i++) {
    bool found = false;
    for (size_t n = 0; n < graph->message->n_node; n++) {
      if (!byoc_qnode_is_named(graph->message->node[n], options->excluded[i])) continue;
      excluded[n] = true;
      found = true;
    }
    if (!found) return unknown_layer(graph, options->excluded[i], &plan->arena, diag);
  }
  return BYOC_OK;
}

static byoc_status_t choose(byoc_qplan_t *plan, const byoc_qgraph_t *graph, const byoc_qlayer_options_t *options,
                            byoc_diag_t *diag) {
  const size_t count = graph->message->n_node;
  plan->layer_of = BYOC_ARENA_ARRAY(&plan->arena, uint32_t, count + 1);
  plan->layers = BYOC_ARENA_ARRAY(&plan->arena, byoc_qlayer_t, count + 1);
  bool *excluded = BYOC_ARENA_ARRAY(&plan->arena, bool, count + 1);
  bool *candidates = BYOC_ARENA_ARRAY(&plan->arena, bool, count + 1);
  if (plan->layer_of == NULL || plan->layers == NULL || excluded == NULL || candidates == NULL) {
    return byoc_diag_out_of_memory(diag);
  }
  BYOC_RETURN_IF_ERROR(mark_excluded(plan, graph, options, excluded, diag));
  for (uint32_t n = 0; n < count; n++) {
    if (!excluded[n] && can_be_product(graph, graph->message->node[n], options->only_weights)) {
      add_layer(plan, graph, n, true);
    }
  }
  if (options->only_weights) return BYOC_OK;
  add_followers(plan, graph, excluded, candidates);
  if (!add_values(plan, graph)) return byoc_diag_out_of_memory(diag);
  share_scales(plan, graph);
  return BYOC_OK;
}

byoc_status_t byoc_qplan_open(byoc_qplan_t *plan, const byoc_qgraph_t *graph, const byoc_qlayer_options_t *options,
                              byoc_diag_t *diag) {
  *plan = (byoc_qplan_t){0};
  byoc_arena_init(&plan->arena, byoc_allocator_system());
  byoc_pointer_map_init(&plan->params, byoc_allocator_system());
  const byoc_status_t status = choose(plan, graph, options, diag);
  if (status != BYOC_OK) byoc_qplan_close(plan);
  return status;
}

void byoc_qplan_close(byoc_qplan_t *plan) {
  if (plan->layer_of == NULL && plan->arena.allocator.resize == NULL) return;
  byoc_map_deinit(&plan->params);
  byoc_arena_deinit(&plan->arena);
  *plan = (byoc_qplan_t){0};
}
