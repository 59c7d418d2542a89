// SPDX-License-Identifier: Apache-2.0
// Moves invariant expressions out of vector loops: 1 / sqrt(variance[c] + epsilon) of a batch normalisation. C
// compilers leave them inside, because a store of the loop might change the operands.
#include "core/ir/loop_fold.h"
#include "core/kernel/emit.h"

// How the value of an expression behaves in the loop.
typedef enum invariance_t {
  UNSEEN,
  VARIES,      // from one iteration to the next, as far as is known
  SAME,        // but computed as fast as it would be loaded
  SAME_COSTLY, // and worth a name
} invariance_t;

typedef struct invariants_t {
  byoc_emitter_t *emitter;
  const byoc_loop_stmt_t *loop;
  byoc_map_t known; // pointer map: expression → an element of `kinds`
  int indent;
} invariants_t;

static const invariance_t kinds[] = {UNSEEN, VARIES, SAME, SAME_COSTLY};

static bool is_costly(const byoc_loop_expr_t *expr) {
  return expr->op.op == BYOC_LOOP_OP_DIV || expr->op.op == BYOC_LOOP_OP_SQRT ||
         byoc_loop_op_category(expr->op.op) == BYOC_LOOP_TRANSCENDENTAL;
}

// A variable from outside of the loop: neither its index nor a variable that its body declares.
static bool is_outer(const byoc_loop_stmt_t *loop, const byoc_loop_variable_t *variable) {
  if (variable->is_mutable || variable == loop->loop.variable) return false;
  for (size_t i = 0; i < loop->loop.body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = loop->loop.body->block.statements.data[i];
    if (stmt->kind == BYOC_LOOP_LET && stmt->assign.variable == variable) return false;
  }
  return true;
}

static invariance_t invariance_of(invariants_t *invariants, const byoc_loop_expr_t *expr);

static invariance_t of_op(invariants_t *invariants, const byoc_loop_expr_t *expr) {
  invariance_t most = SAME;
  for (int i = 0; i < 2 && expr->op.operands[i] != NULL; ++i) {
    const invariance_t kind = invariance_of(invariants, expr->op.operands[i]);
    if (kind == VARIES) return VARIES;
    if (kind > most) most = kind;
  }
  return byoc_loop_is_float(expr->dtype) && is_costly(expr) ? SAME_COSTLY : most;
}

static invariance_t compute_invariance(invariants_t *invariants, const byoc_loop_expr_t *expr) {
  const byoc_loop_kernel_t *kernel = invariants->emitter->kernel;
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
  case BYOC_LOOP_DIM:
    return SAME;
  case BYOC_LOOP_VARIABLE:
    return is_outer(invariants->loop, expr->variable) ? SAME : VARIES;
  case BYOC_LOOP_LOAD: { // of an input that no result is written over
    const byoc_loop_buffer_t *buffer = expr->load.buffer;
    const bool is_fixed = buffer->kind == BYOC_LOOP_BUFFER_INPUT && byoc_emit_restrict(kernel, buffer)[0] != '\0';
    return is_fixed ? invariance_of(invariants, expr->load.index) : VARIES;
  }
  case BYOC_LOOP_OP:
    return of_op(invariants, expr);
  case BYOC_LOOP_CAST:
    return invariance_of(invariants, expr->cast);
  case BYOC_LOOP_SELECT: // may guard a load
    return VARIES;
  }
  return VARIES;
}

static invariance_t invariance_of(invariants_t *invariants, const byoc_loop_expr_t *expr) {
  const invariance_t *known = byoc_pointer_map_get(&invariants->known, expr);
  if (known != NULL) return *known;
  const invariance_t kind = compute_invariance(invariants, expr);
  if (!byoc_pointer_map_put(&invariants->known, expr, (void *)&kinds[kind])) invariants->emitter->failed = true;
  return kind;
}

static void name_value(invariants_t *invariants, const byoc_loop_expr_t *expr) {
  byoc_emitter_t *emitter = invariants->emitter;
  char *name = byoc_arena_format(&emitter->names, "t_%u", emitter->next_shared++);
  byoc_string_indent(emitter->out, invariants->indent);
  byoc_string_appendf(emitter->out, "const %s %s = ", byoc_c_value_type(expr->dtype), name ? name : "");
  byoc_emit_expr(emitter, expr, BYOC_C_CONDITIONAL);
  byoc_string_append(emitter->out, ";\n");
  if (name == NULL || !byoc_pointer_map_put(&emitter->invariant, expr, name)) emitter->failed = true;
}

// Names the largest parts of the expression that are worth it. A select's sides are only computed where it chooses
// them.
static void name_parts(invariants_t *invariants, const byoc_loop_expr_t *expr) {
  if (byoc_pointer_map_find(&invariants->emitter->invariant, expr)) return;
  if (invariance_of(invariants, expr) == SAME_COSTLY) {
    name_value(invariants, expr);
    return;
  }
  switch (expr->kind) {
  case BYOC_LOOP_OP:
    name_parts(invariants, expr->op.operands[0]);
    if (expr->op.operands[1] != NULL) name_parts(invariants, expr->op.operands[1]);
    break;
  case BYOC_LOOP_SELECT:
    name_parts(invariants, expr->select.condition);
    break;
  case BYOC_LOOP_CAST:
    name_parts(invariants, expr->cast);
    break;
  default:
    break;
  }
}

// A loop of plain statements that runs at least once: its loads may be done in front of it.
static bool is_plain(const byoc_loop_stmt_t *loop) {
  int64_t begin, end;
  if (loop->loop.kind != BYOC_LOOP_VECTOR || !byoc_loop_is_int(loop->loop.begin, &begin) ||
      !byoc_loop_is_int(loop->loop.end, &end) || begin >= end) {
    return false;
  }
  for (size_t i = 0; i < loop->loop.body->block.statements.count; ++i) {
    const byoc_loop_stmt_kind_t kind = loop->loop.body->block.statements.data[i]->kind;
    if (kind != BYOC_LOOP_LET && kind != BYOC_LOOP_STORE && kind != BYOC_LOOP_COMMENT) return false;
  }
  return true;
}

void byoc_emit_invariants(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent) {
  if (!is_plain(loop)) return;
  invariants_t invariants = {.emitter = emitter, .loop = loop, .indent = indent};
  byoc_pointer_map_init(&invariants.known, emitter->allocator);
  for (size_t i = 0; i < loop->loop.body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = loop->loop.body->block.statements.data[i];
    if (stmt->kind == BYOC_LOOP_COMMENT || byoc_emit_is_unread(emitter, stmt)) continue;
    name_parts(&invariants, stmt->kind == BYOC_LOOP_LET ? stmt->assign.value : stmt->store.value);
  }
  byoc_map_deinit(&invariants.known);
}
