// What operators count on between dimensions that only the run knows becomes part of the graph: byoc::Require nodes in
// front of them (core/ops/symbolic.h), which the host program checks where the dimensions are known. Internal to
// core/kernel.
#ifndef BYOC_CORE_KERNEL_REQUIRE_H_
#define BYOC_CORE_KERNEL_REQUIRE_H_

#include "core/ir/graph.h"

// Has the node an operand or a result that is not static?
bool byoc_node_is_open(const byoc_node_t *node);

// In front of each node of a block, nested ones included, while operators are those of the model: what they count on,
// in their own names. Of calls of extern functions: what the nodes of their retained bodies do. Dimensions that a node
// makes itself are left to byoc_require_rest.
byoc_status_t byoc_require_early(byoc_block_t *block, byoc_diag_t *diag);

// What is required at a place of a function that is about to be lowered, and what is known to hold there.
typedef struct byoc_requirer_t {
  byoc_map_t known; // text map: relation → the block in which it was required
  byoc_diag_t *diag;
  bool (*is_bound)(void *self, byoc_dim_t leaf); // has the symbol a value here?
  void *self;
} byoc_requirer_t;

void byoc_requirer_init(byoc_requirer_t *r, byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_requirer_deinit(byoc_requirer_t *r);
// In front of a node: what it counts on and nobody required before. Dimensions without a value are an error where they
// `must_be_bound`, else what is said of them is left for later. Of a Require node what is new stays; a node without any
// goes.
byoc_status_t byoc_require_rest(byoc_requirer_t *r, byoc_node_t *node, bool must_be_bound);

#endif // BYOC_CORE_KERNEL_REQUIRE_H_
