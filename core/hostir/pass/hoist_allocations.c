// SPDX-License-Identifier: Apache-2.0
// hoist-allocations: an allocation that each iteration of a loop would repeat is made once, in front of the loop.
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"

static bool is_inside(const byoc_host_instruction_t *i, const byoc_host_instruction_t *loop) {
  for (const byoc_host_instruction_t *at = i->region->owner; at != NULL; at = at->region->owner) {
    if (at == loop) return true;
  }
  return false;
}

typedef struct inner_symbols_t {
  const byoc_host_program_t *program;
  const byoc_host_instruction_t *loop;
} inner_symbols_t;

static bool binds(const byoc_host_instruction_t *i, uint32_t symbol) {
  if (i->count != NULL && i->count->symbol == symbol) return true;
  for (uint32_t k = 0; k < i->match_count; ++k) {
    if (i->matches[k].symbol == symbol) return true;
  }
  for (uint32_t k = 0; k < i->symbol_count; ++k) {
    if (i->symbols[k] == symbol) return true;
  }
  return false;
}

// Does the symbol have its value before the loop begins?
static bool is_bound_outside(void *self, byoc_dim_t leaf) {
  const inner_symbols_t *inner = self;
  if (byoc_dim_is_unknown(leaf)) return false;
  const uintptr_t index = (uintptr_t)byoc_string_map_get(&inner->program->symbol_indices, leaf.expr->symbol);
  if (index == 0) return false;
  BYOC_HOST_FOR_EACH(i, inner->program) {
    if ((i == inner->loop || is_inside(i, inner->loop)) && binds(i, (uint32_t)(index - 1))) return false;
  }
  return true;
}

// Calls read and write a cell in place. Other instructions may keep it beyond the iteration of the loop that made it.
static bool only_calls_use(const byoc_host_buffer_t *buffer) {
  for (size_t k = 0; k < buffer->uses.count; ++k) {
    switch (buffer->uses.data[k].instruction->op) {
    case BYOC_HOST_ALLOCATE:
    case BYOC_HOST_FREE:
    case BYOC_HOST_KERNEL:
    case BYOC_HOST_PACKED:
    case BYOC_HOST_ENGINE:
    case BYOC_HOST_C_CALL:
    case BYOC_HOST_COLLECTIVE:
    case BYOC_HOST_COPY:
      break;
    default:
      return false;
    }
  }
  return true;
}

// NULL: the buffer is freed in several places, because it has several lives.
static byoc_host_instruction_t *find_free(const byoc_host_buffer_t *buffer) {
  byoc_host_instruction_t *found = NULL;
  for (size_t k = 0; k < buffer->uses.count; ++k) {
    byoc_host_instruction_t *i = buffer->uses.data[k].instruction;
    if (i->op == BYOC_HOST_FREE && found != NULL) return NULL;
    if (i->op == BYOC_HOST_FREE) found = i;
  }
  return found;
}

// Buffers in the workspace cost nothing to allocate; only cells are worth it.
static bool may_hoist(const byoc_host_program_t *program, const byoc_host_instruction_t *allocate,
                      const byoc_host_instruction_t *loop) {
  const byoc_host_buffer_t *buffer = allocate->operands.data[0];
  const byoc_host_instruction_t *end = find_free(buffer);
  if (!buffer->is_value || byoc_host_own_allocation(buffer) != NULL || !byoc_type_is_tensor(buffer->type) ||
      buffer->type->rank < 0 || !only_calls_use(buffer) || end == NULL || end->region != allocate->region) {
    return false;
  }
  inner_symbols_t inner = {.program = program, .loop = loop};
  for (int32_t d = 0; d < buffer->type->rank; ++d) {
    if (!byoc_dim_walk(buffer->type->dims[d], is_bound_outside, &inner)) return false;
  }
  return true;
}

// loop body { allocate %t ... free %t }  →  allocate %t, loop body { ... }, free %t
byoc_status_t byoc_host_pass_hoist_allocations(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  (void)diag;
  for (byoc_host_instruction_t *i = program->body.first, *next = NULL; i != NULL; i = next) {
    next = byoc_host_instruction_following(i);
    byoc_host_instruction_t *loop = i->region->owner;
    if (i->op != BYOC_HOST_ALLOCATE || loop == NULL || loop->op != BYOC_HOST_LOOP) continue;
    if (!may_hoist(program, i, loop)) continue;
    byoc_host_instruction_t *end = find_free(i->operands.data[0]);
    if (next == end) next = byoc_host_instruction_following(end);
    byoc_host_instruction_move(i, loop->region, loop);
    byoc_host_instruction_move(end, loop->region, loop->next);
    *changes += 1;
  }
  return BYOC_OK;
}
