// SPDX-License-Identifier: Apache-2.0
// com.microsoft: elementwise operators and pools on bytes, which ONNX Runtime's quantiser writes. Operators of the same
// names in the domain byoc are those on integers of 16 bits. Most are computed on floats between DequantizeLinear and
// QuantizeLinear.
#include <string.h>

#include "core/op/axes.h"
#include "core/ops/microsoft/quantize.h"
#include "core/ops/onnx/quantization/quantize.h"

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

// ---- integers and their scales ----

static bool is_of_words(const byoc_node_t *node) {
  return strcmp(node->domain, "byoc") == 0;
}

static byoc_status_t need_tensor(const byoc_infer_t *infer, uint32_t index) {
  if (!is_of_words(infer->node)) return byoc_infer_need(infer, index, byoc_dtype_is_byte, "a tensor of bytes");
  return byoc_infer_need(infer, index, byoc_dtype_is_word, "a tensor of 16-bit integers");
}

static byoc_status_t need_zero(const byoc_infer_t *infer, uint32_t index) {
  const bool is_word = is_of_words(infer->node);
  return byoc_infer_need(infer, index, is_word ? byoc_dtype_is_word : byoc_dtype_is_byte, "a zero point");
}

byoc_status_t byoc_microsoft_need_integers(const byoc_infer_t *infer, uint32_t index) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(need_tensor(infer, index));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index + 1, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, index + 1));
  const byoc_type_t *zero = byoc_operand_type(node, index + 2);
  if (!byoc_has_operand(node, index + 2)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(need_zero(infer, index + 2));
  if (zero->dtype != byoc_operand_type(node, index)->dtype) {
    return byoc_infer_error(infer, "operand %u: the zero point's type is not that of the quantised tensor", index + 2);
  }
  return byoc_infer_need_one(infer, index + 2);
}

byoc_status_t byoc_microsoft_need_scale(const byoc_infer_t *infer, uint32_t index, uint32_t like) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, index));
  if (!byoc_has_operand(infer->node, index + 1)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(need_zero(infer, index + 1));
  const byoc_type_t *zero = byoc_operand_type(infer->node, index + 1), *bytes = byoc_operand_type(infer->node, like);
  if (zero->dtype != bytes->dtype) {
    return byoc_infer_error(infer, "operand %u: expected the type of operand %u", index + 1, like);
  }
  return byoc_infer_need_one(infer, index + 1);
}

byoc_value_t *byoc_microsoft_floats(byoc_writer_t *w, uint32_t index) {
  const byoc_node_t *node = w->node;
  return byoc_write_node(w, "", "DequantizeLinear", node->operands[index],
                         byoc_write_scalar(w, node->operands[index + 1]),
                         byoc_write_scalar(w, byoc_operand(node, index + 2)), NULL, 0);
}

byoc_value_t *byoc_microsoft_quantised(byoc_writer_t *w, byoc_value_t *y, uint32_t index, byoc_dtype_t dtype) {
  const byoc_attribute_t type = byoc_write_int("output_dtype", dtype);
  return byoc_write_node(w, "", "QuantizeLinear", y, byoc_write_scalar(w, w->node->operands[index]),
                         byoc_write_scalar(w, byoc_operand(w->node, index + 1)), &type, 1);
}

byoc_value_t *byoc_microsoft_rounded(byoc_writer_t *w, byoc_value_t *y, uint32_t zero, byoc_dtype_t dtype) {
  byoc_value_t *added = byoc_write_scalar(w, byoc_operand(w->node, zero));
  if (added) y = byoc_write_plain(w, "Add", y, byoc_write_cast(w, added, BYOC_DTYPE_F32));
  const byoc_attribute_t type = byoc_write_int("output_dtype", dtype);
  const float one = 1.0F;
  byoc_value_t *scale = byoc_write_scalar(w, byoc_write_vector(w, "one", BYOC_DTYPE_F32, 1, &one));
  return byoc_write_node(w, "", "QuantizeLinear", y, scale, NULL, &type, 1);
}

// The integers at `index` less their zero point, in i32.
static byoc_value_t *write_centred(byoc_writer_t *w, uint32_t index) {
  byoc_value_t *x = byoc_write_cast(w, w->node->operands[index], BYOC_DTYPE_I32);
  byoc_value_t *zero = byoc_write_scalar(w, byoc_operand(w->node, index + 2));
  return zero ? byoc_write_plain(w, "Sub", x, byoc_write_cast(w, zero, BYOC_DTYPE_I32)) : x;
}

static byoc_value_t *write_scale(byoc_writer_t *w, uint32_t index) {
  return byoc_write_scalar(w, w->node->operands[index]);
}

// ---- QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax, QLinearGlobalAveragePool ----

enum { X, RESULT_SCALE = 3 };

static byoc_status_t infer_elementwise(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, X));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_scale(infer, RESULT_SCALE, X));
  return byoc_infer_same(infer);
}

static byoc_status_t expand_elementwise(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const bool is_leaky = strcmp(node->op, "QLinearLeakyRelu") == 0;
  byoc_attribute_t alpha = {.name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT};
  if (is_leaky) alpha.f = byoc_node_float(node, "alpha");
  byoc_value_t *x = byoc_microsoft_floats(&w, X);
  x = byoc_write_node(&w, "", is_leaky ? "LeakyRelu" : "Sigmoid", x, NULL, NULL, &alpha, is_leaky ? 1 : 0);
  return byoc_write_end(&w, byoc_microsoft_quantised(&w, x, RESULT_SCALE, node->operands[X]->type->dtype), out_changed);
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
  byoc_value_t *x = byoc_write_node(&w, "", "Softmax", byoc_microsoft_floats(&w, X), NULL, NULL, &axis, 1);
  return byoc_write_end(&w, byoc_microsoft_quantised(&w, x, RESULT_SCALE, node->operands[X]->type->dtype), out_changed);
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

static bool axes_global_average(const byoc_node_t *node, byoc_axis_t *axis) {
  return !byoc_node_flag(node, "channels_last") && byoc_axes_channelwise(node, axis);
}

// sum * (scale of x / (scale of y * count)), as ONNX Runtime rounds it for bytes
static byoc_status_t expand_global_average(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const int64_t first = byoc_node_flag(node, "channels_last") ? 1 : 2, rank = node->operands[X]->type->rank - 2;
  int64_t axes[BYOC_MAX_RANK];
  byoc_value_t *count = NULL;
  for (int64_t d = 0; d < rank; ++d) {
    axes[d] = first + d;
    byoc_value_t *size = byoc_microsoft_size(&w, node->operands[X], (int32_t)axes[d]);
    count = d == 0 ? size : byoc_write_plain(&w, "Mul", count, size);
  }
  byoc_value_t *over = byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, rank, axes);
  if (is_of_words(node)) {
    byoc_value_t *mean = byoc_write_plain(&w, "ReduceMean", byoc_microsoft_floats(&w, X), over);
    mean = byoc_microsoft_quantised(&w, mean, RESULT_SCALE, node->operands[X]->type->dtype);
    return byoc_write_end(&w, mean, out_changed);
  }
  byoc_value_t *sum = byoc_write_plain(&w, "ReduceSum", write_centred(&w, X), over);
  count = byoc_write_plain(&w, "Mul", write_scale(&w, RESULT_SCALE), byoc_write_cast(&w, count, BYOC_DTYPE_F32));
  byoc_value_t *ratio = byoc_write_plain(&w, "Div", write_scale(&w, X + 1), count);
  byoc_value_t *y = byoc_write_plain(&w, "Mul", byoc_write_cast(&w, sum, BYOC_DTYPE_F32), ratio);
  const byoc_attribute_t type = byoc_write_int("output_dtype", node->operands[X]->type->dtype);
  byoc_value_t *one = byoc_write_scalar(&w, byoc_microsoft_number(&w, y, 1.0));
  y = byoc_write_node(&w, "", "QuantizeLinear", y, one, byoc_write_scalar(&w, byoc_operand(node, RESULT_SCALE + 1)),
                      &type, 1);
  return byoc_write_end(&w, y, out_changed);
}

// ---- QLinearAdd, QLinearMul ----

enum { A, B = 3, SUM_SCALE = 6 };

static byoc_status_t infer_pair(byoc_infer_t *infer) {
  static const uint32_t indices[] = {A, B};
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, A));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, B));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, B));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_scale(infer, SUM_SCALE, A));
  return byoc_microsoft_broadcast(infer, indices, 2, byoc_operand_type(node, A)->dtype);
}

// Words: the operator on floats.
static byoc_status_t expand_pair_of_words(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const char *op = strcmp(node->op, "QLinearMul") == 0 ? "Mul" : "Add";
  byoc_value_t *a = byoc_microsoft_floats(&w, A), *b = byoc_microsoft_floats(&w, B);
  byoc_value_t *y = byoc_write_plain(&w, op, a, b);
  return byoc_write_end(&w, byoc_microsoft_quantised(&w, y, SUM_SCALE, node->operands[A]->type->dtype), out_changed);
}

// The zero point is added before the number is rounded, as in ONNX Runtime: if it is odd, halves are rounded the other
// way.
static byoc_status_t expand_pair(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  if (is_of_words(node)) return expand_pair_of_words(node, diag, out_changed);
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *a = write_centred(&w, A), *b = write_centred(&w, B), *y = NULL, *scale = write_scale(&w, SUM_SCALE);
  byoc_value_t *scales[2] = {write_scale(&w, A + 1), write_scale(&w, B + 1)};
  if (strcmp(node->op, "QLinearMul") == 0) {
    y = byoc_write_cast(&w, byoc_write_plain(&w, "Mul", a, b), BYOC_DTYPE_F32);
    scale = byoc_write_plain(&w, "Div", byoc_write_plain(&w, "Mul", scales[0], scales[1]), scale);
    y = byoc_write_plain(&w, "Mul", y, scale);
  } else {
    byoc_value_t *terms[2] = {byoc_write_cast(&w, a, BYOC_DTYPE_F32), byoc_write_cast(&w, b, BYOC_DTYPE_F32)};
    for (int i = 0; i < 2; ++i) {
      terms[i] = byoc_write_plain(&w, "Mul", terms[i], byoc_write_plain(&w, "Div", scales[i], scale));
    }
    y = byoc_write_plain(&w, "Add", terms[0], terms[1]);
  }
  y = byoc_microsoft_rounded(&w, y, SUM_SCALE + 1, node->operands[A]->type->dtype);
  return byoc_write_end(&w, y, out_changed);
}

// ---- QLinearWhere ----

enum { CONDITION, THEN, ELSE = 4, CHOICE_SCALE = 7 };

static bool is_bool(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_BOOL;
}

static byoc_status_t infer_where(byoc_infer_t *infer) {
  static const uint32_t indices[] = {CONDITION, THEN, ELSE};
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, CONDITION, is_bool, "a condition of bools"));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, THEN));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, ELSE));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_scale(infer, CHOICE_SCALE, THEN));
  const byoc_dtype_t dtype = byoc_operand_type(node, THEN)->dtype;
  if (byoc_operand_type(node, ELSE)->dtype != dtype) {
    return byoc_infer_error(infer, "operand 4: expected the type of operand 1");
  }
  return byoc_microsoft_broadcast(infer, indices, 3, dtype);
}

static byoc_status_t expand_where(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *y = byoc_write_node(&w, "", "Where", node->operands[CONDITION], byoc_microsoft_floats(&w, THEN),
                                    byoc_microsoft_floats(&w, ELSE), NULL, 0);
  y = byoc_microsoft_quantised(&w, y, CHOICE_SCALE, node->operands[THEN]->type->dtype);
  return byoc_write_end(&w, y, out_changed);
}

// ---- QLinearReduceMean ----

static byoc_status_t infer_mean(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, X);
  BYOC_RETURN_IF_ERROR(infer_elementwise(infer));
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  size_t count = 0;
  const int64_t *axes = byoc_node_ints(node, "axes", &count);
  bool is_reduced[BYOC_MAX_RANK] = {false};
  for (size_t i = 0; i < count; ++i) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes[i], x->rank, &axis)) {
      return byoc_infer_error(infer, "attribute 'axes': %lld is not in [%d, %d]", (long long)axes[i], -(int)x->rank,
                              (int)x->rank - 1);
    }
    is_reduced[axis] = true;
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    if (!is_reduced[d] && count > 0) {
      dims[rank++] = x->dims[d];
    } else if (byoc_node_flag(node, "keepdims")) {
      dims[rank++] = byoc_dim_constant(1);
    }
  }
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static byoc_status_t expand_mean(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t keep = byoc_write_int("keepdims", byoc_node_flag(node, "keepdims"));
  size_t count = 0;
  const int64_t *axes = byoc_node_ints(node, "axes", &count);
  byoc_value_t *over = count > 0 ? byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, (int64_t)count, axes) : NULL;
  byoc_value_t *mean = byoc_write_node(&w, "", "ReduceMean", byoc_microsoft_floats(&w, X), over, NULL, &keep, 1);
  return byoc_write_end(&w, byoc_microsoft_quantised(&w, mean, RESULT_SCALE, node->operands[X]->type->dtype),
                        out_changed);
}

// ---- QLinearConcat ----

// Operands: the scale and zero point of the result, then three for each tensor.
static byoc_status_t infer_concat(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_f32, "a scale of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 0));
  BYOC_RETURN_IF_ERROR(need_zero(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  if (node->operand_count % 3 != 2) {
    return byoc_infer_error(infer, "expected a tensor, a scale and a zero point each, got %u operands",
                            (unsigned)node->operand_count - 2);
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  int32_t axis = 0, rank = 0;
  for (uint32_t i = 2; i < node->operand_count; i += 3) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, i));
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

static bool axes_concat(const byoc_node_t *node, byoc_axis_t *axis) {
  for (uint32_t i = 2; i < node->operand_count; i += 3) axis->operands[i] = axis->dim;
  return axis->dim != byoc_node_axis(node, "axis", node->results[0]->type->rank);
}

// Do the operands at `a` and `b` hold the same number, as the same value or as equal constants?
static bool is_same_number(const byoc_node_t *node, uint32_t a, uint32_t b) {
  const byoc_value_t *x = byoc_operand(node, a), *y = byoc_operand(node, b);
  if (x == NULL || y == NULL || !byoc_value_is_constant(x) || !byoc_value_is_constant(y)) return false;
  const byoc_constant_t *left = x->constant, *right = y->constant;
  return x->type->dtype == y->type->dtype && left->size_bytes == right->size_bytes &&
         memcmp(left->data, right->data, left->size_bytes) == 0;
}

// Has the tensor at `index` the scale and the zero point of the result? Then converting it changes nothing, unless the
// floats between could be infinite or lose bits.
static bool has_scale_of_result(const byoc_node_t *node, uint32_t index) {
  if (!is_same_number(node, 0, index + 1) || !is_same_number(node, 1, index + 2)) return false;
  const float scale = *(const float *)node->operands[0]->constant->data;
  return scale > 1e-30F && scale < 1e30F;
}

// Each tensor gets the scale of the result before they are joined: a function of one integer, which may be a table, and
// no function at all where the scales are equal.
static byoc_status_t expand_concat(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t **parts = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, node->operand_count);
  if (!parts) return byoc_diag_out_of_memory(diag);
  const byoc_dtype_t dtype = node->operands[1]->type->dtype;
  uint32_t count = 0;
  for (uint32_t i = 2; i < node->operand_count; i += 3) {
    parts[count++] = has_scale_of_result(node, i)
                         ? node->operands[i]
                         : byoc_microsoft_quantised(&w, byoc_microsoft_floats(&w, i), 0, dtype);
  }
  const byoc_attribute_t axis = byoc_write_int("axis", byoc_node_int(node, "axis"));
  byoc_node_t *made = byoc_write_many(&w, "", "Concat", parts, count, 1, &axis, 1);
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
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
static const byoc_op_attribute_t leaky_attributes[] = {{BYOC_ATTR_FLOAT("alpha", 0.01)}, BYOC_ATTR_END};
static const byoc_op_attribute_t softmax_attributes[] = {
    {BYOC_ATTR_INT("axis", -1)}, {BYOC_ATTR_REQUIRED(INT, "opset")}, BYOC_ATTR_END};
static const byoc_op_attribute_t global_attributes[] = {{BYOC_ATTR_INT("channels_last", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t mean_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "axes")}, {BYOC_ATTR_REQUIRED(INT, "keepdims")}, BYOC_ATTR_END};
static const byoc_op_attribute_t concat_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "axis")}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_quantize[] = {
    BYOC_UNIT_ROWS("QLinearSigmoid", 2, 5, BYOC_OP_ELEMENTWISE, NULL, elementwise, byoc_axes_broadcast),
    BYOC_UNIT_ROWS("QLinearLeakyRelu", 2, 5, BYOC_OP_ELEMENTWISE, leaky_attributes, elementwise, byoc_axes_broadcast),
    BYOC_UNIT_ROWS("QLinearSoftmax", 2, 5, 0, softmax_attributes, softmax, byoc_axes_beside),
    BYOC_UNIT_ROWS("QLinearGlobalAveragePool", 2, 5, 0, global_attributes, global_average, axes_global_average),
    BYOC_UNIT_ROWS("QLinearAdd", 2, 8, BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS, NULL, pair, byoc_axes_broadcast),
    BYOC_UNIT_ROWS("QLinearMul", 2, 8, BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS, NULL, pair, byoc_axes_broadcast),
    BYOC_UNIT_ROWS("QLinearWhere", 9, 9, BYOC_OP_ELEMENTWISE | BYOC_OP_BROADCASTS, NULL, where, byoc_axes_broadcast),
    BYOC_UNIT_ROWS("QLinearReduceMean", 2, 5, 0, mean_attributes, mean, NULL),
    BYOC_UNIT_ROWS("QLinearConcat", 5, -1, 0, concat_attributes, concat, axes_concat),
    BYOC_SPELLING_ROW("QuantizeLinear", 2, 3, 1, linear_attributes, quantize),
    BYOC_SPELLING_ROW("DequantizeLinear", 2, 3, 1, linear_attributes, dequantize),
};
const size_t byoc_ops_microsoft_quantize_count =
    sizeof byoc_ops_microsoft_quantize / sizeof *byoc_ops_microsoft_quantize;
