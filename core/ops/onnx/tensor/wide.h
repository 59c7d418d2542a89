// SPDX-License-Identifier: Apache-2.0
// Operators of very many operands or results, as trees of narrower ones. A kernel of 3,000 loops or loads takes minutes
// to compile; the parts of a tree have the same shapes, so that they share a few small kernels.
#ifndef BYOC_CORE_OPS_ONNX_TENSOR_WIDE_H_
#define BYOC_CORE_OPS_ONNX_TENSOR_WIDE_H_

#include "core/op/op.h"

// Wider nodes are expanded.
enum { BYOC_WIDE = 64 };

// Concat(a, b, c, d) → Concat(Concat(a, b), Concat(c, d))
byoc_status_t byoc_expand_wide_concat(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);
// a, b, c, d = Split(x) → p, q = Split(x); a, b = Split(p); c, d = Split(q)
byoc_status_t byoc_expand_wide_split(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);
// Sum(a, b, c) → Sum(Sum(a, b), c), in the same order; likewise Min and Max
byoc_status_t byoc_expand_wide_fold(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);

#endif // BYOC_CORE_OPS_ONNX_TENSOR_WIDE_H_
