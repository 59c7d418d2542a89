// SPDX-License-Identifier: Apache-2.0
// Reads batch normalisations whose statistics are constants as a scale and a shift.
#include "core/pass/batch_norm.h"

#include <math.h>

#include "core/op/op.h"

bool byoc_is_vector_f32(const byoc_value_t *value, int64_t count) {
  return byoc_value_is_constant(value) && value->type->dtype == BYOC_DTYPE_F32 &&
         byoc_type_element_count(value->type) == count;
}

bool byoc_read_batch_norm(const byoc_node_t *node, int64_t channels, byoc_batch_norm_t *out_norm) {
  if (!byoc_node_is_onnx(node, "BatchNormalization") || node->operand_count < 5) return false;
  for (uint32_t r = 1; r < node->result_count; ++r) {
    if (node->results[r]->uses.count > 0) return false;
  }
  if (byoc_node_flag(node, "training_mode")) return false;
  for (uint32_t i = 1; i < 5; ++i) {
    if (!byoc_is_vector_f32(node->operands[i], channels)) return false;
  }
  *out_norm = (byoc_batch_norm_t){.scale = node->operands[1]->constant,
                                  .shift = node->operands[2]->constant,
                                  .mean = node->operands[3]->constant,
                                  .variance = node->operands[4]->constant,
                                  .epsilon = byoc_node_float(node, "epsilon"),
                                  .channels = channels};
  return true;
}

static double at(const byoc_constant_t *vector, int64_t channel) {
  return ((const float *)vector->data)[channel];
}

double byoc_batch_norm_factor(const byoc_batch_norm_t *norm, int64_t channel) {
  return at(norm->scale, channel) / sqrt(at(norm->variance, channel) + norm->epsilon);
}

double byoc_batch_norm_of(const byoc_batch_norm_t *norm, int64_t channel, double x) {
  return (x - at(norm->mean, channel)) * byoc_batch_norm_factor(norm, channel) + at(norm->shift, channel);
}
