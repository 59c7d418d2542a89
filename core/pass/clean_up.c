// SPDX-License-Identifier: Apache-2.0
// Passes that tidy: infer-types, inline-functions, remove-identities, remove-dead-code.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/outline.h"
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

byoc_status_t byoc_pass_infer_types(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  (void)changes;
  return byoc_infer_module(module, diag);
}

static bool is_marked_inline(void *self, const byoc_function_t *function) {
  (void)self;
  return byoc_function_has_flag(function, BYOC_ATTRIBUTE_INLINE) &&
         byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPILER) == NULL;
}

byoc_status_t byoc_pass_inline_functions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_inline_functions(module, is_marked_inline, NULL, diag, changes);
}

// ---- remove-identities ----

static bool is_cast_to_same_type(const byoc_node_t *node) {
  return (byoc_node_is_onnx(node, "Cast") || byoc_node_is_onnx(node, "CastLike")) &&
         byoc_type_equal(node->operands[0]->type, node->results[0]->type);
}

// Outside of training Dropout hands its input through; its mask is the second result.
static bool is_idle_dropout(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "Dropout")) return false;
  if (node->result_count > 1 && node->results[1]->uses.count > 0) return false;
  const byoc_value_t *training = node->operand_count > 2 ? node->operands[2] : NULL;
  if (training == NULL) return true;
  int64_t is_training = 0;
  return byoc_value_scalar_i64(training, &is_training) && is_training == 0;
}

// A permutation that moves no axis at all. One that moves axes of one element only is a Reshape instead.
static bool is_idle_transpose(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "Transpose")) return false;
  size_t count = 0;
  const int64_t *permutation = byoc_node_ints(node, "perm", &count);
  if (permutation == NULL) return node->operands[0]->type->rank == 1;
  for (size_t i = 0; i < count; ++i) {
    if (permutation[i] != (int64_t)i) return false;
  }
  return true;
}

// A reshape to the same shape.
static bool is_idle_view(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && op->is_view && byoc_type_is_static(node->results[0]->type) &&
         byoc_type_equal(node->operands[0]->type, node->results[0]->type);
}

static bool is_identity(const byoc_node_t *node) {
  if (node->operand_count == 0 || node->operands[0] == NULL || node->result_count == 0) return false;
  return byoc_node_is_onnx(node, "Identity") || is_cast_to_same_type(node) || is_idle_dropout(node) ||
         is_idle_transpose(node) || is_idle_view(node);
}

// f(x) → x
static byoc_status_t remove_identity(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (!is_identity(node) || !byoc_value_serves(node->operands[0], node->results[0])) return BYOC_OK;
  if (!byoc_value_replace_uses(node->results[0], node->operands[0])) return byoc_diag_out_of_memory(diag);
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_remove_identities(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, remove_identity, NULL, diag, changes);
}

// ---- remove-dead-code ----

static size_t remove_dead_nodes(byoc_block_t *block) {
  size_t count = 0;
  for (byoc_node_t *node = block->last; node != NULL;) {
    byoc_node_t *previous = node->previous;
    if (byoc_pass_is_unused(node)) {
      byoc_node_erase(node);
      count += 1;
    } else {
      for (uint32_t b = 0; b < node->block_count; ++b) count += remove_dead_nodes(node->blocks[b]);
    }
    node = previous;
  }
  return count;
}

static bool mark_callee(void *self, byoc_node_t *node) {
  return node->callee == NULL || byoc_pointer_map_put(self, node->callee, node->callee);
}

static bool is_reached(void *self, const byoc_function_t *function) {
  return byoc_pointer_map_find(self, function) != NULL || !byoc_function_is_in_scope(function);
}

// Functions that main does not reach.
static byoc_status_t remove_dead_functions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  byoc_function_t *main = byoc_graph_module_main(module);
  if (main == NULL || strcmp(main->name, "main") != 0) return BYOC_OK; // a library of functions: all are kept
  byoc_map_t reached;
  byoc_pointer_map_init(&reached, module->allocator);
  bool ok = byoc_pointer_map_put(&reached, main, main);
  for (size_t i = 0; i < reached.count && ok; ++i) {
    byoc_function_t *function = reached.entries[i].value;
    ok = byoc_block_walk(function->body, mark_callee, &reached);
  }
  size_t count = module->functions.count;
  if (ok) byoc_graph_module_keep_functions(module, is_reached, &reached);
  *changes += count - module->functions.count;
  byoc_map_deinit(&reached);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_pass_remove_dead_code(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    *changes += remove_dead_nodes(function->body);
  }
  return remove_dead_functions(module, diag, changes);
}
