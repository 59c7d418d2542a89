// SPDX-License-Identifier: Apache-2.0
// Turns functions that are written inline, as a node's nested block, into functions of the module.
#include "core/ir/outline.h"

typedef struct free_search_t {
  const byoc_node_t *owner; // the node whose block is searched
  const byoc_value_t *found;
} free_search_t;

// Is it a value of the blocks around the owner, or the owner's own result?
static bool is_free(const free_search_t *search, const byoc_value_t *value) {
  if (value == NULL || byoc_value_is_constant(value)) return false;
  const byoc_block_t *home = value->kind == BYOC_VALUE_RESULT ? value->node->block : value->block;
  while (home != NULL && home->owner != search->owner) home = home->owner ? home->owner->block : NULL;
  return home == NULL;
}

static bool check_results(free_search_t *search, const byoc_block_t *block) {
  for (size_t r = 0; r < block->results.count && search->found == NULL; ++r) {
    if (is_free(search, block->results.data[r])) search->found = block->results.data[r];
  }
  return search->found == NULL;
}

static bool check_node(void *self, byoc_node_t *node) {
  free_search_t *search = self;
  for (uint32_t i = 0; i < node->operand_count && search->found == NULL; ++i) {
    if (is_free(search, node->operands[i])) search->found = node->operands[i];
  }
  for (uint32_t b = 0; b < node->block_count && search->found == NULL; ++b) check_results(search, node->blocks[b]);
  return search->found == NULL;
}

static byoc_status_t check_body(byoc_node_t *node, byoc_diag_t *diag) {
  char text[160];
  byoc_node_describe(node, text, sizeof(text));
  if (node->block_count != 1 || node->operand_count != node->blocks[0]->parameters.count ||
      node->result_count != node->blocks[0]->results.count) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA,
                           "%s: an inline function has one body, with a parameter "
                           "for each operand and a result for each result",
                           text);
  }
  free_search_t search = {.owner = node};
  if (byoc_block_walk(node->blocks[0], check_node, &search) && check_results(&search, node->blocks[0])) return BYOC_OK;
  const char *name = search.found->name;
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: its body uses %%%s, which is not its own", text,
                                         name != NULL ? name : "(unnamed)");
  byoc_diag_hint(diag, "pass the value as an operand, with a parameter of the body for it");
  return status;
}

static bool copy_body(const byoc_block_t *from, byoc_function_t *to, byoc_map_t *values) {
  for (size_t p = 0; p < from->parameters.count; ++p) {
    byoc_value_t *old = from->parameters.data[p];
    byoc_value_t *parameter = byoc_block_add_parameter(to->body, old->name, old->type);
    if (parameter == NULL || !byoc_pointer_map_put(values, old, parameter)) return false;
    parameter->device = old->device;
  }
  BYOC_FOR_EACH_NODE(node, from) {
    if (byoc_node_clone(node, to->body, NULL, values) == NULL) return false;
  }
  for (size_t r = 0; r < from->results.count; ++r) {
    byoc_value_t *old = from->results.data[r];
    byoc_value_t *value =
        byoc_value_is_constant(old) ? byoc_function_constant(to, old->constant) : byoc_pointer_map_get(values, old);
    if (value == NULL || !byoc_block_add_result(to->body, from->result_names.data[r], value)) return false;
  }
  return true;
}

static bool replace_by_call(byoc_node_t *node, byoc_function_t *function) {
  byoc_node_t *call = byoc_node_create_call(node->block, node, function, node->operands, node->operand_count);
  if (call == NULL) return false;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    byoc_value_t *old = node->results[r], *result = call->results[r];
    result->type = old->type;
    result->device = old->device;
    byoc_value_set_name(result, old->name);
    if (!byoc_value_replace_uses(old, result)) return false;
  }
  byoc_node_erase(node);
  return true;
}

byoc_status_t byoc_outline_block(byoc_node_t *node, const char *name, byoc_diag_t *diag,
                                 byoc_function_t **out_function) {
  *out_function = NULL;
  BYOC_RETURN_IF_ERROR(check_body(node, diag));
  byoc_graph_module_t *module = node->function->module;
  char identifier[128];
  byoc_make_identifier(name, identifier, sizeof(identifier));
  const char *unique = byoc_graph_module_unique_name(module, identifier);
  byoc_function_t *function = unique != NULL ? byoc_function_create(module, unique) : NULL;
  byoc_map_t values; // of the block → of the function
  byoc_pointer_map_init(&values, module->allocator);
  bool ok = function != NULL && copy_body(node->blocks[0], function, &values) &&
            byoc_attributes_copy(&function->attributes, &node->attributes) && replace_by_call(node, function);
  byoc_map_deinit(&values);
  if (!ok) return byoc_diag_out_of_memory(diag);
  *out_function = function;
  return BYOC_OK;
}
