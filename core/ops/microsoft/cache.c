// SPDX-License-Identifier: Apache-2.0
// com.microsoft: caches of keys and values that hold a window, or numbers of few bits.
#include "core/ops/microsoft/cache.h"

// ---- windows ----

byoc_value_t *byoc_cache_held(byoc_writer_t *w, byoc_value_t *tokens, byoc_value_t *room, int64_t window) {
  byoc_value_t *freed = byoc_write_plain(w, "Sub", room, byoc_microsoft_integer(w, window - 1)); // at once
  byoc_value_t *over =
      byoc_write_plain(w, "Max", byoc_write_plain(w, "Sub", tokens, room), byoc_microsoft_integer(w, 0));
  byoc_value_t *less = byoc_write_plain(w, "Sub", freed, byoc_microsoft_integer(w, 1));
  byoc_value_t *times = byoc_write_plain(w, "Div", byoc_write_plain(w, "Add", over, less), freed);
  return byoc_write_plain(w, "Sub", tokens, byoc_write_plain(w, "Mul", times, freed));
}

byoc_value_t *byoc_cache_cut(byoc_writer_t *w, byoc_value_t *cache, byoc_value_t *first, byoc_value_t *like) {
  static const int64_t behind[] = {1}, between[] = {1, 3};
  if (!cache || !first || w->failed) return NULL;
  const byoc_attribute_t axis = byoc_write_int("axis", 2);
  byoc_value_t *places = byoc_microsoft_count(w, byoc_microsoft_size(w, like, 2));
  places = byoc_write_plain(w, "Add", byoc_microsoft_unsqueeze(w, first, behind, 1), places);
  byoc_value_t *last = byoc_write_plain(w, "Sub", byoc_microsoft_size(w, cache, 2), byoc_microsoft_integer(w, 1));
  places = byoc_microsoft_unsqueeze(w, byoc_write_plain(w, "Min", places, last), between, 2);
  places = byoc_write_plain(w, "Expand", places, byoc_write_plain(w, "Shape", like, NULL));
  return byoc_write_node(w, "", "GatherElements", cache, places, NULL, &axis, 1);
}

// ---- few bits ----

// Numbers of half a byte: how many there are, and the one for 0.
enum { HALF_COUNT = 16, HALF_ZERO = 8 };

// [1], or [1, heads, 1, size]: the scale of the numbers, in an element type.
static byoc_value_t *write_scale(byoc_writer_t *w, const byoc_cache_numbers_t *numbers, byoc_dtype_t dtype) {
  const int64_t one = 1, dims[] = {1, numbers->heads, 1, -1};
  const bool is_single = numbers->heads == 0;
  return byoc_write_cast(w, byoc_write_reshape(w, numbers->scale, is_single ? &one : dims, is_single ? 1 : 4), dtype);
}

static byoc_value_t *write_half(byoc_writer_t *w, byoc_value_t *x, int64_t half) {
  const byoc_attribute_t last = byoc_write_int("axis", -1);
  return byoc_write_node(w, "", "Gather", x, byoc_write_scalar(w, byoc_microsoft_integer(w, half)), NULL, &last, 1);
}

byoc_value_t *byoc_cache_quantise(byoc_writer_t *w, byoc_value_t *x, const byoc_cache_numbers_t *numbers) {
  static const int64_t pairs[] = {0, 0, 0, -1, 2};
  if (!x || w->failed) return NULL;
  const double most = numbers->bits == 8 ? INT8_MAX : HALF_COUNT - 1 - HALF_ZERO;
  x = byoc_write_cast(w, x, BYOC_DTYPE_F32);
  x = byoc_write_plain(w, "Div", x, write_scale(w, numbers, BYOC_DTYPE_F32));
  byoc_value_t *least = byoc_microsoft_number(w, x, -most - 1);
  x = byoc_write_node(w, "", "Clip", byoc_write_plain(w, "Round", x, NULL), least, byoc_microsoft_number(w, x, most),
                      NULL, 0);
  if (numbers->bits == 8) return byoc_write_cast(w, x, BYOC_DTYPE_I8);
  x = byoc_write_plain(w, "Add", x, byoc_microsoft_number(w, x, HALF_ZERO));
  x = byoc_write_reshape(w, x, pairs, 5);
  byoc_value_t *high = write_half(w, x, 1);
  high = byoc_write_plain(w, "Mul", high, byoc_microsoft_number(w, high, HALF_COUNT));
  return byoc_write_cast(w, byoc_write_plain(w, "Add", write_half(w, x, 0), high), BYOC_DTYPE_U8);
}

// [..., size / 2] bytes → [..., size] numbers from -8 to 7, as i32
static byoc_value_t *write_unpacked(byoc_writer_t *w, byoc_value_t *cache) {
  static const int64_t flat[] = {0, 0, 0, -1}, behind[] = {4};
  cache = byoc_write_cast(w, cache, BYOC_DTYPE_I32);
  byoc_value_t *base = byoc_write_cast(w, byoc_microsoft_integer(w, HALF_COUNT), BYOC_DTYPE_I32);
  byoc_value_t *halves[] = {byoc_write_plain(w, "Mod", cache, base), byoc_write_plain(w, "Div", cache, base)};
  for (int i = 0; i < 2; ++i) halves[i] = byoc_microsoft_unsqueeze(w, halves[i], behind, 1);
  const byoc_attribute_t last = byoc_write_int("axis", -1);
  if (w->failed) return NULL;
  byoc_node_t *joined = byoc_write_many(w, "", "Concat", halves, 2, 1, &last, 1);
  byoc_value_t *numbers = joined ? byoc_write_reshape(w, joined->results[0], flat, 4) : NULL;
  return byoc_write_plain(w, "Sub", numbers, byoc_write_cast(w, byoc_microsoft_integer(w, HALF_ZERO), BYOC_DTYPE_I32));
}

byoc_value_t *byoc_cache_restore(byoc_writer_t *w, byoc_value_t *cache, const byoc_cache_numbers_t *numbers,
                                 const byoc_value_t *like) {
  if (!cache || w->failed) return NULL;
  const byoc_dtype_t dtype = like->type->dtype;
  cache = byoc_write_cast(w, numbers->bits == 8 ? cache : write_unpacked(w, cache), dtype);
  return byoc_write_plain(w, "Mul", cache, write_scale(w, numbers, dtype));
}
