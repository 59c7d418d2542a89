// SPDX-License-Identifier: Apache-2.0
// Plans the memories of programs with devices: buffers share bytes only where commands are ordered.
#include <stdlib.h>
#include <string.h>

#include "byoc/call.h"
#include "byoc/device.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/memory_ordered.h"
#include "core/hostir/verify/happens_before.h"

// A local buffer that lives.
typedef struct item_t {
  byoc_host_buffer_t *buffer;
  byoc_host_memory_t *memory; // NULL: the host's workspace
  uint32_t begin, end;        // numbers of instructions: alive in [begin, end)
  uint64_t size;              // rounded up; an allocation of a memory apart counts as one
  uint32_t index;
} item_t;

typedef struct plan_t {
  byoc_host_program_t *program;
  byoc_arena_t arena;
  item_t *items;  // by index
  item_t **order; // in the order of placing
  size_t count;
  uint32_t *item_of; // by buffer: its item's index plus 1
  uint64_t *clashes; // a bit for each pair of items that must not share bytes
  size_t words;      // of the bits of one item
  uint64_t *offsets; // by item: while placing
  const item_t **near;
} plan_t;

// ---- lifetimes ----

static uint64_t round_up(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

static bool add_item(plan_t *p, byoc_host_buffer_t *buffer, uint32_t begin, uint32_t end) {
  uint32_t *index = &p->item_of[buffer->index];
  if (*index == 0) {
    byoc_host_memory_t *memory = NULL;
    if (buffer->device != NULL) memory = byoc_host_memory_get(p->program, buffer->device, buffer->scope);
    if (buffer->device != NULL && memory == NULL) return false;
    const uint64_t size = memory == NULL     ? round_up(buffer->size_bytes, BYOC_BUFFER_ALIGNMENT)
                          : memory->is_apart ? 1
                                             : round_up(buffer->size_bytes, BYOC_DEVICE_ALIGNMENT);
    p->items[p->count] = (item_t){buffer, memory, begin, end, size, (uint32_t)p->count};
    *index = (uint32_t)++p->count;
  }
  p->items[*index - 1].end = end;
  return true;
}

// A buffer that lives several times keeps its place from the first life to the end of the last one; those that are
// cached live always.
static bool collect_items(plan_t *p) {
  uint32_t number = 0;
  BYOC_HOST_FOR_EACH(i, p->program) {
    ++number;
    if ((i->op != BYOC_HOST_ALLOCATE && i->op != BYOC_HOST_FREE) || i->operands.data[0]->is_value) continue;
    const uint32_t end = i->op == BYOC_HOST_ALLOCATE ? number + 1 : number;
    if (!add_item(p, i->operands.data[0], number, end)) return false;
  }
  for (size_t k = 0; k < p->count; ++k) {
    if (!byoc_host_is_cached(p->items[k].buffer)) continue;
    p->items[k].begin = 0;
    p->items[k].end = number + 1;
  }
  return true;
}

// ---- clashes ----

static void clash(plan_t *p, size_t a, size_t b) {
  p->clashes[a * p->words + b / 64] |= UINT64_C(1) << b % 64;
  p->clashes[b * p->words + a / 64] |= UINT64_C(1) << a % 64;
}

static bool do_clash(const plan_t *p, size_t a, size_t b) {
  return (p->clashes[a * p->words + b / 64] >> b % 64 & 1) != 0;
}

static uint32_t item_of(const plan_t *p, const byoc_host_access_t *access) {
  return p->item_of[byoc_host_buffer_root(access->buffer)->index];
}

// Notes the buffers that may still be in use when another one is used.
static byoc_status_t meet(void *self, byoc_host_order_t *order, const byoc_host_run_t *run) {
  plan_t *p = self;
  const byoc_host_run_t *open = NULL;
  for (size_t at = 0; (open = byoc_host_order_next(order, &at)) != NULL;) {
    for (size_t a = 0; a < open->accesses.count; ++a) {
      const uint32_t earlier = item_of(p, &open->accesses.data[a]);
      for (size_t b = 0; b < run->accesses.count && earlier != 0; ++b) {
        const uint32_t later = item_of(p, &run->accesses.data[b]);
        if (later != 0 && later != earlier) clash(p, earlier - 1, later - 1);
      }
    }
  }
  return BYOC_OK;
}

static byoc_status_t find_clashes(plan_t *p, byoc_diag_t *diag) {
  for (size_t a = 0; a < p->count; ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (p->items[a].begin < p->items[b].end && p->items[b].begin < p->items[a].end) clash(p, a, b);
    }
  }
  const byoc_host_watch_t watch = {.self = p, .meet = meet, .meets_all = true};
  return byoc_host_walk_order(p->program, &watch, diag);
}

// ---- places ----

static int compare_items(const void *left, const void *right) {
  const item_t *a = *(const item_t *const *)left, *b = *(const item_t *const *)right;
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1) : (a->index < b->index ? -1 : 1);
}

static bool same_allocation(const item_t *a, const item_t *b) {
  return a->memory == NULL || !a->memory->is_apart || byoc_type_equal(a->buffer->type, b->buffer->type);
}

// The lowest offset where the item meets none of those that were placed before it and that it clashes with. `near` is
// in the order of offsets.
static uint64_t find_offset(plan_t *p, const item_t *item, size_t near_count) {
  uint64_t offset = 0;
  for (size_t k = 0; k < near_count; ++k) {
    const uint64_t begin = p->offsets[p->near[k]->index];
    if (begin >= offset + item->size) break;
    if (begin + p->near[k]->size > offset) offset = begin + p->near[k]->size;
  }
  return offset;
}

// Puts an item into `near`, in the order of offsets.
static void insert_near(plan_t *p, const item_t *item, size_t count) {
  size_t at = count;
  for (; at > 0 && p->offsets[p->near[at - 1]->index] > p->offsets[item->index]; --at) p->near[at] = p->near[at - 1];
  p->near[at] = item;
}

// Places all in their order; how much the host's workspace and the memories take together.
static uint64_t place_in_order(plan_t *p) {
  uint64_t total = 0;
  for (size_t k = 0; k < p->program->memories.count; ++k) p->program->memories.data[k]->size = 0;
  p->program->workspace_size_bytes = 0;
  for (size_t k = 0; k < p->count; ++k) {
    const item_t *item = p->order[k];
    size_t near_count = 0;
    for (size_t j = 0; j < k; ++j) {
      const item_t *other = p->order[j];
      const bool is_near =
          other->memory == item->memory && (do_clash(p, item->index, other->index) || !same_allocation(item, other));
      if (is_near) insert_near(p, other, near_count++);
    }
    p->offsets[item->index] = find_offset(p, item, near_count);
    uint64_t *size = item->memory != NULL ? &item->memory->size : &p->program->workspace_size_bytes;
    const uint64_t end = p->offsets[item->index] + item->size;
    if (end > *size) *size = end;
  }
  for (size_t k = 0; k < p->program->memories.count; ++k) total += p->program->memories.data[k]->size;
  return total + p->program->workspace_size_bytes;
}

// Those that reach the top of their memory go to the front, so that the others make room for them.
static void move_top_to_front(plan_t *p) {
  size_t moved = 0;
  for (size_t k = 0; k < p->count; ++k) {
    item_t *item = p->order[k];
    const uint64_t size = item->memory != NULL ? item->memory->size : p->program->workspace_size_bytes;
    if (p->offsets[item->index] + item->size != size) continue;
    memmove(&p->order[moved + 1], &p->order[moved], (k - moved) * sizeof(*p->order));
    p->order[moved++] = item;
  }
}

// Larger ones first, then a few more orders; the best one is placed at last.
static bool place_all(plan_t *p) {
  enum { ATTEMPTS = 16, MOST_WORK = 1 << 26 };
  item_t **best = BYOC_ARENA_ARRAY(&p->arena, item_t *, p->count);
  if (best == NULL) return false;
  uint64_t least = UINT64_MAX, work = 0;
  qsort(p->order, p->count, sizeof(*p->order), compare_items);
  for (int attempt = 0; attempt < ATTEMPTS && work <= MOST_WORK; ++attempt) {
    if (attempt > 0) move_top_to_front(p);
    const uint64_t total = place_in_order(p);
    if (total < least) memcpy(best, p->order, p->count * sizeof(*best));
    if (total < least) least = total;
    work += (uint64_t)p->count * p->count;
  }
  p->order = best;
  (void)place_in_order(p);
  for (size_t k = 0; k < p->count; ++k) p->items[k].buffer->offset_bytes = p->offsets[k];
  return true;
}

byoc_status_t byoc_host_plan_ordered(byoc_host_program_t *program, byoc_diag_t *diag) {
  const size_t buffer_count = program->buffers.count;
  plan_t p = {.program = program, .words = (buffer_count + 63) / 64};
  byoc_arena_init(&p.arena, program->arena.allocator);
  p.items = BYOC_ARENA_ARRAY(&p.arena, item_t, buffer_count);
  p.order = BYOC_ARENA_ARRAY(&p.arena, item_t *, buffer_count);
  p.near = BYOC_ARENA_ARRAY(&p.arena, const item_t *, buffer_count);
  p.item_of = BYOC_ARENA_ARRAY(&p.arena, uint32_t, buffer_count);
  p.offsets = BYOC_ARENA_ARRAY(&p.arena, uint64_t, buffer_count);
  p.clashes = BYOC_ARENA_ARRAY(&p.arena, uint64_t, buffer_count * p.words);
  const bool ok = p.items != NULL && p.order != NULL && p.near != NULL && p.item_of != NULL && p.offsets != NULL &&
                  p.clashes != NULL && collect_items(&p);
  byoc_status_t status = ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < buffer_count; ++k) { // a buffer without a lifetime has no offset
    byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind == BYOC_HOST_BUFFER_LOCAL) buffer->offset_bytes = BYOC_HOST_OFFSET_NONE;
  }
  for (size_t k = 0; k < p.count; ++k) p.order[k] = &p.items[k];
  if (status == BYOC_OK) status = find_clashes(&p, diag);
  if (status == BYOC_OK && !place_all(&p)) status = byoc_diag_out_of_memory(diag);
  byoc_arena_deinit(&p.arena);
  return status;
}
