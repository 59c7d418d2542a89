// SPDX-License-Identifier: Apache-2.0
// Operators that stand for several others, and when they are replaced by those.
#ifndef BYOC_CORE_PASS_WRITE_OUT_H_
#define BYOC_CORE_PASS_WRITE_OUT_H_

#include "core/ir/graph.h"
#include "core/targets/target.h"

// Does the node stand for several operators of ai.onnx, so that it is written out unless a backend takes it whole? A
// unit (BYOC_OP_UNIT) is no such node, except one whose result is floats.
bool byoc_node_is_fused(const byoc_node_t *node);
// Is it a product of byoc with integers of other than 8 bits, for which a rule of the build names the operator that it
// is written out as, on floats or on bytes? It is written out, too, unless a backend takes it whole.
bool byoc_node_is_open_unit(const byoc_node_t *node, const byoc_target_list_t *targets);
// Does a rule of the build name its operator? False without targets.
bool byoc_node_is_named(const byoc_node_t *node, const byoc_target_list_t *targets);

// Replaces the nodes of the function that `wants` chooses by those of their expansions, until no wanted one is left
// that has one; each counts as a change. Targets that declined a node count as having declined its parts. No pass makes
// units with integers of other than 8 bits any more if one was written out.
byoc_status_t byoc_write_out_where(byoc_function_t *function, bool (*wants)(void *self, const byoc_node_t *node),
                                   void *self, byoc_diag_t *diag, size_t *changes);

#endif // BYOC_CORE_PASS_WRITE_OUT_H_
