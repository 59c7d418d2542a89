// SPDX-License-Identifier: Apache-2.0
// Finds a factor by which sums become the same bytes as by the division of the definition.
//
// Both formulas grow with the sum, so that they agree everywhere if they pass each half between two bytes at the same
// sum. They can differ only for sums so close to a half that rounding errors decide: these few are tried.
#include "pack/exact_factor.h"

#include <math.h>
#include <stdint.h>

enum { MOST_TRIALS = 256, STEPS = 3 };
// Larger ratios could make numbers that no 32-bit integer holds; sums beyond the limit do not exist.
static const double most_ratio = 0.25, sum_limit = 2147483648.0;
// One step of the summand: the last bit of floats from 128 to 256.
static const float summand_step = 0x1p-16f;

// A sum that is close to the half below `byte`, and whether the definition gives at least `byte` for it, before the
// zero point is added.
typedef struct trial_t {
  float sum, byte;
  bool reaches;
} trial_t;

// Appends the sums near `half`, at most `error` away. False if there are too many.
static bool add_trials(const byoc_cutlass_rounding_t *r, double half, double error, float byte, trial_t *trials,
                       int *count) {
  for (double sum = ceil(half - error); sum <= half + error; ++sum) {
    if (sum < -sum_limit || sum >= sum_limit) continue;
    if (*count == MOST_TRIALS) return false;
    const float value = (float)sum;
    trials[(*count)++] = (trial_t){value, byte, rintf(value * r->scale / r->result_scale) >= byte};
  }
  return true;
}

static bool agrees(const trial_t *trials, int count, float zero, float factor, float summand) {
  for (int i = 0; i < count; ++i)
    if ((rintf(fmaf(trials[i].sum, factor, summand)) >= trials[i].byte + zero) != trials[i].reaches) return false;
  return true;
}

// 0, 1, -1, 2, -2, ...
static int step_of(int turn) {
  return turn % 2 ? (turn + 1) / 2 : -turn / 2;
}

static float step_up(float value, int steps) {
  for (; steps > 0; --steps) value = nextafterf(value, INFINITY);
  for (; steps < 0; ++steps) value = nextafterf(value, 0.0f);
  return value;
}

bool byoc_cutlass_exact_factor(const byoc_cutlass_rounding_t *rounding, float *out_factor, float *out_summand) {
  const double ratio = (double)rounding->scale / rounding->result_scale;
  trial_t trials[MOST_TRIALS];
  int count = 0;
  *out_factor = *out_summand = 0.0f;
  // Smaller ratios may round to subnormal numbers on the way; no sum of theirs leaves the zero point.
  if (!(ratio > 1e-30 && ratio <= most_ratio) || !(rounding->scale > 1e-30f)) return false;
  for (float byte = rounding->low - rounding->zero + 1.0f; byte <= rounding->high - rounding->zero; ++byte) {
    const double half = ((double)byte - 0.5) / ratio;
    // In steps of the sum: roundings of the sum, of the factor and of the quotient, and the steps that are tried; then
    // roundings of the sum with the zero point, and of the summand.
    const double error = fabs(half) * 0x1p-20 + 0x1p-14 / ratio;
    if (half - error < sum_limit && half + error >= -sum_limit &&
        !add_trials(rounding, half, error, byte, trials, &count))
      return false;
  }
  for (int f = 0; f < 2 * STEPS + 1; ++f)
    for (int s = 0; s < 2 * STEPS + 1; ++s) {
      const float factor = step_up((float)ratio, step_of(f));
      const float summand = rounding->zero + (float)step_of(s) * summand_step;
      if (!agrees(trials, count, rounding->zero, factor, summand)) continue;
      *out_factor = factor, *out_summand = summand;
      return true;
    }
  return false;
}
