// SPDX-License-Identifier: Apache-2.0
// Shared by the lowering functions of the families.
#include <math.h>

#include "core/ir/loop_fold.h"
#include "core/op/util.h"

byoc_dtype_t byoc_compute_dtype(byoc_dtype_t dtype) {
  return byoc_loop_is_float(dtype) && dtype != BYOC_DTYPE_F64 ? BYOC_DTYPE_F32 : dtype;
}

const byoc_loop_expr_t *byoc_emit_as(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *value) {
  // Strings are moved as numbers: their addresses.
  if (dtype == BYOC_DTYPE_STRING) return value && value->dtype == BYOC_DTYPE_U64 ? value : NULL;
  return !value || value->dtype == dtype ? value : byoc_loop_cast(b, dtype, value);
}

const byoc_loop_expr_t *byoc_emit_number_like(byoc_loop_builder_t *b, const byoc_loop_expr_t *like, double number) {
  return like ? byoc_loop_const(b, like->dtype, number) : NULL;
}

const byoc_loop_expr_t *byoc_emit_load(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                       const byoc_loop_expr_t *const *indices) {
  const byoc_loop_expr_t *value = byoc_lower_load(lower, node, operand, indices);
  return value ? byoc_emit_as(byoc_lower_builder(lower), byoc_compute_dtype(value->dtype), value) : NULL;
}

const byoc_loop_expr_t *byoc_emit_scalar(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *value = byoc_lower_load_flat(lower, node, operand, byoc_loop_int(b, 0));
  return value ? byoc_emit_as(b, byoc_compute_dtype(value->dtype), value) : NULL;
}

// Sizes, axes, steps and pads that are data are clamped to this limit. It is larger than any memory, and sums and
// products with it do not overflow.
#define FARTHEST (INT64_C(1) << 35)

const byoc_loop_expr_t *byoc_emit_int(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand, int64_t index) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_value_t *value = node->operands[operand];
  bool is_known = byoc_value_is_constant(value) && index < byoc_type_element_count(value->type);
  if (is_known) return byoc_loop_int(b, byoc_constant_element_i64(value->constant, index));
  const byoc_loop_expr_t *element =
      byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load_flat(lower, node, operand, byoc_loop_int(b, index)));
  const byoc_loop_expr_t *low = byoc_loop_int(b, -FARTHEST), *high = byoc_loop_int(b, FARTHEST);
  return BYOC_LMAX(b, low, BYOC_LMIN(b, element, high));
}

bool byoc_is_worth_a_run(byoc_dim_t length) {
  enum { LEAST_RUN = 16 };
  return !byoc_dim_is_constant(length) || length.constant >= LEAST_RUN;
}

const byoc_loop_expr_t *byoc_emit_between(byoc_loop_builder_t *b, const byoc_loop_expr_t *value, double low,
                                          double high) {
  const byoc_loop_expr_t *least = byoc_emit_number_like(b, value, low), *most = byoc_emit_number_like(b, value, high);
  value = byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, least, value), value, least);
  return byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, value, most), value, most);
}

void byoc_emit_store(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                     const byoc_loop_expr_t *const *indices, const byoc_loop_expr_t *value) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_lower_store(lower, node, result, indices, byoc_emit_as(b, node->results[result]->type->dtype, value));
}

const byoc_loop_expr_t *byoc_emit_lowest(byoc_loop_builder_t *b, byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_I8:
    return byoc_loop_const_int(b, dtype, INT8_MIN);
  case BYOC_DTYPE_I16:
    return byoc_loop_const_int(b, dtype, INT16_MIN);
  case BYOC_DTYPE_I32:
    return byoc_loop_const_int(b, dtype, INT32_MIN);
  case BYOC_DTYPE_I64:
    return byoc_loop_const_int(b, dtype, INT64_MIN);
  case BYOC_DTYPE_U8:
  case BYOC_DTYPE_U16:
  case BYOC_DTYPE_U32:
  case BYOC_DTYPE_U64:
  case BYOC_DTYPE_BOOL:
    return byoc_loop_const_int(b, dtype, 0);
  default:
    return byoc_loop_const(b, dtype, -INFINITY);
  }
}

const byoc_loop_expr_t *byoc_emit_highest(byoc_loop_builder_t *b, byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_I8:
    return byoc_loop_const_int(b, dtype, INT8_MAX);
  case BYOC_DTYPE_I16:
    return byoc_loop_const_int(b, dtype, INT16_MAX);
  case BYOC_DTYPE_I32:
    return byoc_loop_const_int(b, dtype, INT32_MAX);
  case BYOC_DTYPE_I64:
    return byoc_loop_const_int(b, dtype, INT64_MAX);
  case BYOC_DTYPE_U8:
    return byoc_loop_const_int(b, dtype, UINT8_MAX);
  case BYOC_DTYPE_U16:
    return byoc_loop_const_int(b, dtype, UINT16_MAX);
  case BYOC_DTYPE_U32:
    return byoc_loop_const_int(b, dtype, UINT32_MAX);
  case BYOC_DTYPE_U64:
    return byoc_loop_const_int(b, dtype, -1); // the bits of UINT64_MAX
  case BYOC_DTYPE_BOOL:
    return byoc_loop_const_int(b, dtype, 1);
  default:
    return byoc_loop_const(b, dtype, INFINITY);
  }
}

const byoc_loop_expr_t *byoc_emit_extent(byoc_loop_builder_t *b, const byoc_type_t *type, int32_t begin, int32_t end) {
  const byoc_loop_expr_t *product = byoc_loop_int(b, 1);
  for (int32_t d = begin; d < end; ++d) product = BYOC_LMUL(b, product, byoc_emit_dim(b, type, d));
  return product;
}

void byoc_emit_unravel(byoc_loop_builder_t *b, const byoc_type_t *type, int32_t begin, int32_t end,
                       const byoc_loop_expr_t *linear, const byoc_loop_expr_t **out) {
  for (int32_t d = end - 1; d > begin; --d) {
    const byoc_loop_expr_t *extent = byoc_emit_dim(b, type, d);
    out[d] = BYOC_LMOD(b, linear, extent);
    linear = BYOC_LDIV(b, linear, extent);
  }
  if (end > begin) out[begin] = linear;
}

int32_t byoc_emit_open(byoc_loop_builder_t *b, const byoc_type_t *type, int32_t begin, int32_t end, bool parallel,
                       const byoc_loop_expr_t **out) {
  for (int32_t d = begin; d < end; ++d) {
    byoc_loop_for_kind_t kind = parallel && d == begin ? BYOC_LOOP_PARALLEL : BYOC_LOOP_SERIAL;
    out[d] = byoc_loop_for(b, kind, "i", byoc_loop_int(b, 0), byoc_emit_dim(b, type, d));
  }
  return end > begin ? end - begin : 0;
}

void byoc_emit_close(byoc_loop_builder_t *b, int32_t count) {
  for (int32_t i = 0; i < count; ++i) byoc_loop_end(b);
}

const byoc_loop_expr_t *byoc_emit_index(byoc_loop_builder_t *b, const byoc_loop_expr_t *index,
                                        const byoc_loop_expr_t *extent) {
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *last = BYOC_LSUB(b, extent, byoc_loop_int(b, 1));
  index = byoc_emit_as(b, BYOC_DTYPE_I64, index);
  index = byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, index, zero), BYOC_LADD(b, index, extent), index);
  return BYOC_LMAX(b, zero, BYOC_LMIN(b, index, last));
}

const byoc_loop_expr_t *byoc_emit_cubic(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, double a, bool near) {
  byoc_dtype_t dtype = x ? x->dtype : BYOC_DTYPE_F32;
  const double factors[] = {near ? a + 2 : a, near ? -(a + 3) : -5 * a, near ? 0.0 : 8 * a, near ? 1.0 : -4 * a};
  const byoc_loop_expr_t *value = byoc_loop_const(b, dtype, factors[0]);
  for (int32_t i = 1; i < 4; ++i) {
    value = BYOC_LADD(b, BYOC_LMUL(b, value, x), byoc_loop_const(b, dtype, factors[i]));
  }
  return value;
}

bool byoc_dtype_is_float8(byoc_dtype_t dtype) {
  return dtype >= BYOC_DTYPE_F8E4M3FN && dtype <= BYOC_DTYPE_F8E5M2FNUZ;
}

// The largest number; the limit beyond which rounding leaves the range; and whether the limit itself is outside. The
// limit is half-way to the next number, which does not exist. It is outside if the last bit of the largest number is
// set.
static const struct {
  double largest, limit;
  bool limit_is_outside, has_infinity;
} float8_ranges[] = {
    {448.0, 464.0, false, false},    // e4m3fn
    {240.0, 248.0, true, false},     // e4m3fnuz
    {57344.0, 61440.0, true, true},  // e5m2
    {57344.0, 61440.0, true, false}, // e5m2fnuz
};

const byoc_loop_expr_t *byoc_emit_float8(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *x,
                                         bool saturate) {
  const size_t row = dtype - BYOC_DTYPE_F8E4M3FN;
  byoc_dtype_t compute = x && x->dtype == BYOC_DTYPE_F64 ? BYOC_DTYPE_F64 : BYOC_DTYPE_F32;
  x = byoc_emit_as(b, compute, x);
  const byoc_loop_expr_t *zero = byoc_loop_const(b, compute, 0.0), *size = byoc_loop_unary(b, BYOC_LOOP_OP_ABS, x);
  const byoc_loop_expr_t *limit = byoc_loop_const(b, compute, float8_ranges[row].limit), *beyond = NULL;
  bool reached = float8_ranges[row].limit_is_outside || saturate; // the limit itself, too
  beyond = byoc_loop_binary(b, reached ? BYOC_LOOP_OP_LE : BYOC_LOOP_OP_LT, limit, size);
  const byoc_loop_expr_t *most = byoc_loop_const(b, compute, saturate ? float8_ranges[row].largest : INFINITY);
  const byoc_loop_expr_t *by = byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, x, zero),
                                                byoc_loop_unary(b, BYOC_LOOP_OP_NEG, most), most);
  if (!saturate && !float8_ranges[row].has_infinity) by = byoc_loop_const(b, compute, NAN);
  return byoc_emit_as(b, dtype, byoc_loop_select(b, beyond, by, x));
}

const byoc_loop_expr_t *byoc_emit_within(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const byoc_loop_expr_t *low,
                                         const byoc_loop_expr_t *high) {
  return byoc_loop_binary(b, BYOC_LOOP_OP_AND, byoc_loop_binary(b, BYOC_LOOP_OP_LE, low, x),
                          byoc_loop_binary(b, BYOC_LOOP_OP_LT, x, high));
}
