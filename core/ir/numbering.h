// SPDX-License-Identifier: Apache-2.0
// Numbers for nodes, in a map of their user. Nodes hold no numbers, so that two users cannot conflict.
//
// Example:
//   byoc_numbering_t numbers;
//   byoc_numbering_init(&numbers, allocator);
//   BYOC_FOR_EACH_NODE(node, block) {
//     if (!byoc_numbering_set(&numbers, node, count++)) return byoc_diag_out_of_memory(diag);
//   }
//   uint32_t number = byoc_numbering_get(&numbers, block->last);
//   byoc_numbering_deinit(&numbers);
#ifndef BYOC_CORE_IR_NUMBERING_H_
#define BYOC_CORE_IR_NUMBERING_H_

#include "core/base/map.h"
#include "core/ir/graph.h"

#define BYOC_NO_NUMBER UINT32_MAX

typedef struct byoc_numbering_t {
  byoc_map_t map; // pointer map: node → number + 1
} byoc_numbering_t;

static inline void byoc_numbering_init(byoc_numbering_t *numbering, byoc_allocator_t allocator) {
  byoc_pointer_map_init(&numbering->map, allocator);
}
static inline void byoc_numbering_deinit(byoc_numbering_t *numbering) {
  byoc_map_deinit(&numbering->map);
}
// Gives the node a number less than BYOC_NO_NUMBER, replacing the one it has. False if out of memory.
static inline bool byoc_numbering_set(byoc_numbering_t *numbering, const byoc_node_t *node, uint32_t number) {
  return byoc_pointer_map_put(&numbering->map, node, (void *)((uintptr_t)number + 1));
}
// BYOC_NO_NUMBER if the node has none or is NULL.
static inline uint32_t byoc_numbering_get(const byoc_numbering_t *numbering, const byoc_node_t *node) {
  uintptr_t entry = (uintptr_t)byoc_pointer_map_get(&numbering->map, node);
  return entry == 0 ? BYOC_NO_NUMBER : (uint32_t)(entry - 1);
}

#endif // BYOC_CORE_IR_NUMBERING_H_
