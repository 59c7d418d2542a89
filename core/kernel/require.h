// SPDX-License-Identifier: Apache-2.0
// Operators rely on relations between dimensions that are known only at run time. Such a relation becomes a
// byoc::Require node in front of the operator (core/ops/byoc/symbolic.h), which the host program checks at run time. A
// limit of elements becomes a byoc::CheckRange node.
#ifndef BYOC_CORE_KERNEL_REQUIRE_H_
#define BYOC_CORE_KERNEL_REQUIRE_H_

#include "core/ir/graph.h"
#include "core/op/relation.h"

// Does the node have an operand or a result that is not static?
bool byoc_node_is_open(const byoc_node_t *node);

// Adds Requires and CheckRanges in front of each node of a block, nested ones included, for the relations that the node
// relies on. It runs while operators are still those of the model, so that messages use their names. A call of an
// extern function relies on the relations of the nodes in its retained body. Elements that the body makes itself are
// computed a second time for their check, if that takes a few light operators; otherwise the backend checks them.
// Dimensions that a node makes itself are left to byoc_require_rest. A CheckRange that a pass left and whose elements
// are constants is decided here.
byoc_status_t byoc_require_early(byoc_block_t *block, byoc_diag_t *diag);

// Where limits are known to hold: text map of a value and a limit → the block in which it was checked.
typedef byoc_map_t byoc_limits_known_t;

// Adds CheckRanges in front of a node for its `relations`, which are about `node`. With `known`, which may be NULL,
// each is added once where it is known to hold from then on.
byoc_status_t byoc_require_limits(byoc_node_t *node, const byoc_relations_t *relations, byoc_limits_known_t *known,
                                  byoc_diag_t *diag);
// The same in front of `place` for a node in the body of the last of `calls`, the first of which is `place`.
byoc_status_t byoc_require_limits_of_body(byoc_node_t *place, const byoc_node_t *const *calls, size_t depth,
                                          const byoc_node_t *node, const byoc_relations_t *relations,
                                          byoc_limits_known_t *known, byoc_diag_t *diag);
// The dimension of the call's operands that stands for a symbol of its callee's parameters; false if there is none.
bool byoc_call_gives_dim(const byoc_node_t *call, byoc_dim_t leaf, byoc_dim_t *out);
// Is `outer` the block itself or one around it?
bool byoc_block_is_within(const byoc_block_t *block, const byoc_block_t *outer);

// Gives the Requires that passes left in a block, nested ones included, the dimensions that their operands have now,
// and drops these operands. Types do not change any more.
byoc_status_t byoc_require_settled(byoc_block_t *block, byoc_diag_t *diag);

// The relations that a function to be lowered requires, and those that are known to hold at a point of it.
typedef struct byoc_requirer_t {
  byoc_map_t known; // text map: relation → the block in which it was required
  byoc_diag_t *diag;
  bool (*is_bound)(void *self, byoc_dim_t leaf); // has the symbol a value here?
  void *self;
} byoc_requirer_t;

void byoc_requirer_init(byoc_requirer_t *r, byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_requirer_deinit(byoc_requirer_t *r);
// Adds the relations of a node that were not required before, in front of it. Dimensions without a value are an error
// with `must_be_bound`; otherwise their relations are left for later. A Require node keeps its new relations; one
// without new ones is erased.
byoc_status_t byoc_require_rest(byoc_requirer_t *r, byoc_node_t *node, bool must_be_bound);

#endif // BYOC_CORE_KERNEL_REQUIRE_H_
