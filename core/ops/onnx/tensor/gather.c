// SPDX-License-Identifier: Apache-2.0
// Moves data by indices that are data themselves. Negative indices count from the end. Those beyond the operand are
// refused, and loops clamp them, so that nothing outside of the operand is ever read.
#include <string.h>

#include "core/op/axes.h"
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool is_index(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

// Indices are clamped to an extent that must not be 0, unless there are no indices.
static byoc_status_t need_elements(const byoc_infer_t *infer, int32_t d) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *at = byoc_operand_type(infer->node, 1);
  bool is_empty = byoc_dim_is_constant(x->dims[d]) && x->dims[d].constant == 0;
  if (!byoc_dim_is_constant(x->dims[d])) {
    bool failed = false;
    byoc_dim_t count = byoc_is_ranked(at) ? byoc_infer_count(infer, at, &failed) : byoc_dim_constant(1);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    return byoc_infer_need_some(infer, 0, d, count);
  }
  if (!is_empty || byoc_type_element_count(at) == 0) return BYOC_OK;
  return byoc_infer_error(infer, "operand 0: there is nothing to gather from dimension %d", d);
}

// ---- Gather ----
static byoc_status_t infer_gather(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_index, "indices of i32 or i64"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *at = byoc_operand_type(infer->node, 1);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(at)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  BYOC_RETURN_IF_ERROR(need_elements(infer, axis));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_index(infer, 1, "the indices", byoc_side_of(infer, 0, axis)));
  byoc_dim_t dims[2 * BYOC_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < axis; ++d) dims[rank++] = x->dims[d];
  for (int32_t d = 0; d < at->rank; ++d) dims[rank++] = at->dims[d];
  for (int32_t d = axis + 1; d < x->rank; ++d) dims[rank++] = x->dims[d];
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static const byoc_loop_expr_t *point_gather(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                            const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *picks = node->operands[1]->type;
  int32_t axis = byoc_node_axis(node, "axis", x->rank);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < axis; ++d) at[d] = indices[d];
  at[axis] = byoc_emit_index(b, byoc_lower_load(lower, node, 1, indices + axis), byoc_emit_dim(b, x, axis));
  for (int32_t d = axis + 1; d < x->rank; ++d) at[d] = indices[d - 1 + picks->rank];
  return byoc_lower_load(lower, node, 0, at);
}

// ---- GatherElements ----
static byoc_status_t infer_gather_elements(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_index, "indices of i32 or i64"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *at = byoc_operand_type(infer->node, 1);
  if (byoc_is_ranked(x)) {
    int32_t axis = 0;
    BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, x->rank, x->rank));
    BYOC_RETURN_IF_ERROR(need_elements(infer, axis));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_index(infer, 1, "the indices", byoc_side_of(infer, 0, axis)));
    for (int32_t d = 0; byoc_is_ranked(at) && d < x->rank; ++d) {
      bool both = byoc_dim_is_constant(at->dims[d]) && byoc_dim_is_constant(x->dims[d]);
      if (d != axis && both && at->dims[d].constant > x->dims[d].constant) {
        return byoc_infer_error(infer, "operand 1: dimension %d is larger than operand 0's", d);
      }
      if (d == axis || both) continue;
      BYOC_RETURN_IF_ERROR(
          byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_of(infer, 1, d), byoc_side_of(infer, 0, d)));
    }
  }
  return byoc_infer_set_like(infer, 0, x->dtype, at);
}

static const byoc_loop_expr_t *point_gather_elements(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                     const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  int32_t axis = byoc_node_axis(node, "axis", x->rank);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) at[d] = indices[d];
  at[axis] = byoc_emit_index(b, byoc_lower_load(lower, node, 1, indices), byoc_emit_dim(b, x, axis));
  return byoc_lower_load(lower, node, 0, at);
}

// ---- GatherND ----
static byoc_status_t infer_gather_nd(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_index, "indices of i32 or i64"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0), *at = byoc_operand_type(infer->node, 1);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(at)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, BYOC_MAX_RANK));
  int64_t batch = byoc_node_int(infer->node, "batch_dims");
  byoc_dim_t length = at->dims[at->rank - 1];
  if (!byoc_dim_is_constant(length)) {
    return byoc_infer_unsupported(infer, "operand 1: the last dimension must be a constant");
  }
  int32_t least = x->rank < at->rank ? x->rank : at->rank;
  if (batch < 0 || batch >= least) {
    return byoc_infer_error(infer, "attribute 'batch_dims': expected a value in [0, %d], got %lld", least - 1,
                            (long long)batch);
  }
  if (length.constant < 1 || length.constant > x->rank - batch) {
    return byoc_infer_error(infer, "operand 1: expected index tuples of 1 to %lld, got %lld",
                            (long long)(x->rank - batch), (long long)length.constant);
  }
  for (int32_t d = 0; d < batch; ++d) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, d, x->dims[d]));
  byoc_limit_t limit = {.operand = 1, .name = "the indices", .kind = BYOC_RANGE_INDEX};
  for (int32_t d = 0; d < length.constant; ++d) {
    BYOC_RETURN_IF_ERROR(need_elements(infer, (int32_t)batch + d));
    limit.extents[limit.count++] = byoc_side_of(infer, 0, (int32_t)batch + d);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_limit(infer, &limit));
  byoc_dim_t dims[2 * BYOC_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d + 1 < at->rank; ++d) dims[rank++] = at->dims[d];
  for (int32_t d = (int32_t)(batch + length.constant); d < x->rank; ++d) dims[rank++] = x->dims[d];
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static const byoc_loop_expr_t *point_gather_nd(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                               const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *picks = node->operands[1]->type;
  int32_t batch = (int32_t)byoc_node_int(node, "batch_dims");
  int32_t length = (int32_t)picks->dims[picks->rank - 1].constant;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *tuple[BYOC_MAX_RANK];
  for (int32_t d = 0; d < batch; ++d) at[d] = indices[d];
  for (int32_t d = 0; d + 1 < picks->rank; ++d) tuple[d] = indices[d];
  for (int32_t i = 0; i < length; ++i) {
    tuple[picks->rank - 1] = byoc_loop_int(b, i);
    at[batch + i] = byoc_emit_index(b, byoc_lower_load(lower, node, 1, tuple), byoc_emit_dim(b, x, batch + i));
  }
  for (int32_t d = batch + length; d < x->rank; ++d) at[d] = indices[picks->rank - 1 + d - batch - length];
  return byoc_lower_load(lower, node, 0, at);
}

// ---- OneHot ----
static byoc_status_t infer_one_hot(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "numeric indices"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_number, "a numeric depth"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 2, NULL, "a tensor of two values"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 2, 1, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 2, 0, byoc_dim_constant(2)));
  const byoc_type_t *at = byoc_operand_type(node, 0), *values = byoc_operand_type(node, 2);
  if (!byoc_is_ranked(at)) return byoc_infer_set_unranked(infer, 0, values->dtype);
  int32_t axis = 0, from = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", at->rank + 1, &axis));
  byoc_dim_t dims[BYOC_MAX_RANK + 1];
  bool failed = false;
  const byoc_value_t *depth = node->operands[1];
  double classes = 0;
  for (int32_t d = 0; d <= at->rank; ++d) {
    if (d != axis) {
      dims[d] = at->dims[from++];
    } else if (byoc_value_scalar_f64(depth, &classes)) {
      if (!(classes >= 1 && classes <= INT32_MAX))
        return byoc_infer_error(infer, "operand 1: expected a depth of at least 1, got %g", classes);
      dims[d] = byoc_dim_constant((int64_t)classes);
    } else {
      dims[d] = byoc_infer_unknown_dim(infer, &failed);
      const byoc_side_t made = byoc_side(dims[d], "the depth");
      BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_number(1), made));
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, values->dtype, at->rank + 1, dims);
}

static const byoc_loop_expr_t *point_one_hot(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                             const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  int32_t axis = byoc_node_axis(node, "axis", type->rank), rank = 0;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    if (d != axis) at[rank++] = indices[d];
  }
  const byoc_loop_expr_t *hot = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_emit_load(lower, node, 0, at));
  const byoc_loop_expr_t *depth = byoc_emit_dim(b, type, axis);
  hot = byoc_loop_select(b, BIN(LT, hot, byoc_loop_int(b, 0)), BYOC_LADD(b, hot, depth), hot);
  const byoc_loop_expr_t *off = byoc_lower_load_flat(lower, node, 2, byoc_loop_int(b, 0));
  const byoc_loop_expr_t *on = byoc_lower_load_flat(lower, node, 2, byoc_loop_int(b, 1));
  return byoc_loop_select(b, BIN(EQ, hot, indices[axis]), on, off);
}

static const byoc_loop_expr_t *shape_one_hot(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result, (void)d;
  return byoc_emit_as(byoc_lower_builder(lower), BYOC_DTYPE_I64, byoc_emit_scalar(lower, node, 1));
}

static const byoc_op_attribute_t gather_attributes[] = {
    {BYOC_ATTR_INT("axis", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t gather_nd_attributes[] = {
    {BYOC_ATTR_INT("batch_dims", 0), .since = 12},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t one_hot_attributes[] = {
    {BYOC_ATTR_INT("axis", -1)},
    BYOC_ATTR_END,
};

#define gather_elements_attributes gather_attributes
#define gather_axes                byoc_axes_gather
#define gather_elements_axes       byoc_axes_gather_elements
#define gather_nd_axes             NULL
#define one_hot_axes               NULL
#define ROW(op_name, version, inputs, mask, function)                                                                  \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = inputs, .max_inputs = inputs,              \
    .min_outputs = 1, .max_outputs = 1, .traits = (mask) != 0 ? 0 : BYOC_OP_MOVES | BYOC_OP_LIMITS,                    \
    .attributes = function##_attributes, .infer = infer_##function, .point = point_##function, .shape_operands = mask, \
    .shape_elements = mask, .by_shape = mask, .shape = (mask) != 0 ? shape_one_hot : NULL, .axes = function##_axes     \
  }

const byoc_op_t byoc_ops_gather[] = {
    ROW(Gather, 1, 2, 0, gather),
    ROW(Gather, 11, 2, 0, gather),
    ROW(Gather, 13, 2, 0, gather),
    ROW(GatherElements, 11, 2, 0, gather_elements),
    ROW(GatherElements, 13, 2, 0, gather_elements),
    ROW(GatherND, 11, 2, 0, gather_nd),
    ROW(GatherND, 12, 2, 0, gather_nd),
    ROW(GatherND, 13, 2, 0, gather_nd),
    ROW(OneHot, 9, 3, 1u << 1, one_hot),
    ROW(OneHot, 11, 3, 1u << 1, one_hot),
};
const size_t byoc_ops_gather_count = sizeof byoc_ops_gather / sizeof *byoc_ops_gather;
