// SPDX-License-Identifier: Apache-2.0
// Reductions over any set of dimensions: each maps the elements, folds them, and maps the result.
#include <string.h>

#include "core/op/axes.h"
#include "core/ops/loops/rows.h"

#define UN(op, x) byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

// ---- the reductions ----
typedef const byoc_loop_expr_t *(*map_t)(byoc_loop_builder_t *b, const byoc_loop_expr_t *x);

static const byoc_loop_expr_t *map_square(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return BYOC_LMUL(b, x, x);
}
static const byoc_loop_expr_t *map_abs(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return UN(ABS, x);
}
static const byoc_loop_expr_t *map_log(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return UN(LOG, x);
}
static const byoc_loop_expr_t *map_sqrt(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return UN(SQRT, x);
}

typedef struct {
  const char *name;
  byoc_loop_op_t op;
  map_t before, after; // NULL: as it is
  bool mean;           // divided by the number of elements
  bool log_sum_exp;
} reduction_t;

static const reduction_t reductions[] = {
    {"ReduceSum", BYOC_LOOP_OP_ADD, NULL, NULL, false, false},
    {"ReduceMean", BYOC_LOOP_OP_ADD, NULL, NULL, true, false},
    {"ReduceProd", BYOC_LOOP_OP_MUL, NULL, NULL, false, false},
    {"ReduceMax", BYOC_LOOP_OP_MAX, NULL, NULL, false, false},
    {"ReduceMin", BYOC_LOOP_OP_MIN, NULL, NULL, false, false},
    {"ReduceL1", BYOC_LOOP_OP_ADD, map_abs, NULL, false, false},
    {"ReduceL2", BYOC_LOOP_OP_ADD, map_square, map_sqrt, false, false},
    {"ReduceLogSum", BYOC_LOOP_OP_ADD, NULL, map_log, false, false},
    {"ReduceLogSumExp", BYOC_LOOP_OP_ADD, NULL, map_log, false, true},
    {"ReduceSumSquare", BYOC_LOOP_OP_ADD, map_square, NULL, false, false},
};

static const reduction_t *reduction_of(const byoc_node_t *node) {
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; ++i) {
    if (strcmp(reductions[i].name, node->op) == 0) return &reductions[i];
  }
  return &reductions[0];
}

// ---- axes ----
// If the axes are data, static shapes limit the sets of dimensions that they may name: folding a dimension of 1 changes
// nothing, and the kept ones are in the result in order. A set is a bit mask.
enum { MOST_SETS = 64 };
typedef struct {
  int32_t count;
  uint32_t masks[MOST_SETS];
} sets_t;

static void find_sets(const byoc_type_t *x, const byoc_type_t *y, int32_t d, int32_t kept, uint32_t mask, sets_t *out) {
  if (out->count == MOST_SETS || x->rank - d < y->rank - kept) return;
  if (d == x->rank) {
    out->masks[out->count++] = mask;
    return;
  }
  bool fits = kept < y->rank && x->dims[d].constant == y->dims[kept].constant;
  if (fits) find_sets(x, y, d + 1, kept + 1, mask, out);
  find_sets(x, y, d + 1, kept, mask | 1u << d, out);
}

static bool sets_from_shapes(const byoc_node_t *node, sets_t *out) {
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  *out = (sets_t){0};
  if (!byoc_type_is_static(x) || !byoc_type_is_static(y)) return false;
  if (!byoc_node_flag(node, "keepdims")) {
    find_sets(x, y, 0, 0, 0, out);
    return out->count > 0 && out->count < MOST_SETS;
  }
  if (x->rank != y->rank) return false;
  for (int32_t d = 0; d < x->rank; ++d) out->masks[0] |= y->dims[d].constant == 1 ? 1u << d : 0;
  out->count = 1;
  return true;
}

// The dimensions that are folded. BYOC_KNOWN_NO if the axes are not constant; *out_valid is false if one is out of
// range.
static byoc_known_t read_over(const byoc_node_t *node, int32_t rank, bool *over, bool *out_valid) {
  byoc_ints_t axes;
  byoc_known_t known = byoc_read_ints(node, "axes", 1, &axes);
  *out_valid = true;
  if (known == BYOC_KNOWN_NO) return known;
  bool noop = byoc_node_flag(node, "noop_with_empty_axes");
  bool all = axes.count == 0 && !noop;
  for (int32_t d = 0; d < rank; ++d) over[d] = all;
  for (size_t i = 0; i < axes.count; ++i) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes.values[i], rank, &axis)) {
      *out_valid = false;
      return known;
    }
    over[axis] = true;
  }
  return BYOC_KNOWN_YES;
}

static byoc_status_t set_reduced(const byoc_infer_t *infer, byoc_dtype_t dtype, const byoc_type_t *x,
                                 const bool *over) {
  bool keep = byoc_node_flag(infer->node, "keepdims");
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    if (!over[d]) dims[rank++] = x->dims[d];
    if (over[d] && keep) dims[rank++] = byoc_dim_constant(1);
  }
  return byoc_infer_set(infer, 0, dtype, rank, dims);
}

static bool is_reducible(byoc_dtype_t dtype) {
  return byoc_dtype_is_number(dtype) || dtype == BYOC_DTYPE_BOOL;
}

static byoc_status_t infer_reduce(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  bool of_numbers = strncmp(node->op, "ReduceL", 7) == 0;
  BYOC_RETURN_IF_ERROR(
      byoc_infer_need(infer, 0, of_numbers ? byoc_dtype_is_number : is_reducible, "a tensor of numbers"));
  if (byoc_has_operand(node, 1)) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "axes"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  bool over[BYOC_MAX_RANK], valid = true;
  if (byoc_has_operand(node, 1)) BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 1, x->rank, false));
  if (read_over(node, x->rank, over, &valid) == BYOC_KNOWN_NO) {
    // An empty list needs no values.
    if (byoc_type_element_count(byoc_operand_type(node, 1)) == 0) {
      bool noop = byoc_node_flag(node, "noop_with_empty_axes");
      for (int32_t d = 0; d < x->rank; ++d) over[d] = !noop;
      return set_reduced(infer, x->dtype, x, over);
    }
    bool keep = byoc_node_flag(node, "keepdims");
    if (keep) return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank);
    const byoc_type_t *axes = byoc_operand_type(node, 1);
    int64_t count = byoc_type_element_count(axes);
    if (count > x->rank) {
      return byoc_infer_error(infer, "'axes': %lld are given for rank %d", (long long)count, x->rank);
    }
    if (count >= 0) return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank - (int32_t)count);
    return byoc_infer_set_open_rank(infer, x->dtype, x->rank, BYOC_DIM_SUB, 1);
  }
  if (!valid) {
    return byoc_infer_error(infer, "'axes': expected values in [%d, %d]", -x->rank, x->rank - 1);
  }
  return set_reduced(infer, x->dtype, x, over);
}

// ---- lowering ----
typedef struct {
  const byoc_node_t *node;
  const reduction_t *reduction;
  byoc_dtype_t dtype;
  byoc_row_t max; // log-sum-exp, ArgMax
  const byoc_loop_expr_t *length;
  int32_t axis;
  bool last;
  sets_t sets;                  // sets that the axes may name; none if the axes are known
  const byoc_loop_expr_t *mask; // the set that the axes name in this run
} reduce_t;

// The indices of the operand's element, when the rows were laid out for sets.masks[0] but the axes name another set:
// dimensions of equal size swap roles.
static void swap_indices(byoc_rows_t *rows, const reduce_t *r, const byoc_loop_expr_t **at) {
  byoc_loop_builder_t *b = rows->b;
  const byoc_type_t *x = rows->type;
  for (int32_t d = 0; d < x->rank; ++d) at[d] = rows->indices[d];
  for (int32_t s = 1; s < r->sets.count; ++s) {
    const byoc_loop_expr_t *named = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, r->mask, byoc_loop_int(b, r->sets.masks[s]));
    uint32_t used = 0;
    for (int32_t d = 0; d < x->rank; ++d) {
      bool folded = r->sets.masks[s] >> d & 1;
      int32_t from = 0; // the first dimension of this role and size that no earlier one uses
      while (from < x->rank && (used >> from & 1 || (r->sets.masks[0] >> from & 1) != folded ||
                                x->dims[from].constant != x->dims[d].constant)) {
        ++from;
      }
      if (from == x->rank) continue;
      used |= 1u << from;
      if (from != d) at[d] = byoc_loop_select(b, named, rows->indices[from], at[d]);
    }
  }
}

// The set of dimensions that the axes name, one bit per dimension.
static const byoc_loop_expr_t *emit_mask(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *axes = node->operands[1]->type;
  int32_t rank = node->operands[0]->type->rank;
  const byoc_loop_expr_t *count = byoc_emit_extent(b, axes, 0, axes->rank), *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *mask = byoc_loop_mutable(b, "mask", zero);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, count);
  const byoc_loop_expr_t *axis = byoc_emit_index(b, byoc_lower_load_flat(lower, node, 1, i), byoc_loop_int(b, rank));
  const byoc_loop_expr_t *bit = byoc_loop_binary(b, BYOC_LOOP_OP_SHL, byoc_loop_int(b, 1), axis);
  byoc_loop_assign(b, mask, byoc_loop_binary(b, BYOC_LOOP_OP_OR, mask, bit));
  byoc_loop_end(b);
  if (byoc_node_flag(node, "noop_with_empty_axes")) return mask;
  const byoc_loop_expr_t *none = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, count, zero);
  return byoc_loop_let(b, "folded", byoc_loop_select(b, none, byoc_loop_int(b, (INT64_C(1) << rank) - 1), mask));
}

static const byoc_loop_expr_t *plain(byoc_rows_t *rows, const void *self) {
  const reduce_t *r = self;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  swap_indices(rows, r, at);
  return byoc_emit_as(rows->b, r->dtype, byoc_emit_load(rows->lower, r->node, 0, at));
}

// Roots and logarithms of integers are taken in f64, bools are ordered as bytes.
static byoc_dtype_t fold_dtype(byoc_dtype_t dtype, const reduction_t *reduction) {
  if (dtype == BYOC_DTYPE_BOOL) return BYOC_DTYPE_U8;
  if (reduction && reduction->after && byoc_dtype_is_integer(dtype)) return BYOC_DTYPE_F64;
  return byoc_compute_dtype(dtype);
}

static const byoc_loop_expr_t *mapped(byoc_rows_t *rows, const void *self) {
  const reduce_t *r = self;
  const byoc_loop_expr_t *x = plain(rows, self);
  return x && r->reduction->before ? r->reduction->before(rows->b, x) : x;
}

// exp(x - max). An infinite maximum counts as 0: then exp(-inf) is 0 and exp(inf) is inf, as the sum should be.
static const byoc_loop_expr_t *shifted(byoc_rows_t *rows, const void *self) {
  const reduce_t *r = self;
  byoc_loop_builder_t *b = rows->b;
  return UN(EXP, BYOC_LSUB(b, plain(rows, self), byoc_row_value(rows, r->max)));
}

static const byoc_loop_expr_t *finite(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  (void)self;
  return byoc_loop_select(b, UN(ISINF, x), byoc_emit_number_like(b, x, 0.0), x);
}

static const byoc_loop_expr_t *finish(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const void *self) {
  const reduce_t *r = self;
  if (r->reduction->mean) x = byoc_loop_binary(b, BYOC_LOOP_OP_DIV, x, r->length);
  return r->reduction->after ? r->reduction->after(b, x) : x;
}

// Stores one value per row; kept dimensions stay, folded ones become 1 or vanish.
static void store_row(byoc_rows_t *rows, const byoc_node_t *node, const byoc_loop_expr_t *value) {
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  bool keep = byoc_node_flag(node, "keepdims");
  int32_t rank = 0;
  for (int32_t d = 0; d < rows->type->rank; ++d) {
    if (!rows->over[d] || keep) indices[rank++] = rows->indices[d];
  }
  byoc_emit_store(rows->lower, node, 0, indices, value);
}

// ---- axes that are data ----

static const byoc_loop_expr_t *is_folded(byoc_loop_builder_t *b, const byoc_loop_expr_t *mask, int32_t d) {
  const byoc_loop_expr_t *bit = byoc_loop_binary(b, BYOC_LOOP_OP_AND, mask, byoc_loop_int(b, INT64_C(1) << d));
  return byoc_loop_binary(b, BYOC_LOOP_OP_NE, bit, byoc_loop_int(b, 0));
}

// values[k], with k known only at run time.
static const byoc_loop_expr_t *pick(byoc_loop_builder_t *b, const byoc_loop_expr_t *const *values, int32_t count,
                                    const byoc_loop_expr_t *k) {
  const byoc_loop_expr_t *value = byoc_loop_int(b, 0);
  for (int32_t i = 0; i < count; ++i) {
    value = byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, k, byoc_loop_int(b, i)), values[i], value);
  }
  return value;
}

static const byoc_loop_expr_t *shape_reduce(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *mask = emit_mask(lower, node), *one = byoc_loop_int(b, 1), *seen = byoc_loop_int(b, 0);
  if (byoc_node_flag(node, "keepdims")) {
    return byoc_loop_select(b, is_folded(b, mask, d), one, byoc_emit_dim(b, x, d));
  }
  const byoc_loop_expr_t *size = one; // of the d-th dimension that is kept
  for (int32_t i = 0; i < x->rank; ++i) {
    const byoc_loop_expr_t *folded = byoc_loop_let(b, "is_folded", is_folded(b, mask, i));
    const byoc_loop_expr_t *here = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, seen, byoc_loop_int(b, d));
    size = byoc_loop_select(b, folded, size, byoc_loop_select(b, here, byoc_emit_dim(b, x, i), size));
    seen = byoc_loop_let(b, "seen", byoc_loop_select(b, folded, seen, BYOC_LADD(b, seen, one)));
  }
  return size;
}

// Opens loops over the operand's elements that make one result element: all of a folded dimension, one index of a kept
// one.
static const byoc_loop_expr_t *fold_window(byoc_lower_t *lower, const reduce_t *r, byoc_loop_op_t op,
                                           const byoc_loop_expr_t *const *begin, const byoc_loop_expr_t *const *end,
                                           const byoc_loop_expr_t *max) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  int32_t rank = r->node->operands[0]->type->rank;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", byoc_fold_neutral(b, op, r->dtype));
  for (int32_t d = 0; d < rank; ++d) at[d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", begin[d], end[d]);
  const byoc_loop_expr_t *x = byoc_emit_as(b, r->dtype, byoc_emit_load(lower, r->node, 0, at));
  if (max) x = UN(EXP, BYOC_LSUB(b, x, max));
  if (x && r->reduction->before) x = r->reduction->before(b, x);
  byoc_loop_assign(b, sum, byoc_loop_binary(b, op, sum, x));
  byoc_emit_close(b, rank);
  return sum;
}

static byoc_status_t reduce_by_data(byoc_lower_t *lower, const byoc_node_t *node, reduce_t *r) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  bool keep = byoc_node_flag(node, "keepdims");
  const byoc_loop_expr_t *mask = emit_mask(lower, node), *one = byoc_loop_int(b, 1), *seen = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *begin[BYOC_MAX_RANK], *end[BYOC_MAX_RANK], *length = one;
  int32_t opened = byoc_emit_open(b, y, 0, y->rank, true, at);
  for (int32_t d = 0; d < x->rank; ++d) {
    const byoc_loop_expr_t *folded = byoc_loop_let(b, "is_folded", is_folded(b, mask, d)),
                           *size = byoc_emit_dim(b, x, d);
    const byoc_loop_expr_t *own = keep ? at[d] : pick(b, at, y->rank, seen);
    begin[d] = byoc_loop_let(b, "begin", byoc_loop_select(b, folded, byoc_loop_int(b, 0), own));
    end[d] = byoc_loop_let(b, "end", byoc_loop_select(b, folded, size, BYOC_LADD(b, own, one)));
    length = BYOC_LMUL(b, length, byoc_loop_select(b, folded, size, one));
    seen = byoc_loop_let(b, "seen", byoc_loop_select(b, folded, seen, BYOC_LADD(b, seen, one)));
  }
  const byoc_loop_expr_t *max = NULL;
  if (r->reduction->log_sum_exp) {
    max = byoc_loop_let(b, "max", finite(b, fold_window(lower, r, BYOC_LOOP_OP_MAX, begin, end, NULL), NULL));
  }
  r->length = byoc_emit_as(b, r->dtype, length);
  const byoc_loop_expr_t *value = finish(b, fold_window(lower, r, r->reduction->op, begin, end, max), r);
  byoc_emit_store(lower, node, 0, at, max ? BYOC_LADD(b, value, max) : value);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

static byoc_status_t loops_reduce(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_type_t *x = node->operands[0]->type;
  reduce_t r = {.node = node, .reduction = reduction_of(node)};
  r.dtype = fold_dtype(x->dtype, r.reduction);
  bool over[BYOC_MAX_RANK], valid = true;
  byoc_known_t known = read_over(node, x->rank, over, &valid);
  if (!valid) return byoc_lower_unsupported(lower, "'axes': expected values in [%d, %d]", -x->rank, x->rank - 1);
  if (known == BYOC_KNOWN_NO && !sets_from_shapes(node, &r.sets)) return reduce_by_data(lower, node, &r);
  if (known == BYOC_KNOWN_NO) {
    for (int32_t d = 0; d < x->rank; ++d) over[d] = r.sets.masks[0] >> d & 1;
    if (r.sets.count > 1) r.mask = emit_mask(lower, node);
  }
  byoc_rows_t rows;
  byoc_rows_begin(&rows, lower, x, over);
  rows.is_dense = r.sets.count < 2 && byoc_lower_operand_buffer(lower, node, 0);
  byoc_rows_element_t element = mapped;
  if (r.reduction->log_sum_exp) {
    r.max = byoc_rows_fold(&rows, BYOC_LOOP_OP_MAX, r.dtype, plain, &r);
    byoc_rows_apply(&rows, &r.max, finite, NULL);
    element = shifted;
  }
  byoc_row_t folded = byoc_rows_fold(&rows, r.reduction->op, r.dtype, element, &r);
  r.length = byoc_rows_length(&rows, r.dtype);
  byoc_rows_apply(&rows, &folded, finish, &r);
  byoc_rows_each_row(&rows);
  const byoc_loop_expr_t *value = byoc_row_value(&rows, folded);
  if (r.reduction->log_sum_exp) value = BYOC_LADD(rows.b, value, byoc_row_value(&rows, r.max));
  store_row(&rows, node, value);
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

// ---- ArgMax, ArgMin ----
static byoc_status_t infer_arg(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, BYOC_DTYPE_I64);
  bool over[BYOC_MAX_RANK] = {false};
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  over[axis] = true;
  return set_reduced(infer, BYOC_DTYPE_I64, x, over);
}

// The index if the element is the best of its row, else an index after all others in the direction of search.
static const byoc_loop_expr_t *place_of_best(byoc_rows_t *rows, const void *self) {
  const reduce_t *r = self;
  byoc_loop_builder_t *b = rows->b;
  const byoc_loop_expr_t *x = plain(rows, self);
  if (!x) return NULL;
  const byoc_loop_expr_t *best = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, x, byoc_row_value(rows, r->max));
  if (byoc_dtype_is_float(x->dtype)) best = byoc_loop_binary(b, BYOC_LOOP_OP_OR, best, UN(ISNAN, x));
  const byoc_loop_expr_t *none = r->last ? byoc_emit_lowest(b, BYOC_DTYPE_I64) : byoc_emit_highest(b, BYOC_DTYPE_I64);
  return byoc_loop_select(b, best, rows->indices[r->axis], none);
}

static byoc_status_t loops_arg(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_type_t *x = node->operands[0]->type;
  reduce_t r = {.node = node, .dtype = fold_dtype(x->dtype, NULL)};
  r.axis = byoc_node_axis(node, "axis", x->rank);
  r.last = byoc_node_flag(node, "select_last_index");
  bool over[BYOC_MAX_RANK] = {false};
  over[r.axis] = true;
  byoc_loop_op_t op = strcmp(node->op, "ArgMax") == 0 ? BYOC_LOOP_OP_MAX : BYOC_LOOP_OP_MIN;
  byoc_rows_t rows;
  byoc_rows_begin(&rows, lower, x, over);
  r.max = byoc_rows_fold(&rows, op, r.dtype, plain, &r);
  byoc_row_t place =
      byoc_rows_fold(&rows, r.last ? BYOC_LOOP_OP_MAX : BYOC_LOOP_OP_MIN, BYOC_DTYPE_I64, place_of_best, &r);
  byoc_rows_each_row(&rows);
  store_row(&rows, node, byoc_row_value(&rows, place));
  byoc_rows_each_end(&rows);
  byoc_rows_end(&rows);
  return BYOC_OK;
}

static const byoc_op_attribute_t reduce_attributes[] = {
    {BYOC_ATTR(INTS, "axes"), .until = 18},
    {BYOC_ATTR_INT("keepdims", 1)},
    {BYOC_ATTR_INT("noop_with_empty_axes", 0), .since = 18},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t reduce_sum_attributes[] = {
    {BYOC_ATTR(INTS, "axes"), .until = 13},
    {BYOC_ATTR_INT("keepdims", 1)},
    {BYOC_ATTR_INT("noop_with_empty_axes", 0), .since = 13},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t arg_attributes[] = {
    {BYOC_ATTR_INT("axis", 0)},
    {BYOC_ATTR_INT("keepdims", 1)},
    {BYOC_ATTR_INT("select_last_index", 0), .since = 12},
    BYOC_ATTR_END,
};

#define ROW(table, op_name, version, most, mask, function)                                                             \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 1, .max_inputs = most, .min_outputs = 1,   \
    .max_outputs = 1, .traits = BYOC_OP_REDUCES | ((mask) != 0 ? BYOC_OP_LIMITS : 0), .attributes = table,             \
    .infer = infer_##function, .loops = loops_##function, .shape_operands = mask, .shape_elements = mask,              \
    .shape = (mask) != 0 ? shape_reduce : NULL, .axes = byoc_axes_##function                                           \
  }
#define BY_ATTRIBUTE(name, version) ROW(reduce_attributes, name, version, 1, 0, reduce)
#define BY_OPERAND(name, version)   ROW(reduce_attributes, name, version, 2, 1u << 1, reduce)
#define USUAL(name)                 BY_ATTRIBUTE(name, 1), BY_ATTRIBUTE(name, 11), BY_ATTRIBUTE(name, 13), BY_OPERAND(name, 18)
#define EXTREME(name)                                                                                                  \
  BY_ATTRIBUTE(name, 1), BY_ATTRIBUTE(name, 11), BY_ATTRIBUTE(name, 12), BY_ATTRIBUTE(name, 13), BY_OPERAND(name, 18), \
      BY_OPERAND(name, 20)
#define ARG(name)                                                                                                      \
  ROW(arg_attributes, name, 1, 1, 0, arg), ROW(arg_attributes, name, 11, 1, 0, arg),                                   \
      ROW(arg_attributes, name, 12, 1, 0, arg), ROW(arg_attributes, name, 13, 1, 0, arg)

const byoc_op_t byoc_ops_reduce[] = {
    ROW(reduce_sum_attributes, ReduceSum, 1, 1, 0, reduce),
    ROW(reduce_sum_attributes, ReduceSum, 11, 1, 0, reduce),
    ROW(reduce_sum_attributes, ReduceSum, 13, 2, 1u << 1, reduce),
    USUAL(ReduceMean),
    USUAL(ReduceProd),
    EXTREME(ReduceMax),
    EXTREME(ReduceMin),
    USUAL(ReduceL1),
    USUAL(ReduceL2),
    USUAL(ReduceLogSum),
    USUAL(ReduceLogSumExp),
    USUAL(ReduceSumSquare),
    ARG(ArgMax),
    ARG(ArgMin),
};
const size_t byoc_ops_reduce_count = sizeof byoc_ops_reduce / sizeof *byoc_ops_reduce;
