// Places lifetimes of buffers and plans the workspace.
#include <stdlib.h>
#include <string.h>

#include "byoc/call.h"
#include "core/hostir/lower.h"

// ---- lifetimes ----

typedef struct life_t {
  byoc_host_instruction_t *first, *last; // in the same region
} life_t;

// A use in a nested region counts as a use by the enclosing instruction in the region where the lifetime began, because
// a loop's body runs again.
static void touch(life_t *lives, byoc_host_buffer_t *buffer, byoc_host_instruction_t *at) {
  if (buffer == NULL) return;
  life_t *life = &lives[byoc_host_buffer_root(buffer)->index];
  if (life->first == NULL) life->first = at;
  while (at->region != life->first->region && at->region->owner != NULL) at = at->region->owner;
  life->last = at;
}

// Does the instruction need memory for its results first? Others make their own cells, or pass cells on.
static bool writes_into_results(const byoc_host_instruction_t *i) {
  switch (i->op) {
  case BYOC_HOST_SHARE:
  case BYOC_HOST_CONTAINER:
  case BYOC_HOST_BRANCH:
  case BYOC_HOST_LOOP:
    return false;
  default:
    return true;
  }
}

static byoc_status_t place(byoc_host_program_t *program, byoc_host_op_t op, byoc_host_region_t *region,
                           byoc_host_instruction_t *before, byoc_host_buffer_t *buffer, byoc_diag_t *diag) {
  byoc_host_instruction_t *instruction =
      before ? byoc_host_instruction_create(program, before, op) : byoc_host_instruction_append(program, region, op);
  if (instruction == NULL || !byoc_vector_push(&instruction->operands, program->arena.allocator, buffer)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_place_lifetimes(byoc_host_program_t *program, byoc_diag_t *diag) {
  byoc_allocator_t allocator = program->arena.allocator;
  size_t buffer_count = program->buffers.count;
  life_t *lives = byoc_allocate(allocator, buffer_count, sizeof(*lives));
  if (lives == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_HOST_FOR_EACH(i, program) {
    for (size_t k = 0; k < i->operands.count; ++k) touch(lives, i->operands.data[k], i);
    for (size_t k = 0; k < i->results.count; ++k) touch(lives, i->results.data[k], i);
    if (i->workspace != NULL) touch(lives, i->workspace, i);
  }
  byoc_status_t status = BYOC_OK;
  for (size_t k = 0; k < buffer_count && status == BYOC_OK; ++k) {
    byoc_host_buffer_t *buffer = program->buffers.data[k];
    byoc_host_instruction_t *first = lives[k].first, *last = lives[k].last;
    if (buffer->kind != BYOC_HOST_BUFFER_LOCAL || first == NULL || buffer->is_parameter) continue;
    if (!buffer->is_value || writes_into_results(first)) {
      status = place(program, BYOC_HOST_ALLOCATE, first->region, first, buffer, diag);
    }
    if (status == BYOC_OK) status = place(program, BYOC_HOST_FREE, last->region, last->next, buffer, diag);
  }
  byoc_free(allocator, lives);
  return status;
}

// ---- plan ----

typedef struct interval_t {
  byoc_host_buffer_t *buffer;
  size_t begin, end;   // instruction numbers: alive in [begin, end)
  uint64_t size_bytes; // rounded up to the alignment
} interval_t;

static int compare_size_then_begin(const void *left, const void *right) {
  const interval_t *a = left, *b = right;
  if (a->size_bytes != b->size_bytes) return a->size_bytes > b->size_bytes ? -1 : 1;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return a->buffer->index < b->buffer->index ? -1 : 1;
}

static int compare_offset(const void *left, const void *right) {
  const interval_t *const *a = left, *const *b = right;
  uint64_t x = (*a)->buffer->offset_bytes, y = (*b)->buffer->offset_bytes;
  return x < y ? -1 : x > y;
}

// The lowest offset where `interval` fits between the placed ones that live at the same time. `conflicts` is scratch.
static uint64_t first_fit(const interval_t *placed, size_t placed_count, const interval_t *interval,
                          const interval_t **conflicts) {
  size_t count = 0;
  for (size_t k = 0; k < placed_count; ++k) {
    if (placed[k].begin < interval->end && interval->begin < placed[k].end) conflicts[count++] = &placed[k];
  }
  qsort(conflicts, count, sizeof(*conflicts), compare_offset);
  uint64_t offset = 0;
  for (size_t k = 0; k < count; ++k) {
    if (offset + interval->size_bytes <= conflicts[k]->buffer->offset_bytes) break;
    uint64_t behind = conflicts[k]->buffer->offset_bytes + conflicts[k]->size_bytes;
    if (behind > offset) offset = behind;
  }
  return offset;
}

// Collects lifetimes as instruction numbers, in order of allocation; also finds the liveness bound.
static size_t collect_intervals(byoc_host_program_t *program, interval_t *intervals, size_t *index_of) {
  size_t count = 0, number = 0;
  uint64_t live = 0, bound = 0;
  BYOC_HOST_FOR_EACH(i, program) {
    bool is_life = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE;
    ++number;
    if (is_life && i->operands.data[0]->is_value) continue; // in a cell
    if (i->op == BYOC_HOST_ALLOCATE) {
      byoc_host_buffer_t *buffer = i->operands.data[0];
      uint64_t size = (buffer->size_bytes + BYOC_BUFFER_ALIGNMENT - 1) / BYOC_BUFFER_ALIGNMENT * BYOC_BUFFER_ALIGNMENT;
      index_of[buffer->index] = count;
      intervals[count++] = (interval_t){.buffer = buffer, .begin = number, .end = number + 1, .size_bytes = size};
      live += size;
      if (live > bound) bound = live;
    } else if (i->op == BYOC_HOST_FREE) {
      interval_t *interval = &intervals[index_of[i->operands.data[0]->index]];
      interval->end = number;
      live -= interval->size_bytes;
    }
  }
  program->workspace_bound_bytes = bound;
  return count;
}

// How many orders are tried, as long as the bound is not reached.
#define MOST_ATTEMPTS 64

// Places the intervals in their order, and returns how much memory that takes.
static uint64_t place_in_order(interval_t *intervals, size_t count, const interval_t **conflicts) {
  uint64_t size_bytes = 0;
  for (size_t k = 0; k < count; ++k) {
    uint64_t offset = first_fit(intervals, k, &intervals[k], conflicts);
    intervals[k].buffer->offset_bytes = offset;
    uint64_t end = offset + intervals[k].size_bytes;
    if (end > size_bytes) size_bytes = end;
  }
  return size_bytes;
}

// Intervals that reach the top are placed first the next time, so that the others make room for them.
static void move_top_to_front(interval_t *intervals, size_t count, uint64_t size_bytes) {
  size_t front = 0;
  for (size_t k = 0; k < count; ++k) {
    if (intervals[k].buffer->offset_bytes + intervals[k].size_bytes != size_bytes) continue;
    interval_t top = intervals[k];
    memmove(&intervals[front + 1], &intervals[front], (k - front) * sizeof(*intervals));
    intervals[front++] = top;
  }
}

// Places the largest first, then repeatedly moves what was in the way to the front; the best result is kept.
static void place_all(byoc_host_program_t *program, interval_t *intervals, size_t count, const interval_t **conflicts,
                      uint64_t *best_offsets) {
  uint64_t best = UINT64_MAX;
  qsort(intervals, count, sizeof(*intervals), compare_size_then_begin);
  for (int attempt = 0; attempt < MOST_ATTEMPTS && best > program->workspace_bound_bytes; ++attempt) {
    uint64_t size_bytes = place_in_order(intervals, count, conflicts);
    if (size_bytes < best) {
      best = size_bytes;
      for (size_t k = 0; k < count; ++k) best_offsets[intervals[k].buffer->index] = intervals[k].buffer->offset_bytes;
    }
    move_top_to_front(intervals, count, size_bytes);
  }
  for (size_t k = 0; k < count; ++k) intervals[k].buffer->offset_bytes = best_offsets[intervals[k].buffer->index];
  program->workspace_size_bytes = count > 0 ? best : 0;
}

byoc_status_t byoc_host_plan_memory(byoc_host_program_t *program, byoc_diag_t *diag) {
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, program->arena.allocator);
  byoc_status_t status = BYOC_OK;
  size_t buffer_count = program->buffers.count;
  interval_t *intervals = BYOC_ARENA_ARRAY(&scratch, interval_t, buffer_count);
  const interval_t **conflicts = BYOC_ARENA_ARRAY(&scratch, const interval_t *, buffer_count);
  size_t *index_of = BYOC_ARENA_ARRAY(&scratch, size_t, buffer_count);
  uint64_t *best_offsets = BYOC_ARENA_ARRAY(&scratch, uint64_t, buffer_count);
  if (intervals == NULL || conflicts == NULL || index_of == NULL || best_offsets == NULL) {
    status = byoc_diag_out_of_memory(diag);
    goto cleanup;
  }
  size_t count = collect_intervals(program, intervals, index_of);
  place_all(program, intervals, count, conflicts, best_offsets);
  status = byoc_host_program_verify(program, diag);
cleanup:
  byoc_arena_deinit(&scratch);
  return status;
}
