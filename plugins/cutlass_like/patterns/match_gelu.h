// SPDX-License-Identifier: Apache-2.0
// match_gelu.h - Gelu written out as simpler operators.
#ifndef BYOC_CUTLASS_MATCH_GELU_H_
#define BYOC_CUTLASS_MATCH_GELU_H_

#include "byoc/plugin.h"
#include "problem/problem.h"

// A constant of f32, f16 or bf16 of one element; false unless the value is one.
bool byoc_cutlass_scalar_f32(const byoc_graph_api_t *graph, const byoc_value_t *value, float *out_scalar);

// How many nodes, `last` included, compute Gelu(x) in one of these ways; 0 if they do not:
//   x * (1 + Erf(x / sqrt(2))) * 0.5                                5 nodes, BYOC_CUTLASS_ACT_GELU
//   x * (1 + Tanh((x + x^3 * 0.044715) * sqrt(2 / pi))) * 0.5       8 nodes, BYOC_CUTLASS_ACT_GELU_TANH
// The three factors may be multiplied in any order.
size_t byoc_cutlass_find_gelu(const byoc_graph_api_t *graph, const byoc_node_t *last, const byoc_value_t *x,
                              uint32_t *out_activation);

#endif // BYOC_CUTLASS_MATCH_GELU_H_
