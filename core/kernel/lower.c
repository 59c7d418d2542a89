#include "core/kernel/lower.h"

#include "core/kernel/outline.h"

// Expansions may expand again; more rounds than this mean that they do so for ever.
#define MAX_EXPANSIONS 64

static byoc_status_t expand_block(byoc_block_t *block, byoc_diag_t *diag, bool *changed) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(expand_block(node->blocks[b], diag, changed));
    const byoc_op_t *op = node->callee ? NULL : byoc_op_of(node);
    if (!op || !op->expand) continue;
    char text[256];
    byoc_node_describe(node, text, sizeof(text));
    bool expanded = false;
    BYOC_RETURN_IF_ERROR_IN(diag, op->expand(node, diag, &expanded), "expanding %s", text);
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

static bool is_dead(const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->result_count; ++i)
    if (node->results[i]->uses.count > 0) return false;
  const byoc_op_t *op = byoc_op_of(node);
  return op && (op->point || op->loops || op->is_view);
}

static void erase_dead(byoc_block_t *block) {
  for (byoc_node_t *node = block->last, *previous; node; node = previous) {
    previous = node->previous;
    for (uint32_t b = 0; b < node->block_count; ++b) erase_dead(node->blocks[b]);
    if (is_dead(node)) byoc_node_erase(node);
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

byoc_status_t byoc_kernel_lower_module(byoc_graph_module_t *module, const byoc_kernel_options_t *options,
                                       byoc_diag_t *diag) {
  byoc_kernel_table_t table = {.module = module, .allocator = module->allocator};
  byoc_status_t status = BYOC_OK;
  size_t count = module->functions.count; // kernels are added behind
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    byoc_function_t *function = module->functions.data[i];
    if (function->kind != BYOC_FUNCTION_GRAPH || byoc_attributes_find(&function->attributes, "Compiler") ||
        byoc_function_has_flag(function, "Extern"))
      continue;
    status = expand_function(function, diag);
    if (status == BYOC_OK) {
      erase_dead(function->body);
      status = lower_block(&table, function->body, options ? options->fuse : true, diag);
    }
    if (status != BYOC_OK) byoc_diag_context(diag, status, "function '%s'", function->name);
  }
  byoc_vector_deinit(&table.functions, table.allocator);
  byoc_vector_deinit(&table.hashes, table.allocator);
  return status;
}
