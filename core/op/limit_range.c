// SPDX-License-Identifier: Apache-2.0
// Finds the range of integers in a value from its producers. If it is within the limit, a run has no check.
#include <string.h>

#include "core/op/util.h"

// Deeper chains are not followed; an operand that is used twice is followed twice.
enum { DEEPEST = 12, MOST_STEPS = 256 };

// All elements are at least `low` and less than `end`.
typedef struct range_t {
  bool has_low, has_end;
  int64_t low;
  byoc_dim_t end;
} range_t;

typedef struct finder_t {
  byoc_arena_t *arena;
  int steps;
  bool failed;
} finder_t;

static range_t range_of(finder_t *f, const byoc_value_t *value, int depth);

static range_t from_zero_to(byoc_dim_t end) {
  return (range_t){.has_low = true, .has_end = true, .end = end};
}

static range_t between(int64_t low, int64_t high) {
  return (range_t){.has_low = true,
                   .low = low,
                   .has_end = high < INT64_MAX,
                   .end = byoc_dim_constant(high < INT64_MAX ? high + 1 : 0)};
}

static range_t of_constant(const byoc_value_t *value) {
  const int64_t count = byoc_type_element_count(value->type);
  int64_t low = INT64_MAX, high = INT64_MIN;
  if (!byoc_dtype_is_integer(value->type->dtype)) return (range_t){0};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t element = byoc_constant_element_i64(value->constant, i);
    low = element < low ? element : low, high = element > high ? element : high;
  }
  return count > 0 ? between(low, high) : (range_t){0};
}

static bool is_constant(const range_t *range) {
  return range->has_low && range->has_end && byoc_dim_is_constant(range->end);
}

// The range that contains both.
static range_t either(range_t a, range_t b) {
  range_t both = {.has_low = a.has_low && b.has_low, .low = a.low < b.low ? a.low : b.low};
  both.has_end = a.has_end && b.has_end;
  if (both.has_end && byoc_dim_equal(a.end, b.end)) {
    both.end = a.end;
  } else if (both.has_end && byoc_dim_is_constant(a.end) && byoc_dim_is_constant(b.end)) {
    both.end = a.end.constant > b.end.constant ? a.end : b.end;
  } else {
    both.has_end = false;
  }
  return both;
}

// Min (or, if not, Max) of two.
static range_t bounded(range_t a, range_t b, bool is_min) {
  range_t out = either(a, b);
  if (is_min && a.has_end != b.has_end) out.has_end = true, out.end = a.has_end ? a.end : b.end;
  if (is_min && a.has_end && b.has_end && byoc_dim_is_constant(a.end) && byoc_dim_is_constant(b.end)) {
    out.end = a.end.constant < b.end.constant ? a.end : b.end;
  }
  if (!is_min && (a.has_low || b.has_low)) {
    out.low = !a.has_low ? b.low : !b.has_low || a.low > b.low ? a.low : b.low;
    out.has_low = true;
  }
  return out;
}

static range_t of_operand(finder_t *f, const byoc_node_t *node, uint32_t index, int depth) {
  return byoc_has_operand(node, index) ? range_of(f, node->operands[index], depth) : (range_t){0};
}

// Indices from ArgMax, ArgMin and TopK.
static range_t of_places(const byoc_node_t *node, int64_t axis) {
  const byoc_type_t *x = byoc_operand_type(node, 0);
  int32_t d = 0;
  if (!byoc_is_ranked(x) || !byoc_normalize_axis(axis, x->rank, &d)) return (range_t){0};
  return from_zero_to(x->dims[d]);
}

static range_t of_non_zero(const byoc_node_t *node) {
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return (range_t){0};
  range_t all = x->rank > 0 ? from_zero_to(x->dims[0]) : between(0, 0);
  for (int32_t d = 1; d < x->rank; ++d) all = either(all, from_zero_to(x->dims[d]));
  return all;
}

// Range from a start that is not negative, upwards to a limit.
static range_t of_count(finder_t *f, const byoc_node_t *node, int depth) {
  const range_t start = of_operand(f, node, 0, depth), step = of_operand(f, node, 2, depth);
  const bool rises = start.has_low && step.has_low && step.low > 0;
  if (!rises || !byoc_has_operand(node, 1)) return (range_t){0};
  range_t out = {.has_low = true, .low = start.low};
  int32_t count = 0;
  byoc_dim_t dims[BYOC_MAX_RANK];
  out.has_end = byoc_shape_value(node->operands[1], f->arena, &count, dims) && count == 1;
  if (out.has_end) out.end = dims[0];
  return out;
}

static range_t of_clip(finder_t *f, const byoc_node_t *node, int depth) {
  range_t out = of_operand(f, node, 0, depth);
  if (byoc_has_operand(node, 1)) out = bounded(out, of_operand(f, node, 1, depth), false);
  return byoc_has_operand(node, 2) ? bounded(out, of_operand(f, node, 2, depth), true) : out;
}

// The remainder has the sign of the divisor, or, with fmod, of the dividend.
static range_t of_rest(finder_t *f, const byoc_node_t *node, int depth) {
  const range_t x = of_operand(f, node, 0, depth), y = of_operand(f, node, 1, depth);
  if (!is_constant(&y) || y.low < 1) return (range_t){0};
  const int64_t most = y.end.constant - 2;
  return between(!byoc_node_flag(node, "fmod") || (x.has_low && x.low >= 0) ? 0 : -most, most);
}

// Short lists of numbers that follow from shapes and constants.
static range_t of_sizes(finder_t *f, const byoc_value_t *value) {
  int32_t count = 0;
  byoc_dim_t dims[BYOC_MAX_RANK];
  if (!byoc_shape_value(value, f->arena, &count, dims) || count == 0) return (range_t){0};
  range_t all = {0};
  for (int32_t i = 0; i < count; ++i) {
    range_t one = {.has_low = byoc_dim_is_leaf(dims[i]) || byoc_dim_is_constant(dims[i]), .low = dims[i].constant};
    if (byoc_dim_is_leaf(dims[i])) one.low = 0;
    if (byoc_dim_is_constant(dims[i])) one = between(dims[i].constant, dims[i].constant);
    all = i == 0 ? one : either(all, one);
  }
  return all;
}

static range_t of_all(finder_t *f, const byoc_node_t *node, uint32_t first, int depth) {
  range_t all = of_operand(f, node, first, depth);
  for (uint32_t i = first + 1; i < node->operand_count; ++i) all = either(all, of_operand(f, node, i, depth));
  return all;
}

static range_t of_all_bounded(finder_t *f, const byoc_node_t *node, bool is_min, int depth) {
  range_t all = of_operand(f, node, 0, depth);
  for (uint32_t i = 1; i < node->operand_count; ++i) all = bounded(all, of_operand(f, node, i, depth), is_min);
  return all;
}

// Integers that fit the new type, and bools.
static range_t of_cast(finder_t *f, const byoc_node_t *node, int depth) {
  const byoc_type_t *from = byoc_operand_type(node, 0), *to = node->results[0]->type;
  if (!byoc_type_is_tensor(from) || !byoc_dtype_is_integer(to->dtype)) return (range_t){0};
  if (from->dtype == BYOC_DTYPE_BOOL) return between(0, 1);
  if (from->dtype == BYOC_DTYPE_U8 && byoc_dtype_bits(to->dtype) > 8) return between(0, UINT8_MAX);
  if (!byoc_dtype_is_integer(from->dtype)) return (range_t){0};
  const range_t x = of_operand(f, node, 0, depth);
  const bool is_signed = from->dtype == BYOC_DTYPE_I32 || from->dtype == BYOC_DTYPE_I64;
  const bool is_wide = to->dtype == BYOC_DTYPE_I64 || (to->dtype == BYOC_DTYPE_I32 && from->dtype == BYOC_DTYPE_I32);
  if (is_signed && is_wide) return x;
  const bool fits = is_constant(&x) && x.low >= INT8_MIN && x.end.constant <= INT8_MAX;
  return fits && (x.low >= 0 || is_wide || to->dtype == BYOC_DTYPE_I32) ? x : (range_t){0};
}

// The number of an iteration of a Loop is less than the number of iterations.
static range_t of_turn(finder_t *f, const byoc_value_t *value) {
  const byoc_block_t *block = value->block;
  const byoc_node_t *owner = block != NULL ? block->owner : NULL;
  if (owner == NULL || !byoc_node_is_onnx(owner, "Loop") || block->parameters.data[0] != value) return (range_t){0};
  range_t turns = {.has_low = true};
  int32_t count = 0;
  byoc_dim_t dims[BYOC_MAX_RANK];
  turns.has_end =
      byoc_has_operand(owner, 0) && byoc_shape_value(owner->operands[0], f->arena, &count, dims) && count == 1;
  if (turns.has_end) turns.end = dims[0];
  return turns;
}

static range_t of_node(finder_t *f, const byoc_node_t *node, const byoc_value_t *value, int depth) {
  static const char *const moves[] = {"Identity",  "Reshape",        "Squeeze",  "Unsqueeze", "Flatten",
                                      "Transpose", "Expand",         "Tile",     "Slice",     "Gather",
                                      "Split",     "GatherElements", "GatherND", "Compress",  "ReverseSequence"};
  const char *op = node->op;
  if (strcmp(op, "Cast") == 0) return of_cast(f, node, depth);
  if (strcmp(op, "ArgMax") == 0 || strcmp(op, "ArgMin") == 0) return of_places(node, byoc_node_int(node, "axis"));
  if (strcmp(op, "TopK") == 0 && value->index == 1) return of_places(node, byoc_node_int(node, "axis"));
  if (strcmp(op, "NonZero") == 0) return of_non_zero(node);
  if (strcmp(op, "Range") == 0) return of_count(f, node, depth);
  if (strcmp(op, "Clip") == 0) return of_clip(f, node, depth);
  if (strcmp(op, "Mod") == 0) return of_rest(f, node, depth);
  if (strcmp(op, "Min") == 0) return of_all_bounded(f, node, true, depth);
  if (strcmp(op, "Max") == 0) return of_all_bounded(f, node, false, depth);
  if (strcmp(op, "Concat") == 0) return of_all(f, node, 0, depth);
  if (strcmp(op, "Where") == 0) return of_all(f, node, 1, depth);
  for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); ++i) {
    if (strcmp(op, moves[i]) == 0) return of_operand(f, node, 0, depth);
  }
  return (range_t){0};
}

static range_t range_of(finder_t *f, const byoc_value_t *value, int depth) {
  if (depth > DEEPEST || ++f->steps > MOST_STEPS || !byoc_type_is_tensor(value->type)) return (range_t){0};
  if (value->kind == BYOC_VALUE_CONSTANT) return of_constant(value);
  const byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL) return of_turn(f, value);
  const bool is_followed = node->callee == NULL && node->domain[0] == '\0' && node->block_count == 0;
  range_t range = is_followed ? of_node(f, node, value, depth + 1) : (range_t){0};
  if (is_followed && !range.has_low && !range.has_end) range = of_sizes(f, value);
  return range;
}

// ---- does it do? ----

static bool starts_inside(const range_t *range, const byoc_limit_t *limit, byoc_dim_t extent) {
  if (!range->has_low) return false;
  if (range->low >= 0) return true;
  return limit->kind == BYOC_RANGE_INDEX && byoc_dim_is_constant(extent) && range->low >= -extent.constant;
}

// A dynamic extent is at least 1, because operators require that themselves.
static bool ends_inside(finder_t *f, const range_t *range, const byoc_limit_t *limit, byoc_dim_t extent) {
  if (!range->has_end) return false;
  byoc_dim_t end = byoc_dim_constant(1 - limit->less); // elements are less than extent + this
  if (limit->kind == BYOC_RANGE_INDEX) end.constant = 0;
  end = byoc_dim_binary(f->arena, BYOC_DIM_ADD, extent, end, &f->failed);
  const byoc_dim_t smaller = byoc_dim_binary(f->arena, BYOC_DIM_MIN, range->end, end, &f->failed);
  return byoc_dim_equal(smaller, range->end);
}

bool byoc_limit_always_holds(const byoc_value_t *value, const byoc_limit_t *limit, byoc_arena_t *arena, bool *failed) {
  finder_t f = {.arena = arena};
  if (limit->is_of_data || limit->is_distinct) return false;
  const range_t range = range_of(&f, value, 0);
  bool holds = range.has_low || range.has_end;
  const bool has_extents = limit->kind == BYOC_RANGE_COUNT || limit->kind == BYOC_RANGE_INDEX;
  if (!has_extents) {
    holds = (range.has_low && range.low > 0) || (limit->kind == BYOC_RANGE_NOT_ZERO && range.has_end &&
                                                 byoc_dim_is_constant(range.end) && range.end.constant <= 0);
  }
  const bool is_first_or_last = limit->kind == BYOC_RANGE_INDEX && is_constant(&range) && range.low >= -1 &&
                                range.end.constant <= 1 && value->kind == BYOC_VALUE_CONSTANT;
  for (uint32_t k = 0; has_extents && k < limit->count && holds; ++k) {
    const byoc_dim_t extent = limit->extents[k].dim;
    if (byoc_dim_is_constant(extent) && extent.constant == BYOC_RANGE_FREE) continue;
    if (is_first_or_last && !byoc_dim_is_constant(extent)) continue;
    holds = starts_inside(&range, limit, extent) && ends_inside(&f, &range, limit, extent);
  }
  *failed |= f.failed;
  return holds;
}
