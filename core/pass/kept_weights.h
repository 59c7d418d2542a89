// SPDX-License-Identifier: Apache-2.0
// Constants of integers that stay as they are until the rules were asked, because a rule of the build reads them.
#ifndef BYOC_CORE_PASS_KEPT_WEIGHTS_H_
#define BYOC_CORE_PASS_KEPT_WEIGHTS_H_

#include "core/ir/graph.h"
#include "core/targets/target.h"

// The element types of constants that a pattern names below DequantizeLinear, as in DequantizeLinear(@w<i8|i4>, ...): a
// bit for each. `targets` may be NULL.
uint64_t byoc_kept_weights(const byoc_target_list_t *targets);

// Is the node a DequantizeLinear of a constant of one of these types, which fold-dequantised leaves as it is?
bool byoc_node_is_kept_weight(const byoc_node_t *node, uint64_t kept);

#endif // BYOC_CORE_PASS_KEPT_WEIGHTS_H_
