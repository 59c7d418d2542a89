// SPDX-License-Identifier: Apache-2.0
// Batch normalisation at inference by constants: y = (x - mean) / sqrt(variance + epsilon) * scale + shift.
#ifndef BYOC_CORE_PASS_BATCH_NORM_H_
#define BYOC_CORE_PASS_BATCH_NORM_H_

#include "core/ir/graph.h"

typedef struct byoc_batch_norm_t {
  const byoc_constant_t *scale, *shift, *mean, *variance; // f32, one element for each channel
  double epsilon;
  int64_t channels;
} byoc_batch_norm_t;

// False if the node is another operator, or if an operand is no such constant.
bool byoc_read_batch_norm(const byoc_node_t *node, int64_t channels, byoc_batch_norm_t *out_norm);
// The factor of a channel, and the normalised value of an element of it.
double byoc_batch_norm_factor(const byoc_batch_norm_t *norm, int64_t channel);
double byoc_batch_norm_of(const byoc_batch_norm_t *norm, int64_t channel, double x);
// A constant of `count` f32.
bool byoc_is_vector_f32(const byoc_value_t *value, int64_t count);

#endif // BYOC_CORE_PASS_BATCH_NORM_H_
