// SPDX-License-Identifier: Apache-2.0
// Watches values, and chooses ranges and scales.
#include "core/quantise/range.h"

#include <math.h>
#include <string.h>

#include "core/ir/element.h"

enum { BINS = 8192, HALF_BINS = BINS / 2 };

// ---- watching ----

static size_t bin_of(double value, double limit) {
  const double place = (value + limit) * (BINS / (2 * limit));
  return place <= 0 ? 0 : place >= BINS ? BINS - 1 : (size_t)place;
}

// Doubles the histogram's limit until `least` is within: pairs of bins become one.
static void widen(byoc_observer_t *observer, double least) {
  while (observer->limit < least) {
    uint64_t merged[BINS] = {0};
    for (size_t i = 0; i < BINS; i++) merged[BINS / 4 + i / 2] += observer->bins[i];
    memcpy(observer->bins, merged, sizeof(merged));
    observer->limit *= 2;
  }
}

static bool count_bins(byoc_observer_t *observer, const float *data, size_t count, byoc_arena_t *arena) {
  double most = 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)data[i]));
  if (observer->bins == NULL) {
    observer->bins = BYOC_ARENA_ARRAY(arena, uint64_t, BINS);
    if (observer->bins == NULL) return false;
  }
  if (most == 0) {
    observer->zero_count += count;
    return true;
  }
  if (observer->limit == 0) observer->limit = most;
  widen(observer, most);
  for (size_t i = 0; i < count; i++) {
    if (data[i] == 0) {
      observer->zero_count++;
    } else {
      observer->bins[bin_of((double)data[i], observer->limit)]++;
    }
  }
  return true;
}

static bool watch_channels(byoc_observer_t *observer, const float *data, size_t count, byoc_arena_t *arena) {
  const size_t channels = observer->channel_count;
  if (observer->channel_limits == NULL) {
    observer->channel_limits = BYOC_ARENA_ARRAY(arena, float, channels);
    if (observer->channel_limits == NULL) return false;
  }
  for (size_t at = 0; at + channels <= count; at += channels) {
    for (size_t c = 0; c < channels; c++) {
      const float size = fabsf(data[at + c]);
      if (size > observer->channel_limits[c]) observer->channel_limits[c] = size;
    }
  }
  return true;
}

byoc_observed_t byoc_observer_take(byoc_observer_t *observer, const float *data, size_t count, byoc_arena_t *arena) {
  float low = 0, high = 0, sum = 0;
  for (size_t i = 0; i < count; i++) {
    low = data[i] < low ? data[i] : low;
    high = data[i] > high ? data[i] : high;
    sum += data[i] * 0; // NaN if any is not finite
  }
  if (sum != 0) {
    for (size_t i = 0; i < count; i++) {
      if (isinf(data[i])) return BYOC_OBSERVED_INFINITY;
    }
    return BYOC_OBSERVED_NAN;
  }
  observer->range = byoc_range_union(observer->range, (byoc_range_t){(double)low, (double)high});
  observer->count += count;
  if (observer->keeps_histogram && !count_bins(observer, data, count, arena)) return BYOC_OBSERVED_NO_MEMORY;
  if (observer->channel_count > 0 && !watch_channels(observer, data, count, arena)) return BYOC_OBSERVED_NO_MEMORY;
  return BYOC_OBSERVED;
}

// ---- ranges ----

byoc_range_t byoc_range_union(byoc_range_t a, byoc_range_t b) {
  return (byoc_range_t){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static double edge(const byoc_observer_t *observer, double bin) {
  return (bin - HALF_BINS) * (observer->limit / HALF_BINS);
}

// Cuts a range to the values that were seen.
static byoc_range_t within(const byoc_observer_t *observer, double low, double high) {
  return (byoc_range_t){fmin(0, fmax(low, observer->range.low)), fmax(0, fmin(high, observer->range.high))};
}

// Leaves out half of the rest at each end. Zeros count as values in the middle.
static byoc_range_t percentile(const byoc_observer_t *observer, double percent) {
  const double outside = (double)observer->count * (100 - percent) / 200;
  double below = 0, above = 0;
  size_t low = 0, high = BINS;
  while (low < HALF_BINS && below + (double)observer->bins[low] <= outside) below += (double)observer->bins[low++];
  while (high > HALF_BINS && above + (double)observer->bins[high - 1] <= outside) {
    above += (double)observer->bins[--high];
  }
  return within(observer, edge(observer, (double)low), edge(observer, (double)high));
}

// The entropy looks at so many bins for each step of the integers: in narrower ones with few values each, the noise of
// the samples would count as shape.
enum { PER_STEP = 4, MOST_RANGES = 256 };

// The divergence of the distribution in bins [first, last), with all others cut to its ends, from the one that `levels`
// steps leave of it: each step spreads its weight evenly over the bins that had any.
static double divergence(const byoc_observer_t *observer, size_t first, size_t last, int levels) {
  double total = 0, result = 0, outside[2] = {0, 0}, bins[BINS];
  const size_t wide = (last - first) / ((size_t)levels * PER_STEP) + 1, count = (last - first + wide - 1) / wide;
  memset(bins, 0, count * sizeof(*bins));
  for (size_t i = 0; i < BINS; i++) {
    const double weight = (double)observer->bins[i];
    total += weight;
    if (i < first) outside[0] += weight;
    if (i >= last) outside[1] += weight;
    if (i >= first && i < last) bins[(i - first) / wide] += weight;
  }
  const double inside = total - outside[0] - outside[1];
  if (inside <= 0) return INFINITY;
  for (int level = 0; level < levels; level++) {
    const size_t begin = count * (size_t)level / (size_t)levels, end = count * ((size_t)level + 1) / (size_t)levels;
    double sum = 0, used = 0;
    for (size_t i = begin; i < end; i++) {
      sum += bins[i];
      used += bins[i] > 0;
    }
    for (size_t i = begin; i < end; i++) {
      const double p = bins[i] + (i == 0 ? outside[0] : 0) + (i + 1 == count ? outside[1] : 0);
      const double q = bins[i] > 0 ? sum / used : 0;
      if (p > 0) result += p / total * log((p / total) / (q > 0 ? q / inside : 1e-9));
    }
  }
  return result;
}

// Of the ranges whose divergence is at most twice the least, the widest: with few samples the difference is noise, and
// values that are cut cost more than a coarser step.
static byoc_range_t least_divergence(const byoc_observer_t *observer, int levels) {
  const size_t low = bin_of(observer->range.low, observer->limit);
  const size_t high = bin_of(observer->range.high, observer->limit) + 1;
  double least = INFINITY, found[MOST_RANGES];
  size_t halves[MOST_RANGES], count = 0, chosen = 0;
  for (size_t half = HALF_BINS; half >= HALF_BINS / 64 && count < MOST_RANGES; half -= half / 32) {
    const size_t first = HALF_BINS - half > low ? HALF_BINS - half : low;
    const size_t last = HALF_BINS + half < high ? HALF_BINS + half : high;
    if (last <= first) break;
    halves[count] = half;
    found[count] = divergence(observer, first, last, levels);
    least = fmin(least, found[count++]);
  }
  while (chosen < count && found[chosen] > 2 * least) chosen++;
  const size_t best_half = chosen < count ? halves[chosen] : HALF_BINS;
  return within(observer, edge(observer, (double)(HALF_BINS - best_half)),
                edge(observer, (double)(HALF_BINS + best_half)));
}

byoc_range_t byoc_observer_range(const byoc_observer_t *observer, const byoc_range_options_t *options) {
  if (observer->bins == NULL || observer->limit == 0) return observer->range;
  switch (options->method) {
  case BYOC_RANGE_PERCENTILE:
    return percentile(observer, options->percentile);
  case BYOC_RANGE_ENTROPY:
    return least_divergence(observer, options->levels);
  default:
    return observer->range;
  }
}

// ---- scales ----

void byoc_integer_limits(byoc_dtype_t dtype, int32_t *out_least, int32_t *out_most) {
  const uint32_t bits = byoc_dtype_bits(dtype);
  const int64_t steps = INT64_C(1) << bits;
  const bool is_signed = byoc_dtype_is_signed_integer(dtype);
  *out_least = is_signed ? (int32_t)(-steps / 2) : 0;
  *out_most = (int32_t)(is_signed ? steps / 2 - 1 : steps - 1);
}

byoc_scale_t byoc_range_scale(byoc_range_t range, byoc_dtype_t dtype, bool is_symmetric) {
  int32_t least, most;
  byoc_integer_limits(dtype, &least, &most);
  const int32_t middle = (int32_t)(((int64_t)least + most + 1) / 2);
  const double low = fmin(range.low, 0), high = fmax(range.high, 0);
  byoc_scale_t result = {1, is_symmetric ? middle : least};
  if (is_symmetric) {
    result.scale = (float)(fmax(-low, high) / (most - middle));
  } else {
    result.scale = (float)((high - low) / ((double)most - least));
  }
  if (!(result.scale >= 1e-30f)) { // all are zero, or as good as that
    result.scale = 1;
    return result;
  }
  if (!is_symmetric) {
    const double zero = nearbyint(least - low / (double)result.scale);
    result.zero = zero < least ? least : zero > most ? most : (int32_t)zero;
  }
  return result;
}
