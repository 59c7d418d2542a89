// SPDX-License-Identifier: Apache-2.0
// Lists that an operator takes for a missing attribute, where they depend on the node's types.
#ifndef BYOC_CORE_OP_IMPLIED_H_
#define BYOC_CORE_OP_IMPLIED_H_

#include "core/ir/graph.h"

// Writes the list into `out`, of 2 * BYOC_MAX_RANK integers, and returns its length: `perm` of Transpose, and
// `strides`, `dilations`, `pads`, `output_padding` and `kernel_shape` of convolutions and pools. 0 if the operator
// implies none, or if it depends on more than types.
size_t byoc_node_implied_ints(const byoc_node_t *node, const char *name, int64_t *out);

#endif // BYOC_CORE_OP_IMPLIED_H_
