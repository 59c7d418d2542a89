// SPDX-License-Identifier: Apache-2.0
// The weights of a match, times the factor of their channel.
#include <stdlib.h>

#include "patterns/match.h"

float *byoc_cutlass_scaled_weights(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (!graph->value_constant(match->weights, &data)) return NULL;
  size_t count = (size_t)(data.size_bytes / sizeof(float));
  const float *from = data.data;
  float *weights = malloc(data.size_bytes);
  if (!weights) return NULL;
  bool conv = match->problem.kind == BYOC_CUTLASS_CONV;
  const byoc_cutlass_gemm_t *gemm = &match->problem.gemm;
  // The distance between two channels in floats, and the number of channels after which they repeat.
  size_t step = conv ? count / (size_t)match->channels : gemm->transpose_b ? (size_t)gemm->k : 1;
  for (size_t i = 0; i < count; ++i) weights[i] = (float)(from[i] * match->scale[i / step % (size_t)match->channels]);
  return weights;
}
