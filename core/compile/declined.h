// SPDX-License-Identifier: Apache-2.0
// Notes on nodes for the next rounds of placing: which targets declined them, and which are the answer of a target.
#ifndef BYOC_CORE_COMPILE_DECLINED_H_
#define BYOC_CORE_COMPILE_DECLINED_H_

#include "core/ir/graph.h"
#include "core/targets/target.h"

// Functions that the block calls are walked, too. False if out of memory.

// The target, one of `target_count`, is not asked again about these nodes of the block; NULL: about any.
bool byoc_mark_declined(byoc_block_t *block, byoc_node_t *const *nodes, size_t node_count, const byoc_target_t *target,
                        size_t target_count, byoc_allocator_t allocator);
// What a backend hands back is its answer: no target is asked about these nodes in a later round.
bool byoc_mark_answered(byoc_block_t *block);
void byoc_forget_answered(byoc_graph_module_t *module);

#endif // BYOC_CORE_COMPILE_DECLINED_H_
