// SPDX-License-Identifier: Apache-2.0
// Grows the typed arrays of BYOC_VECTOR by doubling, with sizes checked for overflow.
#include "core/base/vector.h"

bool byoc_vector_grow(byoc_allocator_t allocator, void **data, size_t *capacity, size_t count, size_t extra,
                      size_t element_size) {
  size_t needed = 0;
  if (!byoc_size_add(count, extra, &needed)) return false;
  if (needed <= *capacity) return true;
  size_t grown = 0;
  if (!byoc_size_add(*capacity, *capacity / 2, &grown)) grown = needed;
  if (grown < 8) grown = 8;
  if (grown < needed) grown = needed;
  void *memory = byoc_reallocate(allocator, *data, grown, element_size);
  if (memory == NULL) return false;
  *data = memory;
  *capacity = grown;
  return true;
}
