// SPDX-License-Identifier: Apache-2.0
// Makes, copies and compares values of all types.
#include "arguments.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/ir/element.h"
#include "tests/support/support.h"

enum { ITEMS = 2 };

static double number(byoc_dtype_t dtype, int way, byoc_test_random_t *random) {
  const double drawn = (double)byoc_test_below(random, 12);
  const bool is_float = byoc_dtype_is_any_float(dtype) || byoc_dtype_is_complex(dtype);
  switch (way) {
  case FILL_SIGNED:
    return is_float ? (drawn - 4) / 2 : byoc_dtype_is_signed_integer(dtype) ? drawn - 4 : fmod(drawn, 4);
  case FILL_COUNTS:
    return 1 + fmod(drawn, 3);
  case FILL_ZEROS:
    return 0;
  case FILL_ONES:
    return 1;
  default:
    return is_float ? (drawn + 1) / 16 : fmod(drawn, 2);
  }
}

static bool make_texts(byoc_arena_t *arena, int64_t count, int way, byoc_test_random_t *random, void **out) {
  static const char *const texts[] = {"a", "b c", "", "Zürich a", "7", "ab"}, *const numbers[] = {"3", "-1.5", "0"};
  const char **list = BYOC_ARENA_ARRAY(arena, const char *, (size_t)count + 1);
  for (int64_t i = 0; list != NULL && i < count; ++i)
    list[i] = way == FILL_SIGNED ? texts[byoc_test_below(random, 6)] : numbers[byoc_test_below(random, 3)];
  *out = list;
  return list != NULL;
}

static size_t bytes_of(byoc_dtype_t dtype, int64_t count) {
  return ((size_t)count * byoc_dtype_bits(dtype) + 7) / 8;
}

static bool make_tensor(byoc_arena_t *arena, const byoc_type_t *type, int way, uint64_t seed, byoc_argument_t *out) {
  byoc_test_random_t random = {.state = seed};
  if (type->rank < 0) return false;
  int64_t *dims = BYOC_ARENA_ARRAY(arena, int64_t, (size_t)type->rank + 1), count = 1;
  if (dims == NULL) return false;
  for (int32_t d = 0; d < type->rank; ++d) {
    if (!byoc_dim_is_constant(type->dims[d])) return false;
    count *= dims[d] = type->dims[d].constant;
  }
  *out = (byoc_argument_t){.dtype = type->dtype, .rank = (uint32_t)type->rank, .dims = dims};
  if (type->dtype == BYOC_DTYPE_STRING) return make_texts(arena, count, way, &random, &out->data);
  out->data = byoc_arena_allocate_aligned(arena, bytes_of(type->dtype, count) + 16, 64);
  if (out->data == NULL) return false;
  memset(out->data, 0, bytes_of(type->dtype, count) + 16);
  for (int64_t i = 0; i < count; ++i)
    byoc_element_set_f64(type->dtype, out->data, (size_t)i, number(type->dtype, way, &random));
  return true;
}

bool argument_make(byoc_arena_t *arena, const byoc_type_t *type, int way, uint64_t seed, byoc_argument_t *out) {
  if (byoc_type_is_tensor(type)) return make_tensor(arena, type, way, seed, out);
  if (type->kind != BYOC_TYPE_SEQUENCE && type->kind != BYOC_TYPE_OPTIONAL) return false;
  const bool is_sequence = type->kind == BYOC_TYPE_SEQUENCE;
  *out = (byoc_argument_t){.kind = is_sequence ? BYOC_ARGUMENT_SEQUENCE : BYOC_ARGUMENT_OPTIONAL,
                           .count = is_sequence ? ITEMS : 1};
  out->items = BYOC_ARENA_ARRAY(arena, byoc_argument_t, ITEMS);
  for (uint64_t i = 0; out->items != NULL && i < out->count; ++i) {
    if (!argument_make(arena, type->element, way, seed * 31 + i, &out->items[i])) return false;
  }
  return out->items != NULL;
}

static int64_t count_of(const byoc_argument_t *tensor) {
  int64_t count = 1;
  for (uint32_t d = 0; d < tensor->rank; ++d) count *= tensor->dims[d];
  return count;
}

static bool copy_texts(byoc_arena_t *arena, const byoc_argument_t *from, int64_t count, byoc_argument_t *out) {
  const char **list = BYOC_ARENA_ARRAY(arena, const char *, (size_t)count + 1);
  for (int64_t i = 0; list != NULL && i < count; ++i) {
    const char *text = ((const char *const *)from->data)[i];
    list[i] = byoc_arena_copy(arena, text, strlen(text) + 1);
    if (list[i] == NULL) return false;
  }
  out->data = list;
  return list != NULL;
}

bool argument_copy(byoc_arena_t *arena, const byoc_argument_t *from, byoc_argument_t *out) {
  *out = *from;
  if (from->kind != BYOC_ARGUMENT_TENSOR) {
    out->items = BYOC_ARENA_ARRAY(arena, byoc_argument_t, from->count + 1);
    for (uint64_t i = 0; out->items != NULL && i < from->count; ++i) {
      if (!argument_copy(arena, &from->items[i], &out->items[i])) return false;
    }
    return out->items != NULL;
  }
  const int64_t count = count_of(from);
  int64_t *dims = BYOC_ARENA_ARRAY(arena, int64_t, (size_t)from->rank + 1);
  if (dims == NULL) return false;
  if (from->rank > 0) memcpy(dims, from->dims, from->rank * sizeof *dims);
  out->dims = dims;
  if (from->dtype == BYOC_DTYPE_STRING) return copy_texts(arena, from, count, out);
  const size_t size = bytes_of(from->dtype, count);
  out->data = byoc_arena_allocate_aligned(arena, size + 1, 16);
  if (out->data != NULL && size > 0) memcpy(out->data, from->data, size);
  return out->data != NULL;
}

// ---- comparison ----

static bool near(byoc_dtype_t dtype, double a, double b) {
  if ((isnan(a) && isnan(b)) || a == b) return true;
  if (!byoc_dtype_is_any_float(dtype) && !byoc_dtype_is_complex(dtype)) return false;
  const double tolerance = byoc_dtype_bits(dtype) >= 32 ? 1e-4 : byoc_dtype_bits(dtype) == 16 ? 2e-2 : 0.3;
  return fabs(a - b) <= tolerance * (0.1 + fabs(b));
}

static const char *compare_elements(const byoc_argument_t *is, const byoc_argument_t *wanted) {
  static char text[320];
  const int64_t count = count_of(wanted);
  for (int64_t i = 0; i < count; ++i) {
    if (is->dtype == BYOC_DTYPE_STRING) {
      const char *a = ((const char *const *)is->data)[i], *b = ((const char *const *)wanted->data)[i];
      snprintf(text, sizeof text, "element %lld is '%.100s' instead of '%.100s'", (long long)i, a, b);
      if (strcmp(a, b) != 0) return text;
      continue;
    }
    const double a = byoc_element_f64(is->dtype, is->data, (size_t)i);
    const double b = byoc_element_f64(is->dtype, wanted->data, (size_t)i);
    snprintf(text, sizeof text, "element %lld is %.9g instead of %.9g", (long long)i, a, b);
    if (!near(is->dtype, a, b)) return text;
  }
  return NULL;
}

const char *argument_difference(const byoc_argument_t *is, const byoc_argument_t *wanted) {
  static char text[160];
  if (is->kind != wanted->kind) return "another kind";
  if (is->kind != BYOC_ARGUMENT_TENSOR) {
    if (is->count != wanted->count) return "another number of items";
    for (uint64_t i = 0; i < is->count; ++i) {
      const char *difference = argument_difference(&is->items[i], &wanted->items[i]);
      if (difference != NULL) return difference;
    }
    return NULL;
  }
  if (is->dtype != wanted->dtype || is->rank != wanted->rank) return "another type";
  for (uint32_t d = 0; d < is->rank; ++d) {
    snprintf(text, sizeof text, "dimension %u is %lld instead of %lld", d, (long long)is->dims[d],
             (long long)wanted->dims[d]);
    if (is->dims[d] != wanted->dims[d]) return text;
  }
  return compare_elements(is, wanted);
}
