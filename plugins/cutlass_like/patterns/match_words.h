// SPDX-License-Identifier: Apache-2.0
// match_words.h - products of bytes as written with the operators QLinearConv, QLinearMatMul, QGemm, ConvInteger
// and MatMulInteger, and what turns their integer sums into floats.
#ifndef BYOC_CUTLASS_MATCH_WORDS_H_
#define BYOC_CUTLASS_MATCH_WORDS_H_

#include "patterns/match.h"

bool byoc_cutlass_is_words_product(const char *op);

// Fills the problem from such an operator with constant weights; its sums or its bytes are the chain's first value.
bool byoc_cutlass_read_words_product(const byoc_graph_api_t *graph, byoc_node_t *node, byoc_cutlass_match_t *match);

// True if the node dequantises bytes beside the chain that are to be added to it; remembers the node.
bool byoc_cutlass_read_words_side(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                                  byoc_cutlass_match_t *match);

// True if a node after the product is read here: a summand of integers, Cast or DequantizeLinear, a computed factor of
// all sums, Relu, Clip and Max of bytes, bytes added to bytes. Everything else after floats is handled as for products
// of floats.
bool byoc_cutlass_is_words_step(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                                const byoc_cutlass_match_t *match);
bool byoc_cutlass_read_words_step(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                                  byoc_cutlass_match_t *match);

// Checks the end of the chain, whose last value is `value`.
bool byoc_cutlass_settle_words(const byoc_graph_api_t *graph, const byoc_value_t *value, byoc_cutlass_match_t *match);

#endif // BYOC_CUTLASS_MATCH_WORDS_H_
