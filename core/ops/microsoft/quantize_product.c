// SPDX-License-Identifier: Apache-2.0
// com.microsoft: products of bytes, which ONNX Runtime's quantiser writes: sums of integers, scaled afterwards.
#include "core/ops/microsoft/quantize.h"

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

// ---- MatMulIntegerToFloat, DynamicQuantizeMatMul ----

// One number, or one for each column of the matrix at `matrix`.
static byoc_status_t need_columns(const byoc_infer_t *infer, uint32_t index, uint32_t matrix) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index), *of = byoc_operand_type(infer->node, matrix);
  if (!byoc_has_operand(infer->node, index) || !byoc_is_ranked(type) || byoc_type_element_count(type) == 1) {
    return BYOC_OK;
  }
  return byoc_infer_need_dims(infer, index, 1, &of->dims[of->rank - 1]);
}

byoc_status_t byoc_microsoft_need_weights(const byoc_infer_t *infer, uint32_t index, uint32_t scale, uint32_t zero) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, byoc_dtype_is_byte, "a matrix of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, 2, BYOC_MAX_RANK));
  const byoc_type_t *weights = byoc_operand_type(infer->node, index);
  if (!byoc_is_ranked(weights)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", index);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, scale, is_f32, "scales of f32"));
  BYOC_RETURN_IF_ERROR(need_columns(infer, scale, index));
  if (!byoc_has_operand(infer->node, zero)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, zero, byoc_dtype_is_byte, "zero points"));
  if (byoc_operand_type(infer->node, zero)->dtype != weights->dtype) {
    return byoc_infer_error(infer, "operand %u: expected the type of operand %u", zero, index);
  }
  return need_columns(infer, zero, index);
}

static byoc_status_t infer_bias(const byoc_infer_t *infer, uint32_t bias) {
  if (byoc_has_operand(infer->node, bias)) {
    const byoc_type_t *type = byoc_operand_type(infer->node, 1);
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, bias, is_f32, "a bias of f32"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, bias, 1, &type->dims[type->rank - 1]));
  }
  return byoc_infer_product(infer, 1, BYOC_DTYPE_F32);
}

static byoc_status_t infer_to_float(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_byte, "a matrix of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_weights(infer, 1, 3, 5));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 2, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 4));
  if (byoc_has_operand(infer->node, 4)) BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 4));
  return infer_bias(infer, 6);
}

static byoc_status_t infer_dynamic(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_f32, "a matrix of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_weights(infer, 1, 2, 3));
  return infer_bias(infer, 4);
}

byoc_value_t *byoc_microsoft_sums(byoc_writer_t *w, const byoc_bytes_product_t *p) {
  byoc_value_t *operands[] = {p->a, p->b, byoc_write_scalar(w, p->a_zero), p->b_zero};
  if (!p->a || !p->b) w->failed = true;
  if (p->b_zero && !w->failed && byoc_type_element_count(p->b_zero->type) == 1)
    operands[3] = byoc_write_scalar(w, p->b_zero);
  byoc_node_t *made = byoc_write_many(w, "", "MatMulInteger", operands, p->b_zero ? 4 : p->a_zero ? 3 : 2, 1, NULL, 0);
  return made ? made->results[0] : NULL;
}

byoc_value_t *byoc_microsoft_scaled(byoc_writer_t *w, byoc_value_t *sums, const byoc_bytes_product_t *p) {
  byoc_value_t *scale = byoc_write_plain(w, "Mul", byoc_write_scalar(w, p->a_scale), p->b_scale);
  if (!sums) w->failed = true;
  return byoc_write_plain(w, "Mul", byoc_write_cast(w, sums, BYOC_DTYPE_F32), scale);
}

// The same where the scales are constants: as models with DequantizeLinear say it.
static byoc_value_t *write_dequantised(byoc_writer_t *w, byoc_value_t *sums, const byoc_bytes_product_t *p) {
  const bool is_known = byoc_value_is_constant(p->a_scale) && byoc_value_is_constant(p->b_scale);
  if (!is_known || !sums || !byoc_is_ranked(sums->type)) return byoc_microsoft_scaled(w, sums, p);
  const bool is_one = byoc_type_element_count(p->b_scale->type) == 1;
  byoc_value_t *b_scale = is_one ? byoc_write_scalar(w, p->b_scale) : p->b_scale;
  byoc_value_t *scale = byoc_write_plain(w, "Mul", byoc_write_scalar(w, p->a_scale), b_scale);
  const byoc_attribute_t axis = byoc_write_int("axis", sums->type->rank - 1);
  return byoc_write_node(w, "", "DequantizeLinear", sums, scale, NULL, &axis, is_one ? 0 : 1);
}

static byoc_status_t expand_to_float(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  const byoc_bytes_product_t p = {in[0], in[2], byoc_operand(node, 4), in[1], in[3], byoc_operand(node, 5)};
  byoc_value_t *y = write_dequantised(&w, byoc_microsoft_sums(&w, &p), &p);
  return byoc_write_end(&w, byoc_microsoft_add(&w, y, byoc_operand(node, 6)), out_changed);
}

static byoc_status_t expand_dynamic(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  byoc_node_t *bytes = byoc_write_many(&w, "", "DynamicQuantizeLinear", in, 1, 3, NULL, 0);
  if (!bytes) return byoc_diag_failure(diag);
  const byoc_bytes_product_t p = {bytes->results[0],    bytes->results[1], bytes->results[2], in[1], in[2],
                                  byoc_operand(node, 3)};
  byoc_value_t *y = byoc_microsoft_scaled(&w, byoc_microsoft_sums(&w, &p), &p);
  return byoc_write_end(&w, byoc_microsoft_add(&w, y, byoc_operand(node, 4)), out_changed);
}

// ---- QGemm ----

enum { SUMMAND = 6, GEMM_SCALE, GEMM_ZERO };

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

static byoc_status_t infer_gemm(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, 0));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, byoc_dtype_is_byte, "a matrix of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 3, 2, 2));
  const byoc_type_t *a = byoc_operand_type(node, 0), *b = byoc_operand_type(node, 3);
  if (!byoc_is_ranked(a) || !byoc_is_ranked(b)) {
    return byoc_infer_unsupported(infer, "the ranks of the matrices must be known");
  }
  const int32_t left = byoc_node_flag(node, "transA"), right = byoc_node_flag(node, "transB");
  const byoc_dim_t dims[2] = {a->dims[left], b->dims[1 - right]};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 3, right, a->dims[1 - left]));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 4, is_f32, "scales of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 5, byoc_dtype_is_byte, "zero points"));
  if (byoc_operand_type(node, 5)->dtype != b->dtype)
    return byoc_infer_error(infer, "operand 5: expected the type of operand 3");
  for (uint32_t i = 4; i < 6; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (!byoc_is_ranked(type) || byoc_type_element_count(type) == 1) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 1, &dims[1]));
  }
  if (byoc_has_operand(node, SUMMAND)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, SUMMAND, is_i32, "a summand of i32"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, SUMMAND, 2, dims));
  }
  if (!byoc_has_operand(node, GEMM_SCALE)) return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, 2, dims);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, GEMM_SCALE, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, GEMM_SCALE));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, GEMM_ZERO, byoc_dtype_is_byte, "a zero point"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, GEMM_ZERO));
  return byoc_infer_set(infer, 0, byoc_operand_type(node, GEMM_ZERO)->dtype, 2, dims);
}

// A constant is turned at once: how products are computed depends on what their weights are.
static byoc_value_t *turned_constant(byoc_writer_t *w, const byoc_value_t *x) {
  byoc_graph_module_t *module = w->node->function->module;
  const int64_t rows = x->type->dims[0].constant, columns = x->type->dims[1].constant;
  const byoc_dim_t dims[] = {x->type->dims[1], x->type->dims[0]};
  const byoc_type_t *type = byoc_type_tensor(&module->arena, x->type->dtype, 2, dims);
  void *data = NULL;
  byoc_constant_t *constant = type ? byoc_constant_allocate(module, x->constant->name, type, &data) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  const uint8_t *from = x->constant->data;
  for (int64_t i = 0; value && i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) ((uint8_t *)data)[j * rows + i] = from[i * columns + j];
  }
  return value;
}

static byoc_value_t *write_turned(byoc_writer_t *w, uint32_t index, const char *flag) {
  static const int64_t swap[] = {1, 0};
  byoc_value_t *x = w->node->operands[index];
  if (!byoc_node_flag(w->node, flag)) return x;
  return byoc_value_is_constant(x) ? turned_constant(w, x) : byoc_write_transpose(w, x, swap, 2);
}

// alpha * scales * (sums + the summand), quantised if there is a scale for it
static byoc_status_t expand_gemm(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  const byoc_bytes_product_t p = {write_turned(&w, 0, "transA"), in[1], byoc_operand(node, 2),
                                  write_turned(&w, 3, "transB"), in[4], in[5]};
  byoc_value_t *sums = byoc_microsoft_add(&w, byoc_microsoft_sums(&w, &p), byoc_operand(node, SUMMAND));
  const bool gives_bytes = byoc_has_operand(node, GEMM_SCALE);
  byoc_value_t *y = gives_bytes ? byoc_microsoft_scaled(&w, sums, &p) : write_dequantised(&w, sums, &p);
  const double alpha = byoc_node_float(node, "alpha");
  if (alpha != 1.0) y = byoc_write_plain(&w, "Mul", y, byoc_microsoft_number(&w, y, alpha));
  if (gives_bytes) y = byoc_microsoft_quantised(&w, y, GEMM_SCALE, node->operands[GEMM_ZERO]->type->dtype);
  return byoc_write_end(&w, y, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t gemm_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)}, {BYOC_ATTR_INT("transA", 0)}, {BYOC_ATTR_INT("transB", 0)}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_quantize_product[] = {
    BYOC_MICROSOFT_WORK_ROW("MatMulIntegerToFloat", 4, 7, 1, NULL, to_float, PRODUCT, 1),
    BYOC_MICROSOFT_WORK_ROW("DynamicQuantizeMatMul", 3, 5, 1, NULL, dynamic, PRODUCT, 1),
    BYOC_UNIT_ROW_OF("com.microsoft", "QGemm", 6, 9, 0, gemm_attributes, gemm, NULL, PRODUCT, 3),
};
const size_t byoc_ops_microsoft_quantize_product_count =
    sizeof byoc_ops_microsoft_quantize_product / sizeof *byoc_ops_microsoft_quantize_product;
