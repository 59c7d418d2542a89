// SPDX-License-Identifier: Apache-2.0
// Structural hash and equality of functions and modules.
#include "core/ir/structural.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/ir/loop_text.h"
#include "core/ir/virtual_device.h"

// Calls nested deeper than this count as different, so that recursion ends even if a call graph has a cycle.
#define MAX_CALL_DEPTH 64

// Flags for the outermost function, not for those that it calls.
enum { OUTERMOST = BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES | BYOC_STRUCTURAL_IGNORE_KERNEL };

// ---- loop kernels, compared by their text ----

static void kernel_text(const byoc_function_t *function, byoc_string_t *out) {
  byoc_string_init(out, function->module->allocator);
  if (function->kernel) byoc_loop_kernel_print(function->kernel, out);
}

static uint64_t kernel_hash(const byoc_function_t *function, uint64_t seed) {
  byoc_string_t text;
  kernel_text(function, &text);
  seed = byoc_hash_combine(seed, byoc_hash_string(text.data));
  byoc_string_deinit(&text);
  return seed;
}

static bool kernel_equal(const byoc_function_t *a, const byoc_function_t *b) {
  if (a->kernel == b->kernel) return true;
  if (!a->kernel || !b->kernel) return false;
  byoc_string_t left, right;
  kernel_text(a, &left);
  kernel_text(b, &right);
  bool equal = !left.failed && !right.failed && left.size > 0 && strcmp(left.data, right.data) == 0;
  byoc_string_deinit(&left);
  byoc_string_deinit(&right);
  return equal;
}

// ---- hash ----

typedef struct structural_hasher_t {
  unsigned flags;
  byoc_map_t numbers;   // value → its number in order of definition, from 1
  byoc_map_t functions; // callee → its hash, boxed in `arena`
  byoc_arena_t arena;
  uintptr_t defined;
  uint32_t depth;
} structural_hasher_t;

static uint64_t hash_function(structural_hasher_t *hasher, const byoc_function_t *function, unsigned flags);

// If memory runs out here, a number is lost. Hashes of equal functions may then differ, so that they are not shared.
static uint64_t hash_definition(structural_hasher_t *hasher, const byoc_value_t *value, uint64_t seed) {
  (void)byoc_pointer_map_put(&hasher->numbers, value, (void *)++hasher->defined);
  return byoc_virtual_device_hash(&value->device, byoc_type_hash(value->type, seed));
}

static uint64_t hash_use(structural_hasher_t *hasher, const byoc_value_t *value, uint64_t seed) {
  if (!value) return byoc_hash_combine(seed, 3);
  if (value->kind != BYOC_VALUE_CONSTANT)
    return byoc_hash_combine(seed, (uint64_t)(uintptr_t)byoc_pointer_map_get(&hasher->numbers, value) + 16);
  uint64_t content = hasher->flags & BYOC_STRUCTURAL_IGNORE_CONSTANT_DATA ? byoc_type_hash(value->constant->type, 4)
                                                                          : byoc_constant_hash(value->constant);
  return byoc_virtual_device_hash(&value->device, byoc_hash_combine(seed, content));
}

static uint64_t hash_callee(structural_hasher_t *hasher, const byoc_function_t *callee) {
  const uint64_t *known = byoc_pointer_map_get(&hasher->functions, callee);
  if (known) return *known;
  if (hasher->depth == MAX_CALL_DEPTH) return 5;
  ++hasher->depth;
  uint64_t hash = hash_function(hasher, callee, hasher->flags & ~(unsigned)OUTERMOST);
  --hasher->depth;
  uint64_t *box = BYOC_ARENA_NEW(&hasher->arena, uint64_t);
  if (box) {
    *box = hash;
    (void)byoc_pointer_map_put(&hasher->functions, callee, box);
  }
  return hash;
}

static uint64_t hash_block(structural_hasher_t *hasher, const byoc_block_t *block, uint64_t hash) {
  hash = byoc_hash_combine(hash, block->parameters.count);
  for (size_t i = 0; i < block->parameters.count; ++i) hash = hash_definition(hasher, block->parameters.data[i], hash);
  hash = byoc_hash_combine(hash, block->node_count);
  BYOC_FOR_EACH_NODE(node, block) {
    hash = byoc_hash_combine(hash, byoc_hash_string(node->domain));
    hash = byoc_hash_combine(hash, byoc_hash_string(node->op));
    hash = byoc_hash_combine(hash, (uint64_t)(uint32_t)node->since_version);
    if (node->callee) hash = byoc_hash_combine(hash, hash_callee(hasher, node->callee));
    hash = byoc_hash_combine(hash, node->operand_count);
    for (uint32_t i = 0; i < node->operand_count; ++i) hash = hash_use(hasher, node->operands[i], hash);
    hash = byoc_attributes_hash(&node->attributes, hash);
    for (uint32_t i = 0; i < node->block_count; ++i)
      hash = hash_block(hasher, node->blocks[i], byoc_hash_combine(hash, byoc_hash_string(node->block_names[i])));
    hash = byoc_hash_combine(hash, node->result_count);
    for (uint32_t i = 0; i < node->result_count; ++i) hash = hash_definition(hasher, node->results[i], hash);
  }
  hash = byoc_hash_combine(hash, block->results.count);
  for (size_t i = 0; i < block->results.count; ++i) hash = hash_use(hasher, block->results.data[i], hash);
  return hash;
}

static uint64_t hash_function(structural_hasher_t *hasher, const byoc_function_t *function, unsigned flags) {
  uintptr_t outer = hasher->defined;
  hasher->defined = 0;
  bool as_graph = (flags & BYOC_STRUCTURAL_IGNORE_KERNEL) != 0;
  uint64_t hash = byoc_hash_combine(flags, (uint64_t)(as_graph ? BYOC_FUNCTION_GRAPH : function->kind) + 1);
  if (!(flags & BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES)) hash = byoc_attributes_hash(&function->attributes, hash);
  if (function->kernel && !as_graph) hash = kernel_hash(function, hash);
  hash = hash_block(hasher, function->body, hash);
  hasher->defined = outer;
  return hash;
}

uint64_t byoc_function_structural_hash(const byoc_function_t *function, unsigned flags) {
  structural_hasher_t hasher = {.flags = flags};
  byoc_allocator_t allocator = function->module->allocator;
  byoc_pointer_map_init(&hasher.numbers, allocator);
  byoc_pointer_map_init(&hasher.functions, allocator);
  byoc_arena_init(&hasher.arena, allocator);
  uint64_t hash = hash_function(&hasher, function, flags);
  byoc_map_deinit(&hasher.numbers);
  byoc_map_deinit(&hasher.functions);
  byoc_arena_deinit(&hasher.arena);
  return hash;
}

// ---- equality ----

typedef struct comparer_t {
  unsigned flags;
  byoc_map_t values;    // of a → of b
  byoc_map_t functions; // function of a → the function of b that equals it
  uint32_t depth;
} comparer_t;

static bool equal_functions(comparer_t *comparer, const byoc_function_t *a, const byoc_function_t *b, unsigned flags);

static bool equal_definitions(comparer_t *comparer, const byoc_value_t *a, const byoc_value_t *b) {
  return byoc_type_equal(a->type, b->type) && byoc_virtual_device_equal(&a->device, &b->device) &&
         byoc_pointer_map_put(&comparer->values, a, (void *)(uintptr_t)b);
}

static bool equal_uses(comparer_t *comparer, const byoc_value_t *a, const byoc_value_t *b) {
  if (!a || !b) return a == b;
  if (a->kind != b->kind) return false;
  if (a->kind != BYOC_VALUE_CONSTANT) return byoc_pointer_map_get(&comparer->values, a) == b;
  if (!byoc_virtual_device_equal(&a->device, &b->device)) return false;
  if (comparer->flags & BYOC_STRUCTURAL_IGNORE_CONSTANT_DATA)
    return byoc_type_equal(a->constant->type, b->constant->type);
  return byoc_constant_equal(a->constant, b->constant);
}

static bool equal_callees(comparer_t *comparer, const byoc_function_t *a, const byoc_function_t *b) {
  if (!a || !b) return a == b;
  if (a == b || byoc_pointer_map_get(&comparer->functions, a) == b) return true;
  if (comparer->depth == MAX_CALL_DEPTH) return false;
  ++comparer->depth;
  unsigned flags = comparer->flags & ~(unsigned)OUTERMOST;
  bool equal = equal_functions(comparer, a, b, flags);
  --comparer->depth;
  // Without memory to remember the pair, it is compared again.
  if (equal) (void)byoc_pointer_map_put(&comparer->functions, a, (void *)(uintptr_t)b);
  return equal;
}

static bool equal_blocks(comparer_t *comparer, const byoc_block_t *a, const byoc_block_t *b);

static bool equal_nodes(comparer_t *comparer, const byoc_node_t *a, const byoc_node_t *b) {
  if (strcmp(a->op, b->op) != 0 || strcmp(a->domain, b->domain) != 0 || a->since_version != b->since_version ||
      a->operand_count != b->operand_count || a->result_count != b->result_count || a->block_count != b->block_count)
    return false;
  for (uint32_t i = 0; i < a->operand_count; ++i) {
    if (!equal_uses(comparer, a->operands[i], b->operands[i])) return false;
  }
  if (!byoc_attributes_equal(&a->attributes, &b->attributes) || !equal_callees(comparer, a->callee, b->callee))
    return false;
  for (uint32_t i = 0; i < a->block_count; ++i) {
    if (strcmp(a->block_names[i], b->block_names[i]) != 0) return false;
    if (!equal_blocks(comparer, a->blocks[i], b->blocks[i])) return false;
  }
  for (uint32_t i = 0; i < a->result_count; ++i) {
    if (!equal_definitions(comparer, a->results[i], b->results[i])) return false;
  }
  return true;
}

static bool equal_blocks(comparer_t *comparer, const byoc_block_t *a, const byoc_block_t *b) {
  if (a->parameters.count != b->parameters.count || a->results.count != b->results.count ||
      a->node_count != b->node_count)
    return false;
  for (size_t i = 0; i < a->parameters.count; ++i) {
    if (!equal_definitions(comparer, a->parameters.data[i], b->parameters.data[i])) return false;
  }
  const byoc_node_t *other = b->first;
  BYOC_FOR_EACH_NODE(node, a) {
    if (!equal_nodes(comparer, node, other)) return false;
    other = other->next;
  }
  for (size_t i = 0; i < a->results.count; ++i) {
    if (!equal_uses(comparer, a->results.data[i], b->results.data[i])) return false;
  }
  return true;
}

static bool equal_functions(comparer_t *comparer, const byoc_function_t *a, const byoc_function_t *b, unsigned flags) {
  bool as_graph = (flags & BYOC_STRUCTURAL_IGNORE_KERNEL) != 0;
  if (!as_graph && (a->kind != b->kind || !kernel_equal(a, b))) return false;
  if (!(flags & BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES) && !byoc_attributes_equal(&a->attributes, &b->attributes))
    return false;
  return equal_blocks(comparer, a->body, b->body);
}

static void comparer_init(comparer_t *comparer, byoc_allocator_t allocator, unsigned flags) {
  *comparer = (comparer_t){.flags = flags};
  byoc_pointer_map_init(&comparer->values, allocator);
  byoc_pointer_map_init(&comparer->functions, allocator);
}

static void comparer_deinit(comparer_t *comparer) {
  byoc_map_deinit(&comparer->values);
  byoc_map_deinit(&comparer->functions);
}

bool byoc_function_structural_equal(const byoc_function_t *a, const byoc_function_t *b, unsigned flags) {
  if (a == b) return true;
  comparer_t comparer;
  comparer_init(&comparer, a->module->allocator, flags);
  bool equal = equal_functions(&comparer, a, b, flags);
  comparer_deinit(&comparer);
  return equal;
}
