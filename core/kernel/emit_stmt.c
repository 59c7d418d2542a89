// SPDX-License-Identifier: Apache-2.0
// Emits statements of kernels as C: loops, branches, stores and local variables.
#include <string.h>

#include "core/ir/element.h"
#include "core/kernel/emit.h"
#include "core/kernel/work.h"

// ---- sub-expressions that a statement needs more than once ----

typedef struct sharing_t {
  uint32_t count; // how many places need it
  bool always;    // needed on both sides of every selection, so computing it early is safe
} sharing_t;

typedef struct share_t {
  byoc_emitter_t *emitter;
  byoc_arena_t arena;
  byoc_map_t seen; // pointer map: expression → sharing_t
} share_t;

static void count_places(share_t *share, const byoc_loop_expr_t *expr, bool always) {
  if (expr->kind == BYOC_LOOP_CONST || expr->kind == BYOC_LOOP_VARIABLE || expr->kind == BYOC_LOOP_DIM) return;
  if (byoc_pointer_map_find(&share->emitter->invariant, expr)) return;
  sharing_t *sharing = byoc_pointer_map_get(&share->seen, expr);
  if (!sharing) {
    sharing = BYOC_ARENA_NEW(&share->arena, sharing_t);
    if (!sharing || !byoc_pointer_map_put(&share->seen, expr, sharing)) {
      share->emitter->failed = true;
      return;
    }
  }
  bool known = sharing->count > 0, was_always = sharing->always;
  ++sharing->count;
  sharing->always |= always;
  if (known && (was_always || !always)) return;
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    count_places(share, expr->load.index, always);
    break;
  case BYOC_LOOP_OP:
    count_places(share, expr->op.operands[0], always);
    if (expr->op.operands[1]) count_places(share, expr->op.operands[1], always);
    break;
  case BYOC_LOOP_SELECT:
    count_places(share, expr->select.condition, always);
    count_places(share, expr->select.yes, false);
    count_places(share, expr->select.no, false);
    break;
  case BYOC_LOOP_CAST:
    count_places(share, expr->cast, always);
    break;
  default:
    break;
  }
}

// Index arithmetic is left to the compiler, which shares it too.
static bool worth_naming(const byoc_loop_expr_t *expr) {
  return expr->kind != BYOC_LOOP_LOAD && (expr->dtype != BYOC_DTYPE_I64 || expr->kind == BYOC_LOOP_CAST);
}

static void declare_shared(share_t *share, const byoc_loop_expr_t *expr, int indent) {
  byoc_emitter_t *emitter = share->emitter;
  sharing_t *sharing = byoc_pointer_map_get(&share->seen, expr);
  if (!sharing || byoc_pointer_map_find(&emitter->shared, expr)) return;
  bool named = sharing->count > 1 && sharing->always && worth_naming(expr);
  sharing->count = named ? sharing->count : 0; // visited
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    declare_shared(share, expr->load.index, indent);
    break;
  case BYOC_LOOP_OP:
    declare_shared(share, expr->op.operands[0], indent);
    if (expr->op.operands[1]) declare_shared(share, expr->op.operands[1], indent);
    break;
  case BYOC_LOOP_SELECT:
    declare_shared(share, expr->select.condition, indent);
    declare_shared(share, expr->select.yes, indent);
    declare_shared(share, expr->select.no, indent);
    break;
  case BYOC_LOOP_CAST:
    declare_shared(share, expr->cast, indent);
    break;
  default:
    break;
  }
  if (!named || byoc_pointer_map_find(&emitter->shared, expr)) return;
  char *name = byoc_arena_format(&share->arena, "t_%u", emitter->next_shared++);
  byoc_string_indent(emitter->out, indent);
  byoc_string_appendf(emitter->out, "const %s %s = ", byoc_c_value_type(expr->dtype), name ? name : "");
  byoc_emit_expr(emitter, expr, BYOC_C_CONDITIONAL);
  byoc_string_append(emitter->out, ";\n");
  if (!name || !byoc_pointer_map_put(&emitter->shared, expr, name)) emitter->failed = true;
}

static void share_init(share_t *share, byoc_emitter_t *emitter, const byoc_loop_expr_t *const *exprs, size_t count,
                       int indent) {
  *share = (share_t){.emitter = emitter};
  byoc_arena_init(&share->arena, emitter->allocator);
  byoc_pointer_map_init(&share->seen, emitter->allocator);
  for (size_t i = 0; i < count; ++i) count_places(share, exprs[i], true);
  for (size_t i = 0; i < count; ++i) declare_shared(share, exprs[i], indent);
}

static void share_deinit(share_t *share) {
  byoc_map_clear(&share->emitter->shared);
  byoc_map_deinit(&share->seen);
  byoc_arena_deinit(&share->arena);
}

// ---- loops ----

static void emit_block(byoc_emitter_t *emitter, const byoc_loop_stmt_t *block, int indent) {
  for (size_t i = 0; i < block->block.statements.count; ++i)
    byoc_emit_stmt(emitter, block->block.statements.data[i], indent);
}

static void line(byoc_emitter_t *emitter, int indent, const char *text) {
  byoc_string_indent(emitter->out, indent);
  byoc_string_append(emitter->out, text);
  byoc_string_append(emitter->out, "\n");
}

// Local arrays of this size or larger are aligned to a cache line; smaller ones that hold a vector are aligned to the
// widest vector. gcc 12 may copy to an array of 48 bytes by aligned moves and yet place it on 8 bytes.
#define LINE_ELEMENTS   64
#define VECTOR_ELEMENTS 4
// Unrolled loops with more iterations than this are left to the compiler.
#define MAX_UNROLL 64

static bool is_independent(const byoc_loop_stmt_t *stmt) {
  return stmt->loop.kind == BYOC_LOOP_VECTOR ||
         (stmt->loop.kind == BYOC_LOOP_PARALLEL && !byoc_has_loop(stmt->loop.body));
}

static bool has_vector_hint(const byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt) {
  return is_independent(stmt) && !emitter->is_packed;
}

static bool is_vectorised(const byoc_loop_stmt_t *stmt) {
  return is_independent(stmt) || stmt->loop.kind == BYOC_LOOP_REDUCE;
}

// A loop so short that compilers unroll it before they look for vectors, and that only moves elements of 16 bits. gcc
// then joins the moves of several such loops to a vector of 64 bytes, element by element.
static bool moves_few_words(const byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop) {
  enum { MOST_UNROLLED = 16 };
  int64_t begin, end;
  if (!byoc_loop_is_int(loop->loop.begin, &begin) || !byoc_loop_is_int(loop->loop.end, &end)) return false;
  if (end - begin > MOST_UNROLLED) return false;
  const byoc_loop_stmt_t *body = loop->loop.body;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (stmt->kind != BYOC_LOOP_STORE || stmt->store.value->kind != BYOC_LOOP_LOAD) return false;
    const byoc_loop_buffer_t *from = stmt->store.value->load.buffer, *to = stmt->store.buffer;
    if (from->dtype != to->dtype || byoc_dtype_bits(to->dtype) != 16) return false;
    if (!byoc_emit_holds_bits(emitter, from) || !byoc_emit_holds_bits(emitter, to)) return false;
  }
  return true;
}

static void emit_hint(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, int indent) {
  int64_t begin, end;
  if (has_vector_hint(emitter, stmt)) {
    emitter->uses_vector = true;
    line(emitter, indent, "BYOC_VECTOR");
    if (!moves_few_words(emitter, stmt)) return;
    emitter->uses_unroll = true;
    line(emitter, indent, "BYOC_UNROLL(1)");
  } else if (stmt->loop.kind == BYOC_LOOP_UNROLL && byoc_loop_is_int(stmt->loop.begin, &begin) &&
             byoc_loop_is_int(stmt->loop.end, &end) && end - begin <= MAX_UNROLL && end - begin > 1) {
    emitter->uses_unroll = true;
    byoc_string_indent(emitter->out, indent);
    byoc_string_appendf(emitter->out, "BYOC_UNROLL(%lld)\n", (long long)(end - begin));
  }
}

// A kernel whose run is to end leaves the rest out.
static void emit_ending(byoc_emitter_t *emitter, int indent) {
  line(emitter, indent,
       "if (call->runtime->is_ending != 0 && call->runtime->is_ending(call->runtime->self)) return BYOC_CANCELLED;");
}

// Iterations that are long enough to look at a flag in each of them.
static bool may_end_between_iterations(const byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt) {
  const bool is_plain = stmt->loop.kind == BYOC_LOOP_SERIAL || stmt->loop.kind == BYOC_LOOP_PARALLEL;
  return is_plain && !emitter->in_share && byoc_has_loop(stmt->loop.body) &&
         byoc_work_of(stmt->loop.body) >= BYOC_PARALLEL_WORK;
}

static bool has_branch(const byoc_loop_expr_t *expr) {
  if (expr->kind == BYOC_LOOP_CAST) return has_branch(expr->cast);
  if (expr->kind == BYOC_LOOP_CONST || expr->kind == BYOC_LOOP_VARIABLE || expr->kind == BYOC_LOOP_DIM) return false;
  bool is_sum = expr->kind == BYOC_LOOP_OP &&
                (expr->op.op == BYOC_LOOP_OP_ADD || expr->op.op == BYOC_LOOP_OP_SUB || expr->op.op == BYOC_LOOP_OP_MUL);
  return !is_sum || has_branch(expr->op.operands[0]) || has_branch(expr->op.operands[1]);
}

// gcc ignores a hint to vectorise if the condition of the loop branches; the end is then a variable of its own.
static void emit_for_head(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt) {
  const char *name = stmt->loop.variable->name;
  byoc_string_t *out = emitter->out;
  bool named_end = has_vector_hint(emitter, stmt) && has_branch(stmt->loop.end);
  byoc_string_appendf(out, "for (int64_t %s = ", name);
  byoc_emit_expr(emitter, stmt->loop.begin, BYOC_C_CONDITIONAL);
  byoc_string_appendf(out, named_end ? ", %s_end = " : "; %s < ", name);
  byoc_emit_expr(emitter, stmt->loop.end, named_end ? BYOC_C_CONDITIONAL : BYOC_C_SUM);
  if (named_end) byoc_string_appendf(out, "; %s < %s_end", name, name);
  byoc_string_appendf(out, "; ++%s) {\n", name);
}

// A short loop of known length that stores integers in a local array.
static bool folds_integers(const byoc_loop_stmt_t *stmt) {
  enum { MOST_UNROLLED = 16 };
  int64_t begin, end;
  if (stmt->kind != BYOC_LOOP_FOR || stmt->loop.kind != BYOC_LOOP_VECTOR) return false;
  if (!byoc_loop_is_int(stmt->loop.begin, &begin) || !byoc_loop_is_int(stmt->loop.end, &end)) return false;
  if (end - begin > MOST_UNROLLED) return false;
  const byoc_loop_stmt_t *body = stmt->loop.body;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *inner = body->block.statements.data[i];
    if (inner->kind == BYOC_LOOP_STORE && inner->store.buffer->kind == BYOC_LOOP_BUFFER_LOCAL &&
        byoc_dtype_is_any_integer(inner->store.buffer->dtype)) {
      return true;
    }
  }
  return false;
}

// gcc 12 unrolls such loops and vectorises the loop around them, with wrong sums (-O3, AVX-512). A
// statement that it does not look into keeps the iterations of the outer loop apart.
static void emit_step(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, int indent) {
  const byoc_loop_stmt_t *body = stmt->loop.body;
  if (stmt->loop.kind != BYOC_LOOP_SERIAL) return;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    if (!folds_integers(body->block.statements.data[i])) continue;
    emitter->uses_steps = true;
    line(emitter, indent, "BYOC_STEP;");
    return;
  }
}

static void emit_for(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, int indent) {
  if (byoc_emit_dot_loop(emitter, stmt, indent) || byoc_emit_lane_loop(emitter, stmt, indent) ||
      byoc_emit_copy_loop(emitter, stmt, indent) || byoc_emit_look_up_loop(emitter, stmt, indent) ||
      byoc_emit_half_loop(emitter, stmt, NULL, NULL, indent)) {
    return;
  }
  const bool is_vector = is_vectorised(stmt);
  bool reduces = stmt->loop.kind == BYOC_LOOP_REDUCE;
  byoc_emit_invariants(emitter, stmt, indent);
  if (reduces) byoc_emit_reduce_begin(emitter, stmt, indent);
  emit_hint(emitter, stmt, indent);
  byoc_string_indent(emitter->out, indent);
  emit_for_head(emitter, stmt);
  emitter->vector_depth += is_vector;
  if (may_end_between_iterations(emitter, stmt)) emit_ending(emitter, indent + 2);
  emit_step(emitter, stmt, indent + 2);
  for (size_t i = 0; i < stmt->loop.body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *inner = stmt->loop.body->block.statements.data[i];
    if (!reduces || !byoc_emit_reduce_fold(emitter, inner, indent + 2)) byoc_emit_stmt(emitter, inner, indent + 2);
  }
  emitter->vector_depth -= is_vector;
  line(emitter, indent, "}");
  byoc_map_clear(&emitter->invariant);
  if (reduces) byoc_emit_reduce_end(emitter, stmt, indent);
}

// ---- parallel loops ----

// Emits one captured item: as a field of the arguments, as its initialiser, or as the local that the body reads.
static void emit_field(byoc_emitter_t *emitter, byoc_string_t *out, const byoc_use_item_t *item, const char *form) {
  byoc_string_t name;
  byoc_string_init(&name, emitter->allocator);
  const char *type = "int64_t";
  const char *prefix = "";
  bool pointer = false;
  if (item->buffer) {
    type = byoc_emit_element_type(emitter, item->buffer);
    prefix = item->buffer->kind == BYOC_LOOP_BUFFER_INPUT ? "const " : "";
    pointer = true;
    byoc_string_append(&name, item->buffer->name);
  } else if (item->variable) {
    type = byoc_c_value_type(item->variable->dtype);
    byoc_string_append(&name, item->variable->name);
  } else {
    byoc_emit_dim_name(emitter, item->symbol, &name);
  }
  if (strcmp(form, "field") == 0)
    byoc_string_appendf(out, "  %s%s %s%s;\n", prefix, type, pointer ? "*" : "", name.data);
  else if (strcmp(form, "value") == 0)
    byoc_string_appendf(out, "%s", name.data);
  else if (pointer)
    byoc_string_appendf(out, "  %s%s *%s%s = args->%s;\n", prefix, type,
                        byoc_emit_restrict(emitter->kernel, item->buffer), name.data, name.data);
  else
    byoc_string_appendf(out, "  const %s %s = args->%s;\n", type, name.data, name.data);
  if (name.failed) emitter->failed = true;
  byoc_string_deinit(&name);
}

// Where the chunk begins or ends, as C text in the emitter's names.
static const char *chunk_bound(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, const char *bound) {
  if (byoc_loop_is_const(stmt->loop.begin, 0)) return bound;
  byoc_string_t text, *outer = emitter->out;
  byoc_string_init(&text, emitter->allocator);
  emitter->out = &text;
  byoc_emit_expr(emitter, stmt->loop.begin, BYOC_C_SUM);
  emitter->out = outer;
  const char *sum = text.failed ? NULL : byoc_arena_format(&emitter->names, "%s + %s", text.data, bound);
  if (sum == NULL) emitter->failed = true;
  byoc_string_deinit(&text);
  return sum != NULL ? sum : "";
}

// The loop over a chunk of the iterations.
static void emit_share_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt) {
  const char *name = stmt->loop.variable->name;
  const char *begin = chunk_bound(emitter, stmt, "begin"), *end = chunk_bound(emitter, stmt, "end");
  if (!byoc_has_loop(stmt->loop.body) && byoc_emit_half_loop(emitter, stmt, begin, end, 2)) return;
  const bool is_vector = is_vectorised(stmt);
  emit_hint(emitter, stmt, 2);
  byoc_string_appendf(emitter->out, "  for (int64_t %s = %s; %s < %s; ++%s) {\n", name, begin, name, end, name);
  emitter->vector_depth += is_vector;
  emit_block(emitter, stmt->loop.body, 4);
  emitter->vector_depth -= is_vector;
  byoc_string_append(emitter->out, "  }\n");
}

// Emits the body as a function of a chunk of the iterations, in front of the kernel.
static void emit_body_function(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, const byoc_uses_t *uses,
                               uint32_t number) {
  const char *kernel = emitter->kernel->name;
  byoc_string_t *outer = emitter->out, body;
  byoc_string_init(&body, emitter->allocator);
  byoc_string_appendf(&body, "typedef struct %s_args_%u_t {\n", kernel, number);
  for (size_t i = 0; i < uses->count; ++i) emit_field(emitter, &body, &uses->items[i], "field");
  byoc_string_appendf(&body, "} %s_args_%u_t;\n\n", kernel, number);
  byoc_string_appendf(&body, "static void %s_loop_%u(void *argument, int64_t begin, int64_t end, int32_t worker) {\n",
                      kernel, number);
  byoc_string_appendf(&body, "  const %s_args_%u_t *args = (const %s_args_%u_t *)argument;\n  (void)worker;\n", kernel,
                      number, kernel, number);
  for (size_t i = 0; i < uses->count; ++i) emit_field(emitter, &body, &uses->items[i], "local");
  emitter->out = &body;
  emitter->in_share = true;
  emit_share_loop(emitter, stmt);
  byoc_string_append(&body, "}\n\n");
  emitter->in_share = false;
  emitter->out = outer;
  byoc_string_append_bytes(&emitter->functions, body.data, body.size);
  if (body.failed) emitter->failed = true;
  byoc_string_deinit(&body);
}

static void emit_parallel(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, int indent) {
  int64_t work = byoc_work_of(stmt->loop.body), iterations = byoc_loop_iterations(stmt);
  // Without a loop inside, the iterations themselves become vectors.
  const int64_t enough = byoc_has_loop(stmt->loop.body) ? BYOC_PARALLEL_WORK : 4 * BYOC_PARALLEL_WORK;
  byoc_loop_stmt_t share = *stmt; // the body function gets its end from its caller
  share.loop.end = share.loop.begin;
  byoc_uses_t uses;
  bool fine = byoc_uses_collect(&share, emitter->allocator, &uses);
  if (!fine) emitter->failed = true;
  if (!fine || uses.count == 0 || emitter->is_packed ||
      (iterations >= 0 && (iterations < 2 || byoc_work_times(iterations, work) < enough))) {
    emit_for(emitter, stmt, indent);
    byoc_uses_deinit(&uses);
    return;
  }
  uint32_t number = emitter->next_loop++;
  const char *kernel = emitter->kernel->name;
  byoc_string_t *out = emitter->out;
  int64_t grain = (enough / 2 + work - 1) / work;
  emit_body_function(emitter, stmt, &uses, number);
  byoc_string_indent(out, indent);
  byoc_string_appendf(out, "%s_args_%u_t args_%u = {", kernel, number, number);
  for (size_t i = 0; i < uses.count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    emit_field(emitter, out, &uses.items[i], "value");
  }
  byoc_string_append(out, "};\n");
  byoc_string_indent(out, indent);
  byoc_string_appendf(out, "call->runtime->parallel_for(call->runtime->self, %s_loop_%u, &args_%u, ", kernel, number,
                      number);
  byoc_emit_expr(emitter, stmt->loop.end, BYOC_C_SUM);
  if (!byoc_loop_is_const(stmt->loop.begin, 0)) {
    byoc_string_append(out, " - ");
    byoc_emit_expr(emitter, stmt->loop.begin, BYOC_C_PRODUCT);
  }
  byoc_string_appendf(out, ", %lld);\n", (long long)grain);
  emit_ending(emitter, indent);
  byoc_uses_deinit(&uses);
}

// ---- statements ----

bool byoc_emit_is_unread(const byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt) {
  if (stmt->kind != BYOC_LOOP_STORE) return !byoc_pointer_map_find(emitter->read, stmt->assign.variable);
  return stmt->store.buffer->kind == BYOC_LOOP_BUFFER_LOCAL &&
         !byoc_pointer_map_find(emitter->read, stmt->store.buffer);
}

static void emit_valued(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, int indent) {
  byoc_string_t *out = emitter->out;
  bool is_store = stmt->kind == BYOC_LOOP_STORE;
  if (byoc_emit_is_unread(emitter, stmt)) return;
  const byoc_loop_expr_t *exprs[2] = {is_store ? stmt->store.value : stmt->assign.value,
                                      is_store ? stmt->store.index : NULL};
  share_t share;
  share_init(&share, emitter, exprs, is_store ? 2 : 1, indent);
  byoc_string_indent(out, indent);
  if (is_store) {
    const byoc_loop_buffer_t *buffer = stmt->store.buffer;
    bool packed = buffer->kind != BYOC_LOOP_BUFFER_LOCAL && byoc_dtype_bits(buffer->dtype) < 8;
    if (packed) byoc_emit_helper(emitter, byoc_dtype_bits(buffer->dtype) == 2 ? "byoc_store_2" : "byoc_store_4");
    byoc_string_appendf(out, packed ? "(%s, " : "%s[", buffer->name);
    byoc_emit_expr(emitter, stmt->store.index, BYOC_C_CONDITIONAL);
    byoc_string_append(out, packed ? ", " : "] = ");
    if (!byoc_emit_holds_bits(emitter, buffer))
      byoc_emit_expr(emitter, stmt->store.value, BYOC_C_CONDITIONAL);
    else
      byoc_emit_stored(emitter, buffer->dtype, stmt->store.value);
    if (packed) byoc_string_append(out, ")");
  } else {
    const byoc_loop_variable_t *variable = stmt->assign.variable;
    if (stmt->kind == BYOC_LOOP_LET)
      byoc_string_appendf(out, "%s%s ", variable->is_mutable ? "" : "const ", byoc_c_value_type(variable->dtype));
    byoc_string_appendf(out, "%s = ", variable->name);
    byoc_emit_expr(emitter, stmt->assign.value, BYOC_C_CONDITIONAL);
  }
  byoc_string_append(out, ";\n");
  share_deinit(&share);
}

static void emit_condition(byoc_emitter_t *emitter, const char *keyword, const byoc_loop_expr_t *condition,
                           int indent) {
  byoc_string_indent(emitter->out, indent);
  byoc_string_appendf(emitter->out, "%s (", keyword);
  byoc_emit_expr(emitter, condition, BYOC_C_CONDITIONAL);
  byoc_string_append(emitter->out, ") {\n");
}

void byoc_emit_stmt(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, int indent) {
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    line(emitter, indent, "{");
    emit_block(emitter, stmt, indent + 2);
    line(emitter, indent, "}");
    return;
  case BYOC_LOOP_FOR:
    if (stmt->loop.kind == BYOC_LOOP_PARALLEL)
      emit_parallel(emitter, stmt, indent);
    else
      emit_for(emitter, stmt, indent);
    return;
  case BYOC_LOOP_WHILE:
    emit_condition(emitter, "while", stmt->loop_while.condition, indent);
    emit_block(emitter, stmt->loop_while.body, indent + 2);
    line(emitter, indent, "}");
    return;
  case BYOC_LOOP_IF:
    emit_condition(emitter, "if", stmt->branch.condition, indent);
    emit_block(emitter, stmt->branch.yes, indent + 2);
    if (stmt->branch.no) {
      line(emitter, indent, "} else {");
      emit_block(emitter, stmt->branch.no, indent + 2);
    }
    line(emitter, indent, "}");
    return;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN:
  case BYOC_LOOP_STORE:
    emit_valued(emitter, stmt, indent);
    return;
  case BYOC_LOOP_ALLOCATE: {
    if (!byoc_pointer_map_find(emitter->read, stmt->allocate)) return;
    byoc_string_indent(emitter->out, indent);
    int64_t count = stmt->allocate->dims[0].constant;
    const char *alignment = count >= LINE_ELEMENTS ? "_Alignas(64) " : count >= VECTOR_ELEMENTS ? "_Alignas(32) " : "";
    byoc_string_appendf(emitter->out, "%s%s %s[%lld];\n", alignment, byoc_emit_element_type(emitter, stmt->allocate),
                        stmt->allocate->name, (long long)count);
    return;
  }
  case BYOC_LOOP_COMMENT: {
    byoc_string_indent(emitter->out, indent);
    byoc_string_append(emitter->out, "// ");
    for (const char *at = stmt->comment; *at; ++at) {
      char letter = *at == '\n' || *at == '\r' || *at == '\\' ? ' ' : *at;
      byoc_string_append_bytes(emitter->out, &letter, 1);
    }
    byoc_string_append(emitter->out, "\n");
    return;
  }
  }
}
