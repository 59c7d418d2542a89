// SPDX-License-Identifier: Apache-2.0
// Asks a backend for the costs that it states: the hooks state_costs and state_target_costs, each in a child process.
#ifndef BYOC_CORE_PLUGIN_COSTS_HOOK_H_
#define BYOC_CORE_PLUGIN_COSTS_HOOK_H_

#include <math.h>

#include "core/ir/graph.h"
#include "core/targets/target.h"

// The answer about one function.
typedef struct byoc_stated_figures_t {
  double time_ns, moved_bytes, energy_nj; // NaN: not stated
  char declined[121];                     // why the backend declines it; "": it does not
} byoc_stated_figures_t;
#define BYOC_STATED_NOTHING                                                                                            \
  { .time_ns = (double)NAN, .moved_bytes = (double)NAN, .energy_nj = (double)NAN }

// Fills out_figures with a row per function. The target's backend has the hook. Fails with the reason if the hook fails
// or states an impossible figure: BYOC_CANCELLED and BYOC_OUT_OF_MEMORY are about this process, all others about the
// hook.
byoc_status_t byoc_hook_state_costs(const byoc_target_t *target, byoc_function_t *const *functions, uint32_t count,
                                    int32_t thread_count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                    byoc_stated_figures_t *out_figures);
// The same for the costs of the target itself.
byoc_status_t byoc_hook_state_target_costs(const byoc_target_t *target, byoc_diag_t *diag,
                                           byoc_target_costs_t *out_costs);

// The same in this process, for tools that check plugins.
byoc_status_t byoc_hook_state_costs_here(const byoc_target_t *target, byoc_function_t *const *functions, uint32_t count,
                                         int32_t thread_count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                         byoc_stated_figures_t *out_figures);
byoc_status_t byoc_hook_state_target_costs_here(const byoc_target_t *target, byoc_diag_t *diag,
                                                byoc_target_costs_t *out_costs);

#endif // BYOC_CORE_PLUGIN_COSTS_HOOK_H_
