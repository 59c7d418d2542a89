// SPDX-License-Identifier: Apache-2.0
// The targets that may claim a node, before any rule is asked.
#ifndef BYOC_CORE_COLLAGE_CONSTRAINT_H_
#define BYOC_CORE_COLLAGE_CONSTRAINT_H_

#include "core/collage/place.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// The DLPack type of the first device on which a target's functions run; kDLCPU: the host.
int32_t byoc_target_device(const byoc_target_t *target);

// True if the node is not a call, was not declined by this target before (BYOC_ATTRIBUTE_DECLINED_BY), was not handed
// back by any (BYOC_ATTRIBUTE_ANSWERED), and each virtual device of its results that names a target or a device names
// this target's. The native target is not asked: it is the last resort.
bool byoc_target_may_take(const byoc_target_t *target, const byoc_node_t *node);

// The target that a result of the node is bound to by its virtual device; NULL: none.
const char *byoc_node_bound_to(const byoc_node_t *node);
// The type of the device on which a target has to make the node, because a result is bound to it; 0: none, or the host.
// Views, copies and control flow need no target.
int32_t byoc_node_bound_device(const byoc_node_t *node);

// Checks that each node still to be placed is bound to no target or to one of these; otherwise BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_targets_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                       byoc_diag_t *diag);
// Checks that no node left to the native target is bound to another one, or to a device; otherwise BYOC_UNSUPPORTED
// with the reason. In later rounds only nodes that were declined are checked: the others belong to their backend.
byoc_status_t byoc_placement_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                         const byoc_placement_t *placement, bool is_first_round, byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_CONSTRAINT_H_
