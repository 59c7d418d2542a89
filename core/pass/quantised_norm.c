// SPDX-License-Identifier: Apache-2.0
// A batch normalisation of a product of dequantised operands becomes part of the scales of its weights and of its bias.
#include <math.h>

#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/pass/batch_norm.h"
#include "core/pass/quantised_moves.h"
#include "core/pass/quantised_product.h"
#include "core/pass/rewrite.h"

typedef struct fold_t {
  byoc_quantised_product_t product;
  byoc_batch_norm_t norm;
  int32_t axis; // the weights' axis of the channels
  bool turns;   // a factor is not above 0: its channel's weights change
} fold_t;

// The only reader of the product is the normalisation of its channels, and its weights are bytes.
static bool read_fold(const byoc_node_t *norm, fold_t *fold) {
  byoc_node_t *node = byoc_has_operand(norm, 0) ? byoc_value_open_producer(norm->operands[0]) : NULL;
  if (node == NULL || node->block != norm->block || norm->operands[0]->uses.count != 1) return false;
  const byoc_quantised_product_t *p = &fold->product;
  if (!byoc_quantised_product_read(node, &fold->product) || p->kind == BYOC_QUANTISED_MATMUL) return false;
  if (p->kind == BYOC_QUANTISED_TRANSPOSED && byoc_node_int(node, "group") != 1) return false;
  if (p->kind == BYOC_QUANTISED_GEMM && byoc_node_float(node, "beta") != 1) return false;
  fold->axis = p->kind == BYOC_QUANTISED_CONV || p->turns ? 0 : 1;
  if (!byoc_dtype_is_byte(p->w.bytes->type->dtype)) return false;
  return p->channels > 0 && byoc_read_batch_norm(norm, p->channels, &fold->norm) &&
         byoc_value_is_constant(p->w.scale) && (p->w.zero == NULL || byoc_value_is_constant(p->w.zero));
}

// Element i of a constant with one element for all channels, or one for each; 0 if there is none.
static int64_t integer_at(const byoc_value_t *value, int64_t i) {
  if (value == NULL) return 0;
  return byoc_constant_element_i64(value->constant, byoc_type_element_count(value->type) == 1 ? 0 : i);
}

// scales[channel] = the scale * |factor|, or the scale if the factor is 0
static bool compute_scales(fold_t *fold, float *scales) {
  const byoc_constant_t *old = fold->product.w.scale->constant;
  const bool is_one = byoc_type_element_count(old->type) == 1;
  for (int64_t i = 0; i < fold->norm.channels; ++i) {
    const double factor = byoc_batch_norm_factor(&fold->norm, i),
                 scale = byoc_constant_element_f64(old, is_one ? 0 : i);
    scales[i] = (float)(factor == 0 ? scale : scale * fabs(factor));
    if (!(isnormal(scales[i]) && scales[i] > 0)) return false;
    fold->turns |= !(factor > 0);
  }
  return true;
}

// bias[channel] = the normalised bias
static bool compute_bias(const fold_t *fold, float *bias) {
  double *numbers = BYOC_ARENA_ARRAY(&fold->product.node->function->module->arena, double, (size_t)fold->norm.channels);
  if (numbers == NULL || !byoc_quantised_product_read_bias(&fold->product, numbers)) return false;
  for (int64_t i = 0; i < fold->norm.channels; ++i) {
    bias[i] = (float)byoc_batch_norm_of(&fold->norm, i, numbers[i]);
    if (!isfinite(bias[i])) return false;
  }
  return true;
}

// Weight i on the other side of its zero point where the factor is below 0, and at it where the factor is 0.
static int64_t turned(const fold_t *fold, int64_t inner, int64_t i) {
  const byoc_quantised_t *old = &fold->product.w;
  const int64_t channel = i / inner % fold->norm.channels, zero = integer_at(old->zero, channel);
  const int64_t weight = byoc_constant_element_i64(old->bytes->constant, i);
  const double factor = byoc_batch_norm_factor(&fold->norm, channel);
  return factor > 0 ? weight : factor < 0 ? 2 * zero - weight : zero;
}

// All weights so. NULL if they are not known, or if one is not among the integers of the type.
static byoc_value_t *turned_weights(byoc_writer_t *w, const fold_t *fold) {
  const byoc_value_t *old = fold->product.w.bytes;
  if (!byoc_value_is_constant(old)) return NULL;
  const int64_t count = byoc_type_element_count(old->type);
  int64_t least = 0, most = 0, inner = 1, sizes[BYOC_MAX_RANK];
  for (int32_t d = 0; d < old->type->rank; ++d) sizes[d] = old->type->dims[d].constant;
  for (int32_t d = fold->axis + 1; d < old->type->rank; ++d) inner *= sizes[d];
  byoc_quantised_range(old->type->dtype, &least, &most);
  for (int64_t i = 0; i < count; ++i) {
    if (turned(fold, inner, i) < least || turned(fold, inner, i) > most) return NULL;
  }
  void *data = NULL;
  byoc_value_t *made = byoc_pass_constant_like(w->node, old, old->type->rank, sizes, &data);
  if (made == NULL) w->failed = true;
  for (int64_t i = 0; made != NULL && i < count; ++i) ((uint8_t *)data)[i] = (uint8_t)turned(fold, inner, i);
  return made;
}

// DequantizeLinear of the weights with a scale for each channel; NULL without w->failed if there is none.
static byoc_value_t *write_weights(byoc_writer_t *w, const fold_t *fold, const float *scales) {
  const byoc_quantised_t *old = &fold->product.w;
  byoc_value_t *bytes = fold->turns ? turned_weights(w, fold) : old->bytes, *zero = NULL;
  if (bytes == NULL) return NULL;
  if (old->zero != NULL && !byoc_all_are(old->zero, 0)) {
    void *data = NULL;
    zero = byoc_pass_constant_like(w->node, old->zero, 1, &fold->norm.channels, &data);
    if (zero == NULL) w->failed = true;
    for (int64_t i = 0; zero != NULL && i < fold->norm.channels; ++i) {
      ((uint8_t *)data)[i] = (uint8_t)integer_at(old->zero, i);
    }
  }
  byoc_value_t *scale = byoc_write_vector(w, old->scale->constant->name, BYOC_DTYPE_F32, fold->norm.channels, scales);
  const byoc_attribute_t axis = byoc_write_int("axis", fold->axis);
  return byoc_write_node(w, "", "DequantizeLinear", bytes, scale, zero, &axis, 1);
}

byoc_status_t byoc_quantised_norm_fold(byoc_node_t *norm, byoc_diag_t *diag, size_t *changes) {
  fold_t fold = {.axis = 0};
  if (!byoc_node_is_onnx(norm, "BatchNormalization") || !read_fold(norm, &fold)) return BYOC_OK;
  byoc_node_t *node = fold.product.node;
  byoc_writer_t w = {.node = norm, .diag = diag};
  float *numbers = BYOC_ARENA_ARRAY(&node->function->module->arena, float, 2 * (size_t)fold.norm.channels);
  if (numbers == NULL) return byoc_diag_out_of_memory(diag);
  float *scales = numbers, *bias = numbers + fold.norm.channels;
  if (!compute_scales(&fold, scales) || !compute_bias(&fold, bias)) return BYOC_OK;
  byoc_value_t *weights = write_weights(&w, &fold, scales);
  if (weights == NULL) return w.failed ? byoc_diag_failure(diag) : BYOC_OK;
  byoc_value_t *operands[] = {node->operands[0], weights,
                              byoc_write_vector(&w, fold.norm.shift->name, BYOC_DTYPE_F32, fold.norm.channels, bias)};
  byoc_node_t *made = byoc_write_many(&w, "", node->op, operands, 3, 1, node->attributes.items, node->attributes.count);
  if (made == NULL || !byoc_node_set_name(made, node->name)) return byoc_diag_failure(diag);
  BYOC_RETURN_IF_ERROR(byoc_pass_replace(norm, made->results[0], diag, changes));
  byoc_node_erase(node);
  return BYOC_OK;
}
