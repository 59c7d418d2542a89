// SPDX-License-Identifier: Apache-2.0
// Finds the bounds of a program's memory: the largest sums of the bytes that are alive at one instruction.
//
// The walk follows lifetimes, nested regions included. Bytes belong to storages: a place in the workspace, or the
// memory of a cell, which lives as long as any cell refers to it. Sizes are sums over the program's symbols. A storage
// that may be another's, or whose size is not known, counts as empty, so that the result stays a lower bound.
#include <string.h>

#include "byoc/call.h"
#include "core/hostir/lower/lower_program.h"

// A multiple of a product of symbols.
typedef struct part_t {
  uint32_t product; // index in walk_t.products
  int64_t coefficient;
} part_t;

// The storage 0 stands for bytes that are not counted.
typedef struct storage_t {
  BYOC_VECTOR(part_t) size;
  uint32_t users; // buffers that refer to it; alive if there are any
  bool is_planned;
} storage_t;

// The storage that a buffer had before.
typedef struct undo_t {
  uint32_t buffer, storage;
} undo_t;

typedef BYOC_VECTOR(int64_t) sum_t; // coefficients by product

// At most this many sums are compared; they differ in symbols. More lose the smallest ones.
enum { MOST_PEAKS = 16 };

typedef struct walk_t {
  byoc_host_program_t *program;
  byoc_arena_t arena; // for all vectors
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_dim_t) products; // the first one is the number 1
  BYOC_VECTOR(storage_t) storages;
  uint32_t *storage_of; // by buffer index
  BYOC_VECTOR(undo_t) undos;
  bool keeps_undos; // in the first case of a branch
  sum_t live, peaks[MOST_PEAKS];
  size_t peak_count;
  uint64_t planned, most_planned; // bytes in the workspace: now, and at most
  bool failed;                    // out of memory
} walk_t;

// ---- sizes ----

static uint32_t find_product(walk_t *w, byoc_dim_t product) {
  for (size_t k = 0; k < w->products.count; ++k) {
    if (byoc_dim_equal(w->products.data[k], product)) return (uint32_t)k;
  }
  if (!byoc_vector_push(&w->products, w->allocator, product) || !byoc_vector_push(&w->live, w->allocator, 0)) {
    w->failed = true;
    return 0;
  }
  return (uint32_t)(w->products.count - 1);
}

// Takes a sum of products apart.
static void collect_parts(walk_t *w, byoc_dim_t dim, int64_t scale, storage_t *storage) {
  const byoc_dim_expr_t *e = dim.expr;
  if (e != NULL && (e->kind == BYOC_DIM_ADD || e->kind == BYOC_DIM_SUB)) {
    collect_parts(w, e->left, scale, storage);
    collect_parts(w, e->right, e->kind == BYOC_DIM_SUB ? byoc_dim_sub(0, scale) : scale, storage);
    return;
  }
  if (e != NULL && e->kind == BYOC_DIM_MUL && byoc_dim_is_constant(e->right)) {
    collect_parts(w, e->left, byoc_dim_mul(scale, e->right.constant), storage);
    return;
  }
  part_t part = {0, scale};
  if (e == NULL) part.coefficient = byoc_dim_mul(scale, dim.constant);
  if (e != NULL) part.product = find_product(w, dim);
  if (!byoc_vector_push(&storage->size, w->allocator, part)) w->failed = true;
}

static bool is_symbol(void *self, byoc_dim_t leaf) {
  (void)self;
  return !byoc_dim_is_unknown(leaf);
}

// The bytes of a tensor; 0 if they are not known.
static byoc_dim_t tensor_bytes(walk_t *w, const byoc_type_t *type) {
  if (!byoc_type_is_tensor(type) || type->rank < 0) return byoc_dim_constant(0);
  byoc_dim_t bytes = byoc_dim_constant((int64_t)byoc_dtype_bits(type->dtype));
  for (int32_t d = 0; d < type->rank && !w->failed; ++d) {
    bytes = byoc_dim_binary(&w->arena, BYOC_DIM_MUL, bytes, type->dims[d], &w->failed);
  }
  bytes = byoc_dim_binary(&w->arena, BYOC_DIM_CEILDIV, bytes, byoc_dim_constant(8), &w->failed);
  return !w->failed && byoc_dim_walk(bytes, is_symbol, NULL) ? bytes : byoc_dim_constant(0);
}

static uint32_t new_storage(walk_t *w, byoc_dim_t bytes, bool is_planned) {
  storage_t storage = {.is_planned = is_planned};
  collect_parts(w, bytes, 1, &storage);
  if (!byoc_vector_push(&w->storages, w->allocator, storage)) w->failed = true;
  return w->failed ? 0 : (uint32_t)(w->storages.count - 1);
}

static uint32_t storage_of_buffer(walk_t *w, const byoc_host_buffer_t *buffer) {
  if (buffer->device != NULL) return new_storage(w, byoc_dim_constant(0), false);
  if (buffer->is_value) return new_storage(w, tensor_bytes(w, buffer->type), false);
  const uint64_t aligned = (buffer->size_bytes + BYOC_BUFFER_ALIGNMENT - 1) / BYOC_BUFFER_ALIGNMENT;
  return new_storage(w, byoc_dim_constant((int64_t)(aligned * BYOC_BUFFER_ALIGNMENT)), true);
}

// ---- sums ----

static int64_t at(const sum_t *sum, size_t product) {
  return product < sum->count ? sum->data[product] : 0;
}

// Is `a` at least as large as `b`, whatever the symbols are?
static bool covers(const walk_t *w, const sum_t *a, const sum_t *b) {
  for (size_t k = 0; k < w->products.count; ++k) {
    if (at(a, k) < at(b, k)) return false;
  }
  return true;
}

// The value where every symbol is 1024: to choose the larger of two sums.
static double weigh_dim(byoc_dim_t dim) {
  if (dim.expr == NULL) return (double)dim.constant;
  if (dim.expr->kind == BYOC_DIM_SYMBOL) return 1024.0;
  const double a = weigh_dim(dim.expr->left), b = weigh_dim(dim.expr->right);
  switch (dim.expr->kind) {
  case BYOC_DIM_ADD:
    return a + b;
  case BYOC_DIM_SUB:
    return a - b;
  case BYOC_DIM_MUL:
    return a * b;
  case BYOC_DIM_MAX:
  case BYOC_DIM_BROADCAST:
    return a > b ? a : b;
  case BYOC_DIM_MIN:
    return a < b ? a : b;
  default:
    return b > 0 ? a / b : a; // divisions; a remainder is small
  }
}

static double weigh(const walk_t *w, const sum_t *sum) {
  double total = 0;
  for (size_t k = 0; k < sum->count; ++k) total += (double)sum->data[k] * weigh_dim(w->products.data[k]);
  return total;
}

static void remove_peak(walk_t *w, size_t index) {
  sum_t removed = w->peaks[index]; // its memory serves the next one
  w->peaks[index] = w->peaks[--w->peak_count];
  w->peaks[w->peak_count] = removed;
}

static void note_peak(walk_t *w) {
  if (w->planned > w->most_planned) w->most_planned = w->planned;
  if (!w->program->is_dynamic) return;
  for (size_t k = 0; k < w->peak_count; ++k) {
    if (covers(w, &w->peaks[k], &w->live)) return;
  }
  for (size_t k = w->peak_count; k-- > 0;) {
    if (covers(w, &w->live, &w->peaks[k])) remove_peak(w, k);
  }
  if (w->peak_count == MOST_PEAKS) {
    size_t least = 0;
    for (size_t k = 1; k < w->peak_count; ++k) {
      if (weigh(w, &w->peaks[k]) < weigh(w, &w->peaks[least])) least = k;
    }
    if (weigh(w, &w->live) <= weigh(w, &w->peaks[least])) return;
    remove_peak(w, least);
  }
  sum_t *peak = &w->peaks[w->peak_count];
  peak->count = 0;
  if (!byoc_vector_reserve(peak, w->allocator, w->live.count)) {
    w->failed = true;
    return;
  }
  memcpy(peak->data, w->live.data, w->live.count * sizeof(*peak->data));
  peak->count = w->live.count;
  w->peak_count++;
}

// ---- storages that are alive ----

static void add_user(walk_t *w, uint32_t index, bool begins) {
  storage_t *storage = &w->storages.data[index];
  const bool was_alive = storage->users > 0;
  storage->users += begins ? 1u : (uint32_t)-1;
  if (index == 0 || was_alive == (storage->users > 0)) return;
  for (size_t k = 0; k < storage->size.count; ++k) {
    const part_t *part = &storage->size.data[k];
    int64_t *live = &w->live.data[part->product];
    *live = begins ? byoc_dim_add(*live, part->coefficient) : byoc_dim_sub(*live, part->coefficient);
    if (storage->is_planned && begins) w->planned += (uint64_t)part->coefficient;
    if (storage->is_planned && !begins) w->planned -= (uint64_t)part->coefficient;
  }
}

static void refer(walk_t *w, const byoc_host_buffer_t *buffer, uint32_t storage) {
  uint32_t *slot = &w->storage_of[buffer->index];
  if (w->failed || *slot == storage) return;
  const undo_t undo = {buffer->index, *slot};
  if (w->keeps_undos && !byoc_vector_push(&w->undos, w->allocator, undo)) w->failed = true;
  add_user(w, storage, true);
  add_user(w, *slot, false);
  *slot = storage;
}

static void undo_until(walk_t *w, size_t mark) {
  while (w->undos.count > mark) {
    const undo_t undo = w->undos.data[--w->undos.count];
    add_user(w, undo.storage, true);
    add_user(w, w->storage_of[undo.buffer], false);
    w->storage_of[undo.buffer] = undo.storage;
  }
}

// ---- instructions ----

// The storages that the yield of a region passes on: those made since `first`, each once; 0 for others.
typedef struct yielded_t {
  uint32_t first;
  uint32_t *storages;
} yielded_t;

static void walk_region(walk_t *w, const byoc_host_region_t *region, const yielded_t *yielded);

static void walk_yield(const walk_t *w, const byoc_host_instruction_t *i, const yielded_t *yielded) {
  const byoc_host_instruction_t *owner = i->region->owner;
  if (owner == NULL || owner->op != BYOC_HOST_BRANCH) return;
  for (size_t k = 0; k < i->operands.count && k < owner->results.count; ++k) {
    const uint32_t storage = i->operands.data[k] != NULL ? w->storage_of[i->operands.data[k]->index] : 0;
    yielded->storages[k] = storage >= yielded->first ? storage : 0;
    for (size_t j = 0; j < k; ++j) {
      if (yielded->storages[j] == storage) yielded->storages[k] = 0;
    }
  }
}

// A result is counted if each case made one; its type says how large it is.
static void walk_branch(walk_t *w, const byoc_host_instruction_t *i) {
  const size_t mark = w->undos.count, count = i->results.count;
  const bool kept_undos = w->keeps_undos;
  uint32_t *storages[] = {BYOC_ARENA_ARRAY(&w->arena, uint32_t, count + 1),
                          BYOC_ARENA_ARRAY(&w->arena, uint32_t, count + 1)};
  if (storages[0] == NULL || storages[1] == NULL) {
    w->failed = true;
    return;
  }
  for (uint32_t r = 0; r < 2; ++r) {
    const yielded_t yielded = {(uint32_t)w->storages.count, storages[r]};
    w->keeps_undos = kept_undos || r == 0;
    walk_region(w, &i->regions[r], &yielded);
    if (r == 0) undo_until(w, mark);
  }
  w->keeps_undos = kept_undos;
  for (size_t k = 0; k < count; ++k) {
    const bool is_new = storages[0][k] != 0 && storages[1][k] != 0;
    refer(w, i->results.data[k], is_new ? storage_of_buffer(w, i->results.data[k]) : 0);
  }
}

// Does each iteration of the loop allocate the buffer, or the one that it shares?
static bool is_made_in(const byoc_host_buffer_t *buffer, const byoc_host_region_t *body) {
  enum { MOST_SHARES = 16 };
  for (int step = 0; step < MOST_SHARES && buffer != NULL && !buffer->is_parameter; ++step) {
    const byoc_host_buffer_t *shared = NULL;
    for (size_t k = 0; k < buffer->uses.count; ++k) {
      const byoc_host_use_t *use = &buffer->uses.data[k];
      if (use->instruction->region != body) continue;
      if (use->instruction->op == BYOC_HOST_ALLOCATE) return true;
      bool is_result = use->instruction->op == BYOC_HOST_SHARE && use->kind == BYOC_HOST_USE_RESULT;
      if (is_result) shared = use->instruction->operands.data[0];
    }
    buffer = shared;
  }
  return false;
}

typedef struct carried_t {
  bool is_new, stays; // the iteration made it; it is the incoming one
} carried_t;

// The first carried value among the operands and parameters, and in the yield: the iteration and the condition come
// before it, unless the loop counts.
typedef struct carried_at_t {
  size_t in_operands, in_yield;
} carried_at_t;

static carried_at_t carried_at(const byoc_host_instruction_t *loop) {
  return loop->count != NULL ? (carried_at_t){0, 0} : (carried_at_t){2, 1};
}

// The carried storages that the last but one iteration leaves to the last one.
static carried_t carried_by(const byoc_host_instruction_t *loop, const byoc_host_instruction_t *yield, size_t index) {
  const byoc_host_region_t *body = &loop->regions[0];
  const carried_at_t at = carried_at(loop);
  const byoc_host_buffer_t *buffer = yield->operands.data[at.in_yield + index];
  carried_t carried = {.is_new = is_made_in(buffer, body),
                       .stays = buffer == body->parameters.data[at.in_operands + index]};
  for (size_t j = 0; j < index; ++j) carried.is_new = carried.is_new && yield->operands.data[at.in_yield + j] != buffer;
  return carried;
}

static const byoc_host_instruction_t *yield_of(const byoc_host_region_t *region) {
  const byoc_host_instruction_t *i = region->last;
  while (i != NULL && i->op != BYOC_HOST_YIELD) i = i->previous;
  return i;
}

// The last iteration of several: the operands still live, and so do the storages of the iteration before it.
static void walk_loop(walk_t *w, const byoc_host_instruction_t *i) {
  const byoc_host_region_t *body = &i->regions[0];
  const byoc_host_instruction_t *yield = yield_of(body);
  const carried_at_t at = carried_at(i);
  const bool has_values = yield != NULL && body->parameters.count >= at.in_operands;
  const size_t carried = has_values ? body->parameters.count - at.in_operands : 0;
  const bool fits = has_values && i->operands.count >= body->parameters.count &&
                    yield->operands.count >= carried + at.in_yield && i->results.count >= carried;
  for (size_t k = 0; fits && k < body->parameters.count; ++k) {
    const byoc_host_buffer_t *parameter = body->parameters.data[k];
    const carried_t from = k >= at.in_operands ? carried_by(i, yield, k - at.in_operands) : (carried_t){.is_new = true};
    uint32_t storage = from.is_new ? storage_of_buffer(w, parameter) : 0;
    if (from.stays && i->operands.data[k] != NULL) storage = w->storage_of[i->operands.data[k]->index];
    refer(w, parameter, storage);
  }
  for (size_t k = carried; fits && k < i->results.count; ++k) { // all scanned elements are there in the last iteration
    refer(w, i->results.data[k], storage_of_buffer(w, i->results.data[k]));
  }
  note_peak(w);
  walk_region(w, body, NULL);
  for (size_t k = 0; fits && k < carried; ++k) {
    const carried_t to = carried_by(i, yield, k);
    uint32_t storage = to.is_new ? storage_of_buffer(w, i->results.data[k]) : 0;
    if (to.stays) storage = w->storage_of[body->parameters.data[at.in_operands + k]->index];
    refer(w, i->results.data[k], storage);
  }
  for (size_t k = 0; k < body->parameters.count; ++k) refer(w, body->parameters.data[k], 0);
}

static void walk_region(walk_t *w, const byoc_host_region_t *region, const yielded_t *yielded) {
  for (const byoc_host_instruction_t *i = region->first; i != NULL && !w->failed; i = i->next) {
    switch (i->op) {
    case BYOC_HOST_ALLOCATE:
      if (i->operands.data[0]->device != NULL) continue; // the bounds are those of the host's memory
      if (byoc_host_is_cached(i->operands.data[0])) continue;
      refer(w, i->operands.data[0], storage_of_buffer(w, i->operands.data[0]));
      break;
    case BYOC_HOST_FREE:
      if (i->operands.data[0]->device != NULL) continue;
      if (byoc_host_is_cached(i->operands.data[0])) continue;
      refer(w, i->operands.data[0], 0);
      continue;
    case BYOC_HOST_SHARE:
      refer(w, i->results.data[0], w->storage_of[i->operands.data[0]->index]);
      continue;
    case BYOC_HOST_YIELD:
      walk_yield(w, i, yielded);
      continue;
    case BYOC_HOST_BRANCH:
      walk_branch(w, i);
      break;
    case BYOC_HOST_LOOP:
      walk_loop(w, i);
      break;
    default:
      continue;
    }
    note_peak(w);
  }
}

// ---- the bounds ----

static byoc_dim_t sum_to_dim(walk_t *w, const sum_t *sum) {
  byoc_dim_t total = byoc_dim_constant(sum->data[0]);
  for (size_t k = 1; k < sum->count && !w->failed; ++k) {
    if (sum->data[k] == 0) continue;
    const byoc_dim_t part =
        byoc_dim_binary(&w->arena, BYOC_DIM_MUL, w->products.data[k], byoc_dim_constant(sum->data[k]), &w->failed);
    total = byoc_dim_binary(&w->arena, BYOC_DIM_ADD, total, part, &w->failed);
  }
  return total;
}

// The maximum of the largest sums, as many as make an expression of a size that people read.
static byoc_dim_t join_peaks(walk_t *w) {
  enum { MOST_NODES = 64 };
  byoc_dim_t bound = byoc_dim_constant(0);
  for (bool is_first = true; w->peak_count > 0 && !w->failed;) {
    size_t largest = 0;
    for (size_t k = 1; k < w->peak_count; ++k) {
      if (weigh(w, &w->peaks[k]) > weigh(w, &w->peaks[largest])) largest = k;
    }
    const byoc_dim_t sum = sum_to_dim(w, &w->peaks[largest]);
    remove_peak(w, largest);
    if (w->failed || !byoc_dim_walk(sum, is_symbol, NULL)) continue;
    const byoc_dim_t joined = is_first ? sum : byoc_dim_binary(&w->arena, BYOC_DIM_MAX, bound, sum, &w->failed);
    if (joined.expr != NULL && joined.expr->size > (is_first ? BYOC_DIM_MAX_SIZE / 2 : MOST_NODES)) continue;
    bound = joined;
    is_first = false;
  }
  return bound;
}

byoc_status_t byoc_host_find_bounds(byoc_host_program_t *program, byoc_diag_t *diag) {
  walk_t w = {.program = program};
  byoc_arena_init(&w.arena, program->arena.allocator);
  w.allocator = byoc_arena_allocator(&w.arena);
  w.storage_of = BYOC_ARENA_ARRAY(&w.arena, uint32_t, program->buffers.count + 1);
  w.failed = w.storage_of == NULL;
  (void)find_product(&w, byoc_dim_constant(1));                      // the product 0
  (void)new_storage(&w, byoc_dim_constant(0), false);                // the storage 0
  for (size_t k = 0; k < program->buffers.count && !w.failed; ++k) { // these are never freed
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (byoc_host_is_cached(buffer)) refer(&w, buffer, storage_of_buffer(&w, buffer));
  }
  if (!w.failed) note_peak(&w);
  if (!w.failed) walk_region(&w, &program->body, NULL);
  const byoc_dim_t bound = join_peaks(&w);
  program->live_bound_bytes = byoc_dim_copy(bound, &program->arena, &w.failed);
  program->workspace_bound_bytes = w.most_planned;
  byoc_arena_deinit(&w.arena);
  return w.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}
