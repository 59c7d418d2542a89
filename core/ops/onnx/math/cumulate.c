// SPDX-License-Identifier: Apache-2.0
// Operators that run along one dimension in order: CumSum, CumProd, ReverseSequence.
#include <string.h>

#include "core/op/axes.h"
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool is_axis(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

static byoc_status_t infer_cumulate(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_axis, "an axis of i32 or i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_ints_t axis;
  int32_t normal = 0;
  if (byoc_is_ranked(x) && byoc_read_ints(infer->node, NULL, 1, &axis) == BYOC_KNOWN_YES &&
      (axis.count != 1 || !byoc_normalize_axis(axis.values[0], x->rank, &normal))) {
    return byoc_infer_error(infer, "operand 1: expected an axis in [%d, %d]", -x->rank, x->rank - 1);
  }
  if (byoc_is_ranked(x)) BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 1, x->rank, false));
  return byoc_infer_same(infer);
}

// The running sum (or product) along `axis`: lines are independent of each other.
static void cumulate_along(byoc_lower_t *lower, const byoc_node_t *node, int32_t axis, bool parallel) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(type->dtype);
  bool product = strcmp(node->op, "CumProd") == 0;
  bool exclusive = byoc_node_flag(node, "exclusive");
  bool reverse = byoc_node_flag(node, "reverse");
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0), *extent = byoc_emit_dim(b, type, axis);
  int32_t opened = byoc_emit_open(b, type, 0, axis, parallel, at);
  opened += byoc_emit_open(b, type, axis + 1, type->rank, parallel && opened == 0, at);
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", byoc_loop_const(b, dtype, product ? 1.0 : 0.0));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, extent);
  at[axis] = reverse ? BYOC_LSUB(b, BYOC_LSUB(b, extent, byoc_loop_int(b, 1)), k) : k;
  const byoc_loop_expr_t *x = byoc_emit_load(lower, node, 0, at);
  const byoc_loop_expr_t *next = byoc_loop_let(b, "next", product ? BYOC_LMUL(b, sum, x) : BYOC_LADD(b, sum, x));
  byoc_emit_store(lower, node, 0, at, exclusive ? sum : next);
  byoc_loop_assign(b, sum, next);
  byoc_emit_close(b, opened + 1);
}

static byoc_status_t loops_cumulate(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  int32_t rank = node->results[0]->type->rank, known = 0;
  byoc_ints_t ints;
  if (byoc_read_ints(node, NULL, 1, &ints) == BYOC_KNOWN_YES && byoc_normalize_axis(ints.values[0], rank, &known)) {
    cumulate_along(lower, node, known, true);
    return BYOC_OK;
  }
  // If the axis is data: one nest per possible axis.
  const byoc_loop_expr_t *axis = byoc_emit_index(b, byoc_emit_int(lower, node, 1, 0), byoc_loop_int(b, rank));
  axis = byoc_loop_let(b, "axis", axis);
  for (int32_t d = 0; d < rank; ++d) {
    byoc_loop_if(b, BIN(EQ, axis, byoc_loop_int(b, d)));
    cumulate_along(lower, node, d, false);
    byoc_loop_end(b);
  }
  return BYOC_OK;
}

// ---- ReverseSequence ----
static byoc_status_t infer_reverse(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "lengths"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, 1));
  int64_t time = byoc_node_int(node, "time_axis");
  int64_t batch = byoc_node_int(node, "batch_axis");
  if (time < 0 || time > 1 || batch < 0 || batch > 1 || time == batch) {
    return byoc_infer_error(infer, "attributes 'time_axis' and 'batch_axis': expected 0 and 1 or 1 and 0");
  }
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (byoc_is_ranked(x)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, 0, x->dims[batch]));
    BYOC_RETURN_IF_ERROR(
        byoc_infer_need_within(infer, 1, "the lengths of the sequences", byoc_side_of(infer, 0, (int32_t)time)));
  }
  return byoc_infer_same(infer);
}

static const byoc_loop_expr_t *point_reverse(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                             const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  int64_t time = byoc_node_int(node, "time_axis"), batch = 1 - time;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  for (int32_t d = 0; d < type->rank; ++d) at[d] = indices[d];
  const byoc_loop_expr_t *length = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load(lower, node, 1, &indices[batch]));
  if (!length) return NULL;
  length = BYOC_LMAX(b, zero, BYOC_LMIN(b, length, byoc_emit_dim(b, type, (int32_t)time)));
  const byoc_loop_expr_t *mirrored = BYOC_LSUB(b, BYOC_LSUB(b, length, one), at[time]);
  at[time] = byoc_loop_select(b, BIN(LT, at[time], length), mirrored, at[time]);
  return byoc_lower_load(lower, node, 0, at);
}

static const byoc_op_attribute_t cumulate_attributes[] = {
    {BYOC_ATTR_INT("exclusive", 0)},
    {BYOC_ATTR_INT("reverse", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t reverse_attributes[] = {
    {BYOC_ATTR_INT("batch_axis", 1)},
    {BYOC_ATTR_INT("time_axis", 0)},
    BYOC_ATTR_END,
};

#define CUMULATE(op_name, version)                                                                                     \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 2, .max_inputs = 2, .min_outputs = 1,      \
    .max_outputs = 1, .traits = BYOC_OP_LIMITS, .attributes = cumulate_attributes, .infer = infer_cumulate,            \
    .loops = loops_cumulate, .shape_operands = 1u << 1, .axes = byoc_axes_cumulate                                     \
  }

const byoc_op_t byoc_ops_cumulate[] = {
    CUMULATE(CumSum, 11),
    CUMULATE(CumSum, 14),
    CUMULATE(CumProd, 26),
    {.domain = "",
     .name = "ReverseSequence",
     .since_version = 10,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES | BYOC_OP_LIMITS,
     .attributes = reverse_attributes,
     .infer = infer_reverse,
     .point = point_reverse},
};
const size_t byoc_ops_cumulate_count = sizeof byoc_ops_cumulate / sizeof *byoc_ops_cumulate;
