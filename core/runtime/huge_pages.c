// SPDX-License-Identifier: Apache-2.0
// Allocates workspaces, and moves constants to huge pages.
#define _GNU_SOURCE
#include "core/runtime/huge_pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "byoc/call.h"
#include "core/runtime/pool.h"

#define HUGE_PAGE_BYTES ((uintptr_t)2 << 20)

static uintptr_t round_up(uintptr_t address) {
  return (address + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
}

// Allocates memory on huge pages; `size` is a multiple of theirs.
static void *allocate(size_t size) {
  uint8_t *memory = mmap(NULL, size + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  uint8_t *begin = (uint8_t *)round_up((uintptr_t)memory), *end = begin + size;
  size_t ahead = (size_t)(begin - memory);
  if (ahead > 0) (void)munmap(memory, ahead);
  (void)munmap(end, HUGE_PAGE_BYTES - ahead);
#ifdef MADV_HUGEPAGE
  if (madvise(begin, size, MADV_HUGEPAGE) == 0) return begin;
#endif
  (void)munmap(begin, size);
  return NULL;
}

bool byoc_model_move_to_huge_pages(const void *data, uint64_t size_bytes) {
  uintptr_t begin = round_up((uintptr_t)data), end = ((uintptr_t)data + size_bytes) & ~(HUGE_PAGE_BYTES - 1);
  if (end <= begin) return false;
  size_t size = end - begin;
  void *copy = allocate(size);
  if (copy == NULL) return false;
  memcpy(copy, (const void *)begin, size);
  // The copy replaces the mapping in one step, so that readers of the constants find the same bytes before and after.
  if (mprotect(copy, size, PROT_READ) == 0 &&
      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)begin) != MAP_FAILED) {
    return true;
  }
  (void)munmap(copy, size);
  return false;
}

void byoc_model_place_constants(const void *data, uint64_t size_bytes, bool wanted) {
  static bool placed;
  byoc_model_set_up_begin();
  if (!placed && wanted) (void)byoc_model_move_to_huge_pages(data, size_bytes);
  placed = true;
  byoc_model_set_up_end();
}

void *byoc_model_allocate(uint64_t size_bytes) {
  uint64_t alignment = size_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : BYOC_BUFFER_ALIGNMENT;
  if (size_bytes > SIZE_MAX - alignment) return NULL;
  size_t size = (size_t)((size_bytes + alignment - 1) / alignment * alignment);
  void *memory = aligned_alloc((size_t)alignment, size > 0 ? size : (size_t)alignment);
#ifdef MADV_HUGEPAGE
  if (memory != NULL && alignment == HUGE_PAGE_BYTES) (void)madvise(memory, size, MADV_HUGEPAGE);
#endif
  return memory;
}
