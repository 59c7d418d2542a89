// SPDX-License-Identifier: Apache-2.0
// Finds which buffers may have one memory.
#include "core/hostir/program/shared.h"

typedef struct sharing_t {
  const byoc_host_program_t *program;
  uint32_t *shared; // by buffer: another one whose memory it may have; its own index if that is all
} sharing_t;

static uint32_t place_of(sharing_t *f, byoc_host_buffer_t *buffer) {
  uint32_t k = byoc_host_buffer_root(buffer)->index;
  while (f->shared[k] != k) k = f->shared[k] = f->shared[f->shared[k]];
  return k;
}

// The first buffer keeps the name, so that the result does not depend on the order of unions.
static void unite(sharing_t *f, byoc_host_buffer_t *a, byoc_host_buffer_t *b) {
  if (a == NULL || b == NULL) return;
  const uint32_t one = place_of(f, a), other = place_of(f, b);
  f->shared[one < other ? other : one] = one < other ? one : other;
}

static void unite_lists(sharing_t *f, byoc_host_buffer_t *const *a, byoc_host_buffer_t *const *b, size_t count) {
  for (size_t k = 0; k < count; ++k) unite(f, a[k], b[k]);
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

// A loop's operand, its parameter, the yielded value and the result are one value in each iteration.
static void unite_values_of_loop(sharing_t *f, const byoc_host_instruction_t *loop) {
  const byoc_host_region_t *body = &loop->regions[0];
  const size_t first = loop->count != NULL ? 0 : 2; // of the carried ones, among operands and parameters
  if (loop->operands.count < first || body->parameters.count < first) return;
  const size_t carried = smaller(loop->operands.count, body->parameters.count) - first;
  unite_lists(f, loop->operands.data + first, body->parameters.data + first, carried);
  unite_lists(f, loop->operands.data + first, loop->results.data, smaller(carried, loop->results.count));
}

// The operand of a yield, its owner's result and the next iteration's parameter are one value.
static void unite_yielded(sharing_t *f, const byoc_host_instruction_t *yield) {
  const byoc_host_instruction_t *owner = yield->region->owner;
  if (owner == NULL) return;
  const size_t first = owner->op == BYOC_HOST_LOOP && owner->count == NULL; // the condition
  for (size_t k = first; k < yield->operands.count; ++k) {
    if (k - first < owner->results.count) unite(f, yield->operands.data[k], owner->results.data[k - first]);
  }
}

static void unite_shared(sharing_t *f) {
  BYOC_HOST_FOR_EACH(i, f->program) {
    if (i->op == BYOC_HOST_SHARE) unite(f, i->operands.data[0], i->results.data[0]);
    if (i->op == BYOC_HOST_CONTAINER) { // it keeps its operands, and its results are kept values
      for (size_t k = 0; k < i->operands.count && i->results.count > 0; ++k) {
        unite(f, i->operands.data[k], i->results.data[0]);
      }
    }
    if (i->op == BYOC_HOST_LOOP) unite_values_of_loop(f, i);
    if (i->op == BYOC_HOST_YIELD) unite_yielded(f, i);
  }
  for (size_t k = 0; k < f->program->outputs.count; ++k) {
    unite(f, f->program->outputs.data[k], f->program->outputs.data[k]->over);
  }
}

uint32_t *byoc_host_find_shared(const byoc_host_program_t *program, byoc_arena_t *arena) {
  const size_t count = program->buffers.count;
  sharing_t f = {.program = program, .shared = BYOC_ARENA_ARRAY(arena, uint32_t, count + 1)};
  if (f.shared == NULL) return NULL;
  for (uint32_t k = 0; k < count; ++k) f.shared[k] = k;
  unite_shared(&f);
  for (size_t k = 0; k < count; ++k) f.shared[k] = place_of(&f, program->buffers.data[k]);
  return f.shared;
}
