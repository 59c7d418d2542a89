// SPDX-License-Identifier: Apache-2.0
// Operators that move or rename elements: concat is a primitive, the others are views.
#include <stdlib.h>
#include <string.h>

#include "engine/function/build.h"

int32_t byoc_dnnl_build_concat(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_api_t *api = function->api;
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  int64_t axis = byoc_dnnl_node_int(node, "axis", -1);
  if (axis < 0 || axis >= output->rank) return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its axis is wrong");
  int32_t count = 0, status = BYOC_OK, version = -1;
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_primitive_desc_t primitive_desc = NULL;
  byoc_dnnl_argument_t *arguments = calloc((size_t)node->input_count + 1, sizeof(*arguments));
  dnnl_memory_desc_t *descs = calloc((size_t)node->input_count, sizeof(*descs));
  int32_t *inputs = calloc((size_t)node->input_count, sizeof(*inputs));
  if (arguments == NULL || descs == NULL || inputs == NULL) {
    status = byoc_dnnl_node_fail(function, BYOC_OUT_OF_MEMORY, "out of memory");
    goto cleanup;
  }
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const byoc_dnnl_value_t *input = node->inputs[i] >= 0 ? &function->graph.values[node->inputs[i]] : NULL;
    if (input == NULL || input->rank != output->rank) {
      status = byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it lacks an operand");
      goto cleanup;
    }
    if (input->dims[axis] > 0) inputs[count++] = node->inputs[i]; // an input without elements adds none
  }
  status = byoc_dnnl_create_attributes(function, &attributes);
  // The operands as they are, then, where that has no optimised kernel, all of them row-major.
  for (int plain = 0; plain < 2 && status == BYOC_OK && primitive_desc == NULL; ++plain) {
    for (int32_t i = 0; status == BYOC_OK && i < count; ++i) {
      arguments[i].role = DNNL_ARG_MULTIPLE_SRC + i;
      status = plain ? byoc_dnnl_read_plain(function, inputs[i], &arguments[i].version)
                     : byoc_dnnl_read(function, inputs[i], NULL, &arguments[i].version);
      if (status == BYOC_OK) descs[i] = *byoc_dnnl_desc(function, arguments[i].version);
    }
    if (status != BYOC_OK) break;
    dnnl_memory_desc_t wanted;
    byoc_dnnl_layout_plain(output->rank, output->dims, &wanted);
    dnnl_status_t created = api->dnnl_concat_primitive_desc_create(&primitive_desc, plain ? &wanted : NULL, count,
                                                                   (int)axis, descs, attributes, function->engine);
    const char *name = "";
    if (created == dnnl_success)
      (void)api->dnnl_primitive_desc_query(primitive_desc, dnnl_query_impl_info_str, 0, &name);
    if (!plain && created == dnnl_success && strncmp(name, "ref", 3) == 0) {
      (void)api->dnnl_primitive_desc_destroy(primitive_desc);
      primitive_desc = NULL;
    } else if (created != dnnl_success) {
      primitive_desc = NULL;
      if (plain) status = byoc_dnnl_check(function, created, "concatenate");
    }
  }
  if (status != BYOC_OK) goto cleanup;
  dnnl_memory_desc_t desc = *api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_dst_md, 0);
  status = byoc_dnnl_create_result(function, node->output, &desc, &version);
  if (status != BYOC_OK) goto cleanup;
  arguments[count] = (byoc_dnnl_argument_t){DNNL_ARG_DST, version};
  status = byoc_dnnl_add_step(function, primitive_desc, arguments, count + 1);
  primitive_desc = NULL; // the step's now
  if (status == BYOC_OK) status = byoc_dnnl_apply_post_ops(function, node, 0, version);
cleanup:
  if (primitive_desc != NULL) (void)api->dnnl_primitive_desc_destroy(primitive_desc);
  if (attributes != NULL) (void)api->dnnl_primitive_attr_destroy(attributes);
  free(inputs);
  free(descs);
  free(arguments);
  return status;
}

// Views share the memory of their operand, so nothing may be applied to them in place.
static int32_t define_view(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, int32_t version) {
  if (node->post_op_count > 0) return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "a view has no post-ops");
  byoc_dnnl_define(function, node->output, version);
  return BYOC_OK;
}

int32_t byoc_dnnl_build_reshape(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_value_t *input = &function->graph.values[node->inputs[0]];
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  int64_t input_count = 1, output_count = 1;
  for (int32_t i = 0; i < input->rank; ++i) input_count *= input->dims[i];
  for (int32_t i = 0; i < output->rank; ++i) output_count *= output->dims[i];
  if (input_count != output_count)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it changes the number of elements");
  int32_t version = -1;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_reshaped(function, node->inputs[0], output->rank, output->dims, &version));
  return define_view(function, node, version);
}

// transpose: output dimension i is input dimension permutation[i].
int32_t byoc_dnnl_build_transpose(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  int64_t permutation[DNNL_MAX_NDIMS];
  int inverse[DNNL_MAX_NDIMS]; // oneDNN wants where each input dimension goes
  uint32_t seen = 0;
  if (!byoc_dnnl_node_ints(node, "permutation", 0, output->rank, permutation))
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its permutation is malformed");
  for (int32_t i = 0; i < output->rank; ++i) {
    if (permutation[i] < 0 || permutation[i] >= output->rank) break;
    inverse[permutation[i]] = i;
    seen |= 1u << permutation[i];
  }
  if (seen != (1u << output->rank) - 1)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its permutation is malformed");
  int32_t version = -1;
  dnnl_memory_desc_t desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, node->inputs[0], NULL, &version));
  if (byoc_dnnl_desc(function, version)->ndims != output->rank)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its permutation is malformed");
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function, function->api->dnnl_memory_desc_permute_axes(&desc, byoc_dnnl_desc(function, version), inverse),
      "transpose a value"));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_view(function, version, &desc, &version));
  return define_view(function, node, version);
}

// slice: the output's dimensions, from `offsets` on.
int32_t byoc_dnnl_build_slice(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_value_t *input = &function->graph.values[node->inputs[0]];
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  dnnl_dims_t offsets;
  if (input->rank != output->rank || !byoc_dnnl_node_ints(node, "offsets", 0, output->rank, offsets))
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its offsets are malformed");
  for (int32_t i = 0; i < output->rank; ++i)
    if (offsets[i] < 0 || offsets[i] > input->dims[i] - output->dims[i])
      return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "it reaches outside of its input");
  int32_t version = -1;
  dnnl_memory_desc_t desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, node->inputs[0], NULL, &version));
  dnnl_status_t cut =
      function->api->dnnl_memory_desc_init_submemory(&desc, byoc_dnnl_desc(function, version), output->dims, offsets);
  if (cut != dnnl_success) { // it cuts through blocks
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_plain(function, node->inputs[0], &version));
    cut =
        function->api->dnnl_memory_desc_init_submemory(&desc, byoc_dnnl_desc(function, version), output->dims, offsets);
  }
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(function, cut, "slice a value"));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_view(function, version, &desc, &version));
  return define_view(function, node, version);
}
