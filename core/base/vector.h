// SPDX-License-Identifier: Apache-2.0
// Typed arrays that grow, as a struct of data, count and capacity for any element type.
//
// Example:
//   typedef BYOC_VECTOR(int) int_vector_t;
//   int_vector_t v = {0};
//   if (!byoc_vector_push(&v, allocator, 42)) return byoc_diag_out_of_memory(diag);
//   byoc_vector_deinit(&v, allocator);
#ifndef BYOC_CORE_BASE_VECTOR_H_
#define BYOC_CORE_BASE_VECTOR_H_

#include "core/base/allocator.h"

#define BYOC_VECTOR(type)                                                                                              \
  struct {                                                                                                             \
    type *data;                                                                                                        \
    size_t count, capacity;                                                                                            \
  }

// Makes room for `extra` more elements; false if out of memory (the vector is then unchanged).
#define byoc_vector_reserve(v, allocator, extra)                                                                       \
  byoc_vector_grow((allocator), (void **)&(v)->data, &(v)->capacity, (v)->count, (extra), sizeof(*(v)->data))
// Appends; evaluates to false if out of memory. `...` is the element (may be a compound literal).
#define byoc_vector_push(v, allocator, ...)                                                                            \
  (byoc_vector_reserve(v, allocator, 1) ? ((v)->data[(v)->count++] = (__VA_ARGS__), true) : false)
#define byoc_vector_deinit(v, allocator)                                                                               \
  (byoc_free((allocator), (v)->data), (v)->data = NULL, (v)->count = (v)->capacity = 0)

bool byoc_vector_grow(byoc_allocator_t allocator, void **data, size_t *capacity, size_t count, size_t extra,
                      size_t element_size);

#endif // BYOC_CORE_BASE_VECTOR_H_
