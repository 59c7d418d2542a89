// SPDX-License-Identifier: Apache-2.0
// Outlines nodes into functions and inlines calls.
#include "core/ir/outline.h"
#include "core/ir/virtual_device.h"

#include <string.h>

byoc_node_t *byoc_node_in_block(byoc_node_t *node, const byoc_block_t *block) {
  while (node != NULL && node->block != block) node = node->block->owner;
  return node;
}

// ---- outlining ----

typedef struct outliner_t {
  byoc_block_t *block;   // the nodes' block
  byoc_function_t *made; // the new function
  byoc_map_t members;    // pointer map: the nodes
  byoc_map_t values;     // pointer map: value outside → parameter, value inside → its copy
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_value_t *) operands; // of the call
  BYOC_VECTOR(byoc_value_t *) results;  // values inside that are used outside
  unsigned flags;
  byoc_diag_t *diag;
} outliner_t;

static bool is_inside(const outliner_t *o, byoc_node_t *node) {
  byoc_node_t *holder = byoc_node_in_block(node, o->block);
  return holder != NULL && byoc_pointer_map_find(&o->members, holder) != NULL;
}

// Is the value made outside the nodes (and their nested blocks)?
static bool comes_from_outside(const outliner_t *o, const byoc_value_t *value) {
  if (value->kind == BYOC_VALUE_RESULT) return !is_inside(o, value->node);
  if (value->kind == BYOC_VALUE_PARAMETER) return value->block->owner == NULL || !is_inside(o, value->block->owner);
  return (o->flags & BYOC_OUTLINE_PASS_CONSTANTS) != 0;
}

static byoc_status_t add_parameter(outliner_t *o, byoc_value_t *value) {
  if (value == NULL || !comes_from_outside(o, value) || byoc_pointer_map_find(&o->values, value) != NULL) {
    return BYOC_OK;
  }
  const char *name = byoc_value_is_constant(value) ? value->constant->name : value->name;
  byoc_value_t *parameter = byoc_block_add_parameter(o->made->body, name, value->type);
  if (parameter == NULL || !byoc_pointer_map_put(&o->values, value, parameter) ||
      !byoc_vector_push(&o->operands, o->allocator, value)) {
    return byoc_diag_out_of_memory(o->diag);
  }
  parameter->device = value->device;
  return BYOC_OK;
}

// The operands of a node and all values that its nested blocks use, in order.
static byoc_status_t add_parameters(outliner_t *o, byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) BYOC_RETURN_IF_ERROR(add_parameter(o, node->operands[i]));
  for (uint32_t b = 0; b < node->block_count; ++b) {
    BYOC_FOR_EACH_NODE(inner, node->blocks[b]) BYOC_RETURN_IF_ERROR(add_parameters(o, inner));
    for (size_t r = 0; r < node->blocks[b]->results.count; ++r) {
      BYOC_RETURN_IF_ERROR(add_parameter(o, node->blocks[b]->results.data[r]));
    }
  }
  return BYOC_OK;
}

static bool is_used_outside(const outliner_t *o, const byoc_value_t *value) {
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_use_t *use = &value->uses.data[u];
    byoc_node_t *user = use->node ? use->node : use->block->owner;
    if (user == NULL || !is_inside(o, user)) return true;
  }
  return false;
}

static byoc_status_t copy_nodes(outliner_t *o, byoc_node_t *const *nodes, size_t node_count) {
  for (size_t n = 0; n < node_count; ++n) {
    if (byoc_node_clone(nodes[n], o->made->body, NULL, &o->values) == NULL) return byoc_diag_out_of_memory(o->diag);
    for (uint32_t r = 0; r < nodes[n]->result_count; ++r) {
      byoc_value_t *value = nodes[n]->results[r], *copy = byoc_pointer_map_get(&o->values, value);
      if (!is_used_outside(o, value)) continue;
      if (!byoc_block_add_result(o->made->body, value->name, copy) ||
          !byoc_vector_push(&o->results, o->allocator, value)) {
        return byoc_diag_out_of_memory(o->diag);
      }
    }
  }
  return BYOC_OK;
}

static bool reads_no_result(void *self, byoc_node_t *node) {
  const byoc_node_t *call = self;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (byoc_value_producer(node->operands[i]) == call) return false;
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    for (size_t r = 0; r < node->blocks[b]->results.count; ++r) {
      if (byoc_value_producer(node->blocks[b]->results.data[r]) == call) return false;
    }
  }
  return true;
}

// The block was in order, and the call is at the position of the last of its nodes: only nodes between these may read
// it too early.
static bool is_in_order(byoc_node_t *first, byoc_node_t *call) {
  for (byoc_node_t *node = first; node != call; node = node->next) {
    bool ok = reads_no_result(call, node);
    for (uint32_t b = 0; b < node->block_count && ok; ++b) ok = byoc_block_walk(node->blocks[b], reads_no_result, call);
    if (!ok) return false;
  }
  return true;
}

static byoc_status_t replace_by_call(outliner_t *o, byoc_node_t *const *nodes, size_t node_count,
                                     byoc_node_t **out_call) {
  byoc_node_t *last = nodes[node_count - 1], *before = nodes[0]->previous;
  byoc_node_t *call =
      byoc_node_create_call(o->block, last->next, o->made, o->operands.data, (uint32_t)o->operands.count);
  if (call == NULL) return byoc_diag_out_of_memory(o->diag);
  for (size_t i = 0; i < node_count && call->name[0] == '\0'; ++i) {
    call->name = nodes[i]->name; // the model's name, in the module's memory
  }
  for (size_t r = 0; r < o->results.count; ++r) {
    byoc_value_t *old = o->results.data[r], *result = call->results[r];
    result->type = old->type;
    result->device = old->device;
    byoc_value_set_name(result, old->name);
    if (!byoc_value_replace_uses(old, result)) return byoc_diag_out_of_memory(o->diag);
  }
  for (size_t n = node_count; n > 0; --n) byoc_node_erase(nodes[n - 1]);
  *out_call = call;
  if (is_in_order(before != NULL ? before->next : o->block->first, call)) return BYOC_OK;
  return byoc_block_sort(o->block, o->diag);
}

// The new function; the block keeps its nodes.
static byoc_status_t make_function(outliner_t *o, byoc_node_t *const *nodes, size_t node_count, const char *name) {
  byoc_graph_module_t *module = nodes[0]->function->module;
  char identifier[128];
  byoc_make_identifier(name, identifier, sizeof(identifier));
  const char *unique = byoc_graph_module_unique_name(module, identifier);
  o->made = unique ? byoc_function_create(module, unique) : NULL;
  if (o->made == NULL) return byoc_diag_out_of_memory(o->diag);
  for (size_t n = 0; n < node_count; ++n) {
    if (!byoc_pointer_map_put(&o->members, nodes[n], nodes[n])) return byoc_diag_out_of_memory(o->diag);
  }
  for (size_t n = 0; n < node_count; ++n) BYOC_RETURN_IF_ERROR(add_parameters(o, nodes[n]));
  return copy_nodes(o, nodes, node_count);
}

static byoc_status_t outline(byoc_node_t *const *nodes, size_t node_count, const char *name, unsigned flags,
                             byoc_diag_t *diag, byoc_function_t **out_function, byoc_node_t **out_call) {
  byoc_graph_module_t *module = nodes[0]->function->module;
  outliner_t o = {.block = nodes[0]->block, .allocator = module->allocator, .flags = flags, .diag = diag};
  byoc_pointer_map_init(&o.members, o.allocator);
  byoc_pointer_map_init(&o.values, o.allocator);
  byoc_status_t status = make_function(&o, nodes, node_count, name);
  if (status == BYOC_OK && out_call != NULL) status = replace_by_call(&o, nodes, node_count, out_call);
  if (status == BYOC_OK) *out_function = o.made;
  byoc_vector_deinit(&o.operands, o.allocator);
  byoc_vector_deinit(&o.results, o.allocator);
  byoc_map_deinit(&o.values);
  byoc_map_deinit(&o.members);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "outlining '%s'", name);
}

byoc_status_t byoc_outline_nodes(byoc_node_t *const *nodes, size_t node_count, const char *name, unsigned flags,
                                 byoc_diag_t *diag, byoc_function_t **out_function, byoc_node_t **out_call) {
  *out_function = NULL;
  *out_call = NULL;
  return outline(nodes, node_count, name, flags, diag, out_function, out_call);
}

byoc_status_t byoc_outline_copy(byoc_node_t *const *nodes, size_t node_count, const char *name, unsigned flags,
                                byoc_diag_t *diag, byoc_function_t **out_function) {
  *out_function = NULL;
  return outline(nodes, node_count, name, flags, diag, out_function, NULL);
}

// ---- inlining ----

// The depth of the blocks below this one.
static uint32_t nested_below(const byoc_block_t *block) {
  uint32_t most = 0;
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      uint32_t below = 1 + nested_below(node->blocks[b]);
      if (below > most) most = below;
    }
  }
  return most;
}

byoc_status_t byoc_inline_call(byoc_node_t *call, byoc_diag_t *diag) {
  const byoc_block_t *body = call->callee->body;
  if (byoc_block_depth(call->block) + nested_below(body) > BYOC_MAX_BLOCK_DEPTH) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "blocks would nest more than %d deep", BYOC_MAX_BLOCK_DEPTH);
  }
  byoc_map_t values;
  byoc_pointer_map_init(&values, call->function->module->allocator);
  bool ok = true;
  for (size_t p = 0; p < body->parameters.count && ok; ++p) {
    byoc_value_t *operand = call->operands[p];
    if (operand != NULL) operand = byoc_value_in_place_of(operand, body->parameters.data[p], call);
    ok = (operand != NULL || call->operands[p] == NULL) &&
         byoc_pointer_map_put(&values, body->parameters.data[p], operand);
  }
  for (byoc_node_t *node = body->first; node != NULL && ok; node = node->next) {
    byoc_node_t *copy = byoc_node_clone(node, call->block, call, &values);
    ok = copy != NULL;
    if (ok && copy->name[0] == '\0') copy->name = call->name;
  }
  for (uint32_t r = 0; r < call->result_count && ok; ++r) {
    byoc_value_t *inner = body->results.data[r];
    byoc_value_t *value = byoc_value_is_constant(inner) ? byoc_function_constant(call->function, inner->constant)
                                                        : byoc_pointer_map_get(&values, inner);
    ok = value != NULL;
    if (!ok) break;
    bool is_made =
        value->kind == BYOC_VALUE_RESULT && value->uses.count == 0; // it gets the virtual device of the call's result
    if (!is_made || !byoc_virtual_device_is_free(&value->device)) {
      value = byoc_value_in_place_of(value, call->results[r], call);
      ok = value != NULL;
      if (!ok) break;
    }
    if (value->kind == BYOC_VALUE_RESULT && call->results[r]->name != NULL) {
      byoc_value_set_name(value, call->results[r]->name);
    }
    ok = byoc_value_replace_uses(call->results[r], value);
  }
  byoc_map_deinit(&values);
  if (!ok) return byoc_diag_out_of_memory(diag);
  byoc_node_erase(call);
  return BYOC_OK;
}

static byoc_status_t inline_in_block(byoc_block_t *block, bool (*wants)(void *, const byoc_function_t *), void *self,
                                     byoc_diag_t *diag, size_t *count) {
  for (byoc_node_t *node = block->first; node != NULL;) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(inline_in_block(node->blocks[b], wants, self, diag, count));
    }
    byoc_node_t *previous = node->previous, *next = node->next;
    if (node->callee != NULL && wants(self, node->callee)) {
      BYOC_RETURN_IF_ERROR_IN(diag, byoc_inline_call(node, diag), "inlining '%s'", node->callee->name);
      *count += 1;
      next = previous ? previous->next : block->first; // the inlined nodes may hold calls too
    }
    node = next;
  }
  return BYOC_OK;
}

static bool mark_call(void *self, byoc_node_t *node) {
  return node->callee == NULL || byoc_pointer_map_put(self, node->callee, node->callee);
}

byoc_status_t byoc_inline_functions(byoc_graph_module_t *module, bool (*wants)(void *self, const byoc_function_t *),
                                    void *self, byoc_diag_t *diag, size_t *out_count) {
  *out_count = 0;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    BYOC_RETURN_IF_ERROR(inline_in_block(function->body, wants, self, diag, out_count));
  }
  return byoc_erase_uncalled_functions(module, wants, self, diag);
}

typedef struct erasing_t {
  const byoc_function_t *main;
  byoc_map_t called; // functions
  bool (*wants)(void *self, const byoc_function_t *);
  void *self;
} erasing_t;

static bool is_kept(void *self, const byoc_function_t *function) {
  const erasing_t *e = self;
  return function == e->main || !byoc_function_is_in_scope(function) ||
         byoc_pointer_map_find(&e->called, function) != NULL || !e->wants(e->self, function);
}

byoc_status_t byoc_erase_uncalled_functions(byoc_graph_module_t *module,
                                            bool (*wants)(void *self, const byoc_function_t *), void *self,
                                            byoc_diag_t *diag) {
  erasing_t e = {.main = byoc_graph_module_main(module), .wants = wants, .self = self};
  byoc_pointer_map_init(&e.called, module->allocator);
  bool ok = true;
  for (size_t f = 0; f < module->functions.count && ok; ++f) {
    ok = byoc_block_walk(module->functions.data[f]->body, mark_call, &e.called);
  }
  if (ok) byoc_graph_module_keep_functions(module, is_kept, &e);
  byoc_map_deinit(&e.called);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
