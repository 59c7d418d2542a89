// SPDX-License-Identifier: Apache-2.0
// exact_factor.h - integer sums become bytes without a division, where that gives the bytes of the definition.
//
// Example:
//   const byoc_cutlass_rounding_t rounding = {.scale = 0.002f, .result_scale = 0.3f, .zero = 117, .high = 255};
//   float factor, summand;
//   bool is_exact = byoc_cutlass_exact_factor(&rounding, &factor, &summand);
//   bool has_inverse = byoc_cutlass_exact_inverse(&rounding);
#ifndef BYOC_CUTLASS_EXACT_FACTOR_H_
#define BYOC_CUTLASS_EXACT_FACTOR_H_

#include <stdbool.h>

// The definition, in f32: round(sum * scale / result_scale) + zero, between low and high.
typedef struct byoc_cutlass_rounding_t {
  float scale, result_scale, zero, low, high;
} byoc_cutlass_rounding_t;

// Finds numbers for round(fma(sum, factor, summand)), between low and high, that agree with the definition for each sum
// of 32 bits. False if it finds none.
bool byoc_cutlass_exact_factor(const byoc_cutlass_rounding_t *rounding, float *out_factor, float *out_summand);

// 1 / result_scale is `inverse`, rounded to a float, plus `rest`. With x = sum * scale, does
// round(fma(x, inverse, x * rest)) + zero, between low and high, agree with the definition for each sum?
bool byoc_cutlass_exact_inverse(const byoc_cutlass_rounding_t *rounding);

#endif // BYOC_CUTLASS_EXACT_FACTOR_H_
