// SPDX-License-Identifier: Apache-2.0
// Writes operators as simpler ones (byoc_op_t.expand).
#ifndef BYOC_CORE_OP_EXPAND_H_
#define BYOC_CORE_OP_EXPAND_H_

#include "core/op/op.h"

// Inserts simpler operators before the node, and replaces its results by theirs; the caller erases the node. A value
// that replaces a result keeps the constant dimensions that were declared for it. *out_expanded is false if the
// operator has no expansion, or none for these operands: their ranks must be known.
byoc_status_t byoc_op_expand(byoc_node_t *node, byoc_diag_t *diag, bool *out_expanded);

#endif // BYOC_CORE_OP_EXPAND_H_
