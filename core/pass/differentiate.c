// SPDX-License-Identifier: Apache-2.0
// differentiate: Gradient nodes name values of the model, so this runs before any pass that may rename or drop values.
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

static byoc_status_t differentiate_node(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (!byoc_node_is(node, "ai.onnx.preview.training", "Gradient")) return BYOC_OK;
  char text[160];
  bool done = false;
  byoc_node_describe(node, text, sizeof(text));
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_op_of(node)->expand(node, diag, &done), "%s", text);
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_differentiate(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind != BYOC_FUNCTION_GRAPH) continue;
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_pass_visit_block(function->body, differentiate_node, NULL, diag, changes),
                            "in '%s'", function->name);
  }
  return BYOC_OK;
}
