// SPDX-License-Identifier: Apache-2.0
// Fills a plan during the partitioning.
//
// Example:
//   byoc_plan_recorder_t recorder;
//   BYOC_RETURN_IF_ERROR(byoc_plan_record_begin(plan, "main", block, diag, &recorder)); // before a region is outlined
//   BYOC_RETURN_IF_ERROR(byoc_plan_record_decline(&recorder, target, rule, reason, nodes, count, diag));
//   BYOC_RETURN_IF_ERROR(byoc_plan_record_region(&recorder, &region, numbers, count, diag, &index));
//   byoc_plan_record_end(&recorder);
//
// Nodes are given by their number in the block that is being placed; the plan's own numbers are those of the first
// round. In later rounds, when backends have declined regions, the open nodes are found again by operator, name and
// type, in their order. If the plan is NULL, the functions do nothing.
#ifndef BYOC_CORE_COLLAGE_PLAN_RECORD_H_
#define BYOC_CORE_COLLAGE_PLAN_RECORD_H_

#include "core/collage/plan.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

typedef struct byoc_plan_recorder_t {
  byoc_plan_t *plan;
  size_t block;      // index in plan->blocks
  uint32_t *numbers; // number in the block → number in the plan; UINT32_MAX: not in the plan
  uint32_t node_count;
} byoc_plan_recorder_t;

// Names the model, the strategy and the targets.
byoc_status_t byoc_plan_record_targets(byoc_plan_t *plan, const char *model, const char *strategy,
                                       const byoc_target_list_t *targets, byoc_diag_t *diag);
// Adds the block with its nodes; in a later round, finds the block and its open nodes again.
byoc_status_t byoc_plan_record_begin(byoc_plan_t *plan, const char *name, const byoc_block_t *block, byoc_diag_t *diag,
                                     byoc_plan_recorder_t *out_recorder);
void byoc_plan_record_end(byoc_plan_recorder_t *recorder);
// "main/If_1.then_branch": the name of a block nested in the `ordinal`-th node of a block that has nested ones.
char *byoc_plan_nested_name(byoc_arena_t *arena, const char *name, const byoc_node_t *owner, uint32_t ordinal,
                            uint32_t block);

// Adds a region of these nodes (numbers in the block as it is) and notes it at each of them. Texts are copied.
byoc_status_t byoc_plan_record_region(byoc_plan_recorder_t *recorder, const byoc_plan_region_t *region,
                                      const uint32_t *nodes, uint32_t node_count, byoc_diag_t *diag,
                                      uint32_t *out_region);
// An identical decline is kept only once.
byoc_status_t byoc_plan_record_decline(byoc_plan_recorder_t *recorder, uint32_t target, const char *rule,
                                       const char *reason, const uint32_t *nodes, uint32_t node_count,
                                       byoc_diag_t *diag);
// Records that a backend declined a region: its nodes are open again, and `reason` joins the declines.
byoc_status_t byoc_plan_record_fallback(byoc_plan_t *plan, size_t block, uint32_t region, const char *reason,
                                        byoc_diag_t *diag);
// Records the precision of a region, and why it is not the one that was asked for (or NULL).
byoc_status_t byoc_plan_record_precision(byoc_plan_t *plan, size_t block, uint32_t region, const char *precision,
                                         const char *lapse, byoc_diag_t *diag);
// Sorts the regions by their first nodes, once all rounds are over.
void byoc_plan_record_finish(byoc_plan_t *plan);

// The identity of a block: operators, attributes, types and edges, including those of nested blocks, but no names.
uint64_t byoc_plan_block_hash(const byoc_block_t *block);

#endif // BYOC_CORE_COLLAGE_PLAN_RECORD_H_
