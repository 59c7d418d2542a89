// SPDX-License-Identifier: Apache-2.0
// Post-ops: elementwise nodes that become part of the node which makes their operand.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "layout_change.h"

// True for nodes whose engine operator has post-ops. Views share memory and have none. A recurrent network stays in its
// place, because other nodes may have read its further results.
static int takes_post_ops(const byoc_dnnl_draft_node_t *node) {
  static const char *const without[] = {"reshape", "transpose", "slice", "recurrent"};
  for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); ++i)
    if (strcmp(node->op, without[i]) == 0) return 0;
  return json_array_size(node->post_ops) < 8;
}

// The node that makes `value`, if the value has only one reader and is not a result of the function.
static int32_t private_producer(const byoc_dnnl_draft_t *draft, int32_t value) {
  if (draft->failed || value < 0) return -1;
  const byoc_dnnl_draft_value_t *v = &draft->values[value];
  if (v->source == NULL) return v->producer; // made for one reader
  if (v->producer < 0 || !byoc_dnnl_has_one_reader(draft->graph, v->source)) return -1;
  return v->producer;
}

// Appends the post-op to the node and moves the node to the end, where the operand is known and nothing has read its
// result yet. Takes over `post_op`.
static void append_post_op(byoc_dnnl_draft_t *draft, int32_t producer, json_t *post_op, int32_t output) {
  byoc_dnnl_draft_node_t moved = draft->nodes[producer];
  if (moved.post_ops == NULL) moved.post_ops = json_array();
  draft->nodes[producer].op = NULL;
  draft->nodes[producer].inputs = NULL;
  draft->nodes[producer].attributes = NULL;
  draft->nodes[producer].post_ops = NULL;
  if (output < 0 || json_array_append_new(moved.post_ops, post_op) != 0) draft->failed = 1;
  byoc_dnnl_draft_node(draft, moved.name, moved.op, moved.inputs, moved.input_count, output, moved.attributes);
  if (!draft->failed)
    draft->nodes[draft->node_count - 1].post_ops = moved.post_ops;
  else
    json_decref(moved.post_ops);
  free(moved.inputs);
}

void byoc_dnnl_draft_eltwise(byoc_dnnl_draft_t *draft, const char *name, const char *algorithm, double alpha,
                             double beta, int32_t input, int32_t output) {
  int32_t producer = private_producer(draft, input);
  if (producer >= 0 && takes_post_ops(&draft->nodes[producer])) {
    json_t *post_op =
        json_pack("{s:s, s:s, s:f, s:f}", "kind", "eltwise", "algorithm", algorithm, "alpha", alpha, "beta", beta);
    append_post_op(draft, producer, post_op, output);
    return;
  }
  json_t *attributes = json_pack("{s:s, s:f, s:f}", "algorithm", algorithm, "alpha", alpha, "beta", beta);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "eltwise", &input, 1, output, attributes);
}

static int is_full(const byoc_dnnl_draft_t *draft, int32_t value, int32_t output) {
  return value >= 0 && output >= 0 && byoc_dnnl_shape_equal(&draft->values[value].shape, &draft->values[output].shape);
}

// matmul(a, b) + row → matmul with a bias
static int add_bias(byoc_dnnl_draft_t *draft, int32_t producer, int32_t row, int32_t output) {
  byoc_dnnl_draft_node_t *node = &draft->nodes[producer];
  if (row < 0 || output < 0 || strcmp(node->op, "matmul") != 0 || node->post_ops != NULL || node->input_count != 2 ||
      json_object_get(node->attributes, "scale") != NULL)
    return 0;
  const byoc_dnnl_shape_t *shape = &draft->values[row].shape, *result = &draft->values[output].shape;
  int64_t count = shape->dims[shape->rank - 1];
  if (count < 0 || byoc_dnnl_shape_count(shape) != count || count != result->dims[result->rank - 1]) return 0;
  byoc_dnnl_draft_node_t moved = *node;
  json_incref(moved.attributes);
  node->op = NULL;
  byoc_dnnl_draft_node(draft, moved.name, moved.op, (int32_t[]){moved.inputs[0], moved.inputs[1], row}, 3, output,
                       moved.attributes);
  return 1;
}

void byoc_dnnl_draft_binary(byoc_dnnl_draft_t *draft, const char *name, const char *algorithm, int32_t left,
                            int32_t right, int32_t output) {
  int commutes = strcmp(algorithm, "sub") != 0 && strcmp(algorithm, "div") != 0;
  if (commutes && !is_full(draft, left, output)) {
    int32_t swapped = left;
    left = right;
    right = swapped;
  }
  int32_t producer = private_producer(draft, left);
  if (producer >= 0 && !takes_post_ops(&draft->nodes[producer])) producer = -1;
  if (commutes && is_full(draft, right, output)) {
    // The later of two candidates: at that point the other operand exists already, and the node stays in its place.
    int32_t other = private_producer(draft, right);
    if (other > producer && takes_post_ops(&draft->nodes[other])) {
      int32_t swapped = left;
      left = right;
      right = swapped;
      producer = other;
    }
  }
  if (producer >= 0 && strcmp(algorithm, "add") == 0 && add_bias(draft, producer, right, output)) return;
  if (producer >= 0 && left != right) {
    json_t *post_op = json_pack("{s:s, s:s, s:i}", "kind", "binary", "algorithm", algorithm, "input", (int)right);
    append_post_op(draft, producer, post_op, output);
    return;
  }
  json_t *attributes = json_pack("{s:s}", "algorithm", algorithm);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "binary", (int32_t[]){left, right}, 2, output, attributes);
}

// batch_norm(conv(x, w) + b) → conv(x, w * factor) + (b * factor + shift)
int byoc_dnnl_draft_scale_convolution(byoc_dnnl_draft_t *draft, int32_t input, int32_t output, const double *factors,
                                      const double *shifts) {
  int32_t producer = private_producer(draft, input);
  if (producer < 0) return 0;
  byoc_dnnl_draft_node_t *node = &draft->nodes[producer];
  if (strcmp(node->op, "convolution") != 0 || node->post_ops != NULL) return 0;
  const float *weights = byoc_dnnl_draft_constant_data(draft, node->inputs[1]);
  int32_t bias_value = node->input_count > 2 ? node->inputs[2] : -1;
  const float *bias = byoc_dnnl_draft_constant_data(draft, bias_value);
  if (weights == NULL || (bias_value >= 0 && bias == NULL)) return 0;

  byoc_dnnl_shape_t shape = draft->values[node->inputs[1]].shape;
  byoc_dnnl_shape_t bias_shape = {.rank = 1, .dims = {draft->values[input].shape.dims[1]}};
  int64_t channels = bias_shape.dims[0], filter = byoc_dnnl_shape_count(&shape) / channels;
  float *scaled = malloc((size_t)(channels * filter) * sizeof(*scaled));
  float *shifted = malloc((size_t)channels * sizeof(*shifted));
  if (scaled == NULL || shifted == NULL) {
    free(scaled);
    free(shifted);
    draft->failed = 1;
    return 1;
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < filter; ++i) scaled[c * filter + i] = (float)((double)weights[c * filter + i] * factors[c]);
    shifted[c] = (float)((bias != NULL ? (double)bias[c] : 0.0) * factors[c] + shifts[c]);
  }
  int32_t scaled_value = byoc_dnnl_draft_constant(draft, &shape, scaled);
  int32_t shifted_value = byoc_dnnl_draft_constant(draft, &bias_shape, shifted);
  int32_t *inputs = malloc(3 * sizeof(*inputs));
  if (inputs == NULL || scaled_value < 0 || shifted_value < 0 || output < 0) {
    free(inputs);
    draft->failed = 1;
    return 1;
  }
  inputs[0] = node->inputs[0];
  inputs[1] = scaled_value;
  inputs[2] = shifted_value;
  free(node->inputs);
  node->inputs = inputs;
  node->input_count = 3;
  node->output = output;
  draft->values[output].producer = producer;
  return 1;
}
