// SPDX-License-Identifier: Apache-2.0
// Offsets of arena buffers: largest first, each at the lowest offset that is free during its lifetime.
#include <stdlib.h>

#include "engine/function/function.h"

typedef struct placed_t {
  const byoc_dnnl_function_t *function; // qsort has no argument for its comparison
  int32_t buffer;
} placed_t;

static int compare_placed(const void *left, const void *right) {
  const placed_t *a = left, *b = right;
  uint64_t size_a = a->function->buffers[a->buffer].size_bytes, size_b = b->function->buffers[b->buffer].size_bytes;
  if (size_a != size_b) return size_a > size_b ? -1 : 1;
  return a->buffer - b->buffer;
}

static uint64_t align(uint64_t size) {
  return (size + BYOC_BUFFER_ALIGNMENT - 1) / BYOC_BUFFER_ALIGNMENT * BYOC_BUFFER_ALIGNMENT;
}

static int alive_together(const byoc_dnnl_buffer_t *a, const byoc_dnnl_buffer_t *b) {
  return a->first_step <= b->last_step && b->first_step <= a->last_step;
}

int32_t byoc_dnnl_function_plan_memory(byoc_dnnl_function_t *function) {
  placed_t *order = malloc((function->buffer_count + 1) * sizeof(*order));
  if (order == NULL) return BYOC_OUT_OF_MEMORY;
  uint32_t count = 0;
  for (uint32_t i = 0; i < function->buffer_count; ++i)
    if (function->buffers[i].kind == BYOC_DNNL_BUFFER_ARENA && function->buffers[i].first_step >= 0)
      order[count++] = (placed_t){function, (int32_t)i};
  qsort(order, count, sizeof(*order), compare_placed);
  for (uint32_t i = 0; i < count; ++i) {
    byoc_dnnl_buffer_t *buffer = &function->buffers[order[i].buffer];
    uint64_t offset = 0;
    // Moves past buffers that overlap until none does; each iteration moves past at least one.
    for (int moved = 1; moved;) {
      moved = 0;
      for (uint32_t j = 0; j < i; ++j) {
        const byoc_dnnl_buffer_t *other = &function->buffers[order[j].buffer];
        if (!alive_together(buffer, other) || other->offset >= offset + align(buffer->size_bytes) ||
            offset >= other->offset + align(other->size_bytes))
          continue;
        offset = other->offset + align(other->size_bytes);
        moved = 1;
      }
    }
    buffer->offset = offset;
    if (offset + align(buffer->size_bytes) > function->arena_size_bytes)
      function->arena_size_bytes = offset + align(buffer->size_bytes);
  }
  free(order);
  return BYOC_OK;
}
