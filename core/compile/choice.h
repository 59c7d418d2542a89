// SPDX-License-Identifier: Apache-2.0
// Copies and results for Ifs that a build itself makes: their cases are copies of one model (core/compile/fallback.h,
// core/compile/variants.h). Internal to core/compile.
#ifndef BYOC_CORE_COMPILE_CHOICE_H_
#define BYOC_CORE_COMPILE_CHOICE_H_

#include "core/ir/graph.h"

// Lists the results of the block that a node makes, each once, and returns how many there are; the others stay as they
// are. There is room for all results of the block.
size_t byoc_choice_list_results(const byoc_block_t *block, byoc_value_t **results);
// Makes the results of the choice those of the block, in place of the listed ones. False if out of memory.
bool byoc_choice_replace_results(byoc_block_t *block, byoc_value_t *const *results, const byoc_node_t *choice);
// Copies all nodes and results. `map` translates values as in byoc_node_clone. False if out of memory.
bool byoc_choice_copy(const byoc_block_t *from, byoc_block_t *to, byoc_map_t *map);

#endif // BYOC_CORE_COMPILE_CHOICE_H_
