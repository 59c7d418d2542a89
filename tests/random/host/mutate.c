// SPDX-License-Identifier: Apache-2.0
// Changes the instructions of host programs at random.
#include <string.h>

#include "core/hostir/program/edit.h"
#include "core/runtime/container.h"
#include "tests/random/host/host.h"

// ---- picking ----

size_t below(mutation_t *m, size_t limit) {
  return limit > 0 ? (size_t)byoc_test_below(m->random, limit) : 0;
}

bool chance(mutation_t *m, size_t percent) {
  return below(m, 100) < percent;
}

static byoc_host_instruction_t *instruction_at(const byoc_host_program_t *program, size_t index) {
  BYOC_HOST_FOR_EACH(i, program) {
    if (index-- == 0) return i;
  }
  return NULL;
}

byoc_host_instruction_t *pick_instruction(mutation_t *m) {
  return instruction_at(m->program, below(m, m->program->instruction_count));
}

// Tries a few times to find one of this kind.
static byoc_host_instruction_t *pick_op(mutation_t *m, byoc_host_op_t op) {
  for (size_t tries = 0; tries < 3 * m->program->instruction_count; ++tries) {
    byoc_host_instruction_t *i = pick_instruction(m);
    if (i->op == op) return i;
  }
  return NULL;
}

byoc_host_buffer_t *pick_buffer(mutation_t *m) {
  const size_t count = m->program->buffers.count;
  return count > 0 ? m->program->buffers.data[below(m, count)] : NULL;
}

static bool is_like(const byoc_host_buffer_t *a, const byoc_host_buffer_t *b) {
  return a->is_value == b->is_value && a->type->kind == b->type->kind && a->type->dtype == b->type->dtype &&
         a->type->rank == b->type->rank;
}

byoc_host_buffer_t *pick_like(mutation_t *m, const byoc_host_buffer_t *buffer) {
  byoc_host_buffer_t *found = pick_buffer(m);
  for (int tries = 0; tries < 30 && buffer != NULL && found != NULL && !is_like(buffer, found); ++tries) {
    if (chance(m, 5)) break;
    found = pick_buffer(m);
  }
  return found;
}

byoc_dim_t pick_dim(mutation_t *m) {
  bool failed = false;
  byoc_arena_t *arena = &m->program->arena;
  const size_t symbols = m->program->symbols.count;
  if (symbols == 0 || chance(m, 40)) return byoc_dim_constant((int64_t)below(m, 7) - (int64_t)(chance(m, 4)));
  byoc_dim_t dim = byoc_dim_symbol(arena, m->program->symbols.data[below(m, symbols)], &failed);
  if (chance(m, 30)) {
    static const byoc_dim_kind_t kinds[] = {BYOC_DIM_ADD, BYOC_DIM_SUB, BYOC_DIM_MUL, BYOC_DIM_FLOORDIV, BYOC_DIM_MAX};
    dim = byoc_dim_binary(arena, kinds[below(m, 5)], dim, byoc_dim_constant((int64_t)below(m, 4)), &failed);
  }
  return failed ? byoc_dim_constant(1) : dim;
}

// ---- places ----

// Puts `i` in front of another instruction or at the end of a region, but not into itself.
static bool move_to(mutation_t *m, byoc_host_instruction_t *i, byoc_host_instruction_t *target) {
  for (const byoc_host_instruction_t *at = target; at != NULL; at = at->region->owner) {
    if (at == i) return false;
  }
  byoc_host_region_t *region = target->region;
  byoc_host_instruction_t *before = target;
  if (target->region_count > 0 && chance(m, 50)) { // into one of its regions
    region = &target->regions[below(m, target->region_count)];
    before = region->first;
  } else if (chance(m, 20)) {
    before = NULL;
  }
  if (before == i) return false;
  byoc_host_instruction_move(i, region, before);
  return true;
}

static bool drop(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL) return false;
  byoc_host_instruction_erase(m->program, i);
  return true;
}

static bool swap_neighbours(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL || i->next == NULL) return false;
  byoc_host_instruction_move(i->next, i->region, i);
  return true;
}

static bool move(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m), *target = pick_instruction(m);
  return i != NULL && i != target && move_to(m, i, target);
}

// A lifetime begins or ends elsewhere.
static bool move_life(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, chance(m, 50) ? BYOC_HOST_FREE : BYOC_HOST_ALLOCATE);
  byoc_host_instruction_t *target = pick_instruction(m);
  return i != NULL && i != target && move_to(m, i, target);
}

static bool copy_list(mutation_t *m, byoc_host_instruction_t *to, const byoc_host_instruction_t *from) {
  for (size_t k = 0; k < from->operands.count; ++k) {
    if (!byoc_host_add_operand(m->program, to, from->operands.data[k])) return false;
  }
  for (size_t k = 0; k < from->results.count; ++k) {
    if (!byoc_host_add_result(m->program, to, from->results.data[k])) return false;
  }
  return from->workspace == NULL || byoc_host_set_workspace(m->program, to, from->workspace);
}

// The same instruction once more, somewhere.
static bool duplicate(mutation_t *m) {
  const byoc_host_instruction_t *i = pick_instruction(m);
  byoc_host_instruction_t *before = pick_instruction(m);
  if (i == NULL || i->region_count > 0) return false;
  byoc_host_instruction_t *copy = byoc_host_instruction_create(m->program, before, i->op);
  if (copy == NULL || !copy_list(m, copy, i)) return false;
  copy->symbol = i->symbol;
  copy->origin = i->origin;
  copy->kernel = i->kernel;
  copy->json = i->json;
  copy->engine = i->engine;
  copy->engine_function = i->engine_function;
  copy->c_call = i->c_call;
  copy->function = i->function;
  copy->flops = i->flops;
  copy->dims = i->dims;
  copy->matches = i->matches;
  copy->match_count = i->match_count;
  copy->symbols = i->symbols;
  copy->symbol_count = i->symbol_count;
  copy->allocation = i->allocation;
  copy->axis = i->axis;
  copy->flag = i->flag;
  copy->of_inputs = i->of_inputs;
  copy->on = i->on;
  copy->signal = i->signal;
  copy->launch = i->launch;
  copy->pattern = i->pattern;
  for (size_t k = 0; k < i->waits.count; ++k) {
    if (!byoc_host_add_wait(m->program, copy, i->waits.data[k].event, i->waits.data[k].place)) return false;
  }
  for (size_t k = 0; k < i->relations.count; ++k) {
    if (!byoc_vector_push(&copy->relations, m->program->arena.allocator, i->relations.data[k])) return false;
  }
  return true;
}

// A new instruction of two buffers or one.
static bool insert(mutation_t *m) {
  static const byoc_host_op_t ops[] = {BYOC_HOST_ALLOCATE, BYOC_HOST_FREE, BYOC_HOST_COPY, BYOC_HOST_SHARE};
  const byoc_host_op_t op = ops[below(m, 4)];
  byoc_host_buffer_t *from = pick_buffer(m);
  const bool is_life = op == BYOC_HOST_ALLOCATE || op == BYOC_HOST_FREE;
  for (int tries = 0; is_life && tries < 10 && from->kind != BYOC_HOST_BUFFER_LOCAL; ++tries) from = pick_buffer(m);
  if (from == NULL) return false;
  byoc_host_instruction_t *i = byoc_host_instruction_create(m->program, pick_instruction(m), op);
  if (i == NULL || !byoc_host_add_operand(m->program, i, from)) return false;
  i->origin = "";
  return is_life || byoc_host_add_result(m->program, i, pick_like(m, from));
}

// ---- what an instruction names ----

static bool change_operand(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL || i->operands.count == 0) return false;
  const uint32_t at = (uint32_t)below(m, i->operands.count);
  const bool may_lack = i->op == BYOC_HOST_LOOP || i->op == BYOC_HOST_CONTAINER || i->op == BYOC_HOST_KERNEL;
  byoc_host_buffer_t *by = may_lack && chance(m, 8) ? NULL : pick_like(m, i->operands.data[at]);
  return byoc_host_set_operand(m->program, i, at, by);
}

static bool change_result(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL || i->results.count == 0) return false;
  const uint32_t at = (uint32_t)below(m, i->results.count);
  return byoc_host_set_result(m->program, i, at, pick_like(m, i->results.data[at]));
}

static bool swap_operands(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL || i->operands.count < 2) return false;
  const uint32_t a = (uint32_t)below(m, i->operands.count), b = (uint32_t)below(m, i->operands.count);
  byoc_host_buffer_t *first = i->operands.data[a], *second = i->operands.data[b];
  return byoc_host_set_operand(m->program, i, a, second) && byoc_host_set_operand(m->program, i, b, first);
}

static bool is_list(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_KERNEL || i->op == BYOC_HOST_PACKED || i->op == BYOC_HOST_ENGINE ||
         i->op == BYOC_HOST_CONTAINER || i->op == BYOC_HOST_LOOP || i->op == BYOC_HOST_BRANCH ||
         i->op == BYOC_HOST_YIELD;
}

// One operand, result or parameter more or less. Use lists do not follow; a mutant is read from its text again.
static bool change_count(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL || !is_list(i)) return false;
  if (chance(m, 50)) return byoc_host_add_operand(m->program, i, pick_buffer(m));
  if (i->region_count > 0 && chance(m, 40) && i->regions[0].parameters.count > 0) {
    i->regions[0].parameters.count--;
    return true;
  }
  if (chance(m, 50) && i->results.count > 0 && i->op != BYOC_HOST_CONTAINER) {
    i->results.count--;
    return true;
  }
  if (i->operands.count == 0) return false;
  i->operands.count--;
  return true;
}

static bool replace_buffer(mutation_t *m) {
  byoc_host_buffer_t *buffer = pick_buffer(m);
  byoc_host_buffer_t *by = pick_like(m, buffer);
  return buffer != NULL && buffer != by && byoc_host_replace_uses(m->program, buffer, by);
}

static bool change_workspace(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  bool is_call = i != NULL && (i->op == BYOC_HOST_PACKED || i->op == BYOC_HOST_ENGINE || i->op == BYOC_HOST_KERNEL);
  return is_call &&
         byoc_host_set_workspace(m->program, i, i->workspace != NULL && chance(m, 50) ? NULL : pick_buffer(m));
}

// ---- what stands in an instruction ----

static bool change_kernel(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, BYOC_HOST_KERNEL);
  if (i == NULL) return false;
  if (i->kernel->symbols.count > 0 && chance(m, 75)) {
    byoc_dim_t *dims = byoc_arena_copy(&m->program->arena, i->dims, i->kernel->symbols.count * sizeof(*dims));
    if (dims == NULL) return false;
    dims[below(m, i->kernel->symbols.count)] = pick_dim(m);
    i->dims = dims;
    return true;
  }
  const byoc_loop_kernel_t *kernel = m->program->kernels.data[below(m, m->program->kernels.count)];
  byoc_dim_t *dims = BYOC_ARENA_ARRAY(&m->program->arena, byoc_dim_t, kernel->symbols.count);
  if (dims == NULL) return false;
  for (size_t k = 0; k < kernel->symbols.count; ++k) dims[k] = pick_dim(m);
  i->kernel = kernel;
  i->symbol = kernel->name;
  i->dims = dims;
  return true;
}

static bool change_match(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, BYOC_HOST_MATCH);
  if (i == NULL || i->match_count == 0) return false;
  byoc_host_match_t *rule = &i->matches[below(m, i->match_count)];
  const size_t symbols = m->program->symbols.count;
  switch (below(m, 4)) {
  case 0:
    *rule = i->matches[--i->match_count];
    return true;
  case 1:
    rule->axis = (uint32_t)below(m, 4);
    return true;
  case 2:
    rule->symbol = BYOC_HOST_SYMBOL_NONE;
    rule->dim = pick_dim(m);
    return true;
  default:
    if (symbols == 0) return false;
    rule->symbol = (uint32_t)below(m, symbols);
    bool failed = false;
    rule->dim = byoc_dim_symbol(&m->program->arena, m->program->symbols.data[rule->symbol], &failed);
    return !failed;
  }
}

static bool change_symbols(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, chance(m, 50) ? BYOC_HOST_BIND : BYOC_HOST_REQUIRE);
  if (i == NULL) return false;
  if (i->op == BYOC_HOST_BIND) {
    i->symbols[below(m, i->symbol_count)] = (uint32_t)below(m, m->program->symbols.count);
    return true;
  }
  if (i->relations.count == 0 || chance(m, 25)) {
    i->of_inputs = !i->of_inputs;
    return true;
  }
  byoc_host_relation_t *relation = &i->relations.data[below(m, i->relations.count)];
  if (chance(m, 30))
    *relation = i->relations.data[--i->relations.count];
  else if (chance(m, 50))
    relation->kind = (byoc_relation_kind_t)below(m, BYOC_RELATION_COUNT);
  else
    relation->left = pick_dim(m);
  return true;
}

static bool change_container(mutation_t *m) {
  static const char *const symbols[] = {
#define NAME(op, function) op,
      BYOC_CONTAINER_LIST(NAME)
#undef NAME
  };
  byoc_host_instruction_t *i = pick_op(m, BYOC_HOST_CONTAINER);
  if (i == NULL) return false;
  if (chance(m, 50))
    i->symbol = symbols[below(m, sizeof(symbols) / sizeof(symbols[0]))];
  else if (chance(m, 50))
    i->axis = (int64_t)below(m, 6) - 3;
  else
    i->flag = (int64_t)below(m, 2);
  return true;
}

// ---- control ----

static bool swap_regions(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, BYOC_HOST_BRANCH);
  if (i == NULL) return false;
  byoc_host_instruction_t *last = i->regions[0].last;
  while (i->regions[1].first != NULL) byoc_host_instruction_move(i->regions[1].first, &i->regions[0], NULL);
  while (last != NULL && i->regions[0].first != last)
    byoc_host_instruction_move(i->regions[0].first, &i->regions[1], NULL);
  if (last != NULL) byoc_host_instruction_move(last, &i->regions[1], NULL);
  return true;
}

// Puts an instruction into one case of a new branch.
static bool wrap_in_branch(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  if (i == NULL || i->op == BYOC_HOST_YIELD) return false;
  byoc_host_buffer_t *condition = NULL;
  for (int tries = 0; tries < 30 && condition == NULL; ++tries) {
    byoc_host_buffer_t *buffer = pick_buffer(m);
    if (byoc_type_is_tensor(buffer->type) && buffer->type->dtype == BYOC_DTYPE_BOOL) condition = buffer;
  }
  if (condition == NULL) return false;
  byoc_host_instruction_t *branch = byoc_host_instruction_create(m->program, i, BYOC_HOST_BRANCH);
  if (branch == NULL || !byoc_host_add_operand(m->program, branch, condition) ||
      !byoc_host_instruction_add_regions(m->program, branch, 2)) {
    return false;
  }
  branch->origin = "";
  const size_t into = below(m, 2);
  byoc_host_instruction_move(i, &branch->regions[into], NULL);
  for (size_t r = 0; r < 2; ++r) {
    byoc_host_instruction_t *yield = byoc_host_instruction_append(m->program, &branch->regions[r], BYOC_HOST_YIELD);
    if (yield == NULL) return false;
    yield->origin = "";
  }
  return true;
}

// Takes the instructions of a region out of it.
static bool unwrap(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, chance(m, 50) ? BYOC_HOST_BRANCH : BYOC_HOST_LOOP);
  if (i == NULL) return false;
  byoc_host_region_t *region = &i->regions[below(m, i->region_count)];
  while (region->first != NULL) byoc_host_instruction_move(region->first, i->region, i);
  if (chance(m, 70)) byoc_host_instruction_erase(m->program, i);
  return true;
}

// Another start, stop, step or symbol.
static bool change_counting(mutation_t *m, byoc_host_instruction_t *i) {
  byoc_host_count_t *count = byoc_arena_copy(&m->program->arena, i->count, sizeof(*count));
  if (count == NULL) return false;
  i->count = count;
  const size_t pick = below(m, 4);
  if (pick == 0) count->start = pick_dim(m);
  if (pick == 1) count->stop = pick_dim(m);
  if (pick == 2) count->step = chance(m, 70) ? byoc_dim_constant((int64_t)below(m, 5) - 1) : pick_dim(m);
  if (pick == 3) count->symbol = (uint32_t)below(m, m->program->symbols.count);
  return true;
}

// Puts an instruction into a loop that counts.
static bool wrap_in_loop(mutation_t *m) {
  byoc_host_instruction_t *i = pick_instruction(m);
  const uint32_t symbol = byoc_host_symbol(m->program, chance(m, 80) ? "turn" : "again");
  if (i == NULL || i->op == BYOC_HOST_YIELD || symbol == BYOC_HOST_SYMBOL_NONE) return false;
  byoc_host_instruction_t *loop = byoc_host_instruction_create(m->program, i, BYOC_HOST_LOOP);
  byoc_host_count_t *count = BYOC_ARENA_NEW(&m->program->arena, byoc_host_count_t);
  if (loop == NULL || count == NULL || !byoc_host_instruction_add_regions(m->program, loop, 1)) return false;
  *count = (byoc_host_count_t){.symbol = symbol,
                               .start = byoc_dim_constant(0),
                               .stop = chance(m, 60) ? byoc_dim_constant((int64_t)below(m, 4)) : pick_dim(m),
                               .step = byoc_dim_constant(1)};
  loop->count = count;
  loop->origin = "";
  for (size_t moved = 0; moved < 3 && i != NULL && i->op != BYOC_HOST_YIELD; ++moved) {
    byoc_host_instruction_t *next = i->next;
    byoc_host_instruction_move(i, &loop->regions[0], NULL);
    i = chance(m, 50) ? next : NULL;
  }
  return true;
}

static bool change_scalar(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, chance(m, 50) ? BYOC_HOST_LET : BYOC_HOST_STORE);
  const size_t count = i == NULL ? 0 : i->op == BYOC_HOST_LET ? 1 : byoc_host_store_count(i);
  if (count == 0) return false;
  i->dims[below(m, count)] = pick_dim(m);
  return true;
}

static bool change_allocation(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, BYOC_HOST_ALLOCATE);
  if (i == NULL) return false;
  i->allocation = (byoc_host_allocation_t)below(m, BYOC_HOST_ALLOCATION_COUNT);
  return true;
}

static bool change_loop(mutation_t *m) {
  byoc_host_instruction_t *i = pick_op(m, BYOC_HOST_LOOP);
  if (i == NULL) return false;
  if (i->count != NULL && chance(m, 80)) return change_counting(m, i);
  const size_t dims = byoc_host_loop_dim_count(i);
  if (dims > 0 && chance(m, 30)) {
    i->dims[below(m, dims)] = pick_dim(m);
    return true;
  }
  if (i->regions[0].parameters.count == 0) return false;
  byoc_host_buffer_t **parameter = &i->regions[0].parameters.data[below(m, i->regions[0].parameters.count)];
  *parameter = pick_like(m, *parameter);
  return *parameter != NULL;
}

// ---- all ----

static const mutator_t mutators[] = {
    drop,
    drop,
    swap_neighbours,
    move,
    move_life,
    move_life,
    duplicate,
    insert,
    insert,
    change_operand,
    change_operand,
    change_operand,
    change_result,
    change_result,
    swap_operands,
    change_count,
    replace_buffer,
    change_workspace,
    change_kernel,
    change_match,
    change_symbols,
    change_container,
    swap_regions,
    wrap_in_branch,
    wrap_in_loop,
    unwrap,
    change_loop,
    change_loop,
    change_scalar,
    change_allocation,
    NULL,
};

static size_t count_of(const mutator_t *list) {
  size_t count = 0;
  while (list[count] != NULL) ++count;
  return count;
}

static size_t dims_needed(const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_LOOP) return byoc_host_loop_dim_count(i);
  return i->op == BYOC_HOST_STORE ? byoc_host_store_count(i) : 0;
}

// A loop or store whose results changed needs as many dimensions as they have now.
static bool fit_dims(byoc_host_program_t *program, const size_t *had, size_t had_count) {
  size_t number = 0;
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op != BYOC_HOST_LOOP && i->op != BYOC_HOST_STORE) continue;
    const size_t wanted = dims_needed(i), kept = number < had_count ? had[number] : 0;
    ++number;
    byoc_dim_t *dims = BYOC_ARENA_ARRAY(&program->arena, byoc_dim_t, wanted + 1);
    if (dims == NULL) return false;
    for (size_t k = 0; k <= wanted; ++k) dims[k] = k < kept && i->dims != NULL ? i->dims[k] : byoc_dim_constant(1);
    i->dims = dims;
  }
  return true;
}

bool mutate(byoc_host_program_t *program, byoc_test_random_t *random) {
  enum { FITTED_AT_MOST = 64 };
  mutation_t m = {.random = random, .program = program};
  const size_t own = count_of(mutators), of_buffers = count_of(buffer_mutators);
  const size_t of_order = program->queues.count > 0 ? count_of(order_mutators) : 0;
  for (int tries = 0; tries < 50; ++tries) {
    size_t had[FITTED_AT_MOST], fitted = 0;
    BYOC_HOST_FOR_EACH(i, program) {
      const bool fits = i->op == BYOC_HOST_LOOP || i->op == BYOC_HOST_STORE;
      if (fits && fitted < FITTED_AT_MOST) had[fitted++] = dims_needed(i);
    }
    const size_t pick = below(&m, own + of_buffers + of_order);
    const mutator_t mutator = pick < own                ? mutators[pick]
                              : pick < own + of_buffers ? buffer_mutators[pick - own]
                                                        : order_mutators[pick - own - of_buffers];
    const bool done = mutator(&m);
    if (!fit_dims(program, had, fitted)) return false;
    if (done) return true;
  }
  return true;
}
