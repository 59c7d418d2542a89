// SPDX-License-Identifier: Apache-2.0
// Emits loops that fold terms into scalars as OpenMP simd reductions, which compilers vectorise without being allowed
// to reorder any other arithmetic.
#include "core/ir/loop_fold.h"
#include "core/kernel/emit.h"

// Do the clauses apply to the statement: is it an assignment directly in the body of the loop?
static bool is_fold(const byoc_loop_stmt_t *stmt) {
  return stmt->kind == BYOC_LOOP_ASSIGN && byoc_loop_reduction_term(stmt);
}

static bool is_extreme(const byoc_loop_stmt_t *fold) {
  byoc_loop_op_t op = fold->assign.value->op.op;
  return (op == BYOC_LOOP_OP_MIN || op == BYOC_LOOP_OP_MAX) && fold->assign.variable->dtype != BYOC_DTYPE_BOOL;
}

// NaN wins over every number. Compilers have no such maximum, so a flag notes it.
static bool has_flag(const byoc_loop_stmt_t *fold) {
  return is_extreme(fold) && byoc_loop_is_float(fold->assign.variable->dtype);
}

// Sums of integers wrap and may be in any order anyway; with clauses, their overflow would be an error.
static bool has_clause(const byoc_loop_stmt_t *fold) {
  byoc_loop_op_t op = fold->assign.value->op.op;
  bool sum = op == BYOC_LOOP_OP_ADD || op == BYOC_LOOP_OP_MUL;
  return is_extreme(fold) || (sum && byoc_loop_is_float(fold->assign.variable->dtype));
}

static const char *symbol_of(const byoc_loop_stmt_t *fold) {
  switch (fold->assign.value->op.op) {
  case BYOC_LOOP_OP_MUL:
    return "*";
  case BYOC_LOOP_OP_MIN:
    return "min";
  case BYOC_LOOP_OP_MAX:
    return "max";
  default:
    return "+";
  }
}

// Every fold needs its clause, otherwise the loop is left to the compiler: assignments without one would be shared
// silently.
static bool has_clauses(const byoc_loop_stmt_t *loop) {
  const byoc_loop_stmt_t *body = loop->loop.body;
  size_t folds = 0;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    switch (stmt->kind) {
    case BYOC_LOOP_ASSIGN:
      if (!is_fold(stmt) || !has_clause(stmt)) return false;
      ++folds;
      break;
    case BYOC_LOOP_LET:
    case BYOC_LOOP_STORE:
    case BYOC_LOOP_COMMENT:
      break;
    default:
      return false;
    }
  }
  return folds > 0;
}

void byoc_emit_reduce_begin(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent) {
  const byoc_loop_stmt_t *body = loop->loop.body;
  byoc_string_t *out = emitter->out;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (!is_fold(stmt) || !has_flag(stmt)) continue;
    const char *name = stmt->assign.variable->name;
    byoc_string_indent(out, indent);
    byoc_string_appendf(out, "int32_t %s_nan = %s != %s;\n", name, name, name);
  }
  if (!has_clauses(loop)) return;
  emitter->uses_reduce = true;
  byoc_string_indent(out, indent);
  byoc_string_append(out, "BYOC_REDUCE(");
  const char *separator = "";
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (!is_fold(stmt)) continue;
    byoc_string_appendf(out, "%sreduction(%s : %s)", separator, symbol_of(stmt), stmt->assign.variable->name);
    if (has_flag(stmt)) byoc_string_appendf(out, " reduction(| : %s_nan)", stmt->assign.variable->name);
    separator = " ";
  }
  byoc_string_append(out, ")\n");
}

bool byoc_emit_reduce_fold(byoc_emitter_t *emitter, const byoc_loop_stmt_t *assign, int indent) {
  if (!is_fold(assign) || !is_extreme(assign)) return false;
  const byoc_loop_expr_t *term = byoc_loop_reduction_term(assign);
  const char *name = assign->assign.variable->name;
  byoc_string_t *out = emitter->out;
  byoc_string_indent(out, indent);
  byoc_string_appendf(out, "const %s %s_term = ", byoc_c_value_type(assign->assign.variable->dtype), name);
  byoc_emit_expr(emitter, term, BYOC_C_CONDITIONAL);
  byoc_string_append(out, ";\n");
  byoc_string_indent(out, indent);
  const char *order = assign->assign.value->op.op == BYOC_LOOP_OP_MAX ? "<" : ">";
  byoc_string_appendf(out, "%s = %s %s %s_term ? %s_term : %s;\n", name, name, order, name, name, name);
  if (!has_flag(assign)) return true;
  byoc_string_indent(out, indent);
  byoc_string_appendf(out, "%s_nan |= %s_term != %s_term;\n", name, name, name);
  return true;
}

void byoc_emit_reduce_end(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent) {
  const byoc_loop_stmt_t *body = loop->loop.body;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (!is_fold(stmt) || !has_flag(stmt)) continue;
    const char *name = stmt->assign.variable->name;
    byoc_string_indent(emitter->out, indent);
    byoc_string_appendf(emitter->out, "if (%s_nan) %s = %sNAN;\n", name, name,
                        stmt->assign.variable->dtype == BYOC_DTYPE_F64 ? "(double)" : "");
  }
}
