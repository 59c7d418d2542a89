// SPDX-License-Identifier: Apache-2.0
// byoc::CallC nodes: a call of a C function as an operator of the graph. The call's data (byoc_c_call_t) is kept in the
// node's attributes, so that it prints, parses and compares like everything else.
//
//   symbol (string), return_type, repeat_count, result_from_operand (ints), arguments (six ints each: kind, type,
//   index, integer, offset_bytes, step_bytes), reals (one float each)
#ifndef BYOC_CORE_MODULE_C_CALL_H_
#define BYOC_CORE_MODULE_C_CALL_H_

#include "byoc/plugin.h"
#include "core/base/arena.h"
#include "core/ir/graph.h"

// Refuses unknown kinds and types, indices beyond the counts, a missing symbol, fewer than one repetition.
byoc_status_t byoc_c_call_verify(const byoc_c_call_t *call, uint32_t operand_count, uint32_t result_count,
                                 byoc_diag_t *diag);
byoc_status_t byoc_c_call_to_attributes(const byoc_c_call_t *call, byoc_attributes_t *attributes, byoc_diag_t *diag);
// Reads the call back into `arena`, verified against the node's operands and results.
byoc_status_t byoc_c_call_from_node(const byoc_node_t *node, byoc_arena_t *arena, byoc_diag_t *diag,
                                    byoc_c_call_t **out_call);

#endif // BYOC_CORE_MODULE_C_CALL_H_
