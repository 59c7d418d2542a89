// SPDX-License-Identifier: Apache-2.0
// Hashes the blocks of a module, so that a saved plan is used only for the model that it was made for.
#include "core/base/hash.h"
#include "core/collage/plan_record.h"
#include "core/ir/structural.h"

// Operands are hashed by where they come from: the position of their producer in the block.
typedef struct block_hasher_t {
  byoc_map_t numbers; // value → order of definition, from 1
  uintptr_t defined;
} block_hasher_t;

static uint64_t define(block_hasher_t *h, const byoc_value_t *value, uint64_t hash) {
  // If a number is lost for lack of memory, the hash differs: a saved plan is then refused, not misapplied.
  (void)byoc_pointer_map_put(&h->numbers, value, (void *)++h->defined);
  return byoc_type_hash(value->type, hash);
}

static uint64_t use(const block_hasher_t *h, const byoc_value_t *value, uint64_t hash) {
  if (value == NULL) return byoc_hash_combine(hash, 1);
  if (value->kind == BYOC_VALUE_CONSTANT) return byoc_type_hash(value->type, byoc_hash_combine(hash, 2));
  uintptr_t number = (uintptr_t)byoc_pointer_map_get(&h->numbers, value);
  return byoc_type_hash(value->type, byoc_hash_combine(hash, (uint64_t)number + 3)); // 3: from around the block
}

static uint64_t hash_block(block_hasher_t *h, const byoc_block_t *block, uint64_t hash) {
  for (size_t i = 0; i < block->parameters.count; ++i) hash = define(h, block->parameters.data[i], hash);
  hash = byoc_hash_combine(hash, block->node_count);
  BYOC_FOR_EACH_NODE(node, block) {
    hash = byoc_hash_combine(hash, byoc_hash_string(node->domain));
    hash = byoc_hash_combine(hash, byoc_hash_string(node->op));
    hash = byoc_hash_combine(hash, (uint64_t)(uint32_t)node->since_version);
    if (node->callee != NULL) {
      hash = byoc_hash_combine(hash, byoc_function_structural_hash(node->callee, BYOC_STRUCTURAL_IGNORE_CONSTANT_DATA));
    }
    hash = byoc_attributes_hash(&node->attributes, hash);
    for (uint32_t i = 0; i < node->operand_count; ++i) hash = use(h, node->operands[i], hash);
    for (uint32_t i = 0; i < node->block_count; ++i) {
      hash = hash_block(h, node->blocks[i], byoc_hash_combine(hash, byoc_hash_string(node->block_names[i])));
    }
    for (uint32_t i = 0; i < node->result_count; ++i) hash = define(h, node->results[i], hash);
  }
  for (size_t i = 0; i < block->results.count; ++i) hash = use(h, block->results.data[i], hash);
  return hash;
}

uint64_t byoc_plan_block_hash(const byoc_block_t *block) {
  block_hasher_t hasher = {0};
  byoc_pointer_map_init(&hasher.numbers, block->function->module->allocator);
  uint64_t hash = hash_block(&hasher, block, 0);
  byoc_map_deinit(&hasher.numbers);
  return hash;
}
