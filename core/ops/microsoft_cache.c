// SPDX-License-Identifier: Apache-2.0
// com.microsoft: caches of keys and values that hold a window, or numbers of few bits.
#include "core/ops/microsoft_cache.h"

static byoc_value_t *write_number(byoc_writer_t *w, int64_t value) {
  return byoc_write_vector(w, "number", BYOC_DTYPE_I64, 1, &value);
}

// ---- windows ----

byoc_value_t *byoc_cache_held(byoc_writer_t *w, byoc_value_t *tokens, byoc_value_t *room, int64_t window) {
  byoc_value_t *freed = byoc_write_plain(w, "Sub", room, write_number(w, window - 1)); // at once
  byoc_value_t *over = byoc_write_plain(w, "Max", byoc_write_plain(w, "Sub", tokens, room), write_number(w, 0));
  byoc_value_t *less = byoc_write_plain(w, "Sub", freed, write_number(w, 1));
  byoc_value_t *times = byoc_write_plain(w, "Div", byoc_write_plain(w, "Add", over, less), freed);
  return byoc_write_plain(w, "Sub", tokens, byoc_write_plain(w, "Mul", times, freed));
}

byoc_value_t *byoc_cache_cut(byoc_writer_t *w, byoc_value_t *cache, byoc_value_t *first, byoc_value_t *like) {
  static const int64_t behind[] = {1}, between[] = {1, 3};
  if (!cache || !first || w->failed) return NULL;
  const byoc_attribute_t axis = byoc_write_int("axis", 2);
  byoc_value_t *places = byoc_microsoft_count(w, byoc_microsoft_size(w, like, 2));
  places = byoc_write_plain(w, "Add", byoc_microsoft_unsqueeze(w, first, behind, 1), places);
  byoc_value_t *last = byoc_write_plain(w, "Sub", byoc_microsoft_size(w, cache, 2), write_number(w, 1));
  places = byoc_microsoft_unsqueeze(w, byoc_write_plain(w, "Min", places, last), between, 2);
  places = byoc_write_plain(w, "Expand", places, byoc_write_plain(w, "Shape", like, NULL));
  return byoc_write_node(w, "", "GatherElements", cache, places, NULL, &axis, 1);
}

// ---- few bits ----

// One number, or [1, heads, 1, size].
static byoc_value_t *write_scale(byoc_writer_t *w, byoc_value_t *scale, const byoc_type_t *type) {
  const int64_t one = 1, dims[] = {1, type->dims[1].constant, 1, -1};
  const bool is_single = byoc_type_element_count(scale->type) == 1;
  return byoc_write_reshape(w, scale, is_single ? &one : dims, is_single ? 1 : 4);
}

static byoc_value_t *write_half(byoc_writer_t *w, byoc_value_t *x, int64_t half) {
  const byoc_attribute_t last = byoc_write_int("axis", -1);
  return byoc_write_node(w, "", "Gather", x, byoc_write_scalar(w, write_number(w, half)), NULL, &last, 1);
}

byoc_value_t *byoc_cache_quantise(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *scale, int64_t bits) {
  static const int64_t pairs[] = {0, 0, 0, -1, 2};
  if (!x || w->failed) return NULL;
  const double most = bits == 8 ? 127 : 7;
  x = byoc_write_cast(w, x, BYOC_DTYPE_F32);
  x = byoc_write_plain(w, "Div", x, x ? byoc_write_cast(w, write_scale(w, scale, x->type), BYOC_DTYPE_F32) : NULL);
  byoc_value_t *least = byoc_microsoft_number(w, x, -most - 1);
  x = byoc_write_node(w, "", "Clip", byoc_write_plain(w, "Round", x, NULL), least, byoc_microsoft_number(w, x, most),
                      NULL, 0);
  if (bits == 8) return byoc_write_cast(w, x, BYOC_DTYPE_I8);
  x = byoc_write_plain(w, "Add", x, byoc_microsoft_number(w, x, most + 1));
  x = byoc_write_reshape(w, x, pairs, 5);
  byoc_value_t *high = write_half(w, x, 1);
  high = byoc_write_plain(w, "Mul", high, byoc_microsoft_number(w, high, 16));
  return byoc_write_cast(w, byoc_write_plain(w, "Add", write_half(w, x, 0), high), BYOC_DTYPE_U8);
}

// [..., size / 2] bytes → [..., size] numbers from -8 to 7, as i32
static byoc_value_t *write_unpacked(byoc_writer_t *w, byoc_value_t *cache) {
  static const int64_t flat[] = {0, 0, 0, -1}, behind[] = {4};
  const int64_t sixteen = 16, zero = 8;
  cache = byoc_write_cast(w, cache, BYOC_DTYPE_I32);
  byoc_value_t *base = byoc_write_cast(w, write_number(w, sixteen), BYOC_DTYPE_I32);
  byoc_value_t *halves[] = {byoc_write_plain(w, "Mod", cache, base), byoc_write_plain(w, "Div", cache, base)};
  for (int i = 0; i < 2; ++i) halves[i] = byoc_microsoft_unsqueeze(w, halves[i], behind, 1);
  const byoc_attribute_t last = byoc_write_int("axis", -1);
  if (w->failed) return NULL;
  byoc_node_t *joined = byoc_write_many(w, "", "Concat", halves, 2, 1, &last, 1);
  byoc_value_t *numbers = joined ? byoc_write_reshape(w, joined->results[0], flat, 4) : NULL;
  return byoc_write_plain(w, "Sub", numbers, byoc_write_cast(w, write_number(w, zero), BYOC_DTYPE_I32));
}

byoc_value_t *byoc_cache_restore(byoc_writer_t *w, byoc_value_t *cache, byoc_value_t *scale, int64_t bits,
                                 const byoc_value_t *like) {
  if (!cache || w->failed) return NULL;
  const byoc_type_t *type = cache->type;
  byoc_value_t *numbers = bits == 8 ? cache : write_unpacked(w, cache);
  numbers = byoc_write_cast(w, numbers, like->type->dtype);
  return byoc_write_plain(w, "Mul", numbers, byoc_write_cast(w, write_scale(w, scale, type), like->type->dtype));
}
