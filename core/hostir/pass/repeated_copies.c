// SPDX-License-Identifier: Apache-2.0
// drop-repeated-copies: a copy of bytes that are there already goes, and so does one that is never read.
#include <string.h>

#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/program/shared.h"
#include "core/hostir/verify/verify_bytes.h"

// Bytes of buffers that may share their memory.
typedef struct part_t {
  uint32_t place; // shared.h
  byoc_byte_range_t bytes;
} part_t;

// Two parts that hold the same.
typedef struct equal_t {
  part_t a, b;
} equal_t;

typedef struct finder_t {
  byoc_host_program_t *program;
  const uint32_t *shared;
  byoc_arena_t arena;
  BYOC_VECTOR(equal_t) equals; // where the walk is
  size_t changes;
  bool failed; // out of memory
} finder_t;

// ---- parts ----

// A view that moves may be anywhere in its base.
static part_t part_of(const finder_t *f, byoc_host_buffer_t *buffer) {
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  part_t part = {.place = f->shared[root->index], .bytes = {0, UINT64_MAX}};
  if (byoc_host_buffer_in_cell(root) || byoc_host_buffer_moves(buffer)) return part;
  const uint64_t begin = byoc_host_buffer_offset(buffer);
  part.bytes = (byoc_byte_range_t){begin, begin + buffer->size_bytes};
  return part;
}

static bool touch(const part_t *a, const part_t *b) {
  return a->place == b->place && a->bytes.begin < b->bytes.end && b->bytes.begin < a->bytes.end;
}

static bool is_same(const part_t *a, const part_t *b) {
  return a->place == b->place && a->bytes.begin == b->bytes.begin && a->bytes.end == b->bytes.end;
}

static bool covers(const part_t *a, const part_t *b) {
  return a->place == b->place && a->bytes.begin <= b->bytes.begin && b->bytes.end <= a->bytes.end;
}

// The two parts that a copy makes equal; false if they are not followed.
static bool find_equal(const finder_t *f, const byoc_host_instruction_t *i, equal_t *out_equal) {
  if (i->op != BYOC_HOST_COPY) return false;
  byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  *out_equal = (equal_t){part_of(f, from), part_of(f, to)};
  return !byoc_host_buffer_moves(from) && !byoc_host_buffer_moves(to) && out_equal->a.place != out_equal->b.place;
}

static bool is_same_equal(const equal_t *a, const equal_t *b) {
  return (is_same(&a->a, &b->a) && is_same(&a->b, &b->b)) || (is_same(&a->a, &b->b) && is_same(&a->b, &b->a));
}

// ---- copies of bytes that are there already ----

static void forget_part(finder_t *f, const part_t *written, const equal_t *but) {
  size_t kept = 0;
  for (size_t k = 0; k < f->equals.count; ++k) {
    const equal_t *equal = &f->equals.data[k];
    const bool stays =
        (!touch(written, &equal->a) && !touch(written, &equal->b)) || (but != NULL && is_same_equal(equal, but));
    if (stays) f->equals.data[kept++] = *equal;
  }
  f->equals.count = kept;
}

static void forget_whole(finder_t *f, byoc_host_buffer_t *buffer) {
  if (buffer == NULL) return;
  const part_t part = {.place = f->shared[byoc_host_buffer_root(buffer)->index], .bytes = {0, UINT64_MAX}};
  forget_part(f, &part, NULL);
}

// Forgets the parts that the instruction, and those nested in it, change.
static void forget_written(finder_t *f, const byoc_host_instruction_t *i) {
  equal_t equal;
  const bool makes_equal = find_equal(f, i, &equal);
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) forget_whole(f, i->operands.data[0]);
  for (size_t k = 0; k < i->results.count; ++k) {
    const part_t part = part_of(f, i->results.data[k]);
    forget_part(f, &part, makes_equal ? &equal : NULL);
  }
  forget_whole(f, i->workspace);
  for (uint32_t r = 0; r < i->region_count; ++r) {
    for (size_t k = 0; k < i->regions[r].parameters.count; ++k) {
      forget_whole(f, i->regions[r].parameters.data[k]);
    }
    for (const byoc_host_instruction_t *n = i->regions[r].first; n != NULL; n = n->next) forget_written(f, n);
  }
}

static bool is_known(const finder_t *f, const equal_t *equal) {
  for (size_t k = 0; k < f->equals.count; ++k) {
    if (is_same_equal(&f->equals.data[k], equal)) return true;
  }
  return false;
}

// If the copy waits or signals, a barrier with its waits and its signal replaces it. So the other commands keep their
// order.
static bool drop_copy(finder_t *f, byoc_host_instruction_t *copy) {
  if (copy->waits.count > 0 || copy->signal.event != NULL) {
    byoc_host_instruction_t *barrier = byoc_host_instruction_create(f->program, copy, BYOC_HOST_BARRIER);
    if (barrier == NULL) return false;
    barrier->on = copy->on;
    barrier->signal = copy->signal;
    for (size_t k = 0; k < copy->waits.count; ++k) {
      if (!byoc_host_add_wait(f->program, barrier, copy->waits.data[k].event, copy->waits.data[k].place)) return false;
    }
  }
  byoc_host_instruction_erase(f->program, copy);
  f->changes += 1;
  return true;
}

static void walk_region(finder_t *f, byoc_host_region_t *region) {
  for (byoc_host_instruction_t *i = region->first, *next = NULL; i != NULL && !f->failed; i = next) {
    equal_t equal;
    next = i->next;
    const bool makes_equal = find_equal(f, i, &equal);
    if (makes_equal && is_known(f, &equal)) {
      f->failed = !drop_copy(f, i);
      continue;
    }
    forget_written(f, i); // of a loop: the changes of all iterations
    const size_t count = f->equals.count;
    for (uint32_t r = 0; r < i->region_count; ++r) {
      walk_region(f, &i->regions[r]);
      if (f->equals.count > count) f->equals.count = count;
    }
    if (makes_equal) f->failed = !byoc_vector_push(&f->equals, byoc_arena_allocator(&f->arena), equal);
  }
}

// ---- copies that are written over before anybody reads them ----

static bool reads(const finder_t *f, const byoc_host_instruction_t *i, const part_t *part) {
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) return false;
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] == NULL) continue;
    const part_t read = part_of(f, i->operands.data[k]);
    if (touch(&read, part)) return true;
  }
  if (i->op != BYOC_HOST_C_CALL) return false; // it may add to its result
  for (size_t k = 0; k < i->results.count; ++k) {
    const part_t read = part_of(f, i->results.data[k]);
    if (touch(&read, part)) return true;
  }
  return false;
}

// Ends the content of a part: it is written whole, or its life ends.
static bool ends(const finder_t *f, const byoc_host_instruction_t *i, const part_t *part) {
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) {
    return f->shared[i->operands.data[0]->index] == part->place && !byoc_host_is_cached(i->operands.data[0]);
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    const part_t written = part_of(f, i->results.data[k]);
    if (!byoc_host_buffer_moves(i->results.data[k]) && covers(&written, part)) return true;
  }
  return false;
}

static bool is_dead(const finder_t *f, const byoc_host_instruction_t *copy) {
  equal_t equal;
  if (!find_equal(f, copy, &equal) || byoc_host_buffer_in_cell(byoc_host_buffer_root(copy->results.data[0]))) {
    return false;
  }
  for (const byoc_host_instruction_t *i = copy->next; i != NULL; i = i->next) {
    if (i->region_count > 0 || reads(f, i, &equal.b)) return false;
    if (ends(f, i, &equal.b)) return true;
  }
  return false;
}

static void drop_dead(finder_t *f) {
  for (byoc_host_instruction_t *i = f->program->body.first, *next = NULL; i != NULL && !f->failed; i = next) {
    next = byoc_host_instruction_following(i);
    if (is_dead(f, i)) f->failed = !drop_copy(f, i);
  }
}

// copy %x -> %t, f(%t), copy %x -> %t  →  copy %x -> %t, f(%t)
// copy %x -> %t, copy %y -> %t         →  copy %y -> %t
byoc_status_t byoc_host_pass_drop_repeated_copies(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  if (program->queues.count == 0) return BYOC_OK; // copies of the host are for elide-copies
  finder_t f = {.program = program};
  byoc_arena_init(&f.arena, program->arena.allocator);
  f.shared = byoc_host_find_shared(program, &f.arena);
  f.failed = f.shared == NULL;
  if (!f.failed) walk_region(&f, &program->body);
  if (!f.failed) drop_dead(&f);
  *changes = f.changes;
  byoc_arena_deinit(&f.arena);
  return f.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}
