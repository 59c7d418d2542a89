// SPDX-License-Identifier: Apache-2.0
// Allocators are passed in. `resize` behaves like realloc: with NULL memory it allocates; with size 0 it frees and
// returns NULL; on failure it returns NULL and keeps the old memory. Memory is aligned for any C type and is not
// cleared.
#ifndef BYOC_CORE_BASE_ALLOCATOR_H_
#define BYOC_CORE_BASE_ALLOCATOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byoc/status.h"

typedef struct byoc_allocator_t {
  void *self;
  void *(*resize)(void *self, void *memory, size_t size_bytes);
  // Arenas on this allocator make one request for each allocation, not one for a block of many: for sanitizers, and for
  // allocators that count requests.
  bool is_exact;
} byoc_allocator_t;

// The C library's allocator. Thread-safe. Exact in debug builds (BYOC_ARENA_MALLOC).
byoc_allocator_t byoc_allocator_system(void);

// `count` elements of `size_bytes` each, cleared; NULL if out of memory or if the product overflows. A count of 0 gives
// a valid pointer to one byte.
void *byoc_allocate(byoc_allocator_t allocator, size_t count, size_t size_bytes);
// Grows or shrinks to `count` elements; new bytes are not cleared. NULL (old memory kept) on failure or overflow.
void *byoc_reallocate(byoc_allocator_t allocator, void *memory, size_t count, size_t size_bytes);
void byoc_free(byoc_allocator_t allocator, void *memory); // accepts NULL
char *byoc_copy_string(byoc_allocator_t allocator, const char *text);

// Stores a * b, or a + b, in *out; false on overflow.
bool byoc_size_mul(size_t a, size_t b, size_t *out);
bool byoc_size_add(size_t a, size_t b, size_t *out);

// An exact allocator for tests that fails the n-th request (counted from 0), and every later one when `sticky`.
typedef struct byoc_failing_allocator_t {
  byoc_allocator_t base;
  int64_t fail_at;    // -1: never
  int64_t count;      // requests so far (frees are not counted)
  int64_t live_count; // blocks not yet freed
  bool sticky;
} byoc_failing_allocator_t;
byoc_allocator_t byoc_failing_allocator(byoc_failing_allocator_t *state);

#endif // BYOC_CORE_BASE_ALLOCATOR_H_
