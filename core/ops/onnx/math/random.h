// SPDX-License-Identifier: Apache-2.0
// Random numbers for lowering: a hash of a node's stream and an element's index (core/ops/onnx/math/random.c).
#ifndef BYOC_CORE_OPS_ONNX_MATH_RANDOM_H_
#define BYOC_CORE_OPS_ONNX_MATH_RANDOM_H_

#include "core/op/op.h"

// Gives a node without a seed a stream of its own. Called by inference.
byoc_status_t byoc_infer_stream(const byoc_infer_t *infer);
// A number in [0, 1), as f64, from the node's stream at `place` (i64).
const byoc_loop_expr_t *byoc_emit_uniform(byoc_loop_builder_t *b, const byoc_node_t *node,
                                          const byoc_loop_expr_t *place);
// The row-major index of an element.
const byoc_loop_expr_t *byoc_emit_place(byoc_loop_builder_t *b, const byoc_type_t *type,
                                        const byoc_loop_expr_t *const *indices);

#endif // BYOC_CORE_OPS_ONNX_MATH_RANDOM_H_
