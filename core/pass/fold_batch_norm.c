// SPDX-License-Identifier: Apache-2.0
// fold-batch-norm: a batch normalisation behind a convolution becomes part of its weights and bias.
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/pass/batch_norm.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// weights[m, ...] *= factor[m]; bias[m] = (bias[m] - mean[m]) * factor[m] + shift[m]
static bool fold(byoc_node_t *conv, const byoc_batch_norm_t *norm) {
  byoc_graph_module_t *module = conv->function->module;
  const byoc_constant_t *weights = conv->operands[1]->constant;
  const byoc_constant_t *bias = conv->operand_count > 2 && conv->operands[2] ? conv->operands[2]->constant : NULL;
  void *new_weights_data = NULL, *new_bias_data = NULL;
  byoc_constant_t *new_weights = byoc_constant_allocate(module, weights->name, weights->type, &new_weights_data);
  byoc_constant_t *new_bias =
      byoc_constant_allocate(module, bias ? bias->name : norm->shift->name, norm->shift->type, &new_bias_data);
  if (new_weights == NULL || new_bias == NULL) return false;
  const float *old_weights = weights->data;
  float *w = new_weights_data, *b = new_bias_data;
  int64_t row = byoc_type_element_count(weights->type) / norm->channels;
  for (int64_t m = 0; m < norm->channels; ++m) {
    const double factor = byoc_batch_norm_factor(norm, m);
    const double old_bias = bias ? ((const float *)bias->data)[m] : 0.0;
    b[m] = (float)byoc_batch_norm_of(norm, m, old_bias);
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
  if (channels == 0 || (bias != NULL && !byoc_is_vector_f32(bias, channels))) return BYOC_OK;
  byoc_batch_norm_t norm;
  if (!byoc_read_batch_norm(norm_node, channels, &norm)) return BYOC_OK;
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
