// SPDX-License-Identifier: Apache-2.0
// From an Attention node to a problem.
#include "patterns/match_attention.h"

#include <math.h>

static bool refuse(byoc_cutlass_match_t *match, const char *reason) {
  match->reason = reason;
  return false;
}

// A dimension, or where a run decides it the number that the code is planned for.
static int64_t planned(const byoc_graph_api_t *graph, const byoc_value_t *value, int32_t axis, int64_t number,
                       bool *is_open) {
  int64_t dim = graph->value_dim(value, axis);
  if (dim < 0) *is_open = true;
  return dim < 0 ? number : dim;
}

// Records the dimensions of [batch, heads, queries, keys] that the mask has: each of its dimensions is the scores'
// or 1. `scores`: a value and an axis for each.
static bool read_mask(const byoc_graph_api_t *graph, const byoc_value_t *mask, const byoc_value_t *const scores[4],
                      const int32_t axes[4], byoc_cutlass_attention_t *attention) {
  int32_t rank = graph->value_rank(mask);
  bool is_open = false;
  if (!byoc_cutlass_match_known_f32(graph, mask, &is_open) || rank > 4) return false;
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t at = 4 - rank + i;
    if (graph->value_dim(mask, i) == 1) continue;
    const bool fits = scores[at] ? graph->value_dims_equal(mask, i, scores[at], axes[at])
                                 : graph->value_dim(mask, i) == attention->heads;
    if (!fits) return false;
    attention->mask_axes[at] = true;
  }
  attention->has_mask = true;
  return true;
}

// Checks that all have as many batches, that there are as many values as keys in as many heads, that each of these
// serves a whole number of query heads, and that sizes agree.
static bool shapes_agree(const byoc_graph_api_t *graph, const byoc_value_t *q, const byoc_value_t *k,
                         const byoc_value_t *v, const byoc_cutlass_attention_t *a) {
  int32_t rank = graph->value_rank(q), length = a->flat ? 1 : 2, last = rank - 1;
  if (graph->value_rank(k) != rank || graph->value_rank(v) != rank || (rank != 3 && rank != 4)) return false;
  if (a->size < 1 || a->value_size < 1 || a->heads % a->kv_heads != 0) return false;
  int64_t heads = a->flat ? a->heads : 1, kv_heads = a->flat ? a->kv_heads : 1; // heads that lie side by side
  return graph->value_dims_equal(k, 0, q, 0) && graph->value_dims_equal(v, 0, q, 0) &&
         graph->value_dims_equal(v, length, k, length) && (a->flat || graph->value_dim(v, 1) == a->kv_heads) &&
         graph->value_dim(q, last) == a->size * heads && graph->value_dim(k, last) == a->size * kv_heads &&
         graph->value_dim(v, last) == a->value_size * kv_heads;
}

// Keys and values of earlier steps: both or neither; with them, all of the next step's are results too.
static bool read_past(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_value_t *keys, byoc_value_t *values,
                      byoc_cutlass_match_t *match) {
  byoc_cutlass_attention_t *attention = &match->problem.attention;
  const byoc_value_t *q = match->data;
  if (!keys && !values) return graph->node_result_count(node) == 1 || refuse(match, "only one result is supported");
  if (!keys || !values || graph->node_result_count(node) != 3)
    return refuse(match, "a cache of keys and values is supported only if the next cache is a result");
  bool is_open = false;
  if (!byoc_cutlass_match_known_f32(graph, keys, &is_open) || !byoc_cutlass_match_known_f32(graph, values, &is_open))
    return refuse(match, "the cache is not f32");
  for (uint64_t i = 1; i < 3; ++i)
    if (graph->value_use_count(graph->node_result(node, i)) == 0) return refuse(match, "nothing reads the next cache");
  const bool fits =
      graph->value_rank(keys) == 4 && graph->value_rank(values) == 4 && graph->value_dims_equal(keys, 0, q, 0) &&
      graph->value_dims_equal(values, 0, q, 0) && graph->value_dim(keys, 1) == attention->kv_heads &&
      graph->value_dim(values, 1) == attention->kv_heads && graph->value_dims_equal(values, 2, keys, 2) &&
      graph->value_dim(keys, 3) == attention->size && graph->value_dim(values, 3) == attention->value_size;
  if (!fits) return refuse(match, "the cache has another shape than the keys and values");
  attention->past = planned(graph, keys, 2, BYOC_CUTLASS_OPEN_KEYS, &attention->open);
  attention->keys += attention->past;
  match->past[0] = keys;
  match->past[1] = values;
  return true;
}

bool byoc_cutlass_match_attention(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_cutlass_match_t *match) {
  byoc_value_t *operands[7] = {NULL};
  uint64_t count = graph->operand_count(node);
  if (count < 3 || count > 7) return refuse(match, "the number of operands is not Attention's");
  for (uint64_t i = 0; i < count; ++i) operands[i] = graph->operand(node, i);
  byoc_value_t *q = operands[0], *k = operands[1], *v = operands[2], *mask = operands[3];
  if (operands[6]) return refuse(match, "lengths are not supported");
  bool is_open = false;
  if (!byoc_cutlass_match_known_f32(graph, q, &is_open) || !byoc_cutlass_match_known_f32(graph, k, &is_open) ||
      !byoc_cutlass_match_known_f32(graph, v, &is_open) ||
      !byoc_cutlass_match_known_f32(graph, graph->node_result(node, 0), &is_open))
    return refuse(match, "only f32 is supported");
  int64_t precision = graph->node_int(node, "softmax_precision");
  if (graph->node_float(node, "softcap") != 0.0 || (precision != 0 && precision != BYOC_DTYPE_F32) ||
      graph->node_int(node, "left_window_size") >= 0 || graph->node_int(node, "right_window_size") >= 0)
    return refuse(match, "softcap, windows and other precisions are not supported");
  const bool flat = graph->value_rank(q) == 3;
  const int32_t length = flat ? 1 : 2;
  byoc_cutlass_attention_t *attention = &match->problem.attention;
  match->problem.kind = BYOC_CUTLASS_ATTENTION;
  *attention = (byoc_cutlass_attention_t){
      .flat = flat,
      .open = is_open,
      .heads = flat ? graph->attribute_int(node, "q_num_heads", 1) : graph->value_dim(q, 1),
      .kv_heads = flat ? graph->attribute_int(node, "kv_num_heads", 1) : graph->value_dim(k, 1),
      .causal = graph->node_int(node, "is_causal") != 0,
  };
  attention->batch = planned(graph, q, 0, 1, &is_open);
  attention->queries = planned(graph, q, length, BYOC_CUTLASS_OPEN_ROWS, &is_open);
  attention->keys = planned(graph, k, length, BYOC_CUTLASS_OPEN_KEYS, &is_open);
  match->data = q;
  if (attention->heads < 1 || attention->kv_heads < 1) return refuse(match, "the number of heads is not known");
  attention->size = graph->value_dim(q, flat ? 2 : 3) / (flat ? attention->heads : 1);
  attention->value_size = graph->value_dim(v, flat ? 2 : 3) / (flat ? attention->kv_heads : 1);
  if (!shapes_agree(graph, q, k, v, attention)) return refuse(match, "keys, values and queries do not fit each other");
  attention->scale = (float)graph->attribute_float(node, "scale", 1.0 / sqrt((double)attention->size));
  if (!read_past(graph, node, operands[4], operands[5], match)) return false;
  const byoc_value_t *all_keys = match->past[0] ? graph->node_result(node, 1) : k;
  const byoc_value_t *const scores[] = {q, NULL, q, all_keys};
  const int32_t axes[] = {0, 1, length, match->past[0] ? 2 : length};
  if (mask && !read_mask(graph, mask, scores, axes, attention))
    return refuse(match, "the mask is not f32 or covers fewer keys than there are");
  match->weights = k;
  match->values = v;
  match->residual = mask;
  return true;
}
