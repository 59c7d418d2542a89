// SPDX-License-Identifier: Apache-2.0
// Makes, moves and destroys nodes: operators and calls, with their operands and nested blocks.
#include <assert.h>
#include <string.h>

#include "core/ir/graph_internal.h"

static void node_link(byoc_node_t *node, byoc_block_t *block, byoc_node_t *before) {
  assert(!before || before->block == block);
  node->block = block;
  node->next = before;
  node->previous = before ? before->previous : block->last;
  *(node->previous ? &node->previous->next : &block->first) = node;
  *(before ? &before->previous : &block->last) = node;
  ++block->node_count;
}

// Keeps `next`, so that a walk at this node can go on.
static void node_unlink(byoc_node_t *node) {
  byoc_block_t *block = node->block;
  *(node->previous ? &node->previous->next : &block->first) = node->next;
  *(node->next ? &node->next->previous : &block->last) = node->previous;
  --block->node_count;
  node->block = NULL;
}

static bool operands_hold(byoc_node_t *node, byoc_value_t *const *operands, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (byoc_ir_use_add(operands[i], (byoc_use_t){node, NULL, i})) continue;
    while (i-- > 0) byoc_ir_use_drop(operands[i], (byoc_use_t){node, NULL, i});
    return false;
  }
  return true;
}

static bool results_create(byoc_node_t *node, uint32_t count) {
  byoc_arena_t *arena = &node->function->module->arena;
  node->results = BYOC_ARENA_ARRAY(arena, byoc_value_t *, count ? count : 1);
  if (!node->results) return false;
  for (uint32_t i = 0; i < count; ++i) {
    node->results[i] = byoc_ir_value_create(node->function, BYOC_VALUE_RESULT, i);
    if (!node->results[i]) return false;
    node->results[i]->node = node;
  }
  node->result_count = count;
  return true;
}

static byoc_node_t *node_create(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *op,
                                int32_t since_version, byoc_function_t *callee, byoc_value_t *const *operands,
                                uint32_t operand_count, uint32_t result_count) {
  byoc_graph_module_t *module = block->function->module;
  byoc_arena_t *arena = &module->arena;
  byoc_node_t *node = BYOC_ARENA_NEW(arena, byoc_node_t);
  if (!node) return NULL;
  node->name = "";
  node->domain = domain[0] ? byoc_arena_copy_string(arena, domain) : "";
  node->op = byoc_arena_copy_string(arena, op);
  node->since_version = since_version;
  node->callee = callee;
  node->function = block->function;
  node->attributes.arena = arena;
  node->operands = BYOC_ARENA_ARRAY(arena, byoc_value_t *, operand_count ? operand_count : 1);
  if (!node->domain || !node->op || !node->operands || !results_create(node, result_count)) return NULL;
  if (operand_count > 0) memcpy(node->operands, operands, operand_count * sizeof(byoc_value_t *));
  node->operand_count = operand_count;
  if (!operands_hold(node, operands, operand_count)) return NULL;
  node->id = module->next_id++;
  node_link(node, block, before);
  return node;
}

byoc_node_t *byoc_node_create(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *op,
                              int32_t since_version, byoc_value_t *const *operands, uint32_t operand_count,
                              uint32_t result_count) {
  return node_create(block, before, domain, op, since_version, NULL, operands, operand_count, result_count);
}

byoc_node_t *byoc_ir_node_create_call(byoc_block_t *block, byoc_node_t *before, byoc_function_t *callee,
                                      byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count) {
  return node_create(block, before, "", "call", 0, callee, operands, operand_count, result_count);
}

byoc_node_t *byoc_node_create_call(byoc_block_t *block, byoc_node_t *before, byoc_function_t *callee,
                                   byoc_value_t *const *operands, uint32_t operand_count) {
  uint32_t result_count = (uint32_t)callee->body->results.count;
  return byoc_ir_node_create_call(block, before, callee, operands, operand_count, result_count);
}

bool byoc_node_set_name(byoc_node_t *node, const char *name) {
  const char *copy = name && name[0] ? byoc_arena_copy_string(&node->function->module->arena, name) : "";
  if (copy) node->name = copy;
  return copy != NULL;
}

byoc_block_t *byoc_node_add_block(byoc_node_t *node, const char *name) {
  byoc_arena_t *arena = &node->function->module->arena;
  if (node->block && byoc_block_depth(node->block) >= BYOC_MAX_BLOCK_DEPTH) return NULL;
  byoc_block_t *block = byoc_ir_block_create(node->function, node);
  const char *copy = byoc_arena_copy_string(arena, name);
  byoc_block_t **blocks = BYOC_ARENA_ARRAY(arena, byoc_block_t *, node->block_count + 1);
  const char **names = BYOC_ARENA_ARRAY(arena, const char *, node->block_count + 1);
  if (!block || !copy || !blocks || !names) return NULL;
  for (uint32_t i = 0; i < node->block_count; ++i) {
    blocks[i] = node->blocks[i];
    names[i] = node->block_names[i];
  }
  blocks[node->block_count] = block;
  names[node->block_count] = copy;
  node->blocks = blocks;
  node->block_names = names;
  ++node->block_count;
  return block;
}

byoc_block_t *byoc_node_find_block(const byoc_node_t *node, const char *name) {
  for (uint32_t i = 0; i < node->block_count; ++i) {
    if (strcmp(node->block_names[i], name) == 0) return node->blocks[i];
  }
  return NULL;
}

bool byoc_node_set_operand(byoc_node_t *node, uint32_t index, byoc_value_t *value) {
  assert(index < node->operand_count);
  byoc_use_t use = {node, NULL, index};
  byoc_value_t *old = node->operands[index];
  if (old == value) return true;
  if (!byoc_ir_use_add(value, use)) return false;
  byoc_ir_use_drop(old, use);
  node->operands[index] = value;
  return true;
}

bool byoc_node_set_operands(byoc_node_t *node, byoc_value_t *const *operands, uint32_t count) {
  byoc_value_t **copy = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, count ? count : 1);
  if (!copy) return false;
  if (count > 0) memcpy(copy, operands, count * sizeof(*copy));
  if (!operands_hold(node, copy, count)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) byoc_ir_use_drop(node->operands[i], (byoc_use_t){node, NULL, i});
  node->operands = copy;
  node->operand_count = count;
  return true;
}

byoc_value_t *byoc_node_add_result(byoc_node_t *node) {
  byoc_arena_t *arena = &node->function->module->arena;
  byoc_value_t **results = BYOC_ARENA_ARRAY(arena, byoc_value_t *, node->result_count + 1);
  byoc_value_t *value = byoc_ir_value_create(node->function, BYOC_VALUE_RESULT, node->result_count);
  if (!results || !value) return NULL;
  value->node = node;
  if (node->result_count > 0) memcpy(results, node->results, node->result_count * sizeof(*results));
  results[node->result_count++] = value;
  node->results = results;
  return value;
}

static void node_drop_uses(byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) byoc_ir_use_drop(node->operands[i], (byoc_use_t){node, NULL, i});
  node->operand_count = 0;
  for (uint32_t b = 0; b < node->block_count; ++b) {
    byoc_block_t *block = node->blocks[b];
    for (uint32_t i = 0; i < block->results.count; ++i)
      byoc_ir_use_drop(block->results.data[i], (byoc_use_t){NULL, block, i});
    block->results.count = block->result_names.count = 0;
    BYOC_FOR_EACH_NODE(nested, block) node_drop_uses(nested);
  }
}

void byoc_ir_node_discard(byoc_node_t *node) {
  node_drop_uses(node);
  node_unlink(node);
}

void byoc_node_erase(byoc_node_t *node) {
  for (uint32_t i = 0; i < node->result_count; ++i) assert(node->results[i]->uses.count == 0);
  byoc_ir_node_discard(node);
}

void byoc_node_move(byoc_node_t *node, byoc_block_t *block, byoc_node_t *before) {
  assert(block->function == node->function);
  if (node == before) return;
  node_unlink(node);
  node_link(node, block, before);
}

bool byoc_node_is(const byoc_node_t *node, const char *domain, const char *op) {
  return !node->callee && strcmp(node->op, op) == 0 && strcmp(node->domain, domain) == 0;
}

void byoc_node_describe(const byoc_node_t *node, char *buffer, size_t size) {
  const char *open = node->name[0] ? " '" : "", *close = node->name[0] ? "'" : "";
  if (node->callee) {
    snprintf(buffer, size, "call @%s%s%s%s", node->callee->name, open, node->name, close);
  } else {
    snprintf(buffer, size, "%s%s%s%s (%s %d)", node->op, open, node->name, close,
             node->domain[0] ? node->domain : "ai.onnx", node->since_version);
  }
}
