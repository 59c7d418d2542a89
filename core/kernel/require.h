// SPDX-License-Identifier: Apache-2.0
// Operators rely on relations between dimensions that are known only at run time. They become part of the graph as
// byoc::Require nodes in front of the operators (core/ops/symbolic.h), which the host program checks when the
// dimensions are known. Limits of elements become byoc::CheckRange nodes. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_REQUIRE_H_
#define BYOC_CORE_KERNEL_REQUIRE_H_

#include "core/ir/graph.h"

// Does the node have an operand or a result that is not static?
bool byoc_node_is_open(const byoc_node_t *node);

// Adds Requires and CheckRanges in front of each node of a block, nested ones included, for what the node relies on. It
// runs while operators are still those of the model, so that messages use their names. A call of an extern function
// relies on what the nodes of its retained body rely on; elements are for the backend that took it to check. Dimensions
// that a node makes itself are left to byoc_require_rest.
byoc_status_t byoc_require_early(byoc_block_t *block, byoc_diag_t *diag);

// Gives the Requires that passes left in a block, nested ones included, the dimensions that their operands have now,
// and drops these operands. Types do not change any more.
byoc_status_t byoc_require_settled(byoc_block_t *block, byoc_diag_t *diag);

// What is required at a place in a function that is about to be lowered, and what is known to hold there.
typedef struct byoc_requirer_t {
  byoc_map_t known; // text map: relation → the block in which it was required
  byoc_diag_t *diag;
  bool (*is_bound)(void *self, byoc_dim_t leaf); // has the symbol a value here?
  void *self;
} byoc_requirer_t;

void byoc_requirer_init(byoc_requirer_t *r, byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_requirer_deinit(byoc_requirer_t *r);
// Adds, in front of a node, what it relies on and nobody required before. Dimensions without a value are an error with
// `must_be_bound`; otherwise relations about them are left for later. A Require node keeps what is new; one without
// anything new is erased.
byoc_status_t byoc_require_rest(byoc_requirer_t *r, byoc_node_t *node, bool must_be_bound);

#endif // BYOC_CORE_KERNEL_REQUIRE_H_
