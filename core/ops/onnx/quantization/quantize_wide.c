// SPDX-License-Identifier: Apache-2.0
// Products of quantised tensors that are not all of bytes: data or weights of 16 bits, and filters of 2 or 4 bits.
// byoc::QLinearConv has the operands of QLinearConv, byoc::QLinearMatMul those of QLinearMatMul and a bias of i32.
//
// Filters of few bits are unpacked to bytes. Data of 16 bits meet weights of bytes in two products of bytes, where the
// processor has instructions for these:
//   x = 256 upper + lower:  sum (x - p) w  =  256 sum (upper - p_upper) w  +  sum (lower - p_lower) w
// Their sums are exact in i32, and f64 adds them exactly. All other products are those of floats between
// DequantizeLinear and QuantizeLinear, as models say it.
#include <string.h>

#include "core/ops/loops/window.h"
#include "core/ops/onnx/quantization/quantize_write.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, OPERANDS };

// ---- types ----

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

static bool is_data(byoc_dtype_t dtype) {
  return byoc_dtype_is_byte(dtype) || byoc_dtype_is_word(dtype);
}

static bool is_filter(byoc_dtype_t dtype) {
  return is_data(dtype) || byoc_dtype_is_few_bits(dtype);
}

static byoc_status_t need_like(const byoc_infer_t *infer, uint32_t index, uint32_t like) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, NULL, "a zero point"));
  if (byoc_operand_type(infer->node, index)->dtype == byoc_operand_type(infer->node, like)->dtype) return BYOC_OK;
  return byoc_infer_error(infer, "operand %u: the zero point's type is not that of the quantised tensor", index);
}

byoc_status_t byoc_infer_unit_types(const byoc_infer_t *infer) {
  static const uint32_t scales[] = {X_SCALE, W_SCALE, Y_SCALE}, single[] = {X_SCALE, X_ZERO, Y_SCALE, Y_ZERO};
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, X, is_data, "integers of 8 or 16 bits"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, W, is_filter, "integers of 2, 4, 8 or 16 bits"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, Y_ZERO, is_data, "a zero point of 8 or 16 bits"));
  BYOC_RETURN_IF_ERROR(need_like(infer, X_ZERO, X));
  BYOC_RETURN_IF_ERROR(need_like(infer, W_ZERO, W));
  for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i)
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, scales[i], is_f32, "scales of f32"));
  for (size_t i = 0; i < sizeof single / sizeof *single; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, single[i]));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, single[i], 0, 1));
  }
  if (!byoc_has_operand(infer->node, BIAS)) return BYOC_OK;
  return byoc_infer_need(infer, BIAS, is_i32, "a bias of i32");
}

static byoc_status_t infer_wide_conv(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_unit_types(infer));
  return byoc_infer_quantised_conv(infer);
}

static byoc_status_t infer_wide_matmul(byoc_infer_t *infer) {
  static const uint32_t columns[] = {W_SCALE, W_ZERO, BIAS};
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_unit_types(infer));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, W, is_data, "integers of 8 or 16 bits"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, X, 2, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, W, 2, BYOC_MAX_RANK));
  const byoc_type_t *weights = byoc_operand_type(node, W);
  for (size_t i = 0; i < sizeof columns / sizeof *columns && byoc_is_ranked(weights); ++i) {
    const byoc_type_t *type = byoc_operand_type(node, columns[i]);
    if (!byoc_has_operand(node, columns[i]) || !byoc_is_ranked(type)) continue;
    if (columns[i] != BIAS && type->rank <= 1 && byoc_type_element_count(type) == 1) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, columns[i], 1, &weights->dims[weights->rank - 1]));
  }
  return byoc_infer_product(infer, W, byoc_operand_type(node, Y_ZERO)->dtype);
}

// ---- filters of few bits ----

static byoc_value_t *unpacked(byoc_writer_t *w, byoc_value_t *x) {
  const bool is_signed = x->type->dtype == BYOC_DTYPE_I4 || x->type->dtype == BYOC_DTYPE_I2;
  const byoc_dtype_t dtype = is_signed ? BYOC_DTYPE_I8 : BYOC_DTYPE_U8;
  if (!byoc_value_is_constant(x)) return byoc_write_cast(w, x, dtype);
  byoc_graph_module_t *module = w->node->function->module;
  const byoc_type_t *type = byoc_type_tensor(&module->arena, dtype, x->type->rank, x->type->dims);
  void *data = NULL;
  byoc_constant_t *constant = type ? byoc_constant_allocate(module, x->constant->name, type, &data) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  for (int64_t i = 0; value && i < byoc_type_element_count(type); ++i) {
    ((int8_t *)data)[i] = (int8_t)byoc_constant_element_i64(x->constant, i);
  }
  return value;
}

// The unit with filters of bytes: of ai.onnx if there is such a one.
static byoc_value_t *write_unpacked(byoc_writer_t *w) {
  const byoc_node_t *node = w->node;
  byoc_value_t *operands[OPERANDS] = {NULL};
  memcpy(operands, node->operands, node->operand_count * sizeof *operands);
  operands[W] = unpacked(w, operands[W]), operands[W_ZERO] = unpacked(w, operands[W_ZERO]);
  const bool is_bytes =
      byoc_dtype_is_byte(operands[X]->type->dtype) && byoc_dtype_is_byte(operands[Y_ZERO]->type->dtype);
  const char *domain = is_bytes && strcmp(node->op, "QLinearConv") == 0 ? "" : "byoc";
  if (w->failed) return NULL;
  byoc_node_t *made = byoc_write_many(w, domain, node->op, operands, node->operand_count, 1, node->attributes.items,
                                      node->attributes.count);
  return made ? made->results[0] : NULL;
}

// ---- products of floats ----

static bool is_one(const byoc_value_t *x) {
  return byoc_type_element_count(x->type) == 1;
}

// A tensor with one scale, or with one for each index of the axis.
static byoc_value_t *write_dequantised(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *scale, byoc_value_t *zero,
                                       int32_t axis) {
  const byoc_attribute_t attribute = byoc_write_int("axis", axis);
  if (!is_one(scale)) return byoc_write_node(w, "", "DequantizeLinear", x, scale, zero, &attribute, 1);
  return byoc_write_node(w, "", "DequantizeLinear", x, byoc_write_scalar(w, scale), byoc_write_scalar(w, zero), NULL,
                         0);
}

static byoc_value_t *write_bias(byoc_writer_t *w) {
  byoc_value_t *const *in = w->node->operands;
  if (!byoc_has_operand(w->node, BIAS)) return NULL;
  byoc_value_t *w_scale = is_one(in[W_SCALE]) ? byoc_write_scalar(w, in[W_SCALE]) : in[W_SCALE];
  byoc_value_t *scale = byoc_write_plain(w, "Mul", byoc_write_scalar(w, in[X_SCALE]), w_scale);
  return scale ? write_dequantised(w, in[BIAS], scale, NULL, 0) : NULL;
}

static byoc_value_t *write_floats(byoc_writer_t *w, const char *op, int32_t axis) {
  const byoc_node_t *node = w->node;
  byoc_value_t *const *in = node->operands;
  const bool is_matmul = strcmp(op, "MatMul") == 0;
  byoc_value_t *operands[] = {write_dequantised(w, in[X], in[X_SCALE], in[X_ZERO], 0),
                              write_dequantised(w, in[W], in[W_SCALE], in[W_ZERO], axis), write_bias(w)};
  const bool is_gemm = is_matmul && operands[2] && in[X]->type->rank == 2 && in[W]->type->rank == 2;
  if (!operands[0] || !operands[1]) w->failed = true;
  byoc_node_t *made =
      byoc_write_many(w, "", is_gemm ? "Gemm" : op, operands, operands[2] && (is_gemm || !is_matmul) ? 3 : 2, 1,
                      node->attributes.items, node->attributes.count);
  byoc_value_t *y = made ? made->results[0] : NULL;
  if (is_matmul && !is_gemm && operands[2]) y = byoc_write_plain(w, "Add", y, operands[2]);
  return byoc_write_node(w, "", "QuantizeLinear", y, byoc_write_scalar(w, in[Y_SCALE]),
                         byoc_write_scalar(w, in[Y_ZERO]), NULL, 0);
}

// ---- words as two bytes ----

static bool is_conv(const byoc_node_t *node) {
  return strcmp(node->op, "QLinearConv") == 0;
}

// The rows of the data that are known to be there.
static int64_t rows_of(const byoc_type_t *x) {
  int64_t rows = 1;
  for (int32_t d = 0; d + 1 < x->rank; ++d) {
    if (byoc_dim_is_constant(x->dims[d])) rows *= x->dims[d].constant;
  }
  return rows;
}

// Two products of bytes take less time than one of floats if the sums are long, and if each byte is used often.
static bool is_fast(const byoc_node_t *node, int64_t terms, int64_t sums) {
  enum { LEAST_TERMS = 64, LEAST_FILTERS = 64, LEAST_COLUMNS = 32, LEAST_ROWS = 4 };
  if (terms < LEAST_TERMS) return false;
  if (is_conv(node)) return sums / byoc_node_int(node, "group") >= LEAST_FILTERS;
  return sums >= LEAST_COLUMNS && rows_of(node->operands[X]->type) >= LEAST_ROWS;
}

// Do the sums of bytes stay within i32, and are they computed fast?
static bool splits(const byoc_node_t *node) {
  enum { MOST_TERMS = 1 << 15 }; // of 255 * 255 each
  const byoc_graph_module_t *module = node->function->module;
  const byoc_value_t *weights = node->operands[W], *zero = node->operands[W_ZERO];
  const byoc_dtype_t dtype = weights->type->dtype;
  if (!module->is_lowered || module->bytes_as_floats || strcmp(node->op, "QLinearConvTranspose") == 0) return false;
  if (!byoc_dtype_is_word(node->operands[X]->type->dtype) || !byoc_dtype_is_byte(dtype)) return false;
  if (!byoc_value_is_constant(weights) || !byoc_value_is_constant(node->operands[X_ZERO])) return false;
  const int64_t sums = weights->type->dims[is_conv(node) ? 0 : weights->type->rank - 1].constant;
  const int64_t terms = sums > 0 ? byoc_type_element_count(weights->type) / sums : 0;
  if (terms > MOST_TERMS || !is_fast(node, terms, sums)) return false;
  if (!is_conv(node)) return weights->type->rank == 2 && byoc_value_is_constant(zero);
  if (!byoc_all_are(zero, 0) && !byoc_all_are(zero, dtype == BYOC_DTYPE_U8 ? 128 : 0)) return false;
  return byoc_conv_is_packed(weights->type, byoc_node_int(node, "group"));
}

// The sum of the products of bytes, in i32.
static byoc_value_t *write_product(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *zero) {
  const byoc_node_t *node = w->node;
  byoc_value_t *operands[] = {x, node->operands[W], zero, node->operands[W_ZERO]};
  if (w->failed) return NULL;
  byoc_node_t *made = byoc_write_many(w, "", is_conv(node) ? "ConvInteger" : "MatMulInteger", operands, 4, 1,
                                      node->attributes.items, node->attributes.count);
  return made ? made->results[0] : NULL;
}

// 256 * the sum over the upper bytes + that over the lower ones, in f64
static byoc_value_t *write_split(byoc_writer_t *w) {
  byoc_value_t *const *in = w->node->operands;
  const uint16_t zero = (uint16_t)byoc_constant_element_i64(in[X_ZERO]->constant, 0);
  const uint16_t moved = in[X]->type->dtype == BYOC_DTYPE_I16 ? zero ^ 0x8000 : zero;
  const double base = 256.0;
  byoc_value_t *sums[2];
  for (int i = 0; i < 2; ++i) {
    const byoc_attribute_t index = byoc_write_int("index", i);
    const uint8_t half = (uint8_t)(i == 1 ? moved >> 8 : moved & 0xff);
    byoc_value_t *x = byoc_write_node(w, "byoc", "HalfWord", in[X], NULL, NULL, &index, 1);
    sums[i] = write_product(w, x, byoc_write_scalar(w, byoc_write_vector(w, "zero", BYOC_DTYPE_U8, 1, &half)));
    sums[i] = byoc_write_cast(w, sums[i], BYOC_DTYPE_F64);
  }
  byoc_value_t *factor = byoc_write_scalar(w, byoc_write_vector(w, "base", BYOC_DTYPE_F64, 1, &base));
  return byoc_write_plain(w, "Add", byoc_write_plain(w, "Mul", sums[1], factor), sums[0]);
}

static bool has_bytes(const byoc_node_t *node) {
  return byoc_dtype_is_byte(node->operands[X]->type->dtype) && byoc_dtype_is_byte(node->operands[W]->type->dtype);
}

// By sums of integers.
static byoc_value_t *write_integers(byoc_writer_t *w) {
  const byoc_node_t *node = w->node;
  byoc_value_t *const *in = node->operands;
  const int32_t spatial = is_conv(node) ? in[W]->type->rank - 2 : 0;
  byoc_value_t *sum = has_bytes(node) ? write_product(w, in[X], in[X_ZERO]) : write_split(w);
  if (byoc_has_operand(node, BIAS) && sum) {
    byoc_value_t *bias = byoc_write_trailing(w, in[BIAS], spatial);
    sum = byoc_write_plain(w, "Add", sum, byoc_write_cast(w, bias, sum->type->dtype));
  }
  if (w->failed || !sum) return NULL;
  return byoc_write_requantised(w, sum, in[X_SCALE], byoc_write_trailing(w, in[W_SCALE], spatial), in[Y_SCALE],
                                in[Y_ZERO]);
}

// ---- the table ----

byoc_status_t byoc_expand_wide(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const int32_t rank = node->operands[W]->type->rank;
  const char *op = node->op + strlen("QLinear");
  const int32_t axis = strcmp(op, "MatMul") == 0 ? rank - 1 : strcmp(op, "Conv") == 0 ? 0 : 1;
  byoc_value_t *y = byoc_dtype_is_few_bits(node->operands[W]->type->dtype) ? write_unpacked(&w)
                    : has_bytes(node) || splits(node)                      ? write_integers(&w)
                                                                           : write_floats(&w, op, axis);
  return byoc_write_end(&w, y, out_changed);
}

#define UNIT(op_name, schema, infer_function, kind)                                                                    \
  {                                                                                                                    \
    .domain = "byoc", .name = op_name, .since_version = 1, .min_inputs = 8, .max_inputs = 9, .min_outputs = 1,         \
    .max_outputs = 1, .traits = BYOC_OP_UNIT, .work = BYOC_WORK_##kind, .factor = W, .attributes = schema,             \
    .infer = infer_function, .expand = byoc_expand_wide                                                                \
  }
const byoc_op_t byoc_ops_quantize_wide[] = {
    UNIT("QLinearConv", byoc_conv_attributes, infer_wide_conv, CONVOLUTION),
    UNIT("QLinearMatMul", NULL, infer_wide_matmul, PRODUCT),
};
const size_t byoc_ops_quantize_wide_count = sizeof byoc_ops_quantize_wide / sizeof *byoc_ops_quantize_wide;
