// SPDX-License-Identifier: Apache-2.0
// Signal processing: window functions, MelWeightMatrix, DFT, STFT.
#include <math.h>
#include <string.h>

#include "core/ops/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define F64(value)    byoc_loop_const(b, BYOC_DTYPE_F64, (value))

static const byoc_loop_expr_t *as_f64(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return byoc_emit_as(b, BYOC_DTYPE_F64, x);
}

// An integer operand of one element as a dimension; false if it is not known at compile time.
static bool scalar_dim(const byoc_infer_t *infer, uint32_t operand, byoc_dim_t *out) {
  byoc_dim_t list[BYOC_MAX_RANK];
  int32_t count = 0;
  if (!byoc_has_operand(infer->node, operand)) return false;
  if (!byoc_shape_value(infer->node->operands[operand], infer->arena, &count, list) || count != 1) return false;
  *out = list[0];
  return true;
}

static byoc_status_t read_output_type(const byoc_infer_t *infer, byoc_dtype_t *out_dtype) {
  int64_t asked = byoc_node_int(infer->node, "output_datatype");
  *out_dtype = byoc_dtype_from_onnx((int32_t)asked);
  if (byoc_dtype_is_number(*out_dtype)) return BYOC_OK;
  return byoc_infer_error(infer, "attribute 'output_datatype': %lld is not a numeric type", (long long)asked);
}

// The last dimension of a signal distinguishes real (1) from complex (2) numbers.
static byoc_status_t need_numbers(const byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t last = x->dims[x->rank - 1];
  if (!byoc_dim_is_constant(last)) {
    byoc_side_t numbers = byoc_side_of(infer, 0, x->rank - 1);
    BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_number(1), numbers));
    return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, numbers, byoc_side_number(2));
  }
  if (last.constant == 1 || last.constant == 2) return BYOC_OK;
  return byoc_infer_error(infer, "operand 0: expected 1 or 2 in the last dimension, got %lld",
                          (long long)last.constant);
}

// ---- windows ----
static byoc_status_t infer_window(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_integer, "a length"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 0));
  byoc_dtype_t dtype;
  BYOC_RETURN_IF_ERROR(read_output_type(infer, &dtype));
  byoc_dim_t length;
  if (!scalar_dim(infer, 0, &length)) return byoc_infer_set_unknown(infer, 0, dtype, 1);
  return byoc_infer_set(infer, 0, dtype, 1, &length);
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n); n is the length, less one for a symmetric window.
static const byoc_loop_expr_t *point_window(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                            const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *y = node->results[result]->type;
  bool blackman = node->op[0] == 'B', hamming = strcmp(node->op, "HammingWindow") == 0;
  double a0 = blackman ? 0.42 : hamming ? 25.0 / 46.0 : 0.5, a1 = blackman ? 0.5 : 1.0 - a0;
  const byoc_loop_expr_t *n = as_f64(b, byoc_emit_dim(b, y, 0));
  if (!byoc_node_flag(node, "periodic")) n = BYOC_LSUB(b, n, F64(1.0));
  const byoc_loop_expr_t *turn = BIN(DIV, as_f64(b, indices[0]), BYOC_LMAX(b, n, F64(1.0)));
  const byoc_loop_expr_t *angle = BYOC_LMUL(b, turn, F64(2 * M_PI));
  const byoc_loop_expr_t *value = BYOC_LSUB(b, F64(a0), BYOC_LMUL(b, F64(a1), UN(COS, angle)));
  if (blackman) value = BYOC_LADD(b, value, BYOC_LMUL(b, F64(0.08), UN(COS, BYOC_LMUL(b, angle, F64(2.0)))));
  return byoc_emit_as(b, y->dtype, value);
}

static const byoc_loop_expr_t *shape_window(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result, (void)d;
  return byoc_emit_int(lower, node, 0, 0);
}

// ---- MelWeightMatrix ----
static byoc_status_t infer_mel(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < 5; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_number, "a number"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i));
  }
  byoc_dtype_t dtype;
  BYOC_RETURN_IF_ERROR(read_output_type(infer, &dtype));
  byoc_dim_t bins, length;
  if (!scalar_dim(infer, 0, &bins) || !scalar_dim(infer, 1, &length)) return byoc_infer_set_unknown(infer, 0, dtype, 2);
  bool failed = false;
  byoc_dim_t half = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, length, byoc_dim_constant(2), &failed);
  byoc_dim_t dims[] = {byoc_infer_dim(infer, BYOC_DIM_ADD, half, byoc_dim_constant(1), &failed), bins};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, dtype, 2, dims);
}

// x / 2 + 1: the bins of a one-sided spectrum
static const byoc_loop_expr_t *half_and_one(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return BYOC_LADD(b, BYOC_LDIV(b, x, byoc_loop_int(b, 2)), byoc_loop_int(b, 1));
}

static const byoc_loop_expr_t *shape_mel(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  const byoc_loop_expr_t *length = byoc_emit_int(lower, node, 1, 0);
  return d == 1 ? byoc_emit_int(lower, node, 0, 0) : half_and_one(byoc_lower_builder(lower), length);
}

static const byoc_loop_expr_t *to_mel(byoc_loop_builder_t *b, const byoc_loop_expr_t *hertz) {
  const byoc_loop_expr_t *ratio = BYOC_LADD(b, F64(1.0), BIN(DIV, hertz, F64(700.0)));
  return BYOC_LMUL(b, F64(2595.0 / M_LN10), UN(LOG, ratio));
}

// Triangles over the spectrum, with corners at even distances on the mel scale: bin `indices[1]` rises from corner i to
// i + 1 and falls to i + 2.
static const byoc_loop_expr_t *point_mel(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                         const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *y = node->results[result]->type;
  const byoc_loop_expr_t *given[5];
  for (uint32_t i = 0; i < 5; ++i) given[i] = as_f64(b, byoc_emit_scalar(lower, node, i));
  const byoc_loop_expr_t *low = to_mel(b, given[3]), *high = to_mel(b, given[4]);
  const byoc_loop_expr_t *step = BIN(DIV, BYOC_LSUB(b, high, low), BYOC_LADD(b, given[0], F64(2.0))), *corner[3];
  for (int32_t i = 0; i < 3; ++i) {
    const byoc_loop_expr_t *k = as_f64(b, BYOC_LADD(b, indices[1], byoc_loop_int(b, i)));
    const byoc_loop_expr_t *mel = BYOC_LADD(b, low, BYOC_LMUL(b, k, step));
    const byoc_loop_expr_t *power = UN(EXP, BYOC_LMUL(b, mel, F64(M_LN10 / 2595.0)));
    const byoc_loop_expr_t *hertz = BYOC_LMUL(b, F64(700.0), BYOC_LSUB(b, power, F64(1.0)));
    hertz = BYOC_LMUL(b, BYOC_LADD(b, given[1], F64(1.0)), hertz);
    corner[i] = UN(FLOOR, BIN(DIV, hertz, given[2]));
  }
  const byoc_loop_expr_t *at = as_f64(b, indices[0]), *rise = BYOC_LSUB(b, corner[1], corner[0]);
  const byoc_loop_expr_t *fall = BYOC_LSUB(b, corner[2], corner[1]);
  const byoc_loop_expr_t *up = BIN(AND, BIN(LE, corner[0], at), BIN(LE, at, corner[1]));
  const byoc_loop_expr_t *rising =
      byoc_loop_select(b, BIN(EQ, rise, F64(0.0)), F64(1.0), BIN(DIV, BYOC_LSUB(b, at, corner[0]), rise));
  const byoc_loop_expr_t *down = BIN(AND, BIN(LE, corner[1], at), BIN(LT, at, corner[2]));
  const byoc_loop_expr_t *falling = BIN(DIV, BYOC_LSUB(b, corner[2], at), fall);
  const byoc_loop_expr_t *value = byoc_loop_select(b, up, rising, F64(0.0));
  return byoc_emit_as(b, y->dtype, byoc_loop_select(b, down, falling, value));
}

// ---- DFT ----
// The transformed dimension: an attribute before version 20, operand 2 from then on. *out_axis is -1 if it is data.
static byoc_status_t read_dft_axis(const byoc_infer_t *infer, const byoc_type_t *x, int32_t *out_axis) {
  const byoc_node_t *node = infer->node;
  int64_t axis = node->since_version < 20 ? byoc_node_int(node, "axis") : -2;
  byoc_ints_t ints;
  if (node->since_version >= 20 && byoc_has_operand(node, 2)) {
    *out_axis = -1;
    if (byoc_read_ints(node, NULL, 2, &ints) != BYOC_KNOWN_YES || ints.count != 1) return BYOC_OK;
    axis = ints.values[0];
  }
  if (byoc_normalize_axis(axis, x->rank, out_axis) && *out_axis < x->rank - 1) return BYOC_OK;
  return byoc_infer_error(infer, "the axis: expected a value in [%d, %d], got %lld", -x->rank, x->rank - 2,
                          (long long)axis);
}

// The inverse of a one-sided spectrum is real: the missing half mirrors the other.
static bool is_hermitian(const byoc_node_t *node) {
  return byoc_node_flag(node, "inverse") && byoc_node_flag(node, "onesided");
}

static byoc_status_t infer_dft(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  for (uint32_t i = 1; i <= 2; ++i) {
    if (!byoc_has_operand(node, i)) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_integer, i == 1 ? "a length" : "an axis"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i));
  }
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(need_numbers(infer));
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(read_dft_axis(infer, x, &axis));
  if (axis < 0) BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 2, x->rank, false));
  if (axis < 0) return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank);
  byoc_dim_t dims[BYOC_MAX_RANK], one = byoc_dim_constant(1), two = byoc_dim_constant(2);
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  bool failed = false, real = is_hermitian(node), onesided = byoc_node_flag(node, "onesided");
  bool given = byoc_has_operand(node, 1);
  if (given && !scalar_dim(infer, 1, &dims[axis])) {
    dims[axis] = byoc_infer_unknown_dim(infer, &failed);
  } else if (real && !given) { // as many bins as half the signal and one
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_SUB, dims[axis], one, &failed);
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_MUL, dims[axis], two, &failed);
  } else if (onesided && !real) {
    byoc_dim_t half = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, dims[axis], two, &failed);
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_ADD, half, one, &failed);
  }
  dims[x->rank - 1] = real ? one : two;
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// One bin of a transform of `length` points, of which the signal has `used`. The real and imaginary parts are left in
// two mutable variables. at[axis] is set to each point; the window, if any, scales them.
typedef struct {
  byoc_lower_t *lower;
  const byoc_node_t *node;
  const byoc_type_t *x;
  bool is_complex, inverse;
  const byoc_loop_expr_t *length, *used, *bin;
  const byoc_loop_expr_t *begin; // the signal's first point; NULL: 0
  const byoc_loop_expr_t *bins;  // of a one-sided spectrum whose other half is implied; NULL: none
  int32_t window;                // operand; -1: none
} transform_t;

static void emit_bin(const transform_t *t, const byoc_loop_expr_t **at, int32_t axis, const byoc_loop_expr_t **out) {
  byoc_loop_builder_t *b = byoc_lower_builder(t->lower);
  for (int32_t i = 0; i < 2; ++i) out[i] = byoc_loop_mutable(b, i == 0 ? "re" : "im", F64(0.0));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", byoc_loop_int(b, 0), t->used);
  // The angle is taken from the remainder, so it is exact for any length of the signal.
  const byoc_loop_expr_t *turn = as_f64(b, BYOC_LMOD(b, BYOC_LMUL(b, k, t->bin), t->length));
  const byoc_loop_expr_t *angle =
      BYOC_LMUL(b, BIN(DIV, turn, as_f64(b, t->length)), F64(t->inverse ? 2 * M_PI : -2 * M_PI));
  angle = byoc_loop_let(b, "angle", angle);
  const byoc_loop_expr_t *c = byoc_loop_let(b, "c", UN(COS, angle)), *s = byoc_loop_let(b, "s", UN(SIN, angle)), *x[2];
  at[axis] = t->begin ? BYOC_LADD(b, t->begin, k) : k;
  const byoc_loop_expr_t *mirrored = t->bins ? BIN(LE, t->bins, k) : NULL;
  if (mirrored) at[axis] = byoc_loop_select(b, mirrored, BYOC_LSUB(b, t->length, k), k);
  for (int32_t i = 0; i < (t->is_complex ? 2 : 1); ++i) {
    byoc_dim_t numbers = t->x->dims[t->x->rank - 1];
    const byoc_loop_expr_t *last = BYOC_LSUB(b, byoc_loop_dim(b, numbers), byoc_loop_int(b, 1));
    bool may_lack = i == 1 && !byoc_dim_is_constant(numbers); // 1 or 2 of them, which is known at run time only
    at[t->x->rank - 1] = may_lack ? last : byoc_loop_int(b, i);
    x[i] = as_f64(b, byoc_emit_load(t->lower, t->node, 0, at));
    if (may_lack) x[i] = byoc_loop_select(b, BIN(EQ, last, byoc_loop_int(b, 1)), x[i], F64(0.0));
    if (t->window >= 0)
      x[i] = BYOC_LMUL(b, x[i], as_f64(b, byoc_emit_load(t->lower, t->node, (uint32_t)t->window, &k)));
    if (mirrored && i == 1) x[i] = byoc_loop_select(b, mirrored, UN(NEG, x[i]), x[i]);
    x[i] = byoc_loop_let(b, "x", x[i]);
  }
  const byoc_loop_expr_t *re = BYOC_LMUL(b, x[0], c), *im = BYOC_LMUL(b, x[0], s);
  if (t->is_complex) {
    re = BYOC_LSUB(b, re, BYOC_LMUL(b, x[1], s));
    im = BYOC_LADD(b, im, BYOC_LMUL(b, x[1], c));
  }
  byoc_loop_assign(b, out[0], BYOC_LADD(b, out[0], re));
  byoc_loop_assign(b, out[1], BYOC_LADD(b, out[1], im));
  byoc_loop_end(b);
}

// Dimension d of the transform along it.
static const byoc_loop_expr_t *spectrum_size(byoc_lower_t *lower, const byoc_node_t *node, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  bool real = is_hermitian(node), given = byoc_has_operand(node, 1);
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1), *size = byoc_emit_dim(b, node->operands[0]->type, d);
  if (given) size = byoc_emit_int(lower, node, 1, 0);
  if (real) return given ? size : BYOC_LMUL(b, BYOC_LSUB(b, size, one), byoc_loop_int(b, 2));
  return byoc_node_flag(node, "onesided") ? half_and_one(b, size) : size;
}

static const byoc_loop_expr_t *shape_dft(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_infer_t infer = {.node = (byoc_node_t *)(uintptr_t)node, .opset = node->since_version};
  int32_t axis = 0;
  if (d == x->rank - 1) return byoc_loop_int(b, is_hermitian(node) ? 1 : 2);
  if (read_dft_axis(&infer, x, &axis) != BYOC_OK) return NULL;
  if (axis >= 0) return axis == d ? spectrum_size(lower, node, d) : byoc_emit_dim(b, x, d);
  const byoc_loop_expr_t *given = byoc_emit_index(b, byoc_emit_int(lower, node, 2, 0), byoc_loop_int(b, x->rank));
  return byoc_loop_select(b, BIN(EQ, given, byoc_loop_int(b, d)), spectrum_size(lower, node, d),
                          byoc_emit_dim(b, x, d));
}

// Does the operand have, or may it have, imaginary parts?
static bool has_pairs(const byoc_type_t *x) {
  byoc_dim_t last = x->dims[x->rank - 1];
  return !byoc_dim_is_constant(last) || last.constant == 2;
}

static void dft_along(byoc_lower_t *lower, const byoc_node_t *node, int32_t axis, bool parallel) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  transform_t t = {.lower = lower, .node = node, .x = x, .is_complex = has_pairs(x), .window = -1};
  bool real = is_hermitian(node);
  t.inverse = byoc_node_flag(node, "inverse");
  const byoc_loop_expr_t *extent = byoc_emit_dim(b, x, axis);
  t.length = byoc_has_operand(node, 1) ? byoc_loop_let(b, "length", byoc_emit_int(lower, node, 1, 0))
             : real                    ? byoc_emit_dim(b, y, axis)
                                       : extent;
  t.used = BYOC_LMIN(b, extent, t.length);
  if (real) {
    const byoc_loop_expr_t *half = BYOC_LDIV(b, t.length, byoc_loop_int(b, 2));
    t.bins = BYOC_LMIN(b, extent, BYOC_LADD(b, half, byoc_loop_int(b, 1)));
    t.used = t.length;
  }
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *from[BYOC_MAX_RANK], *sums[2];
  int32_t opened = byoc_emit_open(b, y, 0, y->rank - 1, parallel, at);
  for (int32_t d = 0; d < y->rank - 1; ++d) from[d] = at[d];
  t.bin = at[axis];
  emit_bin(&t, from, axis, sums);
  for (int32_t i = 0; i < (real ? 1 : 2); ++i) {
    at[y->rank - 1] = byoc_loop_int(b, i);
    byoc_emit_store(lower, node, 0, at, t.inverse ? BIN(DIV, sums[i], as_f64(b, t.length)) : sums[i]);
  }
  byoc_emit_close(b, opened);
}

static byoc_status_t loops_dft(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_infer_t infer = {.node = (byoc_node_t *)(uintptr_t)node, .opset = node->since_version};
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(read_dft_axis(&infer, x, &axis));
  if (axis >= 0) {
    dft_along(lower, node, axis, true);
    return BYOC_OK;
  }
  // If the axis is data: one nest per possible axis.
  const byoc_loop_expr_t *given = byoc_emit_index(b, byoc_emit_int(lower, node, 2, 0), byoc_loop_int(b, x->rank));
  given = byoc_loop_let(b, "axis", given);
  for (int32_t d = 0; d + 1 < x->rank; ++d) {
    byoc_loop_if(b, BIN(EQ, given, byoc_loop_int(b, d)));
    dft_along(lower, node, d, false);
    byoc_loop_end(b);
  }
  return BYOC_OK;
}

// ---- STFT: operands signal, frame step, window, frame length ----
static byoc_status_t infer_stft(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float signal"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "a frame step"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_positive(infer, 1, "the frame step"));
  if (byoc_has_operand(node, 3)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, byoc_dtype_is_integer, "a frame length"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 3));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 3));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 2, 1, 1));
  const byoc_type_t *x = byoc_operand_type(node, 0), *window = byoc_operand_type(node, 2);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, x->dtype, 4);
  BYOC_RETURN_IF_ERROR(need_numbers(infer));
  byoc_dim_t step, length, one = byoc_dim_constant(1);
  bool failed = false, known = scalar_dim(infer, 1, &step);
  if (byoc_has_operand(node, 3)) {
    known = scalar_dim(infer, 3, &length) && known;
  } else if (byoc_is_ranked(window) && window->rank == 1) {
    length = window->dims[0];
  } else {
    return byoc_infer_error(infer, "neither a window nor a frame length is given");
  }
  byoc_dim_t dims[] = {x->dims[0], one, one, byoc_dim_constant(2)};
  if (!known) {
    for (int32_t d = 1; d < 3; ++d) dims[d] = byoc_infer_unknown_dim(infer, &failed);
  } else {
    if (byoc_dim_is_constant(step) && step.constant < 1)
      return byoc_infer_error(infer, "the frame step must be at least 1");
    byoc_dim_t room = byoc_infer_dim(infer, BYOC_DIM_SUB, x->dims[1], length, &failed);
    dims[1] = byoc_infer_dim(infer, BYOC_DIM_ADD, byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, room, step, &failed), one,
                             &failed);
    dims[2] = length;
    if (byoc_node_flag(node, "onesided")) {
      dims[2] = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, length, byoc_dim_constant(2), &failed);
      dims[2] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[2], one, &failed);
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, 4, dims);
}

static const byoc_loop_expr_t *shape_stft(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *length =
      byoc_has_operand(node, 3) ? byoc_emit_int(lower, node, 3, 0) : byoc_emit_dim(b, node->operands[2]->type, 0);
  if (d == 2) return byoc_node_flag(node, "onesided") ? half_and_one(b, length) : length;
  const byoc_loop_expr_t *room = BYOC_LSUB(b, byoc_emit_dim(b, node->operands[0]->type, 1), length);
  return BYOC_LADD(b, BYOC_LDIV(b, room, BYOC_LMAX(b, one, byoc_emit_int(lower, node, 1, 0))), one);
}

static byoc_status_t loops_stft(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  transform_t t = {.lower = lower, .node = node, .x = x, .is_complex = has_pairs(x), .window = -1};
  if (byoc_has_operand(node, 2)) t.window = 2;
  const byoc_loop_expr_t *step = BYOC_LMAX(b, byoc_loop_int(b, 1), byoc_emit_int(lower, node, 1, 0));
  step = byoc_loop_let(b, "step", step);
  t.length = byoc_has_operand(node, 3) ? byoc_loop_let(b, "length", byoc_emit_int(lower, node, 3, 0))
                                       : byoc_emit_dim(b, node->operands[2]->type, 0);
  // Points that the window or the signal does not reach count as 0.
  t.used = byoc_has_operand(node, 2) ? BYOC_LMIN(b, t.length, byoc_emit_dim(b, node->operands[2]->type, 0)) : t.length;
  const byoc_loop_expr_t *at[4], *from[3], *sums[2];
  int32_t opened = byoc_emit_open(b, y, 0, 3, true, at);
  t.begin = byoc_loop_let(b, "begin", BYOC_LMUL(b, at[1], step));
  t.used = BYOC_LMIN(b, t.used, BYOC_LSUB(b, byoc_emit_dim(b, x, 1), t.begin));
  t.bin = at[2];
  from[0] = at[0];
  emit_bin(&t, from, 1, sums);
  for (int32_t i = 0; i < 2; ++i) {
    at[3] = byoc_loop_int(b, i);
    byoc_emit_store(lower, node, 0, at, sums[i]);
  }
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

static const byoc_op_attribute_t window_attributes[] = {
    {BYOC_ATTR_INT("output_datatype", 1)},
    {BYOC_ATTR_INT("periodic", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t mel_attributes[] = {
    {BYOC_ATTR_INT("output_datatype", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t dft_attributes[] = {
    {BYOC_ATTR_INT("axis", 1), .until = 20},
    {BYOC_ATTR_INT("inverse", 0)},
    {BYOC_ATTR_INT("onesided", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t stft_attributes[] = {
    {BYOC_ATTR_INT("onesided", 1)},
    BYOC_ATTR_END,
};

#define ROW(op_name, version, least, most, mask, function, ...)                                                        \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_LIMITS, .attributes = function##_attributes,                 \
    .infer = infer_##function, __VA_ARGS__, .shape_operands = mask, .shape_elements = mask, .shape = shape_##function  \
  }

const byoc_op_t byoc_ops_signal[] = {
    ROW(HannWindow, 17, 1, 1, 1, window, .point = point_window, .by_shape = 1),
    ROW(HammingWindow, 17, 1, 1, 1, window, .point = point_window, .by_shape = 1),
    ROW(BlackmanWindow, 17, 1, 1, 1, window, .point = point_window, .by_shape = 1),
    ROW(MelWeightMatrix, 17, 5, 5, 0x1f, mel, .point = point_mel),
    ROW(DFT, 17, 1, 2, 1u << 1, dft, .loops = loops_dft),
    ROW(DFT, 20, 1, 3, 1u << 1 | 1u << 2, dft, .loops = loops_dft),
    ROW(STFT, 17, 2, 4, 1u << 1 | 1u << 3, stft, .loops = loops_stft),
};
const size_t byoc_ops_signal_count = sizeof byoc_ops_signal / sizeof *byoc_ops_signal;
