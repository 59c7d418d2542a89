// SPDX-License-Identifier: Apache-2.0
// Sets of bytes, as sorted ranges that neither overlap nor touch. They live in an arena.
#ifndef BYOC_CORE_HOSTIR_VERIFY_VERIFY_BYTES_H_
#define BYOC_CORE_HOSTIR_VERIFY_VERIFY_BYTES_H_

#include "core/base/arena.h"

typedef struct byoc_byte_range_t {
  uint64_t begin, end; // [begin, end)
} byoc_byte_range_t;

typedef struct byoc_byte_set_t {
  byoc_byte_range_t *ranges;
  size_t count, capacity;
} byoc_byte_set_t;

// False if out of memory.
bool byoc_byte_set_add(byoc_byte_set_t *set, byoc_byte_range_t range, byoc_arena_t *arena);
bool byoc_byte_set_copy(const byoc_byte_set_t *set, byoc_arena_t *arena, byoc_byte_set_t *out_copy);
bool byoc_byte_set_intersect(const byoc_byte_set_t *a, const byoc_byte_set_t *b, byoc_arena_t *arena,
                             byoc_byte_set_t *out_both);
// Is the whole range in the set? If not, *out_gap is the first part of it that is missing.
bool byoc_byte_set_covers(const byoc_byte_set_t *set, byoc_byte_range_t range, byoc_byte_range_t *out_gap);
// Is any byte of the range in the set?
bool byoc_byte_set_touches(const byoc_byte_set_t *set, byoc_byte_range_t range);

#endif // BYOC_CORE_HOSTIR_VERIFY_VERIFY_BYTES_H_
