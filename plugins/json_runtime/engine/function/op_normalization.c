// SPDX-License-Identifier: Apache-2.0
// Builds Softmax and the normalisations as primitives of oneDNN.
#include <string.h>

#include "engine/function/build.h"

// softmax: along `axis`; logarithm of it where `log` is 1.
int32_t byoc_dnnl_build_softmax(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  int64_t axis = byoc_dnnl_node_int(node, "axis", output->rank - 1);
  if (axis < 0 || axis >= output->rank) return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its axis is wrong");
  const dnnl_alg_kind_t algorithm = byoc_dnnl_node_int(node, "log", 0) != 0 ? dnnl_softmax_log : dnnl_softmax_accurate;
  if (byoc_dnnl_is_plain(function, algorithm, 0.0f))
    return byoc_dnnl_build_plain(function, node,
                                 &(byoc_dnnl_plain_t){BYOC_DNNL_PLAIN_SOFTMAX, algorithm, .axis = (int32_t)axis});
  byoc_dnnl_argument_t argument = {DNNL_ARG_SRC, -1};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_plain(function, node->inputs[0], &argument.version));
  dnnl_memory_desc_t desc = *byoc_dnnl_desc(function, argument.version);
  dnnl_softmax_v2_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(function,
                                            function->api->dnnl_softmax_v2_forward_desc_init(
                                                &op_desc, dnnl_forward_inference, algorithm, &desc, &desc, (int)axis),
                                            "describe the softmax"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, output->rank, output->dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, &argument, 1, -1);
}

// batch_normalization: inputs x, scale, shift, mean, variance; each of the last four has one element per channel.
int32_t byoc_dnnl_build_batch_normalization(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  static const int32_t roles[] = {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
  const byoc_dnnl_graph_t *graph = &function->graph;
  const byoc_dnnl_value_t *output = &graph->values[node->output];
  byoc_dnnl_argument_t arguments[5];
  if (node->input_count != 5 || output->rank < 2)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it needs five inputs");
  for (int32_t i = 0; i < 5; ++i) {
    const byoc_dnnl_value_t *input = node->inputs[i] >= 0 ? &graph->values[node->inputs[i]] : NULL;
    if (input == NULL || (i > 0 && (input->rank != 1 || input->dims[0] != output->dims[1])))
      return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it needs one parameter per channel");
    arguments[i].role = roles[i];
    if (i == 0)
      BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_dense(function, node->inputs[i], &arguments[i].version));
    else
      BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_plain(function, node->inputs[i], &arguments[i].version));
  }
  dnnl_batch_normalization_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      function->api->dnnl_batch_normalization_forward_desc_init(
          &op_desc, dnnl_forward_inference, byoc_dnnl_desc(function, arguments[0].version),
          byoc_dnnl_node_float(node, "epsilon", 1e-5f), dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift),
      "describe the batch normalisation"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, output->rank, output->dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, arguments, 5, -1);
}

// layer_normalization: inputs x, scale, shift (each may be left out), over the dimensions from `axis` on.
int32_t byoc_dnnl_build_layer_normalization(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_api_t *api = function->api;
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  int64_t axis = byoc_dnnl_node_int(node, "axis", output->rank - 1);
  if (axis < 1 || axis >= output->rank) return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its axis is wrong");
  dnnl_dims_t dims = {1, 1}, parameter_dims = {1};
  for (int32_t i = 0; i < output->rank; ++i) dims[i < axis ? 0 : 1] *= output->dims[i];
  parameter_dims[0] = dims[1];
  byoc_dnnl_argument_t arguments[3] = {{DNNL_ARG_SRC, -1}};
  int32_t count = 1;
  unsigned flags = 0;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_reshaped(function, node->inputs[0], 2, dims, &arguments[0].version));
  for (uint32_t i = 1; i < node->input_count && i < 3; ++i) {
    if (node->inputs[i] < 0) continue;
    flags |= i == 1 ? dnnl_use_scale : dnnl_use_shift;
    arguments[count].role = i == 1 ? DNNL_ARG_SCALE : DNNL_ARG_SHIFT;
    BYOC_DNNL_RETURN_IF_ERROR(
        byoc_dnnl_read_reshaped(function, node->inputs[i], 1, parameter_dims, &arguments[count++].version));
  }
  dnnl_memory_desc_t statistics;
  byoc_dnnl_layout_plain(1, dims, &statistics);
  dnnl_layer_normalization_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      api->dnnl_layer_normalization_forward_desc_init(&op_desc, dnnl_forward_inference,
                                                      byoc_dnnl_desc(function, arguments[0].version), &statistics,
                                                      byoc_dnnl_node_float(node, "epsilon", 1e-5f), flags),
      "describe the layer normalisation"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, 2, dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, arguments, count, -1);
}

// lrn: across channels.
int32_t byoc_dnnl_build_lrn(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  byoc_dnnl_argument_t argument = {DNNL_ARG_SRC, -1};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_dense(function, node->inputs[0], &argument.version));
  dnnl_lrn_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      function->api->dnnl_lrn_forward_desc_init(
          &op_desc, dnnl_forward_inference, dnnl_lrn_across_channels, byoc_dnnl_desc(function, argument.version),
          byoc_dnnl_node_int(node, "size", 5), byoc_dnnl_node_float(node, "alpha", 1e-4f),
          byoc_dnnl_node_float(node, "beta", 0.75f), byoc_dnnl_node_float(node, "k", 1.0f)),
      "describe the LRN"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, output->rank, output->dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, &argument, 1, -1);
}
