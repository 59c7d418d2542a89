// SPDX-License-Identifier: Apache-2.0
// Finds the dependences between the instructions of a region.
#include "core/hostir/program/dependence.h"

#include <stdlib.h>

#include "core/hostir/program/shared.h"

#define NOBODY UINT32_MAX

// A location that instructions read and write: the bytes of a buffer, the workspace, or a symbol.
typedef struct access_t {
  uint64_t begin, end; // of its bytes
  uint32_t place, instruction;
  bool is_write;
} access_t;

typedef struct finder_t {
  const byoc_host_program_t *program;
  byoc_arena_t *arena;
  byoc_arena_t scratch;
  byoc_host_dependences_t *out;
  const uint32_t *shared; // shared.h
  BYOC_VECTOR(access_t) accesses;
  uint32_t at; // number of the instruction whose accesses are noted
  bool failed; // out of memory
} finder_t;

// ---- accesses ----

static void note(finder_t *f, uint32_t place, uint64_t begin, uint64_t end, bool is_write) {
  const access_t access = {begin, end, place, f->at, is_write};
  if (!byoc_vector_push(&f->accesses, byoc_arena_allocator(&f->scratch), access)) f->failed = true;
}

static uint32_t place_of_symbol(const finder_t *f, uint32_t symbol) {
  return (uint32_t)f->program->buffers.count + 1 + symbol;
}

static void define(finder_t *f, uint32_t symbol) {
  if (symbol != BYOC_HOST_SYMBOL_NONE) note(f, place_of_symbol(f, symbol), 0, 1, true);
}

static bool read_leaf(void *self, byoc_dim_t leaf) {
  finder_t *f = self;
  if (byoc_dim_is_unknown(leaf)) return true;
  const uintptr_t index = (uintptr_t)byoc_string_map_get(&f->program->symbol_indices, leaf.expr->symbol);
  if (index != 0) note(f, place_of_symbol(f, (uint32_t)(index - 1)), 0, 1, false);
  return true;
}

static void read_dims(finder_t *f, const byoc_dim_t *dims, size_t count) {
  for (size_t k = 0; k < count && dims != NULL; ++k) byoc_dim_walk(dims[k], read_leaf, f);
}

static void read_shape(finder_t *f, const byoc_host_buffer_t *buffer) {
  if (!buffer->is_value || !byoc_type_is_tensor(buffer->type) || buffer->type->rank < 0) return;
  read_dims(f, buffer->type->dims, (size_t)buffer->type->rank);
}

static void touch(finder_t *f, byoc_host_buffer_t *buffer, bool is_write) {
  if (buffer == NULL) return;
  byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  read_dims(f, &buffer->offset, 1);
  read_shape(f, buffer);
  if (root->is_value) {
    note(f, f->shared[root->index], 0, 1, is_write);
    return;
  }
  const bool moves = byoc_host_buffer_moves(buffer);
  uint64_t begin = moves ? 0 : byoc_host_buffer_offset(buffer), size = moves ? root->size_bytes : buffer->size_bytes;
  if (size == 0) begin = 0; // an empty access touches the first byte, so that it stays in its buffer's life
  if (size == 0) size = 1;
  const bool is_planned =
      root->kind == BYOC_HOST_BUFFER_LOCAL && root->offset_bytes != BYOC_HOST_OFFSET_NONE && root->device == NULL;
  const uint64_t first = is_planned ? root->offset_bytes : 0;
  const uint32_t place = is_planned ? (uint32_t)f->program->buffers.count : f->shared[root->index];
  note(f, place, first + begin, first + begin + size, is_write);
}

static void touch_all(finder_t *f, byoc_host_buffer_t *const *buffers, size_t count, bool is_write) {
  for (size_t k = 0; k < count; ++k) touch(f, buffers[k], is_write);
}

// All accesses of one instruction, without those of instructions nested in it.
static void note_instruction(finder_t *f, const byoc_host_instruction_t *i) {
  const bool settles = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE || i->op == BYOC_HOST_MATCH;
  if (i->kernel != NULL) read_dims(f, i->dims, i->kernel->symbols.count);
  if (i->op == BYOC_HOST_LOOP) read_dims(f, i->dims, byoc_host_loop_dim_count(i));
  if (i->op == BYOC_HOST_LET) read_dims(f, i->dims, 1);
  if (i->op == BYOC_HOST_STORE) read_dims(f, i->dims, byoc_host_store_count(i));
  if (i->count != NULL) read_dims(f, (const byoc_dim_t[]){i->count->start, i->count->stop, i->count->step}, 3);
  for (size_t k = 0; k < i->relations.count; ++k) {
    read_dims(f, (const byoc_dim_t[]){i->relations.data[k].left, i->relations.data[k].right}, 2);
  }
  for (uint32_t k = 0; i->of_inputs && k < f->program->input_symbol_count; ++k) { // checked when one of them changes
    note(f, place_of_symbol(f, k), 0, 1, false);
  }
  for (uint32_t k = 0; k < i->match_count; ++k) {
    if (i->matches[k].symbol == BYOC_HOST_SYMBOL_NONE) read_dims(f, &i->matches[k].dim, 1);
  }
  touch_all(f, i->operands.data, i->operands.count, settles);
  touch_all(f, i->results.data, i->results.count, true);
  touch(f, i->workspace, true);
  for (uint32_t k = 0; k < i->match_count; ++k) define(f, i->matches[k].symbol);
  for (uint32_t k = 0; k < i->symbol_count; ++k) define(f, i->symbols[k]);
  if (i->count != NULL) define(f, i->count->symbol);
}

static void note_with_nested(finder_t *f, const byoc_host_instruction_t *i) {
  note_instruction(f, i);
  for (uint32_t r = 0; r < i->region_count; ++r) {
    for (const byoc_host_instruction_t *n = i->regions[r].first; n != NULL; n = n->next) note_with_nested(f, n);
  }
}

// ---- pairs ----

static void pair(finder_t *f, uint32_t before, uint32_t behind) {
  if (before == NOBODY || before == behind) return;
  if (!byoc_vector_push(&f->out->before[behind], byoc_arena_allocator(f->arena), before)) f->failed = true;
}

typedef struct reader_t {
  uint32_t instruction;
  struct reader_t *next;
} reader_t;

// Bytes that every access touches all of or none of.
typedef struct piece_t {
  uint32_t writer;
  reader_t *readers; // since then
} piece_t;

static void visit_piece(finder_t *f, piece_t *piece, const access_t *access) {
  if (!access->is_write) {
    pair(f, piece->writer, access->instruction);
    if (piece->readers != NULL && piece->readers->instruction == access->instruction) return;
    reader_t *reader = BYOC_ARENA_NEW(&f->scratch, reader_t);
    if (reader == NULL) {
      f->failed = true;
      return;
    }
    *reader = (reader_t){access->instruction, piece->readers};
    piece->readers = reader;
    return;
  }
  if (piece->readers == NULL) pair(f, piece->writer, access->instruction); // readers come behind the writer already
  for (const reader_t *r = piece->readers; r != NULL; r = r->next) pair(f, r->instruction, access->instruction);
  *piece = (piece_t){.writer = access->instruction};
}

static int compare_bounds(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static size_t find_bound(const uint64_t *bounds, size_t count, uint64_t bound) {
  const uint64_t *found = bsearch(&bound, bounds, count, sizeof(*bounds), compare_bounds);
  return (size_t)(found - bounds);
}

// The accesses of one location, in the order of the program.
static void visit_place(finder_t *f, const access_t *accesses, size_t count) {
  uint64_t *bounds = BYOC_ARENA_ARRAY(&f->scratch, uint64_t, 2 * count);
  piece_t *pieces = BYOC_ARENA_ARRAY(&f->scratch, piece_t, 2 * count);
  if (bounds == NULL || pieces == NULL) {
    f->failed = true;
    return;
  }
  size_t bound_count = 0;
  for (size_t k = 0; k < count; ++k) {
    bounds[2 * k] = accesses[k].begin;
    bounds[2 * k + 1] = accesses[k].end;
  }
  qsort(bounds, 2 * count, sizeof(*bounds), compare_bounds);
  for (size_t k = 0; k < 2 * count; ++k) {
    if (bound_count == 0 || bounds[bound_count - 1] != bounds[k]) bounds[bound_count++] = bounds[k];
  }
  for (size_t k = 0; k < bound_count; ++k) pieces[k].writer = NOBODY;
  for (size_t k = 0; k < count && !f->failed; ++k) {
    for (size_t p = find_bound(bounds, bound_count, accesses[k].begin); bounds[p] < accesses[k].end; ++p) {
      visit_piece(f, &pieces[p], &accesses[k]);
    }
  }
}

// Sorts the accesses by location and visits the locations one by one.
static void visit_places(finder_t *f) {
  const size_t place_count = f->program->buffers.count + 1 + f->program->symbols.count;
  size_t *ends = BYOC_ARENA_ARRAY(&f->scratch, size_t, place_count + 1);
  access_t *sorted = BYOC_ARENA_ARRAY(&f->scratch, access_t, f->accesses.count + 1);
  if (ends == NULL || sorted == NULL) {
    f->failed = true;
    return;
  }
  for (size_t k = 0; k < f->accesses.count; ++k) ends[f->accesses.data[k].place + 1]++;
  for (size_t p = 0; p < place_count; ++p) ends[p + 1] += ends[p];
  for (size_t k = 0; k < f->accesses.count; ++k) sorted[ends[f->accesses.data[k].place]++] = f->accesses.data[k];
  for (size_t p = 0, begin = 0; p < place_count && !f->failed; begin = ends[p++]) {
    if (ends[p] > begin) visit_place(f, sorted + begin, ends[p] - begin);
  }
}

static bool has_collective(const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_COLLECTIVE) return true;
  for (uint32_t r = 0; r < i->region_count; ++r) {
    for (const byoc_host_instruction_t *n = i->regions[r].first; n != NULL; n = n->next) {
      if (has_collective(n)) return true;
    }
  }
  return false;
}

// All ranks run their collectives in one order, which is that of the program.
static void pair_collectives(finder_t *f) {
  uint32_t last = NOBODY;
  for (uint32_t k = 0; k < f->out->count; ++k) {
    if (!has_collective(f->out->instructions[k])) continue;
    pair(f, last, k);
    last = k;
  }
}

// A REQUIRE comes before all instructions behind it. A YIELD depends on each instruction in front of it that no other
// one depends on; instructions behind the YIELD depend on it.
static void pair_guards(finder_t *f) {
  bool *is_followed = BYOC_ARENA_ARRAY(&f->scratch, bool, f->out->count + 1);
  if (is_followed == NULL) {
    f->failed = true;
    return;
  }
  uint32_t guard = NOBODY;
  for (uint32_t k = 0; k < f->out->count; ++k) {
    const byoc_host_op_t op = f->out->instructions[k]->op;
    pair(f, guard, k);
    for (uint32_t b = 0; op == BYOC_HOST_YIELD && b < k; ++b) {
      if (!is_followed[b]) pair(f, b, k);
    }
    for (size_t b = 0; b < f->out->before[k].count; ++b) is_followed[f->out->before[k].data[b]] = true;
    if (op == BYOC_HOST_REQUIRE || op == BYOC_HOST_YIELD) guard = k;
  }
}

static int compare_numbers(const void *left, const void *right) {
  const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return a < b ? -1 : a > b;
}

// Each pair once, ascending.
static void sort_pairs(byoc_host_numbers_t *before) {
  size_t kept = 0;
  if (before->count > 1) qsort(before->data, before->count, sizeof(*before->data), compare_numbers);
  for (size_t k = 0; k < before->count; ++k) {
    if (kept == 0 || before->data[kept - 1] != before->data[k]) before->data[kept++] = before->data[k];
  }
  before->count = kept;
}

bool byoc_host_find_dependences(const byoc_host_program_t *program, const byoc_host_region_t *region,
                                byoc_arena_t *arena, byoc_host_dependences_t *out_dependences) {
  size_t count = 0;
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) ++count;
  *out_dependences = (byoc_host_dependences_t){.count = count};
  finder_t f = {.program = program, .arena = arena, .out = out_dependences};
  byoc_arena_init(&f.scratch, arena->allocator);
  out_dependences->instructions = BYOC_ARENA_ARRAY(arena, byoc_host_instruction_t *, count + 1);
  out_dependences->before = BYOC_ARENA_ARRAY(arena, byoc_host_numbers_t, count + 1);
  f.shared = byoc_host_find_shared(program, &f.scratch);
  f.failed = out_dependences->instructions == NULL || out_dependences->before == NULL || f.shared == NULL;
  if (!f.failed) {
    count = 0;
    for (byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) out_dependences->instructions[count++] = i;
    for (f.at = 0; f.at < count; ++f.at) note_with_nested(&f, out_dependences->instructions[f.at]);
  }
  if (!f.failed) visit_places(&f);
  if (!f.failed) pair_collectives(&f);
  if (!f.failed) pair_guards(&f);
  for (size_t k = 0; k < count && !f.failed; ++k) sort_pairs(&out_dependences->before[k]);
  byoc_arena_deinit(&f.scratch);
  return !f.failed;
}
