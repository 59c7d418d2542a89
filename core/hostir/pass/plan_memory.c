// SPDX-License-Identifier: Apache-2.0
// Places lifetimes of buffers and plans the workspace.
#include <stdlib.h>
#include <string.h>

#include "byoc/call.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/first_fit.h"
#include "core/hostir/pass/memory_ordered.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"

// ---- lifetimes ----

typedef struct life_t {
  byoc_host_instruction_t *first, *last; // in the same region
  bool makes_cells;                      // its first user makes the cell itself
} life_t;

// The instruction of `region` that is `at` or holds it; NULL if there is none.
static byoc_host_instruction_t *rise_to(byoc_host_instruction_t *at, const byoc_host_region_t *region) {
  while (at != NULL && at->region != region) at = at->region->owner;
  return at;
}

static bool writes_into_results(const byoc_host_instruction_t *i);

// A use in a nested region counts as a use by the enclosing instruction in the region where the lifetime began, because
// a loop's body runs again. If that region does not hold the use, the lifetime begins in the one around it.
static void touch(life_t *lives, byoc_host_buffer_t *buffer, byoc_host_instruction_t *at) {
  if (buffer == NULL) return;
  life_t *life = &lives[byoc_host_buffer_root(buffer)->index];
  if (life->first == NULL) *life = (life_t){.first = at, .makes_cells = !writes_into_results(at)};
  byoc_host_instruction_t *last = NULL;
  while ((last = rise_to(at, life->first->region)) == NULL) life->first = life->first->region->owner;
  life->last = last;
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
  if (instruction == NULL || !byoc_host_add_operand(program, instruction, buffer)) {
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
    if (byoc_host_own_allocation(buffer) != NULL) continue;
    if (!buffer->is_value || !lives[k].makes_cells) {
      status = place(program, BYOC_HOST_ALLOCATE, first->region, first, buffer, diag);
    }
    if (status == BYOC_OK) status = place(program, BYOC_HOST_FREE, last->region, last->next, buffer, diag);
  }
  byoc_free(allocator, lives);
  return status;
}

void byoc_host_forget_lifetimes(byoc_host_program_t *program) {
  for (byoc_host_instruction_t *i = program->body.first, *next = NULL; i != NULL; i = next) {
    next = byoc_host_instruction_following(i);
    const bool is_life = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE;
    if (is_life && byoc_host_own_allocation(i->operands.data[0]) == NULL) byoc_host_instruction_erase(program, i);
  }
}

// f(%t)  →  allocate %t, f(%t), free %t
byoc_status_t byoc_host_pass_place_lifetimes(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  uint32_t properties = 0;
  if (!byoc_host_program_properties(program, &properties)) return byoc_diag_out_of_memory(diag);
  if ((properties & BYOC_HOST_LIFETIMES) != 0) return BYOC_OK;
  byoc_host_forget_lifetimes(program); // some buffers have them
  const size_t before = program->instruction_count;
  BYOC_RETURN_IF_ERROR(byoc_host_place_lifetimes(program, diag));
  *changes = program->instruction_count - before;
  return BYOC_OK;
}

// ---- plan ----

typedef struct interval_t {
  byoc_host_buffer_t *buffer;
  byoc_lifetime_t life; // its size is rounded up to the alignment
} interval_t;

static int compare_size_then_begin(const void *left, const void *right) {
  const interval_t *a = left, *b = right;
  if (a->life.size_bytes != b->life.size_bytes) return a->life.size_bytes > b->life.size_bytes ? -1 : 1;
  return a->life.begin < b->life.begin ? -1 : 1;
}

static uint64_t aligned_size(const byoc_host_buffer_t *buffer) {
  return (buffer->size_bytes + BYOC_BUFFER_ALIGNMENT - 1) / BYOC_BUFFER_ALIGNMENT * BYOC_BUFFER_ALIGNMENT;
}

// At most this many orders are tried. Trying ends earlier when the bound is reached, or when the work exceeds
// MOST_WORK: about a second, which only programs take whose thousands of buffers live at the same time.
#define MOST_ATTEMPTS 64
#define MOST_WORK     (UINT64_C(1) << 26)

typedef struct plan_t {
  byoc_host_program_t *program;
  interval_t *intervals, *reordered;
  size_t count;
  uint32_t time_count;    // behind the number of the last instruction
  uint64_t *best_offsets; // by buffer index
  byoc_first_fit_t fit;
} plan_t;

// Collects lifetimes as instruction numbers, in order of allocation. A buffer that lives several times keeps its place
// from the first life to the end of the last one. Those that are cached live always; they begin at numbers of their own
// in front of all instructions.
static void collect_intervals(plan_t *plan, size_t *position_of) {
  byoc_host_program_t *program = plan->program;
  for (size_t k = 0; k < program->buffers.count; ++k) {
    byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->is_value || !byoc_host_is_cached(buffer)) continue;
    plan->intervals[plan->count] = (interval_t){buffer, {(uint32_t)plan->count + 1, 0, aligned_size(buffer)}};
    position_of[buffer->index] = ++plan->count; // plus 1
  }
  const size_t cached_count = plan->count;
  uint32_t number = (uint32_t)cached_count;
  BYOC_HOST_FOR_EACH(i, program) {
    bool is_life = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE;
    ++number;
    if (!is_life || i->operands.data[0]->is_value) continue; // in a cell
    byoc_host_buffer_t *buffer = i->operands.data[0];
    size_t *position = &position_of[buffer->index];
    if (*position == 0) {
      plan->intervals[plan->count] = (interval_t){buffer, {number, number + 1, aligned_size(buffer)}};
      *position = ++plan->count;
    }
    plan->intervals[*position - 1].life.end = i->op == BYOC_HOST_ALLOCATE ? number + 1 : number;
  }
  for (size_t k = 0; k < cached_count; ++k) plan->intervals[k].life.end = number + 1;
  plan->time_count = number + 2;
}

// Places the intervals in their order, and returns how much memory that takes. False if out of memory.
static bool place_in_order(plan_t *plan, uint64_t *out_size_bytes) {
  *out_size_bytes = 0;
  byoc_first_fit_clear(&plan->fit);
  for (size_t k = 0; k < plan->count; ++k) {
    const interval_t *interval = &plan->intervals[k];
    if (!byoc_first_fit_place(&plan->fit, &interval->life, &interval->buffer->offset_bytes)) return false;
    uint64_t end = interval->buffer->offset_bytes + interval->life.size_bytes;
    if (end > *out_size_bytes) *out_size_bytes = end;
  }
  return true;
}

// Intervals that reach the top are placed first the next time, so that the others make room for them.
static void move_top_to_front(plan_t *plan, uint64_t size_bytes) {
  size_t moved = 0;
  for (int is_top = 1; is_top >= 0; --is_top) {
    for (size_t k = 0; k < plan->count; ++k) {
      const interval_t *interval = &plan->intervals[k];
      bool reaches_top = interval->buffer->offset_bytes + interval->life.size_bytes == size_bytes;
      if (reaches_top == (is_top == 1)) plan->reordered[moved++] = *interval;
    }
  }
  interval_t *swapped = plan->intervals;
  plan->intervals = plan->reordered;
  plan->reordered = swapped;
}

// Places the largest first, then repeatedly moves the intervals that reached the top to the front, and keeps the best
// result. False if out of memory.
static bool place_all(plan_t *plan) {
  byoc_host_program_t *program = plan->program;
  uint64_t best = UINT64_MAX, size_bytes = 0;
  qsort(plan->intervals, plan->count, sizeof(*plan->intervals), compare_size_then_begin);
  for (int attempt = 0; attempt < MOST_ATTEMPTS; ++attempt) {
    if (attempt > 0) move_top_to_front(plan, size_bytes);
    if (!place_in_order(plan, &size_bytes)) return false;
    for (size_t k = 0; k < plan->count && size_bytes < best; ++k) {
      const byoc_host_buffer_t *buffer = plan->intervals[k].buffer;
      plan->best_offsets[buffer->index] = buffer->offset_bytes;
    }
    if (size_bytes < best) best = size_bytes;
    if (best <= program->workspace_bound_bytes || plan->fit.work > MOST_WORK) break;
  }
  for (size_t k = 0; k < program->buffers.count; ++k) { // a buffer without a lifetime has no offset
    byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind == BYOC_HOST_BUFFER_LOCAL) buffer->offset_bytes = BYOC_HOST_OFFSET_NONE;
  }
  for (size_t k = 0; k < plan->count; ++k) {
    byoc_host_buffer_t *buffer = plan->intervals[k].buffer;
    buffer->offset_bytes = plan->best_offsets[buffer->index];
  }
  program->workspace_size_bytes = plan->count > 0 ? best : 0;
  return true;
}

byoc_status_t byoc_host_plan_memory(byoc_host_program_t *program, byoc_diag_t *diag) {
  if (program->devices.count > 0) {
    BYOC_RETURN_IF_ERROR(byoc_host_find_bounds(program, diag));
    return byoc_host_plan_ordered(program, diag);
  }
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, program->arena.allocator);
  size_t buffer_count = program->buffers.count;
  plan_t plan = {.program = program,
                 .intervals = BYOC_ARENA_ARRAY(&scratch, interval_t, buffer_count),
                 .reordered = BYOC_ARENA_ARRAY(&scratch, interval_t, buffer_count),
                 .best_offsets = BYOC_ARENA_ARRAY(&scratch, uint64_t, buffer_count)};
  size_t *position_of = BYOC_ARENA_ARRAY(&scratch, size_t, buffer_count);
  bool ok = plan.intervals != NULL && plan.reordered != NULL && position_of != NULL && plan.best_offsets != NULL;
  ok = ok && byoc_host_find_bounds(program, diag) == BYOC_OK;
  if (ok) collect_intervals(&plan, position_of);
  ok = ok && byoc_first_fit_init(&plan.fit, plan.time_count, (uint32_t)plan.count, &scratch) && place_all(&plan);
  byoc_arena_deinit(&scratch);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// local %t : f32[4]  →  local %t : f32[4] at 64
byoc_status_t byoc_host_pass_plan_memory(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  byoc_allocator_t allocator = program->arena.allocator;
  const size_t count = program->buffers.count;
  uint64_t *offsets = byoc_allocate(allocator, count + 1, sizeof(*offsets));
  if (offsets == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < count; ++k) offsets[k] = program->buffers.data[k]->offset_bytes;
  byoc_status_t status = byoc_host_plan_memory(program, diag);
  for (size_t k = 0; k < count; ++k) *changes += offsets[k] != program->buffers.data[k]->offset_bytes;
  byoc_free(allocator, offsets);
  return status;
}
