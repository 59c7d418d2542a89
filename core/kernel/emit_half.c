// SPDX-License-Identifier: Apache-2.0
// Emits loops over f16 in blocks. Compilers vectorise arithmetic of f32, but not the processor's conversions. So the
// operands of a block are converted to local arrays of f32 first; each value that is rounded to f16 is an array, too;
// and the results are converted last. The conversions are functions (emit_half_prelude.c).
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"
#include "core/kernel/emit.h"

enum { MOST_ARRAYS = 24, BLOCK = 256, LEAST_BLOCK = 64, MOST_NODES = 4096 };

typedef enum array_kind_t {
  LOADED,  // elements of an operand
  ROUNDED, // a value that is rounded to f16
  KEPT,    // a value that later arrays need and that is slow to compute
  STORED,  // elements of a result
} array_kind_t;

typedef struct array_t {
  array_kind_t kind;
  const byoc_loop_expr_t *expr; // the load, the cast, the value, or the value of the store
  const byoc_loop_stmt_t *store;
  const char *name;
} array_t;

typedef struct half_t {
  byoc_emitter_t *emitter;
  const byoc_loop_stmt_t *loop;
  array_t arrays[MOST_ARRAYS];
  size_t count;
  int64_t nodes;
  bool has_rounded, reads_stored, failed;
  const char *size; // of a block, as C text
} half_t;

static const byoc_loop_stmt_t *statement(const half_t *half, size_t i) {
  return half->loop->loop.body->block.statements.data[i];
}

static size_t statement_count(const half_t *half) {
  return half->loop->loop.body->block.statements.count;
}

// ---- what becomes an array ----

static bool is_half_buffer(const byoc_loop_buffer_t *buffer) {
  return buffer->kind != BYOC_LOOP_BUFFER_LOCAL && buffer->dtype == BYOC_DTYPE_F16;
}

// Does the value change from one iteration to the next?
static bool varies(const half_t *half, const byoc_loop_expr_t *expr) {
  if (byoc_loop_expr_reads(expr, half->loop->loop.variable)) return true;
  for (size_t i = 0; i < statement_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = statement(half, i);
    if (stmt->kind == BYOC_LOOP_LET && byoc_loop_expr_reads(expr, stmt->assign.variable)) return true;
  }
  return false;
}

// Are the elements of consecutive iterations neighbours, and is the first one's place known in front of the loop?
static bool is_run(const half_t *half, const byoc_loop_expr_t *index) {
  if (!byoc_loop_steps_by_one(index, half->loop->loop.variable)) return false;
  for (size_t i = 0; i < statement_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = statement(half, i);
    if (stmt->kind == BYOC_LOOP_LET && byoc_loop_expr_reads(index, stmt->assign.variable)) return false;
  }
  return true;
}

static bool is_stored(const half_t *half, const byoc_loop_buffer_t *buffer) {
  for (size_t i = 0; i < statement_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = statement(half, i);
    if (stmt->kind == BYOC_LOOP_STORE && stmt->store.buffer == buffer) return true;
  }
  return false;
}

// A cast to f16 of a number that is held as f32.
static bool is_rounding(const byoc_loop_expr_t *expr) {
  const byoc_dtype_t from = expr->kind == BYOC_LOOP_CAST ? expr->cast->dtype : BYOC_DTYPE_NONE;
  return expr->kind == BYOC_LOOP_CAST && expr->dtype == BYOC_DTYPE_F16 && byoc_loop_is_float(from) &&
         from != BYOC_DTYPE_F64;
}

static bool is_same(const array_t *array, array_kind_t kind, const byoc_loop_expr_t *expr) {
  if (array->kind != kind) return false;
  return array->expr == expr || (kind == LOADED && array->expr->load.buffer == expr->load.buffer &&
                                 byoc_loop_expr_equal(array->expr->load.index, expr->load.index));
}

static void add(half_t *half, array_kind_t kind, const byoc_loop_expr_t *expr, const byoc_loop_stmt_t *store) {
  for (size_t i = 0; i < half->count && kind != STORED; ++i)
    if (is_same(&half->arrays[i], kind, expr)) return;
  if (half->count == MOST_ARRAYS) {
    half->failed = true;
    return;
  }
  half->arrays[half->count++] = (array_t){.kind = kind, .expr = expr, .store = store};
  half->has_rounded |= kind == ROUNDED;
}

// Finds the arrays of an expression, operands first. Values that are not computed in every iteration are none: their
// loads might lie outside of the tensor.
static void collect(half_t *half, const byoc_loop_expr_t *expr, bool always) {
  if (++half->nodes > MOST_NODES) half->failed = true;
  if (half->failed) return;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    half->reads_stored |= is_stored(half, expr->load.buffer);
    if (always && is_half_buffer(expr->load.buffer) && is_run(half, expr->load.index)) add(half, LOADED, expr, NULL);
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
    if (always && is_rounding(expr) && varies(half, expr)) add(half, ROUNDED, expr, NULL);
    return;
  default:
    return;
  }
}

static bool is_costly(half_t *half, const byoc_loop_expr_t *expr) {
  if (++half->nodes > MOST_NODES) half->failed = true;
  if (half->failed) return false;
  if (expr->kind == BYOC_LOOP_CAST) return is_costly(half, expr->cast);
  if (expr->kind != BYOC_LOOP_OP) return false;
  return byoc_loop_op_category(expr->op.op) == BYOC_LOOP_TRANSCENDENTAL || expr->op.op == BYOC_LOOP_OP_DIV ||
         expr->op.op == BYOC_LOOP_OP_SQRT || is_costly(half, expr->op.operands[0]) ||
         (expr->op.operands[1] != NULL && is_costly(half, expr->op.operands[1]));
}

static void collect_let(half_t *half, const byoc_loop_stmt_t *let) {
  if (byoc_emit_is_unread(half->emitter, let)) return;
  const byoc_loop_expr_t *value = let->assign.value;
  collect(half, value, true);
  if (value->dtype == BYOC_DTYPE_F32 && is_costly(half, value) && varies(half, value)) add(half, KEPT, value, NULL);
}

static void collect_store(half_t *half, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_expr_t *value = stmt->store.value;
  const bool is_result = is_half_buffer(stmt->store.buffer) && is_run(half, stmt->store.index);
  if (is_result && is_rounding(value)) value = value->cast;
  if (byoc_emit_is_unread(half->emitter, stmt)) return;
  collect(half, value, true);
  if (is_result) add(half, STORED, value, stmt);
}

static bool is_kind(const byoc_loop_stmt_t *loop) {
  return loop->loop.kind == BYOC_LOOP_VECTOR || loop->loop.kind == BYOC_LOOP_REDUCE ||
         loop->loop.kind == BYOC_LOOP_PARALLEL;
}

// Without values that are rounded on the way there is one pass, which keeps nothing for later ones.
static void drop_kept(half_t *half) {
  size_t count = 0;
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind != KEPT) half->arrays[count++] = half->arrays[i];
  half->count = count;
}

static bool collect_loop(half_t *half) {
  for (size_t i = 0; i < statement_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = statement(half, i);
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
    has_half |= half->arrays[i].kind == LOADED || half->arrays[i].kind == STORED;
    half->reads_stored |= half->arrays[i].kind == LOADED && is_stored(half, half->arrays[i].expr->load.buffer);
  }
  // What the body itself wrote is read in the order of its statements: in one pass, and not from an array.
  if (half->reads_stored && half->has_rounded) return false;
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == LOADED && is_stored(half, half->arrays[i].expr->load.buffer)) return false;
  return has_half && !half->failed;
}

// ---- blocks ----

static void line(const half_t *half, int indent, const char *text) {
  byoc_string_indent(half->emitter->out, indent);
  byoc_string_append(half->emitter->out, text);
}

static void emit_place(const half_t *half, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *index) {
  byoc_string_appendf(half->emitter->out, "&%s[", buffer->name);
  byoc_emit_expr(half->emitter, index, BYOC_C_CONDITIONAL);
  byoc_string_append(half->emitter->out, "]");
}

// The loop's variable stands at the beginning of the block.
static void open_first(const half_t *half, int indent) {
  const char *name = half->loop->loop.variable->name;
  line(half, indent, "{\n");
  byoc_string_indent(half->emitter->out, indent + 2);
  byoc_string_appendf(half->emitter->out, "const int64_t %s = %s_first;\n", name, name);
}

static bool has_kind(const half_t *half, array_kind_t kind) {
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == kind) return true;
  return false;
}

static void emit_widening(const half_t *half, int indent) {
  if (!has_kind(half, LOADED)) return;
  open_first(half, indent);
  for (size_t i = 0; i < half->count; ++i) {
    const array_t *array = &half->arrays[i];
    if (array->kind != LOADED) continue;
    byoc_string_indent(half->emitter->out, indent + 2);
    byoc_string_appendf(half->emitter->out, "byoc_f32s_of_f16(%s, ", array->name);
    emit_place(half, array->expr->load.buffer, array->expr->load.index);
    byoc_string_appendf(half->emitter->out, ", %s);\n", half->size);
  }
  line(half, indent, "}\n");
}

static void emit_narrowing(const half_t *half, int indent) {
  if (!has_kind(half, STORED)) return;
  open_first(half, indent);
  for (size_t i = 0; i < half->count; ++i) {
    const array_t *array = &half->arrays[i];
    if (array->kind != STORED) continue;
    line(half, indent + 2, "byoc_f16s_of_f32(");
    emit_place(half, array->store->store.buffer, array->store->store.index);
    byoc_string_appendf(half->emitter->out, ", %s, %s);\n", array->name, half->size);
  }
  line(half, indent, "}\n");
}

// Puts the element of an array in the place of an expression.
static void replace(half_t *half, const byoc_loop_expr_t *expr, const array_t *array) {
  byoc_emitter_t *emitter = half->emitter;
  const char *name = half->loop->loop.variable->name;
  char *text = byoc_arena_format(&emitter->names, "%s[%s - %s_first]", array->name, name, name);
  if (text == NULL || !byoc_pointer_map_put(&emitter->invariant, expr, text)) emitter->failed = true;
}

static void replace_loads(half_t *half, const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    for (size_t i = 0; i < half->count; ++i)
      if (half->arrays[i].kind == LOADED && is_same(&half->arrays[i], LOADED, expr))
        replace(half, expr, &half->arrays[i]);
    return;
  case BYOC_LOOP_OP:
    replace_loads(half, expr->op.operands[0]);
    if (expr->op.operands[1] != NULL) replace_loads(half, expr->op.operands[1]);
    return;
  case BYOC_LOOP_SELECT:
    replace_loads(half, expr->select.condition);
    replace_loads(half, expr->select.yes);
    replace_loads(half, expr->select.no);
    return;
  case BYOC_LOOP_CAST:
    replace_loads(half, expr->cast);
    return;
  default:
    return;
  }
}

// ---- passes ----

// Marks the variables of the body that the expression needs.
static void mark(const half_t *half, const byoc_loop_expr_t *expr, byoc_map_t *needed) {
  if (byoc_pointer_map_find(&half->emitter->invariant, expr) || byoc_pointer_map_find(needed, expr)) return;
  if (!byoc_pointer_map_put(needed, expr, NULL)) half->emitter->failed = true;
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    for (size_t i = 0; i < statement_count(half); ++i) {
      const byoc_loop_stmt_t *stmt = statement(half, i);
      if (stmt->kind != BYOC_LOOP_LET || stmt->assign.variable != expr->variable) continue;
      if (!byoc_pointer_map_put(needed, stmt, NULL)) half->emitter->failed = true;
      mark(half, stmt->assign.value, needed);
    }
    return;
  case BYOC_LOOP_LOAD:
    mark(half, expr->load.index, needed);
    return;
  case BYOC_LOOP_OP:
    mark(half, expr->op.operands[0], needed);
    if (expr->op.operands[1] != NULL) mark(half, expr->op.operands[1], needed);
    return;
  case BYOC_LOOP_SELECT:
    mark(half, expr->select.condition, needed);
    mark(half, expr->select.yes, needed);
    mark(half, expr->select.no, needed);
    return;
  case BYOC_LOOP_CAST:
    mark(half, expr->cast, needed);
    return;
  default:
    return;
  }
}

static void open_pass(const half_t *half, int indent, bool has_hint) {
  const char *name = half->loop->loop.variable->name;
  if (has_hint) {
    half->emitter->uses_vector = true;
    line(half, indent, "BYOC_VECTOR\n");
  }
  byoc_string_indent(half->emitter->out, indent);
  byoc_string_appendf(half->emitter->out, "for (int64_t %s = %s_first; %s < %s_first + %s; ++%s) {\n", name, name, name,
                      name, half->size, name);
}

static void emit_to_array(const half_t *half, const array_t *array, const byoc_loop_expr_t *value, int indent) {
  const char *name = half->loop->loop.variable->name;
  char *place = byoc_arena_format(&half->emitter->names, "%s - %s_first", name, name);
  const byoc_loop_variable_t variable = {.name = place != NULL ? place : "", .dtype = BYOC_DTYPE_I64};
  const byoc_loop_expr_t index = {.kind = BYOC_LOOP_VARIABLE, .dtype = BYOC_DTYPE_I64, .variable = &variable};
  const byoc_loop_buffer_t buffer = {.name = array->name, .dtype = BYOC_DTYPE_F32, .kind = BYOC_LOOP_BUFFER_OUTPUT};
  const byoc_loop_stmt_t store = {.kind = BYOC_LOOP_STORE, .store = {&buffer, &index, value}};
  byoc_emit_stmt(half->emitter, &store, indent);
}

// A pass that computes one array.
static void emit_pass(half_t *half, const array_t *array, int indent) {
  const byoc_loop_expr_t *value = array->kind == ROUNDED ? array->expr->cast : array->expr;
  byoc_map_t needed;
  byoc_pointer_map_init(&needed, half->emitter->allocator);
  mark(half, value, &needed);
  open_pass(half, indent, true);
  for (size_t i = 0; i < statement_count(half); ++i)
    if (byoc_pointer_map_find(&needed, statement(half, i)))
      byoc_emit_stmt(half->emitter, statement(half, i), indent + 2);
  emit_to_array(half, array, value, indent + 2);
  line(half, indent, "}\n");
  byoc_map_deinit(&needed);
  if (array->kind == ROUNDED) {
    byoc_string_indent(half->emitter->out, indent);
    byoc_string_appendf(half->emitter->out, "byoc_f32s_round_f16(%s, %s);\n", array->name, half->size);
  }
  replace(half, array->expr, array);
}

static const array_t *array_of_store(const half_t *half, const byoc_loop_stmt_t *stmt) {
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == STORED && half->arrays[i].store == stmt) return &half->arrays[i];
  return NULL;
}

// The last pass has the stores and the folds.
static void emit_last(half_t *half, int indent) {
  byoc_emitter_t *emitter = half->emitter;
  const bool reduces = half->loop->loop.kind == BYOC_LOOP_REDUCE;
  byoc_map_t needed;
  byoc_pointer_map_init(&needed, emitter->allocator);
  for (size_t i = 0; i < statement_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = statement(half, i);
    if (stmt->kind == BYOC_LOOP_STORE && !byoc_emit_is_unread(emitter, stmt)) {
      const array_t *array = array_of_store(half, stmt);
      mark(half, array != NULL ? array->expr : stmt->store.value, &needed);
      if (array == NULL) mark(half, stmt->store.index, &needed);
    } else if (stmt->kind == BYOC_LOOP_ASSIGN) {
      mark(half, stmt->assign.value, &needed);
    }
  }
  if (reduces) byoc_emit_reduce_begin(emitter, half->loop, indent);
  open_pass(half, indent, !reduces);
  for (size_t i = 0; i < statement_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = statement(half, i);
    const array_t *array = array_of_store(half, stmt);
    if (stmt->kind == BYOC_LOOP_LET && !byoc_pointer_map_find(&needed, stmt)) continue;
    if (array != NULL)
      emit_to_array(half, array, array->expr, indent + 2);
    else if (!reduces || !byoc_emit_reduce_fold(emitter, stmt, indent + 2))
      byoc_emit_stmt(emitter, stmt, indent + 2);
  }
  line(half, indent, "}\n");
  if (reduces) byoc_emit_reduce_end(emitter, half->loop, indent);
  byoc_map_deinit(&needed);
}

// ---- the loop ----

// The elements of a block: a constant that divides their number, or the most that fit.
static int64_t block_of(const half_t *half, int64_t count) {
  const int64_t most = half->count > 8 ? LEAST_BLOCK : BLOCK;
  if (count <= most) return count;
  for (int64_t size = most; size >= LEAST_BLOCK && count % most != 0; --size)
    if (count % size == 0 && size % 8 == 0) return size;
  return most;
}

static void emit_bounds(half_t *half, const char *begin, const char *end, int indent) {
  const byoc_loop_stmt_t *loop = half->loop;
  const char *name = loop->loop.variable->name;
  byoc_emitter_t *emitter = half->emitter;
  int64_t first = 0, last = 0, count = INT64_MAX;
  const bool is_known = begin == NULL && byoc_loop_is_int(loop->loop.begin, &first) &&
                        byoc_loop_is_int(loop->loop.end, &last) && last > first;
  if (is_known) count = last - first;
  const int64_t size = block_of(half, count);
  byoc_string_indent(emitter->out, indent);
  byoc_string_appendf(emitter->out, "for (int64_t %s_first = ", name);
  if (begin != NULL) byoc_string_append(emitter->out, begin);
  if (begin == NULL) byoc_emit_expr(emitter, loop->loop.begin, BYOC_C_CONDITIONAL);
  byoc_string_appendf(emitter->out, ", %s_end = ", name);
  if (end != NULL) byoc_string_append(emitter->out, end);
  if (end == NULL) byoc_emit_expr(emitter, loop->loop.end, BYOC_C_CONDITIONAL);
  byoc_string_appendf(emitter->out, "; %s_first < %s_end; %s_first += %lld) {\n", name, name, name, (long long)size);
  if (is_known && count % size == 0) {
    half->size = byoc_arena_format(&emitter->names, "%lld", (long long)size);
  } else {
    byoc_string_indent(emitter->out, indent + 2);
    byoc_string_appendf(emitter->out, "const int64_t %s_count = %s_end - %s_first < %lld ? %s_end - %s_first : %lld;\n",
                        name, name, name, (long long)size, name, name, (long long)size);
    half->size = byoc_arena_format(&emitter->names, "%s_count", name);
  }
  for (size_t i = 0; i < half->count; ++i) {
    half->arrays[i].name = byoc_arena_format(&emitter->names, "t_%u", emitter->next_shared++);
    byoc_string_indent(emitter->out, indent + 2);
    byoc_string_appendf(emitter->out, "_Alignas(64) float %s[%lld];\n", half->arrays[i].name, (long long)size);
    if (half->arrays[i].name == NULL) half->arrays[i].name = "";
  }
  if (half->size == NULL) half->size = "";
}

static void emit_blocks(half_t *half, const char *begin, const char *end, int indent) {
  byoc_emitter_t *emitter = half->emitter;
  emitter->uses_half = emitter->uses_vector = true;
  ++emitter->vector_depth;
  byoc_emit_invariants(emitter, half->loop, indent);
  emit_bounds(half, begin, end, indent);
  emit_widening(half, indent + 2);
  for (size_t i = 0; i < statement_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = statement(half, i);
    if (stmt->kind == BYOC_LOOP_COMMENT || byoc_emit_is_unread(emitter, stmt)) continue;
    replace_loads(half, stmt->kind == BYOC_LOOP_STORE ? stmt->store.value : stmt->assign.value);
  }
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == ROUNDED || half->arrays[i].kind == KEPT) emit_pass(half, &half->arrays[i], indent + 2);
  emit_last(half, indent + 2);
  emit_narrowing(half, indent + 2);
  line(half, indent, "}\n");
  byoc_map_clear(&emitter->invariant);
  --emitter->vector_depth;
}

// ---- copies ----

static bool is_held_as_f32(const byoc_loop_buffer_t *buffer) {
  return buffer->dtype == BYOC_DTYPE_F32 || (buffer->kind == BYOC_LOOP_BUFFER_LOCAL && buffer->dtype == BYOC_DTYPE_F16);
}

// The load that the loop's only statement converts between f16 and f32, both runs.
static const byoc_loop_expr_t *converted(const half_t *half) {
  if (statement_count(half) != 1 || statement(half, 0)->kind != BYOC_LOOP_STORE) return NULL;
  const byoc_loop_stmt_t *store = statement(half, 0);
  const byoc_loop_expr_t *value = store->store.value;
  if (value->kind == BYOC_LOOP_CAST) value = value->cast;
  if (value->kind != BYOC_LOOP_LOAD || !is_run(half, store->store.index) || !is_run(half, value->load.index))
    return NULL;
  const byoc_loop_buffer_t *from = value->load.buffer, *to = store->store.buffer;
  const bool widens = is_half_buffer(from) && is_held_as_f32(to);
  const bool narrows = is_half_buffer(to) && is_held_as_f32(from);
  return (widens || narrows) && !byoc_emit_is_unread(half->emitter, store) ? value : NULL;
}

static void emit_conversion(const half_t *half, const byoc_loop_expr_t *load, const char *begin, const char *end,
                            int indent) {
  const byoc_loop_stmt_t *loop = half->loop, *store = statement(half, 0);
  byoc_emitter_t *emitter = half->emitter;
  emitter->uses_half = emitter->uses_vector = true;
  line(half, indent, "{\n");
  byoc_string_indent(emitter->out, indent + 2);
  byoc_string_appendf(emitter->out, "const int64_t %s = ", loop->loop.variable->name);
  if (begin != NULL) byoc_string_append(emitter->out, begin);
  if (begin == NULL) byoc_emit_expr(emitter, loop->loop.begin, BYOC_C_CONDITIONAL);
  byoc_string_append(emitter->out, "; // and the elements from there\n");
  line(half, indent + 2, is_half_buffer(store->store.buffer) ? "byoc_f16s_of_f32(" : "byoc_f32s_of_f16(");
  emit_place(half, store->store.buffer, store->store.index);
  byoc_string_append(emitter->out, ", ");
  emit_place(half, load->load.buffer, load->load.index);
  byoc_string_append(emitter->out, ", ");
  if (end != NULL) byoc_string_append(emitter->out, end);
  if (end == NULL) byoc_emit_expr(emitter, loop->loop.end, BYOC_C_SUM);
  byoc_string_appendf(emitter->out, " - %s);\n", loop->loop.variable->name);
  line(half, indent, "}\n");
}

bool byoc_emit_half_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, const char *begin, const char *end,
                         int indent) {
  half_t half = {.emitter = emitter, .loop = loop};
  if (!is_kind(loop) || emitter->is_packed) return false;
  const byoc_loop_expr_t *load = converted(&half);
  if (load != NULL) {
    emit_conversion(&half, load, begin, end, indent);
    return true;
  }
  const byoc_loop_stmt_t *only = statement_count(&half) == 1 ? statement(&half, 0) : NULL;
  const bool is_copy = only != NULL && only->kind == BYOC_LOOP_STORE && only->store.value->kind == BYOC_LOOP_LOAD &&
                       only->store.value->load.buffer->dtype == only->store.buffer->dtype;
  if (is_copy || !collect_loop(&half)) return false;
  emit_blocks(&half, begin, end, indent);
  return true;
}
