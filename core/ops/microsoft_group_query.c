// SPDX-License-Identifier: Apache-2.0
// com.microsoft: GroupQueryAttention, which exporters of language models write around a cache of keys and values. It
// becomes TensorScatter, RotaryEmbedding and Attention of ai.onnx.
//
// The cache is static, with room for more than the sequences have so far, or it grows by each run. Sequence b has
// seqlens_k[b] + 1 elements after the run, of which the last `length` ones are new: they are written behind those of
// the past. What the cache holds behind its sequences is not specified. A windowed cache holds the latest positions
// only, and a quantised one bytes (microsoft_cache.h).
#include <math.h>
#include <string.h>

#include "core/ops/microsoft_cache.h"

enum {
  QUERY,
  KEY,
  VALUE,
  PAST_KEY,
  PAST_VALUE,
  LENGTHS,
  TOTAL,
  COSINES,
  SINES,
  PLACES,
  ADDED,
  SINK,
  KEY_SCALE,
  VALUE_SCALE,
  QUERY_NORM,
  KEY_NORM,
  QUERY_LENGTHS
};
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}
static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// ---- types ----

typedef struct sizes_t {
  int64_t heads, shared, size; // heads of queries, those of keys and values, and the elements of each
  byoc_dim_t batch, length, past, total;
} sizes_t;

static bool is_windowed(const byoc_node_t *node) {
  return byoc_node_int(node, "sliding_window_cache") != 0;
}

// The bits of numbers in the cache of keys (side 0) or values (side 1); 0: it holds floats.
static int64_t cache_bits(const byoc_node_t *node, int side) {
  static const char *const kinds[] = {"k_quant_type", "v_quant_type"};
  if (strcmp(byoc_node_text(node, kinds[side]), "NONE") == 0) return 0;
  return byoc_node_int(node, "kv_cache_bit_width") == 4 ? 4 : 8;
}

static bool is_packed(const byoc_node_t *node) {
  return !byoc_has_operand(node, KEY) && !byoc_has_operand(node, VALUE);
}

static byoc_status_t need_what_is_known(const byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "qk_output", 0));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, QUERY_LENGTHS, "the lengths of padded queries"));
  if (!byoc_has_result(node, SCORES)) return BYOC_OK;
  return byoc_infer_unsupported(infer, "result 3, the scores, is not supported");
}

static byoc_status_t read_heads(const byoc_infer_t *infer, sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *query = byoc_operand_type(node, QUERY);
  sizes->heads = byoc_node_int(node, "num_heads"), sizes->shared = byoc_node_int(node, "kv_num_heads");
  if (sizes->heads < 1 || sizes->shared < 1 || sizes->heads > INT32_MAX || sizes->heads % sizes->shared != 0) {
    return byoc_infer_error(infer, "%lld heads of queries cannot share %lld heads of keys and values",
                            (long long)sizes->heads, (long long)sizes->shared);
  }
  const int64_t parts = sizes->heads + (is_packed(node) ? 2 * sizes->shared : 0);
  if (!byoc_dim_is_constant(query->dims[2])) {
    return byoc_infer_unsupported(infer, "the hidden size of queries must be known");
  }
  sizes->size = query->dims[2].constant / parts;
  if (query->dims[2].constant > INT32_MAX || sizes->size < 1 || query->dims[2].constant % parts != 0) {
    return byoc_infer_error(infer, "the hidden size %lld does not divide into %lld heads",
                            (long long)query->dims[2].constant, (long long)parts);
  }
  if (is_packed(node)) return BYOC_OK;
  if (!byoc_has_operand(node, KEY) || !byoc_has_operand(node, VALUE)) {
    return byoc_infer_error(infer, "operands 1 and 2, keys and values, must be given together");
  }
  const byoc_dim_t wanted[3] = {query->dims[0], query->dims[1], byoc_dim_constant(sizes->shared * sizes->size)};
  for (uint32_t i = KEY; i <= VALUE; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 3, 3));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 3, wanted));
  }
  return BYOC_OK;
}

static bool is_i8(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I8;
}
static bool is_u8(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8;
}

// The element type and the scale of a cache of bytes.
static byoc_status_t need_bytes(const byoc_infer_t *infer, const sizes_t *sizes, int side) {
  static const char *const kinds[] = {"k_quant_type", "v_quant_type"};
  const byoc_node_t *node = infer->node;
  const uint32_t past = PAST_KEY + (uint32_t)side, scale = KEY_SCALE + (uint32_t)side;
  const char *kind = byoc_node_text(node, kinds[side]);
  const int64_t bits = cache_bits(node, side), width = byoc_node_int(node, "kv_cache_bit_width");
  const bool is_single = strcmp(kind, "PER_TENSOR") == 0;
  if (bits == 0) return byoc_microsoft_need_absent(infer, scale, "a scale for a cache of floats");
  if (!is_single && strcmp(kind, "PER_CHANNEL") != 0) {
    return byoc_infer_error(infer, "attribute '%s' is \"%s\"; expected \"NONE\", \"PER_TENSOR\" or \"PER_CHANNEL\"",
                            kinds[side], kind);
  }
  if (width != 0 && width != 4 && width != 8) {
    return byoc_infer_error(infer, "attribute 'kv_cache_bit_width': expected 4 or 8, got %lld", (long long)width);
  }
  if (bits == 4 && sizes->size % 2 != 0) {
    return byoc_infer_error(infer, "heads of %lld elements do not fill bytes of two", (long long)sizes->size);
  }
  if (!byoc_has_operand(node, past) || !byoc_has_operand(node, scale)) {
    return byoc_infer_error(infer,
                            "operands %u and %u, the cache and its scale, are needed where attribute '%s' is \"%s\"",
                            past, scale, kinds[side], kind);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, past, bits == 8 ? is_i8 : is_u8,
                                       bits == 8 ? "a cache of i8" : "a cache of u8, two numbers in each"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, scale, byoc_dtype_is_float, "a scale"));
  return byoc_infer_need_count(infer, scale, byoc_side_number(is_single ? 1 : sizes->shared * sizes->size));
}

// [batch, heads, `length`, size], where two numbers of four bits share a byte.
static void cache_dims(const byoc_node_t *node, const sizes_t *sizes, int side, byoc_dim_t length, byoc_dim_t dims[4]) {
  dims[0] = sizes->batch, dims[1] = byoc_dim_constant(sizes->shared), dims[2] = length;
  dims[3] = byoc_dim_constant(cache_bits(node, side) == 4 ? sizes->size / 2 : sizes->size);
}

// The window must fit into the cache. Where a run decides on the room, nothing would ask: a check that an operator
// needs is lost when the operator is written out by others.
static byoc_status_t need_window(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  const int64_t window = byoc_node_int(node, "local_window_size");
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, ADDED, "a bias of scores beside a windowed cache"));
  if (!byoc_has_operand(node, PAST_KEY)) {
    return byoc_infer_error(infer, "operands 3 and 4, the windowed cache, are left out");
  }
  if (!byoc_dim_is_constant(sizes->past)) {
    return byoc_infer_unsupported(infer, "dimension 2 of operand 3, the room of the windowed cache, must be known "
                                         "(--dim NAME=SIZE gives it)");
  }
  if (window < 1 || window > sizes->past.constant) {
    return byoc_infer_error(infer, "attribute 'local_window_size': %lld does not fit into the windowed cache",
                            (long long)window);
  }
  return BYOC_OK;
}

// The length of the cache afterwards: that of all sequences, or the room that there is.
static byoc_status_t read_cache(const byoc_infer_t *infer, sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  sizes->past = byoc_dim_constant(0), sizes->total = sizes->length;
  if (byoc_has_operand(node, PAST_KEY) != byoc_has_operand(node, PAST_VALUE)) {
    return byoc_infer_error(infer, "operands 3 and 4, the past keys and values, must be given together");
  }
  for (int side = 0; side < 2; ++side) BYOC_RETURN_IF_ERROR(need_bytes(infer, sizes, side));
  for (uint32_t i = PAST_KEY; i <= PAST_VALUE && byoc_has_operand(node, i); ++i) {
    const byoc_type_t *past = byoc_operand_type(node, i);
    if (cache_bits(node, (int)(i - PAST_KEY)) == 0) BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 4, 4));
    if (!byoc_is_ranked(past)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", i);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 4, 4));
    if (i == PAST_KEY) sizes->past = past->dims[2];
    byoc_dim_t wanted[4];
    cache_dims(node, sizes, (int)(i - PAST_KEY), sizes->past, wanted);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 4, wanted));
  }
  if (is_windowed(node)) {
    sizes->total = sizes->past;
    return need_window(infer, sizes);
  }
  if (!byoc_has_operand(node, PAST_KEY)) return BYOC_OK;
  byoc_dim_t list[BYOC_MAX_RANK];
  bool failed = false;
  int32_t count = 0;
  if (byoc_shape_value(node->operands[TOTAL], infer->arena, &count, list) && count == 1) {
    sizes->total = byoc_infer_dim(infer, BYOC_DIM_MAX, list[0], sizes->past, &failed);
  } else {
    sizes->total = byoc_infer_unknown_dim(infer, &failed);
  }
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t need_angles(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  if (!byoc_node_flag(node, "do_rotary")) return BYOC_OK;
  if (!byoc_has_operand(node, COSINES) || !byoc_has_operand(node, SINES)) {
    return byoc_infer_error(infer, "operands 7 and 8, cosines and sines, are needed where attribute 'do_rotary' is 1");
  }
  for (uint32_t i = COSINES; i <= SINES; ++i) BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 2, 2));
  const byoc_type_t *cosines = byoc_operand_type(node, COSINES);
  const byoc_dim_t angles = cosines->dims[1];
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, SINES, 2, cosines->dims));
  if (!byoc_dim_is_constant(angles)) return byoc_infer_unsupported(infer, "the number of angles must be known");
  if (angles.constant < 1 || angles.constant > sizes->size / 2) {
    return byoc_infer_error(infer, "operand 7: expected 1 to %lld angles for heads of %lld elements, got %lld",
                            (long long)sizes->size / 2, (long long)sizes->size, (long long)angles.constant);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, COSINES, 0, sizes->length));
  if (!byoc_has_operand(node, PLACES)) return BYOC_OK;
  const byoc_dim_t wanted[2] = {sizes->batch, sizes->length};
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, PLACES, is_i64, "positions of i64"));
  return byoc_infer_need_dims(infer, PLACES, 2, wanted);
}

// What restricts attention, and what is added to scores.
static byoc_status_t need_limits(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  const int64_t window = byoc_node_int(node, "local_window_size");
  if (window < -1 || window > INT32_MAX) {
    return byoc_infer_error(infer, "attribute 'local_window_size': %lld is out of range", (long long)window);
  }
  if (window > 0 && !byoc_node_flag(node, "causal")) {
    return byoc_infer_error(infer, "attribute 'local_window_size' needs attribute 'causal'");
  }
  if (byoc_has_operand(node, SINK)) {
    const byoc_dim_t heads = byoc_dim_constant(sizes->heads);
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, SINK));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, SINK, 1, &heads));
  }
  if (!byoc_has_operand(node, ADDED)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, ADDED, 4, 4));
  const byoc_dim_t scores[4] = {sizes->batch, byoc_dim_constant(sizes->heads), sizes->length,
                                byoc_operand_type(node, ADDED)->dims[3]};
  return byoc_infer_need_broadcast(infer, ADDED, 4, scores);
}

static byoc_status_t need_norms(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_dim_t size = byoc_dim_constant(sizes->size);
  if (byoc_has_operand(infer->node, QUERY_NORM) != byoc_has_operand(infer->node, KEY_NORM)) {
    return byoc_infer_error(infer, "operands 14 and 15, which normalise queries and keys, must be given together");
  }
  for (uint32_t i = QUERY_NORM; i <= KEY_NORM; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 1, &size));
  }
  return BYOC_OK;
}

static byoc_status_t infer_group_query(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  sizes_t sizes = {0};
  BYOC_RETURN_IF_ERROR(need_what_is_known(infer));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, QUERY, 3, 3));
  const byoc_type_t *query = byoc_operand_type(node, QUERY);
  sizes.batch = query->dims[0], sizes.length = query->dims[1];
  BYOC_RETURN_IF_ERROR(read_heads(infer, &sizes));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, LENGTHS, is_i32, "lengths of i32"));
  if (!byoc_is_ranked(byoc_operand_type(node, LENGTHS))) {
    return byoc_infer_unsupported(infer, "operand 5: its rank must be known");
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, LENGTHS, 1, 2));
  const byoc_dim_t lengths[2] = {sizes.batch, byoc_dim_constant(1)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, LENGTHS, byoc_operand_type(node, LENGTHS)->rank, lengths));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, TOTAL, is_i32, "a length of i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, TOTAL));
  BYOC_RETURN_IF_ERROR(read_cache(infer, &sizes));
  BYOC_RETURN_IF_ERROR(need_angles(infer, &sizes));
  BYOC_RETURN_IF_ERROR(need_limits(infer, &sizes));
  BYOC_RETURN_IF_ERROR(need_norms(infer, &sizes));
  for (int side = 0; side < 2; ++side) {
    byoc_dim_t present[4];
    const byoc_dtype_t dtype =
        cache_bits(node, side) == 0 ? query->dtype : byoc_operand_type(node, PAST_KEY + (uint32_t)side)->dtype;
    cache_dims(node, &sizes, side, sizes.total, present);
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, PRESENT_KEY + (uint32_t)side, dtype, 4, present));
  }
  const byoc_dim_t dims[3] = {sizes.batch, sizes.length, byoc_dim_constant(sizes.heads * sizes.size)};
  return byoc_infer_set(infer, Y, query->dtype, 3, dims);
}

// ---- expansion ----

static byoc_value_t *write_integer(byoc_writer_t *w, int64_t value) {
  return byoc_write_vector(w, "number", BYOC_DTYPE_I64, 1, &value);
}

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
    const char *name = norm == QUERY_NORM ? "q_norm_epsilon" : "k_norm_epsilon";
    const double epsilon = byoc_node_float(node, byoc_node_given(node, name) ? name : "qk_norm_epsilon");
    const byoc_attribute_t attributes[] = {byoc_write_int("axis", -1),
                                           {.name = "epsilon", .kind = BYOC_ATTRIBUTE_FLOAT, .f = epsilon}};
    x = byoc_write_node(w, "", "RMSNormalization", x, node->operands[norm], NULL, attributes, 2);
  }
  if (norm == 0 || !byoc_node_flag(node, "do_rotary") || !x || !places) return x;
  const byoc_dim_t angles = node->operands[COSINES]->type->dims[1];
  const byoc_attribute_t attributes[] = {byoc_write_int("interleaved", byoc_node_flag(node, "rotary_interleaved")),
                                         byoc_write_int("rotary_embedding_dim", 2 * angles.constant)};
  byoc_value_t *operands[] = {x, node->operands[COSINES], node->operands[SINES], places};
  byoc_node_t *made = byoc_write_many(w, "", "RotaryEmbedding", operands, 4, 1, attributes, 2);
  return made ? made->results[0] : NULL;
}

// The cache of keys or values with the new ones at their places, a vector with one of them for each sequence. It grows,
// if it has to; a windowed one always does, and is cut afterwards.
static byoc_value_t *write_cache(byoc_writer_t *w, uint32_t past, byoc_value_t *made, byoc_value_t *starts) {
  byoc_value_t *cache = byoc_operand(w->node, past);
  if (!cache || !made || !starts || w->failed) return made;
  byoc_value_t *more = write_dim(w, made, 2);
  if (!is_windowed(w->node)) {
    const int64_t one = 1;
    byoc_value_t *room = write_dim(w, cache, 2);
    byoc_value_t *total = byoc_write_cast(w, w->node->operands[TOTAL], BYOC_DTYPE_I64);
    total = byoc_write_plain(w, "Max", byoc_write_reshape(w, total, &one, 1), room);
    more = byoc_write_plain(w, "Sub", total, room);
  }
  cache = write_longer(w, cache, 2, more, byoc_microsoft_number(w, cache, 0));
  const byoc_attribute_t axis = byoc_write_int("axis", 2);
  return byoc_write_node(w, "", "TensorScatter", cache, made, starts, &axis, 1);
}

// Which keys count for which queries: [batch, 1, length, total]. `rows` are the positions of queries, [batch, length].
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
  byoc_value_t *first = byoc_write_plain(w, "Sub", rows, write_integer(w, window));
  return byoc_write_plain(w, "And", allowed, byoc_write_plain(w, "Greater", places, first));
}

// What is added to scores: -inf where a key does not count. The bias may be shorter than a static cache.
static byoc_value_t *write_added(byoc_writer_t *w, byoc_value_t *allowed, byoc_value_t *keys) {
  byoc_value_t *bias = byoc_operand(w->node, ADDED);
  if (!allowed || !keys || w->failed) return NULL;
  byoc_value_t *nothing = write_negative(w, keys);
  if (!bias) return byoc_write_node(w, "", "Where", allowed, byoc_microsoft_number(w, keys, 0), nothing, NULL, 0);
  if (!byoc_dim_equal(bias->type->dims[3], keys->type->dims[2])) {
    byoc_value_t *more = byoc_write_plain(w, "Sub", write_dim(w, keys, 2), write_dim(w, bias, 3));
    bias = write_longer(w, bias, 3, byoc_write_plain(w, "Max", more, write_integer(w, 0)), nothing);
  }
  return byoc_write_node(w, "", "Where", allowed, bias, nothing, NULL, 0);
}

// A key and a value of zeros whose score is the sink of its head: it takes its share and adds nothing.
static byoc_value_t *write_sink(byoc_writer_t *w, byoc_value_t *added, byoc_value_t *kv[2]) {
  static const int64_t places[] = {0, 2, 3};
  if (!added || w->failed) return NULL;
  byoc_value_t *zero = byoc_microsoft_number(w, added, 0), *one = write_integer(w, 1);
  byoc_value_t *columns = byoc_microsoft_unsqueeze(w, byoc_microsoft_size(w, kv[0], 2), places, 1);
  for (int i = 0; i < 2; ++i) kv[i] = write_longer(w, kv[i], 2, one, zero);
  added = write_longer(w, added, 3, one, zero);
  if (!byoc_has_operand(w->node, SINK)) return added;
  byoc_value_t *last = byoc_microsoft_count(w, byoc_microsoft_size(w, kv[0], 2));
  last = byoc_write_plain(w, "Equal", last, columns);
  byoc_value_t *sinks = byoc_microsoft_unsqueeze(w, w->node->operands[SINK], places, 3);
  return byoc_write_plain(w, "Add", added, byoc_write_node(w, "", "Where", last, sinks, zero, NULL, 0));
}

// What becomes of the past: places in the cache, one for each sequence.
typedef struct places_t {
  byoc_value_t *starts; // where the new ones are written
  byoc_value_t *first;  // what comes first in a windowed cache afterwards; otherwise NULL
} places_t;

static places_t write_places(byoc_writer_t *w, byoc_value_t *before, byoc_value_t *after) {
  if (!is_windowed(w->node) || w->failed) return (places_t){.starts = before};
  const int64_t window = byoc_node_int(w->node, "local_window_size");
  byoc_value_t *room = write_dim(w, w->node->operands[PAST_KEY], 2);
  places_t places = {.starts = byoc_cache_held(w, before, room, window)};
  byoc_value_t *made = byoc_write_plain(w, "Sub", after, before);
  byoc_value_t *all = byoc_write_plain(w, "Add", places.starts, made);
  places.first = byoc_write_plain(w, "Sub", all, byoc_cache_held(w, after, room, window));
  return places;
}

// The keys (side 0) or values that attention reads, from the past and the new ones; the cache becomes a result.
static byoc_value_t *write_side(byoc_writer_t *w, int side, byoc_value_t *made, const places_t *places) {
  const byoc_node_t *node = w->node;
  const uint32_t past = PAST_KEY + (uint32_t)side;
  const int64_t bits = cache_bits(node, side);
  byoc_value_t *scale = byoc_operand(node, KEY_SCALE + (uint32_t)side), *cache = made;
  if (bits != 0) cache = byoc_cache_quantise(w, cache, scale, bits);
  cache = write_cache(w, past, cache, places->starts);
  byoc_value_t *kept = places->first ? byoc_cache_cut(w, cache, places->first, node->operands[past]) : cache;
  byoc_microsoft_replace(w, PRESENT_KEY + (uint32_t)side, kept);
  return bits != 0 ? byoc_cache_restore(w, cache, scale, bits, made) : cache;
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

static byoc_status_t expand_group_query(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t swap[] = {0, 2, 1, 3}, flat[] = {0, 0, -1}, all = -1;
  byoc_writer_t w = {.node = node, .diag = diag};
  const int64_t heads = byoc_node_int(node, "num_heads"), shared = byoc_node_int(node, "kv_num_heads");
  byoc_value_t *qkv[3] = {node->operands[QUERY], byoc_operand(node, KEY), byoc_operand(node, VALUE)};
  if (is_packed(node)) {
    const int64_t size = qkv[0]->type->dims[2].constant / (heads + 2 * shared);
    const int64_t parts[3] = {heads * size, shared * size, shared * size};
    byoc_microsoft_split(&w, node->operands[QUERY], parts, qkv);
  }
  byoc_value_t *length = byoc_microsoft_size(&w, node->operands[QUERY], 1);
  byoc_value_t *lengths = byoc_write_reshape(&w, node->operands[LENGTHS], &all, 1);
  lengths = byoc_write_plain(&w, "Add", byoc_write_cast(&w, lengths, BYOC_DTYPE_I64), write_integer(&w, 1));
  byoc_value_t *starts = byoc_write_plain(&w, "Sub", lengths, length);
  starts = byoc_write_plain(&w, "Max", starts, write_integer(&w, 0));
  byoc_value_t *rows = write_rows(&w, starts, length);
  byoc_value_t *places = byoc_has_operand(node, PLACES) ? node->operands[PLACES] : rows;
  byoc_value_t *q = write_heads(&w, qkv[0], heads, QUERY_NORM, places);
  byoc_value_t *kv[2] = {write_heads(&w, qkv[1], shared, KEY_NORM, places), write_heads(&w, qkv[2], shared, 0, NULL)};
  const bool has_sink = byoc_has_operand(node, SINK) || byoc_node_int(node, "smooth_softmax") == 1;
  const places_t cached = write_places(&w, starts, lengths);
  if (cached.first) rows = write_rows(&w, cached.starts, length);
  for (int i = 0; i < 2; ++i) kv[i] = write_side(&w, i, kv[i], &cached);
  const bool is_plain = byoc_node_flag(node, "causal") && !byoc_has_operand(node, PAST_KEY) &&
                        !byoc_has_operand(node, ADDED) && !has_sink;
  byoc_value_t *mask = NULL;
  if (!is_plain && kv[0]) {
    mask = write_allowed(&w, rows, lengths, kv[0]);
    if (has_sink || byoc_has_operand(node, ADDED)) mask = write_added(&w, mask, kv[0]);
    if (has_sink) mask = write_sink(&w, mask, kv);
  }
  byoc_value_t *y = write_attention(&w, q, kv, mask, is_plain);
  if (y) y = byoc_write_reshape(&w, byoc_write_transpose(&w, y, swap, 4), flat, 3);
  return byoc_write_end(&w, y, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t group_query_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "num_heads")},
                                                             {BYOC_ATTR_REQUIRED(INT, "kv_num_heads")},
                                                             {BYOC_ATTR(FLOAT, "scale")},
                                                             {BYOC_ATTR_FLOAT("softcap", 0.0)},
                                                             {BYOC_ATTR_INT("causal", 1)},
                                                             {BYOC_ATTR_INT("local_window_size", -1)},
                                                             {BYOC_ATTR_INT("do_rotary", 0)},
                                                             {BYOC_ATTR_INT("rotary_interleaved", 0)},
                                                             {BYOC_ATTR_INT("smooth_softmax", -1)},
                                                             {BYOC_ATTR_FLOAT("qk_norm_epsilon", 1e-6)},
                                                             {BYOC_ATTR(FLOAT, "q_norm_epsilon")},
                                                             {BYOC_ATTR(FLOAT, "k_norm_epsilon")},
                                                             {BYOC_ATTR_INT("qk_output", 0)},
                                                             {BYOC_ATTR_INT("sliding_window_cache", 0)},
                                                             {BYOC_ATTR_INT("kv_cache_bit_width", 0)},
                                                             {BYOC_ATTR_TEXT("k_quant_type", "NONE")},
                                                             {BYOC_ATTR_TEXT("v_quant_type", "NONE")},
                                                             BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_group_query[] = {
    BYOC_MICROSOFT_ROW("GroupQueryAttention", 1, 17, 4, group_query_attributes, group_query),
};
const size_t byoc_ops_microsoft_group_query_count =
    sizeof byoc_ops_microsoft_group_query / sizeof *byoc_ops_microsoft_group_query;
