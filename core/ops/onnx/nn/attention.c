// SPDX-License-Identifier: Apache-2.0
// Attention: matrix products around a softmax over scores, which a mask, causality and padding restrict.
#include <math.h>

#include "core/op/axes.h"
#include "core/op/util.h"
#include "core/op/write.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS }; // operands
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };        // results

static int64_t heads_of(const byoc_node_t *node, uint32_t operand) {
  const byoc_type_t *type = node->operands[operand]->type;
  const char *name = operand == Q ? "q_num_heads" : "kv_num_heads";
  if (type->rank == 3) return byoc_node_int(node, name);
  return byoc_dim_is_constant(type->dims[1]) ? type->dims[1].constant : 0;
}

// ---- types ----

// The [batch, heads, length, size] of an operand, for either of its layouts.
static void read_dims(const byoc_infer_t *infer, uint32_t operand, byoc_dim_t dims[4], bool *failed) {
  const byoc_type_t *type = byoc_operand_type(infer->node, operand);
  byoc_dim_t heads = byoc_dim_constant(heads_of(infer->node, operand));
  for (int32_t d = 0; d < 4; ++d) dims[d] = type->dims[type->rank == 4 || d == 0 ? d : d - 1];
  if (type->rank == 4) return;
  dims[1] = heads;
  dims[3] = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, type->dims[2], heads, failed);
}

static bool is_mask(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_BOOL || byoc_dtype_is_number(dtype);
}
static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// A mask broadcasts to the scores, except in its last dimension, which may be shorter. There is one length for each
// sequence.
static byoc_status_t check_masking(const byoc_infer_t *infer, uint32_t mask, uint32_t lengths,
                                   const byoc_dim_t scores[4]) {
  const byoc_type_t *type = byoc_operand_type(infer->node, mask);
  if (type) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, mask, is_mask, "a mask of bools or numbers"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, mask, 1, 4));
    if (!byoc_is_ranked(type)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", mask);
    byoc_dim_t dims[4] = {scores[0], scores[1], scores[2], scores[3]}, last = type->dims[type->rank - 1];
    if (!byoc_dim_is_constant(last) || last.constant != 1) {
      BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_of(infer, mask, type->rank - 1),
                                             byoc_side(scores[3], "the number of keys")));
    }
    dims[3] = last;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, mask, 4, dims));
  }
  if (!byoc_has_operand(infer->node, lengths)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, lengths, is_i64, "lengths of i64"));
  if (!byoc_is_ranked(byoc_operand_type(infer->node, lengths))) {
    return byoc_infer_unsupported(infer, "operand %u: its rank must be known", lengths);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, lengths, 1, scores));
  if (byoc_node_is(infer->node, "byoc", "AttentionBias")) return BYOC_OK; // Attention has checked it already
  return byoc_infer_need_within(infer, lengths, "the lengths of the sequences",
                                byoc_side(scores[3], "the number of keys"));
}

// Checks queries, keys and values: their ranks, and that their heads divide the hidden sizes.
static byoc_status_t check_heads(const byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  for (uint32_t i = Q; i <= V; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 3, 4));
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (!byoc_is_ranked(type)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", i);
    if (type->rank != byoc_operand_type(node, Q)->rank) {
      return byoc_infer_error(infer, "operand %u: expected the rank of operand 0", i);
    }
    int64_t heads = heads_of(node, i);
    if (heads < 1) return byoc_infer_unsupported(infer, "operand %u: the number of heads must be known", i);
    if (type->rank == 4 || !byoc_dim_is_constant(type->dims[2]) || type->dims[2].constant % heads == 0) continue;
    return byoc_infer_error(infer, "operand %u: its hidden size %lld does not divide into %lld heads", i,
                            (long long)type->dims[2].constant, (long long)heads);
  }
  int64_t q_heads = heads_of(node, Q), kv_heads = heads_of(node, K);
  if (heads_of(node, V) == kv_heads && q_heads % kv_heads == 0) return BYOC_OK;
  return byoc_infer_error(infer, "%lld heads of queries are not a multiple of %lld heads of keys and values",
                          (long long)q_heads, (long long)kv_heads);
}

// Concatenates the past and the keys `k`, and the past and the values `v`.
static byoc_status_t append_past(const byoc_infer_t *infer, byoc_dim_t k[4], byoc_dim_t v[4]) {
  const byoc_node_t *node = infer->node;
  bool failed = false;
  if (byoc_has_operand(node, PAST_KEY) != byoc_has_operand(node, PAST_VALUE)) {
    return byoc_infer_error(infer, "operands 4 and 5, the past keys and values, must be given together");
  }
  if (!byoc_has_operand(node, PAST_KEY)) return BYOC_OK;
  for (uint32_t i = PAST_KEY; i <= PAST_VALUE; ++i) {
    const byoc_type_t *past = byoc_operand_type(node, i);
    byoc_dim_t *dims = i == PAST_KEY ? k : v;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 4, 4));
    if (!byoc_is_ranked(past)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", i);
    const byoc_dim_t expected[] = {dims[0], dims[1], byoc_operand_type(node, PAST_KEY)->dims[2], dims[3]};
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 4, expected));
    dims[2] = byoc_infer_dim(infer, BYOC_DIM_ADD, past->dims[2], dims[2], &failed);
  }
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t need_equal(const byoc_infer_t *infer, byoc_side_t a, byoc_side_t b) {
  return byoc_infer_relate(infer, BYOC_RELATION_EQUAL, a, b);
}

static byoc_status_t infer_attention(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(check_heads(infer));
  bool failed = false;
  byoc_dim_t q[4], k[4], v[4];
  read_dims(infer, Q, q, &failed);
  read_dims(infer, K, k, &failed);
  read_dims(infer, V, v, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (!byoc_dim_is_constant(q[3]) || !byoc_dim_is_constant(k[3]) || !byoc_dim_is_constant(v[3])) {
    return byoc_infer_unsupported(infer, "the sizes of the heads must be known");
  }
  BYOC_RETURN_IF_ERROR(need_equal(infer, byoc_side_of(infer, Q, 0), byoc_side_of(infer, K, 0)));
  BYOC_RETURN_IF_ERROR(need_equal(infer, byoc_side_of(infer, K, 0), byoc_side_of(infer, V, 0)));
  BYOC_RETURN_IF_ERROR(
      need_equal(infer, byoc_side(q[3], "the head size of queries"), byoc_side(k[3], "the head size of keys")));
  BYOC_RETURN_IF_ERROR(
      need_equal(infer, byoc_side(k[2], "the number of keys"), byoc_side(v[2], "the number of values")));
  BYOC_RETURN_IF_ERROR(append_past(infer, k, v));
  byoc_dtype_t dtype = byoc_operand_type(node, Q)->dtype;
  byoc_dim_t y[] = {q[0], q[1], q[2], v[3]}, scores[] = {q[0], q[1], q[2], k[2]};
  BYOC_RETURN_IF_ERROR(check_masking(infer, MASK, LENGTHS, scores));
  if (byoc_operand_type(node, Q)->rank == 3) {
    byoc_dim_t hidden = byoc_infer_dim(infer, BYOC_DIM_MUL, q[1], v[3], &failed), flat[] = {q[0], q[2], hidden};
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, Y, dtype, 3, flat));
  } else {
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, Y, dtype, 4, y));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, PRESENT_KEY, byoc_operand_type(node, K)->dtype, 4, k));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, PRESENT_VALUE, byoc_operand_type(node, V)->dtype, 4, v));
  return byoc_infer_set(infer, SCORES, dtype, 4, scores);
}

// ---- which scores count ----

// byoc::AttentionBias(scores, mask, lengths, past keys): scores plus the mask, and -inf for keys that are excluded.
static byoc_status_t infer_bias(byoc_infer_t *infer) {
  const byoc_type_t *scores = byoc_operand_type(infer->node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "float scores"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 4, 4));
  if (!byoc_is_ranked(scores)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  BYOC_RETURN_IF_ERROR(check_masking(infer, 1, 2, scores->dims));
  if (byoc_has_operand(infer->node, 3)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, NULL, "past keys"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 3, 4, 4));
    if (!byoc_is_ranked(byoc_operand_type(infer->node, 3)))
      return byoc_infer_unsupported(infer, "operand 3: its rank must be known");
  }
  return byoc_infer_same(infer);
}

static const byoc_loop_expr_t *point_bias(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *scores = node->results[result]->type, *mask = byoc_operand_type(node, 1);
  const byoc_type_t *past = byoc_operand_type(node, 3);
  const byoc_loop_expr_t *value = byoc_emit_load(lower, node, 0, indices), *zero = byoc_loop_int(b, 0);
  if (!value) return NULL;
  const byoc_loop_expr_t *none = byoc_loop_const(b, value->dtype, -INFINITY), *key = indices[3], *allowed = NULL;
  const byoc_loop_expr_t *offset = past ? byoc_emit_dim(b, past, 2) : zero;
  if (byoc_has_operand(node, 2)) {
    const byoc_loop_expr_t *length = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load(lower, node, 2, indices));
    allowed = BIN(LT, key, length);
    if (!past) offset = BYOC_LSUB(b, length, byoc_emit_dim(b, scores, 2));
  }
  // The distance by which the key comes before the query.
  const byoc_loop_expr_t *distance = BYOC_LSUB(b, BYOC_LADD(b, indices[2], offset), key);
  int64_t left = byoc_node_int(node, "left_window_size");
  int64_t right = byoc_node_int(node, "right_window_size");
  if (byoc_node_flag(node, "is_causal")) right = 0;
  const byoc_loop_expr_t *bounds[] = {left >= 0 ? BIN(LE, distance, byoc_loop_int(b, left)) : NULL,
                                      right >= 0 ? BIN(LE, byoc_loop_int(b, -right), distance) : NULL};
  for (int i = 0; i < 2; ++i) {
    if (bounds[i]) allowed = allowed ? BIN(AND, allowed, bounds[i]) : bounds[i];
  }
  if (mask) { // broadcast; keys after its end are excluded
    const byoc_loop_expr_t *at[4], *last = byoc_emit_dim(b, mask, mask->rank - 1);
    const bool is_known = byoc_dim_is_constant(mask->dims[mask->rank - 1]), one = byoc_loop_is_const(last, 1.0);
    for (int32_t d = 0; d < mask->rank; ++d) {
      const byoc_loop_expr_t *index = indices[4 - mask->rank + d], *extent = byoc_emit_dim(b, mask, d);
      at[d] = BYOC_LMAX(b, zero, BYOC_LMIN(b, index, BYOC_LSUB(b, extent, byoc_loop_int(b, 1))));
    }
    const byoc_loop_expr_t *inside = one ? NULL : BIN(LT, key, last);
    if (!is_known) inside = BIN(OR, inside, BIN(EQ, last, byoc_loop_int(b, 1)));
    if (inside) allowed = allowed ? BIN(AND, allowed, inside) : inside;
    const byoc_loop_expr_t *given = byoc_lower_load(lower, node, 1, at);
    if (mask->dtype == BYOC_DTYPE_BOOL) {
      value = byoc_loop_select(b, given, value, none);
    } else {
      value = BYOC_LADD(b, value, byoc_emit_as(b, value->dtype, given));
    }
  }
  return byoc_emit_as(b, scores->dtype, allowed ? byoc_loop_select(b, allowed, value, none) : value);
}

// ---- expansion ----

// A number of the element type of x.
static byoc_value_t *number(byoc_writer_t *w, const byoc_value_t *x, double value) {
  float single = (float)value;
  byoc_value_t *made = byoc_write_vector(w, "number", BYOC_DTYPE_F64, 1, &value);
  if (x && x->type->dtype != BYOC_DTYPE_F64) made = byoc_write_vector(w, "number", BYOC_DTYPE_F32, 1, &single);
  return x ? byoc_write_cast(w, made, x->type->dtype) : NULL;
}

// [batch, length, heads * size] → [batch, heads, length, size]
static byoc_value_t *split_heads(byoc_writer_t *w, uint32_t operand) {
  static const int64_t swap[] = {0, 2, 1, 3};
  byoc_value_t *x = w->node->operands[operand];
  if (x->type->rank == 4) return x;
  const int64_t shape[] = {0, 0, heads_of(w->node, operand), -1};
  return byoc_write_transpose(w, byoc_write_reshape(w, x, shape, 4), swap, 4);
}

static byoc_value_t *append(byoc_writer_t *w, uint32_t past, byoc_value_t *x) {
  if (!byoc_has_operand(w->node, past)) return x;
  const byoc_attribute_t axis = byoc_write_int("axis", 2);
  return byoc_write_node(w, "", "Concat", w->node->operands[past], x, NULL, &axis, 1);
}

// Each head of keys or values serves several heads of queries.
static byoc_value_t *repeat_heads(byoc_writer_t *w, byoc_value_t *x, int64_t heads, int64_t times) {
  if (times == 1 || !x) return x;
  static const int64_t place = 2;
  const int64_t shape[] = {1, 1, times, 1, 1}, whole[] = {0, heads, -1, x->type->dims[3].constant};
  x = byoc_write_node(w, "", "Unsqueeze", x, byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &place), NULL, NULL, 0);
  x = byoc_write_node(w, "", "Expand", x, byoc_write_vector(w, "times", BYOC_DTYPE_I64, 5, shape), NULL, NULL, 0);
  return byoc_write_reshape(w, x, whole, 4);
}

// Do products of f16 or bf16 take the queries of several heads as rows, and read keys and values once for them? In f32
// each head of queries gets a copy of its keys and values.
static bool shares_heads(byoc_writer_t *w, const byoc_value_t *q, int64_t times) {
  return !w->failed && times > 1 && (q->type->dtype == BYOC_DTYPE_F16 || q->type->dtype == BYOC_DTYPE_BF16);
}

// The [batch, heads of keys, times * length, size] of [batch, heads of queries, length, size], or back.
static byoc_value_t *with_heads(byoc_writer_t *w, byoc_value_t *x, int64_t heads) {
  const int64_t shape[] = {0, heads, -1, x && !w->failed ? x->type->dims[3].constant : 0};
  return x ? byoc_write_reshape(w, x, shape, 4) : NULL;
}

// Scores with a row for each of these queries and a column for each key.
static byoc_value_t *with_rows(byoc_writer_t *w, byoc_value_t *scores, byoc_value_t *q, byoc_value_t *k) {
  const byoc_attribute_t rows[] = {byoc_write_int("start", 0), byoc_write_int("end", 3)};
  const byoc_attribute_t keys[] = {byoc_write_int("start", 2), byoc_write_int("end", 3)};
  const byoc_attribute_t first = byoc_write_int("axis", 0);
  if (!scores || w->failed) return NULL;
  byoc_value_t *dims[] = {byoc_write_node(w, "", "Shape", q, NULL, NULL, rows, 2),
                          byoc_write_node(w, "", "Shape", k, NULL, NULL, keys, 2)};
  byoc_node_t *shape = byoc_write_many(w, "", "Concat", dims, 2, 1, &first, 1);
  return shape ? byoc_write_plain(w, "Reshape", scores, shape->results[0]) : NULL;
}

// A row without any key is all -inf and gives zeros.
static byoc_value_t *masked_softmax(byoc_writer_t *w, byoc_value_t *x) {
  static const int64_t last = -1;
  const byoc_attribute_t axis = byoc_write_int("axis", -1), positive = byoc_write_int("detect_positive", 0);
  const int64_t precision = byoc_node_int(w->node, "softmax_precision");
  if (precision != 0) x = byoc_write_cast(w, x, byoc_dtype_from_onnx((int32_t)precision));
  byoc_value_t *most =
      byoc_write_node(w, "", "ReduceMax", x, byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &last), NULL, NULL, 0);
  // IsInf takes the wide types only.
  byoc_value_t *nothing =
      byoc_write_node(w, "", "IsInf", byoc_write_cast(w, most, BYOC_DTYPE_F32), NULL, NULL, &positive, 1);
  byoc_value_t *shares = byoc_write_node(w, "", "Softmax", x, NULL, NULL, &axis, 1);
  return byoc_write_node(w, "", "Where", nothing, number(w, shares, 0.0), shares, NULL, 0);
}

static byoc_status_t expand_attention(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t turn[] = {0, 1, 3, 2}, swap[] = {0, 2, 1, 3}, flat[] = {0, 0, -1};
  byoc_writer_t w = {.node = node, .diag = diag};
  *out_changed = false;
  int64_t q_heads = heads_of(node, Q), mode = byoc_node_int(node, "qk_matmul_output_mode");
  int64_t times = q_heads / heads_of(node, K);
  byoc_value_t *q = split_heads(&w, Q), *k = append(&w, PAST_KEY, split_heads(&w, K));
  byoc_value_t *v = append(&w, PAST_VALUE, split_heads(&w, V)), *present[] = {k, v};
  double size = w.failed ? 1.0 : (double)q->type->dims[3].constant;
  const byoc_attribute_t *given = byoc_node_given(node, "scale");
  double scale = sqrt(given ? given->f : 1.0 / sqrt(size));
  const bool shares = shares_heads(&w, q, times);
  byoc_value_t *k_once = k, *rows = q;
  if (!shares) k = repeat_heads(&w, k, q_heads, times), v = repeat_heads(&w, v, q_heads, times);
  k = byoc_write_transpose(&w, k, turn, 4);
  if (shares) rows = with_heads(&w, q, q_heads / times);
  rows = byoc_write_node(&w, "", "Mul", rows, number(&w, q, scale), NULL, NULL, 0);
  k = byoc_write_node(&w, "", "Mul", k, number(&w, k, scale), NULL, NULL, 0);
  byoc_value_t *scores = byoc_write_node(&w, "", "MatMul", rows, k, NULL, NULL, 0);
  if (shares) scores = with_rows(&w, scores, q, k_once);
  byoc_value_t *shown = scores;
  double cap = byoc_node_float(node, "softcap");
  if (cap > 0) {
    byoc_value_t *limit = number(&w, scores, cap);
    scores = byoc_write_node(&w, "", "Div", scores, limit, NULL, NULL, 0);
    scores = byoc_write_node(&w, "", "Tanh", scores, NULL, NULL, NULL, 0);
    scores = byoc_write_node(&w, "", "Mul", scores, limit, NULL, NULL, 0);
    if (mode == 1) shown = scores;
  }
  byoc_value_t *masking[] = {scores, byoc_has_operand(node, MASK) ? node->operands[MASK] : NULL,
                             byoc_has_operand(node, LENGTHS) ? node->operands[LENGTHS] : NULL,
                             byoc_has_operand(node, PAST_KEY) ? node->operands[PAST_KEY] : NULL};
  const byoc_attribute_t limits[] = {byoc_write_int("is_causal", byoc_node_int(node, "is_causal")),
                                     byoc_write_int("left_window_size", byoc_node_int(node, "left_window_size")),
                                     byoc_write_int("right_window_size", byoc_node_int(node, "right_window_size"))};
  byoc_node_t *biased = scores ? byoc_write_many(&w, "byoc", "AttentionBias", masking, 4, 1, limits, 3) : NULL;
  scores = biased ? biased->results[0] : NULL;
  if (mode == 2) shown = scores;
  byoc_value_t *weights = masked_softmax(&w, scores);
  weights = q ? byoc_write_cast(&w, weights, q->type->dtype) : NULL;
  if (mode == 3) shown = weights;
  if (shares) weights = with_rows(&w, weights, rows, k_once);
  byoc_value_t *y = byoc_write_node(&w, "", "MatMul", weights, v, NULL, NULL, 0);
  if (shares) y = with_heads(&w, y, q_heads);
  if (node->operands[Q]->type->rank == 3) y = byoc_write_reshape(&w, byoc_write_transpose(&w, y, swap, 4), flat, 3);
  byoc_value_t *results[] = {y, present[0], present[1], shown};
  for (uint32_t i = PRESENT_KEY; i < node->result_count && !w.failed; ++i) {
    if (!byoc_value_replace_uses(node->results[i], results[i])) w.failed = true;
  }
  return byoc_write_end(&w, y, out_changed);
}

static const byoc_op_attribute_t attention_attributes[] = {
    {BYOC_ATTR_INT("is_causal", 0)},
    {BYOC_ATTR(INT, "q_num_heads")},
    {BYOC_ATTR(INT, "kv_num_heads")},
    {BYOC_ATTR(FLOAT, "scale")},
    {BYOC_ATTR_FLOAT("softcap", 0.0)},
    {BYOC_ATTR_INT("qk_matmul_output_mode", 0)},
    {BYOC_ATTR(INT, "softmax_precision")},
    {BYOC_ATTR_INT("left_window_size", -1), .since = 25},
    {BYOC_ATTR_INT("right_window_size", -1), .since = 25},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t bias_attributes[] = {
    {BYOC_ATTR_INT("is_causal", 0)},
    {BYOC_ATTR_INT("left_window_size", -1)},
    {BYOC_ATTR_INT("right_window_size", -1)},
    BYOC_ATTR_END,
};

#define ATTENTION(version, inputs)                                                                                     \
  {                                                                                                                    \
    .domain = "", .name = "Attention", .since_version = version, .min_inputs = 3, .max_inputs = inputs,                \
    .min_outputs = 1, .max_outputs = 4, .traits = BYOC_OP_LIMITS, .work = BYOC_WORK_ATTENTION,                         \
    .attributes = attention_attributes, .infer = infer_attention, .expand = expand_attention,                          \
    .axes = byoc_axes_attention                                                                                        \
  }

const byoc_op_t byoc_ops_attention[] = {
    ATTENTION(23, 6),
    ATTENTION(24, 7),
    ATTENTION(25, 7),
    {.domain = "byoc",
     .name = "AttentionBias",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = bias_attributes,
     .infer = infer_bias,
     .point = point_bias,
     .by_shape = 1u << 3},
};
const size_t byoc_ops_attention_count = sizeof byoc_ops_attention / sizeof *byoc_ops_attention;
