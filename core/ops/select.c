// Choosing elements by value: TopK, Compress, NonZero, NonMaxSuppression. What of a result depends on the data is its
// length; a kernel fills as much of the result as its type has room for.
#include <math.h>
#include <string.h>

#include "core/ops/util.h"
#include "core/ops/write.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

static const byoc_loop_expr_t *truth(byoc_loop_builder_t *b, bool value) {
  return byoc_loop_const_int(b, BYOC_DTYPE_BOOL, value);
}

// ---- TopK ----
enum { MOST_TOP = 65536 };

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
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", -1, x->rank, &axis));
  byoc_dim_t dims[BYOC_MAX_RANK], list[BYOC_MAX_RANK];
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  if (infer->opset < 10) {
    dims[axis] = byoc_dim_constant(byoc_attributes_int(&node->attributes, "k", -1));
  } else if (byoc_shape_value(node->operands[1], infer->arena, &count, list) && count == 1) {
    dims[axis] = list[0];
  } else {
    dims[axis] = byoc_infer_unknown_dim(infer, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  bool both = byoc_dim_is_constant(dims[axis]) && byoc_dim_is_constant(x->dims[axis]);
  if (both && dims[axis].constant > x->dims[axis].constant) {
    return byoc_infer_error(infer, "the %lld best of %lld elements", (long long)dims[axis].constant,
                            (long long)x->dims[axis].constant);
  }
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

// Each element's place is the number of those that come before it: slower, but it needs no list.
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
  if (byoc_has_result(node, 1)) byoc_emit_store(lower, node, 1, at, i);
  byoc_emit_close(b, opened + 1);
}

static const byoc_loop_expr_t *shape_top_k(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  return BYOC_LMIN(b, byoc_emit_int(lower, node, 1, 0), byoc_emit_dim(b, node->operands[0]->type, d));
}

// A sorted list of the best so far: an element that beats its last is moved up to its place.
static byoc_status_t loops_top_k(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  int32_t axis = byoc_node_axis(node, "axis", -1, x->rank);
  bool largest = byoc_attributes_int(&node->attributes, "largest", 1) != 0;
  if (!byoc_dim_is_constant(y->dims[axis]) || y->dims[axis].constant > MOST_TOP) {
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
  // A full list loses its last element, or stays.
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
  bool flat = !byoc_attributes_find(&node->attributes, "axis"), failed = false;
  if (!flat && !byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  int32_t axis = 0, rank = flat ? 1 : x->rank;
  if (!flat) BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", 0, x->rank, &axis));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) dims[d] = flat ? byoc_dim_constant(0) : x->dims[d];
  const byoc_value_t *condition = node->operands[1];
  if (byoc_value_is_constant(condition)) {
    int64_t count = byoc_type_element_count(condition->type), kept = 0;
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
  bool flat = !byoc_attributes_find(&node->attributes, "axis");
  int32_t axis = flat ? 0 : byoc_node_axis(node, "axis", 0, x->rank), opened = 0;
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
  bool flat = !byoc_attributes_find(&node->attributes, "axis");
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

// ---- NonMaxSuppression ----
enum { NMS_BOXES, NMS_SCORES, NMS_MOST, NMS_OVERLAP, NMS_SCORE };

static byoc_status_t infer_nms(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < 2; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 3, 3));
  }
  const byoc_type_t *boxes = byoc_operand_type(infer->node, 0);
  if (byoc_is_ranked(boxes)) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, 2, byoc_dim_constant(4)));
  bool failed = false;
  byoc_dim_t dims[] = {byoc_infer_unknown_dim(infer, &failed), byoc_dim_constant(3)};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 2, dims);
}

// A box as corners: y1, x1, y2, x2 in any order of the corners, or centre x, y and width, height.
static void load_box(byoc_lower_t *lower, const byoc_node_t *node, const byoc_loop_expr_t *image,
                     const byoc_loop_expr_t *box, const byoc_loop_expr_t *low[2], const byoc_loop_expr_t *high[2]) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  bool centred = byoc_attributes_int(&node->attributes, "center_point_box", 0) != 0;
  const byoc_loop_expr_t *c[4];
  for (int32_t i = 0; i < 4; ++i) {
    const byoc_loop_expr_t *at[] = {image, box, byoc_loop_int(b, i)};
    c[i] = byoc_loop_let(b, "corner", byoc_emit_load(lower, node, NMS_BOXES, at));
  }
  for (int32_t d = 0; d < 2; ++d) {
    if (centred) {
      const byoc_loop_expr_t *half = BYOC_LMUL(b, c[2 + d], byoc_loop_const(b, c[0]->dtype, 0.5));
      low[d] = BYOC_LSUB(b, c[d], half);
      high[d] = BYOC_LADD(b, c[d], half);
    } else {
      low[d] = BYOC_LMIN(b, c[d], c[2 + d]);
      high[d] = BYOC_LMAX(b, c[d], c[2 + d]);
    }
    low[d] = byoc_loop_let(b, "low", low[d]);
    high[d] = byoc_loop_let(b, "high", high[d]);
  }
}

// For each box the number of those chosen before it, or LEFT or DROPPED: the best box left is taken, those that overlap
// it by more than the threshold are dropped, and so on.
enum { NMS_LEFT = -1, NMS_DROPPED = -2 };

static byoc_status_t infer_nms_order(byoc_infer_t *infer) {
  return byoc_infer_set_like(infer, 0, BYOC_DTYPE_I64, byoc_operand_type(infer->node, NMS_SCORES));
}

static byoc_status_t loops_nms_order(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *scores = node->operands[NMS_SCORES]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(scores->dtype);
  const byoc_loop_buffer_t *order = NULL;
  if (!byoc_lower_result_buffer(lower, node, 0, &order)) return BYOC_UNSUPPORTED;
  const byoc_loop_expr_t *size = byoc_emit_dim(b, scores, 2);
  const byoc_loop_expr_t *not_chosen = byoc_loop_int(b, NMS_LEFT), *dropped = byoc_loop_int(b, NMS_DROPPED);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *none = byoc_loop_int(b, -1), *at[3];
  const byoc_loop_expr_t *most = zero, *overlap = byoc_loop_const(b, dtype, 0.0);
  const byoc_loop_expr_t *least = byoc_loop_const(b, dtype, -INFINITY);
  if (byoc_has_operand(node, NMS_MOST)) most = byoc_loop_let(b, "most", byoc_emit_int(lower, node, NMS_MOST, 0));
  if (byoc_has_operand(node, NMS_OVERLAP)) {
    overlap = byoc_loop_let(b, "overlap", byoc_emit_as(b, dtype, byoc_emit_scalar(lower, node, NMS_OVERLAP)));
  }
  if (byoc_has_operand(node, NMS_SCORE)) {
    least = byoc_loop_let(b, "least", byoc_emit_as(b, dtype, byoc_emit_scalar(lower, node, NMS_SCORE)));
  }
  int32_t opened = byoc_emit_open(b, scores, 0, 2, true, at);
  const byoc_loop_expr_t *base = BYOC_LADD(b, BYOC_LMUL(b, at[0], byoc_emit_dim(b, scores, 1)), at[1]);
  base = byoc_loop_let(b, "base", BYOC_LMUL(b, base, size));
  at[2] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, size);
  const byoc_loop_expr_t *good = BIN(LT, least, byoc_emit_load(lower, node, NMS_SCORES, at));
  byoc_loop_store(b, order, BYOC_LADD(b, base, at[2]), byoc_loop_select(b, good, not_chosen, dropped));
  byoc_loop_end(b);
  const byoc_loop_expr_t *taken = byoc_loop_mutable(b, "taken", zero);
  byoc_loop_while(b, BIN(LT, taken, most));
  const byoc_loop_expr_t *best = byoc_loop_mutable(b, "best", none), *top = byoc_loop_mutable(b, "top", least);
  at[2] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, size);
  const byoc_loop_expr_t *score = byoc_loop_let(b, "score", byoc_emit_load(lower, node, NMS_SCORES, at));
  byoc_loop_if(b, BIN(AND, BIN(EQ, byoc_loop_load(b, order, BYOC_LADD(b, base, at[2])), not_chosen),
                      BIN(OR, BIN(LT, best, zero), BIN(LT, top, score))));
  byoc_loop_assign(b, best, at[2]);
  byoc_loop_assign(b, top, score);
  byoc_emit_close(b, 2);
  byoc_loop_if(b, BIN(LT, best, zero));
  byoc_loop_assign(b, taken, most); // none is left
  byoc_loop_else(b);
  byoc_loop_store(b, order, BYOC_LADD(b, base, best), taken);
  byoc_loop_assign(b, taken, BYOC_LADD(b, taken, one));
  const byoc_loop_expr_t *low[2], *high[2], *other_low[2], *other_high[2];
  load_box(lower, node, at[0], best, low, high);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, size);
  byoc_loop_if(b, BIN(EQ, byoc_loop_load(b, order, BYOC_LADD(b, base, i)), not_chosen));
  load_box(lower, node, at[0], i, other_low, other_high);
  const byoc_loop_expr_t *shared = NULL, *area = NULL, *other_area = NULL, *nothing = byoc_loop_const(b, dtype, 0.0);
  for (int32_t d = 0; d < 2; ++d) {
    const byoc_loop_expr_t *side =
        BYOC_LSUB(b, BYOC_LMIN(b, high[d], other_high[d]), BYOC_LMAX(b, low[d], other_low[d]));
    side = BYOC_LMAX(b, nothing, side);
    const byoc_loop_expr_t *own = BYOC_LSUB(b, high[d], low[d]), *other = BYOC_LSUB(b, other_high[d], other_low[d]);
    shared = shared ? BYOC_LMUL(b, shared, side) : side;
    area = area ? BYOC_LMUL(b, area, own) : own;
    other_area = other_area ? BYOC_LMUL(b, other_area, other) : other;
  }
  shared = byoc_loop_let(b, "shared", shared);
  const byoc_loop_expr_t *both = BYOC_LSUB(b, BYOC_LADD(b, area, other_area), shared);
  // Without an intersection nothing is dropped, boxes of no size included.
  const byoc_loop_expr_t *drops = BIN(AND, BIN(LT, nothing, shared), BIN(LT, overlap, BIN(DIV, shared, both)));
  byoc_loop_if(b, drops);
  byoc_loop_store(b, order, BYOC_LADD(b, base, i), dropped);
  byoc_emit_close(b, 3);
  byoc_loop_end(b);
  byoc_loop_end(b);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

// Rows {image, class, box} from the order of each class: operand 0 is what loops_nms_order gives.
static byoc_status_t infer_nms_rows(byoc_infer_t *infer) {
  bool failed = false;
  byoc_dim_t dims[] = {byoc_infer_unknown_dim(infer, &failed), byoc_dim_constant(3)};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 2, dims);
}

// Opens loops over all boxes; `count` of its class is how many were chosen so far.
static byoc_status_t loops_nms_rows(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *order = node->operands[0]->type, *y = node->results[0]->type;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *at[3];
  const byoc_loop_expr_t *total = byoc_loop_mutable(b, "total", zero);
  byoc_emit_open(b, order, 0, 2, false, at);
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", zero);
  at[2] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, byoc_emit_dim(b, order, 2));
  const byoc_loop_expr_t *place = byoc_loop_let(b, "place", byoc_lower_load(lower, node, 0, at));
  const byoc_loop_expr_t *row = byoc_loop_let(b, "row", BYOC_LADD(b, total, place));
  byoc_loop_if(b, BIN(AND, BIN(LE, zero, place), BIN(LT, row, byoc_emit_dim(b, y, 0))));
  for (int32_t i = 0; i < 3; ++i) {
    const byoc_loop_expr_t *to[] = {row, byoc_loop_int(b, i)};
    byoc_emit_store(lower, node, 0, to, at[i]);
  }
  byoc_loop_assign(b, count, BYOC_LADD(b, count, one));
  byoc_emit_close(b, 2);
  byoc_loop_assign(b, total, BYOC_LADD(b, total, count));
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

static const byoc_loop_expr_t *shape_nms_rows(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              int32_t d) {
  (void)result, (void)d;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *at[3], *zero = byoc_loop_int(b, 0), *count = byoc_loop_mutable(b, "count", zero);
  int32_t opened = byoc_emit_open(b, node->operands[0]->type, 0, 3, false, at);
  const byoc_loop_expr_t *chosen = BIN(LE, zero, byoc_lower_load(lower, node, 0, at));
  byoc_loop_assign(b, count, byoc_loop_select(b, chosen, BYOC_LADD(b, count, byoc_loop_int(b, 1)), count));
  byoc_emit_close(b, opened);
  return count;
}

// NonMaxSuppression(...) → byoc::SuppressedRows(byoc::SuppressionOrder(...))
static byoc_status_t expand_nms(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node};
  byoc_node_t *order = byoc_write_many(&w, "byoc", "SuppressionOrder", node->operands, node->operand_count, 1,
                                       node->attributes.items, node->attributes.count);
  byoc_value_t *rows =
      byoc_write_node(&w, "byoc", "SuppressedRows", order ? order->results[0] : NULL, NULL, NULL, NULL, 0);
  return byoc_write_end(&w, rows, diag, out_changed);
}

#define HEAD(op_domain, op_name, version, least, most, results)                                                        \
  .domain = op_domain, .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,            \
  .min_outputs = 1, .max_outputs = results
#define ROW(op_name, version, least, most, results, mask, elements, unread, function)                                  \
  {                                                                                                                    \
    HEAD("", op_name, version, least, most, results),                                                                  \
        .traits = BYOC_OP_HEAVY, .infer = infer_##function, .loops = loops_##function, .shape_operands = mask,         \
        .shape_elements = elements, .by_shape = unread, .shape = shape_##function                                      \
  }
#define NMS(version)                                                                                                   \
  { HEAD("", NonMaxSuppression, version, 2, 5, 1), .infer = infer_nms, .expand = expand_nms }

const byoc_op_t byoc_ops_select[] = {
    ROW(TopK, 1, 1, 1, 2, 0, 0, 0, top_k),
    ROW(TopK, 10, 2, 2, 2, 1u << 1, 1u << 1, 1u << 1, top_k),
    ROW(TopK, 11, 2, 2, 2, 1u << 1, 1u << 1, 1u << 1, top_k),
    ROW(TopK, 24, 2, 2, 2, 1u << 1, 1u << 1, 1u << 1, top_k),
    ROW(Compress, 9, 2, 2, 1, 0, 1u << 1, 0, compress),
    ROW(Compress, 11, 2, 2, 1, 0, 1u << 1, 0, compress),
    ROW(NonZero, 9, 1, 1, 1, 0, 1, 0, non_zero),
    ROW(NonZero, 13, 1, 1, 1, 0, 1, 0, non_zero),
    NMS(10),
    NMS(11),
    {HEAD("byoc", SuppressionOrder, 1, 2, 5, 1), .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE, .infer = infer_nms_order,
     .loops = loops_nms_order, .shape_operands = 1u << 2 | 1u << 3 | 1u << 4},
    {HEAD("byoc", SuppressedRows, 1, 1, 1, 1), .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE, .infer = infer_nms_rows,
     .loops = loops_nms_rows, .shape = shape_nms_rows, .shape_elements = 1},
};
const size_t byoc_ops_select_count = sizeof byoc_ops_select / sizeof *byoc_ops_select;
