// SPDX-License-Identifier: Apache-2.0
// The operators of each target, counted after partitioning. Internal to core/compile.
#ifndef BYOC_CORE_COMPILE_PLACED_H_
#define BYOC_CORE_COMPILE_PLACED_H_

#include "core/collage/place.h"

typedef struct byoc_placed_t {
  size_t operator_count; // of the program; counted in the first round
  size_t region_count;   // regions of the placement that are counted
} byoc_placed_t;

// Counts the operators of the regions that this round made, and those that no backend claimed. In the first round,
// functions that were marked for a backend before this build become regions of the placement too. A change of layout is
// no operator of the model and does not count.
byoc_status_t byoc_placed_count(byoc_placed_t *placed, byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                bool is_first_round, byoc_diag_t *diag, byoc_placement_t *placement);

// The operators that are in no region.
size_t byoc_placed_count_open(const byoc_graph_module_t *module);

#endif // BYOC_CORE_COMPILE_PLACED_H_
