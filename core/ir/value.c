// SPDX-License-Identifier: Apache-2.0
// Values, their uses and the blocks that hold them.
#include <assert.h>
#include <string.h>

#include "core/ir/graph_internal.h"

static bool text_equal(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

bool byoc_virtual_device_equal(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b) {
  return a->device_type == b->device_type && a->device_id == b->device_id && text_equal(a->target, b->target) &&
         text_equal(a->scope, b->scope) && text_equal(a->ranks, b->ranks);
}

bool byoc_virtual_device_is_free(const byoc_virtual_device_t *device) {
  return byoc_virtual_device_equal(device, &BYOC_VIRTUAL_DEVICE_FREE);
}

// ---- uses ----

static bool use_equal(byoc_use_t a, byoc_use_t b) {
  return a.node == b.node && a.block == b.block && a.index == b.index;
}

bool byoc_ir_use_add(byoc_value_t *value, byoc_use_t use) {
  if (!value) return true;
  return byoc_vector_push(&value->uses, byoc_arena_allocator(&value->function->module->arena), use);
}

static byoc_use_t *use_find(byoc_value_t *value, byoc_use_t use) {
  for (size_t i = value->uses.count; i-- > 0;) {
    if (use_equal(value->uses.data[i], use)) return &value->uses.data[i];
  }
  return NULL;
}

void byoc_ir_use_drop(byoc_value_t *value, byoc_use_t use) {
  if (!value) return;
  byoc_use_t *found = use_find(value, use);
  assert(found && "the use list does not match the operands");
  if (!found) return;
  size_t index = (size_t)(found - value->uses.data);
  --value->uses.count;
  memmove(found, found + 1, (value->uses.count - index) * sizeof(*found));
}

bool byoc_value_replace_uses(byoc_value_t *value, byoc_value_t *by) {
  if (value == by) return true;
  bool is_made = by->kind != BYOC_VALUE_PARAMETER && by->uses.count == 0; // it was made for this purpose
  if (is_made && byoc_virtual_device_is_free(&by->device)) by->device = value->device;
  if (!byoc_vector_reserve(&by->uses, byoc_arena_allocator(&by->function->module->arena), value->uses.count))
    return false;
  for (size_t i = 0; i < value->uses.count; ++i) {
    byoc_use_t use = value->uses.data[i];
    if (use.node) {
      use.node->operands[use.index] = by;
    } else {
      use.block->results.data[use.index] = by;
    }
    by->uses.data[by->uses.count++] = use;
  }
  value->uses.count = 0;
  return true;
}

bool byoc_value_is_block_result(const byoc_value_t *value) {
  for (size_t i = 0; i < value->uses.count; ++i) {
    if (!value->uses.data[i].node) return true;
  }
  return false;
}

// ---- values ----

byoc_value_t *byoc_ir_value_create(byoc_function_t *function, byoc_value_kind_t kind, uint32_t index) {
  byoc_value_t *value = BYOC_ARENA_NEW(&function->module->arena, byoc_value_t);
  if (!value) return NULL;
  value->kind = kind;
  value->index = index;
  value->type = byoc_type_unknown();
  value->device = BYOC_VIRTUAL_DEVICE_FREE;
  value->function = function;
  return value;
}

void byoc_value_set_name(byoc_value_t *value, const char *name) {
  const char *copy = name ? byoc_arena_copy_string(&value->function->module->arena, name) : NULL;
  if (copy || !name) value->name = copy;
}

// ---- blocks ----

byoc_block_t *byoc_ir_block_create(byoc_function_t *function, byoc_node_t *owner) {
  byoc_block_t *block = BYOC_ARENA_NEW(&function->module->arena, byoc_block_t);
  if (!block) return NULL;
  block->function = function;
  block->owner = owner;
  return block;
}

uint32_t byoc_block_depth(const byoc_block_t *block) {
  uint32_t depth = 0;
  for (; block->owner; block = block->owner->block) ++depth;
  return depth;
}

byoc_value_t *byoc_block_add_parameter(byoc_block_t *block, const char *name, const byoc_type_t *type) {
  byoc_arena_t *arena = &block->function->module->arena;
  byoc_value_t *value = byoc_ir_value_create(block->function, BYOC_VALUE_PARAMETER, (uint32_t)block->parameters.count);
  if (!value) return NULL;
  value->block = block;
  if (type) value->type = type;
  if (name) value->name = byoc_arena_copy_string(arena, name);
  if (name && !value->name) return NULL;
  return byoc_vector_push(&block->parameters, byoc_arena_allocator(arena), value) ? value : NULL;
}

bool byoc_block_add_result(byoc_block_t *block, const char *name, byoc_value_t *value) {
  byoc_arena_t *arena = &block->function->module->arena;
  byoc_allocator_t allocator = byoc_arena_allocator(arena);
  const char *copy = name ? byoc_arena_copy_string(arena, name) : NULL;
  if (name && !copy) return false;
  if (!byoc_vector_reserve(&block->results, allocator, 1) || !byoc_vector_reserve(&block->result_names, allocator, 1))
    return false;
  if (!byoc_ir_use_add(value, (byoc_use_t){NULL, block, (uint32_t)block->results.count})) return false;
  block->results.data[block->results.count++] = value;
  block->result_names.data[block->result_names.count++] = copy;
  return true;
}

bool byoc_block_set_result(byoc_block_t *block, uint32_t index, byoc_value_t *value) {
  assert(index < block->results.count);
  byoc_use_t use = {NULL, block, index};
  byoc_value_t *old = block->results.data[index];
  if (old == value) return true;
  if (!byoc_ir_use_add(value, use)) return false;
  byoc_ir_use_drop(old, use);
  block->results.data[index] = value;
  return true;
}

void byoc_block_remove_result(byoc_block_t *block, uint32_t index) {
  assert(index < block->results.count);
  byoc_ir_use_drop(block->results.data[index], (byoc_use_t){NULL, block, index});
  --block->results.count;
  --block->result_names.count;
  for (uint32_t i = index; i < block->results.count; ++i) {
    byoc_use_t *use = use_find(block->results.data[i + 1], (byoc_use_t){NULL, block, i + 1});
    assert(use);
    if (use) use->index = i;
    block->results.data[i] = block->results.data[i + 1];
    block->result_names.data[i] = block->result_names.data[i + 1];
  }
}

bool byoc_block_walk(byoc_block_t *block, bool (*visit)(void *self, byoc_node_t *node), void *self) {
  for (byoc_node_t *node = block->first, *next; node; node = next) {
    next = node->next;
    if (!visit(self, node)) return false;
    if (node->block != block) continue; // erased or moved by the visitor
    for (uint32_t i = 0; i < node->block_count; ++i) {
      if (!byoc_block_walk(node->blocks[i], visit, self)) return false;
    }
    next = node->next;
  }
  return true;
}
