// Which targets may have a node at all, before any rule is asked.
#ifndef BYOC_CORE_COLLAGE_CONSTRAINT_H_
#define BYOC_CORE_COLLAGE_CONSTRAINT_H_

#include "core/collage/place.h"
#include "core/ir/graph.h"
#include "core/target/target.h"

// True if the node is not a call, was not given back by this target before (BYOC_ATTRIBUTE_GIVEN_BACK_BY), and each of
// its results whose virtual device names a target names this target's kind. The native target is not asked: it is the
// last resort.
bool byoc_target_may_take(const byoc_target_t *target, const byoc_node_t *node);

// The target that a result of the node is bound to by its virtual device; NULL: none.
const char *byoc_node_bound_to(const byoc_node_t *node);

// Checks that each node still to be placed is bound to no target or to one of these; otherwise BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_targets_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                       byoc_diag_t *diag);
// Checks that no node left to the native target is bound to another one; otherwise BYOC_UNSUPPORTED with the reason. In
// later rounds only nodes that were given back are checked: others were placed by their backend.
byoc_status_t byoc_placement_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                         const byoc_placement_t *placement, bool is_first_round, byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_CONSTRAINT_H_
