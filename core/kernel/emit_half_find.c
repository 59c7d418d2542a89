// SPDX-License-Identifier: Apache-2.0
// Finds the values of a loop over f16 or bf16 that become arrays when it is emitted in blocks.
#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"
#include "core/kernel/emit_half.h"

// The most nodes of expressions that are looked at, and the most arrays when elements are gathered into another one.
enum { MOST_NODES = 4096, MOST_GATHERED = 8 };

static bool is_half(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16;
}

bool byoc_half_is_buffer(const byoc_loop_buffer_t *buffer) {
  return buffer->kind != BYOC_LOOP_BUFFER_LOCAL && is_half(buffer->dtype);
}

// Does the value change from one iteration to the next?
static bool varies(const byoc_half_t *half, const byoc_loop_expr_t *expr) {
  if (byoc_loop_expr_reads(expr, half->loop->loop.variable)) return true;
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_LET && byoc_loop_expr_reads(expr, stmt->assign.variable)) return true;
  }
  return false;
}

bool byoc_half_is_run(const byoc_half_t *half, const byoc_loop_expr_t *index) {
  if (!byoc_loop_steps_by_one(index, half->loop->loop.variable)) return false;
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_LET && byoc_loop_expr_reads(index, stmt->assign.variable)) return false;
  }
  return true;
}

static bool is_stored(const byoc_half_t *half, const byoc_loop_buffer_t *buffer) {
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_STORE && stmt->store.buffer == buffer) return true;
  }
  return false;
}

// A cast to f16 or bf16 of a number that is held as f32.
static bool is_rounding(const byoc_loop_expr_t *expr) {
  const byoc_dtype_t from = expr->kind == BYOC_LOOP_CAST ? expr->cast->dtype : BYOC_DTYPE_NONE;
  return expr->kind == BYOC_LOOP_CAST && is_half(expr->dtype) && byoc_loop_is_float(from) && from != BYOC_DTYPE_F64;
}

bool byoc_half_is_same(const byoc_half_array_t *array, byoc_half_kind_t kind, const byoc_loop_expr_t *expr) {
  if (array->kind != kind) return false;
  return array->expr == expr || (byoc_half_is_operand(array) && array->expr->load.buffer == expr->load.buffer &&
                                 byoc_loop_expr_equal(array->expr->load.index, expr->load.index));
}

static void add(byoc_half_t *half, byoc_half_kind_t kind, const byoc_loop_expr_t *expr, const byoc_loop_stmt_t *store) {
  for (size_t i = 0; i < half->count && kind != BYOC_HALF_STORED; ++i)
    if (byoc_half_is_same(&half->arrays[i], kind, expr)) return;
  if (half->count == BYOC_HALF_ARRAYS) {
    half->failed = true;
    return;
  }
  half->arrays[half->count++] = (byoc_half_array_t){.kind = kind, .expr = expr, .store = store};
  half->has_rounded |= kind == BYOC_HALF_ROUNDED;
}

static bool has_load(const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    return true;
  case BYOC_LOOP_OP:
    return has_load(expr->op.operands[0]) || (expr->op.operands[1] != NULL && has_load(expr->op.operands[1]));
  case BYOC_LOOP_SELECT:
    return has_load(expr->select.condition) || has_load(expr->select.yes) || has_load(expr->select.no);
  case BYOC_LOOP_CAST:
    return has_load(expr->cast);
  default:
    return false;
  }
}

// Elements with constant or computed distances are copied before they are converted: alone they take many operations.
static bool is_gathered(const byoc_half_t *half, const byoc_loop_expr_t *load) {
  const byoc_loop_expr_t *index = load->load.index;
  if (half->count >= MOST_GATHERED) return false;
  if (!byoc_loop_expr_reads(index, half->loop->loop.variable) || has_load(index)) return false;
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_LET && byoc_loop_expr_reads(index, stmt->assign.variable)) return false;
  }
  return true;
}

static void collect_load(byoc_half_t *half, const byoc_loop_expr_t *load) {
  if (!byoc_half_is_buffer(load->load.buffer)) return;
  if (byoc_half_is_run(half, load->load.index))
    add(half, BYOC_HALF_LOADED, load, NULL);
  else if (is_gathered(half, load))
    add(half, BYOC_HALF_GATHERED, load, NULL);
}

// Finds the arrays of an expression, operands first. Values that are not computed in every iteration are none: their
// loads might lie outside of the tensor.
static void collect(byoc_half_t *half, const byoc_loop_expr_t *expr, bool always) {
  if (++half->nodes > MOST_NODES) half->failed = true;
  if (half->failed) return;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    half->reads_stored |= is_stored(half, expr->load.buffer);
    if (always) collect_load(half, expr);
    return;
  case BYOC_LOOP_OP:
    collect(half, expr->op.operands[0], always);
    if (expr->op.operands[1] != NULL) collect(half, expr->op.operands[1], always);
    return;
  case BYOC_LOOP_SELECT:
    collect(half, expr->select.condition, always);
    collect(half, expr->select.yes, false);
    collect(half, expr->select.no, false);
    return;
  case BYOC_LOOP_CAST:
    collect(half, expr->cast, always);
    if (always && is_rounding(expr) && varies(half, expr)) add(half, BYOC_HALF_ROUNDED, expr, NULL);
    return;
  default:
    return;
  }
}

static bool is_costly(byoc_half_t *half, const byoc_loop_expr_t *expr) {
  if (++half->nodes > MOST_NODES) half->failed = true;
  if (half->failed) return false;
  if (expr->kind == BYOC_LOOP_CAST) return is_costly(half, expr->cast);
  if (expr->kind != BYOC_LOOP_OP) return false;
  return byoc_loop_op_category(expr->op.op) == BYOC_LOOP_TRANSCENDENTAL || expr->op.op == BYOC_LOOP_OP_DIV ||
         expr->op.op == BYOC_LOOP_OP_SQRT || is_costly(half, expr->op.operands[0]) ||
         (expr->op.operands[1] != NULL && is_costly(half, expr->op.operands[1]));
}

static void collect_let(byoc_half_t *half, const byoc_loop_stmt_t *let) {
  if (byoc_emit_is_unread(half->emitter, let)) return;
  const byoc_loop_expr_t *value = let->assign.value;
  collect(half, value, true);
  if (value->dtype == BYOC_DTYPE_F32 && is_costly(half, value) && varies(half, value))
    add(half, BYOC_HALF_KEPT, value, NULL);
}

static void collect_store(byoc_half_t *half, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_expr_t *value = stmt->store.value;
  const bool is_result = byoc_half_is_buffer(stmt->store.buffer) && byoc_half_is_run(half, stmt->store.index);
  if (is_result && is_rounding(value) && value->dtype == stmt->store.buffer->dtype) value = value->cast;
  if (byoc_emit_is_unread(half->emitter, stmt)) return;
  collect(half, value, true);
  if (is_result) add(half, BYOC_HALF_STORED, value, stmt);
}

// Without values that are rounded on the way there is one pass, which keeps nothing for later ones.
static void drop_kept(byoc_half_t *half) {
  size_t count = 0;
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind != BYOC_HALF_KEPT) half->arrays[count++] = half->arrays[i];
  half->count = count;
}

bool byoc_half_collect(byoc_half_t *half) {
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_LET && !stmt->assign.variable->is_mutable)
      collect_let(half, stmt);
    else if (stmt->kind == BYOC_LOOP_STORE)
      collect_store(half, stmt);
    else if (stmt->kind == BYOC_LOOP_ASSIGN && byoc_loop_reduction_term(stmt) != NULL)
      collect(half, byoc_loop_reduction_term(stmt), true);
    else if (stmt->kind != BYOC_LOOP_COMMENT)
      return false;
  }
  if (!half->has_rounded) drop_kept(half);
  bool has_half = half->has_rounded;
  for (size_t i = 0; i < half->count; ++i) {
    has_half |= byoc_half_is_operand(&half->arrays[i]) || half->arrays[i].kind == BYOC_HALF_STORED;
    half->reads_stored |= byoc_half_is_operand(&half->arrays[i]) && is_stored(half, half->arrays[i].expr->load.buffer);
  }
  // What the body itself wrote is read in the order of its statements: in one pass, and not from an array.
  if (half->reads_stored && half->has_rounded) return false;
  for (size_t i = 0; i < half->count; ++i)
    if (byoc_half_is_operand(&half->arrays[i]) && is_stored(half, half->arrays[i].expr->load.buffer)) return false;
  return has_half && !half->failed;
}
