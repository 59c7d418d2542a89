// From an Attention node to a problem.
#include "match_attention.h"

#include <math.h>

static bool refuse(byoc_cutlass_match_t *match, const char *reason) {
  match->reason = reason;
  return false;
}

static bool static_f32(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  return value && graph->value_dtype(value) == BYOC_DTYPE_F32 && graph->value_element_count(value) > 0;
}

// How the mask is broadcast over [batch, heads, queries, keys]: each of its dimensions is the scores' or 1.
static bool read_mask(const byoc_graph_api_t *graph, const byoc_value_t *mask, byoc_cutlass_attention_t *attention) {
  const int64_t dims[4] = {attention->batch, attention->heads, attention->queries, attention->keys};
  int32_t rank = graph->value_rank(mask);
  if (!static_f32(graph, mask) || rank > 4) return false;
  int64_t step = 1;
  for (int32_t i = rank; i-- > 0;) {
    int64_t dim = graph->value_dim(mask, i);
    if (dim != 1 && dim != dims[4 - rank + i]) return false;
    attention->mask_steps[4 - rank + i] = dim == 1 ? 0 : step;
    step *= dim;
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
  return graph->value_dim(k, 0) == a->batch && graph->value_dim(v, 0) == a->batch &&
         graph->value_dim(v, length) == graph->value_dim(k, length) &&
         (a->flat || graph->value_dim(v, 1) == a->kv_heads) && graph->value_dim(q, last) == a->size * heads &&
         graph->value_dim(k, last) == a->size * kv_heads && graph->value_dim(v, last) == a->value_size * kv_heads;
}

// Keys and values of earlier steps: both or neither; with them, all of the next step's are results too.
static bool read_past(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_value_t *keys, byoc_value_t *values,
                      byoc_cutlass_match_t *match) {
  byoc_cutlass_attention_t *attention = &match->problem.attention;
  if (!keys && !values) return graph->node_result_count(node) == 1 || refuse(match, "takes one result only");
  if (!keys || !values || graph->node_result_count(node) != 3)
    return refuse(match, "takes a cache of keys and values with the next one as results only");
  if (!static_f32(graph, keys) || !static_f32(graph, values)) return refuse(match, "the cache is not f32");
  for (uint64_t i = 1; i < 3; ++i)
    if (graph->value_use_count(graph->node_result(node, i)) == 0) return refuse(match, "nothing reads the next cache");
  attention->past = graph->value_dim(keys, 2);
  const int64_t dims[2][4] = {{attention->batch, attention->kv_heads, attention->past, attention->size},
                              {attention->batch, attention->kv_heads, attention->past, attention->value_size}};
  for (int32_t i = 0; i < 4; ++i)
    if (graph->value_dim(keys, i) != dims[0][i] || graph->value_dim(values, i) != dims[1][i])
      return refuse(match, "the cache is shaped unlike the keys and values");
  attention->keys += attention->past;
  match->past[0] = keys;
  match->past[1] = values;
  return true;
}

bool byoc_cutlass_match_attention(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_cutlass_match_t *match) {
  byoc_value_t *operands[7] = {NULL};
  uint64_t count = graph->operand_count(node);
  if (count < 3 || count > 7) return refuse(match, "not the operands of Attention");
  for (uint64_t i = 0; i < count; ++i) operands[i] = graph->operand(node, i);
  byoc_value_t *q = operands[0], *k = operands[1], *v = operands[2], *mask = operands[3];
  if (operands[6]) return refuse(match, "takes no lengths");
  if (!static_f32(graph, q) || !static_f32(graph, k) || !static_f32(graph, v) ||
      !static_f32(graph, graph->node_result(node, 0)))
    return refuse(match, "takes f32 of constant shapes only");
  int64_t precision = graph->node_int(node, "softmax_precision");
  if (graph->node_float(node, "softcap") != 0.0 || (precision != 0 && precision != BYOC_DTYPE_F32) ||
      graph->node_int(node, "left_window_size") >= 0 || graph->node_int(node, "right_window_size") >= 0)
    return refuse(match, "takes no cap, no window and no other precision");
  bool flat = graph->value_rank(q) == 3;
  byoc_cutlass_attention_t *attention = &match->problem.attention;
  match->problem.kind = BYOC_CUTLASS_ATTENTION;
  *attention = (byoc_cutlass_attention_t){
      .flat = flat,
      .batch = graph->value_dim(q, 0),
      .heads = flat ? graph->attribute_int(node, "q_num_heads", 1) : graph->value_dim(q, 1),
      .kv_heads = flat ? graph->attribute_int(node, "kv_num_heads", 1) : graph->value_dim(k, 1),
      .queries = graph->value_dim(q, flat ? 1 : 2),
      .keys = graph->value_dim(k, flat ? 1 : 2),
      .causal = graph->node_int(node, "is_causal") != 0,
  };
  if (attention->heads < 1 || attention->kv_heads < 1) return refuse(match, "the number of heads is not known");
  attention->size = graph->value_dim(q, flat ? 2 : 3) / (flat ? attention->heads : 1);
  attention->value_size = graph->value_dim(v, flat ? 2 : 3) / (flat ? attention->kv_heads : 1);
  if (!shapes_agree(graph, q, k, v, attention)) return refuse(match, "keys, values and queries do not fit each other");
  attention->scale = (float)graph->attribute_float(node, "scale", 1.0 / sqrt((double)attention->size));
  if (!read_past(graph, node, operands[4], operands[5], match)) return false;
  if (mask && !read_mask(graph, mask, attention))
    return refuse(match, "the mask is not f32 or covers fewer keys than there are");
  match->data = q;
  match->weights = k;
  match->values = v;
  match->residual = mask;
  return true;
}
