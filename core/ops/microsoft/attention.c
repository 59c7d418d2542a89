// SPDX-License-Identifier: Apache-2.0
// com.microsoft: Attention, QAttention and MultiHeadAttention, which are written as those of ai.onnx.
// `mask_filter_value` is added to the scores of masked keys, as in ONNX Runtime: a row that is masked as a whole still
// has weights.
#include "core/ops/microsoft/quantize.h"

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

// ---- shared by both kinds of attention ----

static byoc_status_t need_heads(const byoc_infer_t *infer, byoc_dim_t hidden, const char *what) {
  const int64_t heads = byoc_node_int(infer->node, "num_heads");
  if (heads < 1 || heads > INT32_MAX) {
    return byoc_infer_error(infer, "attribute 'num_heads': expected 1 or more, got %lld", (long long)heads);
  }
  if (!byoc_dim_is_constant(hidden)) return byoc_infer_unsupported(infer, "the hidden size of %s must be known", what);
  if (hidden.constant > INT32_MAX) {
    return byoc_infer_unsupported(infer, "the hidden size %lld of %s is too large", (long long)hidden.constant, what);
  }
  if (hidden.constant > 0 && hidden.constant % heads == 0) return BYOC_OK;
  return byoc_infer_error(infer, "the hidden size %lld of %s does not divide into %lld heads",
                          (long long)hidden.constant, what, (long long)heads);
}

// Operand `index`, if it is given, must hold floats of type `dtype`.
static byoc_status_t need_of_type(const byoc_infer_t *infer, uint32_t index, byoc_dtype_t dtype) {
  if (!byoc_has_operand(infer->node, index)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, byoc_dtype_is_float, "a float tensor"));
  if (byoc_operand_type(infer->node, index)->dtype == dtype) return BYOC_OK;
  return byoc_infer_error(infer, "operand %u: expected %s", index, byoc_dtype_name(dtype));
}

// Checks a mask of i32 ([batch] lengths, [batch, total] or [batch, length, total]) and the bias of scores.
static byoc_status_t need_masks(const byoc_infer_t *infer, uint32_t mask, uint32_t bias, const byoc_dim_t scores[4]) {
  const byoc_type_t *type = byoc_operand_type(infer->node, mask);
  if (byoc_has_operand(infer->node, mask)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, mask, is_i32, "a mask of i32"));
    if (!byoc_is_ranked(type)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", mask);
    const byoc_dim_t wanted[3] = {scores[0], type->rank == 2 ? scores[3] : scores[2], scores[3]};
    if (type->rank < 1 || type->rank > 3) {
      return byoc_infer_unsupported(infer, "operand %u: a mask of rank %d is not supported", mask, (int)type->rank);
    }
    const bool is_other = type->rank == 1 && byoc_dim_is_constant(type->dims[0]) && byoc_dim_is_constant(scores[0]) &&
                          type->dims[0].constant != scores[0].constant;
    if (is_other) {
      return byoc_infer_unsupported(infer, "operand %u: of vectors, only one length for each sequence is supported",
                                    mask);
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, mask, type->rank, wanted));
    if (type->rank == 1) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_within(infer, mask, "the lengths of the sequences",
                                                  byoc_side(scores[3], "the number of keys")));
    }
  }
  if (!byoc_has_operand(infer->node, bias)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, bias, 4, 4));
  return byoc_infer_need_broadcast(infer, bias, 4, scores);
}

// The summand of scores [batch, heads, length, total]: mask_filter_value where the mask is 0, and the bias.
static byoc_value_t *write_mask(byoc_writer_t *w, byoc_value_t *mask, byoc_value_t *bias, byoc_value_t *like,
                                byoc_value_t *total) {
  static const int64_t places[2][2] = {{1, 2}, {1, 0}}, last = 1;
  if (!mask || w->failed) return bias;
  const int32_t none = 0;
  const bool is_length = mask->type->rank == 1;
  byoc_value_t *allowed = NULL;
  if (is_length) {
    byoc_value_t *lengths = byoc_microsoft_unsqueeze(w, byoc_write_cast(w, mask, BYOC_DTYPE_I64), &last, 1);
    allowed = byoc_write_plain(w, "Less", byoc_microsoft_count(w, total), lengths);
  } else {
    allowed = byoc_write_plain(w, "Greater", mask, byoc_write_vector(w, "none", BYOC_DTYPE_I32, 1, &none));
  }
  const bool is_whole = mask->type->rank == 3;
  allowed = byoc_microsoft_unsqueeze(w, allowed, places[is_whole], is_whole ? 1 : 2);
  byoc_value_t *filter = byoc_microsoft_number(w, like, byoc_node_float(w->node, "mask_filter_value"));
  byoc_value_t *added = byoc_write_node(w, "", "Where", allowed, byoc_microsoft_number(w, like, 0), filter, NULL, 0);
  return bias ? byoc_write_plain(w, "Add", added, bias) : added;
}

// Attention of ai.onnx, with the keys and values of the past first; NULL after a failure.
static byoc_node_t *write_attention(byoc_writer_t *w, byoc_value_t *const qkv[3], byoc_value_t *mask,
                                    byoc_value_t *past_key, byoc_value_t *past_value) {
  const int64_t heads = byoc_node_int(w->node, "num_heads");
  byoc_attribute_t attributes[4] = {byoc_write_int("is_causal", byoc_node_flag(w->node, "unidirectional")),
                                    byoc_write_int("q_num_heads", heads), byoc_write_int("kv_num_heads", heads)};
  const byoc_attribute_t *scale = byoc_node_given(w->node, "scale");
  if (scale != NULL) attributes[3] = *scale;
  byoc_value_t *operands[] = {qkv[0], qkv[1], qkv[2], mask, past_key, past_value};
  if (!qkv[0] || !qkv[1] || !qkv[2]) w->failed = true;
  return byoc_write_many(w, "", "Attention", operands, past_key ? 6 : mask ? 4 : 3, 3, attributes, scale ? 4 : 3);
}

// ---- Attention ----

enum { X, WEIGHTS, BIAS, MASK, PAST, ADDED, PAST_LENGTH };

// The hidden sizes of queries, keys and values: a third of the weights each, unless the node says them.
static bool hidden_sizes(const byoc_node_t *node, int64_t sizes[3]) {
  size_t count = 0;
  const bool is_said = byoc_node_takes(node, "qkv_hidden_sizes");
  const int64_t *given = is_said ? byoc_node_ints(node, "qkv_hidden_sizes", &count) : NULL;
  const byoc_dim_t whole = byoc_operand_type(node, WEIGHTS)->dims[1];
  if (count != 0 && count != 3) return false;
  if (!byoc_dim_is_constant(whole) || (count == 0 && whole.constant % 3 != 0)) return false;
  for (int i = 0; i < 3; ++i) sizes[i] = count == 3 ? given[i] : whole.constant / 3;
  for (int i = 0; i < 3; ++i) {
    if (sizes[i] < 1 || sizes[i] > whole.constant || sizes[i] > INT32_MAX) return false;
  }
  return sizes[0] == sizes[1] && sizes[0] + sizes[1] + sizes[2] == whole.constant;
}

// The operands of Attention and QAttention; QAttention has no bias of scores.
typedef struct places_t {
  uint32_t bias, mask, past, added;
} places_t;
static const places_t float_places = {BIAS, MASK, PAST, ADDED}, byte_places = {2, 5, 8, UINT32_MAX};

// Checks common to both. x has rank 3 and the weights have rank 2; floats are of type `dtype`.
static byoc_status_t infer_projected(const byoc_infer_t *infer, const places_t *at, byoc_dtype_t dtype) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, X), *weights = byoc_operand_type(node, WEIGHTS);
  int64_t sizes[3];
  if (!hidden_sizes(node, sizes)) {
    return byoc_infer_error(infer, "operand 1: its columns do not divide into queries, keys and values");
  }
  for (int i = 0; i < 3; ++i) BYOC_RETURN_IF_ERROR(need_heads(infer, byoc_dim_constant(sizes[i]), "the projections"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, WEIGHTS, 0, x->dims[2]));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "do_rotary", 0));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "past_present_share_buffer", 0));
  BYOC_RETURN_IF_ERROR(need_of_type(infer, at->bias, dtype));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, at->bias, 1, &weights->dims[1]));
  const int64_t heads = byoc_node_int(node, "num_heads");
  byoc_dim_t total = x->dims[1];
  if (byoc_has_operand(node, at->past)) {
    bool failed = false;
    BYOC_RETURN_IF_ERROR(need_of_type(infer, at->past, dtype));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, at->past, 5, 5));
    const byoc_type_t *past = byoc_operand_type(node, at->past);
    if (!byoc_is_ranked(past)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", at->past);
    const byoc_dim_t wanted[5] = {byoc_dim_constant(2), x->dims[0], byoc_dim_constant(heads), past->dims[3],
                                  byoc_dim_constant(sizes[0] / heads)};
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, at->past, 5, wanted));
    total = byoc_infer_dim(infer, BYOC_DIM_ADD, wanted[3], total, &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  }
  if ((byoc_has_operand(node, at->past) || byoc_has_result(node, 1)) && sizes[2] != sizes[1]) {
    return byoc_infer_error(infer, "with a past, keys and values must have one hidden size");
  }
  const byoc_dim_t scores[4] = {x->dims[0], byoc_dim_constant(heads), x->dims[1], total};
  BYOC_RETURN_IF_ERROR(need_masks(infer, at->mask, at->added, scores));
  const byoc_dim_t present[5] = {byoc_dim_constant(2), x->dims[0], scores[1], total,
                                 byoc_dim_constant(sizes[1] / heads)};
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 1, dtype, 5, present));
  const byoc_dim_t dims[3] = {x->dims[0], x->dims[1], byoc_dim_constant(sizes[2])};
  return byoc_infer_set(infer, 0, dtype, 3, dims);
}

static byoc_status_t infer_attention(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, X, 3, 3));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, WEIGHTS, 2, 2));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, PAST_LENGTH, "the length of a shared past"));
  return infer_projected(infer, &float_places, byoc_operand_type(infer->node, X)->dtype);
}

// One half of the past: its keys or its values.
static byoc_value_t *write_past(byoc_writer_t *w, byoc_value_t *past, int64_t index) {
  byoc_value_t *place = byoc_write_vector(w, "place", BYOC_DTYPE_I64, 1, &index);
  return byoc_write_plain(w, "Gather", past, byoc_write_plain(w, "Squeeze", place, NULL));
}

// Attention on the projections of x.
static byoc_status_t write_attended(byoc_writer_t *w, byoc_value_t *projected, const places_t *at, bool *out_changed) {
  static const int64_t first = 0;
  const byoc_node_t *node = w->node;
  int64_t sizes[3];
  hidden_sizes(node, sizes);
  byoc_value_t *qkv[3];
  byoc_microsoft_split(w, byoc_microsoft_add(w, projected, byoc_operand(node, at->bias)), sizes, qkv);
  byoc_value_t *past = byoc_operand(node, at->past), *mask = byoc_operand(node, at->mask);
  byoc_value_t *total = mask && mask->type->rank == 1 ? byoc_microsoft_size(w, node->operands[X], 1) : NULL;
  if (total && past) total = byoc_write_plain(w, "Add", total, byoc_microsoft_size(w, past, 3));
  mask = write_mask(w, mask, byoc_operand(node, at->added), qkv[0], total);
  byoc_node_t *made =
      write_attention(w, qkv, mask, past ? write_past(w, past, 0) : NULL, past ? write_past(w, past, 1) : NULL);
  if (made && byoc_has_result(node, 1)) {
    byoc_value_t *both[2];
    for (int i = 0; i < 2; ++i) both[i] = byoc_microsoft_unsqueeze(w, made->results[i + 1], &first, 1);
    const byoc_attribute_t axis = byoc_write_int("axis", 0);
    byoc_microsoft_replace(w, 1, byoc_write_node(w, "", "Concat", both[0], both[1], NULL, &axis, 1));
  }
  return byoc_write_end(w, made ? made->results[0] : NULL, out_changed);
}

static byoc_status_t expand_attention(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *projected = byoc_write_plain(&w, "MatMul", node->operands[X], node->operands[WEIGHTS]);
  return write_attended(&w, projected, &float_places, out_changed);
}

// ---- QAttention ----

enum { X_SCALE = 3, WEIGHT_SCALE, X_ZERO = 6, WEIGHT_ZERO };

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

static byoc_status_t infer_quantised(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, X, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, X, 3, 3));
  if (!byoc_is_ranked(byoc_operand_type(node, X))) {
    return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, X_SCALE, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, X_SCALE));
  if (byoc_has_operand(node, X_ZERO)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, X_ZERO));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, X_ZERO));
  }
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_weights(infer, WEIGHTS, WEIGHT_SCALE, WEIGHT_ZERO));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, WEIGHTS, 2, 2));
  return infer_projected(infer, &byte_places, BYOC_DTYPE_F32);
}

static byoc_status_t expand_quantised(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_bytes_product_t p = {
      node->operands[X],       node->operands[X_SCALE],      byoc_operand(node, X_ZERO),
      node->operands[WEIGHTS], node->operands[WEIGHT_SCALE], byoc_operand(node, WEIGHT_ZERO)};
  byoc_value_t *projected = byoc_microsoft_scaled(&w, byoc_microsoft_sums(&w, &p), &p);
  return write_attended(&w, projected, &byte_places, out_changed);
}

// ---- MultiHeadAttention ----

enum { QUERY, KEY, VALUE, HEAD_BIAS, PADDING, HEAD_ADDED, PAST_KEY, PAST_VALUE, SHARED_LENGTH, BEAMS };

// Keys or values are [batch, length, hidden] or [batch, heads, length, size].
static byoc_dim_t hidden_of(const byoc_infer_t *infer, const byoc_type_t *type) {
  if (type->rank == 3) return type->dims[2];
  const int64_t heads = byoc_node_int(infer->node, "num_heads");
  return byoc_dim_is_constant(type->dims[3]) ? byoc_dim_constant(type->dims[3].constant * heads) : type->dims[3];
}

static byoc_status_t need_layouts(const byoc_infer_t *infer, int64_t sizes[3]) {
  static const char *const names[] = {"queries", "keys", "values"};
  const byoc_node_t *node = infer->node;
  const byoc_type_t *query = byoc_operand_type(node, QUERY);
  if (!byoc_has_operand(node, KEY) || !byoc_has_operand(node, VALUE) || (byoc_is_ranked(query) && query->rank == 5)) {
    return byoc_infer_unsupported(infer, "queries, keys and values that are packed into one tensor are not supported");
  }
  for (uint32_t i = QUERY; i <= VALUE; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 3, i == QUERY ? 3 : 4));
    const byoc_type_t *type = byoc_operand_type(node, i);
    const int64_t heads = byoc_node_int(node, "num_heads");
    if (type->rank == 4) {
      if (byoc_dim_is_constant(type->dims[3]) && (type->dims[3].constant > INT32_MAX || heads > INT32_MAX)) {
        return byoc_infer_error(infer, "operand %u: its heads are too large", i);
      }
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 1, byoc_dim_constant(heads)));
    }
    const byoc_dim_t hidden = hidden_of(infer, type);
    BYOC_RETURN_IF_ERROR(need_heads(infer, hidden, names[i]));
    sizes[i] = hidden.constant;
    if (i > QUERY) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 0, query->dims[0]));
  }
  const byoc_type_t *key = byoc_operand_type(node, KEY), *value = byoc_operand_type(node, VALUE);
  if (key->rank != value->rank) return byoc_infer_error(infer, "operand 2: expected the rank of operand 1, the keys");
  if (sizes[QUERY] != sizes[KEY]) return byoc_infer_error(infer, "the hidden sizes of queries and keys differ");
  return byoc_infer_need_dim(infer, VALUE, value->rank - 2, key->dims[key->rank - 2]);
}

static byoc_status_t infer_multi_head(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  int64_t sizes[3];
  BYOC_RETURN_IF_ERROR(need_layouts(infer, sizes));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, SHARED_LENGTH, "the length of a shared past"));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, BEAMS, "the order of beams"));
  const byoc_type_t *query = byoc_operand_type(node, QUERY), *key = byoc_operand_type(node, KEY);
  const byoc_dim_t whole = byoc_dim_constant(sizes[0] + sizes[1] + sizes[2]);
  const int64_t heads = byoc_node_int(node, "num_heads");
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, HEAD_BIAS));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, HEAD_BIAS, 1, &whole));
  byoc_dim_t total = key->dims[key->rank - 2];
  if (byoc_has_operand(node, PAST_KEY) != byoc_has_operand(node, PAST_VALUE)) {
    return byoc_infer_error(infer, "operands 6 and 7, the past keys and values, must be given together");
  }
  if (byoc_has_operand(node, PAST_KEY)) {
    bool failed = false;
    for (uint32_t i = PAST_KEY; i <= PAST_VALUE; ++i) {
      BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 4, 4));
      const byoc_dim_t wanted[4] = {query->dims[0], byoc_dim_constant(heads),
                                    byoc_operand_type(node, PAST_KEY)->dims[2],
                                    byoc_dim_constant(sizes[i == PAST_KEY ? KEY : VALUE] / heads)};
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 4, wanted));
    }
    total = byoc_infer_dim(infer, BYOC_DIM_ADD, byoc_operand_type(node, PAST_KEY)->dims[2], total, &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  }
  const byoc_dim_t scores[4] = {query->dims[0], byoc_dim_constant(heads), query->dims[1], total};
  BYOC_RETURN_IF_ERROR(need_masks(infer, PADDING, HEAD_ADDED, scores));
  for (uint32_t i = 1; i < 3; ++i) {
    const byoc_dim_t present[4] = {query->dims[0], scores[1], total, byoc_dim_constant(sizes[i] / heads)};
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, query->dtype, 4, present));
  }
  const byoc_dim_t dims[3] = {query->dims[0], query->dims[1], byoc_dim_constant(sizes[VALUE])};
  return byoc_infer_set(infer, 0, query->dtype, 3, dims);
}

static byoc_status_t expand_multi_head(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t swap[] = {0, 2, 1, 3}, flat[] = {0, 0, -1};
  byoc_writer_t w = {.node = node, .diag = diag};
  const int64_t split[] = {0, 0, byoc_node_int(node, "num_heads"), -1};
  byoc_value_t *qkv[3] = {node->operands[QUERY], node->operands[KEY], node->operands[VALUE]};
  const bool is_split = qkv[KEY]->type->rank == 4;
  if (byoc_has_operand(node, HEAD_BIAS)) {
    byoc_value_t *parts[3];
    int64_t sizes[3];
    for (int i = 0; i < 3; ++i) {
      const byoc_type_t *type = qkv[i]->type;
      sizes[i] = type->rank == 3 ? type->dims[2].constant : split[2] * type->dims[3].constant;
    }
    byoc_microsoft_split(&w, node->operands[HEAD_BIAS], sizes, parts);
    // Keys that are split into heads have their bias already.
    for (int i = 0; i < (is_split ? 1 : 3); ++i) qkv[i] = byoc_write_plain(&w, "Add", qkv[i], parts[i]);
  }
  if (is_split) qkv[0] = byoc_write_transpose(&w, byoc_write_reshape(&w, qkv[0], split, 4), swap, 4);
  byoc_value_t *past_key = byoc_operand(node, PAST_KEY), *mask = byoc_operand(node, PADDING);
  byoc_value_t *total = NULL;
  if (mask && mask->type->rank == 1) {
    total = byoc_microsoft_size(&w, node->operands[KEY], is_split ? 2 : 1);
    if (past_key) total = byoc_write_plain(&w, "Add", total, byoc_microsoft_size(&w, past_key, 2));
  }
  mask = write_mask(&w, mask, byoc_operand(node, HEAD_ADDED), node->operands[QUERY], total);
  byoc_node_t *made = write_attention(&w, qkv, mask, past_key, byoc_operand(node, PAST_VALUE));
  for (uint32_t i = 1; made && i < 3; ++i) byoc_microsoft_replace(&w, i, made->results[i]);
  byoc_value_t *y = made ? made->results[0] : NULL;
  if (is_split && y) y = byoc_write_reshape(&w, byoc_write_transpose(&w, y, swap, 4), flat, 3);
  return byoc_write_end(&w, y, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t attention_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "num_heads")},
                                                           {BYOC_ATTR_INT("unidirectional", 0)},
                                                           {BYOC_ATTR(INTS, "qkv_hidden_sizes")},
                                                           {BYOC_ATTR(FLOAT, "scale")},
                                                           {BYOC_ATTR_FLOAT("mask_filter_value", -10000.0)},
                                                           {BYOC_ATTR_INT("do_rotary", 0)},
                                                           {BYOC_ATTR_INT("rotary_embedding_dim", 0)},
                                                           {BYOC_ATTR_INT("past_present_share_buffer", 0)},
                                                           BYOC_ATTR_END};
static const byoc_op_attribute_t quantised_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "num_heads")},
                                                           {BYOC_ATTR_INT("unidirectional", 0)},
                                                           {BYOC_ATTR(FLOAT, "scale")},
                                                           {BYOC_ATTR_FLOAT("mask_filter_value", -10000.0)},
                                                           {BYOC_ATTR_INT("do_rotary", 0)},
                                                           {BYOC_ATTR_INT("past_present_share_buffer", 0)},
                                                           BYOC_ATTR_END};
static const byoc_op_attribute_t multi_head_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "num_heads")},
                                                            {BYOC_ATTR_INT("unidirectional", 0)},
                                                            {BYOC_ATTR(FLOAT, "scale")},
                                                            {BYOC_ATTR_FLOAT("mask_filter_value", -10000.0)},
                                                            BYOC_ATTR_END};
const byoc_op_t byoc_ops_microsoft_attention[] = {
    BYOC_MICROSOFT_WORK_ROW("Attention", 2, 7, 2, attention_attributes, attention, ATTENTION, 1),
    BYOC_MICROSOFT_WORK_ROW("QAttention", 5, 9, 2, quantised_attributes, quantised, ATTENTION, 1),
    BYOC_MICROSOFT_WORK_ROW("MultiHeadAttention", 1, 10, 3, multi_head_attributes, multi_head, ATTENTION, 1),
};
const size_t byoc_ops_microsoft_attention_count =
    sizeof byoc_ops_microsoft_attention / sizeof *byoc_ops_microsoft_attention;
