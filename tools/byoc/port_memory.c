// SPDX-License-Identifier: Apache-2.0
// Memory that ends where a page ends that nobody may touch.
#define _GNU_SOURCE
#include "port_memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "byoc/call.h"

enum { BEHIND = 0xA5 }; // what stands between the last byte and the page

static size_t round_up(size_t size, size_t to) {
  return (size + to - 1) / to * to;
}

static size_t page_size(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t aligned(size_t size_bytes) {
  return round_up(size_bytes + 1, BYOC_BUFFER_ALIGNMENT); // with a byte behind the end
}

// The page behind the data.
static uint8_t *border(const void *data, size_t size_bytes) {
  return (uint8_t *)(uintptr_t)data + aligned(size_bytes);
}

void *byoc_port_memory_make(size_t size_bytes) {
  const size_t page = page_size();
  if (size_bytes > SIZE_MAX / 2) return NULL;
  const size_t whole = round_up(aligned(size_bytes), page);
  uint8_t *pages = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  (void)mprotect(pages + whole, page, PROT_NONE);
  uint8_t *data = pages + whole - aligned(size_bytes);
  memset(data + size_bytes, BEHIND, aligned(size_bytes) - size_bytes);
  return data;
}

void byoc_port_memory_free(void *data, size_t size_bytes) {
  if (data == NULL) return;
  const size_t page = page_size(), whole = round_up(aligned(size_bytes), page);
  (void)munmap(border(data, size_bytes) - whole, whole + page);
}

void byoc_port_memory_protect(void *data, size_t size_bytes) {
  if (data == NULL) return;
  const size_t whole = round_up(aligned(size_bytes), page_size());
  (void)mprotect(border(data, size_bytes) - whole, whole, PROT_READ);
}

bool byoc_port_memory_is_overrun(const void *data, size_t size_bytes) {
  const uint8_t *bytes = data;
  for (size_t i = size_bytes; bytes != NULL && i < aligned(size_bytes); ++i) {
    if (bytes[i] != BEHIND) return true;
  }
  return false;
}

bool byoc_port_memory_holds(const void *data, size_t size_bytes, const void *address) {
  const uintptr_t at = (uintptr_t)address, begin = (uintptr_t)data;
  return data != NULL && at >= begin && at < begin + aligned(size_bytes);
}

bool byoc_port_memory_ends_at(const void *data, size_t size_bytes, const void *address) {
  const uintptr_t at = (uintptr_t)address, end = (uintptr_t)border(data, size_bytes);
  return data != NULL && at >= end && at < end + page_size();
}
