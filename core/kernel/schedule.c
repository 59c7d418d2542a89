// SPDX-License-Identifier: Apache-2.0
// Makes the loops over the elements of a point definition: one parallel loop outside, one vector loop inside.
#include "core/kernel/schedule.h"

#include "core/ir/loop_range.h"
#include "core/kernel/transposed.h"

// The operand's dimension along an axis of the iteration space; negative if it has none there. BatchNormalization's
// vectors have one element for each channel, axis 1 of its own result. A wrong guess only costs speed.
static int32_t dim_along(const byoc_node_t *node, uint32_t operand, const byoc_type_t *space, int32_t axis) {
  if (operand > 0 && byoc_node_is(node, "", "BatchNormalization")) {
    return axis == 1 + space->rank - node->operands[0]->type->rank ? 0 : -1;
  }
  return axis - (space->rank - node->operands[operand]->type->rank);
}

typedef enum extent_t { EXTENT_ONE, EXTENT_FULL, EXTENT_OPEN } extent_t;

// How much of an axis of the iteration space the operand has. An open dimension may be either one element or all.
static extent_t extent_along(const byoc_node_t *node, uint32_t operand, const byoc_type_t *space, int32_t axis) {
  const int32_t d = dim_along(node, operand, space, axis);
  if (d < 0) return EXTENT_ONE;
  const byoc_dim_t dim = node->operands[operand]->type->dims[d];
  if (byoc_dim_equal(dim, space->dims[axis])) return EXTENT_FULL;
  return byoc_dim_is_constant(dim) && dim.constant == 1 ? EXTENT_ONE : EXTENT_OPEN;
}

// May the axes `axis` and `axis` + 1 be walked as one? Yes, if every operand surely has both or neither.
static bool mergeable(const byoc_lower_t *lower, const byoc_type_t *space, int32_t axis) {
  BYOC_FOR_EACH_NODE(node, lower->function->body) {
    const byoc_op_t *op = byoc_op_of(node);
    if (byoc_is_transpose(node, space)) {
      if (byoc_transpose_axis(node, axis) + 1 != byoc_transpose_axis(node, axis + 1)) return false;
      continue;
    }
    if (!(op->traits & BYOC_OP_ELEMENTWISE)) return false;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      const byoc_type_t *type = node->operands[i] ? node->operands[i]->type : NULL;
      if (!type || byoc_type_element_count(type) == 1) continue;
      if (type->rank > space->rank) return false;
      if (type->rank < space->rank && !(op->traits & BYOC_OP_BROADCASTS)) return false;
      const extent_t one = extent_along(node, i, space, axis), other = extent_along(node, i, space, axis + 1);
      if (one != other || one == EXTENT_OPEN) return false;
    }
  }
  return true;
}

static void plan_walk(byoc_lower_t *lower, const byoc_type_t *space, byoc_walk_t *walk) {
  byoc_loop_builder_t *builder = byoc_lower_builder(lower);
  for (int32_t axis = 0; axis < space->rank; ++axis) {
    if (byoc_dim_is_constant(space->dims[axis]) && space->dims[axis].constant == 1) continue;
    const byoc_loop_expr_t *extent = byoc_loop_dim(builder, space->dims[axis]);
    int32_t previous = walk->count - 1;
    bool merge = previous >= 0;
    for (int32_t a = previous >= 0 ? walk->last[previous] : 0; merge && a < axis; ++a)
      merge = mergeable(lower, space, a);
    if (merge) {
      walk->last[previous] = axis;
      walk->extent[previous] = BYOC_LMUL(builder, walk->extent[previous], extent);
    } else {
      walk->first[walk->count] = walk->last[walk->count] = axis;
      walk->extent[walk->count++] = extent;
    }
  }
}

// One vector loop over elements `begin` to `end` of an axis, from `start` on.
static void lower_line(byoc_lower_t *lower, const byoc_node_t *anchor, uint32_t result, int32_t axis,
                       const byoc_loop_expr_t *start, const byoc_loop_expr_t *begin, const byoc_loop_expr_t *end,
                       const byoc_loop_expr_t **indices) {
  byoc_loop_builder_t *builder = byoc_lower_builder(lower);
  if (byoc_loop_expr_equal(begin, end)) return;
  indices[axis] = BYOC_LADD(builder, start, byoc_loop_for(builder, BYOC_LOOP_VECTOR, "i", begin, end));
  byoc_schedule_element(lower, anchor, result, indices);
  byoc_loop_end(builder);
}

// The elements of the last axis in runs, if the anchor has some there.
static bool lower_runs(byoc_lower_t *lower, const byoc_node_t *anchor, uint32_t result, const byoc_walk_t *walk,
                       const byoc_loop_expr_t **indices) {
  byoc_loop_builder_t *builder = byoc_lower_builder(lower);
  const byoc_op_t *op = byoc_op_of(anchor);
  const int32_t axis = walk->first[walk->count - 1];
  byoc_op_runs_t runs;
  if (walk->last[walk->count - 1] != axis || op == NULL || op->runs == NULL || !op->runs(lower, anchor, axis, &runs)) {
    return false;
  }
  const byoc_loop_expr_t *zero = byoc_loop_int(builder, 0);
  const byoc_loop_expr_t *rest = BYOC_LADD(builder, runs.first, BYOC_LMUL(builder, runs.count, runs.length));
  lower_line(lower, anchor, result, axis, zero, zero, runs.first, indices);
  const byoc_loop_expr_t *run = byoc_loop_for(builder, BYOC_LOOP_SERIAL, "run", zero, runs.count);
  const byoc_loop_expr_t *start = BYOC_LADD(builder, runs.first, BYOC_LMUL(builder, run, runs.length));
  lower_line(lower, anchor, result, axis, start, zero, runs.length, indices);
  byoc_loop_end(builder);
  lower_line(lower, anchor, result, axis, zero, rest, walk->extent[walk->count - 1], indices);
  return true;
}

static void lower_result(byoc_lower_t *lower, const byoc_node_t *anchor, uint32_t result) {
  byoc_loop_builder_t *builder = byoc_lower_builder(lower);
  const byoc_type_t *space = anchor->results[result]->type;
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK], *zero = byoc_loop_int(builder, 0);
  byoc_walk_t walk = {.count = 0};
  for (int32_t axis = 0; axis < space->rank; ++axis) indices[axis] = zero;
  plan_walk(lower, space, &walk);
  if (walk.count == 0) {
    byoc_schedule_element(lower, anchor, result, indices);
    return;
  }
  if (byoc_kernel_lower_transposed(lower, anchor, result, &walk, indices)) return;
  int32_t inner = walk.count - 1;
  if (inner > 0) {
    const byoc_loop_expr_t *extent = walk.extent[0];
    for (int32_t i = 1; i < inner; ++i) extent = BYOC_LMUL(builder, extent, walk.extent[i]);
    const byoc_loop_expr_t *outer = byoc_loop_for(builder, BYOC_LOOP_PARALLEL, "p", zero, extent);
    for (int32_t i = inner - 1; i >= 0; --i) {
      const byoc_loop_expr_t *own = i == 0 ? outer : byoc_loop_binary(builder, BYOC_LOOP_OP_MOD, outer, walk.extent[i]);
      if (i > 0) outer = byoc_loop_binary(builder, BYOC_LOOP_OP_FLOORDIV, outer, walk.extent[i]);
      own = byoc_loop_let(builder, "i", own);
      byoc_schedule_split(builder, space, walk.first[i], walk.last[i], own, indices);
    }
  }
  if (inner > 0 && lower_runs(lower, anchor, result, &walk, indices)) {
    byoc_loop_end(builder);
    return;
  }
  const byoc_loop_expr_t *index =
      byoc_loop_for(builder, inner > 0 ? BYOC_LOOP_VECTOR : BYOC_LOOP_PARALLEL, "i", zero, walk.extent[inner]);
  byoc_schedule_split(builder, space, walk.first[inner], walk.last[inner], index, indices);
  byoc_schedule_element(lower, anchor, result, indices);
  byoc_loop_end(builder);
  if (inner > 0) byoc_loop_end(builder);
}

byoc_status_t byoc_kernel_lower_points(byoc_lower_t *lower, const byoc_node_t *anchor) {
  for (uint32_t result = 0; result < anchor->result_count; ++result)
    if (anchor->results[result]->uses.count > 0) lower_result(lower, anchor, result);
  return BYOC_OK;
}
