// SPDX-License-Identifier: Apache-2.0
// Costs that backends state for a chip that is not there: byoc_backend_t.state_costs and state_target_costs. They
// replace measured and estimated costs (docs/plans.md). They are of one build: no database keeps them.
//
// Example:
//   byoc_stated_costs_t stated;
//   BYOC_RETURN_IF_ERROR(byoc_stated_init(&stated, targets, 1, allocator, diag));
//   if (byoc_stated_answers(&stated, target)) {
//     BYOC_RETURN_IF_ERROR(byoc_stated_ask(&stated, target, functions, count, diag, figures, &why));
//   }
//   byoc_stated_deinit(&stated);
//
// If state_target_costs fails, nothing that its target states is used. If state_costs fails while the first candidates
// get their costs, it is not asked again, and the target's functions are measured or estimated. If it fails later
// (byoc_stated_seal), its earlier figures have been used, and candidates without figures cannot be used.
#ifndef BYOC_CORE_COLLAGE_STATED_H_
#define BYOC_CORE_COLLAGE_STATED_H_

#include "core/base/arena.h"
#include "core/device/cost.h"
#include "core/plugin/costs_hook.h"

typedef struct byoc_stated_target_t {
  bool answers;      // its hook state_costs is asked
  bool has_boundary; // entering and leaving have these costs
  byoc_device_costs_t boundary;
  uint32_t least_operators;
  double least_operations;
  const char *failure; // of a hook, after the seal; NULL: none
} byoc_stated_target_t;

typedef struct byoc_stated_costs_t {
  const byoc_target_list_t *targets;
  int32_t thread_count;
  byoc_arena_t arena;
  byoc_stated_target_t *rows; // by target
  bool is_sealed;
} byoc_stated_costs_t;

// Asks each target for its own costs. The targets must outlive it.
byoc_status_t byoc_stated_init(byoc_stated_costs_t *stated, const byoc_target_list_t *targets, int32_t thread_count,
                               byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_stated_deinit(byoc_stated_costs_t *stated); // accepts one that is all zeros
// From now on figures are in use.
void byoc_stated_seal(byoc_stated_costs_t *stated);

// Does the target state costs of functions? `stated` may be NULL: no target does.
bool byoc_stated_answers(const byoc_stated_costs_t *stated, uint32_t target);
// The target's boundary; NULL: it states none.
const byoc_device_costs_t *byoc_stated_boundary(const byoc_stated_costs_t *stated, uint32_t target);
// Fills a row per function. If the hook fails, the rows state nothing, and *out_failure is the reason if the functions
// cannot be used therefore, else NULL.
byoc_status_t byoc_stated_ask(byoc_stated_costs_t *stated, uint32_t target, byoc_function_t *const *functions,
                              uint32_t count, byoc_diag_t *diag, byoc_stated_figures_t *out_figures,
                              const char **out_failure);
// Does the target state a least size of regions?
bool byoc_stated_has_least(const byoc_stated_costs_t *stated, uint32_t target);
// Finds out why a region is too small for the target; NULL: it is not. In the arena of `stated`.
byoc_status_t byoc_stated_check_size(byoc_stated_costs_t *stated, uint32_t target, uint32_t operators,
                                     double operations, byoc_diag_t *diag, const char **out_reason);

#endif // BYOC_CORE_COLLAGE_STATED_H_
