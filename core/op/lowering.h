// SPDX-License-Identifier: Apache-2.0
// The interface of operators' definitions: a context for the kernel that is being built. A definition loads elements of
// operands and stores elements of results. It does not know which operators are fused with it.
//
// Example:
//   static const byoc_loop_expr_t *point_neg(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
//                                            const byoc_loop_expr_t *const *indices) {
//     return byoc_loop_unary(byoc_lower_builder(lower), BYOC_LOOP_OP_NEG, byoc_lower_load(lower, node, 0, indices));
//   }
//
// The native target (core/kernel) makes the contexts and chooses the fusions: core/op/lowering_context.h.
#ifndef BYOC_CORE_OP_LOWERING_H_
#define BYOC_CORE_OP_LOWERING_H_

#include "core/ir/graph.h"
#include "core/ir/loop.h"

typedef struct byoc_lower_t byoc_lower_t;

// The element of result `result` at `indices` (as many as the result's rank).
typedef const byoc_loop_expr_t *(*byoc_lower_point_fn_t)(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                         const byoc_loop_expr_t *const *indices);

byoc_loop_builder_t *byoc_lower_builder(byoc_lower_t *lower);
// BYOC_UNSUPPORTED, with a message that names the operands that the definition supports.
byoc_status_t byoc_lower_unsupported(const byoc_lower_t *lower, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Bytes of a vector register of the kernel's processor; those of the widest registers if it is not known.
int32_t byoc_lower_vector_bytes(const byoc_lower_t *lower);
// The element of operand `operand` of `node` at `indices` (as many as its rank): a load, the producer's expression if
// it was fused in, or a literal for a constant scalar.
const byoc_loop_expr_t *byoc_lower_load(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                        const byoc_loop_expr_t *const *indices);
// The same with NumPy broadcasting: `indices` are those of a tensor of rank `rank`.
const byoc_loop_expr_t *byoc_lower_load_broadcast(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                                  int32_t rank, const byoc_loop_expr_t *const *indices);
// The element of an operand at a row-major linear index.
const byoc_loop_expr_t *byoc_lower_load_flat(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                             const byoc_loop_expr_t *index);
// The buffer of an operand, for a loop nest that needs one; NULL if the operand was fused. Heavy operators always get
// buffers.
const byoc_loop_buffer_t *byoc_lower_operand_buffer(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand);
// Stores one element of a result, through the fused elementwise consumers if any.
void byoc_lower_store(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                      const byoc_loop_expr_t *const *indices, const byoc_loop_expr_t *value);
// True if stores to `result` may be read back and rewritten, because nothing is fused after it; *out_buffer is then its
// buffer.
bool byoc_lower_result_buffer(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                              const byoc_loop_buffer_t **out_buffer);

#endif // BYOC_CORE_OP_LOWERING_H_
