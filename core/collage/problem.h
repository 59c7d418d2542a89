// SPDX-License-Identifier: Apache-2.0
// Problems of partitioning: the blocks of a module without regions yet, each with its candidates and its choice.
//
// Example:
//   byoc_problems_t problems;
//   BYOC_RETURN_IF_ERROR(byoc_problems_find(module, allocator, diag, &problems));
//   for (size_t i = 0; i < problems.items.count; ++i) choose(&problems.items.data[i]); // its candidates and its choice
//   BYOC_RETURN_IF_ERROR(byoc_problems_apply(&problems, targets, diag, placement));
//   byoc_problems_deinit(&problems);
#ifndef BYOC_CORE_COLLAGE_PROBLEM_H_
#define BYOC_CORE_COLLAGE_PROBLEM_H_

#include "core/collage/greedy.h"
#include "core/collage/place.h"
#include "core/collage/plan_record.h"

typedef struct byoc_problem_t {
  byoc_function_t *function;
  const char *name; // "main", "main/If_3.then_branch"
  uint64_t hash;    // of the block's structure; constants' data does not count
  byoc_dataflow_t flow;
  byoc_candidates_t candidates;
  byoc_choice_t choice; // the candidates to outline; those of the native target stay where they are
  // Only for the plan; optional.
  const byoc_cost_source_t *sources;             // of the candidates' costs, in their order; NULL: not known
  double cost_ns, transition_ns, lower_bound_ns; // of the choice; NaN: not known
  bool is_proven;
  byoc_plan_recorder_t recorder;
} byoc_problem_t;

typedef struct byoc_problems_t {
  byoc_graph_module_t *module;
  byoc_arena_t arena;
  BYOC_VECTOR(byoc_problem_t) items; // nested blocks before those around them
} byoc_problems_t;

// Finds the bodies of graph functions in scope without a Compiler or Composite attribute, and the blocks nested in
// them.
byoc_status_t byoc_problems_find(byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 byoc_problems_t *out_problems);
void byoc_problems_deinit(byoc_problems_t *problems);

// Makes every choice by greedy claims of these targets.
byoc_status_t byoc_problems_choose_greedily(byoc_problems_t *problems, const byoc_target_t *const *targets,
                                            size_t target_count, byoc_diag_t *diag);

// Adds the refusals because of element types (element_types.h), for the plan. is_greedy: greedy placement chose.
byoc_status_t byoc_problems_refuse_types(byoc_problems_t *problems, const byoc_target_list_t *targets, bool is_greedy,
                                         byoc_diag_t *diag);

// Makes one function of equal regions of the functions in scope, in the placement too.
byoc_status_t byoc_problems_merge_regions(byoc_graph_module_t *module, byoc_placement_t *placement, byoc_diag_t *diag);

// Outlines the chosen candidates, block by block, in the order of first nodes; equal regions become one function. The
// decisions go into the placement and its plan. Afterwards the problems are stale.
byoc_status_t byoc_problems_apply(byoc_problems_t *problems, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                  byoc_placement_t *placement);

#endif // BYOC_CORE_COLLAGE_PROBLEM_H_
