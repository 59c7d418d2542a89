// SPDX-License-Identifier: Apache-2.0
// Walks and replacements for passes that rewrite nodes. Internal to core/pass.
#ifndef BYOC_CORE_PASS_REWRITE_H_
#define BYOC_CORE_PASS_REWRITE_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

// The function that a pass calls for each node; `self` comes from the caller of the walk.
typedef byoc_status_t (*byoc_pass_visitor_t)(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes);
// Shows each node of the block to `visit`, from the first to the last; the nodes of nested blocks come before the node
// that has them. `visit` may erase the node that it is shown, and nodes in front of it.
byoc_status_t byoc_pass_visit_block(byoc_block_t *block, byoc_pass_visitor_t visit, void *self, byoc_diag_t *diag,
                                    size_t *changes);
// The same from the last to the first: `visit` may erase nodes behind the one that it is shown.
byoc_status_t byoc_pass_visit_block_backwards(byoc_block_t *block, byoc_pass_visitor_t visit, void *self,
                                              byoc_diag_t *diag, size_t *changes);
// byoc_pass_visit_block for the body of each function.
byoc_status_t byoc_pass_visit_module(byoc_graph_module_t *module, byoc_pass_visitor_t visit, void *self,
                                     byoc_diag_t *diag, size_t *changes);

// Replaces the node's first result by `by` for all readers and removes the node, whose other results are unused; this
// counts as one change. A value that was made for this takes the result's name; one that has a name keeps it. NULL for
// `by` means that it could not be made: `diag` says why, or memory ran out.
byoc_status_t byoc_pass_replace(byoc_node_t *node, byoc_value_t *by, byoc_diag_t *diag, size_t *changes);
// A constant of other sizes with the name, element type and place of `like`, for the caller to fill; NULL if out of
// memory.
byoc_value_t *byoc_pass_constant_like(const byoc_node_t *node, const byoc_value_t *like, int32_t rank,
                                      const int64_t *sizes, void **out_data);
// True if no node reads the node's results and it has no other effect.
bool byoc_pass_is_unused(const byoc_node_t *node);

// For a node with the trait LIMITS that was written as the nodes from `first` on, which stand in front of it: its own
// limits are checked there, by its name, and theirs are not.
byoc_status_t byoc_pass_keep_limits(byoc_node_t *node, byoc_node_t *first, byoc_diag_t *diag);

#endif // BYOC_CORE_PASS_REWRITE_H_
