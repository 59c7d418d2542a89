// SPDX-License-Identifier: Apache-2.0
// Builds matrix products as oneDNN's matmul or inner_product.
#include <string.h>

#include "engine/function/build.h"

// inner_product: x [N, ...] by weights [O, ...] of the same trailing dimensions.
int32_t byoc_dnnl_build_inner_product(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  byoc_dnnl_weighted_t w;
  dnnl_memory_desc_t bias_desc;
  dnnl_inner_product_desc_t op_desc;
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_weighted(function, node, &w));
  if (w.bias != NULL) byoc_dnnl_layout_plain(w.bias->rank, w.bias->dims, &bias_desc);
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(function,
                                            function->api->dnnl_inner_product_forward_desc_init(
                                                &op_desc, dnnl_forward_inference, &w.input_desc, &w.weights_desc,
                                                w.bias != NULL ? &bias_desc : NULL, &w.output_desc),
                                            "describe the inner product"));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, w.output->rank, w.output->dims, 1.0f, &fusion));
  return byoc_dnnl_finish_weighted(function, node, &fusion);
}

// Dimensions of an operand with ones in front.
static void align_dims(const byoc_dnnl_value_t *value, int32_t rank, dnnl_dims_t out_dims) {
  for (int32_t i = 0; i < rank; ++i) out_dims[i] = i < rank - value->rank ? 1 : value->dims[i - rank + value->rank];
}

// The operand in these dimensions, its last two swapped by strides where it is stored transposed.
static int32_t read_matrix(byoc_dnnl_function_t *function, int32_t value, int32_t rank, const dnnl_dims_t dims,
                           int transposed, int32_t *out_version) {
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  int32_t version = -1;
  if (v->rank == rank && memcmp(v->dims, dims, (size_t)rank * sizeof(dims[0])) == 0 && v->has_layout == 0)
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_plain(function, value, &version));
  else if (v->rank == rank && v->has_layout)
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, value, NULL, &version));
  else
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_reshaped(function, value, rank, dims, &version));
  *out_version = version;
  if (!transposed) return BYOC_OK;
  int permutation[DNNL_MAX_NDIMS];
  for (int32_t i = 0; i < rank; ++i) permutation[i] = i;
  permutation[rank - 2] = rank - 1;
  permutation[rank - 1] = rank - 2;
  dnnl_memory_desc_t desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function, function->api->dnnl_memory_desc_permute_axes(&desc, byoc_dnnl_desc(function, version), permutation),
      "transpose an operand"));
  return byoc_dnnl_create_view(function, version, &desc, out_version);
}

// Reads the weights in the layout that the primitive chose; constants are repacked at creation.
static int32_t read_weights(byoc_dnnl_function_t *function, int32_t value, int32_t seen_version,
                            const dnnl_memory_desc_t *wanted, int32_t *out_version) {
  const dnnl_memory_desc_t *seen = byoc_dnnl_desc(function, seen_version);
  *out_version = seen_version;
  if (function->api->dnnl_memory_desc_equal(seen, wanted)) return BYOC_OK;
  const byoc_dnnl_value_t *v = &function->graph.values[value];
  if (v->rank == wanted->ndims && memcmp(v->dims, wanted->dims, (size_t)v->rank * sizeof(v->dims[0])) == 0)
    return byoc_dnnl_read(function, value, wanted, out_version);
  return byoc_dnnl_reorder(function, seen_version, wanted, out_version);
}

// matmul: a [..., M, K] by b [..., K, N], each transposed in its last two dimensions where the attributes say so,
// scaled by `scale`, plus a bias of N.
int32_t byoc_dnnl_build_matmul(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_api_t *api = function->api;
  const byoc_dnnl_graph_t *graph = &function->graph;
  if (node->input_count < 2 || node->inputs[1] < 0)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it has one operand");
  const byoc_dnnl_value_t *a = &graph->values[node->inputs[0]], *b = &graph->values[node->inputs[1]];
  const byoc_dnnl_value_t *output = &graph->values[node->output];
  int32_t bias = node->input_count > 2 ? node->inputs[2] : -1;
  int transpose_a = byoc_dnnl_node_int(node, "transpose_a", 0) != 0;
  int transpose_b = byoc_dnnl_node_int(node, "transpose_b", 0) != 0;
  int32_t rank = output->rank;
  if (rank < 2 || a->rank < 2 || b->rank < 2 || a->rank > rank || b->rank > rank)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its operands are not matrices");

  dnnl_dims_t a_dims, b_dims, output_dims;
  align_dims(a, rank, a_dims);
  align_dims(b, rank, b_dims);
  align_dims(output, rank, output_dims);
  // [S..., M, K] by [K, N] is one product of S*M rows.
  int b_is_matrix = 1;
  for (int32_t i = 0; i < rank - 2; ++i)
    if (b_dims[i] != 1) b_is_matrix = 0;
  if (rank > 2 && b_is_matrix && !transpose_a) {
    int64_t rows = 1;
    for (int32_t i = 0; i < rank - 1; ++i) rows *= a_dims[i];
    a_dims[0] = output_dims[0] = rows;
    a_dims[1] = a_dims[rank - 1];
    output_dims[1] = output_dims[rank - 1];
    b_dims[0] = b_dims[rank - 2];
    b_dims[1] = b_dims[rank - 1];
    rank = 2;
  }

  byoc_dnnl_argument_t arguments[3] = {{DNNL_ARG_SRC, -1}, {DNNL_ARG_WEIGHTS, -1}, {DNNL_ARG_BIAS, -1}};
  BYOC_DNNL_RETURN_IF_ERROR(read_matrix(function, node->inputs[0], rank, a_dims, transpose_a, &arguments[0].version));
  BYOC_DNNL_RETURN_IF_ERROR(read_matrix(function, node->inputs[1], rank, b_dims, transpose_b, &arguments[1].version));
  dnnl_memory_desc_t bias_desc, output_desc, weights_desc = *byoc_dnnl_desc(function, arguments[1].version);
  if (b->constant >= 0) byoc_dnnl_layout_any(rank, byoc_dnnl_desc(function, arguments[1].version)->dims, &weights_desc);
  byoc_dnnl_layout_plain(rank, output_dims, &output_desc);
  if (bias >= 0) {
    dnnl_dims_t bias_dims;
    for (int32_t i = 0; i < rank; ++i) bias_dims[i] = i < rank - 1 ? 1 : output_dims[i];
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_reshaped(function, bias, rank, bias_dims, &arguments[2].version));
    bias_desc = *byoc_dnnl_desc(function, arguments[2].version);
  }
  dnnl_matmul_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(
      byoc_dnnl_check(function,
                      api->dnnl_matmul_desc_init(&op_desc, byoc_dnnl_desc(function, arguments[0].version),
                                                 &weights_desc, bias >= 0 ? &bias_desc : NULL, &output_desc),
                      "describe the matrix product"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(
      byoc_dnnl_fuse(function, node, &op_desc, rank, output_dims, byoc_dnnl_node_float(node, "scale", 1.0f), &fusion));
  dnnl_primitive_desc_t primitive_desc = fusion.primitive_desc;
  weights_desc = *api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_weights_md, 0);
  int32_t status = read_weights(function, node->inputs[1], arguments[1].version, &weights_desc, &arguments[1].version);
  if (status != BYOC_OK) {
    (void)api->dnnl_primitive_desc_destroy(primitive_desc);
    return status;
  }
  return byoc_dnnl_finish_node(function, node, &fusion, arguments, bias >= 0 ? 3 : 2, -1);
}
