// SPDX-License-Identifier: Apache-2.0
// canonicalise: an operator that can be spelled in several ways gets the spelling that backends' rules look for.
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// Sum, Mean, Max and Min take any number of operands.
static bool is_variadic(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && (op->traits & BYOC_OP_BROADCASTS) != 0 && op->max_inputs < 0;
}

// Sum(a, b) → Add(a, b); Sum(a), Mean(a), Max(a), Min(a) → a
static byoc_status_t rewrite_variadic(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (!is_variadic(node)) return BYOC_OK;
  if (node->operand_count == 1) return byoc_pass_replace(node, node->operands[0], diag, changes);
  if (node->operand_count != 2 || !byoc_node_is_onnx(node, "Sum")) return BYOC_OK;
  byoc_node_t *add = byoc_op_create(node->block, node, "", "Add", node->operands, 2, 1, diag);
  if (add == NULL || !byoc_node_set_name(add, node->name)) return byoc_diag_failure(diag);
  return byoc_pass_replace(node, add->results[0], diag, changes);
}

byoc_status_t byoc_pass_canonicalise(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, rewrite_variadic, NULL, diag, changes);
}
