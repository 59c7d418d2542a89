// SPDX-License-Identifier: Apache-2.0
// Memory of constants: the arena, and a file for large constants of large models, because a model may be larger than
// the machine's memory.
#include "core/ir/constant_memory.h"

#include <string.h>

// The alignment that kernels may assume for the data of a constant.
#define CONSTANT_ALIGNMENT_BYTES 64
// Large constants go to a file once the constants in memory have this many bytes: most models need no file.
#define HELD_BYTES ((uint64_t)64 << 20)
// The size of a large constant, and the bytes that may be touched before pages are dropped.
#define LARGE_BYTES   ((uint64_t)1 << 20)
#define TOUCHED_BYTES ((uint64_t)64 << 20)

void byoc_graph_module_forget_pages(const byoc_graph_module_t *module) {
  for (size_t i = 0; i < module->mappings.count; i++) byoc_file_view_forget(&module->mappings.data[i]);
  if (module->file_memory != NULL) byoc_file_memory_forget(module->file_memory);
}

void byoc_graph_module_touched(byoc_graph_module_t *module, uint64_t size_bytes) {
  if (size_bytes < LARGE_BYTES) return;
  module->touched_bytes += size_bytes;
  if (module->touched_bytes < TOUCHED_BYTES) return;
  byoc_graph_module_forget_pages(module);
  module->touched_bytes = 0;
}

void *byoc_graph_module_take_file_memory(byoc_graph_module_t *module, uint64_t size_bytes) {
  void *data = NULL;
  byoc_graph_module_touched(module, size_bytes);
  if (size_bytes >= LARGE_BYTES && module->constant_bytes + size_bytes > HELD_BYTES) {
    if (module->file_memory == NULL) {
      (void)byoc_file_memory_create(NULL, module->allocator, NULL, &module->file_memory);
    }
    if (module->file_memory != NULL) {
      (void)byoc_file_memory_take(module->file_memory, (size_t)size_bytes, NULL, &data, NULL);
    }
  }
  if (data == NULL) module->constant_bytes += size_bytes;
  return data;
}

void byoc_graph_module_copy(byoc_graph_module_t *module, void *to, const void *from, size_t size_bytes) {
  const size_t most = TOUCHED_BYTES / 4;
  for (size_t begin = 0; begin < size_bytes; begin += most) {
    const size_t left = size_bytes - begin, piece_bytes = left < most ? left : most;
    memcpy((uint8_t *)to + begin, (const uint8_t *)from + begin, piece_bytes);
    byoc_graph_module_touched(module, piece_bytes);
  }
}

void *byoc_constant_memory(byoc_graph_module_t *module, const byoc_type_t *type) {
  const int64_t size_bytes = byoc_type_size_bytes(type);
  if (size_bytes < 0) return NULL;
  void *data = byoc_graph_module_take_file_memory(module, (uint64_t)size_bytes);
  if (data != NULL) return data;
  return byoc_arena_allocate_aligned(&module->arena, size_bytes > 0 ? (size_t)size_bytes : 1, CONSTANT_ALIGNMENT_BYTES);
}
