// SPDX-License-Identifier: Apache-2.0
// Memory that is aligned as buffers are. Internal to core/runtime.
#ifndef BYOC_CORE_RUNTIME_MEMORY_H_
#define BYOC_CORE_RUNTIME_MEMORY_H_

#include <stddef.h>

// Aligned to BYOC_BUFFER_ALIGNMENT, of which the size is a multiple; NULL if out of memory.
void *byoc_memory_allocate(size_t size_bytes);
// Frees what byoc_memory_allocate or byoc_model_allocate returned; accepts NULL.
void byoc_memory_free(void *memory);

#endif // BYOC_CORE_RUNTIME_MEMORY_H_
