// SPDX-License-Identifier: Apache-2.0
// Functions, and copies of nodes and functions.
#include <assert.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/graph_internal.h"

byoc_function_t *byoc_function_create(byoc_graph_module_t *module, const char *name) {
  assert(!byoc_graph_module_find(module, name) && !byoc_graph_module_find_constant(module, name));
  byoc_function_t *function = BYOC_ARENA_NEW(&module->arena, byoc_function_t);
  if (!function) return NULL;
  function->module = module;
  function->name = byoc_arena_copy_string(&module->arena, name);
  function->kind = BYOC_FUNCTION_GRAPH;
  function->attributes.arena = &module->arena;
  function->body = byoc_ir_block_create(function, NULL);
  byoc_pointer_map_init(&function->constants, byoc_arena_allocator(&module->arena));
  if (!function->name || !function->body) return NULL;
  if (!byoc_vector_reserve(&module->functions, module->allocator, 1)) return NULL;
  if (module->scope != NULL && !byoc_pointer_map_put(module->scope, function, function)) return NULL;
  if (!byoc_string_map_put(&module->function_names, name, function)) return NULL;
  module->functions.data[module->functions.count++] = function;
  return function;
}

void byoc_function_erase(byoc_function_t *function) {
  byoc_graph_module_t *module = function->module;
  // The map already has the name, so storing NULL over it needs no memory.
  (void)byoc_string_map_put(&module->function_names, function->name, NULL);
  size_t kept = 0;
  for (size_t i = 0; i < module->functions.count; ++i) {
    if (module->functions.data[i] != function) module->functions.data[kept++] = module->functions.data[i];
  }
  module->functions.count = kept;
}

bool byoc_function_rename(byoc_function_t *function, const char *name) {
  byoc_graph_module_t *module = function->module;
  if (strcmp(function->name, name) == 0) return true;
  assert(!byoc_graph_module_find(module, name) && !byoc_graph_module_find_constant(module, name));
  const char *copy = byoc_arena_copy_string(&module->arena, name);
  if (!copy || !byoc_string_map_put(&module->function_names, name, function)) return false;
  (void)byoc_string_map_put(&module->function_names, function->name, NULL);
  function->name = copy;
  return true;
}

byoc_value_t *byoc_function_constant(byoc_function_t *function, byoc_constant_t *constant) {
  byoc_value_t *value = byoc_pointer_map_get(&function->constants, constant);
  if (value) return value;
  value = byoc_ir_value_create(function, BYOC_VALUE_CONSTANT, 0);
  if (!value) return NULL;
  value->constant = constant;
  value->name = constant->name;
  value->type = constant->type;
  return byoc_pointer_map_put(&function->constants, constant, value) ? value : NULL;
}

bool byoc_function_has_flag(const byoc_function_t *function, const char *attribute) {
  return byoc_attributes_int(&function->attributes, attribute, 0) != 0;
}

bool byoc_function_is_region(const byoc_function_t *function) {
  return byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPILER) != NULL;
}

bool byoc_function_is_open(const byoc_function_t *function) {
  return function->kind == BYOC_FUNCTION_GRAPH && !byoc_function_is_region(function) &&
         byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPOSITE) == NULL;
}

// ---- opaque bodies ----

bool byoc_function_set_opaque_body(byoc_function_t *function, const char *const *result_names,
                                   const byoc_type_t *const *result_types, uint32_t result_count) {
  byoc_block_t *body = function->body;
  assert(!body->first && body->results.count == 0);
  byoc_node_t *node = byoc_node_create(body, NULL, "byoc", "Opaque", 1, body->parameters.data,
                                       (uint32_t)body->parameters.count, result_count);
  bool ok = node != NULL;
  for (uint32_t i = 0; i < result_count && ok; ++i) {
    node->results[i]->type = result_types[i];
    ok = byoc_block_add_result(body, result_names ? result_names[i] : NULL, node->results[i]);
  }
  if (!ok && node) {
    while (body->results.count > 0) byoc_block_remove_result(body, (uint32_t)body->results.count - 1);
    byoc_ir_node_discard(node);
  }
  return ok;
}

bool byoc_function_is_opaque(const byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  const byoc_node_t *node = body->first;
  if (body->node_count != 1 || !byoc_node_is(node, "byoc", "Opaque")) return false;
  if (node->since_version != 1 || node->name[0] || node->attributes.count > 0 || node->block_count > 0) return false;
  if (node->operand_count != body->parameters.count || node->result_count != body->results.count) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] != body->parameters.data[i]) return false;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i] != body->results.data[i]) return false;
    if (!byoc_virtual_device_is_free(&node->results[i]->device)) return false;
  }
  return true;
}

// ---- copies ----

static void value_copy_facts(byoc_value_t *to, const byoc_value_t *from) {
  to->name = from->name;
  to->type = from->type;
  to->device = from->device;
}

// False if out of memory.
static bool value_translate(byoc_value_t *value, byoc_function_t *function, byoc_map_t *map, byoc_value_t **out) {
  *out = value;
  if (!value) return true;
  byoc_value_t *mapped = byoc_pointer_map_get(map, value);
  if (mapped) {
    *out = mapped;
  } else if (value->kind == BYOC_VALUE_CONSTANT && value->function != function) {
    *out = byoc_function_constant(function, value->constant);
    if (*out && byoc_virtual_device_is_free(&(*out)->device)) (*out)->device = value->device;
  }
  return *out != NULL;
}

static bool block_copy(const byoc_block_t *from, byoc_block_t *to, byoc_map_t *map) {
  for (size_t i = 0; i < from->parameters.count; ++i) {
    byoc_value_t *parameter = from->parameters.data[i];
    byoc_value_t *copy = byoc_block_add_parameter(to, NULL, parameter->type);
    if (!copy) return false;
    value_copy_facts(copy, parameter);
    if (!byoc_pointer_map_put(map, parameter, copy)) return false;
  }
  BYOC_FOR_EACH_NODE(node, from) {
    if (!byoc_node_clone(node, to, NULL, map)) return false;
  }
  for (size_t i = 0; i < from->results.count; ++i) {
    byoc_value_t *value = NULL;
    if (!value_translate(from->results.data[i], to->function, map, &value)) return false;
    if (!byoc_block_add_result(to, from->result_names.data[i], value)) return false;
  }
  return true;
}

byoc_node_t *byoc_node_clone(const byoc_node_t *node, byoc_block_t *block, byoc_node_t *before, byoc_map_t *map) {
  byoc_arena_t *arena = &block->function->module->arena;
  assert(node->function->module == block->function->module);
  byoc_value_t **operands = BYOC_ARENA_ARRAY(arena, byoc_value_t *, node->operand_count ? node->operand_count : 1);
  if (!operands) return NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!value_translate(node->operands[i], block->function, map, &operands[i])) return NULL;
  }
  byoc_node_t *copy = byoc_node_create(block, before, node->domain, node->op, node->since_version, operands,
                                       node->operand_count, node->result_count);
  if (!copy) return NULL;
  copy->name = node->name;
  copy->callee = node->callee;
  bool ok = byoc_attributes_copy(&copy->attributes, &node->attributes);
  for (uint32_t i = 0; i < node->block_count && ok; ++i) {
    byoc_block_t *nested = byoc_node_add_block(copy, node->block_names[i]);
    ok = nested && block_copy(node->blocks[i], nested, map);
  }
  for (uint32_t i = 0; i < node->result_count && ok; ++i) {
    value_copy_facts(copy->results[i], node->results[i]);
    ok = byoc_pointer_map_put(map, node->results[i], copy->results[i]);
  }
  if (ok) return copy;
  byoc_ir_node_discard(copy);
  return NULL;
}

byoc_function_t *byoc_function_clone(byoc_function_t *function, const char *name) {
  byoc_function_t *copy = byoc_function_create(function->module, name);
  if (!copy) return NULL;
  copy->kind = function->kind;
  copy->kernel = function->kernel;
  byoc_map_t map;
  byoc_pointer_map_init(&map, function->module->allocator);
  bool ok = byoc_attributes_copy(&copy->attributes, &function->attributes);
  // Copies constants first, so that both functions have them in the same order.
  for (size_t i = 0; i < function->constants.count && ok; ++i) {
    const byoc_value_t *value = function->constants.entries[i].value;
    if (value->uses.count == 0) continue;
    byoc_value_t *made = byoc_function_constant(copy, value->constant);
    if (made) made->device = value->device;
    ok = made && byoc_pointer_map_put(&map, value, made);
  }
  ok = ok && block_copy(function->body, copy->body, &map);
  byoc_map_deinit(&map);
  if (ok) return copy;
  byoc_function_erase(copy);
  return NULL;
}
