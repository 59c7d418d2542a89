// SPDX-License-Identifier: Apache-2.0
// First fit over lifetimes: finds the placed buffers that live at the same time by a segment tree over instructions.
#include "core/hostir/pass/first_fit.h"

#include <string.h>

// A buffer that lives at the same time as more than 1/FEW of the placed ones is compared with all of them in order of
// offset; that costs less than sorting the ones that it overlaps.
enum { FEW = 64, ALWAYS_FEW = 64 };

bool byoc_first_fit_init(byoc_first_fit_t *fit, uint32_t time_count, uint32_t buffer_count, byoc_arena_t *arena) {
  *fit = (byoc_first_fit_t){.arena_allocator = byoc_arena_allocator(arena), .time_count = 1};
  while (fit->time_count < time_count) fit->time_count *= 2;
  fit->placed = BYOC_ARENA_ARRAY(arena, byoc_first_fit_placed_t, buffer_count);
  fit->begins = BYOC_ARENA_ARRAY(arena, uint32_t, fit->time_count);
  fit->heads = BYOC_ARENA_ARRAY(arena, uint32_t, 2 * (size_t)fit->time_count);
  fit->order = BYOC_ARENA_ARRAY(arena, uint32_t, buffer_count);
  fit->conflicts = BYOC_ARENA_ARRAY(arena, uint32_t, buffer_count);
  return fit->placed && fit->begins && fit->heads && fit->order && fit->conflicts;
}

void byoc_first_fit_clear(byoc_first_fit_t *fit) {
  memset(fit->begins, 0, fit->time_count * sizeof(*fit->begins));
  memset(fit->heads, 0, 2 * (size_t)fit->time_count * sizeof(*fit->heads));
  fit->links.count = 0;
  fit->placed_count = fit->ordered_count = 0;
}

static bool list_at(byoc_first_fit_t *fit, uint32_t node, uint32_t placed) {
  if (!byoc_vector_push(&fit->links, fit->arena_allocator, ((byoc_first_fit_link_t){placed, fit->heads[node]}))) {
    return false;
  }
  fit->heads[node] = (uint32_t)fit->links.count;
  return true;
}

static bool enter(byoc_first_fit_t *fit, const byoc_lifetime_t *life, uint64_t offset_bytes) {
  uint32_t placed = fit->placed_count++;
  fit->placed[placed] = (byoc_first_fit_placed_t){*life, offset_bytes};
  fit->begins[life->begin] = placed + 1;
  uint32_t left = fit->time_count + life->begin, right = fit->time_count + life->end;
  for (; left < right; left /= 2, right /= 2) { // the fewest nodes that cover [begin, end)
    if (left % 2 == 1 && !list_at(fit, left++, placed)) return false;
    if (right % 2 == 1 && !list_at(fit, --right, placed)) return false;
  }
  return true;
}

// The placed buffers that live at the same time: those alive when this one begins, then those that begin before it
// ends. False if there are more than `most`.
static bool collect(byoc_first_fit_t *fit, const byoc_lifetime_t *life, uint32_t most, uint32_t *out_count) {
  uint32_t count = 0;
  for (uint32_t node = fit->time_count + life->begin; node > 0; node /= 2) {
    for (uint32_t link = fit->heads[node]; link != 0; link = fit->links.data[link - 1].next) {
      if (count == most) return false;
      fit->conflicts[count++] = fit->links.data[link - 1].placed;
    }
  }
  for (uint32_t time = life->begin + 1; time < life->end; ++time) {
    if (fit->begins[time] == 0) continue;
    if (count == most) return false;
    fit->conflicts[count++] = fit->begins[time] - 1;
  }
  *out_count = count;
  return true;
}

// The position in `order` of the first `count` behind all that begin at `offset` or before it.
static uint32_t find_behind(const byoc_first_fit_t *fit, const uint32_t *order, uint32_t count, uint64_t offset) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (fit->placed[order[middle]].offset_bytes <= offset) low = middle + 1;
    if (fit->placed[order[middle]].offset_bytes > offset) high = middle;
  }
  return low;
}

// Inserts `placed` into the first `count` indices, which are in order of offset.
static void insert(const byoc_first_fit_t *fit, uint32_t *order, uint32_t count, uint32_t placed) {
  uint32_t at = find_behind(fit, order, count, fit->placed[placed].offset_bytes);
  memmove(&order[at + 1], &order[at], (count - at) * sizeof(*order));
  order[at] = placed;
}

static bool meets(const byoc_lifetime_t *a, const byoc_lifetime_t *b) {
  return a->begin < b->end && b->begin < a->end;
}

// The first gap between those of `order` that live at the same time.
static uint64_t find_gap(byoc_first_fit_t *fit, const uint32_t *order, uint32_t count, const byoc_lifetime_t *life) {
  uint64_t offset = 0;
  fit->work += count;
  for (uint32_t i = 0; i < count; ++i) {
    const byoc_first_fit_placed_t *other = &fit->placed[order[i]];
    if (!meets(life, &other->life)) continue;
    if (offset + life->size_bytes <= other->offset_bytes) break;
    uint64_t behind = other->offset_bytes + other->life.size_bytes;
    if (behind > offset) offset = behind;
  }
  return offset;
}

bool byoc_first_fit_place(byoc_first_fit_t *fit, const byoc_lifetime_t *life, uint64_t *out_offset_bytes) {
  uint32_t count = 0, few = fit->placed_count / FEW;
  if (collect(fit, life, few > ALWAYS_FEW ? few : ALWAYS_FEW, &count)) {
    for (uint32_t i = 1; i < count; ++i) insert(fit, fit->conflicts, i, fit->conflicts[i]);
    *out_offset_bytes = find_gap(fit, fit->conflicts, count, life);
  } else {
    while (fit->ordered_count < fit->placed_count) {
      insert(fit, fit->order, fit->ordered_count, fit->ordered_count);
      fit->ordered_count++;
    }
    *out_offset_bytes = find_gap(fit, fit->order, fit->placed_count, life);
  }
  return enter(fit, life, *out_offset_bytes);
}
