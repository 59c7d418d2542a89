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
  const bool is_load = byoc_half_is_operand(array) || kind == BYOC_HALF_SINGLE;
  return array->expr == expr || (is_load && array->expr->load.buffer == expr->load.buffer &&
                                 byoc_loop_expr_equal(array->expr->load.index, expr->load.index));
}

static void add(byoc_half_t *half, byoc_half_kind_t kind, const byoc_loop_expr_t *expr, const byoc_loop_stmt_t *store) {
  for (size_t i = 0; i < half->count && kind != BYOC_HALF_STORED; ++i)
    if (byoc_half_is_same(&half->arrays[i], kind, expr)) return;
  if (half->count == BYOC_HALF_FOUND) {
    half->failed = true;
    return;
  }
  half->arrays[half->count++] = (byoc_half_array_t){.kind = kind, .expr = expr, .store = store};
  half->has_rounded |= kind == BYOC_HALF_ROUNDED;
}

// ---- operands ----

static bool is_of_body(const byoc_half_t *half, const byoc_loop_variable_t *variable) {
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_LET && stmt->assign.variable == variable) return true;
  }
  return variable->is_mutable;
}

// May an index or a condition be computed in front of the body, where no element is converted yet?
static bool is_ready(byoc_half_t *half, const byoc_loop_expr_t *expr) {
  if (++half->nodes > MOST_NODES) half->failed = true;
  if (half->failed) return false;
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    return !is_of_body(half, expr->variable);
  case BYOC_LOOP_LOAD:
    return !is_half(expr->load.buffer->dtype) && !is_stored(half, expr->load.buffer) &&
           is_ready(half, expr->load.index);
  case BYOC_LOOP_OP:
    return is_ready(half, expr->op.operands[0]) &&
           (expr->op.operands[1] == NULL || is_ready(half, expr->op.operands[1]));
  case BYOC_LOOP_SELECT:
    return is_ready(half, expr->select.condition) && is_ready(half, expr->select.yes) &&
           is_ready(half, expr->select.no);
  case BYOC_LOOP_CAST:
    return is_ready(half, expr->cast);
  default:
    return true;
  }
}

// Elements of constant or computed distances, and those that only some iterations load: alone they take many operations
// where they are f16, and a shift where they are bf16.
static bool is_gathered(byoc_half_t *half, const byoc_loop_expr_t *load, const byoc_half_guard_t *place) {
  size_t count = 0;
  if (load->load.buffer->dtype != BYOC_DTYPE_F16) return false;
  for (size_t i = 0; i < half->count; ++i) count += half->arrays[i].kind == BYOC_HALF_GATHERED;
  if (count >= MOST_GATHERED || !byoc_loop_expr_reads(load->load.index, half->loop->loop.variable)) return false;
  for (const byoc_half_guard_t *guard = place; guard != NULL; guard = guard->outer)
    if (!is_ready(half, guard->condition)) return false;
  return is_ready(half, load->load.index);
}

static byoc_half_array_t *find_operand(byoc_half_t *half, const byoc_loop_expr_t *load) {
  for (size_t i = 0; i < half->count; ++i) {
    byoc_half_array_t *array = &half->arrays[i];
    const bool is_operand = byoc_half_is_operand(array) || array->kind == BYOC_HALF_SINGLE;
    if (is_operand && byoc_half_is_same(array, array->kind, load)) return array;
  }
  return NULL;
}

static bool is_same_place(const byoc_half_guard_t *a, const byoc_half_guard_t *b) {
  for (; a != NULL && b != NULL && a != b; a = a->outer, b = b->outer)
    if (a->condition != b->condition || a->holds != b->holds) return false;
  return a == b;
}

static void add_place(byoc_half_array_t *array, const byoc_half_guard_t *place) {
  for (size_t i = 0; i < array->place_count; ++i)
    if (array->places[i] == NULL || is_same_place(array->places[i], place)) return;
  if (place == NULL) array->place_count = 0;
  if (array->place_count < BYOC_HALF_GUARDS)
    array->places[array->place_count++] = place;
  else
    array->kind = BYOC_HALF_SINGLE;
}

// Does the body store a result of the operand's shape at the place of the load in every iteration? Then the element is
// there, even if only some iterations need it.
static bool is_at_result(const byoc_half_t *half, const byoc_loop_expr_t *load) {
  const byoc_loop_buffer_t *operand = load->load.buffer;
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind != BYOC_LOOP_STORE || stmt->store.buffer->kind != BYOC_LOOP_BUFFER_OUTPUT) continue;
    const byoc_loop_buffer_t *result = stmt->store.buffer;
    bool is_same = result->rank == operand->rank && byoc_loop_expr_equal(stmt->store.index, load->load.index);
    for (int32_t d = 0; is_same && d < result->rank; ++d) is_same = byoc_dim_equal(result->dims[d], operand->dims[d]);
    if (is_same) return true;
  }
  return false;
}

// An array of an operand stands for all equal loads of the body, so it has the elements that any of them needs.
static void collect_load(byoc_half_t *half, const byoc_loop_expr_t *load, const byoc_half_guard_t *place) {
  if (!byoc_half_is_buffer(load->load.buffer)) return;
  byoc_half_array_t *array = find_operand(half, load);
  if (array != NULL && array->kind == BYOC_HALF_LOADED) return;
  const bool is_safe = place == NULL || (load->dtype == BYOC_DTYPE_F16 && is_at_result(half, load));
  const bool is_run = is_safe && byoc_half_is_run(half, load->load.index);
  const bool is_single = !is_run && !is_gathered(half, load, place);
  const byoc_half_kind_t kind = is_run ? BYOC_HALF_LOADED : is_single ? BYOC_HALF_SINGLE : BYOC_HALF_GATHERED;
  if (array == NULL) {
    add(half, kind, load, NULL);
    array = find_operand(half, load);
  } else if (array->kind == BYOC_HALF_GATHERED) {
    array->kind = kind;
  }
  if (array != NULL && array->kind == BYOC_HALF_GATHERED) add_place(array, place);
}

// ---- expressions ----

static const byoc_half_guard_t *side_of(byoc_half_t *half, const byoc_half_guard_t *outer,
                                        const byoc_loop_expr_t *select, bool holds) {
  byoc_half_guard_t *guard = BYOC_ARENA_NEW(&half->emitter->names, byoc_half_guard_t);
  if (guard == NULL) {
    half->emitter->failed = half->failed = true;
    return outer;
  }
  *guard = (byoc_half_guard_t){outer, select->select.condition, holds};
  return guard;
}

// Finds the arrays of an expression, operands first. `place` is NULL if every iteration computes it. Elements that only
// some iterations load might lie outside of the tensor in others.
static void collect(byoc_half_t *half, const byoc_loop_expr_t *expr, const byoc_half_guard_t *place) {
  if (++half->nodes > MOST_NODES) half->failed = true;
  if (half->failed) return;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    half->reads_stored |= is_stored(half, expr->load.buffer);
    collect_load(half, expr, place);
    return;
  case BYOC_LOOP_OP:
    collect(half, expr->op.operands[0], place);
    if (expr->op.operands[1] != NULL) collect(half, expr->op.operands[1], place);
    return;
  case BYOC_LOOP_SELECT:
    collect(half, expr->select.condition, place);
    collect(half, expr->select.yes, side_of(half, place, expr, true));
    collect(half, expr->select.no, side_of(half, place, expr, false));
    return;
  case BYOC_LOOP_CAST:
    collect(half, expr->cast, place);
    if (place == NULL && is_rounding(expr) && varies(half, expr)) add(half, BYOC_HALF_ROUNDED, expr, NULL);
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
  collect(half, value, NULL);
  if (value->dtype == BYOC_DTYPE_F32 && is_costly(half, value) && varies(half, value))
    add(half, BYOC_HALF_KEPT, value, NULL);
}

static void collect_store(byoc_half_t *half, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_expr_t *value = stmt->store.value;
  const bool is_result = byoc_half_is_buffer(stmt->store.buffer) && byoc_half_is_run(half, stmt->store.index);
  if (is_result && is_rounding(value) && value->dtype == stmt->store.buffer->dtype) value = value->cast;
  if (byoc_emit_is_unread(half->emitter, stmt)) return;
  collect(half, value, NULL);
  if (is_result) add(half, BYOC_HALF_STORED, value, stmt);
}

static void drop(byoc_half_t *half, byoc_half_kind_t kind) {
  size_t count = 0;
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind != kind) half->arrays[count++] = half->arrays[i];
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
      collect(half, byoc_loop_reduction_term(stmt), NULL);
    else if (stmt->kind != BYOC_LOOP_COMMENT)
      return false;
  }
  drop(half, BYOC_HALF_SINGLE);
  // Without values that are rounded on the way there is one pass, which keeps nothing for later ones.
  if (!half->has_rounded) drop(half, BYOC_HALF_KEPT);
  bool has_half = half->has_rounded;
  for (size_t i = 0; i < half->count; ++i) {
    has_half |= byoc_half_is_operand(&half->arrays[i]) || half->arrays[i].kind == BYOC_HALF_STORED;
    half->reads_stored |= byoc_half_is_operand(&half->arrays[i]) && is_stored(half, half->arrays[i].expr->load.buffer);
  }
  // What the body itself wrote is read in the order of its statements: in one pass, and not from an array.
  if (half->reads_stored && half->has_rounded) return false;
  for (size_t i = 0; i < half->count; ++i)
    if (byoc_half_is_operand(&half->arrays[i]) && is_stored(half, half->arrays[i].expr->load.buffer)) return false;
  return has_half && !half->failed && half->count <= BYOC_HALF_ARRAYS;
}
