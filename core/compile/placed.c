// SPDX-License-Identifier: Apache-2.0
// Counts the operators of each target: in the functions that partitioning left, not in the candidates that it chose.
#include "core/compile/placed.h"

#include "core/ir/attribute_names.h"
#include "core/ops/byoc/blocked.h"
#include "core/ops/byoc/symbolic.h"

static bool count_node(void *self, byoc_node_t *node) {
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, count_node, self);
  *(size_t *)self += byoc_is_layout_change(node) || byoc_is_guard(node) ? 0 : 1;
  return true;
}

static bool count_unplaced(void *self, byoc_node_t *node) {
  return node->callee != NULL || count_node(self, node);
}

typedef struct counter_t {
  byoc_placement_t *placement;
  const byoc_target_list_t *targets;
  size_t placed_count; // regions that placing made
  size_t open_count;   // operators outside of regions
} counter_t;

static bool is_placed(const counter_t *counter, const byoc_function_t *function) {
  for (size_t r = 0; r < counter->placed_count; ++r) {
    if (counter->placement->regions.data[r].function == function) return true;
  }
  return false;
}

// Counts a node outside of regions, and lists the call of a function that was marked before.
static bool visit(void *self, byoc_node_t *node) {
  counter_t *counter = self;
  byoc_function_t *callee = node->callee;
  if (callee == NULL) return count_node(&counter->open_count, node);
  bool is_region = callee->kind == BYOC_FUNCTION_GRAPH && byoc_function_is_region(callee);
  if (!is_region || is_placed(counter, callee)) return true;
  const int64_t target = byoc_attributes_int(&callee->attributes, BYOC_ATTRIBUTE_TARGET, 0);
  const byoc_placement_region_t region = {
      .function = callee, .target = counter->targets->targets.data[target], .is_marked = true};
  return byoc_vector_push(&counter->placement->regions, counter->placement->arena.allocator, region);
}

size_t byoc_placed_count_open(const byoc_graph_module_t *module) {
  size_t count = 0;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (!byoc_function_is_open(function)) continue;
    (void)byoc_block_walk(function->body, count_unplaced, &count);
  }
  return count;
}

byoc_status_t byoc_placed_count(byoc_placed_t *placed, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                bool is_first_round, byoc_diag_t *diag, byoc_placement_t *placement) {
  counter_t counter = {.placement = placement, .targets = targets, .placed_count = placement->regions.count};
  size_t claimed = 0;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (!is_first_round || !byoc_function_is_open(function)) continue;
    if (!byoc_block_walk(function->body, visit, &counter)) return byoc_diag_out_of_memory(diag);
  }
  for (size_t r = 0; r < placement->regions.count; ++r) {
    byoc_placement_region_t *region = &placement->regions.data[r];
    if (r >= placed->region_count) {
      region->node_count = 0;
      (void)byoc_block_walk(region->function->body, count_node, &region->node_count);
    }
    claimed += region->falls_back ? 0 : region->node_count;
  }
  placed->region_count = placement->regions.count;
  if (is_first_round) placed->operator_count = counter.open_count + claimed;
  placement->left_over_count = placed->operator_count - claimed;
  return BYOC_OK;
}
