// SPDX-License-Identifier: Apache-2.0
// com.microsoft: GroupQueryAttention, written as operators of ai.onnx.
#include <math.h>

#include "core/ops/microsoft/cache.h"
#include "core/ops/microsoft/group_query.h"

// A vector of one i64: dimension d of x.
static byoc_value_t *write_dim(byoc_writer_t *w, byoc_value_t *x, int32_t d) {
  const byoc_attribute_t range[] = {byoc_write_int("start", d), byoc_write_int("end", d + 1)};
  return byoc_write_node(w, "", "Shape", x, NULL, NULL, range, 2);
}

static byoc_value_t *write_negative(byoc_writer_t *w, const byoc_value_t *like) {
  return byoc_microsoft_number(w, like, -INFINITY);
}

// x, whose dimension `axis` grows by `count`, a vector of one i64, elements of `value`.
static byoc_value_t *write_longer(byoc_writer_t *w, byoc_value_t *x, int64_t axis, byoc_value_t *count,
                                  byoc_value_t *value) {
  if (!x || !count || !value || w->failed) return NULL;
  byoc_value_t *dims[4];
  const byoc_attribute_t first = byoc_write_int("axis", 0), along = byoc_write_int("axis", axis);
  for (int32_t d = 0; d < 4; ++d) dims[d] = d == axis ? count : write_dim(w, x, d);
  byoc_node_t *shape = byoc_write_many(w, "", "Concat", dims, 4, 1, &first, 1);
  byoc_value_t *more = shape ? byoc_write_plain(w, "Expand", value, shape->results[0]) : NULL;
  byoc_value_t *parts[] = {x, more};
  if (!more) return NULL;
  byoc_node_t *made = byoc_write_many(w, "", "Concat", parts, 2, 1, &along, 1);
  return made ? made->results[0] : NULL;
}

// [batch, length, hidden] → [batch, heads, length, size], normalised and rotated where the node says so.
static byoc_value_t *write_heads(byoc_writer_t *w, byoc_value_t *x, int64_t heads, uint32_t norm,
                                 byoc_value_t *places) {
  static const int64_t swap[] = {0, 2, 1, 3};
  const int64_t split[] = {0, 0, heads, -1};
  const byoc_node_t *node = w->node;
  if (!x) return NULL;
  x = byoc_write_transpose(w, byoc_write_reshape(w, x, split, 4), swap, 4);
  if (norm != 0 && byoc_has_operand(node, norm)) {
    const char *name = norm == GQA_QUERY_NORM ? "q_norm_epsilon" : "k_norm_epsilon";
    const double epsilon = byoc_node_float(node, byoc_node_given(node, name) ? name : "qk_norm_epsilon");
    const byoc_attribute_t attributes[] = {byoc_write_int("axis", -1),
                                           {.name = "epsilon", .kind = BYOC_ATTRIBUTE_FLOAT, .f = epsilon}};
    x = byoc_write_node(w, "", "RMSNormalization", x, node->operands[norm], NULL, attributes, 2);
  }
  if (norm == 0 || !byoc_node_flag(node, "do_rotary") || !x || !places) return x;
  const byoc_dim_t angles = node->operands[GQA_COSINES]->type->dims[1];
  const byoc_attribute_t attributes[] = {byoc_write_int("interleaved", byoc_node_flag(node, "rotary_interleaved")),
                                         byoc_write_int("rotary_embedding_dim", 2 * angles.constant)};
  byoc_value_t *operands[] = {x, node->operands[GQA_COSINES], node->operands[GQA_SINES], places};
  byoc_node_t *made = byoc_write_many(w, "", "RotaryEmbedding", operands, 4, 1, attributes, 2);
  return made ? made->results[0] : NULL;
}

// The cache of keys or values with the new ones at their positions, a vector with one position for each sequence. The
// cache grows if necessary. A windowed cache always grows, and is cut afterwards.
static byoc_value_t *write_cache(byoc_writer_t *w, uint32_t past, byoc_value_t *made, byoc_value_t *starts) {
  byoc_value_t *cache = byoc_operand(w->node, past);
  if (!cache || !made || !starts || w->failed) return made;
  byoc_value_t *more = write_dim(w, made, 2);
  if (!byoc_group_query_is_windowed(w->node)) {
    const int64_t one = 1;
    byoc_value_t *room = write_dim(w, cache, 2);
    byoc_value_t *total = byoc_write_cast(w, w->node->operands[GQA_TOTAL], BYOC_DTYPE_I64);
    total = byoc_write_plain(w, "Max", byoc_write_reshape(w, total, &one, 1), room);
    more = byoc_write_plain(w, "Sub", total, room);
  }
  cache = write_longer(w, cache, 2, more, byoc_microsoft_number(w, cache, 0));
  const byoc_attribute_t axis = byoc_write_int("axis", 2);
  return byoc_write_node(w, "", "TensorScatter", cache, made, starts, &axis, 1);
}

// The keys that each query may attend to: [batch, 1, length, total]. `rows` are the positions of queries, [batch,
// length].
static byoc_value_t *write_allowed(byoc_writer_t *w, byoc_value_t *rows, byoc_value_t *lengths, byoc_value_t *keys) {
  static const int64_t between[] = {1, 3}, behind[] = {1, 2, 3};
  byoc_value_t *places = byoc_microsoft_count(w, byoc_microsoft_size(w, keys, 2));
  if (!byoc_node_flag(w->node, "causal")) {
    return byoc_write_plain(w, "Less", places, byoc_microsoft_unsqueeze(w, lengths, behind, 3));
  }
  const int64_t window = byoc_node_int(w->node, "local_window_size");
  rows = byoc_microsoft_unsqueeze(w, rows, between, 2);
  byoc_value_t *allowed = byoc_write_plain(w, "LessOrEqual", places, rows);
  if (window <= 0) return allowed;
  byoc_value_t *first = byoc_write_plain(w, "Sub", rows, byoc_microsoft_integer(w, window));
  return byoc_write_plain(w, "And", allowed, byoc_write_plain(w, "Greater", places, first));
}

// The summand of scores: -inf for keys that are excluded. The bias may be shorter than a static cache.
static byoc_value_t *write_added(byoc_writer_t *w, byoc_value_t *allowed, byoc_value_t *keys) {
  byoc_value_t *bias = byoc_operand(w->node, GQA_ADDED);
  if (!allowed || !keys || w->failed) return NULL;
  byoc_value_t *nothing = write_negative(w, keys);
  if (!bias) return byoc_write_node(w, "", "Where", allowed, byoc_microsoft_number(w, keys, 0), nothing, NULL, 0);
  if (!byoc_dim_equal(bias->type->dims[3], keys->type->dims[2])) {
    byoc_value_t *more = byoc_write_plain(w, "Sub", write_dim(w, keys, 2), write_dim(w, bias, 3));
    bias = write_longer(w, bias, 3, byoc_write_plain(w, "Max", more, byoc_microsoft_integer(w, 0)), nothing);
  }
  return byoc_write_node(w, "", "Where", allowed, bias, nothing, NULL, 0);
}

// A key and a value of zeros whose score is the sink of its head: it gets a weight and adds nothing.
static byoc_value_t *write_sink(byoc_writer_t *w, byoc_value_t *added, byoc_value_t *kv[2]) {
  static const int64_t places[] = {0, 2, 3};
  if (!added || w->failed) return NULL;
  byoc_value_t *zero = byoc_microsoft_number(w, added, 0), *one = byoc_microsoft_integer(w, 1);
  byoc_value_t *columns = byoc_microsoft_unsqueeze(w, byoc_microsoft_size(w, kv[0], 2), places, 1);
  for (int i = 0; i < 2; ++i) kv[i] = write_longer(w, kv[i], 2, one, zero);
  added = write_longer(w, added, 3, one, zero);
  if (!byoc_has_operand(w->node, GQA_SINK)) return added;
  byoc_value_t *last = byoc_microsoft_count(w, byoc_microsoft_size(w, kv[0], 2));
  last = byoc_write_plain(w, "Equal", last, columns);
  byoc_value_t *sinks = byoc_microsoft_unsqueeze(w, w->node->operands[GQA_SINK], places, 3);
  return byoc_write_plain(w, "Add", added, byoc_write_node(w, "", "Where", last, sinks, zero, NULL, 0));
}

// Positions in the cache, one for each sequence.
typedef struct places_t {
  byoc_value_t *starts; // the positions of the new keys and values
  byoc_value_t *first;  // the first position that a windowed cache keeps; otherwise NULL
} places_t;

static places_t write_places(byoc_writer_t *w, byoc_value_t *before, byoc_value_t *after) {
  if (!byoc_group_query_is_windowed(w->node) || w->failed) return (places_t){.starts = before};
  const int64_t window = byoc_node_int(w->node, "local_window_size");
  byoc_value_t *room = write_dim(w, w->node->operands[GQA_PAST_KEY], 2);
  places_t places = {.starts = byoc_cache_held(w, before, room, window)};
  byoc_value_t *made = byoc_write_plain(w, "Sub", after, before);
  byoc_value_t *all = byoc_write_plain(w, "Add", places.starts, made);
  places.first = byoc_write_plain(w, "Sub", all, byoc_cache_held(w, after, room, window));
  return places;
}

// The keys (side 0) or values that attention reads, from the past and the new ones; the cache becomes a result.
static byoc_value_t *write_side(byoc_writer_t *w, int side, byoc_value_t *made, const places_t *places) {
  const byoc_node_t *node = w->node;
  const uint32_t past = GQA_PAST_KEY + (uint32_t)side;
  const bool is_single = byoc_group_query_kind_is(node, side, "PER_TENSOR");
  const byoc_cache_numbers_t numbers = {.bits = byoc_group_query_bits(node, side),
                                        .scale = byoc_operand(node, GQA_KEY_SCALE + (uint32_t)side),
                                        .heads = is_single ? 0 : byoc_node_int(node, "kv_num_heads")};
  byoc_value_t *cache = numbers.bits != 0 ? byoc_cache_quantise(w, made, &numbers) : made;
  cache = write_cache(w, past, cache, places->starts);
  byoc_value_t *kept = places->first ? byoc_cache_cut(w, cache, places->first, node->operands[past]) : cache;
  byoc_microsoft_replace(w, GQA_PRESENT_KEY + (uint32_t)side, kept);
  return numbers.bits != 0 ? byoc_cache_restore(w, cache, &numbers, made) : cache;
}

static byoc_value_t *write_attention(byoc_writer_t *w, byoc_value_t *q, byoc_value_t *const kv[2], byoc_value_t *mask,
                                     bool is_causal) {
  const int64_t window = byoc_node_int(w->node, "local_window_size");
  const byoc_attribute_t *scale = byoc_node_given(w->node, "scale");
  byoc_attribute_t attributes[4] = {byoc_write_int("is_causal", is_causal)};
  size_t count = 1;
  if (is_causal && window > 0) attributes[count++] = byoc_write_int("left_window_size", window - 1);
  if (scale && scale->f != 0) attributes[count++] = *scale;
  attributes[count++] =
      (byoc_attribute_t){.name = "softcap", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(w->node, "softcap")};
  byoc_value_t *operands[] = {q, kv[0], kv[1], mask};
  if (!q || !kv[0] || !kv[1]) w->failed = true;
  byoc_node_t *made = byoc_write_many(w, "", "Attention", operands, mask ? 4 : 3, 1, attributes, count);
  return made ? made->results[0] : NULL;
}

// The places of queries, [batch, length], from those of the first ones.
static byoc_value_t *write_rows(byoc_writer_t *w, byoc_value_t *starts, byoc_value_t *length) {
  static const int64_t behind = 1;
  return byoc_write_plain(w, "Add", byoc_microsoft_unsqueeze(w, starts, &behind, 1), byoc_microsoft_count(w, length));
}

byoc_status_t byoc_group_query_expand(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t swap[] = {0, 2, 1, 3}, flat[] = {0, 0, -1}, all = -1;
  byoc_writer_t w = {.node = node, .diag = diag};
  const int64_t heads = byoc_node_int(node, "num_heads"), shared = byoc_node_int(node, "kv_num_heads");
  byoc_value_t *qkv[3] = {node->operands[GQA_QUERY], byoc_operand(node, GQA_KEY), byoc_operand(node, GQA_VALUE)};
  if (byoc_group_query_is_packed(node)) {
    const int64_t size = qkv[0]->type->dims[2].constant / (heads + 2 * shared);
    const int64_t parts[3] = {heads * size, shared * size, shared * size};
    byoc_microsoft_split(&w, node->operands[GQA_QUERY], parts, qkv);
  }
  byoc_value_t *length = byoc_microsoft_size(&w, node->operands[GQA_QUERY], 1);
  byoc_value_t *lengths = byoc_write_reshape(&w, node->operands[GQA_LENGTHS], &all, 1);
  lengths = byoc_write_plain(&w, "Add", byoc_write_cast(&w, lengths, BYOC_DTYPE_I64), byoc_microsoft_integer(&w, 1));
  byoc_value_t *starts = byoc_write_plain(&w, "Sub", lengths, length);
  starts = byoc_write_plain(&w, "Max", starts, byoc_microsoft_integer(&w, 0));
  byoc_value_t *rows = write_rows(&w, starts, length);
  byoc_value_t *places = byoc_has_operand(node, GQA_PLACES) ? node->operands[GQA_PLACES] : rows;
  byoc_value_t *q = write_heads(&w, qkv[0], heads, GQA_QUERY_NORM, places);
  byoc_value_t *kv[2] = {write_heads(&w, qkv[1], shared, GQA_KEY_NORM, places),
                         write_heads(&w, qkv[2], shared, 0, NULL)};
  const bool has_sink = byoc_has_operand(node, GQA_SINK) || byoc_node_int(node, "smooth_softmax") == 1;
  const places_t cached = write_places(&w, starts, lengths);
  if (cached.first) rows = write_rows(&w, cached.starts, length);
  for (int i = 0; i < 2; ++i) kv[i] = write_side(&w, i, kv[i], &cached);
  const bool is_plain = byoc_node_flag(node, "causal") && !byoc_has_operand(node, GQA_PAST_KEY) &&
                        !byoc_has_operand(node, GQA_ADDED) && !has_sink;
  byoc_value_t *mask = NULL;
  if (!is_plain && kv[0]) {
    mask = write_allowed(&w, rows, lengths, kv[0]);
    if (has_sink || byoc_has_operand(node, GQA_ADDED)) mask = write_added(&w, mask, kv[0]);
    if (has_sink) mask = write_sink(&w, mask, kv);
  }
  byoc_value_t *y = write_attention(&w, q, kv, mask, is_plain);
  if (y) y = byoc_write_reshape(&w, byoc_write_transpose(&w, y, swap, 4), flat, 3);
  return byoc_write_end(&w, y, out_changed);
}
