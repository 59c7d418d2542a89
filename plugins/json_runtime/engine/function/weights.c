// SPDX-License-Identifier: Apache-2.0
// Keeps the memory of constants that primitives want in layouts of their own.
#define _GNU_SOURCE // MADV_HUGEPAGE
#include "engine/function/weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *byoc_dnnl_allocate_pages(uint64_t size_bytes) {
  const uint64_t large = (uint64_t)2 << 20;
  uint64_t alignment = size_bytes >= large ? large : 4096;
  void *memory = NULL;
  if (size_bytes > UINT64_MAX - alignment) return NULL;
  if (posix_memalign(&memory, (size_t)alignment, (size_t)((size_bytes + alignment - 1) / alignment * alignment)) != 0)
    return NULL;
  if (alignment == large) (void)madvise(memory, (size_t)size_bytes, MADV_HUGEPAGE); // a hint
  return memory;
}

byoc_dnnl_packed_t *byoc_dnnl_weights_find(const byoc_dnnl_weights_t *weights, int32_t constant,
                                           const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to) {
  for (byoc_dnnl_packed_t *packed = weights->first; packed != NULL && constant >= 0; packed = packed->next) {
    if (packed->constant != constant || memcmp(&packed->from, from, sizeof(*from)) != 0 ||
        memcmp(&packed->to, to, sizeof(*to)) != 0)
      continue;
    ++packed->reader_count;
    return packed;
  }
  return NULL;
}

byoc_dnnl_packed_t *byoc_dnnl_weights_add(byoc_dnnl_weights_t *weights, int32_t constant,
                                          const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                                          uint64_t size_bytes) {
  byoc_dnnl_packed_t *packed = malloc(sizeof(*packed));
  uint8_t *data = byoc_dnnl_allocate_pages(size_bytes);
  if (packed == NULL || data == NULL) {
    free(packed);
    free(data);
    return NULL;
  }
  *packed = (byoc_dnnl_packed_t){weights->first, constant, *from, *to, data, 1};
  weights->first = packed;
  return packed;
}

void byoc_dnnl_weights_release(byoc_dnnl_weights_t *weights, byoc_dnnl_packed_t *packed) {
  if (--packed->reader_count > 0) return;
  byoc_dnnl_packed_t **link = &weights->first;
  while (*link != packed) link = &(*link)->next;
  *link = packed->next;
  free(packed->data);
  free(packed);
}
