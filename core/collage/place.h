// SPDX-License-Identifier: Apache-2.0
// The result of partitioning, and the greedy partitioning: targets in their order, rules in table order.
#ifndef BYOC_CORE_COLLAGE_PLACE_H_
#define BYOC_CORE_COLLAGE_PLACE_H_

#include "core/base/string.h"
#include "core/collage/plan.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// Why a backend did not claim a node.
typedef struct byoc_decline_t {
  const byoc_node_t *node; // of the function as it was placed; valid until the module changes
  const char *node_text;   // its description
  const byoc_target_t *target;
  const char *rule;
  const char *reason;
} byoc_decline_t;

typedef struct byoc_placement_region_t {
  byoc_function_t *function; // outlined, with its Compiler attribute; equal regions share one
  const byoc_target_t *target;
  size_t node_count; // operators in it
  bool falls_back;   // the backend claimed it and declined it later; its operators were proposed again
  bool is_marked;    // it was marked for its target before placing, and is not in the plan
  size_t plan_block; // index of its block in the plan
  uint32_t plan_region;
} byoc_placement_region_t;

typedef struct byoc_placement_t {
  byoc_arena_t arena;
  BYOC_VECTOR(byoc_placement_region_t) regions; // in order of the graph
  BYOC_VECTOR(byoc_decline_t) declines;
  size_t left_over_count; // operators that no backend claimed the last time
  byoc_plan_t *plan;      // where decisions are recorded; may be NULL
} byoc_placement_t;
void byoc_placement_init(byoc_placement_t *placement, byoc_allocator_t allocator);
void byoc_placement_deinit(byoc_placement_t *placement);

// Partitions every graph function without a Compiler attribute, block by block. In the order of `targets`, the
// partition hook claims its sub-graphs, and each rule claims its matches, from the results upwards. Claims that may be
// merged are merged, as long as no cycle appears. Each claim becomes a function (attributes Compiler, Target: index in
// the list, Composite for pattern matches, Primitive) with one call in its place. A node is not proposed again to a
// target that declined it (BYOC_ATTRIBUTE_DECLINED_BY).
byoc_status_t byoc_place_greedy(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                byoc_placement_t *placement);

// A strategy of partitioning.
typedef struct byoc_placer_t {
  void *self;
  byoc_status_t (*place)(void *self, byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                         byoc_placement_t *placement);
  const char *strategy; // for the plan
} byoc_placer_t;

#endif // BYOC_CORE_COLLAGE_PLACE_H_
