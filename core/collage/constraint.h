// Which targets may have a node at all, before any rule is asked.
#ifndef BYOC_CORE_COLLAGE_CONSTRAINT_H_
#define BYOC_CORE_COLLAGE_CONSTRAINT_H_

#include "core/collage/place.h"
#include "core/ir/graph.h"
#include "core/target/target.h"

// Not a call; not given back by this target once (BYOC_ATTRIBUTE_GIVEN_BACK_BY); and every result whose virtual device
// names a target names this one's kind. The native target is not asked: it stays the last resort.
bool byoc_target_may_take(const byoc_target_t *target, const byoc_node_t *node);

// The target that a result of the node is bound to by its virtual device; NULL: none.
const char *byoc_node_bound_to(const byoc_node_t *node);

// Each node that is still to be placed is bound to no target or to one of these, else BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_targets_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                       byoc_diag_t *diag);
// No node that was left to the native target is bound to another one, else BYOC_UNSUPPORTED with the reason. Of later
// rounds only nodes that were given back count: others stand where their backend put them.
byoc_status_t byoc_placement_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                         const byoc_placement_t *placement, bool is_first_round, byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_CONSTRAINT_H_
