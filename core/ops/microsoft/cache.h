// SPDX-License-Identifier: Apache-2.0
// Caches of keys or values ([batch, heads, room, size]) that hold a window of the latest positions, or numbers of few
// bits, for GroupQueryAttention.
#ifndef BYOC_CORE_OPS_MICROSOFT_CACHE_H_
#define BYOC_CORE_OPS_MICROSOFT_CACHE_H_

#include "core/ops/microsoft/common.h"

// The number of latest positions that a windowed cache with `room` places (i64[1]) holds after `tokens` positions
// (i64[batch]). It holds all until it is full. Then all positions outside of the window are freed together, and at
// least `window` stay.
byoc_value_t *byoc_cache_held(byoc_writer_t *w, byoc_value_t *tokens, byoc_value_t *room, int64_t window);
// The places from `first` on (i64[batch]) of a cache that is longer than `like`, as many as `like` has. Places after
// its end repeat the last one.
byoc_value_t *byoc_cache_cut(byoc_writer_t *w, byoc_value_t *cache, byoc_value_t *first, byoc_value_t *like);

// Numbers of few bits.
typedef struct byoc_cache_numbers_t {
  int64_t bits;        // 8, signed, or 4: two in each byte, the first one in the low bits and 8 for 0
  byoc_value_t *scale; // of the numbers
  int64_t heads;       // each element of a head has a scale; 0: one scale for all
} byoc_cache_numbers_t;

// Bytes that hold x / scale.
byoc_value_t *byoc_cache_quantise(byoc_writer_t *w, byoc_value_t *x, const byoc_cache_numbers_t *numbers);
// The numbers of such bytes, in the element type of `like`.
byoc_value_t *byoc_cache_restore(byoc_writer_t *w, byoc_value_t *cache, const byoc_cache_numbers_t *numbers,
                                 const byoc_value_t *like);

#endif // BYOC_CORE_OPS_MICROSOFT_CACHE_H_
