// SPDX-License-Identifier: Apache-2.0
// overlap-collectives: lets a collective begin where it stands and end where its result is needed, with work in
// between.
#include "core/hostir/dependence.h"
#include "core/hostir/edit.h"
#include "core/hostir/pass.h"

static bool is_work(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_KERNEL || i->op == BYOC_HOST_PACKED || i->op == BYOC_HOST_ENGINE ||
         i->op == BYOC_HOST_C_CALL;
}

static bool depends_on(const byoc_host_dependences_t *d, size_t later, size_t earlier) {
  for (size_t b = 0; b < d->before[later].count; ++b) {
    if (d->before[later].data[b] == earlier) return true;
  }
  return false;
}

// The number of the first instruction that cannot run before the collective has ended; `count`: all can. 0: no work
// stands in between.
static size_t find_end(const byoc_host_dependences_t *d, size_t number) {
  bool has_work = false;
  size_t end = number + 1;
  for (; end < d->count; ++end) {
    const byoc_host_instruction_t *i = d->instructions[end];
    if (i->region_count > 0 || i->op == BYOC_HOST_YIELD || depends_on(d, end, number)) break;
    has_work = has_work || is_work(i);
  }
  return has_work ? end : 0;
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
  for (size_t k = 0; k < d.count; ++k) {
    byoc_host_instruction_t *i = d.instructions[k];
    for (uint32_t r = 0; r < i->region_count; ++r) {
      BYOC_RETURN_IF_ERROR(overlap(program, &i->regions[r], arena, diag, changes));
    }
    if (i->op != BYOC_HOST_COLLECTIVE || i->collective->phase != BYOC_COLLECTIVE_WHOLE) continue;
    const size_t end = find_end(&d, k);
    if (end == 0) continue;
    BYOC_RETURN_IF_ERROR(split(program, i, end < d.count ? d.instructions[end] : NULL, diag));
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

// collective a, kernel f, kernel g(a)  →  collective a begins, kernel f, collective a ends, kernel g(a)
byoc_status_t byoc_host_pass_overlap_collectives(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  if (!has_collective(program)) return BYOC_OK;
  byoc_arena_t arena;
  byoc_arena_init(&arena, program->arena.allocator);
  byoc_status_t status = overlap(program, &program->body, &arena, diag, changes);
  byoc_arena_deinit(&arena);
  return status;
}
