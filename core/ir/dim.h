// SPDX-License-Identifier: Apache-2.0
// Dimensions: a constant, or an expression over symbols ("N", "floordiv(H + 2, 2)"). Immutable values; expression
// nodes live in an arena (the module's), so a copy is a struct copy within that module.
#ifndef BYOC_CORE_IR_DIM_H_
#define BYOC_CORE_IR_DIM_H_

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/string.h"

// X(NAME, "text", is_binary)
#define BYOC_DIM_KIND_LIST(X)                                                                                          \
  X(CONSTANT, "constant", 0)                                                                                           \
  X(SYMBOL, "symbol", 0)                                                                                               \
  X(UNKNOWN, "unknown", 0) /* known at run time only (data-dependent); equal only to itself */                         \
  X(ADD, "+", 1)                                                                                                       \
  X(SUB, "-", 1)                                                                                                       \
  X(MUL, "*", 1)                                                                                                       \
  X(FLOORDIV, "floordiv", 1)                                                                                           \
  X(CEILDIV, "ceildiv", 1)                                                                                             \
  X(MOD, "mod", 1)                                                                                                     \
  X(MIN, "min", 1)                                                                                                     \
  X(MAX, "max", 1)                                                                                                     \
  X(BROADCAST, "broadcast", 1) /* of sizes that are equal, or one of which is 1: the other one */

#define BYOC_DIM_KIND_ENUM(NAME, text, binary) BYOC_DIM_##NAME,
typedef enum byoc_dim_kind_t { BYOC_DIM_KIND_LIST(BYOC_DIM_KIND_ENUM) } byoc_dim_kind_t;
#undef BYOC_DIM_KIND_ENUM

typedef struct byoc_dim_expr_t byoc_dim_expr_t;
typedef struct byoc_dim_t {
  int64_t constant;            // if expr is NULL
  const byoc_dim_expr_t *expr; // NULL: a constant
} byoc_dim_t;

struct byoc_dim_expr_t {
  byoc_dim_kind_t kind;
  byoc_dim_t left, right; // binary kinds
  const char *symbol;     // SYMBOL
  uint64_t id;            // UNKNOWN
  uint32_t size;          // nodes in the expression, as a tree
};

// An expression with more nodes than this becomes an unknown (equal to others of the same content), so that walks stay
// bounded.
#define BYOC_DIM_MAX_SIZE 512

static inline byoc_dim_t byoc_dim_constant(int64_t value) {
  return (byoc_dim_t){.constant = value};
}
static inline bool byoc_dim_is_constant(byoc_dim_t dim) {
  return dim.expr == NULL;
}

// These return a constant -1 and set *failed (sticky; never NULL) if out of memory. Binary ones fold constants and
// neutral elements and bring sums and products into a canonical order, so that equal expressions built in different
// ways compare equal in the common cases.
byoc_dim_t byoc_dim_symbol(byoc_arena_t *arena, const char *name, bool *failed);
byoc_dim_t byoc_dim_unknown(byoc_arena_t *arena, uint64_t id, bool *failed);
byoc_dim_t byoc_dim_binary(byoc_arena_t *arena, byoc_dim_kind_t kind, byoc_dim_t left, byoc_dim_t right, bool *failed);

bool byoc_dim_equal(byoc_dim_t a, byoc_dim_t b);
uint64_t byoc_dim_hash(byoc_dim_t dim, uint64_t seed);
void byoc_dim_print(byoc_dim_t dim, byoc_string_t *out);
// Deep copy into another arena.
byoc_dim_t byoc_dim_copy(byoc_dim_t dim, byoc_arena_t *arena, bool *failed);
// Replaces symbols by the dimensions in `bindings` (text map: symbol → const byoc_dim_t *) and folds.
byoc_dim_t byoc_dim_substitute(byoc_dim_t dim, const byoc_map_t *bindings, byoc_arena_t *arena, bool *failed);
// Replaces symbols and unknowns for which `leaf` gives another dimension (it returns false to keep one).
typedef bool (*byoc_dim_leaf_t)(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim);
byoc_dim_t byoc_dim_replace(byoc_dim_t dim, byoc_dim_leaf_t leaf, void *self, byoc_arena_t *arena, bool *failed);
// Calls `visit` for every symbol and unknown in the expression; stops and returns false when `visit` does.
bool byoc_dim_walk(byoc_dim_t dim, bool (*visit)(void *self, byoc_dim_t leaf), void *self);
static inline bool byoc_dim_is_unknown(byoc_dim_t dim) {
  return dim.expr && dim.expr->kind == BYOC_DIM_UNKNOWN;
}
static inline bool byoc_dim_is_leaf(byoc_dim_t dim) { // a symbol or an unknown
  return dim.expr && (dim.expr->kind == BYOC_DIM_UNKNOWN || dim.expr->kind == BYOC_DIM_SYMBOL);
}

#endif // BYOC_CORE_IR_DIM_H_
