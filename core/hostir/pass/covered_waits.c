// SPDX-License-Identifier: Apache-2.0
// drop-covered-waits: waits for commands that have ended anyway go, and so do events that nobody waits for.
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/verify/happens_before.h"

// ---- waits ----

typedef struct waits_t {
  byoc_map_t adding; // pointer map: instruction → its waits that added something, a bit each
} waits_t;

enum { MOST_WAITS = 62 }; // further ones are kept

// The bit behind all others says that the instruction was reached.
static byoc_status_t note_wait(void *self, byoc_host_instruction_t *instruction, size_t index, bool adds) {
  waits_t *w = self;
  uint64_t bits = (uint64_t)(uintptr_t)byoc_pointer_map_get(&w->adding, instruction);
  bits |= UINT64_C(1) << (MOST_WAITS + 1);
  if (adds && index < MOST_WAITS) bits |= UINT64_C(1) << index;
  return byoc_pointer_map_put(&w->adding, instruction, (void *)(uintptr_t)bits) ? BYOC_OK : BYOC_OUT_OF_MEMORY;
}

static void drop_wait(byoc_host_instruction_t *i, size_t index) {
  for (size_t k = index + 1; k < i->waits.count; ++k) i->waits.data[k - 1] = i->waits.data[k];
  i->waits.count -= 1;
}

// Drops one wait of each instruction: with it gone, another one may be needed.
static size_t drop_once(byoc_host_program_t *program, const waits_t *w) {
  size_t dropped = 0;
  for (byoc_host_instruction_t *i = program->body.first, *next = NULL; i != NULL; i = next) {
    next = byoc_host_instruction_following(i);
    const uint64_t bits = (uint64_t)(uintptr_t)byoc_pointer_map_get(&w->adding, i);
    if (bits == 0) continue;
    size_t index = 0;
    while (index < i->waits.count && (index >= MOST_WAITS || (bits >> index & 1) != 0)) ++index;
    if (index == i->waits.count) continue;
    drop_wait(i, index);
    dropped += 1;
    if (i->op == BYOC_HOST_AWAIT && i->waits.count == 0) byoc_host_instruction_erase(program, i);
  }
  return dropped;
}

// ---- events that nobody waits for ----

static bool drop_signals(byoc_host_program_t *program) {
  byoc_allocator_t allocator = program->arena.allocator;
  bool *is_awaited = byoc_allocate(allocator, program->events.count + 1, sizeof(*is_awaited));
  if (is_awaited == NULL) return false;
  BYOC_HOST_FOR_EACH(i, program) {
    for (size_t k = 0; k < i->waits.count; ++k) is_awaited[i->waits.data[k].event->index] = true;
  }
  for (byoc_host_instruction_t *i = program->body.first, *next = NULL; i != NULL; i = next) {
    next = byoc_host_instruction_following(i);
    if (i->signal.event != NULL && !is_awaited[i->signal.event->index]) i->signal = (byoc_host_event_use_t){0};
    const bool does_nothing = i->op == BYOC_HOST_BARRIER && i->signal.event == NULL && i->waits.count == 0;
    if (does_nothing) byoc_host_instruction_erase(program, i);
  }
  byoc_host_keep_events(program, is_awaited);
  byoc_free(allocator, is_awaited);
  return true;
}

// copy ... on %q signals %e, launch ... on %q after (%e)  →  copy ... on %q, launch ... on %q
byoc_status_t byoc_host_pass_drop_covered_waits(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  if (program->queues.count == 0) return BYOC_OK;
  byoc_status_t status = BYOC_OK;
  for (size_t dropped = 1; dropped > 0 && status == BYOC_OK; *changes += dropped) {
    waits_t w;
    byoc_pointer_map_init(&w.adding, program->arena.allocator);
    const byoc_host_watch_t watch = {.self = &w, .wait = note_wait};
    status = byoc_host_walk_order(program, &watch, diag);
    dropped = status == BYOC_OK ? drop_once(program, &w) : 0;
    byoc_map_deinit(&w.adding);
  }
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  const size_t events = program->events.count;
  if (status == BYOC_OK && !drop_signals(program)) return byoc_diag_out_of_memory(diag);
  *changes += events - program->events.count;
  return status;
}
