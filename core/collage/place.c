// SPDX-License-Identifier: Apache-2.0
// Partitions greedily: one target after the other claims the matches of its rules, and the claims are outlined.
#include "core/collage/place.h"

#include "core/collage/problem.h"

void byoc_placement_init(byoc_placement_t *placement, byoc_allocator_t allocator) {
  *placement = (byoc_placement_t){0};
  byoc_arena_init(&placement->arena, allocator);
}

void byoc_placement_deinit(byoc_placement_t *placement) {
  byoc_vector_deinit(&placement->regions, placement->arena.allocator);
  byoc_vector_deinit(&placement->declines, placement->arena.allocator);
  byoc_arena_deinit(&placement->arena);
}

byoc_status_t byoc_place_greedy(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                byoc_placement_t *placement) {
  byoc_problems_t problems;
  BYOC_RETURN_IF_ERROR(byoc_problems_find(module, module->allocator, diag, &problems));
  byoc_status_t status = byoc_problems_choose_greedily(&problems, (const byoc_target_t *const *)targets->targets.data,
                                                       targets->targets.count, diag);
  if (status == BYOC_OK && placement->plan != NULL) status = byoc_problems_refuse_types(&problems, targets, true, diag);
  if (status == BYOC_OK) status = byoc_problems_apply(&problems, targets, diag, placement);
  byoc_problems_deinit(&problems);
  return status;
}
