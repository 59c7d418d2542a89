// SPDX-License-Identifier: Apache-2.0
// Notes on nodes for the next rounds of placing.
#include "core/compile/declined.h"

#include "core/ir/attribute_names.h"

typedef struct decline_t {
  int64_t target;
  int64_t *targets; // space for all of them
  byoc_node_t *const *nodes;
  size_t node_count;
} decline_t;

static bool is_declined(const decline_t *decline, const byoc_node_t *node) {
  for (size_t i = 0; i < decline->node_count; ++i) {
    if (decline->nodes[i] == node) return true;
  }
  return decline->nodes == NULL;
}

static bool mark_declined(void *self, byoc_node_t *node) {
  const decline_t *decline = self;
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, mark_declined, self);
  if (!is_declined(decline, node)) return true;
  size_t count = 0;
  const int64_t *known = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, &count);
  for (size_t i = 0; i < count; ++i) {
    if (known[i] == decline->target) return true;
    decline->targets[i] = known[i];
  }
  decline->targets[count] = decline->target;
  return byoc_attributes_set_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, decline->targets, count + 1) &&
         byoc_attributes_set_int(&node->attributes, BYOC_ATTRIBUTE_OPEN, 1);
}

bool byoc_mark_declined(byoc_block_t *block, byoc_node_t *const *nodes, size_t node_count, const byoc_target_t *target,
                        size_t target_count, byoc_allocator_t allocator) {
  decline_t decline = {.target = target->index, .nodes = nodes, .node_count = node_count};
  decline.targets = byoc_allocate(allocator, target_count + 1, sizeof(*decline.targets));
  const bool ok = decline.targets != NULL && byoc_block_walk(block, mark_declined, &decline);
  byoc_free(allocator, decline.targets);
  return ok;
}

static bool mark_answered(void *self, byoc_node_t *node) {
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, mark_answered, self);
  return byoc_attributes_set_int(&node->attributes, BYOC_ATTRIBUTE_ANSWERED, 1);
}

bool byoc_mark_answered(byoc_block_t *block) {
  return byoc_block_walk(block, mark_answered, NULL);
}

static bool forget_answered(void *self, byoc_node_t *node) {
  (void)self;
  byoc_attributes_remove(&node->attributes, BYOC_ATTRIBUTE_ANSWERED);
  return true;
}

void byoc_forget_answered(byoc_graph_module_t *module) {
  for (size_t f = 0; f < module->functions.count; ++f) {
    (void)byoc_block_walk(module->functions.data[f]->body, forget_answered, NULL);
  }
}
