// SPDX-License-Identifier: Apache-2.0
// Lowers calls of kernels, of backends' functions, of plain C functions and of the runtime's functions.
#include <string.h>

#include "core/hostir/lower/lower_internal.h"
#include "core/ir/attribute_names.h"
#include "core/module/c_call.h"
#include "core/module/linkage.h"
#include "core/op/schema.h"
#include "core/runtime/check.h"

static byoc_status_t push_operands(byoc_host_lowering_t *l, byoc_host_instruction_t *i, const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, node->operands[k], &buffer));
    BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, buffer));
  }
  return BYOC_OK;
}

static byoc_status_t push_results(byoc_host_lowering_t *l, byoc_host_instruction_t *i, const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->result_count; ++k) {
    byoc_host_buffer_t *buffer = byoc_pointer_map_get(&l->buffers, node->results[k]); // the buffer of an operand
    if (buffer == NULL) BYOC_RETURN_IF_ERROR(byoc_host_make_result(l, node->results[k], &buffer));
    BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, true, buffer));
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_kernel_call(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_KERNEL, node, &i));
  i->kernel = node->callee->kernel;
  i->function = node->callee;
  i->symbol = i->kernel->name;
  BYOC_RETURN_IF_ERROR(byoc_host_program_add_kernel(l->program, i->kernel, l->diag));
  BYOC_RETURN_IF_ERROR(byoc_host_kernel_dims(l, node, &i->dims));
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  const int64_t taken = byoc_host_overwritten_operand(node);
  if (taken >= 0 && taken < node->operand_count) i->takes_operand = (uint32_t)taken + 1;
  return push_results(l, i, node);
}

// Finds the module that says how an extern function is called.
static const byoc_runtime_module_t *find_binding(const byoc_graph_module_t *module, const char *function) {
  for (size_t k = 0; k < module->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *candidate = module->runtime_modules.data[k];
    if (candidate->function_name != NULL && strcmp(candidate->function_name, function) == 0) return candidate;
  }
  return NULL;
}

// Finds the engine that a JSON module imports, or the one that it names if it imports none.
static const byoc_runtime_module_t *imported_engine(const byoc_graph_module_t *module,
                                                    const byoc_runtime_module_t *json) {
  for (size_t k = 0; k < json->imports.count; ++k) {
    if (json->imports.data[k]->kind == BYOC_RUNTIME_MODULE_ENGINE) return json->imports.data[k];
  }
  const byoc_runtime_module_t *named = byoc_graph_module_find_runtime_module(module, json->engine_name);
  return named != NULL && named->kind == BYOC_RUNTIME_MODULE_ENGINE ? named : NULL;
}

static byoc_status_t call_engine(byoc_host_lowering_t *l, byoc_host_instruction_t *i,
                                 const byoc_runtime_module_t *json) {
  const byoc_runtime_module_t *engine = imported_engine(l->program->module, json);
  if (engine != NULL) return byoc_host_instruction_set_engine(l->program, i, engine, json, l->diag);
  return byoc_diag_error(l->diag, BYOC_NOT_FOUND, "function '%s' needs the engine '%s', which no backend added",
                         json->function_name, json->engine_name);
}

// The name by which the program calls a packed function; its module imports the one that defines the symbol.
static const char *packed_symbol(byoc_host_lowering_t *l, const byoc_runtime_module_t *packed) {
  for (size_t k = 0; k < packed->imports.count; ++k) {
    const byoc_runtime_module_t *definer = packed->imports.data[k];
    if (!byoc_runtime_module_lists(definer, packed->packed_symbol)) continue;
    return byoc_linkage_name(l->program->module, definer, packed->packed_symbol, &l->program->arena);
  }
  return packed->packed_symbol; // from a library that stays outside
}

static byoc_status_t push_bound_constants(byoc_host_lowering_t *l, byoc_host_instruction_t *i,
                                          const byoc_runtime_module_t *binding) {
  for (size_t k = 0; k < binding->constants.count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(byoc_host_bound_constant(l, binding, k, &buffer));
    BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, false, buffer));
  }
  return BYOC_OK;
}

static byoc_status_t push_requirement(byoc_host_lowering_t *l, const byoc_node_t *node, uint32_t operand, int32_t d,
                                      byoc_host_instruction_t **require) {
  const byoc_dim_t taken = node->callee->body->parameters.data[operand]->type->dims[d];
  byoc_host_relation_t relation = {.kind = BYOC_RELATION_EQUAL,
                                   .left = node->operands[operand]->type->dims[d],
                                   .right = taken,
                                   .names = {.where = node->callee->name}};
  relation.names.left = byoc_arena_format(&l->program->arena, "dimension %d of operand %u", (int)d, (unsigned)operand);
  if (relation.names.left == NULL) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(byoc_host_check_dim_bound(l, relation.left, node->callee->name));
  if (*require == NULL) BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_REQUIRE, NULL, require));
  (*require)->symbol = "shapes";
  return byoc_vector_push(&(*require)->relations, l->program->arena.allocator, relation)
             ? BYOC_OK
             : byoc_diag_out_of_memory(l->diag);
}

// A backend's function may be made for fewer shapes than the call brings, where the model declares fewer.
static byoc_status_t require_parameters(byoc_host_lowering_t *l, const byoc_node_t *node) {
  const byoc_block_t *body = node->callee->body;
  byoc_host_instruction_t *require = NULL;
  for (uint32_t k = 0; k < node->operand_count && k < body->parameters.count; ++k) {
    const byoc_type_t *taken = body->parameters.data[k]->type, *given = node->operands[k]->type;
    const bool are_alike = byoc_type_is_tensor(taken) && byoc_type_is_tensor(given) && taken->rank == given->rank;
    for (int32_t d = 0; are_alike && d < given->rank; ++d) {
      if (!byoc_dim_is_constant(taken->dims[d]) || byoc_dim_is_constant(given->dims[d])) continue;
      BYOC_RETURN_IF_ERROR(push_requirement(l, node, k, d, &require));
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_extern_call(byoc_host_lowering_t *l, const byoc_node_t *node) {
  const byoc_runtime_module_t *binding = find_binding(l->program->module, node->callee->name);
  if (binding == NULL) {
    return byoc_diag_error(l->diag, BYOC_INTERNAL, "extern function '%s' has no binding", node->callee->name);
  }
  bool packed = binding->kind == BYOC_RUNTIME_MODULE_PACKED;
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(require_parameters(l, node));
  if (binding->kind == BYOC_RUNTIME_MODULE_KERNELS) return byoc_host_lower_launches(l, node, binding);
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, packed ? BYOC_HOST_PACKED : BYOC_HOST_ENGINE, node, &i));
  i->symbol = packed ? packed_symbol(l, binding) : binding->function_name;
  if (i->symbol == NULL) return byoc_diag_out_of_memory(l->diag);
  i->function = node->callee;
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  if (packed) {
    BYOC_RETURN_IF_ERROR(push_bound_constants(l, i, binding));
  } else {
    BYOC_RETURN_IF_ERROR(call_engine(l, i, binding));
  }
  if (binding->workspace_size_bytes > 0) {
    const int64_t dims[1] = {(int64_t)binding->workspace_size_bytes};
    const byoc_type_t *type = byoc_type_tensor_static(&l->program->arena, BYOC_DTYPE_U8, 1, dims);
    byoc_host_buffer_t *scratch =
        type ? byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, "scratch", type) : NULL;
    if (scratch == NULL || !byoc_host_set_workspace(l->program, i, scratch)) return byoc_diag_out_of_memory(l->diag);
  }
  return push_results(l, i, node);
}

byoc_status_t byoc_host_lower_c_call(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_c_call_t *call = NULL;
  BYOC_RETURN_IF_ERROR(byoc_c_call_from_node(node, &l->program->arena, l->diag, &call));
  const char *target = byoc_attributes_string(&node->attributes, BYOC_ATTRIBUTE_OF_TARGET, NULL);
  const byoc_runtime_module_t *library = byoc_linkage_find(l->program->module, target, call->symbol);
  if (library == NULL) library = byoc_linkage_find(l->program->module, NULL, call->symbol);
  if (library != NULL) {
    call->symbol = byoc_linkage_name(l->program->module, library, call->symbol, &l->program->arena);
    if (call->symbol == NULL) return byoc_diag_out_of_memory(l->diag);
  }
  for (uint32_t k = 0; k < node->result_count; ++k) {
    byoc_value_t *in_place = byoc_host_aliased_operand(node->results[k]);
    byoc_host_buffer_t *buffer = NULL;
    if (in_place != NULL) {
      BYOC_RETURN_IF_ERROR(byoc_host_lower_alias(l, node->results[k], in_place));
      continue;
    }
    BYOC_RETURN_IF_ERROR(byoc_host_make_result(l, node->results[k], &buffer));
    if (k != 0 || call->result_from_operand < 0) continue;
    byoc_host_buffer_t *from = NULL;
    BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, node->operands[call->result_from_operand], &from));
    BYOC_RETURN_IF_ERROR(byoc_host_append_copy(l, BYOC_HOST_COPY, from, buffer));
  }
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_C_CALL, node, &i));
  i->c_call = call;
  i->flops = (double)byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_FLOPS, -1);
  i->symbol = call->symbol;
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  for (uint32_t k = 0; k < node->result_count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, node->results[k], &buffer));
    BYOC_RETURN_IF_ERROR(byoc_host_push(l, i, true, buffer));
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_check(byoc_host_lowering_t *l, const byoc_node_t *node, const char *symbol) {
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_PACKED, node, &i));
  i->symbol = symbol;
  return push_operands(l, i, node);
}

byoc_status_t byoc_host_lower_question(byoc_host_lowering_t *l, const byoc_node_t *node, const char *symbol) {
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_PACKED, node, &i));
  i->symbol = symbol;
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  return push_results(l, i, node);
}

// Lowers a call of one of the artifact's string functions (core/runtime/text.c).
byoc_status_t byoc_host_lower_text(byoc_host_lowering_t *l, const byoc_node_t *node) {
  const char *function = byoc_node_text(node, "function");
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_PACKED, node, &i));
  i->symbol = byoc_arena_format(&l->program->arena, "byoc_text_%s", function);
  if (i->symbol == NULL) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  return push_results(l, i, node);
}
