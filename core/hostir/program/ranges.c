// SPDX-License-Identifier: Apache-2.0
// Ranges of symbols in host programs, and offsets as sums over symbols.
#include "core/hostir/program/ranges.h"

#include "core/runtime/cell.h"

// ---- arithmetic of ranges ----

static uint64_t size_of_number(int64_t value) {
  return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static byoc_host_range_t any(void) {
  return (byoc_host_range_t){INT64_MIN, INT64_MAX, 1, true};
}

static byoc_host_range_t exactly(int64_t value) {
  return (byoc_host_range_t){value, value, size_of_number(value), false};
}

static byoc_host_range_t times(byoc_host_range_t a, byoc_host_range_t b) {
  const int64_t corners[4] = {byoc_dim_mul(a.least, b.least), byoc_dim_mul(a.least, b.most),
                              byoc_dim_mul(a.most, b.least), byoc_dim_mul(a.most, b.most)};
  byoc_host_range_t product = {corners[0], corners[0], 0, false};
  for (int k = 1; k < 4; ++k) {
    product.least = byoc_dim_min(product.least, corners[k]);
    product.most = byoc_dim_max(product.most, corners[k]);
  }
  if (__builtin_mul_overflow(a.divisor, b.divisor, &product.divisor)) product.divisor = 1;
  return product;
}

static byoc_host_range_t divided(byoc_host_range_t a, byoc_host_range_t b, bool up) {
  if (b.least < 1) return any();
  int64_t (*const divide)(int64_t, int64_t) = up ? byoc_dim_ceildiv : byoc_dim_floordiv;
  const int64_t least = byoc_dim_min(divide(a.least, b.least), divide(a.least, b.most));
  const int64_t most = byoc_dim_max(divide(a.most, b.least), divide(a.most, b.most));
  return (byoc_host_range_t){least, most, 1, false};
}

static byoc_host_range_t rest_of(byoc_host_range_t a, byoc_host_range_t b) {
  if (b.least < 1) return any();
  const uint64_t divisor = common_divisor(a.divisor, b.divisor);
  if (a.least >= 0 && a.most < b.least) return a;
  return (byoc_host_range_t){0, b.most - 1, divisor, false};
}

static byoc_host_range_t symbol_range(const byoc_host_ranges_t *ranges, const char *name) {
  const uintptr_t index = (uintptr_t)byoc_string_map_get(&ranges->program->symbol_indices, name);
  byoc_host_range_t range = index != 0 ? ranges->symbols[index - 1] : any();
  range.may_saturate = false; // a symbol has its value exactly
  return range;
}

// Saturated results are at an end of the numbers.
static byoc_host_range_t settled(byoc_host_range_t range) {
  range.may_saturate = range.least == INT64_MIN || range.most == INT64_MAX;
  return range;
}

static byoc_host_range_t combined(byoc_dim_kind_t kind, byoc_host_range_t a, byoc_host_range_t b) {
  const uint64_t common = common_divisor(a.divisor, b.divisor);
  switch (kind) {
  case BYOC_DIM_ADD:
    return settled((byoc_host_range_t){byoc_dim_add(a.least, b.least), byoc_dim_add(a.most, b.most), common, false});
  case BYOC_DIM_SUB:
    return settled((byoc_host_range_t){byoc_dim_sub(a.least, b.most), byoc_dim_sub(a.most, b.least), common, false});
  case BYOC_DIM_MUL:
    return settled(times(a, b));
  case BYOC_DIM_FLOORDIV:
    return divided(a, b, false);
  case BYOC_DIM_CEILDIV:
    return divided(a, b, true);
  case BYOC_DIM_MOD:
    return rest_of(a, b);
  case BYOC_DIM_MIN:
    return (byoc_host_range_t){byoc_dim_min(a.least, b.least), byoc_dim_min(a.most, b.most), common, false};
  case BYOC_DIM_BROADCAST:
    return (byoc_host_range_t){byoc_dim_min(a.least, b.least), byoc_dim_max(a.most, b.most), common, false};
  default:
    return (byoc_host_range_t){byoc_dim_max(a.least, b.least), byoc_dim_max(a.most, b.most), common, false};
  }
}

byoc_host_range_t byoc_host_range_of(const byoc_host_ranges_t *ranges, byoc_dim_t dim) {
  if (byoc_dim_is_constant(dim)) return exactly(dim.constant);
  const byoc_dim_expr_t *e = dim.expr;
  if (e->kind == BYOC_DIM_UNKNOWN) return any();
  if (e->kind == BYOC_DIM_SYMBOL) return symbol_range(ranges, e->symbol);
  const byoc_host_range_t a = byoc_host_range_of(ranges, e->left), b = byoc_host_range_of(ranges, e->right);
  byoc_host_range_t range = combined(e->kind, a, b);
  if (!a.may_saturate && !b.may_saturate) return range;
  range.may_saturate = true;
  range.divisor = 1;
  return range;
}

// ---- symbols ----

// The values of the index. An iteration that would give it a negative one is refused when it comes.
static byoc_host_range_t range_of_index(const byoc_host_ranges_t *ranges, const byoc_host_count_t *count) {
  const byoc_host_range_t start = byoc_host_range_of(ranges, count->start);
  const byoc_host_range_t stop = byoc_host_range_of(ranges, count->stop);
  const byoc_host_range_t step = byoc_host_range_of(ranges, count->step);
  byoc_host_range_t range = {start.least, byoc_dim_sub(stop.most, 1), common_divisor(start.divisor, step.divisor),
                             false};
  if (step.most < 0) range = (byoc_host_range_t){byoc_dim_add(stop.least, 1), start.most, range.divisor, false};
  // The last value of a loop of known ends may lie in front of its stop.
  const int64_t iterations = byoc_host_iterations_of(ranges, count);
  if (iterations > 0) {
    const int64_t last = byoc_dim_add(start.least, byoc_dim_mul(iterations - 1, step.least));
    *(step.most < 0 ? &range.least : &range.most) = last;
  }
  return range;
}

static byoc_host_range_t never_negative(byoc_host_range_t range) {
  range.least = byoc_dim_max(range.least, 0);
  range.most = byoc_dim_max(range.most, range.least);
  return range;
}

static void count_definitions(byoc_host_ranges_t *ranges, const byoc_host_instruction_t *i) {
  for (uint32_t k = 0; k < i->match_count; ++k) {
    if (i->matches[k].symbol != BYOC_HOST_SYMBOL_NONE) ranges->definition_counts[i->matches[k].symbol] += 1;
  }
  for (uint32_t k = 0; k < i->symbol_count; ++k) ranges->definition_counts[i->symbols[k]] += 1;
  if (i->count != NULL) ranges->definition_counts[i->count->symbol] += 1;
}

bool byoc_host_ranges_init(byoc_host_ranges_t *ranges, const byoc_host_program_t *program, byoc_arena_t *arena) {
  const size_t count = program->symbols.count;
  *ranges = (byoc_host_ranges_t){.program = program,
                                 .symbols = BYOC_ARENA_ARRAY(arena, byoc_host_range_t, count),
                                 .definition_counts = BYOC_ARENA_ARRAY(arena, uint32_t, count),
                                 .lets = BYOC_ARENA_ARRAY(arena, const byoc_host_linear_t *, count)};
  if (ranges->symbols == NULL || ranges->definition_counts == NULL || ranges->lets == NULL) return false;
  for (size_t k = 0; k < count; ++k) ranges->symbols[k] = (byoc_host_range_t){0, INT64_MAX, 1, false};
  BYOC_HOST_FOR_EACH(i, program) count_definitions(ranges, i);
  BYOC_HOST_FOR_EACH(i, program) {
    const bool is_let = i->op == BYOC_HOST_LET && i->symbol_count == 1;
    if (!is_let && i->count == NULL) continue;
    const uint32_t symbol = is_let ? i->symbols[0] : i->count->symbol;
    const byoc_host_range_t range = is_let ? byoc_host_range_of(ranges, i->dims[0]) : range_of_index(ranges, i->count);
    ranges->symbols[symbol] = never_negative(range);
    if (range.may_saturate) ranges->symbols[symbol].divisor = 1;
    byoc_host_linear_t linear;
    if (!is_let || !byoc_host_linear_of(ranges, i->dims[0], &linear)) continue;
    ranges->lets[symbol] = byoc_arena_copy(arena, &linear, sizeof(linear));
    if (ranges->lets[symbol] == NULL) return false;
  }
  return true;
}

static int64_t iterations_between(int64_t start, int64_t stop, int64_t step) {
  const int64_t way = step > 0 ? byoc_dim_sub(stop, start) : byoc_dim_sub(start, stop);
  const int64_t size = step > 0 ? step : byoc_dim_sub(0, step);
  return way > 0 ? byoc_dim_ceildiv(way, size) : 0;
}

int64_t byoc_host_iterations_of(const byoc_host_ranges_t *ranges, const byoc_host_count_t *count) {
  const byoc_host_range_t start = byoc_host_range_of(ranges, count->start);
  const byoc_host_range_t stop = byoc_host_range_of(ranges, count->stop);
  const byoc_host_range_t step = byoc_host_range_of(ranges, count->step);
  if (start.least != start.most || stop.least != stop.most || step.least != step.most || step.least == 0) return -1;
  return iterations_between(start.least, stop.least, step.least);
}

uint64_t byoc_host_constant_iterations_of(const byoc_host_instruction_t *instruction) {
  uint64_t iterations = 1;
  for (const byoc_host_instruction_t *at = instruction->region->owner; at != NULL; at = at->region->owner) {
    const byoc_host_count_t *count = at->count;
    if (count == NULL || !byoc_dim_is_constant(count->start) || !byoc_dim_is_constant(count->stop) ||
        !byoc_dim_is_constant(count->step) || count->step.constant == 0) {
      continue;
    }
    const int64_t around = iterations_between(count->start.constant, count->stop.constant, count->step.constant);
    if (__builtin_mul_overflow(iterations, (uint64_t)around, &iterations)) return UINT64_MAX;
  }
  return iterations;
}

byoc_host_range_t byoc_host_range_of_offset(const byoc_host_ranges_t *ranges, const byoc_host_buffer_t *buffer) {
  if (byoc_host_buffer_moves(buffer)) return byoc_host_range_of(ranges, buffer->offset);
  return exactly((int64_t)byoc_host_buffer_offset(buffer));
}

bool byoc_host_stays_inside(const byoc_host_ranges_t *ranges, const byoc_host_buffer_t *view) {
  const byoc_host_range_t range = byoc_host_range_of_offset(ranges, view);
  return range.least >= 0 && view->size_bytes <= view->base->size_bytes &&
         (uint64_t)range.most <= view->base->size_bytes - view->size_bytes;
}

// ---- sums ----

static bool add_term(byoc_host_linear_t *sum, uint32_t symbol, int64_t factor) {
  uint32_t at = 0;
  while (at < sum->term_count && sum->terms[at].symbol < symbol) ++at;
  if (at < sum->term_count && sum->terms[at].symbol == symbol) {
    if (__builtin_add_overflow(sum->terms[at].factor, factor, &sum->terms[at].factor)) return false;
    if (sum->terms[at].factor == 0) byoc_host_linear_take(sum, symbol);
    return true;
  }
  if (sum->term_count == BYOC_HOST_MOST_TERMS) return false;
  for (uint32_t k = sum->term_count++; k > at; --k) sum->terms[k] = sum->terms[k - 1];
  sum->terms[at].symbol = symbol;
  sum->terms[at].factor = factor;
  return true;
}

static bool add_linear(const byoc_host_linear_t *from, int64_t factor, byoc_host_linear_t *sum) {
  int64_t value = 0;
  for (uint32_t k = 0; k < from->term_count; ++k) {
    if (__builtin_mul_overflow(from->terms[k].factor, factor, &value)) return false;
    if (!add_term(sum, from->terms[k].symbol, value)) return false;
  }
  return !__builtin_mul_overflow(from->constant, factor, &value) &&
         !__builtin_add_overflow(sum->constant, value, &sum->constant);
}

static bool add_dim(const byoc_host_ranges_t *ranges, byoc_dim_t dim, int64_t factor, byoc_host_linear_t *sum) {
  int64_t value = 0;
  if (byoc_dim_is_constant(dim)) {
    return !__builtin_mul_overflow(dim.constant, factor, &value) &&
           !__builtin_add_overflow(sum->constant, value, &sum->constant);
  }
  const byoc_dim_expr_t *e = dim.expr;
  switch (e->kind) {
  case BYOC_DIM_SYMBOL: {
    const uintptr_t index = (uintptr_t)byoc_string_map_get(&ranges->program->symbol_indices, e->symbol);
    if (index == 0 || factor == 0) return index != 0;
    const byoc_host_linear_t *let = ranges->lets[index - 1];
    byoc_host_linear_t with = *sum;
    if (let != NULL && add_linear(let, factor, &with)) {
      *sum = with;
      return true;
    }
    return ranges->definition_counts[index - 1] == 1 && add_term(sum, (uint32_t)(index - 1), factor);
  }
  case BYOC_DIM_ADD:
    return add_dim(ranges, e->left, factor, sum) && add_dim(ranges, e->right, factor, sum);
  case BYOC_DIM_SUB:
    return !__builtin_sub_overflow((int64_t)0, factor, &value) && add_dim(ranges, e->left, factor, sum) &&
           add_dim(ranges, e->right, value, sum);
  case BYOC_DIM_MUL:
    return byoc_dim_is_constant(e->right) && !__builtin_mul_overflow(e->right.constant, factor, &value) &&
           add_dim(ranges, e->left, value, sum);
  default:
    return false;
  }
}

bool byoc_host_linear_of(const byoc_host_ranges_t *ranges, byoc_dim_t dim, byoc_host_linear_t *out_linear) {
  *out_linear = (byoc_host_linear_t){0};
  return !byoc_host_range_of(ranges, dim).may_saturate && add_dim(ranges, dim, 1, out_linear);
}

bool byoc_host_linear_of_offset(const byoc_host_ranges_t *ranges, const byoc_host_buffer_t *buffer,
                                byoc_host_linear_t *out_linear) {
  if (byoc_host_buffer_moves(buffer)) return byoc_host_linear_of(ranges, buffer->offset, out_linear);
  *out_linear = (byoc_host_linear_t){.constant = (int64_t)byoc_host_buffer_offset(buffer)};
  return true;
}

bool byoc_host_linear_same_terms(const byoc_host_linear_t *a, const byoc_host_linear_t *b) {
  if (a->term_count != b->term_count) return false;
  for (uint32_t k = 0; k < a->term_count; ++k) {
    if (a->terms[k].symbol != b->terms[k].symbol || a->terms[k].factor != b->terms[k].factor) return false;
  }
  return true;
}

int64_t byoc_host_linear_take(byoc_host_linear_t *linear, uint32_t symbol) {
  for (uint32_t k = 0; k < linear->term_count; ++k) {
    if (linear->terms[k].symbol != symbol) continue;
    const int64_t factor = linear->terms[k].factor;
    for (--linear->term_count; k < linear->term_count; ++k) linear->terms[k] = linear->terms[k + 1];
    return factor;
  }
  return 0;
}
