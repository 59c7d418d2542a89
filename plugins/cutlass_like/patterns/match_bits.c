// SPDX-License-Identifier: Apache-2.0
// Reads byoc::PackedMatMul, a product by weights of few bits, as a problem.
#include "patterns/match_bits.h"

#include <string.h>

enum { X, WORDS, SCALES, ZEROS };

static bool refuse(byoc_cutlass_match_t *match, const char *reason) {
  match->reason = reason;
  return false;
}

bool byoc_cutlass_is_bits_product(const byoc_graph_api_t *graph, const byoc_node_t *node) {
  return strcmp(graph->node_domain(node), "byoc") == 0 && strcmp(graph->node_operator(node), "PackedMatMul") == 0;
}

static bool is_constant(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  return value && graph->value_constant(value, &data);
}

bool byoc_cutlass_match_bits(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_cutlass_match_t *match) {
  byoc_value_t *x = graph->operand(node, X), *words = graph->operand(node, WORDS);
  byoc_value_t *scales = graph->operand(node, SCALES);
  byoc_value_t *zeros = graph->operand_count(node) > ZEROS ? graph->operand(node, ZEROS) : NULL;
  const int32_t rank = graph->value_rank(x);
  if (rank < 1 || graph->value_dtype(x) != BYOC_DTYPE_F32)
    return refuse(match, "only f32 of a known rank is supported");
  if (!is_constant(graph, words) || !is_constant(graph, scales) || (zeros && !is_constant(graph, zeros)))
    return refuse(match, "the weights are not constant");
  byoc_cutlass_bits_t bits = {.rows = 1,
                              .columns = graph->node_int(node, "columns"),
                              .depth = graph->node_int(node, "depth"),
                              .block = graph->node_int(node, "block_size"),
                              .bits = graph->node_int(node, "bits"),
                              .zero = graph->node_int(node, "zero"),
                              .rounds = graph->node_int(node, "rounds") != 0};
  if (zeros)
    bits.zeros =
        graph->value_dtype(zeros) == BYOC_DTYPE_F32 ? BYOC_CUTLASS_ZEROS_OF_FLOATS : BYOC_CUTLASS_ZEROS_OF_WORDS;
  for (int32_t d = 0; d + 1 < rank; ++d) {
    const int64_t size = graph->value_dim(x, d);
    if (size == 0) return refuse(match, "there are no rows");
    if (size < 0) bits.open_rows = true;
    if (size > 0) bits.rows *= size;
  }
  if (bits.open_rows) bits.rows = BYOC_CUTLASS_OPEN_ROWS;
  match->problem.kind = BYOC_CUTLASS_BITS;
  match->problem.bits = bits;
  match->data = x;
  match->weights = words;
  match->scales = scales;
  match->zeros = zeros;
  return byoc_cutlass_match_start(match, bits.columns);
}
