// SPDX-License-Identifier: Apache-2.0
// Lowers a module to kernels: expands operators, groups nodes, outlines and lowers the groups.
#include "core/kernel/lower_module.h"

#include "core/ir/attribute_names.h"
#include "core/ir/loop_in_place.h"
#include "core/ir/virtual_device.h"
#include "core/kernel/join.h"
#include "core/kernel/outline.h"
#include "core/kernel/require.h"
#include "core/kernel/shapes.h"
#include "core/op/expand.h"
#include "core/ops/byoc/symbolic.h"

// Expansions may expand again; more rounds than this mean that they never end.
#define MAX_EXPANSIONS 64

static byoc_status_t expand_block(byoc_block_t *block, byoc_diag_t *diag, bool *changed) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(expand_block(node->blocks[b], diag, changed));
    bool expanded = false;
    BYOC_RETURN_IF_ERROR(byoc_op_expand(node, diag, &expanded));
    if (!expanded) continue;
    *changed = true;
    byoc_node_erase(node);
  }
  return BYOC_OK;
}

static byoc_status_t expand_function(byoc_function_t *function, byoc_diag_t *diag) {
  bool changed = true;
  for (int round = 0; changed; ++round) {
    if (round == MAX_EXPANSIONS)
      return byoc_diag_error(diag, BYOC_INTERNAL, "operators of function '%s' expand without end", function->name);
    changed = false;
    BYOC_RETURN_IF_ERROR(expand_block(function->body, diag, &changed));
  }
  return BYOC_OK;
}

// Values that the host makes bind the symbols of their types when they are made.
static bool binds_symbols(const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->result_count; ++i)
    if (byoc_type_is_tensor(node->results[i]->type) && !byoc_type_is_static(node->results[i]->type)) return true;
  return node->result_count == 0;
}

static bool is_dead(const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->result_count; ++i)
    if (node->results[i]->uses.count > 0) return false;
  const byoc_op_t *op = byoc_op_of(node);
  if (byoc_is_requirement(node)) return false;
  if (op && (op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST))) return !binds_symbols(node);
  return op && (op->point || op->loops || op->is_view);
}

static void erase_dead(byoc_block_t *block) {
  for (byoc_node_t *node = block->last, *previous; node; node = previous) {
    previous = node->previous;
    if (is_dead(node)) {
      byoc_node_erase(node);
      continue;
    }
    for (uint32_t b = 0; b < node->block_count; ++b) erase_dead(node->blocks[b]);
  }
}

static byoc_status_t lower_block(byoc_kernel_table_t *table, byoc_block_t *block, bool fuse, byoc_diag_t *diag) {
  BYOC_FOR_EACH_NODE(node, block)
  for (uint32_t b = 0; b < node->block_count; ++b)
    BYOC_RETURN_IF_ERROR(lower_block(table, node->blocks[b], fuse, diag));
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, table->allocator);
  byoc_fusion_t fusion;
  byoc_status_t status = byoc_fuse_block(block, fuse, &scratch, diag, &fusion);
  for (size_t i = 0; i < fusion.groups.count && status == BYOC_OK; ++i)
    status = byoc_outline_group(table, &fusion, fusion.groups.data[i], diag);
  byoc_arena_deinit(&scratch);
  if (status != BYOC_OK) return status;
  erase_dead(block); // inlined producers
  return byoc_block_sort(block, diag);
}

static bool is_lowered(const byoc_function_t *function) {
  return function->kind == BYOC_FUNCTION_GRAPH && !byoc_function_is_region(function) &&
         !byoc_function_has_flag(function, BYOC_ATTRIBUTE_EXTERN);
}

static bool has_ranked_results(void *self, byoc_node_t *node) {
  (void)self;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const byoc_type_t *type = node->results[i]->type;
    if (byoc_type_is_tensor(type) && type->rank < 0) return false;
  }
  return true;
}

// After this only operators with definitions are left, and unknown dimensions belong to operators that are left.
static byoc_status_t prepare_function(byoc_function_t *function, byoc_diag_t *diag) {
  bool copied = false;
  if (!byoc_block_walk(function->body, has_ranked_results, NULL)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_afresh(function, diag)); // ranks may be assumed now
  }
  BYOC_RETURN_IF_ERROR(byoc_require_early(function->body, diag));
  BYOC_RETURN_IF_ERROR(expand_function(function, diag));
  erase_dead(function->body);
  BYOC_RETURN_IF_ERROR(byoc_infer_afresh(function, diag));
  BYOC_RETURN_IF_ERROR(byoc_shapes_copy_bodies(function->body, diag, &copied));
  return copied ? expand_function(function, diag) : BYOC_OK;
}

// Marks calls of a kernel that may write the first result over an operand that no other node reads. False if out of
// memory.
static bool mark_in_place(byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      if (!mark_in_place(node->blocks[b])) return false;
    }
    if (node->callee == NULL || node->callee->kind != BYOC_FUNCTION_KERNEL) continue;
    for (uint32_t i = 0; i < node->operand_count && i < 64; ++i) {
      const byoc_value_t *operand = node->operands[i];
      if (operand == NULL || operand->kind != BYOC_VALUE_RESULT || operand->uses.count != 1) continue;
      if (!byoc_loop_may_overwrite(node->callee->kernel, i, 0)) continue;
      if (!byoc_value_may_vanish(node->results[0], operand)) continue; // the result would live where the operand lives
      if (!byoc_attributes_set_int(&node->attributes, "result_from_operand", i)) return false;
      break;
    }
  }
  return true;
}

static byoc_status_t lower_function(byoc_kernel_table_t *table, byoc_function_t *function, bool fuse,
                                    byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_require_settled(function->body, diag));
  BYOC_RETURN_IF_ERROR(byoc_shapes_bind(function, diag));
  BYOC_RETURN_IF_ERROR(byoc_shapes_drop_unread(function->body, diag));
  erase_dead(function->body);
  bool in_workspace = fuse && byoc_stays_in_workspace(function);
  if (in_workspace) BYOC_RETURN_IF_ERROR(byoc_join_in_place(function, diag));
  if (in_workspace) erase_dead(function->body); // indices that became addresses
  BYOC_RETURN_IF_ERROR(lower_block(table, function->body, fuse, diag));
  return in_workspace && !mark_in_place(function->body) ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

byoc_status_t byoc_kernel_lower_module(byoc_graph_module_t *module, const byoc_kernel_options_t *options,
                                       byoc_diag_t *diag) {
  byoc_kernel_table_t table = {.module = module, .allocator = module->allocator};
  byoc_status_t status = BYOC_OK;
  size_t count = module->functions.count; // kernels are appended
  module->is_being_lowered = true;
  for (int step = 0; step < 2 && status == BYOC_OK; ++step) {
    if (step == 1) status = byoc_name_unknown_dimensions(module, diag, NULL);
    for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
      byoc_function_t *function = module->functions.data[i];
      if (!is_lowered(function)) continue;
      status = step == 0 ? prepare_function(function, diag)
                         : lower_function(&table, function, options ? options->fuse : true, diag);
      if (status != BYOC_OK) byoc_diag_context(diag, status, "function '%s'", function->name);
    }
  }
  module->is_being_lowered = false;
  byoc_vector_deinit(&table.functions, table.allocator);
  byoc_vector_deinit(&table.hashes, table.allocator);
  return status;
}
