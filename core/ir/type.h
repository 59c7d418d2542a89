// SPDX-License-Identifier: Apache-2.0
// Types of values: tensors, sequences, optionals. Immutable, owned by an arena; compared by structure.
#ifndef BYOC_CORE_IR_TYPE_H_
#define BYOC_CORE_IR_TYPE_H_

#include "byoc/dtype.h"
#include "core/ir/dim.h"

typedef enum byoc_type_kind_t {
  BYOC_TYPE_UNKNOWN,  // not inferred yet, printed "?"
  BYOC_TYPE_TENSOR,   // "f32[1,3,N]"; unranked "f32[*]"
  BYOC_TYPE_SEQUENCE, // "seq<f32[N]>"
  BYOC_TYPE_OPTIONAL, // "opt<f32[N]>"
} byoc_type_kind_t;

#define BYOC_RANK_UNKNOWN (-1)
// The largest rank; the reader refuses larger ones.
#define BYOC_MAX_RANK 16

typedef struct byoc_type_t byoc_type_t;
struct byoc_type_t {
  byoc_type_kind_t kind;
  byoc_dtype_t dtype;         // tensors
  int32_t rank;               // tensors; BYOC_RANK_UNKNOWN if unranked
  const byoc_dim_t *dims;     // `rank` of them
  const byoc_type_t *element; // sequences and optionals
};

// NULL if out of memory. `dims` is copied, its expressions are not: they must live as long as the arena.
const byoc_type_t *byoc_type_tensor(byoc_arena_t *arena, byoc_dtype_t dtype, int32_t rank, const byoc_dim_t *dims);
const byoc_type_t *byoc_type_tensor_static(byoc_arena_t *arena, byoc_dtype_t dtype, int32_t rank, const int64_t *dims);
const byoc_type_t *byoc_type_sequence(byoc_arena_t *arena, const byoc_type_t *element);
const byoc_type_t *byoc_type_optional(byoc_arena_t *arena, const byoc_type_t *element);
const byoc_type_t *byoc_type_unknown(void);
const byoc_type_t *byoc_type_copy(const byoc_type_t *type, byoc_arena_t *arena);

bool byoc_type_equal(const byoc_type_t *a, const byoc_type_t *b);
uint64_t byoc_type_hash(const byoc_type_t *type, uint64_t seed);
void byoc_type_print(const byoc_type_t *type, byoc_string_t *out);

static inline bool byoc_type_is_tensor(const byoc_type_t *type) {
  return type && type->kind == BYOC_TYPE_TENSOR;
}
// True for a ranked tensor whose dimensions are all constant.
bool byoc_type_is_static(const byoc_type_t *type);
// Is the symbol or unknown in one of the dimensions?
bool byoc_type_has_leaf(const byoc_type_t *type, byoc_dim_t leaf);
// Elements of a static tensor; -1 for any other type or on overflow.
int64_t byoc_type_element_count(const byoc_type_t *type);
// Bytes of a static tensor, 4-bit types packed; -1 for any other type or on overflow.
int64_t byoc_type_size_bytes(const byoc_type_t *type);

#endif // BYOC_CORE_IR_TYPE_H_
