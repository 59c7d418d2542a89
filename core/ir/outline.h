// SPDX-License-Identifier: Apache-2.0
// Outlining and inlining: nodes of a block become a function and a call of it, and back.
#ifndef BYOC_CORE_IR_OUTLINE_H_
#define BYOC_CORE_IR_OUTLINE_H_

#include "core/ir/graph.h"

enum {
  BYOC_OUTLINE_PASS_CONSTANTS = 1, // constants become parameters instead of staying in the body
};

// Moves `nodes` (of one block, convex) into a new function called `name` (made unique and a C identifier). A value used
// several times becomes one parameter, a value used outside becomes one result. The call is put where the last of the
// nodes was; nodes that depend on it are moved after it. BYOC_INVALID_DATA if the nodes are not convex.
byoc_status_t byoc_outline_nodes(byoc_node_t *const *nodes, size_t node_count, const char *name, unsigned flags,
                                 byoc_diag_t *diag, byoc_function_t **out_function, byoc_node_t **out_call);
// Makes the same function, but leaves the nodes in place, to try outlining. The body's nodes are in the order of
// `nodes`.
byoc_status_t byoc_outline_copy(byoc_node_t *const *nodes, size_t node_count, const char *name, unsigned flags,
                                byoc_diag_t *diag, byoc_function_t **out_function);

// Turns a node with one nested block (byoc::Function, a function written inline) into a call of a function called
// `name` (made unique and a C identifier) with that body. The operands become the arguments for the block's parameters;
// the node's attributes become the function's. BYOC_INVALID_DATA if the body uses a value of the surrounding blocks.
byoc_status_t byoc_outline_block(byoc_node_t *node, const char *name, byoc_diag_t *diag,
                                 byoc_function_t **out_function);

// Replaces the call by a copy of the callee's body. The callee stays.
byoc_status_t byoc_inline_call(byoc_node_t *call, byoc_diag_t *diag);

// Inlines every call (in nested blocks, too) of functions for which `wants` returns true, and erases those functions
// that have no calls left.
byoc_status_t byoc_inline_functions(byoc_graph_module_t *module, bool (*wants)(void *self, const byoc_function_t *),
                                    void *self, byoc_diag_t *diag, size_t *out_count);

// Erases the functions for which `wants` returns true and that nothing calls; main stays.
byoc_status_t byoc_erase_uncalled_functions(byoc_graph_module_t *module,
                                            bool (*wants)(void *self, const byoc_function_t *), void *self,
                                            byoc_diag_t *diag);

// Merges equal functions (structural equality, and equal attributes except global_symbol) into the first: calls of the
// others go to it, and the others are erased. Looks only at functions for which `wants` returns true. `merged` (may be
// NULL) is called with each pair before the second one is erased.
byoc_status_t byoc_merge_equal_functions(byoc_graph_module_t *module,
                                         bool (*wants)(void *self, const byoc_function_t *function),
                                         void (*merged)(void *self, byoc_function_t *kept, byoc_function_t *erased),
                                         void *self, byoc_diag_t *diag, size_t *out_count);

// The node of `block` that is or contains `node`; NULL if `node` is elsewhere.
byoc_node_t *byoc_node_in_block(byoc_node_t *node, const byoc_block_t *block);

#endif // BYOC_CORE_IR_OUTLINE_H_
