// SPDX-License-Identifier: Apache-2.0
// Allocates by a caller's allocator or the system's, and multiplies and adds sizes without overflow.
#include "core/base/allocator.h"

#include <stdlib.h>
#include <string.h>

bool byoc_size_mul(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}

bool byoc_size_add(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

static void *system_resize(void *self, void *memory, size_t size_bytes) {
  (void)self;
  if (size_bytes == 0) {
    free(memory);
    return NULL;
  }
  return realloc(memory, size_bytes);
}

byoc_allocator_t byoc_allocator_system(void) {
#ifdef BYOC_ARENA_MALLOC
  const bool is_exact = true;
#else
  const bool is_exact = false;
#endif
  return (byoc_allocator_t){.resize = system_resize, .is_exact = is_exact};
}

void *byoc_allocate(byoc_allocator_t allocator, size_t count, size_t size_bytes) {
  size_t total = 0;
  if (!byoc_size_mul(count, size_bytes, &total)) return NULL;
  if (total == 0) total = 1;
  // calloc takes large cleared blocks from the kernel without touching them.
  if (allocator.resize == system_resize) return calloc(1, total);
  void *memory = allocator.resize(allocator.self, NULL, total);
  if (memory != NULL) memset(memory, 0, total);
  return memory;
}

void *byoc_reallocate(byoc_allocator_t allocator, void *memory, size_t count, size_t size_bytes) {
  size_t total = 0;
  if (!byoc_size_mul(count, size_bytes, &total)) return NULL;
  return allocator.resize(allocator.self, memory, total == 0 ? 1 : total);
}

void byoc_free(byoc_allocator_t allocator, void *memory) {
  if (memory != NULL) allocator.resize(allocator.self, memory, 0);
}

char *byoc_copy_string(byoc_allocator_t allocator, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = allocator.resize(allocator.self, NULL, size);
  if (copy != NULL) memcpy(copy, text, size);
  return copy;
}

static void *failing_resize(void *self, void *memory, size_t size_bytes) {
  byoc_failing_allocator_t *state = self;
  if (size_bytes == 0) {
    if (memory != NULL) {
      state->live_count--;
      state->base.resize(state->base.self, memory, 0);
    }
    return NULL;
  }
  int64_t request = state->count++;
  if (state->fail_at >= 0 && (request == state->fail_at || (state->sticky && request > state->fail_at))) return NULL;
  void *result = state->base.resize(state->base.self, memory, size_bytes);
  if (result != NULL && memory == NULL) state->live_count++;
  return result;
}

byoc_allocator_t byoc_failing_allocator(byoc_failing_allocator_t *state) {
  if (state->base.resize == NULL) state->base = byoc_allocator_system();
  return (byoc_allocator_t){.self = state, .resize = failing_resize, .is_exact = true};
}
