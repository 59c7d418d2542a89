// SPDX-License-Identifier: Apache-2.0
// fold-batch-norm: a batch normalisation behind a convolution becomes part of its weights and bias.
#include <math.h>

#include "core/ir/virtual_device.h"
#include "core/ops/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// The constants of a batch normalisation in inference form: y = (x - mean) / sqrt(variance + epsilon) * scale + shift.
typedef struct batch_norm_t {
  const byoc_constant_t *scale, *shift, *mean, *variance;
  double epsilon;
  int64_t channels;
} batch_norm_t;

static const byoc_constant_t *constant_f32(const byoc_value_t *value, int64_t count) {
  if (!byoc_value_is_constant(value) || value->type->dtype != BYOC_DTYPE_F32) return NULL;
  return byoc_type_element_count(value->type) == count ? value->constant : NULL;
}

static bool read_batch_norm(const byoc_node_t *node, int64_t channels, batch_norm_t *out_norm) {
  if (!byoc_node_is_onnx(node, "BatchNormalization") || node->operand_count < 5) return false;
  for (uint32_t r = 1; r < node->result_count; ++r) {
    if (node->results[r]->uses.count > 0) return false;
  }
  if (byoc_node_flag(node, "training_mode")) return false;
  *out_norm = (batch_norm_t){.scale = constant_f32(node->operands[1], channels),
                             .shift = constant_f32(node->operands[2], channels),
                             .mean = constant_f32(node->operands[3], channels),
                             .variance = constant_f32(node->operands[4], channels),
                             .epsilon = byoc_node_float(node, "epsilon"),
                             .channels = channels};
  return out_norm->scale && out_norm->shift && out_norm->mean && out_norm->variance;
}

// weights[m, ...] *= factor[m]; bias[m] = (bias[m] - mean[m]) * factor[m] + shift[m]; factor = scale / sqrt(variance +
// e)
static bool fold(byoc_node_t *conv, const batch_norm_t *norm) {
  byoc_graph_module_t *module = conv->function->module;
  const byoc_constant_t *weights = conv->operands[1]->constant;
  const byoc_constant_t *bias = conv->operand_count > 2 && conv->operands[2] ? conv->operands[2]->constant : NULL;
  void *new_weights_data = NULL, *new_bias_data = NULL;
  byoc_constant_t *new_weights = byoc_constant_allocate(module, weights->name, weights->type, &new_weights_data);
  byoc_constant_t *new_bias =
      byoc_constant_allocate(module, bias ? bias->name : norm->shift->name, norm->shift->type, &new_bias_data);
  if (new_weights == NULL || new_bias == NULL) return false;
  const float *old_weights = weights->data, *scale = norm->scale->data, *shift = norm->shift->data;
  const float *mean = norm->mean->data, *variance = norm->variance->data;
  float *w = new_weights_data, *b = new_bias_data;
  int64_t row = byoc_type_element_count(weights->type) / norm->channels;
  for (int64_t m = 0; m < norm->channels; ++m) {
    double factor = scale[m] / sqrt((double)variance[m] + norm->epsilon);
    double old_bias = bias ? ((const float *)bias->data)[m] : 0.0;
    b[m] = (float)((old_bias - mean[m]) * factor + shift[m]);
    for (int64_t i = 0; i < row; ++i) w[m * row + i] = (float)(old_weights[m * row + i] * factor);
  }
  byoc_value_t *operands[3] = {conv->operands[0], byoc_function_constant(conv->function, new_weights),
                               byoc_function_constant(conv->function, new_bias)};
  if (operands[1] == NULL || operands[2] == NULL) return false;
  operands[1]->device = conv->operands[1]->device;
  operands[2]->device = bias != NULL ? conv->operands[2]->device : operands[2]->device;
  return byoc_node_set_operands(conv, operands, 3);
}

// BatchNormalization(Conv(x, w, b?)) → Conv(x, w', b')
static byoc_status_t fold_node(byoc_node_t *norm_node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (!byoc_node_is_onnx(norm_node, "BatchNormalization")) return BYOC_OK;
  byoc_node_t *conv = norm_node->operand_count > 0 ? byoc_value_open_producer(norm_node->operands[0]) : NULL;
  if (conv == NULL || !byoc_node_is_onnx(conv, "Conv") || conv->block != norm_node->block) return BYOC_OK;
  if (conv->results[0]->uses.count != 1 || conv->operand_count < 2) return BYOC_OK;
  const byoc_value_t *weights = conv->operands[1], *bias = conv->operand_count > 2 ? conv->operands[2] : NULL;
  if (!byoc_value_is_constant(weights) || weights->type->dtype != BYOC_DTYPE_F32 || weights->type->rank < 2) {
    return BYOC_OK;
  }
  int64_t channels = weights->type->dims[0].constant;
  if (channels == 0 || (bias != NULL && constant_f32(bias, channels) == NULL)) return BYOC_OK;
  batch_norm_t norm;
  if (!read_batch_norm(norm_node, channels, &norm)) return BYOC_OK;
  byoc_value_t *from = norm_node->results[0], *to = conv->results[0];
  if (!fold(conv, &norm)) return byoc_diag_out_of_memory(diag);
  to->device = from->device;
  byoc_value_set_name(to, from->name ? from->name : to->name);
  if (!byoc_value_replace_uses(from, to)) return byoc_diag_out_of_memory(diag);
  byoc_node_erase(norm_node);
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_fold_batch_norm(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, fold_node, NULL, diag, changes);
}
