// SPDX-License-Identifier: Apache-2.0
// The weights of a match, times the factor of their channel.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "patterns/match.h"

static float widen(uint32_t dtype, uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  if (dtype == BYOC_DTYPE_F16) {
    const uint32_t magnitude = half & 0x7fff, sign = (uint32_t)(half & 0x8000) << 16;
    if (magnitude < 0x400) return (sign ? -1.0f : 1.0f) * (float)magnitude * 0x1p-24f;
    bits = sign | (magnitude < 0x7c00 ? (magnitude << 13) + (112u << 23) : magnitude << 13 | 0x7f800000);
  }
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float element(const byoc_tensor_data_t *data, size_t i) {
  return data->dtype == BYOC_DTYPE_F32 ? ((const float *)data->data)[i]
                                       : widen(data->dtype, ((const uint16_t *)data->data)[i]);
}

double byoc_cutlass_match_element(const byoc_tensor_data_t *data, int64_t i) {
  return element(data, (size_t)i);
}

// The channel of weight `i`: the distance between two channels, and the number after which they repeat.
typedef struct channels_t {
  size_t step, count;
} channels_t;

static channels_t channels_of(const byoc_cutlass_match_t *match, size_t weights) {
  const byoc_cutlass_gemm_t *gemm = &match->problem.gemm;
  const size_t count = (size_t)match->channels;
  if (match->problem.kind == BYOC_CUTLASS_CONV) return (channels_t){weights / count, count};
  return (channels_t){gemm->transpose_b ? (size_t)gemm->k : 1, count};
}

bool byoc_cutlass_scaled_weights_fit(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match) {
  static const double least = 0x1p-8, most = 65504; // of a channel's largest weight
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  bool is_scaled = false, fits = true;
  for (int64_t i = 0; i < match->channels; ++i) is_scaled |= match->scale[i] != 1;
  if (!is_scaled || !graph->value_constant(match->weights, &data) || data.dtype != BYOC_DTYPE_F16) return true;
  const size_t count = (size_t)byoc_cutlass_match_elements(&data);
  const channels_t channels = channels_of(match, count);
  double *largest = calloc(channels.count, sizeof *largest);
  if (!largest) return false; // f32 is always right
  for (size_t i = 0; i < count; ++i) {
    const size_t channel = i / channels.step % channels.count;
    largest[channel] = fmax(largest[channel], fabs(element(&data, i) * match->scale[channel]));
  }
  for (size_t c = 0; c < channels.count; ++c)
    fits = fits && (largest[c] == 0 || match->scale[c] == 1 || (largest[c] >= least && largest[c] <= most));
  free(largest);
  return fits;
}

float *byoc_cutlass_scaled_weights(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (!graph->value_constant(match->weights, &data)) return NULL;
  const size_t count = (size_t)byoc_cutlass_match_elements(&data);
  float *weights = malloc(count * sizeof *weights);
  if (!weights) return NULL;
  const channels_t channels = channels_of(match, count);
  for (size_t i = 0; i < count; ++i)
    weights[i] = (float)(element(&data, i) * match->scale[i / channels.step % channels.count]);
  return weights;
}
