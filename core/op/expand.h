// SPDX-License-Identifier: Apache-2.0
// Writes operators as simpler ones (byoc_op_t.expand).
#ifndef BYOC_CORE_OP_EXPAND_H_
#define BYOC_CORE_OP_EXPAND_H_

#include "core/op/op.h"

// Puts simpler operators in front of the node and in the place of its results, which nothing uses afterwards; the
// caller erases the node. What replaces a result keeps the constant dimensions that were declared for it. *out_expanded
// is false if the operator is no such one, or has no such form for these operands: their ranks must be known.
byoc_status_t byoc_op_expand(byoc_node_t *node, byoc_diag_t *diag, bool *out_expanded);

#endif // BYOC_CORE_OP_EXPAND_H_
