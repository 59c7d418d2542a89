// SPDX-License-Identifier: Apache-2.0
// Signal processing: window functions, and MelWeightMatrix, which maps frequencies to mel bands.
#include <math.h>
#include <string.h>

#include "core/ops/onnx/math/fourier.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define F64(value)    byoc_loop_const(b, BYOC_DTYPE_F64, (value))

static const byoc_loop_expr_t *as_f64(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return byoc_emit_as(b, BYOC_DTYPE_F64, x);
}

static byoc_status_t read_output_type(const byoc_infer_t *infer, byoc_dtype_t *out_dtype) {
  int64_t asked = byoc_node_int(infer->node, "output_datatype");
  *out_dtype = byoc_dtype_from_onnx((int32_t)asked);
  if (byoc_dtype_is_number(*out_dtype)) return BYOC_OK;
  return byoc_infer_error(infer, "attribute 'output_datatype': %lld is not a numeric type", (long long)asked);
}

// ---- windows ----
static byoc_status_t infer_window(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_integer, "a length"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 0));
  byoc_dtype_t dtype;
  BYOC_RETURN_IF_ERROR(read_output_type(infer, &dtype));
  byoc_dim_t length;
  if (!byoc_infer_scalar_dim(infer, 0, &length)) return byoc_infer_set_unknown(infer, 0, dtype, 1);
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
  if (!byoc_infer_scalar_dim(infer, 0, &bins) || !byoc_infer_scalar_dim(infer, 1, &length))
    return byoc_infer_set_unknown(infer, 0, dtype, 2);
  bool failed = false;
  byoc_dim_t half = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, length, byoc_dim_constant(2), &failed);
  byoc_dim_t dims[] = {byoc_infer_dim(infer, BYOC_DIM_ADD, half, byoc_dim_constant(1), &failed), bins};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, dtype, 2, dims);
}

static const byoc_loop_expr_t *shape_mel(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  const byoc_loop_expr_t *length = byoc_emit_int(lower, node, 1, 0);
  return d == 1 ? byoc_emit_int(lower, node, 0, 0) : byoc_fourier_half(byoc_lower_builder(lower), length);
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

static const byoc_op_attribute_t window_attributes[] = {
    {BYOC_ATTR_INT("output_datatype", 1)},
    {BYOC_ATTR_INT("periodic", 1)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t mel_attributes[] = {
    {BYOC_ATTR_INT("output_datatype", 1)},
    BYOC_ATTR_END,
};
#define ROW(op_name, version, least, most, mask, function, ...)                                                        \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .attributes = function##_attributes, .infer = infer_##function, __VA_ARGS__,   \
    .shape_operands = mask, .shape_elements = mask, .shape = shape_##function                                          \
  }

const byoc_op_t byoc_ops_signal[] = {
    ROW(HannWindow, 17, 1, 1, 1, window, .point = point_window, .by_shape = 1),
    ROW(HammingWindow, 17, 1, 1, 1, window, .point = point_window, .by_shape = 1),
    ROW(BlackmanWindow, 17, 1, 1, 1, window, .point = point_window, .by_shape = 1),
    ROW(MelWeightMatrix, 17, 5, 5, 0x1f, mel, .point = point_mel),
};
const size_t byoc_ops_signal_count = sizeof byoc_ops_signal / sizeof *byoc_ops_signal;
