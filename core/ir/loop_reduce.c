// SPDX-License-Identifier: Apache-2.0
// Finds the variables that expressions read, and the assignments that are reductions: they fold a term into a scalar.
#include "core/ir/loop.h"

bool byoc_loop_expr_reads(const byoc_loop_expr_t *expr, const byoc_loop_variable_t *variable) {
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    return expr->variable == variable;
  case BYOC_LOOP_LOAD:
    return byoc_loop_expr_reads(expr->load.index, variable);
  case BYOC_LOOP_OP:
    return byoc_loop_expr_reads(expr->op.operands[0], variable) ||
           (expr->op.operands[1] && byoc_loop_expr_reads(expr->op.operands[1], variable));
  case BYOC_LOOP_SELECT:
    return byoc_loop_expr_reads(expr->select.condition, variable) || byoc_loop_expr_reads(expr->select.yes, variable) ||
           byoc_loop_expr_reads(expr->select.no, variable);
  case BYOC_LOOP_CAST:
    return byoc_loop_expr_reads(expr->cast, variable);
  default:
    return false;
  }
}

bool byoc_loop_steps_by_one(const byoc_loop_expr_t *index, const byoc_loop_variable_t *variable) {
  if (index->kind == BYOC_LOOP_VARIABLE) return index->variable == variable;
  if (index->kind != BYOC_LOOP_OP || (index->op.op != BYOC_LOOP_OP_ADD && index->op.op != BYOC_LOOP_OP_SUB)) {
    return false;
  }
  const byoc_loop_expr_t *a = index->op.operands[0], *b = index->op.operands[1];
  if (byoc_loop_steps_by_one(a, variable)) return !byoc_loop_expr_reads(b, variable);
  return index->op.op == BYOC_LOOP_OP_ADD && byoc_loop_steps_by_one(b, variable) && !byoc_loop_expr_reads(a, variable);
}

const byoc_loop_expr_t *byoc_loop_reduction_term(const byoc_loop_stmt_t *stmt) {
  const byoc_loop_expr_t *value = stmt->assign.value;
  const byoc_loop_variable_t *variable = stmt->assign.variable;
  if (value->kind != BYOC_LOOP_OP) return NULL;
  switch (value->op.op) {
  case BYOC_LOOP_OP_ADD:
  case BYOC_LOOP_OP_MUL:
  case BYOC_LOOP_OP_MIN:
  case BYOC_LOOP_OP_MAX:
  case BYOC_LOOP_OP_AND:
  case BYOC_LOOP_OP_OR:
    break;
  default:
    return NULL;
  }
  for (int side = 0; side < 2; ++side) {
    const byoc_loop_expr_t *own = value->op.operands[side], *term = value->op.operands[1 - side];
    if (own->kind == BYOC_LOOP_VARIABLE && own->variable == variable && !byoc_loop_expr_reads(term, variable))
      return term;
  }
  return NULL;
}
