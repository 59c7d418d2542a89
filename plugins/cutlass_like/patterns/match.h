// SPDX-License-Identifier: Apache-2.0
// match.h - from nodes of the graph to a problem.
//
// Example:
//   byoc_cutlass_match_t match;
//   if (byoc_cutlass_match(graph, nodes, count, &match) != BYOC_OK) decline(match.reason);
//   else use(&match.problem, match.weights);
//   byoc_cutlass_match_deinit(&match);
//
// The first node is Attention, Conv, Gemm or MatMul, one of these on bytes (match_words.h), or byoc::PackedMatMul
// (match_bits.h). Each further node reads the one before. Convolutions include the layout changes around them:
// byoc::FromBlocked of data and residual, byoc::ToBlocked of the result. A Cast of an operand from f16 or bf16 to f32,
// and one of the result back, belong to the product too. `accept` asks with the nodes of a region, `generate` with
// those of a function: both get the same answer.
#ifndef BYOC_CUTLASS_MATCH_H_
#define BYOC_CUTLASS_MATCH_H_

#include "byoc/plugin.h"
#include "problem/problem.h"

typedef struct byoc_cutlass_match_t {
  byoc_cutlass_problem_t problem; // inputs are not set
  const char *reason;             // why there is no match; static storage
  bool out_of_memory;             // the match failed for lack of memory
  byoc_value_t *data;
  byoc_value_t *weights;
  byoc_value_t *values;         // of attention
  byoc_value_t *scales, *zeros; // of weights of few bits; zeros may be NULL
  byoc_value_t *past[2];        // its cached keys and values; NULL if there are none
  byoc_value_t *residual;       // or the mask; NULL if there is none
  // The epilogue of each channel (or column) of the product: y = x * scale + shift. Both have `channels` elements.
  double *scale, *shift;
  int64_t channels;
  // Products of bytes.
  int16_t *bytes;       // the weights minus their zero points
  int32_t *summand;     // added to each channel's integer sum; NULL: nothing
  byoc_value_t *zero;   // the data's zero point if it is computed
  byoc_value_t *factor; // the factor of all sums if it is computed
  bool wide;            // some weight does not fit s8
  bool has_negative;    // some weight is below 0
  byoc_node_t *side;    // dequantises the bytes that are added
} byoc_cutlass_match_t;

// The largest number of nodes in a problem, layout changes included.
enum { BYOC_CUTLASS_MOST_NODES = 16 };

// BYOC_OK if the nodes, in topological order, are one problem; otherwise BYOC_UNSUPPORTED, or BYOC_OUT_OF_MEMORY. Fills
// *out_match in any case; deinit it.
int32_t byoc_cutlass_match(const byoc_graph_api_t *graph, byoc_node_t *const *nodes, size_t count,
                           byoc_cutlass_match_t *out_match);

// Records that memory ran out; returns false.
bool byoc_cutlass_match_out_of_memory(byoc_cutlass_match_t *match);

// Elements of a constant.
int64_t byoc_cutlass_match_elements(const byoc_tensor_data_t *data);

// True for a tensor with elements, as far as its dimensions are known. Sets *is_open if some of them are those of a
// call.
bool byoc_cutlass_match_known(const byoc_graph_api_t *graph, const byoc_value_t *value, bool *is_open);
// The same for f32 only.
bool byoc_cutlass_match_known_f32(const byoc_graph_api_t *graph, const byoc_value_t *value, bool *is_open);

// Allocates scale and shift and sets them to 1 and 0.
bool byoc_cutlass_match_start(byoc_cutlass_match_t *match, int64_t channels);

// The shapes of a convolution of x and w that makes y, whatever their element types.
bool byoc_cutlass_match_conv_shape(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_value_t *x,
                                   byoc_value_t *w, byoc_value_t *y, byoc_cutlass_match_t *match);

// The shapes of MatMul(a, b).
bool byoc_cutlass_match_matmul_shape(const byoc_graph_api_t *graph, byoc_value_t *a, byoc_value_t *b, byoc_value_t *y,
                                     byoc_cutlass_match_t *match);

// How a constant of `dims` is broadcast over the channels of `value`: 0 it is not, 1 one value for all, 2 one value
// each.
int byoc_cutlass_match_spread(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match,
                              const byoc_value_t *value, const byoc_tensor_data_t *data);

// Element `i` of a constant of f32, f16 or bf16.
double byoc_cutlass_match_element(const byoc_tensor_data_t *data, int64_t i);

// False if the weights are f16, and times the factor of their channel they leave its range: too large, or so small that
// f16 has few digits left.
bool byoc_cutlass_scaled_weights_fit(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match);

// The model's weights as floats, times the factor of their channel or column, for the caller to free; NULL if out of
// memory.
float *byoc_cutlass_scaled_weights(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match);

void byoc_cutlass_match_deinit(byoc_cutlass_match_t *match);

#endif // BYOC_CUTLASS_MATCH_H_
