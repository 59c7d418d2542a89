// SPDX-License-Identifier: Apache-2.0
// Adds the operators that follow a primitive as its post-operations.
#include "engine/function/build.h"

#include <string.h>

// The operand whose memory the node's result may share: a value that the step reads in any other role must survive.
static int value_is_read_elsewhere(const byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                   uint32_t post_op) {
  const byoc_dnnl_graph_t *graph = &function->graph;
  int32_t root = byoc_dnnl_graph_root_value(graph, node->post_ops[post_op].value);
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (node->inputs[i] >= 0 && byoc_dnnl_graph_root_value(graph, node->inputs[i]) == root) return 1;
  for (uint32_t i = 0; i < node->post_op_count; ++i)
    if (i != post_op && node->post_ops[i].value >= 0 &&
        byoc_dnnl_graph_root_value(graph, node->post_ops[i].value) == root)
      return 1;
  return 0;
}

static int64_t element_count(int32_t rank, const dnnl_dims_t dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i) count *= dims[i];
  return count;
}

// Appends a binary post-op whose operand is seen in the result's dimensions, which may be fewer than the model's (a
// batched matmul runs as one of two dimensions). Returns 0 where that cannot be expressed.
static int append_binary(byoc_dnnl_function_t *function, const byoc_dnnl_post_op_t *post_op, uint32_t position,
                         int32_t output, int32_t rank, const dnnl_dims_t dims, dnnl_post_ops_t post_ops,
                         byoc_dnnl_fusion_t *fusion) {
  const byoc_dnnl_value_t *operand = &function->graph.values[post_op->value];
  const byoc_dnnl_value_t *result = &function->graph.values[output];
  dnnl_dims_t seen;
  int64_t count = element_count(operand->rank, operand->dims);
  int same_dims = rank == result->rank && memcmp(dims, result->dims, (size_t)rank * sizeof(dims[0])) == 0;
  int is_full = count == element_count(rank, dims);
  int is_row = count == operand->dims[operand->rank - 1] && count == dims[rank - 1];
  if (is_full) {
    memcpy(seen, dims, (size_t)rank * sizeof(seen[0]));
  } else if (same_dims && operand->rank <= rank) {
    for (int32_t i = 0; i < rank; ++i) seen[i] = i < rank - operand->rank ? 1 : operand->dims[i - rank + operand->rank];
  } else if (is_row || count == 1) {
    for (int32_t i = 0; i < rank; ++i) seen[i] = i < rank - 1 ? 1 : count;
  } else {
    return 0;
  }
  for (int32_t i = 0; i < rank; ++i)
    if (seen[i] != 1 && seen[i] != dims[i]) return 0;

  // An operand of the result's size gets the result's layout, which the primitive has yet to choose.
  int32_t version = -1;
  dnnl_memory_desc_t desc;
  if (is_full && count > 1) {
    if (!same_dims) return 0;
    byoc_dnnl_layout_any(rank, seen, &desc);
  } else {
    if (byoc_dnnl_read_reshaped(function, post_op->value, rank, seen, &version) != BYOC_OK) return 0;
    desc = *byoc_dnnl_desc(function, version);
  }
  if (function->api->dnnl_post_ops_append_binary(post_ops, post_op->algorithm, &desc) != dnnl_success) return 0;
  fusion->operands[fusion->operand_count].role = DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)position) | DNNL_ARG_SRC_1;
  fusion->operands[fusion->operand_count].value = post_op->value;
  fusion->operands[fusion->operand_count++].version = version;
  return 1;
}

// oneDNN 2.6 reads the operand of a binary post-op wrongly in elementwise primitives where dimensions are 1, and its
// plain pooling passes over a sum; a step of its own costs little there.
static int fuses_binary(const byoc_dnnl_node_t *node) {
  static const char *const operators[] = {"convolution", "deconvolution", "matmul", "inner_product"};
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i)
    if (strcmp(node->op, operators[i]) == 0) return 1;
  return 0;
}

// Appends the node's first `count` post-ops. Returns 0 where one of them cannot be.
static int append_post_ops(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, uint32_t count, int32_t rank,
                           const dnnl_dims_t dims, int allow_sum, dnnl_post_ops_t post_ops,
                           byoc_dnnl_fusion_t *fusion) {
  fusion->sum_value = -1;
  fusion->operand_count = 0;
  fusion->fused_count = count;
  const byoc_dnnl_value_t *result = &function->graph.values[node->output];
  for (uint32_t i = 0; i < count; ++i) {
    const byoc_dnnl_post_op_t *post_op = &node->post_ops[i];
    if (post_op->kind == BYOC_DNNL_POST_ELTWISE) {
      if (function->api->dnnl_post_ops_append_eltwise(post_ops, 1.0f, post_op->algorithm, post_op->alpha,
                                                      post_op->beta) != dnnl_success)
        return 0;
      continue;
    }
    if (!fuses_binary(node)) return 0;
    // conv(x) + y → y += conv(x): y's memory becomes the result's
    const byoc_dnnl_value_t *operand = &function->graph.values[post_op->value];
    if (allow_sum && post_op->algorithm == dnnl_binary_add && fusion->sum_value < 0 &&
        !value_is_read_elsewhere(function, node, i) && operand->rank == result->rank && rank == result->rank &&
        memcmp(operand->dims, result->dims, (size_t)rank * sizeof(dims[0])) == 0 &&
        memcmp(operand->dims, dims, (size_t)rank * sizeof(dims[0])) == 0) {
      if (function->api->dnnl_post_ops_append_sum(post_ops, 1.0f) != dnnl_success) return 0;
      fusion->sum_value = post_op->value;
      continue;
    }
    if (!append_binary(function, post_op, i, node->output, rank, dims, post_ops, fusion)) return 0;
  }
  return 1;
}

static int is_reference(const byoc_dnnl_function_t *function, dnnl_primitive_desc_t primitive_desc) {
  const char *name = NULL;
  if (function->api->dnnl_primitive_desc_query(primitive_desc, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
    return 0;
  return name != NULL && strncmp(name, "ref", 3) == 0;
}

// One attempt; fusion->primitive_desc is NULL where oneDNN has no such primitive.
static int32_t try_fusion(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, const void *op_desc,
                          uint32_t count, int32_t rank, const dnnl_dims_t dims, float scale, int allow_sum,
                          byoc_dnnl_fusion_t *fusion) {
  const byoc_dnnl_api_t *api = function->api;
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_post_ops_t post_ops = NULL;
  fusion->primitive_desc = NULL;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_attributes(function, &attributes));
  int32_t status = byoc_dnnl_check(function, api->dnnl_post_ops_create(&post_ops), "create post-ops");
  if (status != BYOC_OK) goto cleanup;
  if (scale != 1.0f) {
    status = byoc_dnnl_check(function, api->dnnl_primitive_attr_set_output_scales(attributes, 1, 0, &scale),
                             "scale the result");
    if (status != BYOC_OK) goto cleanup;
  }
  if (!append_post_ops(function, node, count, rank, dims, allow_sum, post_ops, fusion)) goto cleanup;
  status = byoc_dnnl_check(function, api->dnnl_primitive_attr_set_post_ops(attributes, post_ops), "set post-ops");
  if (status != BYOC_OK) goto cleanup;
  dnnl_status_t created =
      api->dnnl_primitive_desc_create(&fusion->primitive_desc, op_desc, attributes, function->engine, NULL);
  if (created == dnnl_out_of_memory) status = byoc_dnnl_check(function, created, "create the primitive");
  if (created != dnnl_success) fusion->primitive_desc = NULL;
cleanup:
  if (post_ops != NULL) (void)api->dnnl_post_ops_destroy(post_ops);
  (void)api->dnnl_primitive_attr_destroy(attributes);
  return status;
}

int byoc_dnnl_is_plain(byoc_dnnl_function_t *function, dnnl_alg_kind_t algorithm, float alpha) {
  if (!byoc_dnnl_loses_nan(algorithm, alpha)) return 0;
  if (!function->is_careful) function->may_lose_nan = 1;
  return function->is_careful;
}

// A careful function fuses no post-op that may lose a NaN, and none behind it.
static uint32_t fusable_count(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  for (uint32_t i = 0; i < node->post_op_count; ++i)
    if (byoc_dnnl_is_plain(function, node->post_ops[i].algorithm, node->post_ops[i].alpha)) return i;
  return node->post_op_count;
}

int32_t byoc_dnnl_fuse(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, const void *op_desc,
                       int32_t result_rank, const dnnl_dims_t result_dims, float scale,
                       byoc_dnnl_fusion_t *out_fusion) {
  memset(out_fusion, 0, sizeof(*out_fusion));
  uint32_t most = fusable_count(function, node);
  if (most > BYOC_DNNL_FUSED_LIMIT) most = BYOC_DNNL_FUSED_LIMIT;
  // Optimised kernels first, with as many post-ops as they support; then any kernel.
  for (int accept_reference = 0; accept_reference < 2; ++accept_reference) {
    for (uint32_t left = most + 1; left-- > 0;) {
      for (int allow_sum = 1; allow_sum >= 0; --allow_sum) {
        BYOC_DNNL_RETURN_IF_ERROR(
            try_fusion(function, node, op_desc, left, result_rank, result_dims, scale, allow_sum, out_fusion));
        if (out_fusion->primitive_desc == NULL) continue;
        if (accept_reference || !is_reference(function, out_fusion->primitive_desc)) return BYOC_OK;
        (void)function->api->dnnl_primitive_desc_destroy(out_fusion->primitive_desc);
      }
    }
  }
  out_fusion->primitive_desc = NULL;
  return byoc_dnnl_node_fail(function, BYOC_UNSUPPORTED, "oneDNN has no primitive for it");
}

// The memory of the result: that of the value which it is added to, that of an operand which dies, or its own.
static int32_t place_result(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                            const byoc_dnnl_fusion_t *fusion, const dnnl_memory_desc_t *desc, int32_t overwrite,
                            int32_t *out_version) {
  if (fusion->sum_value >= 0) {
    // If a copy in the right layout has to be made anyway and nothing reads it later, its memory serves as well.
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, fusion->sum_value, NULL, out_version));
    int32_t root = byoc_dnnl_graph_root_value(&function->graph, fusion->sum_value);
    if (function->graph.values[root].last_use <= function->node) {
      BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, fusion->sum_value, desc, out_version));
      if (byoc_dnnl_can_overwrite(function, fusion->sum_value, *out_version))
        return byoc_dnnl_create_view(function, *out_version, desc, out_version);
    }
    return byoc_dnnl_read_copy(function, fusion->sum_value, desc, out_version);
  }
  if (overwrite >= 0 && function->graph.values[node->output].direct_output < 0 &&
      function->api->dnnl_memory_desc_equal(byoc_dnnl_desc(function, overwrite), desc))
    return byoc_dnnl_create_view(function, overwrite, desc, out_version);
  return byoc_dnnl_create_result(function, node->output, desc, out_version);
}

int32_t byoc_dnnl_finish_node(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, byoc_dnnl_fusion_t *fusion,
                              const byoc_dnnl_argument_t *arguments, int32_t argument_count, int32_t overwrite) {
  const byoc_dnnl_api_t *api = function->api;
  byoc_dnnl_argument_t all[8 + BYOC_DNNL_FUSED_LIMIT];
  dnnl_primitive_desc_t primitive_desc = fusion->primitive_desc;
  const byoc_dnnl_value_t *result = &function->graph.values[node->output];
  int32_t count = 0, version = -1, status = BYOC_OK;
  dnnl_memory_desc_t desc = *api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_exec_arg_md, DNNL_ARG_DST);
  for (; count < argument_count && count < 7; ++count) all[count] = arguments[count];
  for (uint32_t i = 0; status == BYOC_OK && i < fusion->operand_count; ++i) {
    int32_t operand = fusion->operands[i].version;
    if (operand < 0) {
      dnnl_memory_desc_t wanted =
          *api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_exec_arg_md, fusion->operands[i].role);
      if (wanted.format_kind == dnnl_format_kind_any) wanted = desc;
      status = byoc_dnnl_read(function, fusion->operands[i].value, &wanted, &operand);
    }
    all[count++] = (byoc_dnnl_argument_t){fusion->operands[i].role, operand};
  }
  if (status == BYOC_OK) status = place_result(function, node, fusion, &desc, overwrite, &version);
  if (status != BYOC_OK) {
    (void)api->dnnl_primitive_desc_destroy(primitive_desc);
    return status;
  }
  all[count++] = (byoc_dnnl_argument_t){DNNL_ARG_DST, version};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_add_step(function, primitive_desc, all, count));
  if (desc.ndims != result->rank || memcmp(desc.dims, result->dims, (size_t)desc.ndims * sizeof(desc.dims[0])) != 0) {
    dnnl_memory_desc_t seen;
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
        function, byoc_dnnl_reshape(function, &desc, result->rank, result->dims, &seen), "reshape the result"));
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_view(function, version, &seen, &version));
  }
  return byoc_dnnl_apply_post_ops(function, node, fusion->fused_count, version);
}

static int32_t apply_eltwise(byoc_dnnl_function_t *function, const byoc_dnnl_post_op_t *post_op,
                             dnnl_primitive_attr_t attributes, int32_t version) {
  const byoc_dnnl_api_t *api = function->api;
  dnnl_eltwise_desc_t op_desc;
  dnnl_primitive_desc_t primitive_desc = NULL;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      api->dnnl_eltwise_forward_desc_init(&op_desc, dnnl_forward_inference, post_op->algorithm,
                                          byoc_dnnl_desc(function, version), post_op->alpha, post_op->beta),
      "describe a post-op"));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function, api->dnnl_primitive_desc_create(&primitive_desc, &op_desc, attributes, function->engine, NULL),
      "create a post-op"));
  byoc_dnnl_argument_t arguments[] = {{DNNL_ARG_SRC, version}, {DNNL_ARG_DST, version}};
  return byoc_dnnl_add_step(function, primitive_desc, arguments, 2);
}

static int32_t apply_binary(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                            const byoc_dnnl_post_op_t *post_op, dnnl_primitive_attr_t attributes, int32_t version) {
  const byoc_dnnl_api_t *api = function->api;
  const byoc_dnnl_value_t *result = &function->graph.values[node->output];
  const byoc_dnnl_value_t *operand = &function->graph.values[post_op->value];
  dnnl_binary_desc_t op_desc;
  dnnl_primitive_desc_t primitive_desc = NULL;
  int32_t other = -1;
  dnnl_memory_desc_t desc = *byoc_dnnl_desc(function, version);
  int same = operand->rank == result->rank &&
             memcmp(operand->dims, result->dims, (size_t)result->rank * sizeof(result->dims[0])) == 0;
  if (same)
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, post_op->value, &desc, &other));
  else
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_broadcast(function, post_op->value, result->rank, result->dims, &other));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function, api->dnnl_binary_desc_init(&op_desc, post_op->algorithm, &desc, byoc_dnnl_desc(function, other), &desc),
      "describe a post-op"));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function, api->dnnl_primitive_desc_create(&primitive_desc, &op_desc, attributes, function->engine, NULL),
      "create a post-op"));
  byoc_dnnl_argument_t arguments[] = {{DNNL_ARG_SRC_0, version}, {DNNL_ARG_SRC_1, other}, {DNNL_ARG_DST, version}};
  return byoc_dnnl_add_step(function, primitive_desc, arguments, 3);
}

int32_t byoc_dnnl_apply_post_ops(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, uint32_t first,
                                 int32_t version) {
  dnnl_primitive_attr_t attributes = NULL;
  int32_t status = byoc_dnnl_create_attributes(function, &attributes);
  for (uint32_t i = first; status == BYOC_OK && i < node->post_op_count; ++i) {
    const byoc_dnnl_post_op_t *post_op = &node->post_ops[i];
    if (byoc_dnnl_is_plain(function, post_op->algorithm, post_op->alpha))
      status = byoc_dnnl_plain_post_op(function, node, post_op, &version);
    else
      status = post_op->kind == BYOC_DNNL_POST_ELTWISE ? apply_eltwise(function, post_op, attributes, version)
                                                       : apply_binary(function, node, post_op, attributes, version);
  }
  if (attributes != NULL) (void)function->api->dnnl_primitive_attr_destroy(attributes);
  if (status == BYOC_OK) byoc_dnnl_define(function, node->output, version);
  return status;
}
