// SPDX-License-Identifier: Apache-2.0
// overlap-collectives: lets a collective begin where it stands and end where its result is needed, with all work in
// between that does not need it.
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/dependence.h"
#include "core/hostir/program/edit.h"

static bool is_work(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_KERNEL || i->op == BYOC_HOST_PACKED || i->op == BYOC_HOST_ENGINE ||
         i->op == BYOC_HOST_C_CALL || i->op == BYOC_HOST_LAUNCH;
}

// Nothing moves past it: one collective runs at a time, and the events of commands refer to this point of the program.
static bool is_fixed(const byoc_host_instruction_t *i) {
  return i->region_count > 0 || i->op == BYOC_HOST_COLLECTIVE || i->op == BYOC_HOST_YIELD || i->op == BYOC_HOST_AWAIT ||
         i->op == BYOC_HOST_BARRIER || i->waits.count > 0 || i->signal.event != NULL;
}

static bool depends_on_any(const byoc_host_dependences_t *d, size_t later, const bool *are) {
  for (size_t b = 0; b < d->before[later].count; ++b) {
    if (are[d->before[later].data[b]]) return true;
  }
  return false;
}

// Moves the instructions that may run while collective `number` is under way in front of those that wait for it.
// *out_first is the first one that waits; NULL: the region ends here. False: no instruction may run meanwhile, and
// nothing was moved.
static bool gather_work(const byoc_host_dependences_t *d, size_t number, bool *waits,
                        byoc_host_instruction_t **out_first) {
  bool has_work = false;
  size_t end = number + 1, first = 0; // 0: none waits yet
  waits[number] = true;
  for (; end < d->count && !is_fixed(d->instructions[end]); ++end) {
    waits[end] = depends_on_any(d, end, waits);
    if (waits[end] && first == 0) first = end;
    has_work = has_work || (!waits[end] && is_work(d->instructions[end]));
  }
  if (first == 0) first = end;
  *out_first = first < d->count ? d->instructions[first] : NULL;
  for (size_t k = first; k < end && has_work; ++k) {
    byoc_host_instruction_t *i = d->instructions[k];
    if (!waits[k]) byoc_host_instruction_move(i, i->region, *out_first);
  }
  for (size_t k = number; k < end; ++k) waits[k] = false; // for the next collective
  return has_work;
}

static byoc_status_t split(byoc_host_program_t *program, byoc_host_instruction_t *begin,
                           byoc_host_instruction_t *before, byoc_diag_t *diag) {
  byoc_collective_call_t *phases = BYOC_ARENA_ARRAY(&program->arena, byoc_collective_call_t, 2);
  byoc_host_instruction_t *end = before != NULL
                                     ? byoc_host_instruction_create(program, before, BYOC_HOST_COLLECTIVE)
                                     : byoc_host_instruction_append(program, begin->region, BYOC_HOST_COLLECTIVE);
  bool ok = phases != NULL && end != NULL;
  for (size_t k = 0; ok && k < begin->operands.count; ++k) {
    ok = byoc_host_add_operand(program, end, begin->operands.data[k]);
  }
  for (size_t k = 0; ok && k < begin->results.count; ++k) {
    ok = byoc_host_add_result(program, end, begin->results.data[k]);
  }
  if (!ok) return byoc_diag_out_of_memory(diag);
  phases[0] = phases[1] = *begin->collective;
  phases[0].phase = BYOC_COLLECTIVE_BEGINS;
  phases[1].phase = BYOC_COLLECTIVE_ENDS;
  begin->collective = &phases[0];
  end->collective = &phases[1];
  end->symbol = begin->symbol;
  end->origin = begin->origin;
  return BYOC_OK;
}

static byoc_status_t overlap(byoc_host_program_t *program, byoc_host_region_t *region, byoc_arena_t *arena,
                             byoc_diag_t *diag, size_t *changes) {
  byoc_host_dependences_t d;
  if (!byoc_host_find_dependences(program, region, arena, &d)) return byoc_diag_out_of_memory(diag);
  bool *waits = BYOC_ARENA_ARRAY(arena, bool, d.count + 1); // by instruction, all false
  if (waits == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < d.count; ++k) {
    byoc_host_instruction_t *i = d.instructions[k], *first = NULL;
    for (uint32_t r = 0; r < i->region_count; ++r) {
      BYOC_RETURN_IF_ERROR(overlap(program, &i->regions[r], arena, diag, changes));
    }
    if (i->op != BYOC_HOST_COLLECTIVE || i->collective->phase != BYOC_COLLECTIVE_WHOLE) continue;
    if (!gather_work(&d, k, waits, &first)) continue;
    BYOC_RETURN_IF_ERROR(split(program, i, first, diag));
    *changes += 1;
  }
  return BYOC_OK;
}

static bool has_collective(const byoc_host_program_t *program) {
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op == BYOC_HOST_COLLECTIVE) return true;
  }
  return false;
}

// collective a, kernel g(a), kernel f  →  collective a begins, kernel f, collective a ends, kernel g(a)
byoc_status_t byoc_host_pass_overlap_collectives(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  if (!has_collective(program)) return BYOC_OK;
  byoc_arena_t arena;
  byoc_arena_init(&arena, program->arena.allocator);
  byoc_status_t status = overlap(program, &program->body, &arena, diag, changes);
  byoc_arena_deinit(&arena);
  return status;
}
