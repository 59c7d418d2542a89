// SPDX-License-Identifier: Apache-2.0
// Helpers of passes that rewrite nodes.
#include "core/pass/rewrite.h"

#include "core/ir/attribute_names.h"
#include "core/ir/virtual_device.h"
#include "core/kernel/require.h"
#include "core/op/limit.h"
#include "core/ops/byoc/symbolic.h"

byoc_status_t byoc_pass_visit_block(byoc_block_t *block, byoc_pass_visitor_t visit, void *self, byoc_diag_t *diag,
                                    size_t *changes) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(byoc_pass_visit_block(node->blocks[b], visit, self, diag, changes));
    }
    BYOC_RETURN_IF_ERROR(visit(node, self, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_visit_block_backwards(byoc_block_t *block, byoc_pass_visitor_t visit, void *self,
                                              byoc_diag_t *diag, size_t *changes) {
  for (byoc_node_t *node = block->last, *previous; node != NULL; node = previous) {
    previous = node->previous;
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(byoc_pass_visit_block_backwards(node->blocks[b], visit, self, diag, changes));
    }
    BYOC_RETURN_IF_ERROR(visit(node, self, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_visit_module(byoc_graph_module_t *module, byoc_pass_visitor_t visit, void *self,
                                     byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block(function->body, visit, self, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_replace(byoc_node_t *node, byoc_value_t *by, byoc_diag_t *diag, size_t *changes) {
  if (by == NULL) return byoc_diag_failure(diag);
  const byoc_value_t *result = node->results[0];
  bool is_made = by->uses.count == 0; // it was made for this and will live where the result did
  if (!is_made) by = byoc_value_in_place_of(by, result, node);
  if (by == NULL) return byoc_diag_out_of_memory(diag);
  if (result->name != NULL && by->name == NULL && byoc_value_producer(by) != NULL) {
    byoc_value_set_name(by, result->name);
  }
  if (!byoc_value_replace_uses(node->results[0], by)) return byoc_diag_out_of_memory(diag);
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

byoc_value_t *byoc_pass_constant_like(const byoc_node_t *node, const byoc_value_t *like, int32_t rank,
                                      const int64_t *sizes, void **out_data) {
  byoc_graph_module_t *module = node->function->module;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) dims[d] = byoc_dim_constant(sizes[d]);
  const byoc_type_t *type = byoc_type_tensor(&module->arena, like->type->dtype, rank, dims);
  byoc_constant_t *constant = type ? byoc_constant_allocate(module, like->constant->name, type, out_data) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(node->function, constant) : NULL;
  if (value != NULL) value->device = like->device;
  return value;
}

bool byoc_pass_is_unused(const byoc_node_t *node) {
  if (node->result_count == 0 || byoc_is_requirement(node)) return false; // it has an effect instead of a result
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (node->results[r]->uses.count > 0) return false;
  }
  return true;
}

// Does the run decide about elements of the node's operands?
static byoc_status_t is_limited(byoc_node_t *node, byoc_diag_t *diag, bool *out) {
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  byoc_status_t status = byoc_infer_relations(node, diag, &relations);
  bool failed = false;
  *out = false;
  for (size_t i = 0; i < relations.limits.count && status == BYOC_OK; ++i) {
    const byoc_limit_t *limit = &relations.limits.data[i];
    *out |= !byoc_limit_always_holds(node->operands[limit->operand], limit, &node->function->module->arena, &failed);
  }
  byoc_relations_deinit(&relations);
  return status == BYOC_OK && failed ? byoc_diag_out_of_memory(diag) : status;
}

byoc_status_t byoc_pass_keep_limits(byoc_node_t *node, byoc_node_t *first, byoc_diag_t *diag) {
  for (byoc_node_t *written = first; written != node; written = written->next) {
    bool is_marked = byoc_node_has_trait(written, BYOC_OP_LIMITS);
    if (is_marked) BYOC_RETURN_IF_ERROR(is_limited(written, diag, &is_marked));
    if (is_marked && !byoc_attributes_set_int(&written->attributes, BYOC_ATTRIBUTE_WRITTEN, 1)) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  byoc_status_t status = byoc_infer_relations(node, diag, &relations);
  if (status == BYOC_OK) status = byoc_require_limits(node, &relations, NULL, diag);
  byoc_relations_deinit(&relations);
  return status;
}
