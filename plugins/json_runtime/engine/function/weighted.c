// SPDX-License-Identifier: Apache-2.0
// Builds nodes of x, weights and maybe a bias: convolutions and inner products.
#include "engine/function/build.h"

int32_t byoc_dnnl_weighted(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                           byoc_dnnl_weighted_t *out_weighted) {
  const byoc_dnnl_value_t *values = function->graph.values;
  if (node->input_count < 2 || node->inputs[1] < 0)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it has no weights");
  byoc_dnnl_weighted_t *w = out_weighted;
  w->input = &values[node->inputs[0]];
  w->weights = &values[node->inputs[1]];
  w->output = &values[node->output];
  w->bias = node->input_count > 2 && node->inputs[2] >= 0 ? &values[node->inputs[2]] : NULL;
  byoc_dnnl_layout_any(w->input->rank, w->input->dims, &w->input_desc);
  byoc_dnnl_layout_any(w->weights->rank, w->weights->dims, &w->weights_desc);
  byoc_dnnl_layout_any(w->output->rank, w->output->dims, &w->output_desc);
  return BYOC_OK;
}

int32_t byoc_dnnl_finish_weighted(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                  byoc_dnnl_fusion_t *fusion) {
  const byoc_dnnl_api_t *api = function->api;
  const int32_t bias = node->input_count > 2 ? node->inputs[2] : -1;
  byoc_dnnl_argument_t arguments[3] = {{DNNL_ARG_SRC, -1}, {DNNL_ARG_WEIGHTS, -1}, {DNNL_ARG_BIAS, -1}};
  dnnl_primitive_desc_t primitive_desc = fusion->primitive_desc;
  dnnl_memory_desc_t input_desc = *api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_src_md, 0);
  dnnl_memory_desc_t weights_desc = *api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_weights_md, 0);
  int32_t status = byoc_dnnl_read(function, node->inputs[0], &input_desc, &arguments[0].version);
  if (status == BYOC_OK) status = byoc_dnnl_read(function, node->inputs[1], &weights_desc, &arguments[1].version);
  if (status == BYOC_OK && bias >= 0) status = byoc_dnnl_read_plain(function, bias, &arguments[2].version);
  if (status != BYOC_OK) {
    (void)api->dnnl_primitive_desc_destroy(primitive_desc);
    return status;
  }
  return byoc_dnnl_finish_node(function, node, fusion, arguments, bias >= 0 ? 3 : 2, -1);
}
