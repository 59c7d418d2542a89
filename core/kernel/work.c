// SPDX-License-Identifier: Apache-2.0
// Estimates the work of statements and collects the variables and buffers that they use.
#include "core/kernel/work.h"

#include <string.h>

// The trip count assumed for loops whose bounds are known only at run time.
#define UNKNOWN_TURNS 64

int64_t byoc_loop_iterations(const byoc_loop_stmt_t *stmt) {
  int64_t begin, end;
  if (!byoc_loop_is_int(stmt->loop.begin, &begin) || !byoc_loop_is_int(stmt->loop.end, &end)) return -1;
  return end > begin ? end - begin : 0;
}

int64_t byoc_work_times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 4 : product;
}

static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX / 4 : sum;
}

static int64_t expr_work(const byoc_loop_expr_t *expr, int depth) {
  if (depth > 24) return 1; // with shared sub-expressions a tree can have any size
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    return 1;
  case BYOC_LOOP_OP: {
    bool is_call = byoc_loop_op_category(expr->op.op) == BYOC_LOOP_TRANSCENDENTAL;
    int64_t own = is_call || expr->op.op == BYOC_LOOP_OP_POW ? 10 : 1;
    own = plus(own, expr_work(expr->op.operands[0], depth + 1));
    return expr->op.operands[1] ? plus(own, expr_work(expr->op.operands[1], depth + 1)) : own;
  }
  case BYOC_LOOP_SELECT:
    return plus(1, plus(expr_work(expr->select.condition, depth + 1),
                        plus(expr_work(expr->select.yes, depth + 1), expr_work(expr->select.no, depth + 1))));
  case BYOC_LOOP_CAST:
    return plus(1, expr_work(expr->cast, depth + 1));
  default:
    return 0;
  }
}

int64_t byoc_work_of(const byoc_loop_stmt_t *stmt) {
  int64_t work = 0, iterations;
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i)
      work = plus(work, byoc_work_of(stmt->block.statements.data[i]));
    return work > 0 ? work : 1;
  case BYOC_LOOP_FOR:
    iterations = byoc_loop_iterations(stmt);
    work = byoc_work_times(iterations < 0 ? UNKNOWN_TURNS : iterations, byoc_work_of(stmt->loop.body));
    if (stmt->loop.kind == BYOC_LOOP_VECTOR || stmt->loop.kind == BYOC_LOOP_REDUCE) work /= 4;
    return work > 0 ? work : 1;
  case BYOC_LOOP_WHILE:
    return byoc_work_times(UNKNOWN_TURNS, byoc_work_of(stmt->loop_while.body));
  case BYOC_LOOP_IF:
    work = byoc_work_of(stmt->branch.yes);
    return stmt->branch.no ? plus(work, byoc_work_of(stmt->branch.no)) : work;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN:
    return plus(1, expr_work(stmt->assign.value, 0));
  case BYOC_LOOP_STORE:
    return plus(1, expr_work(stmt->store.value, 0));
  default:
    return 1;
  }
}

bool byoc_has_loop(const byoc_loop_stmt_t *stmt) {
  switch (stmt->kind) {
  case BYOC_LOOP_FOR:
  case BYOC_LOOP_WHILE:
    return true;
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i)
      if (byoc_has_loop(stmt->block.statements.data[i])) return true;
    return false;
  case BYOC_LOOP_IF:
    return byoc_has_loop(stmt->branch.yes) || (stmt->branch.no && byoc_has_loop(stmt->branch.no));
  default:
    return false;
  }
}

// ---- uses ----

// Notes the variables that an expression reads; sets *changed if one is new.
static void note_reads(byoc_uses_t *uses, const byoc_loop_expr_t *expr, bool *changed) {
  if (byoc_pointer_map_find(&uses->seen, expr)) return;
  if (!byoc_pointer_map_put(&uses->seen, expr, NULL)) uses->failed = true;
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    if (byoc_pointer_map_find(&uses->read, expr->variable)) return;
    if (!byoc_pointer_map_put(&uses->read, expr->variable, NULL)) uses->failed = true;
    *changed = !uses->failed;
    return;
  case BYOC_LOOP_LOAD:
    note_reads(uses, expr->load.index, changed);
    if (expr->load.buffer->kind != BYOC_LOOP_BUFFER_LOCAL || byoc_pointer_map_find(&uses->read, expr->load.buffer))
      return;
    if (!byoc_pointer_map_put(&uses->read, expr->load.buffer, NULL)) uses->failed = true;
    *changed = !uses->failed;
    return;
  case BYOC_LOOP_OP:
    note_reads(uses, expr->op.operands[0], changed);
    if (expr->op.operands[1]) note_reads(uses, expr->op.operands[1], changed);
    return;
  case BYOC_LOOP_SELECT:
    note_reads(uses, expr->select.condition, changed);
    note_reads(uses, expr->select.yes, changed);
    note_reads(uses, expr->select.no, changed);
    return;
  case BYOC_LOOP_CAST:
    note_reads(uses, expr->cast, changed);
    return;
  default:
    return;
  }
}

// Stores to local buffers that nothing reads are left out.
static bool is_needed(const byoc_uses_t *uses, const byoc_loop_buffer_t *buffer) {
  return buffer->kind != BYOC_LOOP_BUFFER_LOCAL || byoc_pointer_map_find(&uses->read, buffer);
}

static void note_needed(byoc_uses_t *uses, const byoc_loop_stmt_t *stmt, bool *changed) {
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK: // backwards: most variables are read after they are set
    for (size_t i = stmt->block.statements.count; i > 0; --i)
      note_needed(uses, stmt->block.statements.data[i - 1], changed);
    return;
  case BYOC_LOOP_FOR:
    note_needed(uses, stmt->loop.body, changed);
    note_reads(uses, stmt->loop.begin, changed);
    note_reads(uses, stmt->loop.end, changed);
    return;
  case BYOC_LOOP_WHILE:
    note_needed(uses, stmt->loop_while.body, changed);
    note_reads(uses, stmt->loop_while.condition, changed);
    return;
  case BYOC_LOOP_IF:
    if (stmt->branch.no) note_needed(uses, stmt->branch.no, changed);
    note_needed(uses, stmt->branch.yes, changed);
    note_reads(uses, stmt->branch.condition, changed);
    return;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN:
    if (byoc_pointer_map_find(&uses->read, stmt->assign.variable)) note_reads(uses, stmt->assign.value, changed);
    return;
  case BYOC_LOOP_STORE:
    if (!is_needed(uses, stmt->store.buffer)) return;
    note_reads(uses, stmt->store.index, changed);
    note_reads(uses, stmt->store.value, changed);
    return;
  default:
    return;
  }
}

// True the first time it is called for `thing`.
static bool first_time(byoc_uses_t *uses, const void *thing) {
  if (byoc_pointer_map_find(&uses->seen, thing)) return false;
  if (!byoc_pointer_map_put(&uses->seen, thing, NULL)) uses->failed = true;
  return true;
}

static void add(byoc_uses_t *uses, byoc_use_item_t item) {
  if (!byoc_vector_grow(uses->allocator, (void **)&uses->items, &uses->capacity, uses->count, 1, sizeof(item)))
    uses->failed = true;
  else
    uses->items[uses->count++] = item;
}

static void add_buffer(byoc_uses_t *uses, const byoc_loop_buffer_t *buffer) {
  if (first_time(uses, buffer)) add(uses, (byoc_use_item_t){.buffer = buffer});
}

static void add_variable(byoc_uses_t *uses, const byoc_loop_variable_t *variable) {
  if (first_time(uses, variable)) add(uses, (byoc_use_item_t){.variable = variable});
}

static void walk_expr(byoc_uses_t *uses, const byoc_loop_expr_t *expr) {
  if (!first_time(uses, expr)) return;
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
    return;
  case BYOC_LOOP_VARIABLE:
    add_variable(uses, expr->variable);
    return;
  case BYOC_LOOP_DIM:
    if (first_time(uses, expr->symbol)) { // equal strings may have different addresses
      bool known = false;
      for (size_t i = 0; i < uses->count && !known; ++i)
        known = uses->items[i].symbol && strcmp(uses->items[i].symbol, expr->symbol) == 0;
      if (!known) add(uses, (byoc_use_item_t){.symbol = expr->symbol});
    }
    return;
  case BYOC_LOOP_LOAD:
    add_buffer(uses, expr->load.buffer);
    walk_expr(uses, expr->load.index);
    return;
  case BYOC_LOOP_OP:
    walk_expr(uses, expr->op.operands[0]);
    if (expr->op.operands[1]) walk_expr(uses, expr->op.operands[1]);
    return;
  case BYOC_LOOP_SELECT:
    walk_expr(uses, expr->select.condition);
    walk_expr(uses, expr->select.yes);
    walk_expr(uses, expr->select.no);
    return;
  case BYOC_LOOP_CAST:
    walk_expr(uses, expr->cast);
    return;
  }
}

static void walk_stmt(byoc_uses_t *uses, const byoc_loop_stmt_t *stmt) {
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i) walk_stmt(uses, stmt->block.statements.data[i]);
    return;
  case BYOC_LOOP_FOR:
    walk_expr(uses, stmt->loop.begin);
    walk_expr(uses, stmt->loop.end);
    first_time(uses, stmt->loop.variable);
    walk_stmt(uses, stmt->loop.body);
    return;
  case BYOC_LOOP_WHILE:
    walk_expr(uses, stmt->loop_while.condition);
    walk_stmt(uses, stmt->loop_while.body);
    return;
  case BYOC_LOOP_IF:
    walk_expr(uses, stmt->branch.condition);
    walk_stmt(uses, stmt->branch.yes);
    if (stmt->branch.no) walk_stmt(uses, stmt->branch.no);
    return;
  case BYOC_LOOP_LET:
    first_time(uses, stmt->assign.variable);
    if (byoc_pointer_map_find(&uses->read, stmt->assign.variable)) walk_expr(uses, stmt->assign.value);
    return;
  case BYOC_LOOP_ASSIGN:
    if (!byoc_pointer_map_find(&uses->read, stmt->assign.variable)) return;
    walk_expr(uses, stmt->assign.value);
    add_variable(uses, stmt->assign.variable);
    return;
  case BYOC_LOOP_STORE:
    if (!is_needed(uses, stmt->store.buffer)) return;
    walk_expr(uses, stmt->store.value);
    walk_expr(uses, stmt->store.index);
    add_buffer(uses, stmt->store.buffer);
    return;
  case BYOC_LOOP_ALLOCATE:
    first_time(uses, stmt->allocate);
    return;
  case BYOC_LOOP_COMMENT:
    return;
  }
}

bool byoc_uses_collect(const byoc_loop_stmt_t *stmt, byoc_allocator_t allocator, byoc_uses_t *out_uses) {
  *out_uses = (byoc_uses_t){.allocator = allocator};
  byoc_pointer_map_init(&out_uses->seen, allocator);
  byoc_pointer_map_init(&out_uses->read, allocator);
  for (bool changed = true; changed;) {
    changed = false;
    note_needed(out_uses, stmt, &changed);
  }
  byoc_map_clear(&out_uses->seen);
  walk_stmt(out_uses, stmt);
  return !out_uses->failed;
}

void byoc_uses_deinit(byoc_uses_t *uses) {
  byoc_map_deinit(&uses->seen);
  byoc_map_deinit(&uses->read);
  byoc_free(uses->allocator, uses->items);
  *uses = (byoc_uses_t){.allocator = uses->allocator};
}
