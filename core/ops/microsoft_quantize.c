// com.microsoft: what ONNX Runtime's quantiser writes. Elementwise operators and pools are computed on floats between
// DequantizeLinear and QuantizeLinear; products are those of integers, scaled afterwards.
#include <string.h>

#include "core/ops/microsoft.h"
#include "core/ops/product.h"
#include "core/ops/quantize.h"

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

// ---- bytes and their scales ----

// The bytes at `index`, with one scale and perhaps one zero point behind them.
static byoc_status_t need_bytes(const byoc_infer_t *infer, uint32_t index) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index + 1, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, index + 1));
  const byoc_type_t *zero = byoc_operand_type(node, index + 2);
  if (!byoc_has_operand(node, index + 2)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index + 2, byoc_dtype_is_byte, "a zero point"));
  if (zero->dtype != byoc_operand_type(node, index)->dtype) {
    return byoc_infer_error(infer, "operand %u: the zero point's type is not that of what is quantised", index + 2);
  }
  return byoc_infer_need_one(infer, index + 2);
}

// The scale at `index` and perhaps the zero point behind it, of results of the type of operand 0.
static byoc_status_t need_scale(const byoc_infer_t *infer, uint32_t index) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, index));
  if (!byoc_has_operand(infer->node, index + 1)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, index + 1));
  return byoc_infer_need_one(infer, index + 1);
}

// A number that may be written as a vector.
static byoc_value_t *write_scalar(byoc_writer_t *w, byoc_value_t *x) {
  if (!x || w->failed || x->type->rank == 0) return x;
  return byoc_write_plain(w, "Squeeze", x, NULL);
}

static byoc_value_t *write_floats(byoc_writer_t *w, uint32_t index) {
  const byoc_node_t *node = w->node;
  return byoc_write_node(w, "", "DequantizeLinear", node->operands[index], write_scalar(w, node->operands[index + 1]),
                         write_scalar(w, byoc_operand(node, index + 2)), NULL, 0);
}

// The result of the node: y quantised to `dtype` by the scale at `index`.
static byoc_value_t *write_quantised(byoc_writer_t *w, byoc_value_t *y, uint32_t index, byoc_dtype_t dtype) {
  const byoc_attribute_t type = byoc_write_int("output_dtype", dtype);
  return byoc_write_node(w, "", "QuantizeLinear", y, write_scalar(w, w->node->operands[index]),
                         write_scalar(w, byoc_operand(w->node, index + 1)), &type, 1);
}

// ---- QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax, QLinearGlobalAveragePool ----

enum { X, RESULT_SCALE = 3 };

static byoc_status_t infer_elementwise(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(need_bytes(infer, X));
  BYOC_RETURN_IF_ERROR(need_scale(infer, RESULT_SCALE));
  return byoc_infer_same(infer);
}

static byoc_status_t expand_elementwise(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const bool is_leaky = strcmp(node->op, "QLinearLeakyRelu") == 0;
  byoc_attribute_t alpha = {.name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT};
  if (is_leaky) alpha.f = byoc_node_float(node, "alpha");
  byoc_value_t *x = write_floats(&w, X);
  x = byoc_write_node(&w, "", is_leaky ? "LeakyRelu" : "Sigmoid", x, NULL, NULL, &alpha, is_leaky ? 1 : 0);
  return byoc_write_end(&w, write_quantised(&w, x, RESULT_SCALE, node->operands[X]->type->dtype), out_changed);
}

static byoc_status_t infer_softmax(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(infer_elementwise(infer));
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  if (byoc_node_int(infer->node, "opset") >= 13 || axis == x->rank - 1) return BYOC_OK;
  return byoc_infer_unsupported(infer,
                                "the softmax of operator sets before 13 over several dimensions is not supported");
}

static byoc_status_t expand_softmax(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t axis = byoc_write_int("axis", byoc_node_int(node, "axis"));
  byoc_value_t *x = byoc_write_node(&w, "", "Softmax", write_floats(&w, X), NULL, NULL, &axis, 1);
  return byoc_write_end(&w, write_quantised(&w, x, RESULT_SCALE, node->operands[X]->type->dtype), out_changed);
}

// The channels are the second dimension, or the last one.
static byoc_status_t infer_global_average(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  BYOC_RETURN_IF_ERROR(infer_elementwise(infer));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, X, 3, BYOC_MAX_RANK));
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  const int32_t first = byoc_node_flag(infer->node, "channels_last") ? 1 : 2;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) {
    const bool is_spatial = d >= first && d < x->rank - (first == 1);
    dims[d] = is_spatial ? byoc_dim_constant(1) : x->dims[d];
    if (is_spatial) BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, X, d, byoc_dim_constant(1)));
  }
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static byoc_status_t expand_global_average(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const int64_t first = byoc_node_flag(node, "channels_last") ? 1 : 2, count = node->operands[X]->type->rank - 2;
  int64_t axes[BYOC_MAX_RANK];
  for (int64_t d = 0; d < count; ++d) axes[d] = first + d;
  byoc_value_t *over = byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, count, axes);
  byoc_value_t *mean = byoc_write_plain(&w, "ReduceMean", write_floats(&w, X), over);
  return byoc_write_end(&w, write_quantised(&w, mean, RESULT_SCALE, node->operands[X]->type->dtype), out_changed);
}

// ---- QLinearAdd, QLinearMul ----

enum { A, B = 3, SUM_SCALE = 6 };

static byoc_status_t infer_pair(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(need_bytes(infer, A));
  BYOC_RETURN_IF_ERROR(need_bytes(infer, B));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, B));
  BYOC_RETURN_IF_ERROR(need_scale(infer, SUM_SCALE));
  const byoc_type_t *a = byoc_operand_type(node, A), *b = byoc_operand_type(node, B);
  if (!byoc_is_ranked(a) || !byoc_is_ranked(b)) return byoc_infer_set_unranked(infer, 0, a->dtype);
  const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  for (int32_t d = 0; d < rank; ++d) {
    const int32_t i = d - (rank - a->rank), j = d - (rank - b->rank);
    const byoc_side_t x = i >= 0 ? byoc_side_of(infer, A, i) : byoc_side_number(1);
    const byoc_side_t y = j >= 0 ? byoc_side_of(infer, B, j) : byoc_side_number(1);
    if (!byoc_broadcast_dim(infer, x, y, &dims[d], &failed)) {
      return byoc_infer_error(infer, "operands 0 and 3 do not broadcast (dimension %d)", (int)d);
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, a->dtype, rank, dims);
}

static byoc_status_t expand_pair(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const char *op = strcmp(node->op, "QLinearMul") == 0 ? "Mul" : "Add";
  byoc_value_t *y = byoc_write_plain(&w, op, write_floats(&w, A), write_floats(&w, B));
  return byoc_write_end(&w, write_quantised(&w, y, SUM_SCALE, node->operands[A]->type->dtype), out_changed);
}

// ---- QLinearConcat ----

// Operands: the scale and zero point of the result, then three for each tensor.
static byoc_status_t infer_concat(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 0));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_byte, "a zero point"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  if (node->operand_count % 3 != 2) {
    return byoc_infer_error(infer, "expected a tensor, a scale and a zero point each, got %u operands",
                            (unsigned)node->operand_count - 2);
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  int32_t axis = 0, rank = 0;
  for (uint32_t i = 2; i < node->operand_count; i += 3) {
    BYOC_RETURN_IF_ERROR(need_bytes(infer, i));
    const byoc_type_t *x = byoc_operand_type(node, i);
    if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", i);
    if (i == 2) {
      rank = x->rank;
      BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", rank, &axis));
      for (int32_t d = 0; d < rank; ++d) dims[d] = x->dims[d];
      continue;
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, rank, rank));
    for (int32_t d = 0; d < rank; ++d) {
      if (d != axis) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, d, dims[d]));
    }
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[axis], x->dims[axis], &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, byoc_operand_type(node, 1)->dtype, rank, dims);
}

static byoc_status_t expand_concat(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t **parts = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, node->operand_count);
  if (!parts) return byoc_diag_out_of_memory(diag);
  uint32_t count = 0;
  for (uint32_t i = 2; i < node->operand_count; i += 3) parts[count++] = write_floats(&w, i);
  const byoc_attribute_t axis = byoc_write_int("axis", byoc_node_int(node, "axis"));
  byoc_node_t *made = byoc_write_many(&w, "", "Concat", parts, count, 1, &axis, 1);
  byoc_value_t *y = write_quantised(&w, made ? made->results[0] : NULL, 0, node->operands[1]->type->dtype);
  return byoc_write_end(&w, y, out_changed);
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

// The matrix of bytes at `index` has scales and zero points of their own for each column.
static byoc_status_t need_weights(const byoc_infer_t *infer, uint32_t index, uint32_t scale, uint32_t zero) {
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

static byoc_status_t infer_bias(const byoc_infer_t *infer, uint32_t bias, uint32_t weights) {
  if (byoc_has_operand(infer->node, bias)) {
    const byoc_type_t *type = byoc_operand_type(infer->node, weights);
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, bias, is_f32, "a bias of f32"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, bias, 1, &type->dims[type->rank - 1]));
  }
  return byoc_infer_product(infer, 0, weights, BYOC_DTYPE_F32);
}

static byoc_status_t infer_to_float(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_byte, "a matrix of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(need_weights(infer, 1, 3, 5));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 2, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 4));
  if (byoc_has_operand(infer->node, 4)) BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 4));
  return infer_bias(infer, 6, 1);
}

static byoc_status_t infer_dynamic(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_f32, "a matrix of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(need_weights(infer, 1, 2, 3));
  return infer_bias(infer, 4, 1);
}

typedef struct product_t {
  byoc_value_t *a, *a_scale, *a_zero, *b, *b_scale, *b_zero;
} product_t;

// sum of (a - zero point) * (b - zero point) in i32
static byoc_value_t *write_sums(byoc_writer_t *w, const product_t *p) {
  byoc_value_t *operands[] = {p->a, p->b, write_scalar(w, p->a_zero), p->b_zero};
  if (!p->a || !p->b) w->failed = true;
  if (p->b_zero && !w->failed && byoc_type_element_count(p->b_zero->type) == 1)
    operands[3] = write_scalar(w, p->b_zero);
  byoc_node_t *made = byoc_write_many(w, "", "MatMulInteger", operands, p->b_zero ? 4 : p->a_zero ? 3 : 2, 1, NULL, 0);
  return made ? made->results[0] : NULL;
}

static byoc_value_t *write_scaled(byoc_writer_t *w, byoc_value_t *sums, const product_t *p) {
  byoc_value_t *scale = byoc_write_plain(w, "Mul", write_scalar(w, p->a_scale), p->b_scale);
  if (!sums) w->failed = true;
  return byoc_write_plain(w, "Mul", byoc_write_cast(w, sums, BYOC_DTYPE_F32), scale);
}

static byoc_status_t expand_to_float(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  const product_t p = {in[0], in[2], byoc_operand(node, 4), in[1], in[3], byoc_operand(node, 5)};
  byoc_value_t *y = write_scaled(&w, write_sums(&w, &p), &p);
  return byoc_write_end(&w, byoc_microsoft_add(&w, y, byoc_operand(node, 6)), out_changed);
}

static byoc_status_t expand_dynamic(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  byoc_node_t *bytes = byoc_write_many(&w, "", "DynamicQuantizeLinear", in, 1, 3, NULL, 0);
  if (!bytes) return byoc_diag_failure(diag);
  const product_t p = {bytes->results[0], bytes->results[1], bytes->results[2], in[1], in[2], byoc_operand(node, 3)};
  byoc_value_t *y = write_scaled(&w, write_sums(&w, &p), &p);
  return byoc_write_end(&w, byoc_microsoft_add(&w, y, byoc_operand(node, 4)), out_changed);
}

// ---- QGemm ----

enum { SUMMAND = 6, GEMM_SCALE, GEMM_ZERO };

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

static byoc_status_t infer_gemm(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(need_bytes(infer, 0));
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

static byoc_value_t *write_turned(byoc_writer_t *w, uint32_t index, const char *flag) {
  static const int64_t swap[] = {1, 0};
  byoc_value_t *x = w->node->operands[index];
  return byoc_node_flag(w->node, flag) ? byoc_write_transpose(w, x, swap, 2) : x;
}

// alpha * scales * (sums + the summand), quantised if there is a scale for it
static byoc_status_t expand_gemm(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  const product_t p = {write_turned(&w, 0, "transA"), in[1], byoc_operand(node, 2),
                       write_turned(&w, 3, "transB"), in[4], in[5]};
  byoc_value_t *y = write_scaled(&w, byoc_microsoft_add(&w, write_sums(&w, &p), byoc_operand(node, SUMMAND)), &p);
  const double alpha = byoc_node_float(node, "alpha");
  if (alpha != 1.0) y = byoc_write_plain(&w, "Mul", y, byoc_microsoft_number(&w, y, alpha));
  if (byoc_has_operand(node, GEMM_SCALE))
    y = write_quantised(&w, y, GEMM_SCALE, node->operands[GEMM_ZERO]->type->dtype);
  return byoc_write_end(&w, y, out_changed);
}

// ---- QuantizeLinear, DequantizeLinear ----

static byoc_status_t infer_quantize(byoc_infer_t *infer) {
  return byoc_infer_quantize(infer);
}

static byoc_status_t infer_dequantize(byoc_infer_t *infer) {
  return byoc_infer_dequantize(infer);
}

static byoc_status_t expand_quantize(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t axis = byoc_write_int("axis", byoc_node_int(node, "axis"));
  return byoc_write_end(
      &w, byoc_write_node(&w, "", node->op, node->operands[0], node->operands[1], byoc_operand(node, 2), &axis, 1),
      out_changed);
}

static byoc_status_t expand_dequantize(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  return expand_quantize(node, diag, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t linear_attributes[] = {{BYOC_ATTR_INT("axis", 1)},
                                                        {BYOC_ATTR_INT("block_size", 0)},
                                                        {BYOC_ATTR_INT("output_dtype", 0)},
                                                        {BYOC_ATTR_INT("saturate", 1)},
                                                        BYOC_ATTR_END};
static const byoc_op_attribute_t gemm_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)}, {BYOC_ATTR_INT("transA", 0)}, {BYOC_ATTR_INT("transB", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t leaky_attributes[] = {{BYOC_ATTR_FLOAT("alpha", 0.01)}, BYOC_ATTR_END};
static const byoc_op_attribute_t softmax_attributes[] = {
    {BYOC_ATTR_INT("axis", -1)}, {BYOC_ATTR_REQUIRED(INT, "opset")}, BYOC_ATTR_END};
static const byoc_op_attribute_t global_attributes[] = {{BYOC_ATTR_INT("channels_last", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t concat_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "axis")}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_quantize[] = {
    BYOC_MICROSOFT_ROW("QLinearSigmoid", 2, 5, 1, NULL, elementwise),
    BYOC_MICROSOFT_ROW("QLinearLeakyRelu", 2, 5, 1, leaky_attributes, elementwise),
    BYOC_MICROSOFT_ROW("QLinearSoftmax", 2, 5, 1, softmax_attributes, softmax),
    BYOC_MICROSOFT_ROW("QLinearGlobalAveragePool", 2, 5, 1, global_attributes, global_average),
    BYOC_MICROSOFT_ROW("QLinearAdd", 2, 8, 1, NULL, pair),
    BYOC_MICROSOFT_ROW("QLinearMul", 2, 8, 1, NULL, pair),
    BYOC_MICROSOFT_ROW("QLinearConcat", 5, -1, 1, concat_attributes, concat),
    BYOC_MICROSOFT_ROW("MatMulIntegerToFloat", 4, 7, 1, NULL, to_float),
    BYOC_MICROSOFT_ROW("DynamicQuantizeMatMul", 3, 5, 1, NULL, dynamic),
    BYOC_MICROSOFT_ROW("QGemm", 6, 9, 1, gemm_attributes, gemm),
    BYOC_MICROSOFT_ROW("QuantizeLinear", 2, 3, 1, linear_attributes, quantize),
    BYOC_MICROSOFT_ROW("DequantizeLinear", 2, 3, 1, linear_attributes, dequantize),
};
const size_t byoc_ops_microsoft_quantize_count =
    sizeof byoc_ops_microsoft_quantize / sizeof *byoc_ops_microsoft_quantize;
