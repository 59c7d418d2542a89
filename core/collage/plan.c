// SPDX-License-Identifier: Apache-2.0
// Makes and destroys plans, and names the sources of costs.
#include "core/collage/plan.h"

const char *byoc_cost_source_name(byoc_cost_source_t source) {
#define BYOC_COST_SOURCE_TEXT(NAME, text) text,
  static const char *const names[] = {BYOC_COST_SOURCE_LIST(BYOC_COST_SOURCE_TEXT)};
#undef BYOC_COST_SOURCE_TEXT
  return (size_t)source < sizeof(names) / sizeof(names[0]) ? names[source] : "unknown";
}

void byoc_plan_init(byoc_plan_t *plan, byoc_allocator_t allocator) {
  *plan = (byoc_plan_t){.strategy = "", .model = "", .whole_ns = NAN, .whole_mib = NAN};
  byoc_arena_init(&plan->arena, allocator);
}

void byoc_plan_deinit(byoc_plan_t *plan) {
  byoc_allocator_t allocator = plan->arena.allocator;
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    byoc_plan_block_t *block = &plan->blocks.data[b];
    byoc_vector_deinit(&block->nodes, allocator);
    byoc_vector_deinit(&block->candidates, allocator);
    byoc_vector_deinit(&block->regions, allocator);
    byoc_vector_deinit(&block->declines, allocator);
  }
  byoc_vector_deinit(&plan->blocks, allocator);
  byoc_vector_deinit(&plan->targets, allocator);
  byoc_vector_deinit(&plan->budget.curve, plan->arena.allocator);
  byoc_vector_deinit(&plan->alternatives, allocator);
  byoc_arena_deinit(&plan->arena);
}
