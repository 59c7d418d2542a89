// SPDX-License-Identifier: Apache-2.0
// Products of quantised matrices: MatMulInteger and QLinearMatMul.
//
// Signed bytes are multiplied by unsigned ones, because processors have instructions for that (byoc::MatMul); zero
// points are subtracted from the sums:
//   sum (a - p) (b - q) = sum a b - p sum b - q sum (a - p)
// If both operands have the same sign, one of them is flipped: x - 128 replaces x, and its zero point moves along.
// Processors without such instructions multiply floats that hold integers. Their sums are exact below 2^24, and sums
// that may become larger are computed in parts. Types that are not bytes become a product of i32.
#include "core/ops/onnx/quantization/quantize_write.h"

// ---- matrices ----
// Sums over one axis (from the end), which stays as 1.
static byoc_value_t *write_sums(byoc_writer_t *w, byoc_value_t *x, int64_t axis) {
  byoc_graph_module_t *module = w->node->function->module;
  if (byoc_value_is_constant(x) && x->type->rank == 2 && axis == -2) { // columns of weights
    int64_t rows = x->type->dims[0].constant, columns = x->type->dims[1].constant;
    void *data = NULL;
    const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_I32, 1, &columns);
    byoc_constant_t *constant = type ? byoc_constant_allocate(module, "sums", type, &data) : NULL;
    byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
    if (!value) w->failed = true;
    for (int64_t j = 0; value && j < columns; ++j) {
      uint32_t sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += (uint32_t)byoc_constant_element_i64(x->constant, i * columns + j);
      ((int32_t *)data)[j] = (int32_t)sum;
    }
    return value;
  }
  byoc_value_t *axes = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, 1, &axis);
  return byoc_write_node(w, "", "ReduceSum", byoc_write_cast(w, x, BYOC_DTYPE_I32), axes, NULL, NULL, 0);
}

// The same product of f32, in parts whose sums are exact. NULL if there are no such parts; *out_fits is false then.
static byoc_value_t *write_product_of_floats(byoc_writer_t *w, const byoc_bytes_side_t *left,
                                             const byoc_bytes_side_t *right, bool *out_fits) {
  enum { MOST_PARTS = 16 };
  const byoc_type_t *type = right->bytes->type;
  const byoc_dim_t depth = type->dims[type->rank - 2], columns = type->dims[type->rank - 1];
  const bool is_known =
      byoc_value_is_constant(right->bytes) && type->rank == 2 && (!right->zero || byoc_value_is_constant(right->zero));
  int64_t ends[MOST_PARTS], count = 0;
  byoc_terms_t terms = {.x = *left, .weights = *right, .taps = 1, .limit = BYOC_EXACT_F32};
  *out_fits = byoc_dim_is_constant(depth) && byoc_dim_is_constant(columns);
  if (!*out_fits) return NULL;
  terms.steps = depth.constant, terms.sums = columns.constant;
  terms.sum_stride = 1, terms.step_stride = columns.constant;
  if (is_known) {
    terms.constant = right->bytes->constant;
    terms.zeros = right->zero ? right->zero->constant : NULL;
  }
  for (int64_t begin = 0; *out_fits && (begin < terms.steps || count == 0); begin = ends[count++]) {
    const int64_t end = byoc_terms_end(w, &terms, begin);
    *out_fits = count < MOST_PARTS && (end > begin || end == terms.steps);
    if (*out_fits) ends[count] = end;
  }
  if (!*out_fits || w->failed) return NULL;
  byoc_value_t *a = byoc_write_centred(w, left->bytes, left->zero, 1, BYOC_DTYPE_F32), *sum = NULL;
  byoc_value_t *c = byoc_write_centred(w, right->bytes, right->zero, 0, BYOC_DTYPE_F32);
  if (count == 1) return byoc_write_plain(w, "MatMul", a, c);
  for (int64_t part = 0; part < count; ++part) {
    const int64_t begin = part == 0 ? 0 : ends[part - 1];
    byoc_value_t *product = byoc_write_plain(w, "MatMul", byoc_write_part(w, a, -1, begin, ends[part]),
                                             byoc_write_part(w, c, -2, begin, ends[part]));
    product = byoc_write_cast(w, product, BYOC_DTYPE_I32);
    sum = sum ? byoc_write_plain(w, "Add", sum, product) : product;
  }
  return sum;
}

// Floats are wider than bytes, so they are for zero points that are known when the model is compiled; dynamic ones are
// those of models in which products of few rows read the weights again and again.
static bool suits_floats(const byoc_writer_t *w, const byoc_bytes_side_t *left) {
  return byoc_bytes_are_floats(w) && (!left->zero || byoc_value_is_constant(left->zero));
}

// sum over k of (a - zero point) * (b - zero point), in i32 or exactly in f32; A's zero points are per row, B's per
// column.
static byoc_value_t *write_product(byoc_writer_t *w, byoc_value_t *a, byoc_value_t *a_zero, byoc_value_t *c,
                                   byoc_value_t *c_zero) {
  byoc_bytes_side_t left = {a, a_zero}, right = {c, c_zero};
  bool fits = byoc_dtype_is_byte(a->type->dtype) && byoc_dtype_is_byte(c->type->dtype) && a->type->rank >= 2 &&
              c->type->rank >= 2;
  if (!fits) {
    a = byoc_write_centred(w, a, a_zero, 1, BYOC_DTYPE_I32);
    return byoc_write_plain(w, "MatMul", a, byoc_write_centred(w, c, c_zero, 0, BYOC_DTYPE_I32));
  }
  bool is_float = suits_floats(w, &left);
  byoc_value_t *product = is_float ? write_product_of_floats(w, &left, &right, &is_float) : NULL;
  if (is_float || w->failed) return product;
  // Constants are flipped once; an operand without a zero point then gets none.
  if (a->type->dtype == c->type->dtype) {
    bool flips_right = byoc_value_is_constant(c) && !byoc_all_are(c_zero, 0);
    byoc_write_flipped(w, flips_right ? &right : &left);
    if (w->failed) return NULL;
  }
  byoc_value_t *sum = byoc_write_node(w, "byoc", "MatMul", left.bytes, right.bytes, NULL, NULL, 0);
  if (!byoc_all_are(left.zero, 0)) {
    sum = byoc_write_less(w, sum, write_sums(w, right.bytes, -2), byoc_write_trailing(w, left.zero, 1));
  }
  if (!byoc_all_are(right.zero, 0)) {
    byoc_value_t *rows =
        byoc_all_are(left.zero, 0) ? left.bytes : byoc_write_centred(w, left.bytes, left.zero, 1, BYOC_DTYPE_I32);
    sum = byoc_write_less(w, sum, write_sums(w, rows, -1), right.zero);
  }
  return sum;
}

static byoc_status_t infer_matmul_integer(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_byte, "a tensor of bytes"));
  return byoc_infer_product(infer, 1, BYOC_DTYPE_I32);
}

static byoc_status_t infer_qlinear_matmul(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, byoc_dtype_is_quantised, "a quantised tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 7, byoc_dtype_is_quantised, "a zero point"));
  return byoc_infer_product(infer, 3, byoc_operand_type(infer->node, 7)->dtype);
}

// MatMulInteger(a, b, zero points) → their product in i32
static byoc_status_t expand_matmul_integer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  byoc_value_t *sum = write_product(&w, in[0], byoc_quantised_operand(node, 2), in[1], byoc_quantised_operand(node, 3));
  return byoc_write_end(&w, sum ? byoc_write_cast(&w, sum, BYOC_DTYPE_I32) : NULL, out_changed);
}

// QLinearMatMul → the product in i32, scaled, then QuantizeLinear
static byoc_status_t expand_qlinear_matmul(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  byoc_value_t *sum = write_product(&w, in[0], in[2], in[3], in[5]);
  byoc_value_t *y = byoc_write_requantised(&w, sum, byoc_write_trailing(&w, in[1], 1), in[4], in[6], in[7]);
  return byoc_write_end(&w, y, out_changed);
}

const byoc_op_t byoc_ops_quantize_product[] = {
    BYOC_QUANTISED_ROW("", "MatMulInteger", 10, 2, 4, NULL, infer_matmul_integer, matmul_integer, PRODUCT, 1),
    BYOC_QUANTISED_ROW("", "QLinearMatMul", 10, 8, 8, NULL, infer_qlinear_matmul, qlinear_matmul, PRODUCT, 3),
    BYOC_QUANTISED_ROW("", "QLinearMatMul", 21, 8, 8, NULL, infer_qlinear_matmul, qlinear_matmul, PRODUCT, 3),
};
const size_t byoc_ops_quantize_product_count = sizeof byoc_ops_quantize_product / sizeof *byoc_ops_quantize_product;
