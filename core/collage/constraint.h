// Which targets may have a node at all, before any rule is asked.
#ifndef BYOC_CORE_COLLAGE_CONSTRAINT_H_
#define BYOC_CORE_COLLAGE_CONSTRAINT_H_

#include "core/ir/graph.h"
#include "core/target/target.h"

// Not a call; not given back by this target once (BYOC_ATTRIBUTE_GIVEN_BACK_BY); and every result whose virtual device
// names a target names this one's kind. The native target is not asked: it stays the last resort.
bool byoc_target_may_take(const byoc_target_t *target, const byoc_node_t *node);

#endif // BYOC_CORE_COLLAGE_CONSTRAINT_H_
