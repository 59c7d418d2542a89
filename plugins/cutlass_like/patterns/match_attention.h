// SPDX-License-Identifier: Apache-2.0
// match_attention.h - from an Attention operator to a problem.
#ifndef BYOC_CUTLASS_MATCH_ATTENTION_H_
#define BYOC_CUTLASS_MATCH_ATTENTION_H_

#include "patterns/match.h"

// True if the node is an Attention that the template computes: f32 of constant heads, a mask that is added, and either
// one result or a cache with the next one as results. Batch and lengths may be those of a run. Fills in the match;
// otherwise match->reason.
bool byoc_cutlass_match_attention(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_cutlass_match_t *match);

#endif // BYOC_CUTLASS_MATCH_ATTENTION_H_
