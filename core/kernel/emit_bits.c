// SPDX-License-Identifier: Apache-2.0
// Finds local buffers whose elements are only moved, as in the squares of a transposition. If numbers of their type are
// held as f32 otherwise, they hold the bits instead: half as many bytes for f16, and no conversions.
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/kernel/emit.h"

typedef struct finder_t {
  byoc_map_t *held; // pointer map: local buffers that hold numbers
  bool has_candidates, changed, failed;
} finder_t;

static bool is_candidate(const byoc_loop_buffer_t *buffer) {
  return buffer->kind == BYOC_LOOP_BUFFER_LOCAL && byoc_loop_is_float(buffer->dtype) &&
         byoc_dtype_bits(buffer->dtype) >= 8 &&
         strcmp(byoc_c_value_type(buffer->dtype), byoc_c_storage_type(buffer->dtype)) != 0;
}

static bool is_held(const finder_t *finder, const byoc_loop_buffer_t *buffer) {
  return buffer->kind == BYOC_LOOP_BUFFER_LOCAL && byoc_pointer_map_find(finder->held, buffer);
}

static void hold(finder_t *finder, const byoc_loop_buffer_t *buffer) {
  if (!is_candidate(buffer) || is_held(finder, buffer)) return;
  finder->changed = true;
  if (!byoc_pointer_map_put(finder->held, buffer, NULL)) finder->failed = true;
}

// Buffers that the expression computes with hold numbers.
static void find_in_expr(finder_t *finder, const byoc_loop_expr_t *expr) {
  switch (expr->kind) {
  case BYOC_LOOP_LOAD:
    hold(finder, expr->load.buffer);
    find_in_expr(finder, expr->load.index);
    return;
  case BYOC_LOOP_OP:
    find_in_expr(finder, expr->op.operands[0]);
    if (expr->op.operands[1] != NULL) find_in_expr(finder, expr->op.operands[1]);
    return;
  case BYOC_LOOP_SELECT:
    find_in_expr(finder, expr->select.condition);
    find_in_expr(finder, expr->select.yes);
    find_in_expr(finder, expr->select.no);
    return;
  case BYOC_LOOP_CAST:
    find_in_expr(finder, expr->cast);
    return;
  default:
    return;
  }
}

// A move has bits on both sides or numbers on both sides.
static void find_in_store(finder_t *finder, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_expr_t *value = stmt->store.value;
  const byoc_loop_buffer_t *to = stmt->store.buffer;
  find_in_expr(finder, stmt->store.index);
  if (value->kind != BYOC_LOOP_LOAD || value->load.buffer->dtype != to->dtype) {
    hold(finder, to);
    find_in_expr(finder, value);
    return;
  }
  find_in_expr(finder, value->load.index);
  if (is_held(finder, to)) hold(finder, value->load.buffer);
  if (is_held(finder, value->load.buffer)) hold(finder, to);
}

static void find_in_stmt(finder_t *finder, const byoc_loop_stmt_t *stmt) {
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    for (size_t i = 0; i < stmt->block.statements.count; ++i) find_in_stmt(finder, stmt->block.statements.data[i]);
    return;
  case BYOC_LOOP_FOR:
    find_in_expr(finder, stmt->loop.begin);
    find_in_expr(finder, stmt->loop.end);
    find_in_stmt(finder, stmt->loop.body);
    return;
  case BYOC_LOOP_WHILE:
    find_in_expr(finder, stmt->loop_while.condition);
    find_in_stmt(finder, stmt->loop_while.body);
    return;
  case BYOC_LOOP_IF:
    find_in_expr(finder, stmt->branch.condition);
    find_in_stmt(finder, stmt->branch.yes);
    if (stmt->branch.no) find_in_stmt(finder, stmt->branch.no);
    return;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN:
    find_in_expr(finder, stmt->assign.value);
    return;
  case BYOC_LOOP_STORE:
    find_in_store(finder, stmt);
    return;
  case BYOC_LOOP_ALLOCATE:
    finder->has_candidates |= is_candidate(stmt->allocate);
    return;
  case BYOC_LOOP_COMMENT:
    return;
  }
}

void byoc_emit_find_bits(byoc_emitter_t *emitter) {
  finder_t finder = {.held = &emitter->held};
  byoc_map_clear(&emitter->held);
  do { // a buffer that holds numbers makes those that it is moved to and from do so
    finder.changed = false;
    find_in_stmt(&finder, emitter->kernel->body);
  } while (finder.changed && finder.has_candidates && !finder.failed);
  if (finder.failed) emitter->failed = true;
}

bool byoc_emit_holds_bits(const byoc_emitter_t *emitter, const byoc_loop_buffer_t *buffer) {
  if (buffer->kind != BYOC_LOOP_BUFFER_LOCAL) return true;
  return is_candidate(buffer) && !byoc_pointer_map_find(&emitter->held, buffer);
}

const char *byoc_emit_element_type(const byoc_emitter_t *emitter, const byoc_loop_buffer_t *buffer) {
  return byoc_emit_holds_bits(emitter, buffer) ? byoc_c_storage_type(buffer->dtype) : byoc_c_value_type(buffer->dtype);
}
