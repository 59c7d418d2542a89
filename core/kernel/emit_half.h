// SPDX-License-Identifier: Apache-2.0
// Emits loops over f16 and bf16 in blocks: what the files of this part of the emitter share. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_EMIT_HALF_H_
#define BYOC_CORE_KERNEL_EMIT_HALF_H_

#include "core/kernel/emit.h"

enum { BYOC_HALF_ARRAYS = 24, BYOC_HALF_FOUND = 64, BYOC_HALF_GUARDS = 4 };

typedef enum byoc_half_kind_t {
  BYOC_HALF_LOADED,   // elements of an operand
  BYOC_HALF_GATHERED, // elements that are no neighbours, or of some iterations only; they are copied first
  BYOC_HALF_SINGLE,   // elements that are converted where they are needed; no array
  BYOC_HALF_ROUNDED,  // a value that is rounded to f16 or bf16
  BYOC_HALF_KEPT,     // a value that later arrays need and that is slow to compute
  BYOC_HALF_STORED,   // elements of a result
} byoc_half_kind_t;

// One side of a selection, inside of another one.
typedef struct byoc_half_guard_t {
  const struct byoc_half_guard_t *outer; // NULL: none
  const byoc_loop_expr_t *condition;
  bool holds;
} byoc_half_guard_t;

typedef struct byoc_half_array_t {
  byoc_half_kind_t kind;
  const byoc_loop_expr_t *expr; // the load, the cast, the value, or the value of the store
  const byoc_loop_stmt_t *store;
  const char *name;
  // Of gathered elements: where they are needed. A place that is NULL is in every iteration.
  const byoc_half_guard_t *places[BYOC_HALF_GUARDS];
  size_t place_count;
} byoc_half_array_t;

typedef struct byoc_half_t {
  byoc_emitter_t *emitter;
  const byoc_loop_stmt_t *loop;
  byoc_half_array_t arrays[BYOC_HALF_FOUND];
  size_t count;
  int64_t nodes;
  bool has_rounded, reads_stored, failed;
  const char *size; // of a block, as C text
} byoc_half_t;

static inline const byoc_loop_stmt_t *byoc_half_statement(const byoc_half_t *half, size_t i) {
  return half->loop->loop.body->block.statements.data[i];
}

static inline size_t byoc_half_count(const byoc_half_t *half) {
  return half->loop->loop.body->block.statements.count;
}

// A tensor of f16 or bf16.
bool byoc_half_is_buffer(const byoc_loop_buffer_t *buffer);
// Are the elements of consecutive iterations neighbours, and is the first one's place known in front of the loop?
bool byoc_half_is_run(const byoc_half_t *half, const byoc_loop_expr_t *index);
// Does the array hold elements of an operand?
static inline bool byoc_half_is_operand(const byoc_half_array_t *array) {
  return array->kind == BYOC_HALF_LOADED || array->kind == BYOC_HALF_GATHERED;
}
// Does the array hold this load, or value?
bool byoc_half_is_same(const byoc_half_array_t *array, byoc_half_kind_t kind, const byoc_loop_expr_t *expr);
// Finds the arrays of the loop. False: it has none, or cannot be done in blocks.
bool byoc_half_collect(byoc_half_t *half);

#endif // BYOC_CORE_KERNEL_EMIT_HALF_H_
