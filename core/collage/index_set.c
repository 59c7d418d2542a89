// SPDX-License-Identifier: Apache-2.0
// Sets of node numbers: made, united, compared and hashed.
#include "core/collage/index_set.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

static int compare_index(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

bool byoc_index_set_make(byoc_arena_t *arena, const uint32_t *indices, size_t count, byoc_index_set_t *out_set) {
  *out_set = (byoc_index_set_t){0};
  uint32_t *items = BYOC_ARENA_ARRAY(arena, uint32_t, count);
  if (items == NULL) return false;
  if (count > 0) memcpy(items, indices, count * sizeof(*items));
  qsort(items, count, sizeof(*items), compare_index);
  uint32_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (kept == 0 || items[kept - 1] != items[i]) items[kept++] = items[i];
  }
  *out_set = (byoc_index_set_t){.items = items, .count = kept};
  return true;
}

bool byoc_index_set_unite(byoc_arena_t *arena, const byoc_index_set_t *a, const byoc_index_set_t *b,
                          byoc_index_set_t *out_set) {
  *out_set = (byoc_index_set_t){0};
  uint32_t *items = BYOC_ARENA_ARRAY(arena, uint32_t, (size_t)a->count + b->count);
  if (items == NULL) return false;
  uint32_t i = 0, j = 0, count = 0;
  while (i < a->count || j < b->count) {
    if (j == b->count || (i < a->count && a->items[i] < b->items[j])) {
      items[count++] = a->items[i++];
    } else {
      if (i < a->count && a->items[i] == b->items[j]) ++i;
      items[count++] = b->items[j++];
    }
  }
  *out_set = (byoc_index_set_t){.items = items, .count = count};
  return true;
}

uint32_t byoc_index_set_position(const byoc_index_set_t *set, uint32_t index) {
  uint32_t low = 0, high = set->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (set->items[middle] < index) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < set->count && set->items[low] == index ? low : UINT32_MAX;
}

bool byoc_index_set_contains(const byoc_index_set_t *set, uint32_t index) {
  return byoc_index_set_position(set, index) != UINT32_MAX;
}

bool byoc_index_set_equal(const byoc_index_set_t *a, const byoc_index_set_t *b) {
  return a->count == b->count && (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof(*a->items)) == 0);
}

bool byoc_index_set_intersects(const byoc_index_set_t *a, const byoc_index_set_t *b) {
  uint32_t i = 0, j = 0;
  while (i < a->count && j < b->count) {
    if (a->items[i] == b->items[j]) return true;
    a->items[i] < b->items[j] ? ++i : ++j;
  }
  return false;
}

uint64_t byoc_index_set_hash(const byoc_index_set_t *set) {
  return byoc_hash_bytes(set->items, set->count * sizeof(*set->items), set->count);
}
