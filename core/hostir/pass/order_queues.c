// SPDX-License-Identifier: Apache-2.0
// order-queues: commands that touch the same memory wait for each other by events, across queues and the host.
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/verify/happens_before.h"

// An instruction that must run behind a command.
typedef struct need_t {
  byoc_host_instruction_t *earlier, *later;
  uint64_t elements; // those of the earlier one's queue that it met
  bool is_same;      // each time the one that the earlier one names, with the symbols as they are at the later one
  uint32_t next;     // index plus 1 of another one of the same later instruction
} need_t;

typedef struct finder_t {
  BYOC_VECTOR(need_t) needs;
  byoc_map_t of_later; // pointer map: instruction → index plus 1 of its last need
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
} finder_t;

static need_t *find_need(finder_t *f, byoc_host_instruction_t *earlier, byoc_host_instruction_t *later) {
  const uint32_t last = (uint32_t)(uintptr_t)byoc_pointer_map_get(&f->of_later, later);
  for (uint32_t at = last; at != 0; at = f->needs.data[at - 1].next) {
    if (f->needs.data[at - 1].earlier == earlier) return &f->needs.data[at - 1];
  }
  const need_t need = {.earlier = earlier, .later = later, .is_same = true, .next = last};
  if (!byoc_vector_push(&f->needs, f->allocator, need) ||
      !byoc_pointer_map_put(&f->of_later, later, (void *)(uintptr_t)f->needs.count)) {
    return NULL;
  }
  return &f->needs.data[f->needs.count - 1];
}

// The last one that conflicts with the next instruction: those before it in its queue have ended when it has.
static const byoc_host_run_t *find_last_conflict(const byoc_host_order_t *order, const byoc_host_run_t *run) {
  const byoc_host_run_t *open = NULL, *last = NULL;
  const byoc_host_access_t *first = NULL, *second = NULL;
  for (size_t at = 0; (open = byoc_host_order_next(order, &at)) != NULL;) {
    if (byoc_host_runs_conflict(open, run, &first, &second)) last = open;
  }
  return last;
}

static byoc_status_t meet(void *self, byoc_host_order_t *order, const byoc_host_run_t *run) {
  finder_t *f = self;
  const byoc_host_run_t *open = NULL;
  while ((open = find_last_conflict(order, run)) != NULL) {
    need_t *need = find_need(f, open->instruction, run->instruction);
    if (need == NULL) return byoc_diag_out_of_memory(f->diag);
    const byoc_host_queue_use_t *on = &open->instruction->on;
    int64_t element = 0;
    const bool is_known = byoc_host_order_value(order, on->place, byoc_host_set_count(on->queue->count), &element);
    need->is_same = need->is_same && is_known && (uint32_t)element == open->element;
    need->elements |= UINT64_C(1) << open->element;
    byoc_host_order_assume(order, open);
  }
  return BYOC_OK;
}

// ---- events ----

static bool is_only_signaller(const byoc_host_program_t *program, const byoc_host_instruction_t *instruction) {
  BYOC_HOST_FOR_EACH(i, program) {
    if (i != instruction && i->signal.event == instruction->signal.event) return false;
  }
  return true;
}

// Makes a command signal an event that no other one signals; a set of them if its queue is one. NULL if out of memory.
static const byoc_host_event_t *signal_of(byoc_host_program_t *program, byoc_host_instruction_t *command) {
  const byoc_host_queue_t *queue = command->on.queue;
  const byoc_host_event_t *known = command->signal.event;
  const bool fits = known != NULL && known->count == queue->count &&
                    (known->count == 0 || byoc_dim_equal(command->signal.place, command->on.place));
  if (fits && is_only_signaller(program, command)) return known;
  const char *name = byoc_arena_format(&program->arena, "%s_done", queue->name);
  byoc_host_event_t *event = name != NULL ? byoc_host_event_create(program, name, queue->device, queue->count) : NULL;
  if (event == NULL) return NULL;
  if (known != NULL) { // a barrier behind the command signals the other one
    byoc_host_instruction_t *next = command->next;
    byoc_host_instruction_t *barrier = next != NULL
                                           ? byoc_host_instruction_create(program, next, BYOC_HOST_BARRIER)
                                           : byoc_host_instruction_append(program, command->region, BYOC_HOST_BARRIER);
    if (barrier == NULL) return NULL;
    barrier->on = command->on;
    barrier->signal = command->signal;
  }
  command->signal = (byoc_host_event_use_t){.event = event, .place = command->on.place};
  return event;
}

// The instruction that waits on behalf of another one: that one itself, or an await in front of it.
static byoc_host_instruction_t *waiter_of(byoc_host_program_t *program, const need_t *need) {
  byoc_host_instruction_t *later = need->later;
  const bool can_wait = later->on.queue != NULL && later->on.queue->device == need->earlier->on.queue->device;
  if (can_wait) return later;
  if (later->previous != NULL && later->previous->op == BYOC_HOST_AWAIT) return later->previous;
  return byoc_host_instruction_create(program, later, BYOC_HOST_AWAIT);
}

static bool add_wait(byoc_host_program_t *program, byoc_host_instruction_t *waiter, const byoc_host_event_t *event,
                     byoc_dim_t place) {
  for (size_t k = 0; k < waiter->waits.count; ++k) {
    const byoc_host_event_use_t *wait = &waiter->waits.data[k];
    if (wait->event == event && (event->count == 0 || byoc_dim_equal(wait->place, place))) return true;
  }
  return byoc_host_add_wait(program, waiter, event, place);
}

static bool satisfy(byoc_host_program_t *program, const need_t *need) {
  const byoc_host_event_t *event = signal_of(program, need->earlier);
  byoc_host_instruction_t *waiter = event != NULL ? waiter_of(program, need) : NULL;
  if (waiter == NULL) return false;
  if (event->count == 0 || need->is_same) return add_wait(program, waiter, event, need->earlier->on.place);
  for (uint32_t element = 0; element < event->count; ++element) {
    if ((need->elements >> element & 1) == 0) continue;
    if (!add_wait(program, waiter, event, byoc_dim_constant(element))) return false;
  }
  return true;
}

// ---- the pass ----

static byoc_status_t order_once(byoc_host_program_t *program, byoc_diag_t *diag, size_t *out_count) {
  finder_t f = {.allocator = program->arena.allocator, .diag = diag};
  byoc_pointer_map_init(&f.of_later, f.allocator);
  const byoc_host_watch_t watch = {.self = &f, .meet = meet, .assumes = true};
  byoc_status_t status = byoc_host_walk_order(program, &watch, diag);
  for (size_t k = 0; k < f.needs.count && status == BYOC_OK; ++k) {
    if (!satisfy(program, &f.needs.data[k])) status = byoc_diag_out_of_memory(diag);
  }
  *out_count = f.needs.count;
  byoc_map_deinit(&f.of_later);
  byoc_vector_deinit(&f.needs, f.allocator);
  return status;
}

// copy %x -> %t on %a, launch f(%t) on %b  →  copy %x -> %t on %a signals %e, launch f(%t) on %b after (%e)
byoc_status_t byoc_host_pass_order_queues(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  enum { MOST_ROUNDS = 16 }; // commands of iterations that are not counted may need further events
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    size_t count = 0;
    BYOC_RETURN_IF_ERROR(order_once(program, diag, &count));
    *changes += count;
    if (count == 0) break;
  }
  return BYOC_OK;
}
