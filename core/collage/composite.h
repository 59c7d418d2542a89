// Composite functions: what a pattern rule's match becomes inside of a region.
#ifndef BYOC_CORE_COLLAGE_COMPOSITE_H_
#define BYOC_CORE_COLLAGE_COMPOSITE_H_

#include "byoc/plugin.h"
#include "core/ir/graph.h"

// Composites nest a level or two; what follows their calls stops here, so that a cycle does not recurse for ever.
enum { BYOC_COMPOSITE_MAX_DEPTH = 16 };

// Leaves in a composite only the constants that its rule's pattern asks for ("@"); the others become parameters, and
// operands of `call`, the only call of it. For a composite just outlined with its constants.
byoc_status_t byoc_composite_lift_constants(byoc_function_t *composite, byoc_node_t *call, const byoc_rule_t *rule,
                                            byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_COMPOSITE_H_
