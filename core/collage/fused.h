// SPDX-License-Identifier: Apache-2.0
// Asks the rules of a build about operators that stand for several others (byoc_node_is_fused), before partitioning.
#ifndef BYOC_CORE_COLLAGE_FUSED_H_
#define BYOC_CORE_COLLAGE_FUSED_H_

#include "core/base/map.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// Adds to `refused` (a pointer map, which is initialised) those fused nodes of open functions that are in no region
// that a rule of the build matches and its hook accepts.
byoc_status_t byoc_fused_find_refused(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                      byoc_map_t *refused);

#endif // BYOC_CORE_COLLAGE_FUSED_H_
