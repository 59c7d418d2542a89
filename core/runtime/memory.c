// SPDX-License-Identifier: Apache-2.0
// Aligned memory of the C library.
#include "core/runtime/memory.h"

#include <stdlib.h>

#include "byoc/call.h"

void *byoc_memory_allocate(size_t size_bytes) {
  return aligned_alloc(BYOC_BUFFER_ALIGNMENT, size_bytes);
}

void byoc_memory_free(void *memory) {
  free(memory);
}
