// SPDX-License-Identifier: Apache-2.0
// Checks that a program makes when it runs.
#include "core/runtime/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/runtime/atomics.h"

int32_t byoc_check_dims(const byoc_call_t *call) {
  const int64_t *actual = call->tensors[0].data, *declared = call->tensors[1].data;
  const char *const *names = call->tensors[2].data;
  for (int64_t i = 0; i < call->tensors[0].shape[0]; ++i) {
    if (actual[i] == declared[i]) continue;
    char text[400];
    snprintf(text, sizeof(text), "%s is %lld, but the model declares %lld; export it without that shape", names[i],
             (long long)actual[i], (long long)declared[i]);
    call->runtime->set_error(call->runtime->self, text);
    return BYOC_INVALID_ARGUMENT;
  }
  return BYOC_OK;
}

// ---- elements ----

typedef struct range_t {
  const void *data;
  int64_t low, high;      // where all elements have one extent, otherwise not used
  const int64_t *extents; // of element i: extents[i % count]
  int64_t count;
  byoc_range_kind_t kind;
  int64_t less, ignored;
  bool ignores;
  byoc_atomic_bool_t *found; // set by a chunk with an element that is outside
} range_t;

static int64_t least_of(const range_t *range, int64_t extent) {
  if (range->kind == BYOC_RANGE_POSITIVE) return 1;
  return range->kind == BYOC_RANGE_INDEX && extent > 0 ? -extent : 0;
}

static int64_t most_of(const range_t *range, int64_t extent) {
  if (extent == BYOC_RANGE_FREE || range->kind == BYOC_RANGE_POSITIVE) return INT64_MAX;
  if (extent < 0) return -1;
  return range->kind == BYOC_RANGE_INDEX ? extent - 1 : extent - range->less;
}

static bool is_inside(const range_t *range, int64_t value, int64_t i) {
  const int64_t extent = range->extents[i % range->count];
  if (range->kind == BYOC_RANGE_NOT_ZERO) return value != 0;
  if (extent == BYOC_RANGE_FREE || (range->ignores && value == range->ignored)) return true;
  return value >= least_of(range, extent) && value <= most_of(range, extent);
}

// One extent for all elements is the usual case. Its loop has no branch: the sign of a difference shows whether an
// element is outside, and signs are collected in a whole vector. A difference that wraps may have the wrong sign: the
// elements are then checked again, one by one.
enum { PLACES = 8 };

#define ELEMENTS(name, type, wide)                                                                                     \
  static bool inside_##name(const range_t *range, int64_t begin, int64_t end) {                                        \
    const type *values = range->data;                                                                                  \
    const wide low = (wide)range->low, high = (wide)range->high;                                                       \
    wide outside[PLACES] = {0}, any = 0;                                                                               \
    int64_t i = begin;                                                                                                 \
    for (; i + PLACES <= end; i += PLACES) {                                                                           \
      for (int k = 0; k < PLACES; ++k) outside[k] |= ((wide)values[i + k] - low) | (high - (wide)values[i + k]);       \
    }                                                                                                                  \
    for (; i < end; ++i) any |= ((wide)values[i] - low) | (high - (wide)values[i]);                                    \
    for (int k = 0; k < PLACES; ++k) any |= outside[k];                                                                \
    return any >> (8 * sizeof(wide) - 1) == 0;                                                                         \
  }                                                                                                                    \
  static bool divides_##name(const range_t *range, int64_t begin, int64_t end) {                                       \
    const type *values = range->data;                                                                                  \
    wide signs[PLACES], all = (wide)-1;                                                                                \
    int64_t i = begin;                                                                                                 \
    for (int k = 0; k < PLACES; ++k) signs[k] = (wide)-1;                                                              \
    for (; i + PLACES <= end; i += PLACES) {                                                                           \
      for (int k = 0; k < PLACES; ++k) signs[k] &= (wide)values[i + k] | (0 - (wide)values[i + k]);                    \
    }                                                                                                                  \
    for (; i < end; ++i) all &= (wide)values[i] | (0 - (wide)values[i]);                                               \
    for (int k = 0; k < PLACES; ++k) all &= signs[k];                                                                  \
    return all >> (8 * sizeof(wide) - 1) != 0;                                                                         \
  }
ELEMENTS(i8, int8_t, uint32_t)
ELEMENTS(u8, uint8_t, uint32_t)
ELEMENTS(i16, int16_t, uint32_t)
ELEMENTS(u16, uint16_t, uint32_t)
ELEMENTS(i32, int32_t, uint32_t)
ELEMENTS(u32, uint32_t, uint64_t)
ELEMENTS(i64, int64_t, uint64_t)
ELEMENTS(u64, uint64_t, uint64_t)

#define ELEMENT_AT(name, type)                                                                                         \
  static int64_t at_##name(const void *data, int64_t i) {                                                              \
    return (int64_t)((const type *)data)[i];                                                                           \
  }
ELEMENT_AT(i8, int8_t)
ELEMENT_AT(u8, uint8_t)
ELEMENT_AT(i16, int16_t)
ELEMENT_AT(u16, uint16_t)
ELEMENT_AT(i32, int32_t)
ELEMENT_AT(u32, uint32_t)
ELEMENT_AT(i64, int64_t)
static int64_t at_u64(const void *data, int64_t i) {
  const uint64_t value = ((const uint64_t *)data)[i];
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

typedef struct element_t {
  uint8_t code, bits;
  int64_t least, most; // of the type, as far as i64 goes
  int64_t (*at)(const void *data, int64_t i);
  bool (*inside)(const range_t *range, int64_t begin, int64_t end);
  bool (*divides)(const range_t *range, int64_t begin, int64_t end);
} element_t;

#define ROW(code, bits, least, most, name)                                                                             \
  { code, bits, least, most, at_##name, inside_##name, divides_##name }
static const element_t elements[] = {
    ROW(kDLInt, 32, INT32_MIN, INT32_MAX, i32), ROW(kDLInt, 64, INT64_MIN, INT64_MAX, i64),
    ROW(kDLInt, 8, INT8_MIN, INT8_MAX, i8),     ROW(kDLUInt, 8, 0, UINT8_MAX, u8),
    ROW(kDLInt, 16, INT16_MIN, INT16_MAX, i16), ROW(kDLUInt, 16, 0, UINT16_MAX, u16),
    ROW(kDLUInt, 32, 0, UINT32_MAX, u32),       ROW(kDLUInt, 64, 0, INT64_MAX, u64),
};

static const element_t *element_of(DLDataType dtype) {
  for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); ++i) {
    if (elements[i].code == dtype.code && elements[i].bits == dtype.bits) return &elements[i];
  }
  return NULL;
}

typedef struct scan_t {
  const range_t *range;
  const element_t *element;
  bool is_plain; // one extent, nothing ignored
} scan_t;

static bool all_inside(const scan_t *scan, int64_t begin, int64_t end) {
  const range_t *range = scan->range;
  if (range->kind == BYOC_RANGE_NOT_ZERO) return scan->element->divides(range, begin, end);
  if (scan->is_plain) return scan->element->inside(range, begin, end);
  for (int64_t i = begin; i < end; ++i) {
    if (!is_inside(range, scan->element->at(range->data, i), i)) return false;
  }
  return true;
}

static void scan_share(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const scan_t *scan = argument;
  (void)worker;
  if (!all_inside(scan, begin, end)) atomic_store(scan->range->found, true);
}

// Turns one extent for all elements into limits that the element type can hold. False: no element is inside.
static bool set_limits(range_t *range, const element_t *element) {
  range->low = least_of(range, range->extents[0]), range->high = most_of(range, range->extents[0]);
  if (range->low < element->least) range->low = element->least;
  if (range->high > element->most) range->high = element->most;
  return range->low <= range->high;
}

// The position of the first index that repeats an earlier one, for up to 64 different indices; the number of indices if
// none does.
static int64_t find_repeated(const byoc_call_t *call, const range_t *range, const element_t *element, int64_t count) {
  const int64_t extent = range->extents[0], *rules = call->tensors[2].data;
  uint64_t seen = 0;
  if (rules[BYOC_RANGE_DISTINCT] == 0 || range->kind != BYOC_RANGE_INDEX || extent > 64) return count;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = element->at(range->data, i);
    const uint64_t bit = UINT64_C(1) << (value < 0 ? value + extent : value);
    if ((seen & bit) != 0) return i;
    seen |= bit;
  }
  return count;
}

static int32_t refuse_repeated(const byoc_call_t *call, const range_t *range, int64_t i, int64_t value) {
  const char *const *name = call->tensors[3].data;
  const int64_t index = value < 0 ? value + range->extents[0] : value;
  char text[480];
  (void)snprintf(text, sizeof(text), "%s: element %lld names %lld a second time", name[0], (long long)i,
                 (long long)index);
  call->runtime->set_error(call->runtime->self, text);
  return BYOC_INVALID_ARGUMENT;
}

static int32_t refuse_element(const byoc_call_t *call, const range_t *range, int64_t i, int64_t value) {
  const char *const *name = call->tensors[3].data;
  const long long extent = (long long)range->extents[i % range->count];
  const long long least = (long long)least_of(range, extent), most = (long long)most_of(range, extent);
  char text[480];
  int length = snprintf(text, sizeof(text), "%s: element %lld is %lld", name[0], (long long)i, (long long)value);
  char *rest = text + (length < (int)sizeof(text) ? length : (int)sizeof(text) - 1);
  const size_t room = (size_t)(text + sizeof(text) - rest);
  if (range->kind == BYOC_RANGE_NOT_ZERO) {
    (void)snprintf(rest, room, "; it must not be 0");
  } else if (range->kind == BYOC_RANGE_POSITIVE) {
    (void)snprintf(rest, room, "; expected values of at least 1");
  } else if (most < least) {
    (void)snprintf(rest, room, ", but there are none");
  } else {
    const bool is_index = range->kind == BYOC_RANGE_INDEX || range->less == 1;
    length = snprintf(rest, room, "; expected values in [%lld, %lld]", least, most);
    if (is_index && length < (int)room)
      (void)snprintf(rest + length, room - (size_t)length, ", the extent is %lld", extent);
  }
  call->runtime->set_error(call->runtime->self, text);
  return BYOC_INVALID_ARGUMENT;
}

int32_t byoc_check_range(const byoc_call_t *call) {
  enum { SHARED_FROM = 1 << 17, SHARE = 1 << 15 };
  const DLTensor *values = &call->tensors[0];
  const int64_t *rules = call->tensors[2].data;
  const element_t *element = element_of(values->dtype);
  byoc_atomic_bool_t found = false;
  range_t range = {.data = values->data,
                   .extents = call->tensors[1].data,
                   .count = call->tensors[1].shape[0],
                   .kind = (byoc_range_kind_t)rules[BYOC_RANGE_KIND],
                   .less = rules[BYOC_RANGE_LESS] > 0 ? rules[BYOC_RANGE_LESS] : 0,
                   .ignored = rules[BYOC_RANGE_IGNORED],
                   .ignores = rules[BYOC_RANGE_IGNORES] != 0,
                   .found = &found};
  int64_t count = 1;
  for (int32_t d = 0; d < values->ndim; ++d) count *= values->shape[d];
  for (int64_t k = 0; range.kind == BYOC_RANGE_NOT_ZERO && k < range.count; ++k) count *= range.extents[k] != 0;
  if (element == NULL || range.count < 1 || count == 0) return BYOC_OK;
  scan_t scan = {&range, element, range.count == 1 && !range.ignores && range.extents[0] != BYOC_RANGE_FREE};
  if (scan.is_plain && range.kind != BYOC_RANGE_NOT_ZERO) scan.is_plain = set_limits(&range, element);
  if (count >= SHARED_FROM && call->runtime->thread_count > 1) {
    call->runtime->parallel_for(call->runtime->self, scan_share, &scan, count, SHARE);
    if (!atomic_load(&found)) return BYOC_OK;
  } else if (all_inside(&scan, 0, count)) {
    const int64_t repeated = find_repeated(call, &range, element, count);
    if (repeated == count) return BYOC_OK;
    return refuse_repeated(call, &range, repeated, element->at(values->data, repeated));
  }
  int64_t i = 0;
  while (i < count && is_inside(&range, element->at(values->data, i), i)) ++i;
  return i < count ? refuse_element(call, &range, i, element->at(values->data, i)) : BYOC_OK;
}

int32_t byoc_check_fail(const byoc_call_t *call) {
  const char *const *text = call->tensors[0].data;
  call->runtime->set_error(call->runtime->self, text[0]);
  return BYOC_INVALID_ARGUMENT;
}

int32_t byoc_check_devices(const byoc_call_t *call) {
  *(bool *)call->tensors[0].data = call->runtime->has_devices != 0;
  return BYOC_OK;
}

int32_t byoc_check_engines(const byoc_call_t *call) {
  *(bool *)call->tensors[0].data = call->runtime->has_engines != 0;
  return BYOC_OK;
}

int32_t byoc_check_threads(const byoc_call_t *call) {
  *(bool *)call->tensors[1].data = call->runtime->thread_count >= *(const int64_t *)call->tensors[0].data;
  return BYOC_OK;
}

byoc_packed_function_t byoc_check_find(const char *symbol) {
  if (strcmp(symbol, BYOC_CHECK_DIMS) == 0) return byoc_check_dims;
  if (strcmp(symbol, BYOC_CHECK_RANGE) == 0) return byoc_check_range;
  if (strcmp(symbol, BYOC_CHECK_FAIL) == 0) return byoc_check_fail;
  if (strcmp(symbol, BYOC_CHECK_THREADS) == 0) return byoc_check_threads;
  if (strcmp(symbol, BYOC_CHECK_ENGINES) == 0) return byoc_check_engines;
  return strcmp(symbol, BYOC_CHECK_DEVICES) == 0 ? byoc_check_devices : NULL;
}
