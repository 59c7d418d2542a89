// SPDX-License-Identifier: Apache-2.0
// Memory with the alignment of buffers. Internal to core/runtime.
#ifndef BYOC_CORE_RUNTIME_MEMORY_H_
#define BYOC_CORE_RUNTIME_MEMORY_H_

#include <stddef.h>

// Allocates a multiple of BYOC_BUFFER_ALIGNMENT bytes with that alignment; NULL if out of memory.
void *byoc_memory_allocate(size_t size_bytes);
// Frees memory of byoc_memory_allocate or byoc_model_allocate; accepts NULL.
void byoc_memory_free(void *memory);

#endif // BYOC_CORE_RUNTIME_MEMORY_H_
