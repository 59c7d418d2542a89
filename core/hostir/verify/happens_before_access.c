// SPDX-License-Identifier: Apache-2.0
// Finds the accesses of instructions to memory, and the values of symbols, for the walk of happens_before.c.
#include <string.h>

#include "core/hostir/program/dim_value.h"
#include "core/hostir/program/shared.h"
#include "core/hostir/verify/happens_before_internal.h"

// Larger periods of sets are not followed, nor are more instructions in iterations that are counted.
enum { MOST_PERIOD = 4096, MOST_COUNTED = 1 << 14 };

// ---- values ----

static bool find_value(const byoc_host_order_t *o, byoc_dim_t dim, int64_t *out_value) {
  *out_value = dim.constant;
  if (byoc_dim_is_constant(dim)) return true;
  if (byoc_dim_is_unknown(dim)) return false;
  if (dim.expr->kind == BYOC_DIM_SYMBOL) {
    const uintptr_t index = (uintptr_t)byoc_string_map_get(&o->program->symbol_indices, dim.expr->symbol);
    if (index == 0 || o->known[index - 1] != BYOC_HOST_ORDER_VALUE) return false;
    *out_value = o->values[index - 1];
    return true;
  }
  int64_t a = 0, b = 0;
  if (!find_value(o, dim.expr->left, &a) || !find_value(o, dim.expr->right, &b)) return false;
  *out_value = byoc_host_dim_value(dim.expr->kind, a, b);
  return true;
}

// The value modulo `count`, where symbols may be known modulo the period.
static bool find_residue(const byoc_host_order_t *o, byoc_dim_t dim, uint32_t count, int64_t *out_value) {
  if (find_value(o, dim, out_value)) {
    *out_value = byoc_dim_mod(*out_value, count);
    return true;
  }
  if (byoc_dim_is_unknown(dim)) return false;
  const byoc_dim_expr_t *e = dim.expr;
  if (e->kind == BYOC_DIM_SYMBOL) {
    const uintptr_t index = (uintptr_t)byoc_string_map_get(&o->program->symbol_indices, e->symbol);
    if (index == 0 || o->known[index - 1] == BYOC_HOST_ORDER_UNKNOWN || o->period % count != 0) return false;
    *out_value = byoc_dim_mod(o->values[index - 1], count);
    return true;
  }
  int64_t a = 0, b = 0;
  if (e->kind == BYOC_DIM_MOD) { // by a multiple of the count it changes nothing
    return find_value(o, e->right, &b) && b > 0 && b % count == 0 && find_residue(o, e->left, count, out_value);
  }
  const bool keeps = e->kind == BYOC_DIM_ADD || e->kind == BYOC_DIM_SUB || e->kind == BYOC_DIM_MUL;
  if (!keeps || !find_residue(o, e->left, count, &a) || !find_residue(o, e->right, count, &b)) return false;
  *out_value = byoc_dim_mod(byoc_host_dim_value(e->kind, a, b), count);
  return true;
}

bool byoc_host_order_value(byoc_host_order_t *o, byoc_dim_t dim, uint32_t count, int64_t *out_value) {
  return count == 0 ? find_value(o, dim, out_value) : find_residue(o, dim, count, out_value);
}

// ---- accesses ----

// The memory that a planned buffer is in, behind the places of buffers; 0: it is not planned.
static uint32_t planned_place(const byoc_host_order_t *o, const byoc_host_buffer_t *root, bool *out_is_apart) {
  *out_is_apart = false;
  if (root->kind != BYOC_HOST_BUFFER_LOCAL || root->is_value || root->offset_bytes == BYOC_HOST_OFFSET_NONE) return 0;
  const uint32_t first = (uint32_t)o->program->buffers.count + 1;
  if (root->device == NULL) return first;
  const byoc_host_memory_t *memory = byoc_host_find_memory(o->program, root->device, root->scope);
  if (memory == NULL) return 0;
  *out_is_apart = memory->is_apart;
  return first + 1 + memory->index;
}

static byoc_byte_range_t bytes_in_root(byoc_host_order_t *o, const byoc_host_buffer_t *buffer) {
  if (!byoc_host_buffer_moves(buffer)) {
    const uint64_t begin = byoc_host_buffer_offset(buffer);
    return (byoc_byte_range_t){begin, begin + buffer->size_bytes};
  }
  const uint64_t most = buffer->base->size_bytes - buffer->size_bytes;
  int64_t value = 0;
  byoc_host_range_t range = byoc_host_range_of(&o->ranges, buffer->offset);
  if (find_value(o, buffer->offset, &value)) range.least = range.most = value;
  const uint64_t first = range.least > 0 ? (uint64_t)range.least : 0, last = range.most > 0 ? (uint64_t)range.most : 0;
  return (byoc_byte_range_t){first < most ? first : most, (last < most ? last : most) + buffer->size_bytes};
}

// Constants are never written.
static bool find_access(byoc_host_order_t *o, byoc_host_buffer_t *buffer, bool is_write,
                        byoc_host_access_t *out_access) {
  if (buffer == NULL) return false;
  const byoc_host_buffer_t *root = byoc_host_buffer_root(buffer);
  if (root->kind == BYOC_HOST_BUFFER_CONSTANT) return false;
  *out_access = (byoc_host_access_t){.place = o->shared[root->index], .buffer = buffer, .is_write = is_write};
  out_access->bytes = (byoc_byte_range_t){0, 1};
  if (byoc_host_buffer_in_cell(root)) return true;
  bool is_apart = false;
  const uint32_t place = planned_place(o, root, &is_apart);
  const uint64_t offset = place != 0 ? root->offset_bytes : 0;
  if (!is_apart) out_access->bytes = bytes_in_root(o, buffer);
  out_access->bytes.begin += offset;
  out_access->bytes.end += offset;
  if (place != 0) out_access->place = place;
  return out_access->bytes.begin < out_access->bytes.end;
}

// Beginning and ending the life of a value takes and frees memory at once. Other lifetimes access nothing, but for
// zeros.
static bool touches(const byoc_host_instruction_t *i) {
  if (i->op != BYOC_HOST_ALLOCATE && i->op != BYOC_HOST_FREE) return true;
  return byoc_host_buffer_in_cell(i->operands.data[0]) || i->allocation != BYOC_HOST_FRESH;
}

// The host passes on, begins and ends values on a device without touching their bytes: a block is reused when nothing
// else uses it (core/runtime/device_cell.c).
static bool only_passes(const byoc_host_instruction_t *i, const byoc_host_buffer_t *buffer) {
  return i->on.queue == NULL && buffer != NULL && buffer->device != NULL && byoc_host_buffer_in_cell(buffer);
}

typedef bool (*visit_t)(byoc_host_order_t *o, const byoc_host_access_t *access);

// Behind the yield of a loop its parameters get the values of the next iteration, in the same cells or in others.
static bool visit_parameters(byoc_host_order_t *o, const byoc_host_instruction_t *yield, visit_t visit) {
  const byoc_host_region_t *body = yield->region;
  byoc_host_access_t access;
  bool ok = true;
  if (body->owner->op != BYOC_HOST_LOOP) return true;
  for (size_t k = 0; k < body->parameters.count && ok; ++k) {
    if (only_passes(yield, body->parameters.data[k])) continue;
    if (find_access(o, body->parameters.data[k], true, &access)) ok = visit(o, &access);
  }
  return ok;
}

static bool visit_all(byoc_host_order_t *o, const byoc_host_instruction_t *i, visit_t visit) {
  const bool writes_operands = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE;
  byoc_host_access_t access;
  bool ok = true;
  if (!touches(i)) return true;
  for (size_t k = 0; k < i->operands.count && ok; ++k) {
    if (only_passes(i, i->operands.data[k])) continue;
    if (find_access(o, i->operands.data[k], writes_operands, &access)) ok = visit(o, &access);
  }
  for (size_t k = 0; k < i->results.count && ok; ++k) {
    if (only_passes(i, i->results.data[k])) continue;
    if (find_access(o, i->results.data[k], true, &access)) ok = visit(o, &access);
  }
  if (ok && find_access(o, i->workspace, true, &access)) ok = visit(o, &access);
  return ok && (i->op != BYOC_HOST_YIELD || visit_parameters(o, i, visit));
}

static bool note(byoc_host_order_t *o, const byoc_host_access_t *access) {
  return (!o->is_commanded[access->place] && !o->watch->meets_all) ||
         byoc_vector_push(&o->accesses, byoc_arena_allocator(&o->arena), *access);
}

bool byoc_host_order_find_accesses(byoc_host_order_t *o, const byoc_host_instruction_t *i) {
  o->accesses.count = 0;
  return visit_all(o, i, note);
}

static bool mark_commanded(byoc_host_order_t *o, const byoc_host_access_t *access) {
  o->is_commanded[access->place] = true;
  return true;
}

// ---- starting ----

static uint32_t greatest_divisor(uint32_t a, uint32_t b) {
  while (b != 0) {
    const uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Gives a queue or an event its rows.
static void add_rows(byoc_host_order_t *o, uint32_t count, size_t *out_row) {
  *out_row = o->row_count;
  o->row_count += byoc_host_set_count(count);
  const uint32_t step = byoc_host_set_count(count) / greatest_divisor(o->period, byoc_host_set_count(count));
  if (o->period <= MOST_PERIOD / step) o->period *= step;
}

bool byoc_host_order_start(byoc_host_order_t *o) {
  const byoc_host_program_t *program = o->program;
  const size_t places = program->buffers.count + 2 + program->memories.count;
  o->queue_rows = BYOC_ARENA_ARRAY(&o->arena, size_t, program->queues.count);
  o->event_rows = BYOC_ARENA_ARRAY(&o->arena, size_t, program->events.count + 1);
  o->repeated = BYOC_ARENA_ARRAY(&o->arena, byoc_host_order_site_t *, program->instruction_count + 1);
  o->shared = byoc_host_find_shared(program, &o->arena);
  o->is_commanded = BYOC_ARENA_ARRAY(&o->arena, bool, places);
  o->known = BYOC_ARENA_ARRAY(&o->arena, byoc_host_order_known_t, program->symbols.count + 1);
  o->values = BYOC_ARENA_ARRAY(&o->arena, int64_t, program->symbols.count + 1);
  if (o->queue_rows == NULL || o->event_rows == NULL || o->repeated == NULL || o->shared == NULL ||
      o->is_commanded == NULL || o->known == NULL || o->values == NULL ||
      !byoc_host_ranges_init(&o->ranges, program, &o->arena)) {
    return false;
  }
  o->row_count = o->period = 1;
  for (size_t k = 0; k < program->queues.count; ++k) add_rows(o, program->queues.data[k]->count, &o->queue_rows[k]);
  for (size_t k = 0; k < program->events.count; ++k) add_rows(o, program->events.data[k]->count, &o->event_rows[k]);
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->on.queue != NULL) (void)visit_all(o, i, mark_commanded);
  }
  o->words = 4;
  o->rows = byoc_allocate(o->allocator, (o->row_count + BYOC_HOST_ORDER_EXTRA_ROWS) * o->words, sizeof(*o->rows));
  o->is_exact = true;
  o->budget = MOST_COUNTED;
  return o->rows != NULL;
}
