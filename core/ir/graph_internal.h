// SPDX-License-Identifier: Apache-2.0
// Functions that the builders of the graph share. Internal to core/ir.
#ifndef BYOC_CORE_IR_GRAPH_INTERNAL_H_
#define BYOC_CORE_IR_GRAPH_INTERNAL_H_

#include "core/ir/graph.h"

// Adds or drops one entry of a value's use list; both accept a NULL value.
bool byoc_ir_use_add(byoc_value_t *value, byoc_use_t use);
void byoc_ir_use_drop(byoc_value_t *value, byoc_use_t use);
// A value of unknown type and free device.
byoc_value_t *byoc_ir_value_create(byoc_function_t *function, byoc_value_kind_t kind, uint32_t index);
byoc_block_t *byoc_ir_block_create(byoc_function_t *function, byoc_node_t *owner);
// A call with a given number of results: the callee's body may still be missing.
byoc_node_t *byoc_ir_node_create_call(byoc_block_t *block, byoc_node_t *before, byoc_function_t *callee,
                                      byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count);
// Takes a node out of its block and drops the uses that it and its nested blocks hold; its results may have uses.
void byoc_ir_node_discard(byoc_node_t *node);

#endif // BYOC_CORE_IR_GRAPH_INTERNAL_H_
