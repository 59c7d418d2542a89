// SPDX-License-Identifier: Apache-2.0
// Makes steps of plain loops, for functions that are computed carefully.
#include <string.h>

#include "engine/function/build.h"

// With versions of the node's operands; the result's becomes *out_version, which is `in_place` unless that is negative.
static int32_t add_plain(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, const byoc_dnnl_plain_t *plain,
                         int32_t x, int32_t z, int32_t in_place, int32_t *out_version) {
  *out_version = in_place;
  if (in_place < 0) {
    dnnl_memory_desc_t desc;
    byoc_dnnl_layout_plain(plain->rank, plain->y, &desc);
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_result(function, node->output, &desc, out_version));
  }
  const byoc_dnnl_argument_t arguments[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, *out_version}, {DNNL_ARG_SRC_1, z}};
  return byoc_dnnl_add_plain_step(function, plain, arguments, z >= 0 ? 3 : 2);
}

int32_t byoc_dnnl_build_plain(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                              const byoc_dnnl_plain_t *plain) {
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  int32_t x = -1, z = -1, version = -1;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_plain(function, node->inputs[0], &x));
  byoc_dnnl_plain_t full = *plain;
  full.rank = byoc_dnnl_desc(function, x)->ndims;
  memcpy(full.x, byoc_dnnl_desc(function, x)->dims, sizeof(full.x));
  if (plain->kind != BYOC_DNNL_PLAIN_REDUCTION) memcpy(full.y, output->dims, sizeof(full.y));
  if (plain->kind == BYOC_DNNL_PLAIN_BINARY) {
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_broadcast(function, node->inputs[1], full.rank, full.x, &z));
    memcpy(full.z, byoc_dnnl_desc(function, z)->dims, sizeof(full.z));
  }
  BYOC_DNNL_RETURN_IF_ERROR(add_plain(function, node, &full, x, z, -1, &version));
  if (full.rank != output->rank || memcmp(full.y, output->dims, (size_t)full.rank * sizeof(full.y[0])) != 0) {
    dnnl_memory_desc_t seen; // without the dimensions that a reduction leaves as 1
    byoc_dnnl_layout_plain(output->rank, output->dims, &seen);
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_view(function, version, &seen, &version));
  }
  return byoc_dnnl_apply_post_ops(function, node, 0, version);
}

int32_t byoc_dnnl_plain_post_op(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                const byoc_dnnl_post_op_t *post_op, int32_t *version) {
  const byoc_dnnl_value_t *result = &function->graph.values[node->output];
  byoc_dnnl_plain_t plain = {.algorithm = post_op->algorithm, .alpha = post_op->alpha, .beta = post_op->beta};
  dnnl_memory_desc_t desc;
  int32_t x = *version, z = -1;
  byoc_dnnl_layout_plain(result->rank, result->dims, &desc);
  if (!function->api->dnnl_memory_desc_equal(byoc_dnnl_desc(function, x), &desc)) {
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_version(function, &desc, &x));
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_add_reorder(function, *version, x));
  }
  plain.kind = post_op->kind == BYOC_DNNL_POST_ELTWISE ? BYOC_DNNL_PLAIN_ELTWISE : BYOC_DNNL_PLAIN_BINARY;
  plain.rank = result->rank;
  memcpy(plain.x, result->dims, sizeof(plain.x));
  memcpy(plain.y, result->dims, sizeof(plain.y));
  if (plain.kind == BYOC_DNNL_PLAIN_BINARY) {
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_broadcast(function, post_op->value, result->rank, result->dims, &z));
    memcpy(plain.z, byoc_dnnl_desc(function, z)->dims, sizeof(plain.z));
  }
  return add_plain(function, node, &plain, x, z, x, version);
}
