// SPDX-License-Identifier: Apache-2.0
// Makes operator nodes with their types, for rewrites and expansions.
#include "core/op/op.h"

static byoc_node_t *out_of_memory(byoc_diag_t *diag) {
  byoc_diag_out_of_memory(diag);
  return NULL;
}

byoc_node_t *byoc_op_create_with(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *name,
                                 byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count,
                                 const byoc_attribute_t *attributes, size_t attribute_count, byoc_diag_t *diag) {
  const byoc_op_t *op = byoc_op_newest(domain, name);
  if (!op) {
    byoc_diag_error(diag, BYOC_INTERNAL, "there is no operator '%s' to rewrite to", name);
    return NULL;
  }
  byoc_node_t *node =
      byoc_node_create(block, before, domain, name, op->since_version, operands, operand_count, result_count);
  if (!node) return out_of_memory(diag);
  bool ok = true;
  for (size_t i = 0; i < attribute_count && ok; ++i) ok = byoc_attributes_set(&node->attributes, &attributes[i]);
  if (!ok) {
    byoc_node_erase(node);
    return out_of_memory(diag);
  }
  if (byoc_infer_node(node, diag) == BYOC_OK) return node;
  byoc_node_erase(node);
  return NULL;
}

byoc_node_t *byoc_op_create(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *name,
                            byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count,
                            byoc_diag_t *diag) {
  return byoc_op_create_with(block, before, domain, name, operands, operand_count, result_count, NULL, 0, diag);
}
