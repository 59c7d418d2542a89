// SPDX-License-Identifier: Apache-2.0
// Allocations and mappings that may fail. The real allocator is glibc's, under names that it exports for this.
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/faults/inject.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static _Atomic int64_t blocks;

BYOC_FAULT_EXPORT int64_t byoc_faults_blocks(void) {
  return blocks;
}

static void *counted(void *memory) {
  if (memory != NULL) blocks++;
  return memory;
}

BYOC_FAULT_EXPORT void *malloc(size_t size) {
  return byoc_fault_strikes(BYOC_FAULT_memory) ? NULL : counted(__libc_malloc(size));
}

BYOC_FAULT_EXPORT void *calloc(size_t count, size_t size) {
  return byoc_fault_strikes(BYOC_FAULT_memory) ? NULL : counted(__libc_calloc(count, size));
}

BYOC_FAULT_EXPORT void free(void *memory) {
  if (memory != NULL) blocks--;
  __libc_free(memory);
}

BYOC_FAULT_EXPORT void *realloc(void *memory, size_t size) {
  if (memory == NULL) return malloc(size);
  if (size == 0) {
    free(memory);
    return NULL;
  }
  return byoc_fault_strikes(BYOC_FAULT_memory) ? NULL : __libc_realloc(memory, size);
}

BYOC_FAULT_EXPORT void *reallocarray(void *memory, size_t count, size_t size) {
  size_t size_bytes = 0;
  if (__builtin_mul_overflow(count, size, &size_bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(memory, size_bytes);
}

BYOC_FAULT_EXPORT void *memalign(size_t alignment, size_t size) {
  return byoc_fault_strikes(BYOC_FAULT_memory) ? NULL : counted(__libc_memalign(alignment, size));
}

BYOC_FAULT_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

BYOC_FAULT_EXPORT int posix_memalign(void **out_memory, size_t alignment, size_t size) {
  int error = errno; // it stays as it was
  void *memory = memalign(alignment, size);
  errno = error;
  if (memory == NULL) return ENOMEM;
  *out_memory = memory;
  return 0;
}

BYOC_FAULT_EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  BYOC_FAULT_REAL(void *, mmap, void *, size_t, int, int, int, off_t);
  if (byoc_fault_strikes(BYOC_FAULT_mmap)) return MAP_FAILED;
  return real(address, size, protection, flags, fd, offset);
}

BYOC_FAULT_EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset) {
  return mmap(address, size, protection, flags, fd, offset);
}
