// SPDX-License-Identifier: Apache-2.0
// Checks the rules of loop.h: types of operands, scopes of variables and buffers, and where each kind of loop may be.
#include <string.h>

#include "core/base/map.h"
#include "core/ir/loop_fold.h"

typedef struct verifier_t {
  const byoc_loop_kernel_t *kernel;
  byoc_diag_t *diag;
  byoc_allocator_t allocator;
  BYOC_VECTOR(const void *) scope;       // variables and local buffers, innermost last
  BYOC_VECTOR(const char *) scope_names; // of these
  byoc_map_t names;                      // text map: those, and the names of parameters; NULL: no longer in scope
  size_t outside;                        // entries of `scope` made outside the innermost independent loop
  size_t reduced;                        // the same for the innermost reducing loop
  int depth;                             // loops and branches around the statement
} verifier_t;

static byoc_status_t report(verifier_t *verifier, const char *rule, const char *subject) {
  return byoc_diag_error(verifier->diag, BYOC_INTERNAL, "kernel '%s': %s: '%s'",
                         verifier->kernel->name ? verifier->kernel->name : "?", rule, subject);
}

static bool in_scope(const verifier_t *verifier, const void *item, size_t from) {
  for (size_t i = verifier->scope.count; i > from; --i)
    if (verifier->scope.data[i - 1] == item) return true;
  return false;
}

// A name that hides another one would mean that one in C.
static byoc_status_t take_name(verifier_t *verifier, const char *name) {
  if (!byoc_loop_name_is_free(name))
    return report(verifier, "name of C, or one that kernels in C use themselves", name);
  if (byoc_string_map_get(&verifier->names, name)) return report(verifier, "two things of one name", name);
  if (!byoc_string_map_put(&verifier->names, name, verifier)) return byoc_diag_out_of_memory(verifier->diag);
  return BYOC_OK;
}

static byoc_status_t enter(verifier_t *verifier, const void *item, const char *name) {
  BYOC_RETURN_IF_ERROR(take_name(verifier, name));
  if (!byoc_vector_push(&verifier->scope, verifier->allocator, item) ||
      !byoc_vector_push(&verifier->scope_names, verifier->allocator, name))
    return byoc_diag_out_of_memory(verifier->diag);
  return BYOC_OK;
}

static void leave(verifier_t *verifier, size_t mark) {
  for (size_t i = mark; i < verifier->scope_names.count; ++i)
    byoc_string_map_find(&verifier->names, verifier->scope_names.data[i])->value = NULL;
  verifier->scope.count = verifier->scope_names.count = mark;
}

static byoc_status_t check_buffer(verifier_t *verifier, const byoc_loop_buffer_t *buffer, bool store) {
  if (!buffer) return report(verifier, "missing buffer", "?");
  if (!byoc_loop_is_scalar(buffer->dtype)) return report(verifier, "elements are not numbers", buffer->name);
  if (buffer->kind == BYOC_LOOP_BUFFER_LOCAL) {
    if (!in_scope(verifier, buffer, 0)) return report(verifier, "local buffer out of scope", buffer->name);
    return BYOC_OK;
  }
  if (buffer->index >= verifier->kernel->parameters.count || verifier->kernel->parameters.data[buffer->index] != buffer)
    return report(verifier, "buffer of another kernel", buffer->name);
  if (store && buffer->kind == BYOC_LOOP_BUFFER_INPUT) return report(verifier, "store to an input", buffer->name);
  return BYOC_OK;
}

static byoc_status_t check_expr(verifier_t *verifier, const byoc_loop_expr_t *expr);

static byoc_status_t check_typed(verifier_t *verifier, const byoc_loop_expr_t *expr, byoc_dtype_t dtype,
                                 const char *what) {
  BYOC_RETURN_IF_ERROR(check_expr(verifier, expr));
  if (expr->dtype != dtype) return report(verifier, what, byoc_dtype_name(expr->dtype));
  return BYOC_OK;
}

static bool op_takes(byoc_loop_op_t op, byoc_dtype_t dtype) {
  bool is_float = byoc_loop_is_float(dtype), is_bool = dtype == BYOC_DTYPE_BOOL;
  if (byoc_loop_is_comparison(op)) return true;
  switch (op) {
  case BYOC_LOOP_OP_AND:
  case BYOC_LOOP_OP_OR:
  case BYOC_LOOP_OP_XOR:
  case BYOC_LOOP_OP_NOT:
    return !is_float;
  case BYOC_LOOP_OP_SHL:
  case BYOC_LOOP_OP_SHR:
    return byoc_loop_is_integer(dtype);
  case BYOC_LOOP_OP_DOT4:
    return dtype == BYOC_DTYPE_I32;
  case BYOC_LOOP_OP_MIN:
  case BYOC_LOOP_OP_MAX:
    return true;
  case BYOC_LOOP_OP_ADD:
  case BYOC_LOOP_OP_SUB:
  case BYOC_LOOP_OP_MUL:
  case BYOC_LOOP_OP_DIV:
  case BYOC_LOOP_OP_FLOORDIV:
  case BYOC_LOOP_OP_MOD:
  case BYOC_LOOP_OP_FMOD:
  case BYOC_LOOP_OP_NEG:
  case BYOC_LOOP_OP_ABS:
  case BYOC_LOOP_OP_SIGN:
    return !is_bool;
  case BYOC_LOOP_OP_FLOOR:
  case BYOC_LOOP_OP_CEIL:
  case BYOC_LOOP_OP_ROUND:
  case BYOC_LOOP_OP_TRUNC:
  default:
    return is_float;
  }
}

static byoc_status_t check_op(verifier_t *verifier, const byoc_loop_expr_t *expr) {
  const byoc_loop_expr_t *a = expr->op.operands[0], *b = expr->op.operands[1];
  const char *name = byoc_loop_op_name(expr->op.op);
  BYOC_RETURN_IF_ERROR(check_expr(verifier, a));
  if (!op_takes(expr->op.op, a->dtype)) return report(verifier, "operator does not take such operands", name);
  if (byoc_loop_op_operand_count(expr->op.op) == 2) {
    BYOC_RETURN_IF_ERROR(check_expr(verifier, b));
    if (a->dtype != b->dtype) return report(verifier, "operands of two types", name);
  }
  if (expr->dtype != (byoc_loop_is_comparison(expr->op.op) ? BYOC_DTYPE_BOOL : a->dtype))
    return report(verifier, "result of a wrong type", name);
  return BYOC_OK;
}

static byoc_status_t check_symbol(verifier_t *verifier, const char *symbol) {
  for (size_t i = 0; i < verifier->kernel->symbols.count; ++i)
    if (strcmp(verifier->kernel->symbols.data[i], symbol) == 0) return BYOC_OK;
  return report(verifier, "dimension is not among the kernel's symbols", symbol);
}

static byoc_status_t check_expr(verifier_t *verifier, const byoc_loop_expr_t *expr) {
  if (!expr) return report(verifier, "missing expression", "?");
  if (!byoc_loop_is_scalar(expr->dtype))
    return report(verifier, "expression of a type that is not numeric", byoc_dtype_name(expr->dtype));
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
    return BYOC_OK;
  case BYOC_LOOP_VARIABLE:
    if (!in_scope(verifier, expr->variable, 0)) return report(verifier, "variable out of scope", expr->variable->name);
    if (expr->dtype != expr->variable->dtype) return report(verifier, "type of a variable", expr->variable->name);
    return BYOC_OK;
  case BYOC_LOOP_DIM:
    if (expr->dtype != BYOC_DTYPE_I64) return report(verifier, "type of a dimension", expr->symbol);
    return check_symbol(verifier, expr->symbol);
  case BYOC_LOOP_LOAD:
    BYOC_RETURN_IF_ERROR(check_buffer(verifier, expr->load.buffer, false));
    if (expr->dtype != expr->load.buffer->dtype) return report(verifier, "type of a load", expr->load.buffer->name);
    return check_typed(verifier, expr->load.index, BYOC_DTYPE_I64, "index is not i64");
  case BYOC_LOOP_OP:
    return check_op(verifier, expr);
  case BYOC_LOOP_SELECT:
    BYOC_RETURN_IF_ERROR(check_typed(verifier, expr->select.condition, BYOC_DTYPE_BOOL, "condition is not bool"));
    BYOC_RETURN_IF_ERROR(check_typed(verifier, expr->select.yes, expr->dtype, "choice of another type"));
    return check_typed(verifier, expr->select.no, expr->dtype, "choice of another type");
  case BYOC_LOOP_CAST:
    return check_expr(verifier, expr->cast);
  }
  return report(verifier, "unknown expression", "?");
}

static byoc_status_t check_stmt(verifier_t *verifier, const byoc_loop_stmt_t *stmt);

// A nested body: its names end with it.
static byoc_status_t check_body(verifier_t *verifier, const byoc_loop_stmt_t *body) {
  if (!body || body->kind != BYOC_LOOP_BLOCK) return report(verifier, "body is not a block", "?");
  size_t mark = verifier->scope.count;
  ++verifier->depth;
  byoc_status_t status = check_stmt(verifier, body);
  --verifier->depth;
  leave(verifier, mark);
  return status;
}

static byoc_status_t check_for(verifier_t *verifier, const byoc_loop_stmt_t *stmt) {
  const char *name = stmt->loop.variable ? stmt->loop.variable->name : "?";
  int64_t begin, end;
  BYOC_RETURN_IF_ERROR(check_typed(verifier, stmt->loop.begin, BYOC_DTYPE_I64, "bound of a loop is not i64"));
  BYOC_RETURN_IF_ERROR(check_typed(verifier, stmt->loop.end, BYOC_DTYPE_I64, "bound of a loop is not i64"));
  if (!stmt->loop.variable || stmt->loop.variable->dtype != BYOC_DTYPE_I64 || stmt->loop.variable->is_mutable)
    return report(verifier, "loop variable is not a plain i64", name);
  if (stmt->loop.kind == BYOC_LOOP_PARALLEL && verifier->depth > 0)
    return report(verifier, "parallel loop inside another statement", name);
  if (stmt->loop.kind == BYOC_LOOP_UNROLL &&
      (!byoc_loop_is_int(stmt->loop.begin, &begin) || !byoc_loop_is_int(stmt->loop.end, &end)))
    return report(verifier, "unrolled loop without constant bounds", name);
  size_t mark = verifier->scope.count, outside = verifier->outside, reduced = verifier->reduced;
  BYOC_RETURN_IF_ERROR(enter(verifier, stmt->loop.variable, name));
  if (stmt->loop.kind == BYOC_LOOP_PARALLEL || stmt->loop.kind == BYOC_LOOP_VECTOR) verifier->outside = mark;
  if (stmt->loop.kind == BYOC_LOOP_REDUCE) verifier->reduced = mark;
  byoc_status_t status = check_body(verifier, stmt->loop.body);
  leave(verifier, mark);
  verifier->outside = outside;
  verifier->reduced = reduced;
  return status;
}

static byoc_status_t check_assign(verifier_t *verifier, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_variable_t *variable = stmt->assign.variable;
  if (!variable) return report(verifier, "missing variable", "?");
  BYOC_RETURN_IF_ERROR(check_typed(verifier, stmt->assign.value, variable->dtype, "value of another type"));
  if (stmt->kind == BYOC_LOOP_LET) return enter(verifier, variable, variable->name);
  if (!variable->is_mutable) return report(verifier, "assignment to a constant", variable->name);
  if (!in_scope(verifier, variable, 0)) return report(verifier, "variable out of scope", variable->name);
  if (!in_scope(verifier, variable, verifier->outside))
    return report(verifier, "iterations of a parallel or vector loop share a variable", variable->name);
  bool unchanged = stmt->assign.value->kind == BYOC_LOOP_VARIABLE && stmt->assign.value->variable == variable;
  if (!in_scope(verifier, variable, verifier->reduced) && !unchanged && !byoc_loop_reduction_term(stmt))
    return report(verifier, "iterations of a reducing loop share a variable that they do not fold into",
                  variable->name);
  return BYOC_OK;
}

static byoc_status_t check_stmt(verifier_t *verifier, const byoc_loop_stmt_t *stmt) {
  if (!stmt) return report(verifier, "missing statement", "?");
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i) {
      const byoc_loop_stmt_t *inner = stmt->block.statements.data[i];
      size_t mark = verifier->scope.count;
      BYOC_RETURN_IF_ERROR(check_stmt(verifier, inner));
      if (inner && inner->kind == BYOC_LOOP_BLOCK) leave(verifier, mark);
    }
    return BYOC_OK;
  case BYOC_LOOP_FOR:
    return check_for(verifier, stmt);
  case BYOC_LOOP_WHILE:
    BYOC_RETURN_IF_ERROR(check_typed(verifier, stmt->loop_while.condition, BYOC_DTYPE_BOOL, "condition is not bool"));
    return check_body(verifier, stmt->loop_while.body);
  case BYOC_LOOP_IF:
    BYOC_RETURN_IF_ERROR(check_typed(verifier, stmt->branch.condition, BYOC_DTYPE_BOOL, "condition is not bool"));
    BYOC_RETURN_IF_ERROR(check_body(verifier, stmt->branch.yes));
    return stmt->branch.no ? check_body(verifier, stmt->branch.no) : BYOC_OK;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN:
    return check_assign(verifier, stmt);
  case BYOC_LOOP_STORE:
    BYOC_RETURN_IF_ERROR(check_buffer(verifier, stmt->store.buffer, true));
    BYOC_RETURN_IF_ERROR(check_typed(verifier, stmt->store.index, BYOC_DTYPE_I64, "index is not i64"));
    return check_typed(verifier, stmt->store.value, stmt->store.buffer->dtype, "value of another type than the buffer");
  case BYOC_LOOP_ALLOCATE: {
    const byoc_loop_buffer_t *buffer = stmt->allocate;
    if (!buffer || buffer->kind != BYOC_LOOP_BUFFER_LOCAL || buffer->rank != 1 ||
        !byoc_dim_is_constant(buffer->dims[0]) || buffer->dims[0].constant < 1)
      return report(verifier, "local buffer without a constant size", buffer ? buffer->name : "?");
    return enter(verifier, buffer, buffer->name);
  }
  case BYOC_LOOP_COMMENT:
    return BYOC_OK;
  }
  return report(verifier, "unknown statement", "?");
}

byoc_status_t byoc_loop_verify(const byoc_loop_kernel_t *kernel, byoc_diag_t *diag) {
  verifier_t verifier = {.kernel = kernel, .diag = diag, .allocator = byoc_allocator_system()};
  byoc_status_t status = BYOC_OK;
  byoc_string_map_init(&verifier.names, verifier.allocator);
  if (!kernel->name || !*kernel->name) status = report(&verifier, "no name", "?");
  for (size_t i = 0; i < kernel->parameters.count && status == BYOC_OK; ++i) {
    const byoc_loop_buffer_t *buffer = kernel->parameters.data[i];
    bool is_input = i < kernel->input_count;
    if (buffer->index != i || (buffer->kind == BYOC_LOOP_BUFFER_INPUT) != is_input)
      status = report(&verifier, "parameters are not inputs, then outputs", buffer->name);
    if (status == BYOC_OK) status = take_name(&verifier, buffer->name);
  }
  if (status == BYOC_OK && kernel->parameters.count != kernel->input_count + kernel->output_count)
    status = report(&verifier, "parameters are not inputs and outputs", "");
  if (status == BYOC_OK) status = check_stmt(&verifier, kernel->body);
  byoc_map_deinit(&verifier.names);
  byoc_vector_deinit(&verifier.scope_names, verifier.allocator);
  byoc_vector_deinit(&verifier.scope, verifier.allocator);
  return status;
}
