// SPDX-License-Identifier: Apache-2.0
// Merges instructions into segments as long as a caller's predicate wants it and no cycle comes of it.
#include "core/hostir/program/segment.h"

#include <stdlib.h>
#include <string.h>

#include "core/hostir/program/dependence.h"
#include "core/hostir/program/edit.h"

#define NOBODY UINT32_MAX

// A segment while it grows. The number of a part is that of its first instruction. A part that was merged keeps its
// number: `find` gives the part that it became.
typedef struct part_t {
  byoc_host_segment_t segment; // with room for `capacity` instructions
  size_t capacity;
  uint32_t *numbers;                  // of its instructions, ascending
  byoc_host_numbers_t before, behind; // neighbours
  uint32_t previous, next;            // in an order that runs
  uint64_t place;                     // ascends in that order
} part_t;

// A search from one of two parts towards the other one.
typedef struct search_t {
  uint32_t from, to;
  bool is_forward;
  byoc_host_numbers_t found, stack; // found: between the two
  size_t work;
} search_t;

typedef struct ordered_t {
  uint64_t place;
  uint32_t part;
} ordered_t;

typedef struct merger_t {
  const byoc_host_segment_options_t *options;
  byoc_arena_t arena;
  part_t *parts;
  uint32_t *became;         // by part: the part that it was merged into; itself if it stands
  uint32_t *noted, note;    // by part: the last list that was tidied and had it
  uint32_t *reached, reach; // by part: the last search that came there
  search_t searches[2];
  byoc_host_numbers_t queue;
  BYOC_VECTOR(ordered_t) keys;
  uint32_t first; // in an order that runs
  size_t count;
  bool failed; // out of memory
} merger_t;

static uint32_t find(merger_t *m, uint32_t part) {
  while (m->became[part] != part) part = m->became[part] = m->became[m->became[part]];
  return part;
}

static void push(merger_t *m, byoc_host_numbers_t *list, uint32_t part) {
  if (!byoc_vector_push(list, byoc_arena_allocator(&m->arena), part)) m->failed = true;
}

static void push_all(merger_t *m, byoc_host_numbers_t *list, const byoc_host_numbers_t *parts) {
  for (size_t k = 0; k < parts->count; ++k) push(m, list, parts->data[k]);
}

// Leaves each neighbour once, by the name that it has now.
static void tidy(merger_t *m, uint32_t self, byoc_host_numbers_t *list) {
  size_t kept = 0;
  m->noted[self] = ++m->note;
  for (size_t k = 0; k < list->count; ++k) {
    const uint32_t part = find(m, list->data[k]);
    if (m->noted[part] == m->note) continue;
    m->noted[part] = m->note;
    list->data[kept++] = part;
  }
  list->count = kept;
}

// ---- cycles ----

static void begin_search(merger_t *m, search_t *search, uint32_t from, uint32_t to, bool is_forward) {
  search->from = from;
  search->to = to;
  search->is_forward = is_forward;
  search->found.count = search->stack.count = search->work = 0;
  push(m, &search->stack, from);
}

static byoc_host_numbers_t *list_of(const merger_t *m, const search_t *search, uint32_t part) {
  return search->is_forward ? &m->parts[part].behind : &m->parts[part].before;
}

// Goes on from one part. True if that leads to the other end, or to where the other search came.
static bool goes_through(merger_t *m, search_t *search, uint32_t own, uint32_t other) {
  const uint32_t at = search->stack.data[--search->stack.count];
  byoc_host_numbers_t *list = list_of(m, search, at);
  search->work += list->count;
  tidy(m, at, list);
  const uint64_t end = m->parts[search->to].place;
  for (size_t k = 0; k < list->count; ++k) {
    const uint32_t next = list->data[k];
    const uint64_t place = m->parts[next].place;
    if (next == search->to && at != search->from) return true;
    if ((search->is_forward ? place >= end : place <= end) || m->reached[next] == own) continue;
    if (m->reached[next] == other) return true;
    m->reached[next] = own;
    push(m, &search->found, next);
    push(m, &search->stack, next);
  }
  return false;
}

// Is there a way from `first` to `last` through others? Both ends are searched, the one with less work first, so that
// the smaller side decides. If there is none, *out_done is the search that is exhausted.
static bool finds_way(merger_t *m, uint32_t first, uint32_t last, search_t **out_done) {
  begin_search(m, &m->searches[0], first, last, true);
  begin_search(m, &m->searches[1], last, first, false);
  m->reach += 2;
  while (!m->failed) {
    size_t work[2];
    for (int k = 0; k < 2; ++k) {
      search_t *search = &m->searches[k];
      *out_done = search;
      if (search->stack.count == 0) return false;
      work[k] = search->work + list_of(m, search, search->stack.data[search->stack.count - 1])->count;
    }
    const uint32_t k = work[1] < work[0];
    if (goes_through(m, &m->searches[k], m->reach - k, m->reach - 1 + k)) return true;
  }
  return true;
}

// ---- the order ----

static int compare_keys(const void *left, const void *right) {
  const ordered_t *a = left, *b = right;
  return a->place < b->place ? -1 : a->place > b->place;
}

static void sort_by_place(merger_t *m, byoc_host_numbers_t *parts) {
  m->keys.count = 0;
  for (size_t k = 0; k < parts->count; ++k) {
    const ordered_t key = {m->parts[parts->data[k]].place, parts->data[k]};
    if (!byoc_vector_push(&m->keys, byoc_arena_allocator(&m->arena), key)) m->failed = true;
  }
  if (m->failed) return;
  if (m->keys.count > 1) qsort(m->keys.data, m->keys.count, sizeof(*m->keys.data), compare_keys);
  for (size_t k = 0; k < parts->count; ++k) parts->data[k] = m->keys.data[k].part;
}

static void link(merger_t *m, uint32_t previous, uint32_t next) {
  *(previous != NOBODY ? &m->parts[previous].next : &m->first) = next;
  if (next != NOBODY) m->parts[next].previous = previous;
}

static void number_places(merger_t *m) {
  uint64_t place = 0;
  for (uint32_t k = m->first; k != NOBODY; k = m->parts[k].next) m->parts[k].place = place += UINT64_C(1) << 32;
}

// Moves parts, in their order, in between two that follow each other once they are gone.
static void move_between(merger_t *m, const byoc_host_numbers_t *parts, uint32_t previous, uint32_t next) {
  const uint64_t begin = previous != NOBODY ? m->parts[previous].place : 0;
  const uint64_t end = next != NOBODY ? m->parts[next].place : UINT64_MAX;
  const uint64_t step = (end - begin) / (parts->count + 1);
  for (size_t k = 0; k < parts->count; ++k) {
    const uint32_t part = parts->data[k];
    link(m, previous, part);
    m->parts[part].place = begin + (k + 1) * step;
    previous = part;
  }
  link(m, previous, next);
  if (step == 0) number_places(m);
}

// Gives the part that stays of the two a single position. Parts that the one end needs move in front of `first`, or
// parts behind the other end move behind `last`; no other part has to move.
static void join_places(merger_t *m, uint32_t first, uint32_t last, search_t *done, uint32_t stays) {
  byoc_host_numbers_t *found = &done->found;
  const uint32_t kept = done->is_forward ? last : first, left = done->is_forward ? first : last;
  sort_by_place(m, found);
  if (m->failed) return;
  link(m, m->parts[left].previous, m->parts[left].next);
  for (size_t k = 0; k < found->count; ++k) {
    link(m, m->parts[found->data[k]].previous, m->parts[found->data[k]].next);
  }
  const part_t at = m->parts[kept];
  m->parts[stays].place = at.place;
  link(m, at.previous, stays);
  link(m, stays, at.next);
  if (found->count == 0) return;
  if (done->is_forward) move_between(m, found, stays, at.next);
  if (!done->is_forward) move_between(m, found, at.previous, stays);
}

// ---- merging ----

static bool make_room(merger_t *m, part_t *part, size_t extra) {
  const size_t needed = part->segment.count + extra, capacity = 2 * needed;
  if (needed <= part->capacity) return true;
  byoc_host_instruction_t **instructions = BYOC_ARENA_ARRAY(&m->arena, byoc_host_instruction_t *, capacity);
  uint32_t *numbers = BYOC_ARENA_ARRAY(&m->arena, uint32_t, capacity);
  if (instructions == NULL || numbers == NULL) return false;
  memcpy(instructions, part->segment.instructions, part->segment.count * sizeof(*instructions));
  memcpy(numbers, part->numbers, part->segment.count * sizeof(*numbers));
  part->segment.instructions = instructions;
  part->numbers = numbers;
  part->capacity = capacity;
  return true;
}

// Adds instructions from the back, so that those behind which nothing comes stay where they are.
static void add_instructions(merger_t *m, part_t *part, const part_t *other) {
  if (!make_room(m, part, other->segment.count)) {
    m->failed = true;
    return;
  }
  size_t own = part->segment.count, added = other->segment.count;
  part->segment.count += added;
  for (size_t to = part->segment.count; added > 0;) {
    const bool takes_own = own > 0 && part->numbers[own - 1] > other->numbers[added - 1];
    const part_t *from = takes_own ? part : other;
    const size_t at = takes_own ? --own : --added;
    part->numbers[--to] = from->numbers[at];
    part->segment.instructions[to] = from->segment.instructions[at];
  }
}

static size_t size_of(const part_t *part) {
  return part->segment.count + part->before.count + part->behind.count;
}

static void merge(merger_t *m, uint32_t first, uint32_t last, search_t *done) {
  const bool first_stays = size_of(&m->parts[first]) >= size_of(&m->parts[last]);
  const uint32_t stays = first_stays ? first : last, goes = first_stays ? last : first;
  part_t *part = &m->parts[stays], *other = &m->parts[goes];
  join_places(m, first, last, done, stays);
  add_instructions(m, part, other);
  push_all(m, &part->before, &other->before);
  push_all(m, &part->behind, &other->behind);
  m->became[goes] = stays;
}

static bool is_wanted(merger_t *m, uint32_t a, uint32_t b) {
  const bool a_first = m->parts[a].place < m->parts[b].place;
  return m->options->should_merge(m->options->self, &m->parts[a_first ? a : b].segment,
                                  &m->parts[a_first ? b : a].segment);
}

// Merges two parts unless a third one stands between them.
static bool try_to_merge(merger_t *m, uint32_t a, uint32_t b) {
  const bool a_first = m->parts[a].place < m->parts[b].place;
  const uint32_t first = a_first ? a : b, last = a_first ? b : a;
  search_t *done = NULL;
  if (finds_way(m, first, last, &done)) return false;
  merge(m, first, last, done);
  return true;
}

// ---- rounds ----

// Merges a part with its neighbours, and with theirs once they are its own.
static bool grow(merger_t *m, uint32_t part) {
  bool has_grown = false;
  m->queue.count = 0;
  tidy(m, part, &m->parts[part].behind);
  push_all(m, &m->queue, &m->parts[part].behind);
  for (size_t k = 0; k < m->queue.count && !m->failed; ++k) {
    const uint32_t self = find(m, part), other = find(m, m->queue.data[k]);
    if (self == other || !is_wanted(m, self, other)) continue;
    const size_t queued = m->queue.count;
    push_all(m, &m->queue, &m->parts[other].before);
    push_all(m, &m->queue, &m->parts[other].behind);
    if (try_to_merge(m, self, other)) {
      has_grown = true;
    } else {
      m->queue.count = queued;
    }
  }
  return has_grown;
}

static bool grow_all(merger_t *m) {
  bool has_grown = false;
  for (uint32_t k = 0; k < m->count && !m->failed; ++k) {
    if (m->became[k] == k) has_grown |= grow(m, k);
  }
  return has_grown;
}

static bool merge_all_pairs(merger_t *m) {
  bool has_merged = false;
  for (uint32_t a = 0; a < m->count; ++a) {
    for (uint32_t b = a + 1; b < m->count && m->became[a] == a && !m->failed; ++b) {
      if (m->became[b] == b && is_wanted(m, a, b)) has_merged |= try_to_merge(m, a, b);
    }
  }
  return has_merged;
}

// The last round changes nothing: then every pair was asked for as it is.
static void merge_until_nothing_changes(merger_t *m) {
  bool changes = true;
  while (changes && !m->failed) {
    changes = grow_all(m);
    if (!changes && m->options->apart) changes = merge_all_pairs(m);
  }
}

// ---- regions ----

static bool begin(merger_t *m, const byoc_host_dependences_t *d) {
  m->count = d->count;
  m->parts = BYOC_ARENA_ARRAY(&m->arena, part_t, d->count + 1);
  m->became = BYOC_ARENA_ARRAY(&m->arena, uint32_t, d->count + 1);
  m->noted = BYOC_ARENA_ARRAY(&m->arena, uint32_t, d->count + 1);
  m->reached = BYOC_ARENA_ARRAY(&m->arena, uint32_t, d->count + 1);
  uint32_t *numbers = BYOC_ARENA_ARRAY(&m->arena, uint32_t, d->count + 1);
  if (m->parts == NULL || m->became == NULL || m->noted == NULL || m->reached == NULL || numbers == NULL) return false;
  for (uint32_t k = 0; k < d->count; ++k) {
    m->became[k] = numbers[k] = k;
    m->parts[k] = (part_t){.segment = {.instructions = &d->instructions[k], .count = 1},
                           .capacity = 1,
                           .numbers = &numbers[k],
                           .before = d->before[k],
                           .previous = k > 0 ? k - 1 : NOBODY,
                           .next = k + 1 < d->count ? k + 1 : NOBODY};
    for (size_t b = 0; b < d->before[k].count; ++b) push(m, &m->parts[d->before[k].data[b]].behind, k);
  }
  m->first = d->count > 0 ? 0 : NOBODY;
  number_places(m);
  return !m->failed;
}

// Gives the segments that are left to the caller.
static bool finish(merger_t *m, byoc_host_segments_t *out) {
  for (uint32_t k = m->first; k != NOBODY; k = m->parts[k].next) {
    const byoc_host_segment_t *part = &m->parts[k].segment;
    byoc_host_segment_t *segment = &out->data[out->count++];
    *segment = (byoc_host_segment_t){.count = part->count};
    segment->instructions = byoc_arena_copy(&out->arena, part->instructions, part->count * sizeof(*part->instructions));
    if (segment->instructions == NULL) return false;
  }
  return true;
}

static bool segment_region(const byoc_host_program_t *program, const byoc_host_region_t *region,
                           const byoc_host_segment_options_t *options, byoc_host_segments_t *out) {
  merger_t m = {.options = options};
  byoc_host_dependences_t dependences;
  byoc_arena_init(&m.arena, out->arena.allocator);
  bool ok = byoc_host_find_dependences(program, region, &m.arena, &dependences) && begin(&m, &dependences);
  if (ok) merge_until_nothing_changes(&m);
  ok = ok && !m.failed && finish(&m, out);
  byoc_arena_deinit(&m.arena);
  return ok;
}

byoc_status_t byoc_host_segment(const byoc_host_program_t *program, const byoc_host_segment_options_t *options,
                                byoc_allocator_t allocator, byoc_diag_t *diag, byoc_host_segments_t *out_segments) {
  *out_segments = (byoc_host_segments_t){0};
  byoc_arena_init(&out_segments->arena, allocator);
  out_segments->data = BYOC_ARENA_ARRAY(&out_segments->arena, byoc_host_segment_t, program->instruction_count + 1);
  bool ok = out_segments->data != NULL && segment_region(program, &program->body, options, out_segments);
  BYOC_HOST_FOR_EACH(i, program) {
    for (uint32_t r = 0; r < i->region_count && ok; ++r) {
      ok = segment_region(program, &i->regions[r], options, out_segments);
    }
  }
  if (ok) return BYOC_OK;
  byoc_host_segments_deinit(out_segments);
  return byoc_diag_out_of_memory(diag);
}

void byoc_host_segments_deinit(byoc_host_segments_t *segments) {
  byoc_arena_deinit(&segments->arena);
  *segments = (byoc_host_segments_t){0};
}

static size_t count_moved(const byoc_host_segments_t *segments) {
  size_t moved = 0;
  const byoc_host_instruction_t *previous = NULL;
  for (size_t k = 0; k < segments->count; ++k) {
    for (size_t n = 0; n < segments->data[k].count; ++n) {
      const byoc_host_instruction_t *i = segments->data[k].instructions[n];
      if (previous != NULL && previous->region != i->region) previous = NULL;
      moved += i->previous != previous;
      previous = i;
    }
  }
  return moved;
}

size_t byoc_host_segments_gather(const byoc_host_segments_t *segments) {
  const size_t moved = count_moved(segments);
  for (size_t k = 0; k < segments->count && moved > 0; ++k) {
    for (size_t n = 0; n < segments->data[k].count; ++n) {
      byoc_host_instruction_t *i = segments->data[k].instructions[n];
      byoc_host_instruction_move(i, i->region, NULL);
    }
  }
  return moved;
}
