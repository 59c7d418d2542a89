// SPDX-License-Identifier: Apache-2.0
// match_bits.h - from byoc::PackedMatMul, a product by weights of few bits, to a problem.
#ifndef BYOC_CUTLASS_MATCH_BITS_H_
#define BYOC_CUTLASS_MATCH_BITS_H_

#include "patterns/match.h"

bool byoc_cutlass_is_bits_product(const byoc_graph_api_t *graph, const byoc_node_t *node);

// True if the node, which is one, is f32 and its weights are constant. Fills in the match; otherwise match->reason.
bool byoc_cutlass_match_bits(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_cutlass_match_t *match);

#endif // BYOC_CUTLASS_MATCH_BITS_H_
