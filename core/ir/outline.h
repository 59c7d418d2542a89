// Outlining and inlining: nodes of a block become a function and a call of it, and back.
#ifndef BYOC_CORE_IR_OUTLINE_H_
#define BYOC_CORE_IR_OUTLINE_H_

#include "core/ir/graph.h"

enum {
  BYOC_OUTLINE_PASS_CONSTANTS = 1, // constants become parameters instead of being bound into the body
};

// Moves `nodes` (of one block, convex) into a new function called `name` (made unique and a C identifier). A value used
// several times becomes one parameter, a value used outside becomes one result. The call stands where the last of the
// nodes stood; nodes that depend on it are moved behind it. BYOC_INVALID_DATA where the nodes are not convex.
byoc_status_t byoc_outline_nodes(byoc_node_t *const *nodes, size_t node_count, const char *name, unsigned flags,
                                 byoc_diag_t *diag, byoc_function_t **out_function, byoc_node_t **out_call);
// The same function, beside nodes that stay where they are: for a look at what outlining would give. The body's nodes
// stand in the order of `nodes`.
byoc_status_t byoc_outline_copy(byoc_node_t *const *nodes, size_t node_count, const char *name, unsigned flags,
                                byoc_diag_t *diag, byoc_function_t **out_function);

// Turns a node with one nested block (byoc::Function, a function that stands inline) into a call of a function called
// `name` (made unique and a C identifier) with that body: operands are what the block's parameters stand for, the
// node's attributes become the function's. BYOC_INVALID_DATA where the body uses a value of the blocks around it.
byoc_status_t byoc_outline_block(byoc_node_t *node, const char *name, byoc_diag_t *diag,
                                 byoc_function_t **out_function);

// Puts a copy of the callee's body in place of the call. The callee stays.
byoc_status_t byoc_inline_call(byoc_node_t *call, byoc_diag_t *diag);

// Inlines every call (nested blocks included) of functions that `wants` says yes to, and erases those of them that
// nothing calls any more.
byoc_status_t byoc_inline_functions(byoc_graph_module_t *module, bool (*wants)(void *self, const byoc_function_t *),
                                    void *self, byoc_diag_t *diag, size_t *out_count);

// Erases the functions that `wants` says yes to and that nothing calls; main stays.
byoc_status_t byoc_erase_uncalled_functions(byoc_graph_module_t *module,
                                            bool (*wants)(void *self, const byoc_function_t *), void *self,
                                            byoc_diag_t *diag);

// Functions that compute the same (structural equality; attributes but global_symbol equal) become one, the first:
// calls of the others go to it, and they are erased. Looks at those that `wants` says yes to. `merged` (may be NULL) is
// told of each pair before the second one goes.
byoc_status_t byoc_merge_equal_functions(byoc_graph_module_t *module,
                                         bool (*wants)(void *self, const byoc_function_t *function),
                                         void (*merged)(void *self, byoc_function_t *kept, byoc_function_t *erased),
                                         void *self, byoc_diag_t *diag, size_t *out_count);

// The node of `block` that holds `node` (itself, or the one whose nested block it is in); NULL where it is elsewhere.
byoc_node_t *byoc_node_in_block(byoc_node_t *node, const byoc_block_t *block);

#endif // BYOC_CORE_IR_OUTLINE_H_
