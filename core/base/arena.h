// SPDX-License-Identifier: Apache-2.0
// An arena: many small allocations, one deinit. An exact allocator gives each allocation a block of its own. Memory is
// cleared. Not thread-safe.
#ifndef BYOC_CORE_BASE_ARENA_H_
#define BYOC_CORE_BASE_ARENA_H_

#include <stdarg.h>

#include "core/base/allocator.h"

typedef struct byoc_arena_block_t byoc_arena_block_t;

typedef struct byoc_arena_t {
  byoc_allocator_t allocator;
  byoc_arena_block_t *blocks; // newest first
  size_t used_bytes;          // by allocations so far
  bool is_exhausted;          // a request has failed: conclusions from later results may be wrong
} byoc_arena_t;

void byoc_arena_init(byoc_arena_t *arena, byoc_allocator_t allocator);
void byoc_arena_deinit(byoc_arena_t *arena);
// Frees everything and keeps the arena usable, as new.
void byoc_arena_reset(byoc_arena_t *arena);

// Return NULL if out of memory or if count * size_bytes overflows. The memory is aligned for any C type.
void *byoc_arena_allocate(byoc_arena_t *arena, size_t count, size_t size_bytes);
// `alignment_bytes` is a power of two.
void *byoc_arena_allocate_aligned(byoc_arena_t *arena, size_t size_bytes, size_t alignment_bytes);
void *byoc_arena_copy(byoc_arena_t *arena, const void *data, size_t size_bytes);
char *byoc_arena_copy_string(byoc_arena_t *arena, const char *text);
char *byoc_arena_format(byoc_arena_t *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A byoc_allocator_t whose memory lives in the arena; frees are no-ops.
byoc_allocator_t byoc_arena_allocator(byoc_arena_t *arena);

#define BYOC_ARENA_NEW(arena, type)          ((type *)byoc_arena_allocate((arena), 1, sizeof(type)))
#define BYOC_ARENA_ARRAY(arena, type, count) ((type *)byoc_arena_allocate((arena), (count), sizeof(type)))

#endif // BYOC_CORE_BASE_ARENA_H_
