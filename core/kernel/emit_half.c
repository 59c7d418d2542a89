// SPDX-License-Identifier: Apache-2.0
// Emits loops over f16 and bf16 in blocks. Compilers vectorise arithmetic of f32, but not the processor's conversions,
// and badly those that are mixed with arithmetic. So the operands of a block are converted to local arrays of f32
// first; each value that is rounded to 16 bits is an array, too; and the results are converted last. The conversions
// are functions (emit_half_prelude.c).
#include <string.h>

#include "core/ir/loop_range.h"
#include "core/kernel/emit_half.h"

// The elements of a block, and the least.
enum { BLOCK = 256, LEAST_BLOCK = 64, MANY_ARRAYS = 8 };

// The name of the type whose conversions are used.
static const char *type_of(byoc_emitter_t *emitter, byoc_dtype_t dtype) {
  emitter->uses_f16 |= dtype == BYOC_DTYPE_F16;
  emitter->uses_bf16 |= dtype == BYOC_DTYPE_BF16;
  return dtype == BYOC_DTYPE_F16 ? "f16" : "bf16";
}

// ---- blocks ----

static void line(const byoc_half_t *half, int indent, const char *text) {
  byoc_string_indent(half->emitter->out, indent);
  byoc_string_append(half->emitter->out, text);
}

static void emit_place(const byoc_half_t *half, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *index) {
  byoc_string_appendf(half->emitter->out, "&%s[", buffer->name);
  byoc_emit_expr(half->emitter, index, BYOC_C_CONDITIONAL);
  byoc_string_append(half->emitter->out, "]");
}

// The loop's variable stands at the beginning of the block.
static void open_first(const byoc_half_t *half, int indent) {
  const char *name = half->loop->loop.variable->name;
  line(half, indent, "{\n");
  byoc_string_indent(half->emitter->out, indent + 2);
  byoc_string_appendf(half->emitter->out, "const int64_t %s = %s_first;\n", name, name);
}

static bool has_kind(const byoc_half_t *half, byoc_half_kind_t kind) {
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == kind) return true;
  return false;
}

static void emit_widening(const byoc_half_t *half, int indent) {
  const bool has_places = has_kind(half, BYOC_HALF_LOADED);
  if (!has_places && !has_kind(half, BYOC_HALF_GATHERED)) return;
  if (has_places) open_first(half, indent);
  if (!has_places) line(half, indent, "{\n");
  for (size_t i = 0; i < half->count; ++i) {
    const byoc_half_array_t *array = &half->arrays[i];
    if (!byoc_half_is_operand(array)) continue;
    byoc_string_indent(half->emitter->out, indent + 2);
    byoc_string_appendf(half->emitter->out, "byoc_f32s_of_%s(%s, ", type_of(half->emitter, array->expr->dtype),
                        array->name);
    if (array->kind == BYOC_HALF_GATHERED)
      byoc_string_appendf(half->emitter->out, "%s_bits", array->name);
    else
      emit_place(half, array->expr->load.buffer, array->expr->load.index);
    byoc_string_appendf(half->emitter->out, ", %s);\n", half->size);
  }
  line(half, indent, "}\n");
}

static void emit_narrowing(const byoc_half_t *half, int indent) {
  if (!has_kind(half, BYOC_HALF_STORED)) return;
  open_first(half, indent);
  for (size_t i = 0; i < half->count; ++i) {
    const byoc_half_array_t *array = &half->arrays[i];
    if (array->kind != BYOC_HALF_STORED) continue;
    byoc_string_indent(half->emitter->out, indent + 2);
    byoc_string_appendf(half->emitter->out, "byoc_%ss_of_f32(",
                        type_of(half->emitter, array->store->store.buffer->dtype));
    emit_place(half, array->store->store.buffer, array->store->store.index);
    byoc_string_appendf(half->emitter->out, ", %s, %s);\n", array->name, half->size);
  }
  line(half, indent, "}\n");
}

// Puts the element of an array in the place of an expression.
static void replace(byoc_half_t *half, const byoc_loop_expr_t *expr, const byoc_half_array_t *array) {
  byoc_emitter_t *emitter = half->emitter;
  const char *name = half->loop->loop.variable->name;
  char *text = byoc_arena_format(&emitter->names, "%s[%s - %s_first]", array->name, name, name);
  if (text == NULL || !byoc_pointer_map_put(&emitter->invariant, expr, text)) emitter->failed = true;
}

static void replace_loads(byoc_half_t *half, const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    for (size_t i = 0; i < half->count; ++i)
      if (byoc_half_is_operand(&half->arrays[i]) && byoc_half_is_same(&half->arrays[i], half->arrays[i].kind, expr))
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
static void mark(const byoc_half_t *half, const byoc_loop_expr_t *expr, byoc_map_t *needed) {
  if (byoc_pointer_map_find(&half->emitter->invariant, expr) || byoc_pointer_map_find(needed, expr)) return;
  if (!byoc_pointer_map_put(needed, expr, NULL)) half->emitter->failed = true;
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    for (size_t i = 0; i < byoc_half_count(half); ++i) {
      const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
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

static void open_pass(const byoc_half_t *half, int indent, bool has_hint) {
  const char *name = half->loop->loop.variable->name;
  if (has_hint) {
    half->emitter->uses_vector = true;
    line(half, indent, "BYOC_VECTOR\n");
  }
  byoc_string_indent(half->emitter->out, indent);
  byoc_string_appendf(half->emitter->out, "for (int64_t %s = %s_first; %s < %s_first + %s; ++%s) {\n", name, name, name,
                      name, half->size, name);
}

static void emit_element(const byoc_half_t *half, const char *array, byoc_dtype_t dtype, const byoc_loop_expr_t *value,
                         int indent) {
  const char *name = half->loop->loop.variable->name;
  char *place = byoc_arena_format(&half->emitter->names, "%s - %s_first", name, name);
  const byoc_loop_variable_t variable = {.name = place != NULL ? place : "", .dtype = BYOC_DTYPE_I64};
  const byoc_loop_expr_t index = {.kind = BYOC_LOOP_VARIABLE, .dtype = BYOC_DTYPE_I64, .variable = &variable};
  const byoc_loop_buffer_t buffer = {.name = array, .dtype = dtype, .kind = BYOC_LOOP_BUFFER_OUTPUT};
  const byoc_loop_stmt_t store = {.kind = BYOC_LOOP_STORE, .store = {&buffer, &index, value}};
  byoc_emit_stmt(half->emitter, &store, indent);
}

static void emit_to_array(const byoc_half_t *half, const byoc_half_array_t *array, const byoc_loop_expr_t *value,
                          int indent) {
  emit_element(half, array->name, BYOC_DTYPE_F32, value, indent);
}

// `value` where all guards of the place allow it, else `other`.
static const byoc_loop_expr_t *guarded(const byoc_half_t *half, const byoc_half_guard_t *place,
                                       const byoc_loop_expr_t *value, const byoc_loop_expr_t *other) {
  for (const byoc_half_guard_t *guard = place; guard != NULL; guard = guard->outer) {
    byoc_loop_expr_t *select = BYOC_ARENA_NEW(&half->emitter->names, byoc_loop_expr_t);
    if (select == NULL) {
      half->emitter->failed = true;
      return other;
    }
    *select = (byoc_loop_expr_t){.kind = BYOC_LOOP_SELECT, .dtype = value->dtype};
    select->select.condition = guard->condition;
    select->select.yes = guard->holds ? value : other;
    select->select.no = guard->holds ? other : value;
    value = select;
  }
  return value;
}

// Copies the elements of a block from their places, as integers; zeros stand for those that no iteration needs.
static void emit_gathering(const byoc_half_t *half, const byoc_half_array_t *array, int indent) {
  char *name = byoc_arena_format(&half->emitter->names, "%s_bits", array->name);
  byoc_loop_buffer_t buffer = *array->expr->load.buffer;
  buffer.dtype = BYOC_DTYPE_U16;
  byoc_loop_expr_t load = *array->expr, zero = {.kind = BYOC_LOOP_CONST, .dtype = BYOC_DTYPE_U16};
  load.dtype = BYOC_DTYPE_U16;
  load.load.buffer = &buffer;
  const byoc_loop_expr_t *value = &zero;
  for (size_t i = 0; i < array->place_count; ++i) value = guarded(half, array->places[i], &load, value);
  open_pass(half, indent, true);
  emit_element(half, name != NULL ? name : "", BYOC_DTYPE_U16, value, indent + 2);
  line(half, indent, "}\n");
}

// A pass that computes one array.
static void emit_pass(byoc_half_t *half, const byoc_half_array_t *array, int indent) {
  const byoc_loop_expr_t *value = array->kind == BYOC_HALF_ROUNDED ? array->expr->cast : array->expr;
  byoc_map_t needed;
  byoc_pointer_map_init(&needed, half->emitter->allocator);
  mark(half, value, &needed);
  open_pass(half, indent, true);
  for (size_t i = 0; i < byoc_half_count(half); ++i)
    if (byoc_pointer_map_find(&needed, byoc_half_statement(half, i)))
      byoc_emit_stmt(half->emitter, byoc_half_statement(half, i), indent + 2);
  emit_to_array(half, array, value, indent + 2);
  line(half, indent, "}\n");
  byoc_map_deinit(&needed);
  if (array->kind == BYOC_HALF_ROUNDED) {
    byoc_string_indent(half->emitter->out, indent);
    byoc_string_appendf(half->emitter->out, "byoc_f32s_round_%s(%s, %s);\n", type_of(half->emitter, array->expr->dtype),
                        array->name, half->size);
  }
  replace(half, array->expr, array);
}

static const byoc_half_array_t *array_of_store(const byoc_half_t *half, const byoc_loop_stmt_t *stmt) {
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == BYOC_HALF_STORED && half->arrays[i].store == stmt) return &half->arrays[i];
  return NULL;
}

// The last pass has the stores and the folds.
static void emit_last(byoc_half_t *half, int indent) {
  byoc_emitter_t *emitter = half->emitter;
  const bool reduces = half->loop->loop.kind == BYOC_LOOP_REDUCE;
  byoc_map_t needed;
  byoc_pointer_map_init(&needed, emitter->allocator);
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_STORE && !byoc_emit_is_unread(emitter, stmt)) {
      const byoc_half_array_t *array = array_of_store(half, stmt);
      mark(half, array != NULL ? array->expr : stmt->store.value, &needed);
      if (array == NULL) mark(half, stmt->store.index, &needed);
    } else if (stmt->kind == BYOC_LOOP_ASSIGN) {
      mark(half, stmt->assign.value, &needed);
    }
  }
  if (reduces) byoc_emit_reduce_begin(emitter, half->loop, indent);
  open_pass(half, indent, !reduces);
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    const byoc_half_array_t *array = array_of_store(half, stmt);
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

// The elements of a block: a constant that divides their number, or else blocks of nearly the same size, since
// compilers unroll a last one of few elements into bad code. The most that fit if the number is not known.
static int64_t block_of(const byoc_half_t *half, int64_t count) {
  const int64_t most = half->count > MANY_ARRAYS ? LEAST_BLOCK : BLOCK;
  if (count <= most) return count;
  for (int64_t size = most; size >= LEAST_BLOCK && count % most != 0; --size)
    if (count % size == 0 && size % 8 == 0) return size;
  if (count == INT64_MAX) return most;
  const int64_t blocks = (count + most - 1) / most, even = (count + blocks - 1) / blocks;
  return (even + 15) / 16 * 16;
}

static void emit_bounds(byoc_half_t *half, const char *begin, const char *end, int indent) {
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
    if (half->arrays[i].name == NULL) half->arrays[i].name = "";
    byoc_string_indent(emitter->out, indent + 2);
    byoc_string_appendf(emitter->out, "_Alignas(64) float %s[%lld];\n", half->arrays[i].name, (long long)size);
    if (half->arrays[i].kind != BYOC_HALF_GATHERED) continue;
    byoc_string_indent(emitter->out, indent + 2);
    byoc_string_appendf(emitter->out, "uint16_t %s_bits[%lld];\n", half->arrays[i].name, (long long)size);
  }
  if (half->size == NULL) half->size = "";
}

static void emit_blocks(byoc_half_t *half, const char *begin, const char *end, int indent) {
  byoc_emitter_t *emitter = half->emitter;
  emitter->uses_vector = true;
  ++emitter->vector_depth;
  byoc_emit_invariants(emitter, half->loop, indent);
  emit_bounds(half, begin, end, indent);
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == BYOC_HALF_GATHERED) emit_gathering(half, &half->arrays[i], indent + 2);
  emit_widening(half, indent + 2);
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind == BYOC_LOOP_COMMENT || byoc_emit_is_unread(emitter, stmt)) continue;
    replace_loads(half, stmt->kind == BYOC_LOOP_STORE ? stmt->store.value : stmt->assign.value);
  }
  for (size_t i = 0; i < half->count; ++i)
    if (half->arrays[i].kind == BYOC_HALF_ROUNDED || half->arrays[i].kind == BYOC_HALF_KEPT)
      emit_pass(half, &half->arrays[i], indent + 2);
  emit_last(half, indent + 2);
  emit_narrowing(half, indent + 2);
  line(half, indent, "}\n");
  byoc_map_clear(&emitter->invariant);
  --emitter->vector_depth;
}

// ---- copies ----

// Does the buffer hold numbers of the type as f32?
static bool is_held(const byoc_half_t *half, const byoc_loop_buffer_t *buffer, byoc_dtype_t dtype) {
  return buffer->dtype == BYOC_DTYPE_F32 || (buffer->dtype == dtype && !byoc_emit_holds_bits(half->emitter, buffer));
}

// Does the body move bits, and nothing else?
static bool is_copy(const byoc_half_t *half) {
  for (size_t i = 0; i < byoc_half_count(half); ++i) {
    const byoc_loop_stmt_t *stmt = byoc_half_statement(half, i);
    if (stmt->kind != BYOC_LOOP_STORE || stmt->store.value->kind != BYOC_LOOP_LOAD) return false;
    const byoc_loop_buffer_t *from = stmt->store.value->load.buffer, *to = stmt->store.buffer;
    if (from->dtype != to->dtype || !byoc_emit_holds_bits(half->emitter, from) ||
        !byoc_emit_holds_bits(half->emitter, to)) {
      return false;
    }
  }
  return true;
}

// The load that the loop's only byoc_half_statement converts between 16 bits and f32, both runs.
static const byoc_loop_expr_t *converted(const byoc_half_t *half) {
  if (byoc_half_count(half) != 1 || byoc_half_statement(half, 0)->kind != BYOC_LOOP_STORE) return NULL;
  const byoc_loop_stmt_t *store = byoc_half_statement(half, 0);
  const byoc_loop_expr_t *value = store->store.value;
  if (value->kind == BYOC_LOOP_CAST) value = value->cast;
  if (value->kind != BYOC_LOOP_LOAD || !byoc_half_is_run(half, store->store.index) ||
      !byoc_half_is_run(half, value->load.index))
    return NULL;
  const byoc_loop_buffer_t *from = value->load.buffer, *to = store->store.buffer;
  const bool widens = byoc_half_is_buffer(from) && is_held(half, to, from->dtype);
  const bool narrows = byoc_half_is_buffer(to) && is_held(half, from, to->dtype);
  return (widens || narrows) && !byoc_emit_is_unread(half->emitter, store) ? value : NULL;
}

static void emit_conversion(const byoc_half_t *half, const byoc_loop_expr_t *load, const char *begin, const char *end,
                            int indent) {
  const byoc_loop_stmt_t *loop = half->loop, *store = byoc_half_statement(half, 0);
  byoc_emitter_t *emitter = half->emitter;
  emitter->uses_vector = true;
  line(half, indent, "{\n");
  byoc_string_indent(emitter->out, indent + 2);
  byoc_string_appendf(emitter->out, "const int64_t %s = ", loop->loop.variable->name);
  if (begin != NULL) byoc_string_append(emitter->out, begin);
  if (begin == NULL) byoc_emit_expr(emitter, loop->loop.begin, BYOC_C_CONDITIONAL);
  byoc_string_append(emitter->out, "; // and the elements from there\n");
  const bool narrows = byoc_half_is_buffer(store->store.buffer);
  byoc_string_indent(emitter->out, indent + 2);
  byoc_string_appendf(emitter->out, narrows ? "byoc_%ss_of_f32(" : "byoc_f32s_of_%s(",
                      type_of(emitter, narrows ? store->store.buffer->dtype : load->load.buffer->dtype));
  emit_place(half, store->store.buffer, store->store.index);
  byoc_string_append(emitter->out, ", ");
  emit_place(half, load->load.buffer, load->load.index);
  byoc_string_append(emitter->out, ", ");
  if (end != NULL) byoc_string_append(emitter->out, end);
  if (end == NULL) byoc_emit_expr(emitter, loop->loop.end, BYOC_C_SUM);
  byoc_string_appendf(emitter->out, " - %s);\n", loop->loop.variable->name);
  line(half, indent, "}\n");
}

static bool is_kind(const byoc_loop_stmt_t *loop) {
  return loop->loop.kind == BYOC_LOOP_VECTOR || loop->loop.kind == BYOC_LOOP_REDUCE ||
         loop->loop.kind == BYOC_LOOP_PARALLEL;
}

bool byoc_emit_half_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, const char *begin, const char *end,
                         int indent) {
  byoc_half_t half = {.emitter = emitter, .loop = loop};
  if (!is_kind(loop) || emitter->is_packed) return false;
  const byoc_loop_expr_t *load = converted(&half);
  if (load != NULL) {
    emit_conversion(&half, load, begin, end, indent);
    return true;
  }
  if (is_copy(&half) || !byoc_half_collect(&half)) return false;
  emit_blocks(&half, begin, end, indent);
  return true;
}
