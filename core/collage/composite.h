// SPDX-License-Identifier: Apache-2.0
// Composite functions: the matches of pattern rules inside a region.
#ifndef BYOC_CORE_COLLAGE_COMPOSITE_H_
#define BYOC_CORE_COLLAGE_COMPOSITE_H_

#include "byoc/plugin.h"
#include "core/ir/graph.h"

// Composites nest one or two levels deep. Walks over their calls stop at this depth, so that a cycle does not recurse
// forever.
enum { BYOC_COMPOSITE_MAX_DEPTH = 16 };

// Keeps in a composite only the constants that its rule's pattern asks for ("@"). The others become parameters of it
// and operands of `call`, its only call. For a composite that was just outlined with its constants.
byoc_status_t byoc_composite_lift_constants(byoc_function_t *composite, byoc_node_t *call, const byoc_rule_t *rule,
                                            byoc_diag_t *diag);

// Notes on the function of a match that its rule passes constants to it, if the pattern asks for some: `call` is its
// only call (BYOC_ATTRIBUTE_PASSED). The pattern then matches in the function as it did in the model.
byoc_status_t byoc_composite_note_passed(byoc_function_t *function, const byoc_node_t *call, const byoc_rule_t *rule,
                                         byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_COMPOSITE_H_
