// SPDX-License-Identifier: Apache-2.0
// Verifies modules: names, uses, types, scopes and the order of nodes.
#include "core/ir/verify_module.h"

#include <string.h>

// The state while a function is checked.
typedef struct verifier_t {
  const byoc_function_t *function;
  byoc_diag_t *diag;
  byoc_map_t seen;        // nodes reached so far → themselves
  byoc_map_t slots;       // address of each operand and result slot reached → its value
  byoc_map_t used_values; // values in a slot, and values that the function defines → themselves
} verifier_t;

// ---- reporting ----

// Reports "function @main: Conv 'conv1' (ai.onnx 11): WHAT [rule]"; `node` may be NULL.
static byoc_status_t violation(verifier_t *verifier, const byoc_node_t *node, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static byoc_status_t violation(verifier_t *verifier, const byoc_node_t *node, const char *rule, const char *format,
                               ...) {
  char what[512], where[256] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  if (node && node->op && node->name && node->domain) byoc_node_describe(node, where, sizeof(where));
  return byoc_diag_error(verifier->diag, BYOC_INVALID_DATA, "function @%s: %s%s%s [%s]", verifier->function->name,
                         where, where[0] ? ": " : "", what, rule);
}

static byoc_status_t out_of_memory(verifier_t *verifier) {
  return byoc_diag_out_of_memory(verifier->diag);
}

static const char *value_name(const byoc_value_t *value) {
  if (value->kind == BYOC_VALUE_CONSTANT) return value->constant->name;
  return value->name ? value->name : "(unnamed)";
}

// ---- types, devices, attributes ----

static bool type_is_sound(const byoc_type_t *type, int depth) {
  if (!type || depth > 64) return false;
  switch (type->kind) {
  case BYOC_TYPE_UNKNOWN:
    return true;
  case BYOC_TYPE_TENSOR:
    if (byoc_dtype_bits(type->dtype) == 0 || type->rank < BYOC_RANK_UNKNOWN || type->rank > BYOC_MAX_RANK) return false;
    for (int32_t i = 0; i < type->rank; ++i) {
      if (byoc_dim_is_constant(type->dims[i]) && type->dims[i].constant < 0) return false;
    }
    return true;
  case BYOC_TYPE_SEQUENCE:
  case BYOC_TYPE_OPTIONAL:
    return type_is_sound(type->element, depth + 1);
  }
  return false;
}

static bool device_is_sound(const byoc_virtual_device_t *device) {
  if (device->device_type < 0 || device->device_id < -1) return false;
  if (device->device_type == 0 && device->device_id != -1) return false; // an id without a device
  return (!device->target || device->target[0]) && (!device->scope || device->scope[0]);
}

static const char *attribute_fault(const byoc_graph_module_t *module, const byoc_attribute_t *attribute) {
  switch (attribute->kind) {
  case BYOC_ATTRIBUTE_INT:
  case BYOC_ATTRIBUTE_FLOAT:
    return NULL;
  case BYOC_ATTRIBUTE_STRING:
    return attribute->s ? NULL : "has no text";
  case BYOC_ATTRIBUTE_INTS:
    return attribute->count == 0 || attribute->ints ? NULL : "has no numbers";
  case BYOC_ATTRIBUTE_FLOATS:
    return attribute->count == 0 || attribute->floats ? NULL : "has no numbers";
  case BYOC_ATTRIBUTE_STRINGS:
    for (size_t i = 0; i < attribute->count; ++i) {
      if (!attribute->strings || !attribute->strings[i]) return "has a string missing";
    }
    return NULL;
  case BYOC_ATTRIBUTE_TENSOR:
    if (!attribute->tensor) return "has no tensor";
    if (byoc_graph_module_find_constant(module, attribute->tensor->name) != attribute->tensor)
      return "names a constant that is not in the module";
    return NULL;
  case BYOC_ATTRIBUTE_TYPE:
    return type_is_sound(attribute->type, 0) ? NULL : "has a malformed type";
  }
  return "is of an unknown kind";
}

static byoc_status_t check_attributes(verifier_t *verifier, const byoc_node_t *node,
                                      const byoc_attributes_t *attributes) {
  for (size_t i = 0; i < attributes->count; ++i) {
    const byoc_attribute_t *attribute = &attributes->items[i];
    if (!attribute->name || !attribute->name[0])
      return violation(verifier, node, "attribute", "an attribute has no name");
    const char *fault = attribute_fault(verifier->function->module, attribute);
    if (byoc_attributes_find(attributes, attribute->name) != attribute) fault = "is there twice";
    if (fault) return violation(verifier, node, "attribute", "attribute '%s' %s", attribute->name, fault);
  }
  return BYOC_OK;
}

static byoc_status_t check_value_facts(verifier_t *verifier, const byoc_node_t *node, const byoc_value_t *value) {
  if (value->function != verifier->function)
    return violation(verifier, node, "back-pointer", "value %%%s says that it is of another function",
                     value_name(value));
  if (!type_is_sound(value->type, 0))
    return violation(verifier, node, "type", "value %%%s has no type or a malformed one", value_name(value));
  if (!device_is_sound(&value->device))
    return violation(verifier, node, "device", "value %%%s has an inconsistent virtual device", value_name(value));
  return BYOC_OK;
}

// ---- uses ----

// Records that the slot at `address` holds `value`, to compare it with the use lists later.
static byoc_status_t note_slot(verifier_t *verifier, const void *address, byoc_value_t *value) {
  if (!byoc_pointer_map_put(&verifier->slots, address, value)) return out_of_memory(verifier);
  if (!byoc_pointer_map_put(&verifier->used_values, value, value)) return out_of_memory(verifier);
  return BYOC_OK;
}

static byoc_status_t note_definition(verifier_t *verifier, byoc_value_t *value) {
  return byoc_pointer_map_put(&verifier->used_values, value, value) ? BYOC_OK : out_of_memory(verifier);
}

// Checks that `value` may be used inside `block`, by `user` (NULL: as the block's result).
static byoc_status_t check_visible(verifier_t *verifier, const byoc_value_t *value, const byoc_block_t *block,
                                   const byoc_node_t *user, const char *what, uint32_t index) {
  const byoc_node_t *reported = user ? user : block->owner;
  if (value->function != verifier->function)
    return violation(verifier, reported, "free-value", "%s %u, %%%s, belongs to another function", what, index,
                     value_name(value));
  if (value->kind == BYOC_VALUE_CONSTANT) {
    const byoc_constant_t *constant = value->constant;
    if (byoc_pointer_map_get(&verifier->function->constants, constant) != value ||
        byoc_graph_module_find_constant(verifier->function->module, constant->name) != constant)
      return violation(verifier, reported, "constant", "%s %u, @%s, is not a constant of this module and function",
                       what, index, constant->name);
    return BYOC_OK;
  }
  const byoc_node_t *producer = byoc_value_producer(value);
  const byoc_block_t *home = producer ? producer->block : value->block;
  if (producer && (!home || !byoc_pointer_map_get(&verifier->seen, producer)))
    return violation(verifier, reported, "define-before-use", "%s %u, %%%s, is used before it is defined", what, index,
                     value_name(value));
  bool inside_producer = false;
  for (const byoc_node_t *inner = user; block != home; block = inner->block) {
    inner = block->owner;
    if (!inner)
      return violation(verifier, reported, "visible", "%s %u, %%%s, is of a block that does not enclose this one", what,
                       index, value_name(value));
    inside_producer |= inner == producer;
  }
  if (inside_producer || (user && user == producer))
    return violation(verifier, reported, "define-before-use", "%s %u, %%%s, is used before it is defined", what, index,
                     value_name(value));
  return BYOC_OK;
}

static byoc_status_t check_use_lists(verifier_t *verifier) {
  size_t use_count = 0;
  for (size_t i = 0; i < verifier->used_values.count; ++i) {
    const byoc_value_t *value = verifier->used_values.entries[i].value;
    byoc_map_t own; // slots of this value's uses
    byoc_pointer_map_init(&own, verifier->function->module->allocator);
    byoc_status_t status = BYOC_OK;
    for (size_t u = 0; u < value->uses.count && status == BYOC_OK; ++u) {
      byoc_use_t use = value->uses.data[u];
      const void *slot = NULL;
      if (use.node && use.index < use.node->operand_count) slot = &use.node->operands[use.index];
      if (!use.node && use.block && use.index < use.block->results.count) slot = &use.block->results.data[use.index];
      const byoc_function_t *user = use.node ? use.node->function : use.block ? use.block->function : NULL;
      if (user && user != verifier->function) {
        status = violation(verifier, NULL, "free-value", "its value %%%s is used in function @%s", value_name(value),
                           user->name);
        break;
      }
      bool alive = slot && byoc_pointer_map_get(&verifier->slots, slot) == value;
      if (!alive || byoc_pointer_map_find(&own, slot)) {
        status = violation(verifier, use.node, "use-list", "the use list of %%%s has a use that is not there",
                           value_name(value));
      } else if (!byoc_pointer_map_put(&own, slot, verifier)) {
        status = out_of_memory(verifier);
      }
    }
    byoc_map_deinit(&own);
    if (status != BYOC_OK) return status;
    use_count += value->uses.count;
  }
  // Every use in a list has its own slot, so equal numbers mean that every slot is listed.
  if (use_count == verifier->slots.count) return BYOC_OK;
  return violation(verifier, NULL, "use-list", "%zu operands and results are missing from the use lists",
                   verifier->slots.count - use_count);
}

// ---- calls ----

static bool types_agree(const byoc_type_t *a, const byoc_type_t *b) {
  if (a->kind == BYOC_TYPE_UNKNOWN || b->kind == BYOC_TYPE_UNKNOWN) return true;
  if (a->kind != b->kind) return false;
  if (a->kind != BYOC_TYPE_TENSOR) return types_agree(a->element, b->element);
  if (a->dtype != b->dtype) return false;
  if (a->rank == BYOC_RANK_UNKNOWN || b->rank == BYOC_RANK_UNKNOWN) return true;
  if (a->rank != b->rank) return false;
  for (int32_t i = 0; i < a->rank; ++i) {
    bool constants = byoc_dim_is_constant(a->dims[i]) && byoc_dim_is_constant(b->dims[i]);
    if (constants && a->dims[i].constant != b->dims[i].constant) return false;
  }
  return true;
}

// Symbols belong to the callee: only known dimensions must agree.
static byoc_status_t check_call(verifier_t *verifier, const byoc_node_t *node) {
  const byoc_function_t *callee = node->callee;
  if (callee->module != verifier->function->module ||
      byoc_graph_module_find(verifier->function->module, callee->name) != callee)
    return violation(verifier, node, "callee", "it calls @%s, which is not in the module", callee->name);
  const byoc_block_t *body = callee->body;
  if (node->block_count > 0) return violation(verifier, node, "call-signature", "a call has no nested blocks");
  if (node->operand_count != body->parameters.count || node->result_count != body->results.count)
    return violation(verifier, node, "call-signature", "it has %u operands and %u results, @%s takes %zu and gives %zu",
                     node->operand_count, node->result_count, callee->name, body->parameters.count,
                     body->results.count);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!node->operands[i] || !types_agree(node->operands[i]->type, body->parameters.data[i]->type))
      return violation(verifier, node, "call-signature", "operand %u is not what @%s takes", i, callee->name);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const byoc_value_t *given = body->results.data[i];
    if (given && !types_agree(node->results[i]->type, given->type))
      return violation(verifier, node, "call-signature", "result %u is not what @%s gives", i, callee->name);
  }
  return BYOC_OK;
}

// ---- nodes and blocks ----

static byoc_status_t check_block(verifier_t *verifier, const byoc_block_t *block, uint32_t depth);

static byoc_status_t check_node(verifier_t *verifier, const byoc_node_t *node, uint32_t depth) {
  if (!node->op || !node->op[0] || !node->domain || !node->name)
    return violation(verifier, node, "node", "a node has no operator");
  if (node->function != verifier->function)
    return violation(verifier, node, "back-pointer", "the node says that it is of another function");
  if (node->id >= verifier->function->module->next_id)
    return violation(verifier, node, "node", "its id %llu was never given out", (unsigned long long)node->id);
  if (!byoc_pointer_map_put(&verifier->seen, node, (void *)(uintptr_t)node)) return out_of_memory(verifier);
  if (node->since_version < 0 || (node->callee && node->since_version != 0))
    return violation(verifier, node, "node", "its version %d is not valid", (int)node->since_version);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!node->operands[i]) continue;
    BYOC_RETURN_IF_ERROR(check_visible(verifier, node->operands[i], node->block, node, "operand", i));
    BYOC_RETURN_IF_ERROR(note_slot(verifier, &node->operands[i], node->operands[i]));
  }
  BYOC_RETURN_IF_ERROR(check_attributes(verifier, node, &node->attributes));
  for (uint32_t i = 0; i < node->block_count; ++i) {
    const byoc_block_t *block = node->blocks[i];
    if (!node->block_names[i] || byoc_node_find_block(node, node->block_names[i]) != block)
      return violation(verifier, node, "block", "two nested blocks have the same name");
    if (block->owner != node || block->function != verifier->function)
      return violation(verifier, node, "back-pointer", "block '%s' says that it is of another node",
                       node->block_names[i]);
    BYOC_RETURN_IF_ERROR(check_block(verifier, block, depth + 1));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    byoc_value_t *result = node->results[i];
    if (result->kind != BYOC_VALUE_RESULT || result->node != node || result->index != i)
      return violation(verifier, node, "back-pointer", "result %u does not point back", i);
    BYOC_RETURN_IF_ERROR(check_value_facts(verifier, node, result));
    BYOC_RETURN_IF_ERROR(note_definition(verifier, result));
  }
  return node->callee ? check_call(verifier, node) : BYOC_OK;
}

static byoc_status_t check_block(verifier_t *verifier, const byoc_block_t *block, uint32_t depth) {
  if (depth > BYOC_MAX_BLOCK_DEPTH)
    return violation(verifier, block->owner, "depth", "blocks are nested deeper than %d", BYOC_MAX_BLOCK_DEPTH);
  for (uint32_t i = 0; i < block->parameters.count; ++i) {
    byoc_value_t *parameter = block->parameters.data[i];
    if (parameter->kind != BYOC_VALUE_PARAMETER || parameter->block != block || parameter->index != i)
      return violation(verifier, block->owner, "back-pointer", "parameter %u does not point back", i);
    BYOC_RETURN_IF_ERROR(check_value_facts(verifier, block->owner, parameter));
    BYOC_RETURN_IF_ERROR(note_definition(verifier, parameter));
  }
  const byoc_node_t *previous = NULL;
  size_t count = 0;
  BYOC_FOR_EACH_NODE(node, block) {
    if (node->block != block || node->previous != previous || ++count > block->node_count)
      return violation(verifier, node, "node-list", "the list of nodes is not linked both ways");
    previous = node;
    BYOC_RETURN_IF_ERROR(check_node(verifier, node, depth));
  }
  if (block->last != previous || count != block->node_count)
    return violation(verifier, block->owner, "node-list", "the list of nodes has a wrong end or count");
  if (block->results.count != block->result_names.count)
    return violation(verifier, block->owner, "block", "there are %zu results and %zu names for them",
                     block->results.count, block->result_names.count);
  for (uint32_t i = 0; i < block->results.count; ++i) {
    byoc_value_t *value = block->results.data[i];
    if (!value) return violation(verifier, block->owner, "block", "result %u of a block is missing", i);
    BYOC_RETURN_IF_ERROR(check_visible(verifier, value, block, NULL, "block result", i));
    BYOC_RETURN_IF_ERROR(note_slot(verifier, &block->results.data[i], value));
  }
  return BYOC_OK;
}

// ---- functions and modules ----

static byoc_status_t check_constants(verifier_t *verifier) {
  const byoc_map_t *constants = &verifier->function->constants;
  for (size_t i = 0; i < constants->count; ++i) {
    byoc_value_t *value = constants->entries[i].value;
    const byoc_constant_t *constant = constants->entries[i].pointer;
    if (value->kind != BYOC_VALUE_CONSTANT || value->constant != constant)
      return violation(verifier, NULL, "constant", "the value of @%s does not point back", constant->name);
    if (value->uses.count == 0) continue;
    BYOC_RETURN_IF_ERROR(check_value_facts(verifier, NULL, value));
    if (!byoc_type_equal(value->type, constant->type))
      return violation(verifier, NULL, "type", "the value of @%s has another type than the constant", constant->name);
  }
  return BYOC_OK;
}

static byoc_status_t check_function(verifier_t *verifier) {
  const byoc_function_t *function = verifier->function;
  if (!function->body || function->body->owner || function->body->function != function)
    return violation(verifier, NULL, "back-pointer", "its body does not point back");
  if (function->kernel && function->kind != BYOC_FUNCTION_KERNEL)
    return violation(verifier, NULL, "kind", "only kernel functions have loops");
  BYOC_RETURN_IF_ERROR(check_attributes(verifier, NULL, &function->attributes));
  BYOC_RETURN_IF_ERROR(check_constants(verifier));
  BYOC_RETURN_IF_ERROR(check_block(verifier, function->body, 0));
  return check_use_lists(verifier);
}

byoc_status_t byoc_function_verify(const byoc_function_t *function, byoc_diag_t *diag) {
  byoc_allocator_t allocator = function->module->allocator;
  verifier_t verifier = {.function = function, .diag = diag};
  byoc_pointer_map_init(&verifier.seen, allocator);
  byoc_pointer_map_init(&verifier.slots, allocator);
  byoc_pointer_map_init(&verifier.used_values, allocator);
  byoc_status_t status = check_function(&verifier);
  byoc_map_deinit(&verifier.seen);
  byoc_map_deinit(&verifier.slots);
  byoc_map_deinit(&verifier.used_values);
  return status;
}

static byoc_status_t check_module_names(const byoc_graph_module_t *module, byoc_diag_t *diag) {
  for (size_t i = 0; i < module->functions.count; ++i) {
    const byoc_function_t *function = module->functions.data[i];
    if (function->module != module || !function->name || byoc_graph_module_find(module, function->name) != function)
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "function @%s is not listed under its name [unique-name]",
                             function->name ? function->name : "");
    if (byoc_graph_module_find_constant(module, function->name))
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "@%s is a function and a constant [unique-name]", function->name);
  }
  for (size_t i = 0; i < module->constants.count; ++i) {
    const byoc_constant_t *constant = module->constants.data[i];
    if (constant->module != module || byoc_graph_module_find_constant(module, constant->name) != constant)
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "constant @%s is not listed under its name [unique-name]",
                             constant->name);
    int64_t size = byoc_type_size_bytes(constant->type);
    if (size < 0 || (uint64_t)size != constant->size_bytes || !constant->data)
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "constant @%s does not have the data of its type [constant]",
                             constant->name);
  }
  return BYOC_OK;
}

// Node ids are unique in the whole module.
typedef struct id_checker_t {
  byoc_map_t ids; // id + 1 as a pointer → node
  byoc_diag_t *diag;
  byoc_status_t status;
} id_checker_t;

static bool check_id(void *self, byoc_node_t *node) {
  id_checker_t *checker = self;
  const void *key = (const void *)(uintptr_t)(node->id + 1);
  if (byoc_pointer_map_find(&checker->ids, key)) {
    checker->status =
        byoc_diag_error(checker->diag, BYOC_INVALID_DATA, "function @%s: node id %llu is there twice [id]",
                        node->function->name, (unsigned long long)node->id);
  } else if (!byoc_pointer_map_put(&checker->ids, key, node)) {
    checker->status = byoc_diag_out_of_memory(checker->diag);
  }
  return checker->status == BYOC_OK;
}

static byoc_status_t check_ids(const byoc_graph_module_t *module, byoc_diag_t *diag) {
  id_checker_t checker = {.diag = diag, .status = BYOC_OK};
  byoc_pointer_map_init(&checker.ids, module->allocator);
  for (size_t i = 0; i < module->functions.count && checker.status == BYOC_OK; ++i)
    byoc_block_walk(module->functions.data[i]->body, check_id, &checker);
  byoc_map_deinit(&checker.ids);
  return checker.status;
}

// ---- the call graph ----

typedef struct call_list_t {
  BYOC_VECTOR(byoc_function_t *) callees;
  byoc_allocator_t allocator;
} call_list_t;

static bool collect_call(void *self, byoc_node_t *node) {
  call_list_t *list = self;
  return !node->callee || byoc_vector_push(&list->callees, list->allocator, node->callee);
}

// The depth of the calls below a function: 1 if it calls nothing; 0 if one of its callees is not in `depths` yet.
static uintptr_t call_depth(const call_list_t *list, const byoc_map_t *depths) {
  uintptr_t depth = 1;
  for (size_t c = 0; c < list->callees.count; ++c) {
    uintptr_t below = (uintptr_t)byoc_pointer_map_get(depths, list->callees.data[c]);
    if (below == 0) return 0;
    if (below + 1 > depth) depth = below + 1;
  }
  return depth;
}

// A function gets its depth when all its callees have theirs. A function that never gets one is part of a cycle of
// calls. A round finds at least one level, so that there are no more rounds than levels.
static byoc_status_t find_call_depths(const byoc_graph_module_t *module, const call_list_t *lists, byoc_map_t *depths,
                                      byoc_diag_t *diag) {
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = module->functions.count; i-- > 0;) {
      const byoc_function_t *function = module->functions.data[i];
      if (byoc_pointer_map_find(depths, function)) continue;
      uintptr_t depth = call_depth(&lists[i], depths);
      if (depth == 0) continue;
      if (depth > BYOC_MAX_CALL_DEPTH) {
        return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                               "function @%s: calls nest more than %d deep below it [call-depth]", function->name,
                               BYOC_MAX_CALL_DEPTH - 1);
      }
      if (!byoc_pointer_map_put(depths, function, (void *)depth)) return byoc_diag_out_of_memory(diag);
      progress = true;
    }
  }
  return BYOC_OK;
}

static byoc_status_t check_calls(const byoc_graph_module_t *module, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_OK;
  byoc_map_t depths;
  call_list_t *lists = byoc_allocate(module->allocator, module->functions.count, sizeof(*lists));
  if (!lists) return byoc_diag_out_of_memory(diag);
  byoc_pointer_map_init(&depths, module->allocator);
  for (size_t i = 0; i < module->functions.count && status == BYOC_OK; ++i) {
    lists[i].allocator = module->allocator;
    if (!byoc_block_walk(module->functions.data[i]->body, collect_call, &lists[i]))
      status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = find_call_depths(module, lists, &depths, diag);
  for (size_t i = 0; i < module->functions.count && status == BYOC_OK; ++i) {
    const byoc_function_t *function = module->functions.data[i];
    if (!byoc_pointer_map_find(&depths, function))
      status = byoc_diag_error(diag, BYOC_INVALID_DATA,
                               "function @%s calls itself, directly or through others [call-cycle]", function->name);
  }
  for (size_t i = 0; i < module->functions.count; ++i) byoc_vector_deinit(&lists[i].callees, module->allocator);
  byoc_free(module->allocator, lists);
  byoc_map_deinit(&depths);
  return status;
}

byoc_status_t byoc_graph_verify(const byoc_graph_module_t *module, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_module_names(module, diag));
  for (size_t i = 0; i < module->functions.count; ++i)
    BYOC_RETURN_IF_ERROR(byoc_function_verify(module->functions.data[i], diag));
  for (size_t i = 0; i < module->attributes.count; ++i) {
    const char *fault = attribute_fault(module, &module->attributes.items[i]);
    if (fault)
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "module attribute '%s' %s [attribute]",
                             module->attributes.items[i].name, fault);
  }
  BYOC_RETURN_IF_ERROR(check_ids(module, diag));
  return check_calls(module, diag);
}
