// Unique: the different elements, or slices along an axis, sorted or in order of appearance. How many there are depends
// on the data; a kernel fills as much of its results as their types have room for.
#include "core/ops/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

enum { LARGEST = 65536 }; // slices: what is known of each lies on the stack

static byoc_status_t infer_unique(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  bool flat = !byoc_attributes_find(&node->attributes, "axis"), failed = false;
  byoc_dim_t count = byoc_infer_unknown_dim(infer, &failed);
  byoc_dim_t all = byoc_infer_unknown_dim(infer, &failed), dims[BYOC_MAX_RANK];
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (!flat && !byoc_is_ranked(x)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set_unranked(infer, 0, x->dtype));
  } else if (flat) {
    int64_t known = byoc_type_element_count(x);
    if (known >= 0) all = byoc_dim_constant(known);
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, 1, &count));
  } else {
    int32_t axis = 0;
    BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", 0, x->rank, &axis));
    for (int32_t d = 0; d < x->rank; ++d) dims[d] = d == axis ? count : x->dims[d];
    all = x->dims[axis];
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, x->rank, dims));
  }
  for (uint32_t i = 1; i < 4; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, BYOC_DTYPE_I64, 1, i == 2 ? &all : &count));
  }
  return BYOC_OK;
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

// -1, 0 or 1 as slice i is less than, equal to or greater than slice j, in a mutable variable.
static const byoc_loop_expr_t *compare(const unique_t *u, const byoc_loop_expr_t *i, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = u->b;
  const byoc_loop_expr_t *order = byoc_loop_mutable(b, "order", byoc_loop_int(b, 0)), *at[BYOC_MAX_RANK];
  int32_t opened = open_slice(u, at);
  byoc_loop_if(b, BIN(EQ, order, byoc_loop_int(b, 0)));
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", element(u, i, at)), *y = byoc_loop_let(b, "y", element(u, j, at));
  const byoc_loop_expr_t *more = byoc_loop_select(b, BIN(LT, y, x), byoc_loop_int(b, 1), byoc_loop_int(b, 0));
  byoc_loop_assign(b, order, byoc_loop_select(b, BIN(LT, x, y), byoc_loop_int(b, -1), more));
  byoc_emit_close(b, opened + 1);
  return order;
}

static void store_one(const unique_t *u, uint32_t result, const byoc_loop_expr_t *at, const byoc_loop_expr_t *value) {
  if (byoc_has_result(u->node, result)) byoc_emit_store(u->lower, u->node, result, &at, value);
}

// For each slice the first one equal to it; for each of those its place among the results, by counting the ones that
// come before it.
static byoc_status_t loops_unique(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  unique_t u = {.lower = lower, .b = b, .node = node, .x = node->operands[0]->type, .axis = -1};
  bool flat = !byoc_attributes_find(&node->attributes, "axis");
  bool sorted = byoc_attributes_int(&node->attributes, "sorted", 1) != 0;
  if (!flat) u.axis = byoc_node_axis(node, "axis", 0, u.x->rank);
  int64_t size = flat                                      ? byoc_type_element_count(u.x)
                 : byoc_dim_is_constant(u.x->dims[u.axis]) ? u.x->dims[u.axis].constant
                                                           : -1;
  if (size < 0 || size > LARGEST) return BYOC_UNSUPPORTED;
  const byoc_loop_expr_t *n = byoc_loop_int(b, size), *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_buffer_t *first = byoc_loop_allocate(b, "first", BYOC_DTYPE_I64, size > 0 ? size : 1);
  const byoc_loop_buffer_t *place = byoc_loop_allocate(b, "place", BYOC_DTYPE_I64, size > 0 ? size : 1);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, n);
  const byoc_loop_expr_t *found = byoc_loop_mutable(b, "found", i);
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", zero, i);
  byoc_loop_if(b, BIN(AND, BIN(EQ, found, i), BIN(EQ, byoc_loop_load(b, first, j), j)));
  byoc_loop_assign(b, found, byoc_loop_select(b, BIN(EQ, compare(&u, i, j), zero), j, found));
  byoc_emit_close(b, 2);
  byoc_loop_store(b, first, i, found);
  byoc_loop_end(b);
  i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, n);
  byoc_loop_if(b, BIN(EQ, byoc_loop_load(b, first, i), i));
  const byoc_loop_expr_t *before = byoc_loop_mutable(b, "before", zero), *count = byoc_loop_mutable(b, "count", zero);
  j = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", zero, n);
  const byoc_loop_expr_t *other = byoc_loop_let(b, "other", byoc_loop_load(b, first, j));
  byoc_loop_assign(b, count, byoc_loop_select(b, BIN(EQ, other, i), BYOC_LADD(b, count, one), count));
  byoc_loop_if(b, BIN(AND, BIN(EQ, other, j), BIN(NE, i, j)));
  const byoc_loop_expr_t *earlier = sorted ? BIN(LT, compare(&u, j, i), zero) : BIN(LT, j, i);
  byoc_loop_assign(b, before, byoc_loop_select(b, earlier, BYOC_LADD(b, before, one), before));
  byoc_emit_close(b, 2);
  byoc_loop_store(b, place, i, before);
  byoc_loop_if(b, BIN(LT, before, byoc_emit_dim(b, node->results[0]->type, flat ? 0 : u.axis)));
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *to[BYOC_MAX_RANK];
  int32_t opened = open_slice(&u, at);
  for (int32_t d = 0; d < u.x->rank; ++d) to[d] = d == u.axis ? before : at[d];
  if (flat) to[0] = before;
  byoc_emit_store(lower, node, 0, to, element(&u, i, at));
  byoc_emit_close(b, opened);
  store_one(&u, 1, before, i);
  store_one(&u, 3, before, count);
  byoc_emit_close(b, 3);
  i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, n);
  store_one(&u, 2, i, byoc_loop_load(b, place, byoc_loop_load(b, first, i)));
  byoc_loop_end(b);
  return BYOC_OK;
}

const byoc_op_t byoc_ops_unique[] = {
    {.domain = "",
     .name = "Unique",
     .since_version = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 4,
     .traits = BYOC_OP_HEAVY,
     .infer = infer_unique,
     .loops = loops_unique},
};
const size_t byoc_ops_unique_count = sizeof byoc_ops_unique / sizeof *byoc_ops_unique;
