// Making operator nodes with their types, for rewrites and expansions.
#include "core/ops/op.h"

byoc_node_t *byoc_op_create_with(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *name,
                                 byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count,
                                 const byoc_attribute_t *attributes, size_t attribute_count) {
  const byoc_op_t *op = byoc_op_find(domain, name, BYOC_OPSET_NEWEST);
  if (!op) return NULL;
  byoc_node_t *node =
      byoc_node_create(block, before, domain, name, op->since_version, operands, operand_count, result_count);
  if (!node) return NULL;
  bool ok = true;
  for (size_t i = 0; i < attribute_count && ok; ++i) ok = byoc_attributes_set(&node->attributes, &attributes[i]);
  if (ok) ok = byoc_infer_node(node, NULL) == BYOC_OK;
  if (ok) return node;
  byoc_node_erase(node);
  return NULL;
}

byoc_node_t *byoc_op_create(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *name,
                            byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count) {
  return byoc_op_create_with(block, before, domain, name, operands, operand_count, result_count, NULL, 0);
}
