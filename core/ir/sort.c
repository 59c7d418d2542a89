// SPDX-License-Identifier: Apache-2.0
// Sorts the nodes of a block so that each comes behind what it reads.
#include "core/ir/graph_internal.h"

// One node of the block being sorted.
typedef struct sort_entry_t {
  byoc_node_t *node;
  uint32_t next;      // dependency to look at next, as an index into the edges
  uint32_t first_end; // end of its edges
  uint8_t state;      // 0: not reached, 1: on the path, 2: placed
} sort_entry_t;

typedef BYOC_VECTOR(uint32_t) index_vector_t;

typedef struct sorter_t {
  byoc_block_t *block;
  byoc_allocator_t allocator;
  byoc_map_t indices; // node → its index + 1
  sort_entry_t *entries;
  index_vector_t edges; // dependencies, node by node
  index_vector_t path;  // entries being visited
  index_vector_t order; // entries placed
} sorter_t;

// The node of `sorter->block` that makes `value`, as index + 1; 0 if it is made in another block or by no node.
static uintptr_t dependency_of(const sorter_t *sorter, const byoc_value_t *value) {
  const byoc_node_t *producer = byoc_value_producer(value);
  if (!producer || producer->block != sorter->block) return 0;
  return (uintptr_t)byoc_pointer_map_get(&sorter->indices, producer);
}

// Nested blocks depend on the outer values they use.
static bool collect_edges(sorter_t *sorter, const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    uintptr_t index = dependency_of(sorter, node->operands[i]);
    if (index && !byoc_vector_push(&sorter->edges, sorter->allocator, (uint32_t)(index - 1))) return false;
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    const byoc_block_t *nested = node->blocks[b];
    BYOC_FOR_EACH_NODE(inner, nested) {
      if (!collect_edges(sorter, inner)) return false;
    }
    for (size_t i = 0; i < nested->results.count; ++i) {
      uintptr_t index = dependency_of(sorter, nested->results.data[i]);
      if (index && !byoc_vector_push(&sorter->edges, sorter->allocator, (uint32_t)(index - 1))) return false;
    }
  }
  return true;
}

static byoc_status_t sorter_init(sorter_t *sorter, byoc_diag_t *diag) {
  sorter->entries = byoc_allocate(sorter->allocator, sorter->block->node_count, sizeof(*sorter->entries));
  if (!sorter->entries) return byoc_diag_out_of_memory(diag);
  uintptr_t count = 0;
  BYOC_FOR_EACH_NODE(node, sorter->block) {
    sorter->entries[count++].node = node;
    if (!byoc_pointer_map_put(&sorter->indices, node, (void *)count)) return byoc_diag_out_of_memory(diag);
  }
  for (uintptr_t i = 0; i < count; ++i) {
    sorter->entries[i].next = (uint32_t)sorter->edges.count;
    if (!collect_edges(sorter, sorter->entries[i].node)) return byoc_diag_out_of_memory(diag);
    sorter->entries[i].first_end = (uint32_t)sorter->edges.count;
  }
  return BYOC_OK;
}

// Goes depth first from `root`, so that producers come right before their readers. The path is an explicit list,
// because models can be deeper than the stack allows.
static byoc_status_t sorter_place(sorter_t *sorter, uint32_t root, byoc_diag_t *diag) {
  if (!byoc_vector_push(&sorter->path, sorter->allocator, root)) return byoc_diag_out_of_memory(diag);
  sorter->entries[root].state = 1;
  while (sorter->path.count > 0) {
    uint32_t top = sorter->path.data[sorter->path.count - 1];
    sort_entry_t *entry = &sorter->entries[top];
    if (entry->next == entry->first_end) {
      entry->state = 2;
      --sorter->path.count;
      if (!byoc_vector_push(&sorter->order, sorter->allocator, top)) return byoc_diag_out_of_memory(diag);
      continue;
    }
    uint32_t index = sorter->edges.data[entry->next++];
    sort_entry_t *dependency = &sorter->entries[index];
    if (dependency->state == 1) {
      char text[256];
      byoc_node_describe(dependency->node, text, sizeof(text));
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s depends on its own result", text);
    }
    if (dependency->state == 0) {
      dependency->state = 1;
      if (!byoc_vector_push(&sorter->path, sorter->allocator, index)) return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}

static void sorter_relink(sorter_t *sorter) {
  byoc_block_t *block = sorter->block;
  byoc_node_t *previous = NULL;
  block->first = NULL;
  for (size_t i = 0; i < sorter->order.count; ++i) {
    byoc_node_t *node = sorter->entries[sorter->order.data[i]].node;
    node->previous = previous;
    node->next = NULL;
    *(previous ? &previous->next : &block->first) = node;
    previous = node;
  }
  block->last = previous;
}

static byoc_status_t block_sort_one(byoc_block_t *block, byoc_diag_t *diag) {
  sorter_t sorter = {.block = block, .allocator = block->function->module->allocator};
  byoc_pointer_map_init(&sorter.indices, sorter.allocator);
  byoc_status_t status = sorter_init(&sorter, diag);
  for (size_t i = 0; i < block->node_count && status == BYOC_OK; ++i) {
    if (sorter.entries[i].state == 0) status = sorter_place(&sorter, (uint32_t)i, diag);
  }
  if (status == BYOC_OK) sorter_relink(&sorter);
  byoc_map_deinit(&sorter.indices);
  byoc_free(sorter.allocator, sorter.entries);
  byoc_vector_deinit(&sorter.edges, sorter.allocator);
  byoc_vector_deinit(&sorter.path, sorter.allocator);
  byoc_vector_deinit(&sorter.order, sorter.allocator);
  return status;
}

byoc_status_t byoc_block_sort(byoc_block_t *block, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(block_sort_one(block, diag));
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->block_count; ++i) BYOC_RETURN_IF_ERROR(byoc_block_sort(node->blocks[i], diag));
  }
  return BYOC_OK;
}
