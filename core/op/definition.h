// SPDX-License-Identifier: Apache-2.0
// Definitions as text: the computation of an operator with a signature. There are two forms, in the language of
// core/ir/loop_text.h without its declarations:
//
//   element   y = 0.5 * x * (1.0 + erf(x * 0.7071067811865476))
//             An element of each result from those of the operands at the same index: `let`s and one assignment for
//             each result. Fused with its neighbours like any elementwise operator.
//   loops     parallel b in 0 .. B { var s = T(0) serial d in 0 .. D { s = s + x[b * D + d] } y[b] = s }
//             Loops over whole tensors, each of which is addressed by one linear index. A rest of dimensions counts as
//             one, of their product.
//
// Names are values of the signature, dimensions (i64) and attributes. Integers and floats have the attribute's name;
// element i of a list is pads.i, and its length is pads.count. A string attribute with a choice is the index of its
// value, from 0. has_NAME is true if an optional operand, or an attribute without a default, is given. A missing value
// is 0, and so is an element after the end of a list. Types: f16, bf16 and float8 are computed in f32. A variable of
// the signature stands for the type in which its elements are computed. A plain number has the type of the other
// operand; without one, it is i64 or f32.
#ifndef BYOC_CORE_OP_DEFINITION_H_
#define BYOC_CORE_OP_DEFINITION_H_

#include "core/op/signature.h"

// The element of a result, as byoc_op_t.point returns it; NULL after a failure, with the reason in the diagnostic of
// `lower`.
const byoc_loop_expr_t *byoc_definition_point(const byoc_signature_t *signature, const char *element,
                                              byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              const byoc_loop_expr_t *const *indices);
// Emits the loops. After a failure, the builder of `lower` has failed, and the diagnostic has the reason.
void byoc_definition_loops(const byoc_signature_t *signature, const char *loops, byoc_lower_t *lower,
                           const byoc_node_t *node);

#endif // BYOC_CORE_OP_DEFINITION_H_
