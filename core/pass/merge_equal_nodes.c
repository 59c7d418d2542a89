// SPDX-License-Identifier: Apache-2.0
// merge-equal-nodes: equal expressions are computed once.
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/ops/byoc/symbolic.h"
#include "core/pass/pass.h"

static uint64_t hash_node(const byoc_node_t *node) {
  uint64_t hash = byoc_hash_combine(byoc_hash_string(node->domain), byoc_hash_string(node->op));
  hash = byoc_hash_combine(hash, (uint64_t)node->since_version);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hash = byoc_hash_combine(hash, (uint64_t)(uintptr_t)node->operands[i]);
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    hash = byoc_virtual_device_hash(&node->results[r]->device, hash);
  }
  return byoc_attributes_hash(&node->attributes, hash);
}

static bool is_mergeable(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && node->block_count == 0 && !(op->traits & (BYOC_OP_RANDOM | BYOC_OP_CONTROL)) &&
         !byoc_node_is(node, "byoc", "CallC") && !byoc_is_requirement(node);
}

// Are both results of one type, as far as is known? For some operators the types of results follow from the results
// alone.
static bool types_match(const byoc_type_t *a, const byoc_type_t *b) {
  if (!byoc_type_is_tensor(a) || !byoc_type_is_tensor(b) || a->rank < 0 || b->rank < 0) return true;
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int32_t d = 0; d < a->rank; ++d) {
    const bool is_open = byoc_dim_is_unknown(a->dims[d]) || byoc_dim_is_unknown(b->dims[d]);
    if (!is_open && !byoc_dim_equal(a->dims[d], b->dims[d])) return false;
  }
  return true;
}

static bool nodes_equal(const byoc_node_t *a, const byoc_node_t *b) {
  if (strcmp(a->op, b->op) != 0 || strcmp(a->domain, b->domain) != 0 || a->since_version != b->since_version ||
      a->operand_count != b->operand_count || a->result_count != b->result_count || !byoc_nodes_match_places(a, b)) {
    return false;
  }
  for (uint32_t r = 0; r < a->result_count; ++r) {
    if (!types_match(a->results[r]->type, b->results[r]->type)) return false;
  }
  if (a->operand_count > 0 && memcmp(a->operands, b->operands, a->operand_count * sizeof(*a->operands)) != 0) {
    return false;
  }
  return byoc_attributes_equal(&a->attributes, &b->attributes);
}

// a = f(x), b = f(x) → readers of b read a
static byoc_status_t merge_block(byoc_block_t *block, byoc_diag_t *diag, size_t *changes) {
  byoc_map_t seen; // hash → the first node with it
  byoc_pointer_map_init(&seen, block->function->module->allocator);
  bool ok = true;
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    if (!ok || !is_mergeable(node)) continue;
    const void *key = (const void *)(uintptr_t)hash_node(node);
    const byoc_node_t *first = byoc_pointer_map_get(&seen, key);
    if (first == NULL) {
      ok = byoc_pointer_map_put(&seen, key, node);
    } else if (nodes_equal(first, node)) {
      for (uint32_t r = 0; r < node->result_count && ok; ++r) {
        ok = byoc_value_replace_uses(node->results[r], first->results[r]);
      }
      if (ok) byoc_node_erase(node);
      *changes += ok;
    }
  }
  byoc_map_deinit(&seen);
  if (!ok) return byoc_diag_out_of_memory(diag);
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(merge_block(node->blocks[b], diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_merge_equal_nodes(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    BYOC_RETURN_IF_ERROR(merge_block(function->body, diag, changes));
  }
  return BYOC_OK;
}
