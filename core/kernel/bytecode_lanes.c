// SPDX-License-Identifier: Apache-2.0
// Decides which parts of a loop run in lanes: which values differ from lane to lane, and which loops run in strips.
#include "core/kernel/bytecode_compiler.h"
#include "core/kernel/work.h"

// Loops whose lanes would need more local memory than this run one iteration at a time.
#define MAX_LANE_LOCAL_BYTES ((int64_t)16 << 20)

bool byoc_code_varies(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr) {
  if (!compiler->in_lanes) return false;
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    return byoc_code_location(compiler, expr->variable)->is_vector;
  case BYOC_LOOP_LOAD:
    return byoc_code_buffer_entry(compiler, expr->load.buffer)->is_vector ||
           byoc_code_varies(compiler, expr->load.index);
  case BYOC_LOOP_OP:
    return byoc_code_varies(compiler, expr->op.operands[0]) ||
           (expr->op.operands[1] && byoc_code_varies(compiler, expr->op.operands[1]));
  case BYOC_LOOP_SELECT:
    return byoc_code_varies(compiler, expr->select.condition) || byoc_code_varies(compiler, expr->select.yes) ||
           byoc_code_varies(compiler, expr->select.no);
  case BYOC_LOOP_CAST:
    return byoc_code_varies(compiler, expr->cast);
  default:
    return false;
  }
}

bool byoc_code_is_even(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr, int64_t *out_step) {
  int64_t a, b;
  *out_step = 0;
  if (expr->dtype != BYOC_DTYPE_I64) return false;
  if (!byoc_code_varies(compiler, expr)) return true;
  if (expr->kind == BYOC_LOOP_VARIABLE) {
    const byoc_code_location_t *place = byoc_code_location(compiler, expr->variable);
    *out_step = place->step;
    return place->is_even;
  }
  if (expr->kind != BYOC_LOOP_OP || !expr->op.operands[1] || !byoc_code_is_even(compiler, expr->op.operands[0], &a) ||
      !byoc_code_is_even(compiler, expr->op.operands[1], &b))
    return false;
  switch (expr->op.op) {
  case BYOC_LOOP_OP_ADD:
    return !__builtin_add_overflow(a, b, out_step);
  case BYOC_LOOP_OP_SUB:
    return !__builtin_sub_overflow(a, b, out_step);
  case BYOC_LOOP_OP_MUL: {
    int64_t factor;
    return byoc_loop_is_int(expr->op.operands[1], &factor) && !__builtin_mul_overflow(a, factor, out_step);
  }
  default:
    return false;
  }
}

bool byoc_code_has_vector_loop(const byoc_loop_stmt_t *stmt) {
  switch (stmt->kind) {
  case BYOC_LOOP_FOR:
    return stmt->loop.kind == BYOC_LOOP_VECTOR || byoc_code_has_vector_loop(stmt->loop.body);
  case BYOC_LOOP_WHILE:
    return byoc_code_has_vector_loop(stmt->loop_while.body);
  case BYOC_LOOP_IF:
    return byoc_code_has_vector_loop(stmt->branch.yes) ||
           (stmt->branch.no && byoc_code_has_vector_loop(stmt->branch.no));
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i)
      if (byoc_code_has_vector_loop(stmt->block.statements.data[i])) return true;
    return false;
  default:
    return false;
  }
}

bool byoc_code_fits_lanes(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt, int64_t *local_bytes) {
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i)
      if (!byoc_code_fits_lanes(compiler, stmt->block.statements.data[i], local_bytes)) return false;
    return true;
  case BYOC_LOOP_FOR:
    *byoc_code_location(compiler, stmt->loop.variable) = (byoc_code_location_t){.is_vector = false};
    return !byoc_code_varies(compiler, stmt->loop.begin) && !byoc_code_varies(compiler, stmt->loop.end) &&
           byoc_code_fits_lanes(compiler, stmt->loop.body, local_bytes);
  case BYOC_LOOP_WHILE:
    return !byoc_code_varies(compiler, stmt->loop_while.condition) &&
           byoc_code_fits_lanes(compiler, stmt->loop_while.body, local_bytes);
  case BYOC_LOOP_IF:
    return !byoc_code_varies(compiler, stmt->branch.condition) &&
           byoc_code_fits_lanes(compiler, stmt->branch.yes, local_bytes) &&
           (!stmt->branch.no || byoc_code_fits_lanes(compiler, stmt->branch.no, local_bytes));
  case BYOC_LOOP_LET: {
    bool is_vector = stmt->assign.variable->is_mutable || byoc_code_varies(compiler, stmt->assign.value);
    *byoc_code_location(compiler, stmt->assign.variable) = (byoc_code_location_t){.is_vector = is_vector};
    return true;
  }
  case BYOC_LOOP_ASSIGN:
    return byoc_code_location(compiler, stmt->assign.variable)->is_vector;
  case BYOC_LOOP_STORE:
    return byoc_code_varies(compiler, stmt->store.index) ||
           byoc_code_buffer_entry(compiler, stmt->store.buffer)->is_vector;
  case BYOC_LOOP_ALLOCATE: {
    int64_t bytes = byoc_work_times(stmt->allocate->dims[0].constant, BYOC_INTERPRETER_LANES * 8);
    *local_bytes += bytes < MAX_LANE_LOCAL_BYTES ? bytes : MAX_LANE_LOCAL_BYTES;
    if (*local_bytes >= MAX_LANE_LOCAL_BYTES) return false;
    byoc_code_add_buffer(compiler, stmt->allocate, true);
    return true;
  }
  case BYOC_LOOP_COMMENT:
    return true;
  }
  return false;
}

static bool reads(const byoc_loop_stmt_t *stmt, const byoc_loop_variable_t *variable) {
  if (stmt->kind != BYOC_LOOP_STORE) return byoc_loop_expr_reads(stmt->assign.value, variable);
  return byoc_loop_expr_reads(stmt->store.value, variable) || byoc_loop_expr_reads(stmt->store.index, variable);
}

bool byoc_code_is_reduction(const byoc_loop_stmt_t *loop) {
  const byoc_loop_stmt_t *body = loop->loop.body;
  bool stores = loop->loop.kind == BYOC_LOOP_REDUCE;
  size_t reductions = 0;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (stmt->kind == BYOC_LOOP_COMMENT || (stmt->kind == BYOC_LOOP_LET && !stmt->assign.variable->is_mutable))
      continue;
    if (stmt->kind == BYOC_LOOP_STORE && stores) continue;
    if (stmt->kind != BYOC_LOOP_ASSIGN || !byoc_loop_reduction_term(stmt)) return false;
    ++reductions;
    for (size_t j = 0; j < body->block.statements.count; ++j) {
      const byoc_loop_stmt_t *other = body->block.statements.data[j];
      if (i == j || other->kind == BYOC_LOOP_COMMENT) continue;
      if (reads(other, stmt->assign.variable)) return false;
      if (other->kind == BYOC_LOOP_ASSIGN && other->assign.variable == stmt->assign.variable) return false;
    }
  }
  return reductions > 0;
}
