// SPDX-License-Identifier: Apache-2.0
// Operators that give the same bytes another shape: they need types but no code.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/util.h"
#include "core/op/write.h"

static bool is_zero(byoc_dim_t dim) {
  return byoc_dim_is_constant(dim) && dim.constant == 0;
}

// The product of dimensions, leaving out those that `other` also has (both lists lose them). Of constants, zeros are
// left out if `without_zeros`.
static byoc_dim_t cancelled_product(const byoc_infer_t *infer, int32_t count, const byoc_dim_t *dims, int32_t others,
                                    const byoc_dim_t *other, bool without_zeros, bool *failed) {
  bool used[BYOC_MAX_RANK] = {false};
  byoc_dim_t product = byoc_dim_constant(1);
  for (int32_t i = 0; i < count; ++i) {
    bool found = false;
    for (int32_t j = 0; j < others && !found; ++j) {
      const bool may_go = !byoc_dim_is_constant(dims[i]) || (without_zeros && is_zero(dims[i]));
      if (used[j] || !may_go || !byoc_dim_equal(dims[i], other[j])) continue;
      used[j] = found = true;
    }
    if (!found) product = byoc_infer_dim(infer, BYOC_DIM_MUL, product, dims[i], failed);
  }
  return product;
}

// Result dimensions from a target shape, in which -1 stands for the rest and 0 copies (unless allowzero).
static byoc_status_t resolve_shape(const byoc_infer_t *infer, const byoc_type_t *x, int32_t count, byoc_dim_t *dims) {
  const byoc_node_t *node = infer->node;
  bool allow_zero = byoc_node_flag(node, "allowzero");
  int32_t free_at = -1;
  bool failed = false;
  for (int32_t i = 0; i < count; ++i) {
    if (!byoc_dim_is_constant(dims[i])) continue;
    if (dims[i].constant == 0 && !allow_zero) {
      if (i >= x->rank) return byoc_infer_error(infer, "the shape copies dimension %d, which operand 0 lacks", i);
      dims[i] = x->dims[i];
    } else if (dims[i].constant == -1) {
      if (free_at >= 0) return byoc_infer_error(infer, "the shape has more than one -1");
      free_at = i;
    } else if (dims[i].constant < -1) {
      return byoc_infer_error(infer, "the shape has the dimension %lld", (long long)dims[i].constant);
    }
  }
  byoc_dim_t fixed[BYOC_MAX_RANK] = {{0}};
  int32_t fixed_count = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (i != free_at) fixed[fixed_count++] = dims[i];
  }
  byoc_dim_t have = cancelled_product(infer, x->rank, x->dims, fixed_count, fixed, false, &failed);
  byoc_dim_t want = cancelled_product(infer, fixed_count, fixed, x->rank, x->dims, false, &failed);
  bool known = byoc_dim_is_constant(have) && byoc_dim_is_constant(want);
  bool fits = !known || (free_at < 0          ? have.constant == want.constant
                         : want.constant != 0 ? have.constant % want.constant == 0
                                              : have.constant == 0);
  if (!fits) {
    byoc_string_t shape;
    byoc_string_init(&shape, byoc_allocator_system());
    for (int32_t i = 0; i < count; ++i) {
      if (i > 0) byoc_string_append(&shape, ",");
      byoc_dim_print(dims[i], &shape);
    }
    char text[BYOC_TYPE_TEXT_SIZE];
    byoc_status_t status = byoc_infer_error(infer, "%s does not reshape to [%s]", byoc_type_text(x, text), shape.data);
    byoc_string_deinit(&shape);
    return status;
  }
  if (free_at >= 0 && is_zero(want)) { // any number fits; the one that holds for other sizes is best
    have = cancelled_product(infer, x->rank, x->dims, fixed_count, fixed, true, &failed);
    want = cancelled_product(infer, fixed_count, fixed, x->rank, x->dims, true, &failed);
  }
  if (free_at >= 0) {
    const bool none = is_zero(want) ||
                      (byoc_dim_is_constant(have) && byoc_dim_is_constant(want) && have.constant % want.constant != 0);
    dims[free_at] = none ? byoc_dim_constant(0) : byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, have, want, &failed);
  }
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t infer_reshape(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "a shape of integers"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, 1));
  const byoc_type_t *x = byoc_operand_type(node, 0), *shape = byoc_operand_type(node, 1);
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t count = 0;
  if (byoc_is_ranked(x) && byoc_shape_value(node->operands[1], infer->arena, &count, dims)) {
    BYOC_RETURN_IF_ERROR(resolve_shape(infer, x, count, dims));
    return byoc_infer_set(infer, 0, x->dtype, count, dims);
  }
  int64_t rank = byoc_type_element_count(shape);
  if (rank > BYOC_MAX_RANK) {
    return byoc_infer_error(infer, "the shape has rank %lld; at most %d is supported", (long long)rank, BYOC_MAX_RANK);
  }
  if (rank == 0 && byoc_type_element_count(x) >= 0) BYOC_RETURN_IF_ERROR(resolve_shape(infer, x, 0, dims));
  if (rank >= 0) return byoc_infer_set_unknown(infer, 0, x->dtype, (int32_t)rank);
  return byoc_infer_set_open_rank(infer, x->dtype, 0, BYOC_DIM_ADD, 1);
}

// Up to operator set 4 the shape is an attribute.
static bool read_early_shape(const byoc_node_t *node, int64_t dims[BYOC_MAX_RANK], int32_t *out_rank) {
  size_t count = 0;
  const int64_t *shape = byoc_node_ints(node, "shape", &count);
  *out_rank = (int32_t)(count <= BYOC_MAX_RANK ? count : 0);
  for (size_t i = 0; i < count && count <= BYOC_MAX_RANK; ++i) dims[i] = shape[i];
  return shape && count <= BYOC_MAX_RANK;
}

static byoc_status_t infer_early_reshape(byoc_infer_t *infer) {
  int64_t shape[BYOC_MAX_RANK];
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  if (!read_early_shape(infer->node, shape, &rank)) {
    return byoc_infer_error(infer, "attribute 'shape': expected up to %d numbers", BYOC_MAX_RANK);
  }
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, x->dtype, rank);
  for (int32_t i = 0; i < rank; ++i) dims[i] = byoc_dim_constant(shape[i]);
  BYOC_RETURN_IF_ERROR(resolve_shape(infer, x, rank, dims));
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static byoc_status_t expand_early_reshape(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  int64_t shape[BYOC_MAX_RANK];
  int32_t rank = 0;
  if (!read_early_shape(node, shape, &rank)) w.failed = true;
  return byoc_write_end(&w, w.failed ? NULL : byoc_write_reshape(&w, node->operands[0], shape, rank), out_changed);
}

static byoc_status_t infer_flatten(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, x->dtype, 2);
  int64_t axis = byoc_node_int(infer->node, "axis");
  if (axis < -x->rank || axis > x->rank) {
    return byoc_infer_error(infer, "attribute 'axis': expected a value in [%d, %d], got %lld", -x->rank, x->rank,
                            (long long)axis);
  }
  if (axis < 0) axis += x->rank;
  byoc_dim_t dims[] = {byoc_dim_constant(1), byoc_dim_constant(1)};
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[d >= axis] = byoc_infer_dim(infer, BYOC_DIM_MUL, dims[d >= axis], x->dims[d], &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, 2, dims);
}

static byoc_status_t axis_error(const byoc_infer_t *infer, int64_t axis, int32_t rank) {
  return byoc_infer_error(infer, "'axes': expected values in [%d, %d], got %lld", -rank, rank - 1, (long long)axis);
}

// The number of dimensions that are not 1: the sum of min(1, |dimension - 1|).
static byoc_dim_t count_large(const byoc_infer_t *infer, const byoc_type_t *x, bool *failed) {
  const byoc_dim_t one = byoc_dim_constant(1);
  byoc_dim_t count = byoc_dim_constant(0);
  for (int32_t d = 0; d < x->rank; ++d) {
    byoc_dim_t more = byoc_infer_dim(infer, BYOC_DIM_SUB, x->dims[d], one, failed);
    byoc_dim_t less = byoc_infer_dim(infer, BYOC_DIM_SUB, one, x->dims[d], failed);
    byoc_dim_t apart = byoc_infer_dim(infer, BYOC_DIM_MAX, more, less, failed);
    byoc_dim_t stays = byoc_infer_dim(infer, BYOC_DIM_MIN, one, apart, failed);
    count = byoc_infer_dim(infer, BYOC_DIM_ADD, count, stays, failed);
  }
  return count;
}

// The result has the rank of its branch (core/pass/choose_lengths.c); the run checks it.
static byoc_status_t infer_squeeze_to(const byoc_infer_t *infer, const byoc_type_t *x, int64_t rank) {
  byoc_dim_t all[BYOC_MAX_RANK], known[BYOC_MAX_RANK];
  int32_t most = 0, least = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    const bool is_known = byoc_dim_is_constant(x->dims[d]);
    if (is_known && x->dims[d].constant == 1) continue;
    all[most++] = x->dims[d];
    if (is_known) known[least++] = x->dims[d];
  }
  if (rank < least || rank > most) {
    char text[BYOC_TYPE_TEXT_SIZE];
    return byoc_infer_error(infer, "%s does not become a tensor of rank %lld", byoc_type_text(x, text),
                            (long long)rank);
  }
  if (rank == most) return byoc_infer_set(infer, 0, x->dtype, most, all);
  if (rank == least) return byoc_infer_set(infer, 0, x->dtype, least, known);
  return byoc_infer_set_unknown(infer, 0, x->dtype, (int32_t)rank);
}

// Without axes every dimension of 1 is removed. If a dimension is dynamic, so is the rank; choose-lengths makes a
// branch for each rank. If that pass did not run, dynamic dimensions are assumed to stay, and the run checks it.
static byoc_status_t infer_squeeze_all(const byoc_infer_t *infer, const byoc_type_t *x) {
  const byoc_node_t *node = infer->node;
  const byoc_attribute_t *chosen = byoc_attributes_find(&node->attributes, BYOC_ATTRIBUTE_RESULT_RANK);
  bool failed = false;
  if (infer->relations && !byoc_type_is_static(x)) {
    infer->relations->rank = count_large(infer, x, &failed);
    infer->relations->has_rank = true;
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (chosen && chosen->kind == BYOC_ATTRIBUTE_INT) return infer_squeeze_to(infer, x, chosen->i);
  const byoc_type_t *declared = node->results[0]->type;
  const bool is_declared = byoc_is_ranked(declared) && !byoc_type_is_static(x);
  if (is_declared && declared->rank > x->rank) {
    return byoc_infer_error(infer, "the result is declared with rank %d, the operand has %d", declared->rank, x->rank);
  }
  if (!byoc_type_is_static(x) && !node->function->module->is_being_lowered) {
    return byoc_infer_set_unranked(infer, 0, x->dtype);
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    if (!byoc_dim_is_constant(x->dims[d]) || x->dims[d].constant != 1) dims[rank++] = x->dims[d];
  }
  if (is_declared && declared->rank != rank) return byoc_infer_set_unranked(infer, 0, x->dtype);
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static byoc_status_t infer_squeeze(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  byoc_ints_t axes;
  byoc_known_t known = byoc_read_ints(node, "axes", 1, &axes);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  if (known == BYOC_KNOWN_ABSENT) return infer_squeeze_all(infer, x);
  if (known == BYOC_KNOWN_NO) {
    int64_t count = byoc_type_element_count(byoc_operand_type(node, 1));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 1, x->rank, true));
    if (count < 0) return byoc_infer_set_open_rank(infer, x->dtype, x->rank, BYOC_DIM_SUB, 1);
    if (count > x->rank) {
      return byoc_infer_error(infer, "'axes': %lld are given for rank %d", (long long)count, x->rank);
    }
    return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank - (int32_t)count);
  }
  bool gone[BYOC_MAX_RANK] = {false};
  for (size_t i = 0; i < axes.count; ++i) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes.values[i], x->rank, &axis)) return axis_error(infer, axes.values[i], x->rank);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, axis, byoc_dim_constant(1)));
    gone[axis] = true;
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    if (!gone[d]) dims[rank++] = x->dims[d];
  }
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static byoc_status_t infer_unsqueeze(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  byoc_ints_t axes;
  byoc_known_t known = byoc_read_ints(node, "axes", 1, &axes);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  if (known == BYOC_KNOWN_NO) {
    int64_t count = byoc_type_element_count(byoc_operand_type(node, 1));
    if (count < 0) return byoc_infer_set_open_rank(infer, x->dtype, x->rank, BYOC_DIM_ADD, 1);
    if (count > BYOC_MAX_RANK - x->rank) {
      return byoc_infer_error(infer, "the result would have rank %lld; at most %d is supported",
                              (long long)(count + x->rank), BYOC_MAX_RANK);
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 1, x->rank + (int32_t)count, true));
    return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank + (int32_t)count);
  }
  int64_t rank = x->rank + (int64_t)axes.count;
  if (rank > BYOC_MAX_RANK) {
    return byoc_infer_error(infer, "the result would have rank %lld; at most %d is supported", (long long)rank,
                            BYOC_MAX_RANK);
  }
  bool fresh[BYOC_MAX_RANK] = {false};
  for (size_t i = 0; i < axes.count; ++i) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes.values[i], rank, &axis)) return axis_error(infer, axes.values[i], (int32_t)rank);
    if (fresh[axis]) return byoc_infer_error(infer, "'axes' names dimension %d twice", axis);
    fresh[axis] = true;
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t from = 0;
  for (int32_t d = 0; d < rank; ++d) dims[d] = fresh[d] ? byoc_dim_constant(1) : x->dims[from++];
  return byoc_infer_set(infer, 0, x->dtype, (int32_t)rank, dims);
}

// ---- shapes that are data ----
// Entry d of Reshape's target; a 0 is replaced by the dimension that it copies.
static const byoc_loop_expr_t *target_size(byoc_lower_t *lower, const byoc_node_t *node, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *size = byoc_emit_int(lower, node, 1, d);
  if (byoc_node_flag(node, "allowzero") || d >= x->rank) return size;
  const byoc_loop_expr_t *copies = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, size, byoc_loop_int(b, 0));
  return byoc_loop_select(b, copies, byoc_emit_dim(b, x, d), size);
}

static const byoc_loop_expr_t *shape_reshape(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1), *own = NULL;
  // The size of dimension d, by division by each of the others: their product may overflow.
  const byoc_loop_expr_t *rest = byoc_emit_extent(b, x, 0, x->rank);
  int32_t rank = byoc_result_rank(node, result);
  for (int32_t i = 0; i < rank; ++i) {
    const byoc_loop_expr_t *size = byoc_loop_let(b, "size", target_size(lower, node, i));
    if (i == d) own = size;
    if (i != d) rest = BYOC_LDIV(b, rest, BYOC_LMAX(b, one, size));
  }
  return byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, own, byoc_loop_int(b, 0)), rest, own);
}

// Does operand 1 name dimension d of a tensor of this rank?
static const byoc_loop_expr_t *is_named(byoc_lower_t *lower, const byoc_node_t *node, int32_t d, int32_t rank) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *named = byoc_loop_const_int(b, BYOC_DTYPE_BOOL, 0);
  int32_t count = byoc_result_rank(node, 0) - node->operands[0]->type->rank;
  for (int32_t i = 0; i < (count < 0 ? -count : count); ++i) {
    const byoc_loop_expr_t *axis = byoc_emit_index(b, byoc_emit_int(lower, node, 1, i), byoc_loop_int(b, rank));
    named =
        byoc_loop_binary(b, BYOC_LOOP_OP_OR, named, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, axis, byoc_loop_int(b, d)));
  }
  return byoc_loop_let(b, "named", named);
}

// Is dimension d of a squeezed tensor removed: because axes name it or, without axes, because it is 1?
static const byoc_loop_expr_t *is_squeezed(byoc_lower_t *lower, const byoc_node_t *node, int32_t d) {
  const byoc_type_t *x = node->operands[0]->type;
  if (byoc_has_operand(node, 1)) return is_named(lower, node, d, x->rank);
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  return byoc_loop_binary(b, BYOC_LOOP_OP_EQ, byoc_emit_dim(b, x, d), byoc_loop_int(b, 1));
}

// The d-th of the dimensions that stay.
static const byoc_loop_expr_t *shape_squeeze(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *seen = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *size = one;
  for (int32_t i = 0; i < x->rank; ++i) {
    const byoc_loop_expr_t *gone = is_squeezed(lower, node, i);
    const byoc_loop_expr_t *here = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, seen, byoc_loop_int(b, d));
    size = byoc_loop_select(b, gone, size, byoc_loop_select(b, here, byoc_emit_dim(b, x, i), size));
    seen = byoc_loop_let(b, "seen", byoc_loop_select(b, gone, seen, BYOC_LADD(b, seen, one)));
  }
  return size;
}

static const byoc_loop_expr_t *shape_unsqueeze(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                               int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  int32_t rank = byoc_result_rank(node, result);
  const byoc_loop_expr_t *seen = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *size = one;
  for (int32_t i = 0; i < d; ++i) { // dimensions of the operand before this one
    seen = BYOC_LADD(b, seen, byoc_loop_select(b, is_named(lower, node, i, rank), byoc_loop_int(b, 0), one));
  }
  seen = byoc_loop_let(b, "seen", seen);
  for (int32_t i = 0; i < x->rank; ++i) {
    const byoc_loop_expr_t *here = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, seen, byoc_loop_int(b, i));
    size = byoc_loop_select(b, here, byoc_emit_dim(b, x, i), size);
  }
  return byoc_loop_select(b, is_named(lower, node, d, rank), one, size);
}

static const byoc_op_attribute_t reshape_attributes[] = {
    {BYOC_ATTR(INTS, "shape"), .until = 5},
    {BYOC_ATTR_INT("allowzero", 0), .since = 14},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t flatten_attributes[] = {
    {BYOC_ATTR_INT("axis", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t squeeze_attributes[] = {
    {BYOC_ATTR(INTS, "axes"), .until = 13},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t unsqueeze_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "axes"), .until = 13},
    BYOC_ATTR_END,
};

#define VIEW(op_name, version, least, most, shape_mask, function, shape_function)                                      \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES | BYOC_OP_LIMITS,                  \
    .attributes = function##_attributes, .infer = infer_##function, .is_view = true, .shape_operands = shape_mask,     \
    .shape_elements = shape_mask, .shape = shape_function                                                              \
  }
#define BY_OPERAND (1u << 1)

const byoc_op_t byoc_ops_view[] = {
    {.domain = "",
     .name = "Reshape",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_SPELLING,
     .attributes = reshape_attributes,
     .infer = infer_early_reshape,
     .expand = expand_early_reshape},
    VIEW(Reshape, 5, 2, 2, BY_OPERAND, reshape, shape_reshape),
    VIEW(Reshape, 13, 2, 2, BY_OPERAND, reshape, shape_reshape),
    VIEW(Reshape, 14, 2, 2, BY_OPERAND, reshape, shape_reshape),
    VIEW(Reshape, 19, 2, 2, BY_OPERAND, reshape, shape_reshape),
    VIEW(Reshape, 21, 2, 2, BY_OPERAND, reshape, shape_reshape),
    VIEW(Flatten, 1, 1, 1, 0, flatten, NULL),
    VIEW(Flatten, 9, 1, 1, 0, flatten, NULL),
    VIEW(Flatten, 11, 1, 1, 0, flatten, NULL),
    VIEW(Flatten, 13, 1, 1, 0, flatten, NULL),
    VIEW(Flatten, 21, 1, 1, 0, flatten, NULL),
    VIEW(Squeeze, 1, 1, 1, 0, squeeze, shape_squeeze),
    VIEW(Squeeze, 11, 1, 1, 0, squeeze, shape_squeeze),
    VIEW(Squeeze, 13, 1, 2, BY_OPERAND, squeeze, shape_squeeze),
    VIEW(Squeeze, 21, 1, 2, BY_OPERAND, squeeze, shape_squeeze),
    VIEW(Unsqueeze, 1, 1, 1, 0, unsqueeze, NULL),
    VIEW(Unsqueeze, 11, 1, 1, 0, unsqueeze, NULL),
    VIEW(Unsqueeze, 13, 2, 2, BY_OPERAND, unsqueeze, shape_unsqueeze),
    VIEW(Unsqueeze, 21, 2, 2, BY_OPERAND, unsqueeze, shape_unsqueeze),
};
const size_t byoc_ops_view_count = sizeof byoc_ops_view / sizeof *byoc_ops_view;
