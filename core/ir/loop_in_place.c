// SPDX-License-Identifier: Apache-2.0
// Decides whether a kernel may write a result over one of its operands.
#include "core/ir/loop_in_place.h"

#include "core/ir/loop_range.h"

typedef struct walk_t {
  const byoc_loop_buffer_t *input, *output;
  const byoc_loop_stmt_t *loop;               // the innermost loop around the statement
  bool in_branch;                             // inside an if or a while
  int64_t iterations;                         // of all loops around the statement; 0: not known
  const byoc_loop_stmt_t *store, *store_loop; // the store of the result, and the loop it is in
  bool stored;                                // the walk has passed the store
  bool fails;
} walk_t;

// Does the expression have the same value everywhere in an iteration?
static bool is_settled(const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
  case BYOC_LOOP_DIM:
    return true;
  case BYOC_LOOP_VARIABLE:
    return !expr->variable->is_mutable;
  case BYOC_LOOP_OP:
    for (uint32_t i = 0; i < byoc_loop_op_operand_count(expr->op.op); ++i) {
      if (!is_settled(expr->op.operands[i])) return false;
    }
    return true;
  case BYOC_LOOP_CAST:
    return is_settled(expr->cast);
  default:
    return false;
  }
}

// ---- the store ----

static void find_store(walk_t *w, const byoc_loop_stmt_t *stmt);

static void find_store_in_loop(walk_t *w, const byoc_loop_stmt_t *stmt) {
  const walk_t outer = *w;
  int64_t begin = 0, end = 0;
  bool known = byoc_loop_is_int(stmt->loop.begin, &begin) && byoc_loop_is_int(stmt->loop.end, &end) && end >= begin;
  w->loop = stmt;
  w->iterations =
      known && (end == begin || w->iterations <= INT64_MAX / (end - begin)) ? w->iterations * (end - begin) : 0;
  find_store(w, stmt->loop.body);
  w->loop = outer.loop;
  w->iterations = outer.iterations;
}

static void find_store(walk_t *w, const byoc_loop_stmt_t *stmt) {
  const bool in_branch = w->in_branch;
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i) find_store(w, stmt->block.statements.data[i]);
    return;
  case BYOC_LOOP_FOR:
    find_store_in_loop(w, stmt);
    return;
  case BYOC_LOOP_WHILE:
  case BYOC_LOOP_IF:
    w->in_branch = true;
    find_store(w, stmt->kind == BYOC_LOOP_WHILE ? stmt->loop_while.body : stmt->branch.yes);
    if (stmt->kind == BYOC_LOOP_IF && stmt->branch.no != NULL) find_store(w, stmt->branch.no);
    w->in_branch = in_branch;
    return;
  case BYOC_LOOP_STORE:
    if (stmt->store.buffer != w->output) return;
    // There are as many stores as elements. All elements are written, so each is written once.
    if (w->store != NULL || w->in_branch || !is_settled(stmt->store.index) ||
        stmt->store.value->kind == BYOC_LOOP_LOAD) {
      w->fails = true;
    }
    int64_t count = 1;
    for (int32_t d = 0; d < w->output->rank; ++d) {
      if (!byoc_dim_is_constant(w->output->dims[d])) w->fails = true;
      count *= w->output->dims[d].constant;
    }
    w->fails = w->fails || w->iterations != count;
    w->store = stmt;
    w->store_loop = w->loop;
    return;
  default:
    return;
  }
}

// ---- the loads ----

static void check_loads(walk_t *w, const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    check_loads(w, expr->load.index);
    if (expr->load.buffer == w->output) w->fails = true;
    if (expr->load.buffer != w->input) return;
    w->fails = w->fails || w->stored || w->loop != w->store_loop ||
               !byoc_loop_expr_equal(expr->load.index, w->store->store.index);
    return;
  case BYOC_LOOP_OP:
    for (uint32_t i = 0; i < byoc_loop_op_operand_count(expr->op.op); ++i) check_loads(w, expr->op.operands[i]);
    return;
  case BYOC_LOOP_SELECT:
    check_loads(w, expr->select.condition);
    check_loads(w, expr->select.yes);
    check_loads(w, expr->select.no);
    return;
  case BYOC_LOOP_CAST:
    check_loads(w, expr->cast);
    return;
  default:
    return;
  }
}

static void check_statement(walk_t *w, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_stmt_t *outer = w->loop;
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i) check_statement(w, stmt->block.statements.data[i]);
    return;
  case BYOC_LOOP_FOR:
    check_loads(w, stmt->loop.begin);
    check_loads(w, stmt->loop.end);
    w->loop = stmt;
    check_statement(w, stmt->loop.body);
    w->loop = outer;
    return;
  case BYOC_LOOP_WHILE:
    w->loop = stmt; // is read more than once
    check_loads(w, stmt->loop_while.condition);
    check_statement(w, stmt->loop_while.body);
    w->loop = outer;
    return;
  case BYOC_LOOP_IF:
    check_loads(w, stmt->branch.condition);
    check_statement(w, stmt->branch.yes);
    if (stmt->branch.no != NULL) check_statement(w, stmt->branch.no);
    return;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN:
    check_loads(w, stmt->assign.value);
    return;
  case BYOC_LOOP_STORE:
    check_loads(w, stmt->store.index);
    check_loads(w, stmt->store.value);
    w->stored = w->stored || stmt == w->store;
    return;
  default:
    return;
  }
}

bool byoc_loop_may_overwrite(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output) {
  const byoc_loop_buffer_t *from = kernel->parameters.data[input];
  const byoc_loop_buffer_t *to = kernel->parameters.data[kernel->input_count + output];
  if (from->dtype != to->dtype || from->rank != to->rank || byoc_dtype_bits(to->dtype) % 8 != 0) return false;
  for (int32_t d = 0; d < to->rank; ++d) {
    if (!byoc_dim_equal(from->dims[d], to->dims[d])) return false;
  }
  walk_t w = {.input = from, .output = to, .iterations = 1};
  find_store(&w, kernel->body);
  if (w.fails || w.store == NULL) return false;
  w.loop = NULL;
  check_statement(&w, kernel->body);
  return !w.fails;
}
