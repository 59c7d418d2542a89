// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX had before its first stable sets, and that converters of old models still write. ONNX Runtime
// runs them, too. Each is expanded into operators of ai.onnx.
#include <string.h>

#include "core/ops/microsoft/common.h"

// ---- Affine, Scale, ScaledTanh, ParametricSoftplus ----

static byoc_status_t infer_affine(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 0));
  return byoc_infer_same(infer);
}

static byoc_status_t infer_scale(byoc_infer_t *infer) {
  return infer_affine(infer);
}

static byoc_status_t infer_scaled(byoc_infer_t *infer) {
  return infer_affine(infer);
}

static byoc_value_t *write_times(byoc_writer_t *w, byoc_value_t *x, double factor) {
  return x ? byoc_write_plain(w, "Mul", x, byoc_microsoft_number(w, x, factor)) : NULL;
}

// alpha * x + beta
static byoc_status_t expand_affine(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = write_times(&w, node->operands[0], byoc_node_float(node, "alpha"));
  byoc_value_t *beta = byoc_microsoft_number(&w, node->operands[0], byoc_node_float(node, "beta"));
  return byoc_write_end(&w, byoc_write_plain(&w, "Add", x, beta), out_changed);
}

static byoc_status_t expand_scale(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  return byoc_write_end(&w, write_times(&w, node->operands[0], byoc_node_float(node, "scale")), out_changed);
}

// alpha * tanh(beta * x), alpha * softplus(beta * x)
static byoc_status_t expand_scaled(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const char *op = strcmp(node->op, "ScaledTanh") == 0 ? "Tanh" : "Softplus";
  byoc_value_t *x = write_times(&w, node->operands[0], byoc_node_float(node, "beta"));
  x = byoc_write_plain(&w, op, x, NULL);
  return byoc_write_end(&w, write_times(&w, x, byoc_node_float(node, "alpha")), out_changed);
}

// ---- ImageScaler ----

static byoc_status_t infer_image_scaler(byoc_infer_t *infer) {
  size_t count = 0;
  byoc_node_floats(infer->node, "bias", &count);
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, 0, 4, 4));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, 1, byoc_dim_constant((int64_t)count)));
  return byoc_infer_same(infer);
}

// scale * x + the bias of its channel
static byoc_status_t expand_image_scaler(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t behind[] = {1, 2};
  byoc_writer_t w = {.node = node, .diag = diag};
  size_t count = 0;
  const double *given = byoc_node_floats(node, "bias", &count);
  float *single = BYOC_ARENA_ARRAY(&node->function->module->arena, float, count + 1);
  if (!single) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) single[i] = (float)given[i];
  byoc_value_t *bias = byoc_write_vector(&w, "bias", BYOC_DTYPE_F32, (int64_t)count, single);
  bias = byoc_microsoft_unsqueeze(&w, byoc_write_cast(&w, bias, node->operands[0]->type->dtype), behind, 2);
  byoc_value_t *x = write_times(&w, node->operands[0], byoc_node_float(node, "scale"));
  return byoc_write_end(&w, byoc_write_plain(&w, "Add", x, bias), out_changed);
}

// ---- Crop ----

// The begin of rows and columns, and the number that is cut off at the end; `lengths` has the number that stays, if the
// node gives it.
static byoc_status_t read_crop(const byoc_infer_t *infer, const byoc_node_t *node, int64_t begin[2], int64_t behind[2],
                               const int64_t **lengths) {
  size_t borders = 0, count = 0;
  const int64_t *border = byoc_node_ints(node, "border", &borders);
  *lengths = byoc_node_ints(node, "scale", &count);
  if (count == 0) *lengths = NULL;
  if (borders != 4 || (count != 0 && count != 2)) {
    return byoc_infer_error(infer, "expected four numbers in attribute 'border' and two in 'scale', got %zu and %zu",
                            borders, count);
  }
  for (int i = 0; i < 2; ++i) {
    begin[i] = border[1 - i], behind[i] = border[3 - i];
    const int64_t length = *lengths ? (*lengths)[i] : 0;
    if (begin[i] < 0 || begin[i] > INT32_MAX || behind[i] < 0 || behind[i] > INT32_MAX || length < 0 ||
        length > INT32_MAX) {
      return byoc_infer_error(infer, "the numbers in attributes 'border' and 'scale' are out of range");
    }
  }
  return BYOC_OK;
}

static byoc_status_t infer_crop(byoc_infer_t *infer) {
  static const char *const names[] = {"the rows that stay", "the columns that stay"};
  int64_t begin[2], behind[2];
  const int64_t *lengths = NULL;
  BYOC_RETURN_IF_ERROR(read_crop(infer, infer->node, begin, behind, &lengths));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, 0, 4, 4));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t dims[4] = {x->dims[0], x->dims[1]};
  bool failed = false;
  for (int i = 0; i < 2; ++i) {
    const byoc_dim_t least = byoc_dim_constant(begin[i] + (lengths ? lengths[i] : behind[i]));
    if (byoc_dim_is_constant(x->dims[2 + i]) && x->dims[2 + i].constant < least.constant) {
      return byoc_infer_error(infer, "operand 0: its dimension %d is %lld; at least %lld is needed", 2 + i,
                              (long long)x->dims[2 + i].constant, (long long)least.constant);
    }
    if (!byoc_dim_is_constant(x->dims[2 + i])) {
      BYOC_RETURN_IF_ERROR(
          byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side(least, names[i]), byoc_side_of(infer, 0, 2 + i)));
    }
    dims[2 + i] =
        lengths ? byoc_dim_constant(lengths[i]) : byoc_infer_dim(infer, BYOC_DIM_SUB, x->dims[2 + i], least, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, 4, dims);
}

static byoc_status_t expand_crop(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t axes[] = {2, 3};
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_infer_t infer = {.node = node, .diag = diag};
  int64_t begin[2], behind[2], end[2];
  const int64_t *lengths = NULL;
  BYOC_RETURN_IF_ERROR(read_crop(&infer, node, begin, behind, &lengths));
  for (int i = 0; i < 2; ++i) {
    end[i] = lengths ? begin[i] + lengths[i] : behind[i] == 0 ? INT64_MAX : -behind[i];
  }
  byoc_value_t *operands[] = {node->operands[0], byoc_write_vector(&w, "begin", BYOC_DTYPE_I64, 2, begin),
                              byoc_write_vector(&w, "end", BYOC_DTYPE_I64, 2, end),
                              byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, 2, axes)};
  byoc_node_t *made = byoc_write_many(&w, "", "Slice", operands, 4, 1, NULL, 0);
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t affine_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)}, {BYOC_ATTR_FLOAT("beta", 0.0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t scaled_attributes[] = {
    {BYOC_ATTR_REQUIRED(FLOAT, "alpha")}, {BYOC_ATTR_REQUIRED(FLOAT, "beta")}, BYOC_ATTR_END};
static const byoc_op_attribute_t scale_attributes[] = {{BYOC_ATTR_FLOAT("scale", 1.0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t image_attributes[] = {
    {BYOC_ATTR_FLOAT("scale", 1.0)}, {BYOC_ATTR_REQUIRED(FLOATS, "bias")}, BYOC_ATTR_END};
static const byoc_op_attribute_t crop_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "border")}, {BYOC_ATTR(INTS, "scale")}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_early[] = {
    BYOC_FUSED_ROW("", "Affine", 1, 1, 1, affine_attributes, affine),
    BYOC_FUSED_ROW("", "Scale", 1, 1, 1, scale_attributes, scale),
    BYOC_FUSED_ROW("", "ScaledTanh", 1, 1, 1, scaled_attributes, scaled),
    BYOC_FUSED_ROW("", "ParametricSoftplus", 1, 1, 1, scaled_attributes, scaled),
    BYOC_FUSED_ROW("", "ImageScaler", 1, 1, 1, image_attributes, image_scaler),
    BYOC_FUSED_ROW("", "Crop", 1, 1, 1, crop_attributes, crop),
};
const size_t byoc_ops_early_count = sizeof byoc_ops_early / sizeof *byoc_ops_early;
