// SPDX-License-Identifier: Apache-2.0
// Operators of language models that decode token by token: caches that are written at an index that is data
// (TensorScatter), gated activations (SwiGLU) and convolutions over the past (CausalConvWithState).
#include "core/op/util.h"
#include "core/op/write.h"

static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// ---- TensorScatter ----

enum { CACHE, UPDATE, WRITE_INDICES };
enum { LINEAR, CIRCULAR }; // as in scatter_attributes

static byoc_status_t infer_tensor_scatter(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, CACHE, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, UPDATE));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, CACHE, 2, BYOC_MAX_RANK));
  const byoc_type_t *cache = byoc_operand_type(infer->node, CACHE), *update = byoc_operand_type(infer->node, UPDATE);
  if (byoc_has_operand(infer->node, WRITE_INDICES)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, WRITE_INDICES, is_i64, "one index of i64 for each sequence"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, WRITE_INDICES, 1, 1));
  }
  if (!byoc_is_ranked(cache)) return byoc_infer_same(infer);
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", cache->rank, &axis));
  if (axis == 0) return byoc_infer_error(infer, "attribute 'axis': dimension 0 is that of the sequences");
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, UPDATE, cache->rank, cache->rank));
  if (byoc_has_operand(infer->node, WRITE_INDICES)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, WRITE_INDICES, 0, cache->dims[0]));
  }
  if (!byoc_is_ranked(update)) return byoc_infer_unsupported(infer, "operand 1: its rank must be known");
  for (int32_t d = 0; d < cache->rank; ++d) {
    if (d != axis) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, UPDATE, d, cache->dims[d]));
  }
  const byoc_dim_t room = cache->dims[axis], length = update->dims[axis];
  if (!byoc_dim_is_constant(room) || !byoc_dim_is_constant(length)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_of(infer, UPDATE, axis),
                                           byoc_side_of(infer, CACHE, axis)));
  } else if (length.constant > room.constant) {
    return byoc_infer_error(infer, "operand 1: %lld places do not fit into the %lld of operand 0",
                            (long long)length.constant, (long long)room.constant);
  }
  if (byoc_node_choice(infer->node, "mode") != CIRCULAR) {
    bool failed = false;
    const byoc_dim_t last = byoc_infer_dim(infer, BYOC_DIM_SUB, room, length, &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_within(infer, WRITE_INDICES, "where each sequence is written",
                                                byoc_side(last, "the last place")));
  }
  return byoc_infer_same(infer);
}

// The cache is copied, then the update is written into it. An index beyond the end is refused, and clamped here, so
// that nothing outside of the result is written.
static byoc_status_t loops_tensor_scatter(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[0]->type, *update = node->operands[UPDATE]->type;
  const byoc_loop_buffer_t *buffer = NULL;
  if (!byoc_lower_result_buffer(lower, node, 0, &buffer)) return BYOC_UNSUPPORTED;
  const int32_t axis = byoc_node_axis(node, "axis", type->rank);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *room = byoc_emit_dim(b, type, axis);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "i", zero, byoc_emit_extent(b, type, 0, type->rank));
  byoc_loop_store(b, buffer, i, byoc_lower_load_flat(lower, node, CACHE, i));
  byoc_loop_end(b);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *to[BYOC_MAX_RANK];
  const int32_t opened = byoc_emit_open(b, update, 0, update->rank, true, at);
  for (int32_t d = 0; d < type->rank; ++d) to[d] = at[d];
  if (byoc_has_operand(node, WRITE_INDICES)) {
    to[axis] = BYOC_LADD(b, byoc_lower_load(lower, node, WRITE_INDICES, at), at[axis]);
    const bool is_circular = byoc_node_choice(node, "mode") == CIRCULAR;
    to[axis] = is_circular ? BYOC_LMOD(b, to[axis], room)
                           : BYOC_LMAX(b, zero, BYOC_LMIN(b, to[axis], BYOC_LSUB(b, room, byoc_loop_int(b, 1))));
  }
  byoc_loop_store(b, buffer, byoc_loop_linear_index(b, type->rank, type->dims, to),
                  byoc_lower_load(lower, node, UPDATE, at));
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

// ---- SwiGLU ----

static byoc_status_t infer_swiglu(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  const byoc_type_t *gate = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(gate)) return byoc_infer_set_like(infer, 0, gate->dtype, byoc_operand_type(infer->node, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 1, gate->rank, gate->dims));
  return byoc_infer_same(infer);
}

// swiglu(a, b) → swish(a) * b
static byoc_status_t expand_swiglu(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t alpha = {.name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(node, "alpha")};
  byoc_value_t *gate = byoc_write_node(&w, "", "Swish", node->operands[0], NULL, NULL, &alpha, 1);
  return byoc_write_end(&w, byoc_write_node(&w, "", "Mul", gate, node->operands[1], NULL, NULL, 0), out_changed);
}

// ---- CausalConvWithState ----

enum { X, WEIGHT, BIAS, PAST };

static byoc_status_t infer_causal_conv(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  for (uint32_t i = X; i <= PAST; ++i) {
    if (i > WEIGHT && !byoc_has_operand(node, i)) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, i == BIAS ? 1 : 3, i == BIAS ? 1 : 3));
  }
  const byoc_type_t *x = byoc_operand_type(node, X), *weight = byoc_operand_type(node, WEIGHT);
  const bool is_known =
      byoc_is_ranked(weight) && byoc_dim_is_constant(weight->dims[0]) && byoc_dim_is_constant(weight->dims[2]);
  if (!byoc_is_ranked(x) || !is_known) {
    return byoc_infer_unsupported(infer, "the rank of operand 0 and the shape of operand 1 must be known");
  }
  if (weight->dims[2].constant < 1) return byoc_infer_error(infer, "operand 1: the kernel has no elements");
  const byoc_dim_t state[] = {x->dims[0], weight->dims[0], byoc_dim_constant(weight->dims[2].constant - 1)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, X, 1, weight->dims[0]));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, WEIGHT, 1, byoc_dim_constant(1)));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BIAS, 1, weight->dims));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, PAST, 3, state));
  const byoc_dim_t y[] = {x->dims[0], weight->dims[0], x->dims[2]};
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, 3, y));
  return byoc_infer_set(infer, 1, x->dtype, 3, state);
}

// The past and x: k - 1 elements of the past for each channel.
static byoc_value_t *with_past(byoc_writer_t *w, int64_t places) {
  byoc_value_t *x = w->node->operands[X];
  if (byoc_has_operand(w->node, PAST)) {
    const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 2};
    return byoc_write_node(w, "", "Concat", w->node->operands[PAST], x, NULL, &axis, 1);
  }
  const int64_t pads[] = {0, 0, places, 0, 0, 0};
  return byoc_write_node(w, "", "Pad", x, byoc_write_vector(w, "pads", BYOC_DTYPE_I64, 6, pads), NULL, NULL, 0);
}

// The last places of x along its dimension 2.
static byoc_value_t *last_places(byoc_writer_t *w, byoc_value_t *x, int64_t places) {
  static const int64_t end = INT64_MAX, axis = 2;
  const int64_t begin = places > 0 ? -places : INT64_MAX;
  byoc_value_t *operands[] = {x, byoc_write_vector(w, "starts", BYOC_DTYPE_I64, 1, &begin),
                              byoc_write_vector(w, "ends", BYOC_DTYPE_I64, 1, &end),
                              byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &axis)};
  byoc_node_t *slice = x ? byoc_write_many(w, "", "Slice", operands, 4, 1, NULL, 0) : NULL;
  return slice ? slice->results[0] : NULL;
}

// A convolution of each channel by itself over the past and x, then Swish if it is asked for.
static byoc_status_t expand_causal_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  *out_changed = false;
  const byoc_type_t *weight = node->operands[WEIGHT]->type;
  const int64_t places = weight->dims[2].constant - 1, pads[] = {places, 0};
  const byoc_attribute_t attributes[] = {
      {.name = "group", .kind = BYOC_ATTRIBUTE_INT, .i = weight->dims[0].constant},
      {.name = "pads", .kind = BYOC_ATTRIBUTE_INTS, .ints = pads, .count = 2},
  };
  // Without a past the convolution pads.
  const bool has_past = byoc_has_operand(node, PAST);
  byoc_value_t *whole = has_past || byoc_has_result(node, 1) ? with_past(&w, places) : NULL;
  byoc_value_t *operands[] = {has_past ? whole : node->operands[X], node->operands[WEIGHT],
                              byoc_has_operand(node, BIAS) ? node->operands[BIAS] : NULL};
  byoc_node_t *conv =
      operands[0] ? byoc_write_many(&w, "", "Conv", operands, 3, 1, attributes, has_past ? 1 : 2) : NULL;
  byoc_value_t *y = conv ? conv->results[0] : NULL;
  if (byoc_node_choice(node, "activation") != 0) y = byoc_write_node(&w, "", "Swish", y, NULL, NULL, NULL, 0);
  if (byoc_has_result(node, 1)) {
    byoc_value_t *state = last_places(&w, whole, places);
    if (w.failed || !byoc_value_replace_uses(node->results[1], state)) w.failed = true;
  }
  return byoc_write_end(&w, y, out_changed);
}

static const byoc_op_attribute_t scatter_attributes[] = {
    {BYOC_ATTR_INT("axis", -2)},
    {BYOC_ATTR_CHOICE("mode", "linear", "circular")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t swiglu_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t causal_attributes[] = {
    {BYOC_ATTR_CHOICE("activation", "none", "silu", "swish")},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_decode[] = {
    {.domain = "",
     .name = "TensorScatter",
     .since_version = 24,
     .min_inputs = 2,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_OPAQUE | BYOC_OP_LIMITS,
     .attributes = scatter_attributes,
     .infer = infer_tensor_scatter,
     .loops = loops_tensor_scatter},
    {.domain = "",
     .name = "CausalConvWithState",
     .since_version = 27,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 2,
     .attributes = causal_attributes,
     .infer = infer_causal_conv,
     .expand = expand_causal_conv},
    {.domain = "",
     .name = "SwiGLU",
     .since_version = 28,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = swiglu_attributes,
     .infer = infer_swiglu,
     .expand = expand_swiglu},
};
const size_t byoc_ops_decode_count = sizeof byoc_ops_decode / sizeof *byoc_ops_decode;
