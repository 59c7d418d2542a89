// SPDX-License-Identifier: Apache-2.0
// Index sets: sets of nodes of a block, by number (core/collage/dataflow.h). Immutable, rising.
//
// Example:
//   byoc_index_set_t set;
//   if (!byoc_index_set_make(&arena, indices, count, &set)) return byoc_diag_out_of_memory(diag);
//   bool has_seven = byoc_index_set_contains(&set, 7);
//
// A list and not a bit set: a block may have 100,000 nodes, and hundreds of thousands of candidates of a few each. The
// items live in the arena that they were made in. Pure functions; sets may be shared between threads.
#ifndef BYOC_CORE_COLLAGE_INDEX_SET_H_
#define BYOC_CORE_COLLAGE_INDEX_SET_H_

#include "core/base/arena.h"

typedef struct byoc_index_set_t {
  const uint32_t *items; // rising, each once
  uint32_t count;
} byoc_index_set_t;

// Copies, sorts, and drops duplicates. False if out of memory.
bool byoc_index_set_make(byoc_arena_t *arena, const uint32_t *indices, size_t count, byoc_index_set_t *out_set);
// The union of two sets.
bool byoc_index_set_unite(byoc_arena_t *arena, const byoc_index_set_t *a, const byoc_index_set_t *b,
                          byoc_index_set_t *out_set);

// The place of an index in the set, from 0; UINT32_MAX if it is not in it.
uint32_t byoc_index_set_position(const byoc_index_set_t *set, uint32_t index);
bool byoc_index_set_contains(const byoc_index_set_t *set, uint32_t index); // logarithmic
bool byoc_index_set_equal(const byoc_index_set_t *a, const byoc_index_set_t *b);
bool byoc_index_set_intersects(const byoc_index_set_t *a, const byoc_index_set_t *b);
uint64_t byoc_index_set_hash(const byoc_index_set_t *set);

#endif // BYOC_CORE_COLLAGE_INDEX_SET_H_
