// SPDX-License-Identifier: Apache-2.0
// The memory behind cells. Internal to core/runtime.
#ifndef BYOC_CORE_RUNTIME_CELL_MEMORY_H_
#define BYOC_CORE_RUNTIME_CELL_MEMORY_H_

#include "core/runtime/cell.h"

// The head of a block, before its bytes. It is as large as their alignment.
struct byoc_block_of_memory_t {
  uint32_t references, size_class;
  uint64_t capacity_bytes, last_run;
  byoc_block_of_memory_t *next;
  void (*give_back)(byoc_block_of_memory_t *block); // its last cell is released; NULL: the block is the frame's
  uint8_t padding[BYOC_BUFFER_ALIGNMENT - 24 - 2 * sizeof(void *)];
};
_Static_assert(sizeof(byoc_block_of_memory_t) == BYOC_BUFFER_ALIGNMENT, "bytes behind the head must be aligned");

// A block with one reference and at least `size_bytes` bytes after its head; NULL if out of memory.
byoc_block_of_memory_t *byoc_block_take(byoc_frame_t *frame, uint64_t size_bytes);
// Tells the address sanitizer that `size_bytes` bytes of the block are in use from now on.
void byoc_block_use(byoc_block_of_memory_t *block, uint64_t size_bytes);
// The capacity of a block for so many bytes.
uint64_t byoc_block_capacity(uint64_t size_bytes);
void byoc_block_release(byoc_frame_t *frame, byoc_block_of_memory_t *block); // accepts NULL

#endif // BYOC_CORE_RUNTIME_CELL_MEMORY_H_
