// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of one and of two operands, PReLU, and reductions.
#include <string.h>

#include "engine/function/build.h"

// The version that the result may take over: the operand's, where it dies here and no post-op reads it.
static int32_t dying_version(const byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, int32_t value,
                             int32_t version) {
  const byoc_dnnl_graph_t *graph = &function->graph;
  int32_t root = byoc_dnnl_graph_root_value(graph, value);
  int32_t reads = 0;
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (node->inputs[i] >= 0 && byoc_dnnl_graph_root_value(graph, node->inputs[i]) == root) ++reads;
  for (uint32_t i = 0; i < node->post_op_count; ++i)
    if (node->post_ops[i].value >= 0 && byoc_dnnl_graph_root_value(graph, node->post_ops[i].value) == root) ++reads;
  return reads == 1 && byoc_dnnl_can_overwrite(function, value, version) ? version : -1;
}

int32_t byoc_dnnl_build_eltwise(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  dnnl_alg_kind_t algorithm = byoc_dnnl_algorithm("eltwise", byoc_dnnl_node_string(node, "algorithm", ""));
  if (algorithm == dnnl_alg_kind_undef)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its algorithm is unknown");
  const float alpha = byoc_dnnl_node_float(node, "alpha", 0.0f), beta = byoc_dnnl_node_float(node, "beta", 0.0f);
  if (byoc_dnnl_is_plain(function, algorithm, alpha))
    return byoc_dnnl_build_plain(
        function, node, &(byoc_dnnl_plain_t){BYOC_DNNL_PLAIN_ELTWISE, algorithm, .alpha = alpha, .beta = beta});
  byoc_dnnl_argument_t argument = {DNNL_ARG_SRC, -1};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_dense(function, node->inputs[0], &argument.version));
  dnnl_eltwise_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      function->api->dnnl_eltwise_forward_desc_init(&op_desc, dnnl_forward_inference, algorithm,
                                                    byoc_dnnl_desc(function, argument.version), alpha, beta),
      "describe the function"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, output->rank, output->dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, &argument, 1,
                               dying_version(function, node, node->inputs[0], argument.version));
}

static int has_dims_of(const byoc_dnnl_value_t *a, const byoc_dnnl_value_t *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0])) == 0;
}

// binary: the first operand has the result's dimensions, the second broadcasts to them.
int32_t byoc_dnnl_build_binary(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_api_t *api = function->api;
  const byoc_dnnl_graph_t *graph = &function->graph;
  const byoc_dnnl_value_t *output = &graph->values[node->output];
  dnnl_alg_kind_t algorithm = byoc_dnnl_algorithm("binary", byoc_dnnl_node_string(node, "algorithm", ""));
  if (algorithm == dnnl_alg_kind_undef)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its algorithm is unknown");
  if (node->input_count != 2 || node->inputs[1] < 0 || !has_dims_of(&graph->values[node->inputs[0]], output))
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its operands do not match");
  if (byoc_dnnl_is_plain(function, algorithm, 0.0f))
    return byoc_dnnl_build_plain(function, node, &(byoc_dnnl_plain_t){BYOC_DNNL_PLAIN_BINARY, algorithm});
  byoc_dnnl_argument_t arguments[2] = {{DNNL_ARG_SRC_0, -1}, {DNNL_ARG_SRC_1, -1}};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_dense(function, node->inputs[0], &arguments[0].version));
  dnnl_memory_desc_t desc = *byoc_dnnl_desc(function, arguments[0].version);
  if (has_dims_of(&graph->values[node->inputs[1]], output))
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, node->inputs[1], &desc, &arguments[1].version));
  else
    BYOC_DNNL_RETURN_IF_ERROR(
        byoc_dnnl_read_broadcast(function, node->inputs[1], output->rank, output->dims, &arguments[1].version));
  dnnl_binary_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      api->dnnl_binary_desc_init(&op_desc, algorithm, &desc, byoc_dnnl_desc(function, arguments[1].version), &desc),
      "describe the function"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, output->rank, output->dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, arguments, 2,
                               dying_version(function, node, node->inputs[0], arguments[0].version));
}

// prelu: the slope broadcasts to x.
int32_t byoc_dnnl_build_prelu(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  if (node->input_count != 2 || node->inputs[1] < 0)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it has no slope");
  byoc_dnnl_argument_t arguments[2] = {{DNNL_ARG_SRC, -1}, {DNNL_ARG_WEIGHTS, -1}};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_dense(function, node->inputs[0], &arguments[0].version));
  BYOC_DNNL_RETURN_IF_ERROR(
      byoc_dnnl_read_broadcast(function, node->inputs[1], output->rank, output->dims, &arguments[1].version));
  dnnl_memory_desc_t slope;
  byoc_dnnl_layout_any(output->rank, byoc_dnnl_desc(function, arguments[1].version)->dims, &slope);
  dnnl_prelu_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(
      byoc_dnnl_check(function,
                      function->api->dnnl_prelu_forward_desc_init(
                          &op_desc, dnnl_forward_inference, byoc_dnnl_desc(function, arguments[0].version), &slope),
                      "describe the PReLU"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, output->rank, output->dims, 1.0f, &fusion));
  slope = *function->api->dnnl_primitive_desc_query_md(fusion.primitive_desc, dnnl_query_weights_md, 0);
  if (!function->api->dnnl_memory_desc_equal(&slope, byoc_dnnl_desc(function, arguments[1].version))) {
    int32_t status = byoc_dnnl_reorder(function, arguments[1].version, &slope, &arguments[1].version);
    if (status != BYOC_OK) {
      (void)function->api->dnnl_primitive_desc_destroy(fusion.primitive_desc);
      return status;
    }
  }
  return byoc_dnnl_finish_node(function, node, &fusion, arguments, 2, -1);
}

// reduction: over the dimensions listed in `axes`; whether the output keeps them as ones is seen from its dimensions.
int32_t byoc_dnnl_build_reduction(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_api_t *api = function->api;
  const byoc_dnnl_value_t *input = &function->graph.values[node->inputs[0]];
  dnnl_alg_kind_t algorithm = byoc_dnnl_algorithm("reduction", byoc_dnnl_node_string(node, "algorithm", ""));
  if (algorithm == dnnl_alg_kind_undef)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its algorithm is unknown");
  const json_t *axes = json_object_get(node->attributes, "axes");
  dnnl_dims_t dims;
  memcpy(dims, input->dims, sizeof(dims));
  for (size_t i = 0; i < json_array_size(axes); ++i) {
    json_int_t axis = json_integer_value(json_array_get(axes, i));
    if (axis < 0 || axis >= input->rank) return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its axes are wrong");
    dims[axis] = 1;
  }
  if (byoc_dnnl_is_plain(function, algorithm, 0.0f)) {
    byoc_dnnl_plain_t plain = {BYOC_DNNL_PLAIN_REDUCTION, algorithm};
    memcpy(plain.y, dims, sizeof(plain.y));
    return byoc_dnnl_build_plain(function, node, &plain);
  }
  byoc_dnnl_argument_t argument = {DNNL_ARG_SRC, -1};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_dense(function, node->inputs[0], &argument.version));
  dnnl_memory_desc_t output_desc;
  byoc_dnnl_layout_plain(input->rank, dims, &output_desc);
  dnnl_reduction_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(
      byoc_dnnl_check(function,
                      api->dnnl_reduction_desc_init(&op_desc, algorithm, byoc_dnnl_desc(function, argument.version),
                                                    &output_desc, 0.0f, 0.0f),
                      "describe the reduction"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, input->rank, dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, &argument, 1, -1);
}
