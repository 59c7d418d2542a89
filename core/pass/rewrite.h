// What passes that rewrite nodes share. Internal to core/pass.
#ifndef BYOC_CORE_PASS_REWRITE_H_
#define BYOC_CORE_PASS_REWRITE_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

// Whoever reads the node's first result reads `by` from here on, and the node, whose other results are unused, goes:
// one change. A value made for the purpose takes the result's name; one that has a name keeps it. NULL for `by` stands
// for what could not be made: `diag` says why, or memory was out.
byoc_status_t byoc_pass_replace(byoc_node_t *node, byoc_value_t *by, byoc_diag_t *diag, size_t *changes);
// Nobody reads the node's results, and it does nothing else.
bool byoc_pass_is_unused(const byoc_node_t *node);

#endif // BYOC_CORE_PASS_REWRITE_H_
