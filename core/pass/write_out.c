// SPDX-License-Identifier: Apache-2.0
// write-out: operators that stand for several of ai.onnx (the trait FUSED) are written as those before any backend sees
// them, so that backends take them as what they are.
#include "core/ops/expand.h"
#include "core/ops/symbolic.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// The operators that replace the node may ask less of its operands than it does: what only the run can tell stays as a
// Require in front of them.
static byoc_status_t keep_relations(byoc_node_t *node, byoc_node_t *first, byoc_diag_t *diag) {
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  byoc_status_t status = byoc_infer_relations(node, diag, &relations);
  if (status == BYOC_OK) status = byoc_require_kept(first, node, &relations, diag);
  byoc_relations_deinit(&relations);
  return status;
}

static byoc_status_t write_out(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (!byoc_node_has_trait(node, BYOC_OP_FUSED)) return BYOC_OK;
  byoc_node_t *before = node->previous;
  bool expanded = false;
  BYOC_RETURN_IF_ERROR(byoc_op_expand(node, diag, &expanded));
  if (!expanded) return BYOC_OK;
  byoc_node_t *first = before ? before->next : node->block->first;
  BYOC_RETURN_IF_ERROR(byoc_pass_keep_limits(node, first, diag));
  BYOC_RETURN_IF_ERROR(keep_relations(node, first, diag));
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_write_out(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  size_t before = 0;
  do { // what one is written as may stand for several again
    before = *changes;
    BYOC_FOR_EACH_FUNCTION(function, module) {
      if (function->kind != BYOC_FUNCTION_GRAPH) continue;
      BYOC_RETURN_IF_ERROR_IN(diag, byoc_pass_visit_block(function->body, write_out, NULL, diag, changes), "in '%s'",
                              function->name);
    }
  } while (*changes != before);
  return BYOC_OK;
}
