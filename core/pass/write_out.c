// SPDX-License-Identifier: Apache-2.0
// write-out: operators that stand for several of ai.onnx (the trait FUSED) are replaced by those before any backend
// sees them, so that rules for those match. write-around-constants does the same for operators that no backend claimed
// and that have constant operands, so that nodes that depend on constants alone can be folded.
#include "core/ir/attribute_names.h"
#include "core/op/expand.h"
#include "core/ops/byoc/symbolic.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// The new operators may ask less of the operands than the node does: relations that only the run can check stay as a
// Require in front of them.
static byoc_status_t keep_relations(byoc_node_t *node, byoc_node_t *first, byoc_diag_t *diag) {
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  byoc_status_t status = byoc_infer_relations(node, diag, &relations);
  if (status == BYOC_OK) status = byoc_require_kept(first, node, &relations, diag);
  byoc_relations_deinit(&relations);
  return status;
}

// Replaces a node by simpler ones if its row has a function for that; counts that as a change.
static byoc_status_t replace(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
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

static byoc_status_t write_out(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  return byoc_node_has_trait(node, BYOC_OP_FUSED) ? replace(node, diag, changes) : BYOC_OK;
}

static byoc_status_t write_around_constants(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] && byoc_value_is_constant(node->operands[i])) return replace(node, diag, changes);
  }
  return BYOC_OK;
}

// Repeats until nothing changes: a new operator may stand for several again.
static byoc_status_t visit_whole(byoc_function_t *function, byoc_pass_visitor_t visit, byoc_diag_t *diag,
                                 size_t *changes) {
  size_t before = 0;
  do {
    before = *changes;
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_pass_visit_block(function->body, visit, NULL, diag, changes), "in '%s'",
                            function->name);
  } while (*changes != before);
  return BYOC_OK;
}

byoc_status_t byoc_pass_write_out(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind != BYOC_FUNCTION_GRAPH) continue;
    BYOC_RETURN_IF_ERROR(visit_whole(function, write_out, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_write_around_constants(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    const bool is_taken = byoc_function_is_region(function) || byoc_function_has_flag(function, BYOC_ATTRIBUTE_EXTERN);
    if (function->kind != BYOC_FUNCTION_GRAPH || is_taken) continue;
    BYOC_RETURN_IF_ERROR(visit_whole(function, write_around_constants, diag, changes));
  }
  return BYOC_OK;
}
