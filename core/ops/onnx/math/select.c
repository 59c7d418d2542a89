// SPDX-License-Identifier: Apache-2.0
// Chooses elements by value: TopK, Compress, NonZero. The length of a result may depend on the data; a kernel then
// fills at most the size of the result's type.
#include "core/op/axes.h"
#include "core/ops/loops/heap.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

static const byoc_loop_expr_t *truth(byoc_loop_builder_t *b, bool value) {
  return byoc_loop_const_int(b, BYOC_DTYPE_BOOL, value);
}

// ---- TopK ----
// A sorted list is faster than a heap up to MOST_LISTED elements. If the indices are not read, there is no heap: the
// list is used up to MOST_TOP, and beyond that each element counts those that come before it.
enum { MOST_LISTED = 32, MOST_TOP = 65536 };

static byoc_status_t infer_top_k(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set_unranked(infer, 1, BYOC_DTYPE_I64));
    return byoc_infer_set_unranked(infer, 0, x->dtype);
  }
  int32_t axis = 0, count = 0;
  if (infer->opset >= 10) BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, 1, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  byoc_dim_t dims[BYOC_MAX_RANK], list[BYOC_MAX_RANK];
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  if (infer->opset < 10) {
    dims[axis] = byoc_dim_constant(byoc_node_int(node, "k"));
  } else if (byoc_shape_value(node->operands[1], infer->arena, &count, list) && count == 1) {
    dims[axis] = list[0];
  } else {
    dims[axis] = byoc_infer_unknown_dim(infer, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  BYOC_RETURN_IF_ERROR(
      byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side(dims[axis], "k"), byoc_side_of(infer, 0, axis)));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 1, BYOC_DTYPE_I64, x->rank, dims));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// Does x come before y?  NaN counts as larger than any number; of equal elements the first stays first.
static const byoc_loop_expr_t *comes_before(byoc_loop_builder_t *b, const byoc_loop_expr_t *x,
                                            const byoc_loop_expr_t *y, bool largest) {
  const byoc_loop_expr_t *low = largest ? y : x, *high = largest ? x : y, *less = BIN(LT, low, high);
  if (!x || !byoc_dtype_is_float(x->dtype)) return less;
  return BIN(OR, less, BIN(AND, UN(ISNAN, high), UN(NOT, UN(ISNAN, low))));
}

typedef struct {
  byoc_lower_t *lower;
  const byoc_node_t *node;
  const byoc_loop_expr_t **at; // of the line
  int32_t axis;
  bool largest;
} line_t;

static const byoc_loop_expr_t *load_along(const line_t *line, const byoc_loop_expr_t *i) {
  line->at[line->axis] = i;
  const byoc_loop_expr_t *x = byoc_emit_load(line->lower, line->node, 0, line->at);
  return byoc_loop_let(byoc_lower_builder(line->lower), "x", x);
}

static const byoc_loop_expr_t *value_of(const line_t *line, byoc_heap_item_t item) {
  return item.value ? item.value : load_along(line, item.index);
}

// The worst element is on top.
static const byoc_loop_expr_t *comes_behind(const void *self, byoc_heap_item_t x, byoc_heap_item_t y) {
  const line_t *line = self;
  byoc_loop_builder_t *b = byoc_lower_builder(line->lower);
  const byoc_loop_expr_t *a = value_of(line, x), *c = value_of(line, y);
  const byoc_loop_expr_t *tie = BIN(AND, BIN(LT, y.index, x.index), UN(NOT, comes_before(b, a, c, line->largest)));
  return BIN(OR, comes_before(b, c, a, line->largest), tie);
}

// A heap of the best elements so far, with the worst of them on top, in the results themselves: values and indices.
static bool top_by_heap(byoc_lower_t *lower, const byoc_node_t *node, int32_t axis, bool largest) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  const byoc_loop_buffer_t *places = NULL;
  if (!byoc_has_result(node, 1) || !byoc_lower_result_buffer(lower, node, 1, &places)) return false;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *k = byoc_emit_dim(b, y, axis), *n = byoc_emit_dim(b, x, axis);
  int32_t opened = byoc_emit_open(b, y, 0, axis, true, at);
  opened += byoc_emit_open(b, y, axis + 1, y->rank, opened == 0, at);
  at[axis] = zero;
  const line_t line = {lower, node, at, axis, largest};
  byoc_heap_t heap = {.b = b, .list = places, .above = comes_behind, .self = &line};
  // Narrow floats are compared in another type.
  const bool has_values =
      byoc_compute_dtype(y->dtype) == y->dtype && byoc_lower_result_buffer(lower, node, 0, &heap.values);
  heap.base = byoc_loop_let(b, "base", byoc_loop_linear_index(b, y->rank, y->dims, at));
  heap.step = byoc_emit_extent(b, y, axis + 1, y->rank);
  const byoc_loop_expr_t *count = byoc_loop_let(b, "count", BYOC_LMIN(b, k, n));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, count);
  byoc_heap_store(&heap, i, (byoc_heap_item_t){i, has_values ? load_along(&line, i) : NULL});
  byoc_loop_end(b);
  byoc_heap_build(&heap, count);
  byoc_loop_if(b, BIN(LT, zero, count));
  const byoc_loop_expr_t *worst = byoc_loop_mutable(b, "worst", value_of(&line, byoc_heap_load(&heap, zero)));
  i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", count, n);
  const byoc_loop_expr_t *value = load_along(&line, i);
  byoc_loop_if(b, comes_before(b, value, worst, largest)); // of equal ones those in the heap came first
  byoc_heap_store(&heap, zero, (byoc_heap_item_t){i, value});
  byoc_heap_sift(&heap, zero, count);
  byoc_loop_assign(b, worst, value_of(&line, byoc_heap_load(&heap, zero)));
  byoc_emit_close(b, 3);
  byoc_heap_sort(&heap, count);
  if (!has_values) {
    i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, count);
    value = load_along(&line, byoc_heap_load(&heap, i).index);
    at[axis] = i;
    byoc_emit_store(lower, node, 0, at, value);
    byoc_loop_end(b);
  }
  byoc_emit_close(b, opened);
  return true;
}

// The position of each element is the number of elements that come before it. This is slower, but needs no list. For
// nodes whose indices are not read.
static void rank_all(byoc_lower_t *lower, const byoc_node_t *node, int32_t axis, bool largest) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  int32_t opened = byoc_emit_open(b, x, 0, x->rank, true, at);
  const byoc_loop_expr_t *i = at[axis], *value = byoc_loop_let(b, "x", byoc_emit_load(lower, node, 0, at));
  const byoc_loop_expr_t *place = byoc_loop_mutable(b, "place", zero);
  at[axis] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", zero, byoc_emit_dim(b, x, axis));
  const byoc_loop_expr_t *other = byoc_loop_let(b, "other", byoc_emit_load(lower, node, 0, at));
  const byoc_loop_expr_t *tie = BIN(AND, BIN(LT, at[axis], i), UN(NOT, comes_before(b, value, other, largest)));
  const byoc_loop_expr_t *first = BIN(OR, comes_before(b, other, value, largest), tie);
  byoc_loop_assign(b, place, byoc_loop_select(b, first, BYOC_LADD(b, place, one), place));
  byoc_loop_end(b);
  byoc_loop_if(b, BIN(LT, place, byoc_emit_dim(b, y, axis)));
  at[axis] = place;
  byoc_emit_store(lower, node, 0, at, value);
  byoc_emit_close(b, opened + 1);
}

static const byoc_loop_expr_t *shape_top_k(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  (void)d;
  return byoc_emit_int(lower, node, 1, 0); // the run compares it with the number of elements
}

// A sorted list of the best elements so far: an element that is better than the last one is inserted.
static byoc_status_t loops_top_k(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  int32_t axis = byoc_node_axis(node, "axis", x->rank);
  bool largest = byoc_node_flag(node, "largest");
  const bool is_known = byoc_dim_is_constant(y->dims[axis]);
  if ((!is_known || y->dims[axis].constant > MOST_LISTED) && top_by_heap(lower, node, axis, largest)) return BYOC_OK;
  if (!is_known || y->dims[axis].constant > MOST_TOP) {
    rank_all(lower, node, axis, largest);
    return BYOC_OK;
  }
  int64_t size = y->dims[axis].constant;
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *k = byoc_loop_int(b, size);
  int32_t opened = byoc_emit_open(b, y, 0, axis, true, at);
  opened += byoc_emit_open(b, y, axis + 1, y->rank, opened == 0, at);
  const byoc_loop_buffer_t *best = byoc_loop_allocate(b, "best", dtype, size > 0 ? size : 1);
  const byoc_loop_buffer_t *places = byoc_loop_allocate(b, "places", BYOC_DTYPE_I64, size > 0 ? size : 1);
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", zero);
  at[axis] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, byoc_emit_dim(b, x, axis));
  const byoc_loop_expr_t *value = byoc_loop_let(b, "x", byoc_emit_load(lower, node, 0, at));
  const byoc_loop_expr_t *slot = byoc_loop_mutable(b, "slot", count);
  // A full list loses its last element, unless the new one is not better.
  const byoc_loop_expr_t *full = BIN(LE, k, count), *last = byoc_loop_load(b, best, BYOC_LSUB(b, k, one));
  const byoc_loop_expr_t *enters = size > 0 ? comes_before(b, value, last, largest) : truth(b, false);
  byoc_loop_if(b, byoc_loop_select(b, full, enters, truth(b, true)));
  byoc_loop_assign(b, slot, BYOC_LMIN(b, slot, BYOC_LSUB(b, k, one)));
  const byoc_loop_expr_t *above = BYOC_LSUB(b, slot, one);
  byoc_loop_while(b,
                  byoc_loop_select(b, BIN(LT, zero, slot),
                                   comes_before(b, value, byoc_loop_load(b, best, above), largest), truth(b, false)));
  byoc_loop_store(b, best, slot, byoc_loop_load(b, best, above));
  byoc_loop_store(b, places, slot, byoc_loop_load(b, places, above));
  byoc_loop_assign(b, slot, above);
  byoc_loop_end(b);
  byoc_loop_store(b, best, slot, value);
  byoc_loop_store(b, places, slot, at[axis]);
  byoc_loop_assign(b, count, BYOC_LMIN(b, BYOC_LADD(b, count, one), k));
  byoc_loop_end(b);
  byoc_loop_end(b);
  at[axis] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, k);
  byoc_emit_store(lower, node, 0, at, byoc_loop_load(b, best, at[axis]));
  if (byoc_has_result(node, 1)) byoc_emit_store(lower, node, 1, at, byoc_loop_load(b, places, at[axis]));
  byoc_emit_close(b, opened + 1);
  return BYOC_OK;
}

// ---- Compress ----
static bool is_bool(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_BOOL;
}

static byoc_status_t infer_compress(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_bool, "a condition of bools"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, 1));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  bool flat = !byoc_node_given(node, "axis"), failed = false;
  if (!flat && !byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  int32_t axis = 0, rank = flat ? 1 : x->rank;
  if (!flat) BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) dims[d] = flat ? byoc_dim_constant(0) : x->dims[d];
  const byoc_value_t *condition = node->operands[1];
  byoc_dim_t extent = byoc_dim_constant(0);
  if (byoc_is_ranked(x)) extent = flat ? byoc_infer_count(infer, x, &failed) : x->dims[axis];
  if (byoc_value_is_constant(condition) && byoc_is_ranked(x) && byoc_dim_is_constant(extent)) {
    int64_t count = byoc_type_element_count(condition->type), kept = 0;
    if (count > extent.constant) count = extent.constant; // conditions for elements that do not exist are ignored
    for (int64_t i = 0; i < count; ++i) kept += byoc_constant_element_i64(condition->constant, i) != 0;
    dims[axis] = byoc_dim_constant(kept);
  } else {
    dims[axis] = byoc_infer_unknown_dim(infer, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static byoc_status_t loops_compress(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  bool flat = !byoc_node_given(node, "axis");
  int32_t axis = flat ? 0 : byoc_node_axis(node, "axis", x->rank), opened = 0;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *to[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *extent = flat ? byoc_emit_extent(b, x, 0, x->rank) : byoc_emit_dim(b, x, axis);
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", zero);
  // A condition shorter than the dimension drops the rest.
  const byoc_loop_expr_t *length = BYOC_LMIN(b, extent, byoc_emit_dim(b, node->operands[1]->type, 0));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, length);
  byoc_loop_if(b, BIN(AND, byoc_lower_load(lower, node, 1, &i), BIN(LT, count, byoc_emit_dim(b, y, axis))));
  if (flat) {
    byoc_emit_store(lower, node, 0, &count, byoc_lower_load_flat(lower, node, 0, i));
  } else {
    opened = byoc_emit_open(b, x, 0, axis, false, at);
    opened += byoc_emit_open(b, x, axis + 1, x->rank, false, at);
    at[axis] = i;
    for (int32_t d = 0; d < x->rank; ++d) to[d] = d == axis ? count : at[d];
    byoc_emit_store(lower, node, 0, to, byoc_lower_load(lower, node, 0, at));
  }
  byoc_emit_close(b, opened);
  byoc_loop_assign(b, count, BYOC_LADD(b, count, byoc_loop_int(b, 1)));
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

static const byoc_loop_expr_t *shape_compress(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  bool flat = !byoc_node_given(node, "axis");
  const byoc_loop_expr_t *extent = flat ? byoc_emit_extent(b, x, 0, x->rank) : byoc_emit_dim(b, x, d);
  const byoc_loop_expr_t *length = BYOC_LMIN(b, extent, byoc_emit_dim(b, node->operands[1]->type, 0));
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", byoc_loop_int(b, 0));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", byoc_loop_int(b, 0), length);
  const byoc_loop_expr_t *kept = byoc_lower_load(lower, node, 1, &i);
  byoc_loop_assign(b, count, byoc_loop_select(b, kept, BYOC_LADD(b, count, byoc_loop_int(b, 1)), count));
  byoc_loop_end(b);
  return count;
}

// ---- NonZero ----
static byoc_status_t infer_non_zero(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_value, "a tensor of numbers or bools"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  bool failed = false;
  byoc_dim_t rank = byoc_is_ranked(x) ? byoc_dim_constant(x->rank) : byoc_infer_unknown_dim(infer, &failed);
  byoc_dim_t dims[] = {rank, byoc_dim_constant(0)};
  const byoc_value_t *operand = infer->node->operands[0];
  if (byoc_value_is_constant(operand) && (byoc_dtype_is_number(x->dtype) || x->dtype == BYOC_DTYPE_BOOL)) {
    int64_t count = byoc_type_element_count(x);
    for (int64_t i = 0; i < count; ++i) {
      dims[1].constant += byoc_constant_element_f64(operand->constant, i) != 0.0;
    }
  } else {
    dims[1] = byoc_infer_unknown_dim(infer, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 2, dims);
}

static const byoc_loop_expr_t *shape_non_zero(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              int32_t d) {
  (void)result, (void)d;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *count = byoc_loop_mutable(b, "count", byoc_loop_int(b, 0));
  int32_t opened = byoc_emit_open(b, x, 0, x->rank, false, at);
  const byoc_loop_expr_t *value = byoc_emit_load(lower, node, 0, at);
  if (!value) return NULL;
  value = BIN(NE, value, byoc_loop_const(b, value->dtype, 0.0));
  byoc_loop_assign(b, count, byoc_loop_select(b, value, BYOC_LADD(b, count, byoc_loop_int(b, 1)), count));
  byoc_emit_close(b, opened);
  return count;
}

static byoc_status_t loops_non_zero(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *count = byoc_loop_mutable(b, "count", byoc_loop_int(b, 0));
  int32_t opened = byoc_emit_open(b, x, 0, x->rank, false, at);
  const byoc_loop_expr_t *value = byoc_emit_load(lower, node, 0, at);
  if (!value) return BYOC_UNSUPPORTED;
  value = BIN(NE, value, byoc_loop_const(b, value->dtype, 0.0));
  byoc_loop_if(b, BIN(AND, value, BIN(LT, count, byoc_emit_dim(b, y, 1))));
  for (int32_t d = 0; d < x->rank; ++d) {
    const byoc_loop_expr_t *to[] = {byoc_loop_int(b, d), count};
    byoc_emit_store(lower, node, 0, to, at[d]);
  }
  byoc_loop_assign(b, count, BYOC_LADD(b, count, byoc_loop_int(b, 1)));
  byoc_emit_close(b, opened + 1);
  return BYOC_OK;
}

static const byoc_op_attribute_t top_k_attributes[] = {
    {BYOC_ATTR_INT("axis", -1)},
    {BYOC_ATTR_REQUIRED(INT, "k"), .until = 10},
    {BYOC_ATTR_INT("largest", 1), .since = 11},
    {BYOC_ATTR_INT("sorted", 1), .since = 11},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t compress_attributes[] = {
    {BYOC_ATTR(INT, "axis")},
    BYOC_ATTR_END,
};

#define non_zero_attributes NULL
#define non_zero_axes       NULL
#define compress_axes       NULL
#define top_k_axes          byoc_axes_beside
#define ROW(op_name, version, least, most, results, mask, elements, unread, function)                                  \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = results, .traits = BYOC_OP_HEAVY, .attributes = function##_attributes,            \
    .infer = infer_##function, .loops = loops_##function, .shape_operands = mask, .shape_elements = elements,          \
    .by_shape = unread, .shape = shape_##function, .axes = function##_axes                                             \
  }

const byoc_op_t byoc_ops_select[] = {
    ROW(TopK, 1, 1, 1, 2, 0, 0, 0, top_k),
    ROW(TopK, 10, 2, 2, 2, 1u << 1, 1u << 1, 1u << 1, top_k),
    ROW(TopK, 11, 2, 2, 2, 1u << 1, 1u << 1, 1u << 1, top_k),
    ROW(TopK, 24, 2, 2, 2, 1u << 1, 1u << 1, 1u << 1, top_k),
    ROW(Compress, 9, 2, 2, 1, 0, 1u << 1, 0, compress),
    ROW(Compress, 11, 2, 2, 1, 0, 1u << 1, 0, compress),
    ROW(NonZero, 9, 1, 1, 1, 0, 1, 0, non_zero),
    ROW(NonZero, 13, 1, 1, 1, 0, 1, 0, non_zero),
};
const size_t byoc_ops_select_count = sizeof byoc_ops_select / sizeof *byoc_ops_select;
