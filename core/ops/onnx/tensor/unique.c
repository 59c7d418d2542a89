// SPDX-License-Identifier: Apache-2.0
// Unique: the different elements, or slices along an axis, sorted or in order of appearance. Their number depends on
// the data. There are four steps: sort the slices; find for each slice the first equal one; place the first slices
// among the results; make the results. Strings are first replaced by their ranks.
#include "core/ops/loops/heap.h"
#include "core/ops/onnx/text/string.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool is_ordered(byoc_dtype_t dtype) {
  return byoc_dtype_is_value(dtype) || dtype == BYOC_DTYPE_STRING;
}

static byoc_status_t infer_unique(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_ordered, "a tensor of numbers, bools or strings"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  bool flat = !byoc_node_given(node, "axis"), failed = false;
  byoc_dim_t count = byoc_infer_unknown_dim(infer, &failed);
  byoc_dim_t all = byoc_dim_constant(1), dims[BYOC_MAX_RANK];
  if (!byoc_is_ranked(x)) all = byoc_infer_unknown_dim(infer, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (!flat && !byoc_is_ranked(x)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set_unranked(infer, 0, x->dtype));
  } else if (flat) {
    for (int32_t d = 0; byoc_is_ranked(x) && d < x->rank; ++d) {
      all = byoc_infer_dim(infer, BYOC_DIM_MUL, all, x->dims[d], &failed);
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, 1, &count));
  } else {
    int32_t axis = 0;
    BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
    for (int32_t d = 0; d < x->rank; ++d) dims[d] = d == axis ? count : x->dims[d];
    all = x->dims[axis];
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, x->rank, dims));
  }
  for (uint32_t i = 1; i < 4; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, BYOC_DTYPE_I64, 1, i == 2 ? &all : &count));
  }
  return byoc_infer_memory(infer, failed);
}

typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *x;
  int32_t axis; // -1: elements
} unique_t;

static const byoc_loop_expr_t *element(const unique_t *u, const byoc_loop_expr_t *slice,
                                       const byoc_loop_expr_t *const *at) {
  byoc_loop_builder_t *b = u->b;
  if (u->axis < 0) {
    const byoc_loop_expr_t *x = byoc_lower_load_flat(u->lower, u->node, 0, slice);
    return x ? byoc_emit_as(b, byoc_compute_dtype(x->dtype), x) : NULL;
  }
  const byoc_loop_expr_t *from[BYOC_MAX_RANK];
  for (int32_t d = 0; d < u->x->rank; ++d) from[d] = d == u->axis ? slice : at[d];
  return byoc_emit_load(u->lower, u->node, 0, from);
}

static int32_t open_slice(const unique_t *u, const byoc_loop_expr_t **at) {
  if (u->axis < 0) return 0;
  int32_t opened = byoc_emit_open(u->b, u->x, 0, u->axis, false, at);
  return opened + byoc_emit_open(u->b, u->x, u->axis + 1, u->x->rank, false, at);
}

// NaNs come last and count as equal.
static const byoc_loop_expr_t *is_less(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const byoc_loop_expr_t *y) {
  const byoc_loop_expr_t *less = BIN(LT, x, y);
  if (!x || !byoc_dtype_is_float(x->dtype)) return less;
  const byoc_loop_expr_t *nan = byoc_loop_unary(b, BYOC_LOOP_OP_ISNAN, y);
  return BIN(OR, less, BIN(AND, nan, BIN(EQ, x, x)));
}

// Leaves -1, 0 or 1 in a mutable variable as slice i is less than, equal to or greater than slice j.
static const byoc_loop_expr_t *compare(const unique_t *u, const byoc_loop_expr_t *i, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = u->b;
  const byoc_loop_expr_t *order = byoc_loop_mutable(b, "order", byoc_loop_int(b, 0)), *at[BYOC_MAX_RANK];
  int32_t opened = open_slice(u, at);
  byoc_loop_if(b, BIN(EQ, order, byoc_loop_int(b, 0)));
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", element(u, i, at)), *y = byoc_loop_let(b, "y", element(u, j, at));
  const byoc_loop_expr_t *more = byoc_loop_select(b, is_less(b, y, x), byoc_loop_int(b, 1), byoc_loop_int(b, 0));
  byoc_loop_assign(b, order, byoc_loop_select(b, is_less(b, x, y), byoc_loop_int(b, -1), more));
  byoc_emit_close(b, opened + 1);
  return order;
}

static void store_one(const unique_t *u, uint32_t result, const byoc_loop_expr_t *at, const byoc_loop_expr_t *value) {
  if (byoc_has_result(u->node, result)) byoc_emit_store(u->lower, u->node, result, &at, value);
}

static unique_t begin(byoc_lower_t *lower, const byoc_node_t *node) {
  unique_t u = {.lower = lower, .b = byoc_lower_builder(lower), .node = node, .x = node->operands[0]->type, .axis = -1};
  if (byoc_node_given(node, "axis")) u.axis = byoc_node_axis(node, "axis", u.x->rank);
  return u;
}

static const byoc_loop_expr_t *slice_count(const unique_t *u) {
  return u->axis < 0 ? byoc_emit_extent(u->b, u->x, 0, u->x->rank) : byoc_emit_dim(u->b, u->x, u->axis);
}

// One i64 per slice.
static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// The number of slices; the operands after x have one number for each slice.
static byoc_status_t check_slices(const byoc_infer_t *infer, byoc_dim_t *out_count) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_value, "a tensor of numbers or bools"));
  bool failed = false;
  *out_count = byoc_dim_constant(1);
  if (!byoc_is_ranked(x)) {
    *out_count = byoc_infer_unknown_dim(infer, &failed);
  } else if (byoc_node_given(node, "axis")) {
    int32_t axis = 0;
    BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
    *out_count = x->dims[axis];
  } else {
    for (int32_t d = 0; d < x->rank; ++d) {
      *out_count = byoc_infer_dim(infer, BYOC_DIM_MUL, *out_count, x->dims[d], &failed);
    }
  }
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, is_i64, "a tensor of i64"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 1, out_count));
  }
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t infer_slices(byoc_infer_t *infer) {
  byoc_dim_t count;
  BYOC_RETURN_IF_ERROR(check_slices(infer, &count));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 1, &count);
}

static byoc_status_t infer_results(byoc_infer_t *infer) {
  byoc_dim_t count;
  BYOC_RETURN_IF_ERROR(check_slices(infer, &count));
  return infer_unique(infer);
}

// The greater slice is above the other; of equal slices the later one is.
static const byoc_loop_expr_t *is_greater(const void *self, byoc_heap_item_t x, byoc_heap_item_t y) {
  const unique_t *u = self;
  byoc_loop_builder_t *b = u->b;
  const byoc_loop_expr_t *order = compare(u, x.index, y.index), *zero = byoc_loop_int(b, 0);
  return BIN(OR, BIN(LT, zero, order), BIN(AND, BIN(EQ, order, zero), BIN(LT, y.index, x.index)));
}

// UniqueOrder(x): the slices in sorted order, equal ones in order of appearance.
static byoc_status_t loops_order(byoc_lower_t *lower, const byoc_node_t *node) {
  unique_t u = begin(lower, node);
  byoc_loop_builder_t *b = u.b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *n = slice_count(&u);
  byoc_heap_t heap = {.b = b, .base = zero, .step = byoc_loop_int(b, 1), .above = is_greater, .self = &u};
  if (!byoc_lower_result_buffer(lower, node, 0, &heap.list)) return BYOC_UNSUPPORTED;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, n);
  byoc_heap_store(&heap, i, (byoc_heap_item_t){i, NULL});
  byoc_loop_end(b);
  byoc_heap_build(&heap, n);
  byoc_heap_sort(&heap, n);
  return BYOC_OK;
}

static const byoc_loop_expr_t *load_slice(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                          const byoc_loop_expr_t *i) {
  return byoc_lower_load(lower, node, operand, &i);
}

// UniqueFirst(x, order): for each slice the first equal one.
static byoc_status_t loops_first(byoc_lower_t *lower, const byoc_node_t *node) {
  unique_t u = begin(lower, node);
  byoc_loop_builder_t *b = u.b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *first = byoc_loop_mutable(b, "first", byoc_loop_int(b, -1));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, slice_count(&u));
  const byoc_loop_expr_t *slice = byoc_loop_let(b, "slice", load_slice(lower, node, 1, i));
  const byoc_loop_expr_t *is_new = byoc_loop_mutable(b, "is_new", byoc_loop_const_int(b, BYOC_DTYPE_BOOL, true));
  byoc_loop_if(b, BIN(LE, zero, first));
  byoc_loop_assign(b, is_new, BIN(NE, compare(&u, first, slice), zero));
  byoc_loop_end(b);
  byoc_loop_assign(b, first, byoc_loop_select(b, is_new, slice, first));
  byoc_emit_store(lower, node, 0, &slice, first);
  byoc_loop_end(b);
  return BYOC_OK;
}

// UniquePlace(x, order, first): the place of each first slice among the results, and -1 for all others.
static byoc_status_t loops_place(byoc_lower_t *lower, const byoc_node_t *node) {
  unique_t u = begin(lower, node);
  byoc_loop_builder_t *b = u.b;
  bool sorted = byoc_node_flag(node, "sorted");
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *none = byoc_loop_int(b, -1);
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", zero);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, slice_count(&u));
  const byoc_loop_expr_t *slice = sorted ? byoc_loop_let(b, "slice", load_slice(lower, node, 1, i)) : i;
  const byoc_loop_expr_t *is_first = byoc_loop_let(b, "is_first", BIN(EQ, load_slice(lower, node, 2, slice), slice));
  byoc_emit_store(lower, node, 0, &slice, byoc_loop_select(b, is_first, count, none));
  byoc_loop_assign(b, count, byoc_loop_select(b, is_first, BYOC_LADD(b, count, one), count));
  byoc_loop_end(b);
  return BYOC_OK;
}

// The number of occurrences of each slice: equal slices are neighbours in sorted order.
static void count_equal(const unique_t *u) {
  byoc_loop_builder_t *b = u->b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *n = slice_count(u);
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", zero);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, n);
  const byoc_loop_expr_t *next = BYOC_LADD(b, i, one), *last = BYOC_LSUB(b, n, one);
  const byoc_loop_expr_t *slice = byoc_loop_let(b, "slice", load_slice(u->lower, u->node, 1, i));
  const byoc_loop_expr_t *behind =
      byoc_loop_let(b, "behind", load_slice(u->lower, u->node, 1, BYOC_LMIN(b, next, last)));
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", load_slice(u->lower, u->node, 2, slice));
  byoc_loop_assign(b, count, BYOC_LADD(b, count, one));
  byoc_loop_if(b, BIN(OR, BIN(EQ, i, last), BIN(NE, load_slice(u->lower, u->node, 2, behind), first)));
  const byoc_loop_expr_t *place = byoc_loop_let(b, "place", load_slice(u->lower, u->node, 3, first));
  byoc_loop_if(b, BIN(LT, place, byoc_emit_dim(b, u->node->results[3]->type, 0)));
  store_one(u, 3, place, count);
  byoc_loop_end(b);
  byoc_loop_assign(b, count, zero);
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// UniqueResults(x, order, first, place): the results of Unique.
static byoc_status_t loops_results(byoc_lower_t *lower, const byoc_node_t *node) {
  unique_t u = begin(lower, node);
  byoc_loop_builder_t *b = u.b;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", byoc_loop_int(b, 0), slice_count(&u));
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", load_slice(lower, node, 2, i));
  const byoc_loop_expr_t *place = byoc_loop_let(b, "place", load_slice(lower, node, 3, first));
  store_one(&u, 2, i, place);
  byoc_dim_t room = node->results[0]->type->dims[u.axis < 0 ? 0 : u.axis];
  byoc_loop_if(b, BIN(AND, BIN(EQ, first, i), BIN(LT, place, byoc_loop_dim(b, room))));
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *to[BYOC_MAX_RANK];
  int32_t opened = open_slice(&u, at);
  for (int32_t d = 0; d < u.x->rank; ++d) to[d] = d == u.axis ? place : at[d];
  if (u.axis < 0) to[0] = place;
  byoc_emit_store(lower, node, 0, to, element(&u, i, at));
  byoc_emit_close(b, opened);
  store_one(&u, 1, place, i);
  byoc_emit_close(b, 2);
  if (byoc_has_result(node, 3)) count_equal(&u);
  return BYOC_OK;
}

static const byoc_loop_expr_t *shape_results(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result, (void)d;
  unique_t u = begin(lower, node);
  byoc_loop_builder_t *b = u.b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *count = byoc_loop_mutable(b, "count", zero);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, slice_count(&u));
  const byoc_loop_expr_t *is_first = BIN(EQ, load_slice(lower, node, 2, i), i);
  byoc_loop_assign(b, count, byoc_loop_select(b, is_first, BYOC_LADD(b, count, byoc_loop_int(b, 1)), count));
  byoc_loop_end(b);
  return count;
}

// Unique(strings) → Unique(ranks), and the strings at its indices
static byoc_status_t expand_texts(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t all = -1;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[0];
  const byoc_type_t *type =
      byoc_type_tensor(&node->function->module->arena, BYOC_DTYPE_I64, x->type->rank, x->type->dims);
  byoc_value_t *ranks = byoc_write_string(&w, "ranks", &x, 1, type);
  const uint32_t count = node->result_count > 2 ? node->result_count : 2;
  byoc_node_t *made =
      ranks ? byoc_write_many(&w, "", "Unique", &ranks, 1, count, node->attributes.items, node->attributes.count)
            : NULL;
  for (uint32_t r = 1; made && r < node->result_count; ++r) {
    if (!byoc_value_replace_uses(node->results[r], made->results[r])) w.failed = true;
  }
  const bool is_flat = !byoc_node_given(node, "axis");
  if (is_flat && made) x = byoc_write_reshape(&w, x, &all, 1);
  if (!made || !x) return byoc_write_end(&w, NULL, out_changed);
  const int32_t axis = is_flat ? 0 : byoc_node_axis(node, "axis", x->type->rank);
  const byoc_attribute_t along = byoc_write_int("axis", axis);
  const bool is_empty = byoc_dim_equal(x->type->dims[axis], byoc_dim_constant(0));
  byoc_value_t *y = is_empty ? x : byoc_write_node(&w, "", "Gather", x, made->results[1], NULL, &along, 1);
  return byoc_write_end(&w, y, out_changed);
}

static byoc_status_t expand_unique(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (byoc_is_string(node->operands[0]->type)) {
    return byoc_is_ranked(node->operands[0]->type) ? expand_texts(node, diag, out_changed) : BYOC_OK;
  }
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t *attributes = node->attributes.items;
  size_t count = node->attributes.count;
  static const char *const steps[] = {"UniqueOrder", "UniqueFirst", "UniquePlace"};
  byoc_value_t *operands[4] = {node->operands[0]};
  byoc_node_t *made = NULL;
  for (uint32_t i = 0; i < 3; ++i) {
    made = byoc_write_many(&w, "byoc", steps[i], operands, i + 1, 1, attributes, count);
    if (made) operands[i + 1] = made->results[0];
  }
  made = byoc_write_many(&w, "byoc", "UniqueResults", operands, 4, node->result_count, attributes, count);
  for (uint32_t r = 1; made && r < node->result_count; ++r) {
    if (!byoc_value_replace_uses(node->results[r], made->results[r])) w.failed = true;
  }
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
}

static const byoc_op_attribute_t unique_attributes[] = {
    {BYOC_ATTR(INT, "axis")},
    {BYOC_ATTR_INT("sorted", 1)},
    BYOC_ATTR_END,
};

#define STEP(op_name, operands, results)                                                                               \
  .domain = "byoc", .name = #op_name, .since_version = 1, .min_inputs = operands, .max_inputs = operands,              \
  .min_outputs = 1, .max_outputs = results, .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE, .attributes = unique_attributes

const byoc_op_t byoc_ops_unique[] = {
    {.domain = "",
     .name = "Unique",
     .since_version = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 4,
     .attributes = unique_attributes,
     .infer = infer_unique,
     .expand = expand_unique},
    {STEP(UniqueOrder, 1, 1), .infer = infer_slices, .loops = loops_order},
    {STEP(UniqueFirst, 2, 1), .infer = infer_slices, .loops = loops_first},
    {STEP(UniquePlace, 3, 1), .infer = infer_slices, .loops = loops_place},
    {STEP(UniqueResults, 4, 4), .infer = infer_results, .loops = loops_results, .shape = shape_results,
     .shape_elements = 1u << 2},
};
const size_t byoc_ops_unique_count = sizeof byoc_ops_unique / sizeof *byoc_ops_unique;
