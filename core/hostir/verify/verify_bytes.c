// SPDX-License-Identifier: Apache-2.0
// Keeps sets of bytes as sorted ranges, for the verifier of host programs.
#include "core/hostir/verify/verify_bytes.h"

#include <string.h>

// The index of the first range that ends at `offset` or behind it.
static size_t find_range(const byoc_byte_set_t *set, uint64_t offset) {
  size_t low = 0, high = set->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (set->ranges[middle].end < offset) low = middle + 1;
    if (set->ranges[middle].end >= offset) high = middle;
  }
  return low;
}

static bool reserve(byoc_byte_set_t *set, size_t capacity, byoc_arena_t *arena) {
  if (capacity <= set->capacity) return true;
  byoc_byte_range_t *ranges = BYOC_ARENA_ARRAY(arena, byoc_byte_range_t, capacity);
  if (ranges == NULL) return false;
  if (set->count > 0) memcpy(ranges, set->ranges, set->count * sizeof(*ranges));
  set->ranges = ranges;
  set->capacity = capacity;
  return true;
}

bool byoc_byte_set_add(byoc_byte_set_t *set, byoc_byte_range_t range, byoc_arena_t *arena) {
  if (range.begin >= range.end) return true;
  // Ranges from `first` up to `behind` touch the new one and become one with it.
  size_t first = find_range(set, range.begin), behind = first;
  while (behind < set->count && set->ranges[behind].begin <= range.end) ++behind;
  if (first == behind) {
    if (set->count == set->capacity && !reserve(set, set->count > 0 ? 2 * set->count : 1, arena)) return false;
    memmove(&set->ranges[first + 1], &set->ranges[first], (set->count - first) * sizeof(range));
    set->ranges[first] = range;
    set->count++;
    return true;
  }
  if (set->ranges[first].begin < range.begin) range.begin = set->ranges[first].begin;
  if (set->ranges[behind - 1].end > range.end) range.end = set->ranges[behind - 1].end;
  set->ranges[first] = range;
  if (behind > first + 1) memmove(&set->ranges[first + 1], &set->ranges[behind], (set->count - behind) * sizeof(range));
  set->count -= behind - first - 1;
  return true;
}

bool byoc_byte_set_copy(const byoc_byte_set_t *set, byoc_arena_t *arena, byoc_byte_set_t *out_copy) {
  *out_copy = (byoc_byte_set_t){0};
  if (!reserve(out_copy, set->count, arena)) return false;
  if (set->count > 0) memcpy(out_copy->ranges, set->ranges, set->count * sizeof(*set->ranges));
  out_copy->count = set->count;
  return true;
}

bool byoc_byte_set_intersect(const byoc_byte_set_t *a, const byoc_byte_set_t *b, byoc_arena_t *arena,
                             byoc_byte_set_t *out_both) {
  *out_both = (byoc_byte_set_t){0};
  if (a->count == 0 || b->count == 0) return true;
  if (!reserve(out_both, a->count + b->count, arena)) return false;
  for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
    const byoc_byte_range_t *x = &a->ranges[i], *y = &b->ranges[k];
    const byoc_byte_range_t both = {x->begin > y->begin ? x->begin : y->begin, x->end < y->end ? x->end : y->end};
    if (both.begin < both.end) out_both->ranges[out_both->count++] = both;
    if (x->end <= y->end) ++i;
    if (y->end <= x->end) ++k;
  }
  return true;
}

bool byoc_byte_set_covers(const byoc_byte_set_t *set, byoc_byte_range_t range, byoc_byte_range_t *out_gap) {
  if (range.begin >= range.end) return true;
  size_t at = find_range(set, range.begin + 1);
  *out_gap = range;
  if (at == set->count) return false;
  const byoc_byte_range_t *found = &set->ranges[at];
  if (found->begin <= range.begin && found->end >= range.end) return true;
  if (found->begin > range.begin) {
    if (found->begin < range.end) out_gap->end = found->begin;
    return false;
  }
  out_gap->begin = found->end;
  if (at + 1 < set->count && set->ranges[at + 1].begin < range.end) out_gap->end = set->ranges[at + 1].begin;
  return false;
}

bool byoc_byte_set_touches(const byoc_byte_set_t *set, byoc_byte_range_t range) {
  if (range.begin >= range.end) return false;
  size_t at = find_range(set, range.begin + 1);
  return at < set->count && set->ranges[at].begin < range.end;
}
