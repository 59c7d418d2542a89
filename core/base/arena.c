// SPDX-License-Identifier: Apache-2.0
// Arena memory: an allocation moves an offset in a block; blocks grow in size. A large request gets a block of its own,
// so that the rest of the current block is not lost.
#include "core/base/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

struct byoc_arena_block_t {
  byoc_arena_block_t *next;
  size_t capacity_bytes; // after the header
  size_t used_bytes;
};

#define ARENA_ALIGNMENT  alignof(max_align_t)
#define ARENA_HEADER     ((sizeof(byoc_arena_block_t) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT)
#define ARENA_MIN_BLOCK  ((size_t)8 << 10)
#define ARENA_MAX_BLOCK  ((size_t)1 << 20)
#define ARENA_OWN_FACTOR 4 // requests above a quarter of a block get their own

void byoc_arena_init(byoc_arena_t *arena, byoc_allocator_t allocator) {
  *arena = (byoc_arena_t){.allocator = allocator};
}

void byoc_arena_reset(byoc_arena_t *arena) {
  byoc_arena_block_t *block = arena->blocks;
  while (block != NULL) {
    byoc_arena_block_t *next = block->next;
    byoc_free(arena->allocator, block);
    block = next;
  }
  arena->blocks = NULL;
  arena->used_bytes = 0;
  arena->is_exhausted = false;
}

void byoc_arena_deinit(byoc_arena_t *arena) {
  if (arena->allocator.resize != NULL) byoc_arena_reset(arena);
}

// New blocks are cleared and their memory is used once, so that no allocation has to clear it.
static byoc_arena_block_t *new_block(byoc_arena_t *arena, size_t capacity_bytes) {
  size_t total = 0;
  if (!byoc_size_add(capacity_bytes, ARENA_HEADER, &total)) return NULL;
  byoc_arena_block_t *block = byoc_allocate(arena->allocator, 1, total);
  if (block != NULL) block->capacity_bytes = capacity_bytes;
  return block;
}

// Takes `size_bytes` from the block; NULL if they do not fit.
static void *take(byoc_arena_block_t *block, size_t size_bytes, size_t alignment_bytes) {
  uintptr_t base = (uintptr_t)block + ARENA_HEADER;
  uintptr_t start = (base + block->used_bytes + alignment_bytes - 1) & ~(uintptr_t)(alignment_bytes - 1);
  size_t offset = start - base;
  if (offset > block->capacity_bytes || size_bytes > block->capacity_bytes - offset) return NULL;
  block->used_bytes = offset + size_bytes;
  return (char *)block + ARENA_HEADER + offset;
}

static void *allocate(byoc_arena_t *arena, size_t size_bytes, size_t alignment_bytes) {
  if (size_bytes == 0) size_bytes = 1;
  if (alignment_bytes < ARENA_ALIGNMENT) alignment_bytes = ARENA_ALIGNMENT;
  byoc_arena_block_t *head = arena->blocks;
  const bool is_exact = arena->allocator.is_exact;
  void *memory = head != NULL && !is_exact ? take(head, size_bytes, alignment_bytes) : NULL;
  size_t block_bytes = ARENA_MIN_BLOCK;
  if (head != NULL)
    block_bytes = head->capacity_bytes < ARENA_MAX_BLOCK / 2 ? head->capacity_bytes * 2 : ARENA_MAX_BLOCK;
  const bool own =
      is_exact || size_bytes > block_bytes / ARENA_OWN_FACTOR || alignment_bytes > block_bytes / ARENA_OWN_FACTOR;
  if (memory == NULL) {
    size_t capacity = 0;
    if (!byoc_size_add(size_bytes, alignment_bytes - ARENA_ALIGNMENT, &capacity)) return NULL;
    byoc_arena_block_t *block = new_block(arena, own ? capacity : block_bytes);
    if (block == NULL) return NULL;
    memory = take(block, size_bytes, alignment_bytes);
    if (own && head != NULL && head->capacity_bytes - head->used_bytes > 0) {
      block->next = head->next;
      head->next = block;
    } else {
      block->next = head;
      arena->blocks = block;
    }
  }
  arena->used_bytes += size_bytes;
  return memory;
}

void *byoc_arena_allocate_aligned(byoc_arena_t *arena, size_t size_bytes, size_t alignment_bytes) {
  void *memory = allocate(arena, size_bytes, alignment_bytes);
  if (memory == NULL) arena->is_exhausted = true;
  return memory;
}

void *byoc_arena_allocate(byoc_arena_t *arena, size_t count, size_t size_bytes) {
  size_t total = 0;
  if (byoc_size_mul(count, size_bytes, &total)) return byoc_arena_allocate_aligned(arena, total, ARENA_ALIGNMENT);
  arena->is_exhausted = true;
  return NULL;
}

void *byoc_arena_copy(byoc_arena_t *arena, const void *data, size_t size_bytes) {
  void *memory = byoc_arena_allocate(arena, size_bytes, 1);
  if (memory != NULL && size_bytes > 0) memcpy(memory, data, size_bytes);
  return memory;
}

char *byoc_arena_copy_string(byoc_arena_t *arena, const char *text) {
  return byoc_arena_copy(arena, text, strlen(text) + 1);
}

char *byoc_arena_format(byoc_arena_t *arena, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  char *text = NULL;
  int length = vsnprintf(NULL, 0, format, arguments);
  if (length >= 0) text = byoc_arena_allocate(arena, (size_t)length + 1, 1);
  if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}

// The size of an allocation is stored before it, so that it can be resized.
static void *arena_resize(void *self, void *memory, size_t size_bytes) {
  if (size_bytes == 0) return NULL;
  size_t old_bytes = 0;
  if (memory != NULL) memcpy(&old_bytes, (char *)memory - ARENA_ALIGNMENT, sizeof(old_bytes));
  if (memory != NULL && size_bytes <= old_bytes) return memory;
  size_t total = 0;
  if (!byoc_size_add(size_bytes, ARENA_ALIGNMENT, &total)) return NULL;
  char *block = byoc_arena_allocate(self, total, 1);
  if (block == NULL) return NULL;
  memcpy(block, &size_bytes, sizeof(size_bytes));
  if (memory != NULL) memcpy(block + ARENA_ALIGNMENT, memory, old_bytes);
  return block + ARENA_ALIGNMENT;
}

byoc_allocator_t byoc_arena_allocator(byoc_arena_t *arena) {
  return (byoc_allocator_t){.self = arena, .resize = arena_resize, .is_exact = arena->allocator.is_exact};
}
