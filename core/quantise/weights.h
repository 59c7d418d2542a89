// SPDX-License-Identifier: Apache-2.0
// Weights as integers: a scale for each output channel, or for each group along the sum. Internal to core/quantise.
#ifndef BYOC_CORE_QUANTISE_WEIGHTS_H_
#define BYOC_CORE_QUANTISE_WEIGHTS_H_

#include "core/base/arena.h"
#include "core/base/diag.h"

// A tensor seen as [outer][channels][inner]; channel c has scale c.
typedef struct byoc_channels_t {
  size_t outer, count, inner;
} byoc_channels_t;
// `axis` -1: one channel for all.
byoc_channels_t byoc_channels_of(const int64_t *dims, size_t rank, int32_t axis);
// The scale of each channel for symmetric integers of 8 bits; at least `least[c]`, if that is not NULL.
void byoc_channel_scales(const float *data, byoc_channels_t channels, const float *least, float *out_scales);
void byoc_channel_round(const float *data, byoc_channels_t channels, const float *scales, int8_t *out);

// ---- groups ----

// A matrix of `rows` output channels and `columns` terms of the sum, in groups along the sum.
typedef struct byoc_groups_t {
  size_t rows, columns, group; // the last group of a row may be shorter
  int bits;                    // 4 or 8
  bool is_symmetric;           // the zero point is in the middle
} byoc_groups_t;
static inline size_t byoc_groups_per_row(const byoc_groups_t *groups) {
  return (groups->columns + groups->group - 1) / groups->group;
}
// Integers from 0 to 2^bits - 1, [rows][columns], with a scale and a zero point for each group, [rows][groups per row]:
// weight = (integer - zero) * scale. Of some scales, the one with the least squared error is taken. `importance`: of
// each column; NULL: all are equal.
void byoc_groups_round(const float *weights, const byoc_groups_t *groups, const float *importance,
                       uint8_t *out_integers, float *out_scales, uint8_t *out_zeros);
// The same with error feedback: the error of each column is made up for by the columns behind it (GPTQ: Frantar and
// others, 2022). `gram`: sums of products of inputs, [columns][columns], of which the part above the diagonal counts.
// BYOC_OUT_OF_MEMORY, or BYOC_INVALID_DATA if the matrix has no inverse.
byoc_status_t byoc_groups_round_with_feedback(const float *weights, const byoc_groups_t *groups, const double *gram,
                                              uint8_t *out_integers, float *out_scales, uint8_t *out_zeros);
// Adds x^T x for rows of inputs to the part of `gram` above the diagonal.
void byoc_gram_add(const float *inputs, size_t rows, size_t columns, double *gram);

#endif // BYOC_CORE_QUANTISE_WEIGHTS_H_
