// SPDX-License-Identifier: Apache-2.0
// Hands out blocks of the reserve: the first gap that is large enough, which joins its neighbours when it comes back.
#define _GNU_SOURCE // MAP_ANONYMOUS
#include "pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

// More than any call of oneDNN needed in tests. The system gives pages to it only when they are written.
#define RESERVE_BYTES ((size_t)32 << 20)
// In front of each block stands one unit with its size; all sizes are multiples of it.
#define UNIT ((size_t)64)

typedef struct chunk_t {
  size_t size_bytes;    // with the unit in front
  struct chunk_t *next; // of gaps: the next one by address
} chunk_t;

static pthread_mutex_t pages_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *_Atomic pages;
static chunk_t *gaps;
static atomic_uint_fast64_t taken;

int byoc_dnnl_pages_map(void) {
  if (atomic_load(&pages) != NULL) return 1;
  void *mapped = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  gaps = mapped;
  *gaps = (chunk_t){.size_bytes = RESERVE_BYTES};
  atomic_store(&pages, mapped);
  return 1;
}

int byoc_dnnl_pages_hold(const void *memory) {
  const uint8_t *begin = atomic_load_explicit(&pages, memory_order_acquire);
  return begin != NULL && (uintptr_t)memory - (uintptr_t)begin < RESERVE_BYTES;
}

static chunk_t *chunk_of(const void *memory) {
  return (chunk_t *)((uintptr_t)memory - UNIT);
}

size_t byoc_dnnl_pages_size(const void *memory) {
  return chunk_of(memory)->size_bytes - UNIT;
}

uint64_t byoc_dnnl_pages_count_taken(void) {
  return atomic_load(&taken);
}

// Cuts a block out of the gap that *link points to; NULL if it is too small.
static void *cut(chunk_t **link, size_t size_bytes, size_t alignment) {
  chunk_t *gap = *link;
  uintptr_t begin = (uintptr_t)gap, end = begin + gap->size_bytes;
  uintptr_t memory = (begin + UNIT + alignment - 1) & ~(uintptr_t)(alignment - 1);
  if (memory > end || end - memory < size_bytes) return NULL;
  size_t in_front = memory - UNIT - begin, behind = end - memory - size_bytes;
  chunk_t *next = gap->next;
  if (behind > 0) {
    chunk_t *rest = (chunk_t *)(memory + size_bytes);
    *rest = (chunk_t){.size_bytes = behind, .next = next};
    next = rest;
  }
  if (in_front > 0)
    *gap = (chunk_t){.size_bytes = in_front, .next = next};
  else
    *link = next;
  chunk_of((void *)memory)->size_bytes = size_bytes + UNIT;
  return (void *)memory;
}

void *byoc_dnnl_pages_take(size_t size_bytes, size_t alignment) {
  if (size_bytes > RESERVE_BYTES || alignment > RESERVE_BYTES) return NULL;
  if (alignment < UNIT) alignment = UNIT;
  size_bytes = size_bytes == 0 ? UNIT : (size_bytes + UNIT - 1) / UNIT * UNIT;
  void *memory = NULL;
  (void)pthread_mutex_lock(&pages_mutex);
  for (chunk_t **link = &gaps; *link != NULL && memory == NULL;) {
    chunk_t *gap = *link;
    memory = cut(link, size_bytes, alignment);
    if (memory == NULL) link = &gap->next;
  }
  (void)pthread_mutex_unlock(&pages_mutex);
  if (memory != NULL) atomic_fetch_add(&taken, 1);
  return memory;
}

// Makes one gap of two neighbours.
static void join(chunk_t *gap) {
  if (gap->next == NULL || (uintptr_t)gap + gap->size_bytes != (uintptr_t)gap->next) return;
  gap->size_bytes += gap->next->size_bytes;
  gap->next = gap->next->next;
}

void byoc_dnnl_pages_release(void *memory) {
  chunk_t *chunk = chunk_of(memory), *before = NULL;
  (void)pthread_mutex_lock(&pages_mutex);
  chunk_t **link = &gaps;
  while (*link != NULL && *link < chunk) {
    before = *link;
    link = &before->next;
  }
  chunk->next = *link;
  *link = chunk;
  join(chunk);
  if (before != NULL) join(before);
  (void)pthread_mutex_unlock(&pages_mutex);
}
