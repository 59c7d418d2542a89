// SPDX-License-Identifier: Apache-2.0
// Finds a factor by which sums become the same bytes as by the division of the definition.
//
// Two formulas can differ only for sums so close to a half between two bytes that rounding errors decide: these few are
// tried, one by one.
#include "pack/exact_factor.h"

#include <math.h>
#include <stdint.h>

enum { MOST_TRIALS = 2048, STEPS = 3 };
// Numbers stay finite up to this ratio; sums beyond the limit do not exist.
static const double most_ratio = 1e20, sum_limit = 2147483648.0;
// One step of the summand: the last bit of floats from 128 to 256.
static const float summand_step = 0x1p-16f;

// A sum that is close to the half below `byte`, and whether the definition gives at least `byte` for it, before the
// zero point is added.
typedef struct trial_t {
  float sum, byte;
  bool reaches;
} trial_t;

typedef struct trials_t {
  trial_t items[MOST_TRIALS];
  int count;
} trials_t;

// Appends the sums near `half`, at most `error` away. False if there are too many.
static bool add_trials(const byoc_cutlass_rounding_t *r, double half, double error, float byte, trials_t *trials) {
  for (double sum = ceil(half - error); sum <= half + error; ++sum) {
    if (sum < -sum_limit || sum >= sum_limit) continue;
    if (trials->count == MOST_TRIALS) return false;
    const float value = (float)sum;
    trials->items[trials->count++] = (trial_t){value, byte, rintf(value * r->scale / r->result_scale) >= byte};
  }
  return true;
}

// The sums for which formulas may differ whose results are off by 2^-20 of the number, or by `off`. False if there are
// too many, or if numbers on the way could be infinite or subnormal.
static bool find_trials(const byoc_cutlass_rounding_t *r, double off, trials_t *trials) {
  const double ratio = (double)r->scale / r->result_scale;
  trials->count = 0;
  if (!(ratio > 1e-30 && ratio <= most_ratio) || !(r->scale > 1e-30f && r->scale < 1e10f)) return false;
  if (!(r->result_scale > 1e-20f && r->result_scale < 1e20f)) return false;
  for (float byte = r->low - r->zero + 1.0f; byte <= r->high - r->zero; ++byte) {
    const double half = ((double)byte - 0.5) / ratio, error = fabs(half) * 0x1p-20 + off / ratio;
    if (half - error < sum_limit && half + error >= -sum_limit && !add_trials(r, half, error, byte, trials))
      return false;
  }
  return true;
}

static bool agrees(const trials_t *trials, float zero, float factor, float summand) {
  for (int i = 0; i < trials->count; ++i) {
    const trial_t *t = &trials->items[i];
    if ((rintf(fmaf(t->sum, factor, summand)) >= t->byte + zero) != t->reaches) return false;
  }
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
  trials_t trials;
  *out_factor = *out_summand = 0.0f;
  // The sum with the zero point is rounded, and the summand is tried in steps.
  if (!find_trials(rounding, 0x1p-14, &trials)) return false;
  for (int f = 0; f < 2 * STEPS + 1; ++f)
    for (int s = 0; s < 2 * STEPS + 1; ++s) {
      const float factor = step_up(rounding->scale / rounding->result_scale, step_of(f));
      const float summand = rounding->zero + (float)step_of(s) * summand_step;
      if (!agrees(&trials, rounding->zero, factor, summand)) continue;
      *out_factor = factor, *out_summand = summand;
      return true;
    }
  return false;
}

bool byoc_cutlass_exact_inverse(const byoc_cutlass_rounding_t *rounding) {
  const float inverse = 1.0f / rounding->result_scale;
  const float rest = (float)(1.0 / (double)rounding->result_scale - (double)inverse);
  trials_t trials;
  if (!find_trials(rounding, 0.0, &trials)) return false;
  for (int i = 0; i < trials.count; ++i) {
    const trial_t *t = &trials.items[i];
    const float value = t->sum * rounding->scale;
    if ((rintf(fmaf(value, inverse, value * rest)) >= t->byte) != t->reaches) return false;
  }
  return true;
}
