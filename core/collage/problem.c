// SPDX-License-Identifier: Apache-2.0
// Collects the problems of partitioning, and applies the choices that were made.
#include "core/collage/problem.h"

#include <stdlib.h>

#include "core/collage/element_types.h"
#include "core/collage/outline_regions.h"
#include "core/ir/outline.h"

// ---- finding ----

static byoc_status_t add_block(byoc_problems_t *problems, byoc_function_t *function, byoc_block_t *block,
                               const char *name, byoc_diag_t *diag) {
  uint32_t ordinal = 0;
  BYOC_FOR_EACH_NODE(node, block) {
    if (node->block_count > 0) ++ordinal;
    for (uint32_t b = 0; b < node->block_count; ++b) {
      const char *nested = byoc_plan_nested_name(&problems->arena, name, node, ordinal, b);
      if (nested == NULL) return byoc_diag_out_of_memory(diag);
      BYOC_RETURN_IF_ERROR(add_block(problems, function, node->blocks[b], nested, diag));
    }
  }
  byoc_allocator_t allocator = problems->arena.allocator;
  byoc_problem_t problem = {.function = function,
                            .name = name,
                            .hash = byoc_plan_block_hash(block),
                            .cost_ns = NAN,
                            .transition_ns = NAN,
                            .lower_bound_ns = NAN};
  BYOC_RETURN_IF_ERROR(byoc_dataflow_init(&problem.flow, block, allocator, diag));
  byoc_candidates_init(&problem.candidates, allocator);
  if (byoc_vector_push(&problems->items, allocator, problem)) return BYOC_OK;
  byoc_dataflow_deinit(&problem.flow);
  byoc_candidates_deinit(&problem.candidates);
  return byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_problems_find(byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 byoc_problems_t *out_problems) {
  *out_problems = (byoc_problems_t){.module = module};
  byoc_arena_init(&out_problems->arena, allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t f = 0; f < module->functions.count && status == BYOC_OK; ++f) {
    byoc_function_t *function = module->functions.data[f];
    if (!byoc_function_is_open(function) || !byoc_function_is_in_scope(function)) continue;
    status = add_block(out_problems, function, function->body, function->name, diag);
  }
  if (status != BYOC_OK) byoc_problems_deinit(out_problems);
  return status;
}

void byoc_problems_deinit(byoc_problems_t *problems) {
  byoc_allocator_t allocator = problems->arena.allocator;
  for (size_t i = 0; i < problems->items.count; ++i) {
    byoc_problem_t *problem = &problems->items.data[i];
    byoc_vector_deinit(&problem->choice, allocator);
    byoc_plan_record_end(&problem->recorder);
    byoc_candidates_deinit(&problem->candidates);
    byoc_dataflow_deinit(&problem->flow);
  }
  byoc_vector_deinit(&problems->items, allocator);
  byoc_arena_deinit(&problems->arena);
}

byoc_status_t byoc_problems_choose_greedily(byoc_problems_t *problems, const byoc_target_t *const *targets,
                                            size_t target_count, byoc_diag_t *diag) {
  for (size_t i = 0; i < problems->items.count; ++i) {
    byoc_problem_t *problem = &problems->items.data[i];
    byoc_vector_deinit(&problem->choice, problems->arena.allocator);
    BYOC_RETURN_IF_ERROR_IN(
        diag, byoc_greedy_claim(&problem->flow, targets, target_count, &problem->candidates, diag, &problem->choice),
        "placing '%s'", problem->name);
  }
  return BYOC_OK;
}

byoc_status_t byoc_problems_refuse_types(byoc_problems_t *problems, const byoc_target_list_t *targets, bool is_greedy,
                                         byoc_diag_t *diag) {
  for (size_t i = 0; i < problems->items.count; ++i) {
    byoc_problem_t *problem = &problems->items.data[i];
    BYOC_RETURN_IF_ERROR(byoc_candidates_refuse_types(&problem->candidates, &problem->flow, targets,
                                                      is_greedy ? problem->choice.data : NULL, problem->choice.count,
                                                      diag));
  }
  return BYOC_OK;
}

// ---- outlining ----

typedef struct applier_t {
  byoc_problem_t *problem;
  const byoc_target_list_t *targets;
  byoc_placement_t *placement;
  byoc_diag_t *diag;
} applier_t;

static byoc_status_t record_region(applier_t *a, const byoc_candidate_t *candidate, const char *types,
                                   uint32_t *out_region) {
  byoc_problem_t *problem = a->problem;
  const char *rule = candidate->rule;
  if (candidate->part_count > 1) {
    rule = byoc_arena_format(&problem->candidates.arena, "%s and %u more", rule, candidate->part_count - 1);
  }
  if (rule == NULL) return byoc_diag_out_of_memory(a->diag);
  const byoc_plan_region_t row = {.target = candidate->target,
                                  .candidate = problem->sources ? candidate->index : UINT32_MAX,
                                  .rule = rule,
                                  .types = types,
                                  .cost_ns = candidate->cost_ns,
                                  .moved_bytes = candidate->moved_bytes,
                                  .energy_nj = candidate->energy_nj,
                                  .error = sqrt(candidate->error),
                                  .source =
                                      problem->sources ? problem->sources[candidate->index] : BYOC_COST_SOURCE_NONE};
  return byoc_plan_record_region(&problem->recorder, &row, candidate->nodes.items, candidate->nodes.count, a->diag,
                                 out_region);
}

static const char *types_of(byoc_problem_t *problem, const byoc_candidate_t *candidate) {
  byoc_string_t text;
  byoc_string_init(&text, problem->candidates.arena.allocator);
  byoc_region_types(&problem->flow, &candidate->nodes, &text);
  const char *copy = text.failed ? NULL : byoc_arena_copy_string(&problem->candidates.arena, text.data);
  byoc_string_deinit(&text);
  return copy;
}

static byoc_status_t outline_one(applier_t *a, const byoc_candidate_t *candidate) {
  const byoc_target_t *target = a->targets->targets.data[candidate->target];
  byoc_arena_t *arena = &a->placement->arena;
  byoc_placement_region_t region = {
      .target = target, .node_count = candidate->nodes.count, .plan_block = a->problem->recorder.block};
  char *name = byoc_arena_format(arena, "%s_%zu", target->kind->name, a->placement->regions.count);
  const char *types = types_of(a->problem, candidate); // before its nodes move
  if (name == NULL || types == NULL) return byoc_diag_out_of_memory(a->diag);
  byoc_node_t *call = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_outline_candidate(a->problem->flow.nodes, candidate, target, name, a->diag, &region.function, &call));
  BYOC_RETURN_IF_ERROR(record_region(a, candidate, types, &region.plan_region));
  return byoc_vector_push(&a->placement->regions, arena->allocator, region) ? BYOC_OK
                                                                            : byoc_diag_out_of_memory(a->diag);
}

static byoc_status_t note_declines(applier_t *a) {
  byoc_arena_t *arena = &a->placement->arena;
  for (size_t i = 0; i < a->problem->candidates.refusals.count; ++i) {
    const byoc_refusal_t *refusal = &a->problem->candidates.refusals.data[i];
    const byoc_node_t *node = a->problem->flow.nodes[refusal->nodes.items[refusal->nodes.count - 1]];
    char description[160];
    byoc_node_describe(node, description, sizeof(description));
    byoc_decline_t decline = {.node = node,
                              .node_text = byoc_arena_copy_string(arena, description),
                              .target = a->targets->targets.data[refusal->target],
                              .rule = byoc_arena_copy_string(arena, refusal->rule),
                              .reason = byoc_arena_copy_string(arena, refusal->reason)};
    if (decline.node_text == NULL || decline.rule == NULL || decline.reason == NULL ||
        !byoc_vector_push(&a->placement->declines, arena->allocator, decline)) {
      return byoc_diag_out_of_memory(a->diag);
    }
    BYOC_RETURN_IF_ERROR(byoc_plan_record_decline(&a->problem->recorder, refusal->target, refusal->rule,
                                                  refusal->reason, refusal->nodes.items, refusal->nodes.count,
                                                  a->diag));
  }
  return BYOC_OK;
}

static byoc_status_t apply_one(applier_t *a) {
  byoc_problem_t *problem = a->problem;
  const byoc_dataflow_t *flow = &problem->flow;
  BYOC_RETURN_IF_ERROR(note_declines(a));
  const byoc_candidate_t **first = // of each node: the region that begins there
      byoc_allocate(problem->candidates.arena.allocator, flow->node_count, sizeof(*first));
  if (first == NULL) return byoc_diag_out_of_memory(a->diag);
  size_t claimed = 0, open = 0;
  for (size_t i = 0; i < problem->choice.count; ++i) {
    const byoc_candidate_t *candidate = problem->candidates.items.data[problem->choice.data[i]];
    if (a->targets->targets.data[candidate->target]->kind->backend == NULL) continue;
    first[candidate->nodes.items[0]] = candidate;
    claimed += candidate->nodes.count;
  }
  for (uint32_t n = 0; n < flow->node_count; ++n) open += flow->nodes[n]->callee == NULL;
  a->placement->left_over_count += open - claimed;
  byoc_status_t status = BYOC_OK;
  for (uint32_t n = 0; n < flow->node_count && status == BYOC_OK; ++n) {
    if (first[n] != NULL) status = outline_one(a, first[n]);
  }
  byoc_free(problem->candidates.arena.allocator, first);
  return status;
}

static bool is_region(void *self, const byoc_function_t *function) {
  (void)self;
  return byoc_function_is_region(function);
}

static void follow_merge(void *self, byoc_function_t *kept, byoc_function_t *erased) {
  byoc_placement_t *placement = self;
  for (size_t r = 0; r < placement->regions.count; ++r) {
    if (placement->regions.data[r].function == erased) placement->regions.data[r].function = kept;
  }
}

byoc_status_t byoc_problems_merge_regions(byoc_graph_module_t *module, byoc_placement_t *placement, byoc_diag_t *diag) {
  size_t merged = 0; // equal regions are compiled once
  return byoc_merge_equal_functions(module, is_region, follow_merge, placement, diag, &merged);
}

// ---- the plan ----

// Adds the candidates with their costs. They are known in the first round only, when the plan's numbers are the
// block's.
static byoc_status_t record_candidates(const byoc_problem_t *problem, byoc_plan_t *plan, byoc_diag_t *diag) {
  byoc_plan_block_t *block = &plan->blocks.data[problem->recorder.block];
  block->cost_ns = problem->cost_ns;
  block->transition_ns = problem->transition_ns;
  block->lower_bound_ns = problem->lower_bound_ns;
  block->is_proven = problem->is_proven;
  for (size_t i = 0; i < problem->candidates.items.count; ++i) {
    const byoc_candidate_t *candidate = problem->candidates.items.data[i];
    size_t size = candidate->nodes.count * sizeof(uint32_t);
    byoc_plan_candidate_t row = {.target = candidate->target,
                                 .rule = byoc_arena_copy_string(&plan->arena, candidate->rule),
                                 .nodes = byoc_arena_copy(&plan->arena, candidate->nodes.items, size),
                                 .node_count = candidate->nodes.count,
                                 .cost_ns = candidate->cost_ns,
                                 .is_fallback = candidate->is_fallback,
                                 .moved_bytes = candidate->moved_bytes,
                                 .energy_nj = candidate->energy_nj,
                                 .error = sqrt(candidate->error),
                                 .source = problem->sources[i]};
    if (candidate->reason != NULL) row.reason = byoc_arena_copy_string(&plan->arena, candidate->reason);
    if (row.rule == NULL || row.nodes == NULL || (candidate->reason != NULL && row.reason == NULL) ||
        !byoc_vector_push(&block->candidates, plan->arena.allocator, row)) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  for (size_t i = 0; i < problem->choice.count; ++i) {
    block->candidates.data[problem->choice.data[i]].is_chosen = true;
  }
  return BYOC_OK;
}

static byoc_status_t record(byoc_problems_t *problems, byoc_plan_t *plan, byoc_diag_t *diag) {
  size_t known = plan->blocks.count;
  for (size_t i = problems->items.count; i-- > 0;) { // a block before those nested in it
    byoc_problem_t *problem = &problems->items.data[i];
    BYOC_RETURN_IF_ERROR(byoc_plan_record_begin(plan, problem->name, problem->flow.block, diag, &problem->recorder));
    bool is_new = problem->recorder.block >= known;
    if (is_new && problem->sources != NULL) BYOC_RETURN_IF_ERROR(record_candidates(problem, plan, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_problems_apply(byoc_problems_t *problems, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                  byoc_placement_t *placement) {
  if (placement->plan != NULL) BYOC_RETURN_IF_ERROR(record(problems, placement->plan, diag));
  placement->left_over_count = 0;
  for (size_t i = 0; i < problems->items.count; ++i) {
    applier_t a = {.problem = &problems->items.data[i], .targets = targets, .placement = placement, .diag = diag};
    BYOC_RETURN_IF_ERROR_IN(diag, apply_one(&a), "placing '%s'", a.problem->name);
  }
  return byoc_problems_merge_regions(problems->module, placement, diag);
}
