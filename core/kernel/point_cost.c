// SPDX-License-Identifier: Apache-2.0
// Computes the cost of one element of a point definition by a trial lowering, for fusion to decide about inlining.
#include "core/ir/loop_fold.h"
#include "core/kernel/fuse.h"
#include "core/kernel/lower_group.h"

#define MAX_COST_VISITS 4096

static uint32_t op_weight(byoc_loop_op_t op, byoc_dtype_t dtype) {
  switch (op) {
  case BYOC_LOOP_OP_DIV:
  case BYOC_LOOP_OP_SQRT:
  case BYOC_LOOP_OP_FLOORDIV:
  case BYOC_LOOP_OP_MOD:
    return byoc_loop_is_float(dtype) ? 4 : 6;
  case BYOC_LOOP_OP_FMOD:
    return 10;
  case BYOC_LOOP_OP_POW:
  case BYOC_LOOP_OP_ATAN2:
    return 20;
  default:
    return byoc_loop_op_category(op) == BYOC_LOOP_TRANSCENDENTAL ? 12 : 1;
  }
}

typedef struct cost_t {
  uint32_t operations, reads, visits;
} cost_t;

static void add_cost(cost_t *cost, const byoc_loop_expr_t *expr) {
  if (++cost->visits > MAX_COST_VISITS) return;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    ++cost->reads;
    break;
  case BYOC_LOOP_OP:
    cost->operations += op_weight(expr->op.op, expr->op.operands[0]->dtype);
    add_cost(cost, expr->op.operands[0]);
    if (expr->op.operands[1]) add_cost(cost, expr->op.operands[1]);
    break;
  case BYOC_LOOP_SELECT:
    ++cost->operations;
    add_cost(cost, expr->select.condition);
    add_cost(cost, expr->select.yes);
    add_cost(cost, expr->select.no);
    break;
  case BYOC_LOOP_CAST:
    ++cost->operations;
    add_cost(cost, expr->cast);
    break;
  default:
    break;
  }
}

bool byoc_point_cost(byoc_fuse_node_t *entry, byoc_allocator_t allocator) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  byoc_lower_t lower;
  byoc_lower_init(&lower, &arena, "trial", byoc_kernel_find_definition, NULL);
  uint32_t worst = 0, loads = 0, reads = 0;
  bool fine = !lower.builder.failed;
  for (uint32_t r = 0; r < entry->node->result_count && fine; ++r) {
    const byoc_type_t *type = entry->node->results[r]->type;
    if (entry->node->results[r]->uses.count == 0) continue;
    const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
    for (int32_t d = 0; d < type->rank; ++d)
      indices[d] = byoc_loop_for(&lower.builder, BYOC_LOOP_SERIAL, "i", byoc_loop_int(&lower.builder, 0),
                                 byoc_loop_dim(&lower.builder, type->dims[d]));
    lower.elements.count = 0;
    const byoc_loop_expr_t *expr = lower.builder.failed ? NULL : byoc_lower_point(&lower, entry->node, r, indices);
    fine = expr && !lower.builder.failed;
    if (!fine) break;
    cost_t cost = {0};
    add_cost(&cost, expr);
    fine = cost.visits <= MAX_COST_VISITS;
    if (cost.operations > worst) worst = cost.operations;
    if (cost.reads > reads) reads = cost.reads;
    if (lower.elements.count > loads) loads = (uint32_t)lower.elements.count;
  }
  entry->cost = worst, entry->loads = loads, entry->reads = reads;
  byoc_lower_deinit(&lower);
  byoc_arena_deinit(&arena);
  return fine;
}
