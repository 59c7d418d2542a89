// SPDX-License-Identifier: Apache-2.0
// weights.h - constants in the layouts that primitives want. The shapes that one function is called with share them:
// the first shape that needs a layout makes it, and the last one frees it.
#ifndef BYOC_DNNL_WEIGHTS_H_
#define BYOC_DNNL_WEIGHTS_H_

#include <dnnl.h>
#include <stdint.h>

typedef struct byoc_dnnl_packed_t {
  struct byoc_dnnl_packed_t *next;
  int32_t constant; // index; -1: made from another layout, and not shared
  dnnl_memory_desc_t from, to;
  uint8_t *data;
  uint32_t reader_count;
} byoc_dnnl_packed_t;

typedef struct byoc_dnnl_weights_t {
  byoc_dnnl_packed_t *first;
} byoc_dnnl_weights_t;

// The constant in that layout, with one more reader; NULL if nobody has asked for it.
byoc_dnnl_packed_t *byoc_dnnl_weights_find(const byoc_dnnl_weights_t *weights, int32_t constant,
                                           const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to);
// Memory for it, with one reader, who fills it. NULL if out of memory.
byoc_dnnl_packed_t *byoc_dnnl_weights_add(byoc_dnnl_weights_t *weights, int32_t constant,
                                          const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                                          uint64_t size_bytes);
// One reader less.
void byoc_dnnl_weights_release(byoc_dnnl_weights_t *weights, byoc_dnnl_packed_t *packed);

// Memory aligned for vectors, on large pages if it is large. NULL if out of memory; release with free.
void *byoc_dnnl_allocate_pages(uint64_t size_bytes);

#endif // BYOC_DNNL_WEIGHTS_H_
