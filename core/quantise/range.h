// SPDX-License-Identifier: Apache-2.0
// Ranges of values that runs have shown, and the scales that follow from them. Internal to core/quantise.
//
// Example:
//   byoc_observer_t observer = {.keeps_histogram = true};
//   if (byoc_observer_take(&observer, samples, count, &arena) != BYOC_OBSERVED) return BYOC_INVALID_DATA;
//   const byoc_range_options_t options = {.method = BYOC_RANGE_PERCENTILE, .percentile = 99.99};
//   byoc_scale_t scale = byoc_range_scale(byoc_observer_range(&observer, &options), BYOC_DTYPE_U8, false);
#ifndef BYOC_CORE_QUANTISE_RANGE_H_
#define BYOC_CORE_QUANTISE_RANGE_H_

#include "byoc/dtype.h"
#include "core/base/arena.h"

// X(NAME, "word", "help")
#define BYOC_RANGE_METHOD_LIST(X)                                                                                      \
  X(MINMAX, "minmax", "all values that the samples give")                                                              \
  X(PERCENTILE, "percentile", "without the outermost ones")                                                            \
  X(ENTROPY, "entropy", "the range that changes the distribution least (Kullback and Leibler)")
#define BYOC_RANGE_METHOD_ENUM(NAME, word, help) BYOC_RANGE_##NAME,
typedef enum byoc_range_method_t {
  BYOC_RANGE_METHOD_LIST(BYOC_RANGE_METHOD_ENUM) BYOC_RANGE_METHOD_COUNT
} byoc_range_method_t;
#undef BYOC_RANGE_METHOD_ENUM

typedef struct byoc_range_options_t {
  byoc_range_method_t method;
  double percentile; // of the values that stay within the range
  int levels;        // steps of the integers, for the entropy
} byoc_range_options_t;

typedef struct byoc_range_t {
  double low, high;
} byoc_range_t;

// real = (integer - zero) * scale
typedef struct byoc_scale_t {
  float scale;
  int32_t zero;
} byoc_scale_t;

typedef struct byoc_observer_t {
  bool keeps_histogram;
  size_t channel_count; // along the last axis; 0: none are watched
  // What was seen; all zeros at first.
  byoc_range_t range;
  uint64_t count, zero_count;
  double limit;          // the histogram goes from -limit to limit
  uint64_t *bins;        // without zeros, which every scale has exactly
  float *channel_limits; // the largest absolute value of each channel
} byoc_observer_t;

typedef enum byoc_observed_t {
  BYOC_OBSERVED,
  BYOC_OBSERVED_NAN,
  BYOC_OBSERVED_INFINITY,
  BYOC_OBSERVED_NO_MEMORY,
} byoc_observed_t;

// Looks at the elements of a tensor, whose last axis has `channel_count` if channels are watched.
byoc_observed_t byoc_observer_take(byoc_observer_t *observer, const float *data, size_t count, byoc_arena_t *arena);
// The range that the method chooses; 0 is in it.
byoc_range_t byoc_observer_range(const byoc_observer_t *observer, const byoc_range_options_t *options);
byoc_range_t byoc_range_union(byoc_range_t a, byoc_range_t b);
// Scale and zero point of integers of 8 or 16 bits. Symmetric: the zero point is in the middle.
byoc_scale_t byoc_range_scale(byoc_range_t range, byoc_dtype_t dtype, bool is_symmetric);
// The smallest and the largest integer of a type of 2 to 32 bits.
void byoc_integer_limits(byoc_dtype_t dtype, int32_t *out_least, int32_t *out_most);

#endif // BYOC_CORE_QUANTISE_RANGE_H_
