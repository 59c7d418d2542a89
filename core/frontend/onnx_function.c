// SPDX-License-Identifier: Apache-2.0
// Reads local functions. Each call gets its own copy of the function, with its attribute parameters filled in and types
// that follow from the call; all copies are marked Inline.
#include <string.h>

#include "core/frontend/onnx_reader.h"
#include "core/frontend/onnx_wire.h"
#include "core/ir/attribute_names.h"

// Numbers of fields that are newer than onnx 1.12; they are found among the unknown ones.
enum { NODE_OVERLOAD = 8, FUNCTION_ATTRIBUTE_PROTO = 11, FUNCTION_OVERLOAD = 13 };
enum { MAX_CALLS = 50 * 1000, MAX_CALL_DEPTH = 64 };

static char *function_key(byoc_onnx_reader_t *reader, const ProtobufCMessage *message, uint32_t overload_field,
                          const char *domain, const char *name) {
  const uint8_t *overload = NULL;
  size_t size = 0, cursor = 0;
  while (byoc_onnx_wire_next_unknown(message, overload_field, &cursor, &overload, &size)) {}
  return byoc_arena_format(&reader->scratch, "%s\x1f%s\x1f%.*s", byoc_onnx_domain(domain), byoc_onnx_string(name),
                           (int)(size < 4096 ? size : 4096), overload ? (const char *)overload : "");
}

byoc_status_t byoc_onnx_collect_functions(byoc_onnx_reader_t *reader, const Onnx__ModelProto *model) {
  for (size_t i = 0; i < model->n_functions; i++) {
    Onnx__FunctionProto *function = model->functions[i];
    if (byoc_onnx_string(function->name)[0] == '\0') {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "local function %zu has no name", i);
    }
    const char *key = function_key(reader, &function->base, FUNCTION_OVERLOAD, function->domain, function->name);
    if (!key) return byoc_diag_out_of_memory(reader->diag);
    if (byoc_string_map_find(&reader->functions, key)) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "local function '%s::%s' is there twice",
                             byoc_onnx_string(function->domain), function->name);
    }
    if (!byoc_string_map_put(&reader->functions, key, function)) return byoc_diag_out_of_memory(reader->diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_find_function(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node,
                                      const Onnx__FunctionProto **out_function) {
  *out_function = NULL;
  if (reader->functions.count == 0) return BYOC_OK;
  const char *key = function_key(reader, &node->base, NODE_OVERLOAD, node->domain, node->op_type);
  if (!key) return byoc_diag_out_of_memory(reader->diag);
  *out_function = byoc_string_map_get(&reader->functions, key);
  return BYOC_OK;
}

// The attributes that a function declares by default (FunctionProto.attribute_proto). In scratch memory.
static byoc_status_t function_defaults(byoc_onnx_reader_t *reader, const Onnx__FunctionProto *function,
                                       const char *what, Onnx__AttributeProto ***out_defaults, size_t *out_count) {
  *out_defaults = NULL;
  *out_count = 0;
  const uint8_t *data;
  size_t size, cursor = 0, count = 0;
  while (byoc_onnx_wire_next_unknown(&function->base, FUNCTION_ATTRIBUTE_PROTO, &cursor, &data, &size)) count++;
  if (count == 0) return BYOC_OK;
  Onnx__AttributeProto **defaults = BYOC_ARENA_ARRAY(&reader->scratch, Onnx__AttributeProto *, count);
  if (!defaults) return byoc_diag_out_of_memory(reader->diag);
  cursor = 0;
  for (size_t i = 0; i < count; i++) {
    byoc_onnx_wire_next_unknown(&function->base, FUNCTION_ATTRIBUTE_PROTO, &cursor, &data, &size);
    ProtobufCMessage *message;
    BYOC_RETURN_IF_ERROR_IN(reader->diag,
                            byoc_onnx_wire_unpack_slim(data, size, &onnx__attribute_proto__descriptor, &reader->scratch,
                                                       reader->diag, &message),
                            "%s, in its function's attributes", what);
    defaults[i] = (Onnx__AttributeProto *)message;
  }
  *out_defaults = defaults;
  *out_count = count;
  return BYOC_OK;
}

static bool has_argument(const byoc_onnx_argument_t *arguments, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(arguments[i].name, name) == 0) return true;
  }
  return false;
}

// Collects the attributes of the call, then the function's defaults for missing ones.
static byoc_status_t collect_arguments(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node, const char *what,
                                       const Onnx__FunctionProto *function, const byoc_onnx_context_t *caller,
                                       byoc_onnx_context_t *context) {
  Onnx__AttributeProto **defaults;
  size_t default_count, count = 0;
  BYOC_RETURN_IF_ERROR(function_defaults(reader, function, what, &defaults, &default_count));
  byoc_onnx_argument_t *arguments =
      BYOC_ARENA_ARRAY(&reader->scratch, byoc_onnx_argument_t, node->n_attribute + default_count + 1);
  if (!arguments) return byoc_diag_out_of_memory(reader->diag);
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *attribute;
    BYOC_RETURN_IF_ERROR(byoc_onnx_resolve_attribute(reader, caller, node->attribute[i], what, &attribute));
    const char *name = byoc_onnx_string(node->attribute[i]->name);
    if (attribute && !has_argument(arguments, count, name)) {
      arguments[count++] = (byoc_onnx_argument_t){name, attribute};
    }
  }
  for (size_t i = 0; i < default_count; i++) {
    const char *name = byoc_onnx_string(defaults[i]->name);
    if (!has_argument(arguments, count, name)) arguments[count++] = (byoc_onnx_argument_t){name, defaults[i]};
  }
  context->arguments = arguments;
  context->argument_count = count;
  return BYOC_OK;
}

static byoc_status_t check_depth(byoc_onnx_reader_t *reader, const char *what, const Onnx__FunctionProto *function,
                                 const byoc_onnx_context_t *caller) {
  int depth = 0;
  for (const byoc_onnx_context_t *at = caller; at; at = at->caller) {
    if (at->function == function) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: local function '%s' calls itself", what,
                             byoc_onnx_string(function->name));
    }
    if (++depth > MAX_CALL_DEPTH) {
      return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: local functions call each other more than %d deep",
                             what, (int)MAX_CALL_DEPTH);
    }
  }
  if (++reader->call_count > MAX_CALLS) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: more than %d calls of local functions", what,
                           (int)MAX_CALLS);
  }
  return BYOC_OK;
}

static byoc_status_t read_body(byoc_onnx_reader_t *reader, const Onnx__FunctionProto *function,
                               const byoc_onnx_context_t *context, byoc_value_t *const *operands, size_t operand_count,
                               byoc_function_t *to) {
  byoc_onnx_scope_t scope;
  BYOC_RETURN_IF_ERROR(byoc_onnx_scope_init(reader, &scope, NULL, context, to->body));
  for (size_t i = 0; i < function->n_input; i++) {
    const char *name = byoc_onnx_string(function->input[i]);
    byoc_value_t *parameter = NULL;
    if (i < operand_count && operands[i]) {
      parameter = byoc_block_add_parameter(to->body, name, byoc_type_unknown());
      if (!parameter) return byoc_diag_out_of_memory(reader->diag);
    }
    BYOC_RETURN_IF_ERROR(byoc_onnx_scope_add(reader, &scope, name, "input", parameter, NULL));
  }
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_nodes(reader, function->node, function->n_node, &scope));
  for (size_t i = 0; i < function->n_output; i++) {
    const char *name = byoc_onnx_string(function->output[i]);
    char what[256];
    snprintf(what, sizeof(what), "output '%s'", name);
    byoc_value_t *value = NULL;
    if (name[0] != '\0') BYOC_RETURN_IF_ERROR(byoc_onnx_scope_find(reader, &scope, name, what, &value));
    if (!value) return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "output %zu: the call leaves it out", i);
    if (!byoc_block_add_result(to->body, name, value)) return byoc_diag_out_of_memory(reader->diag);
  }
  return BYOC_OK;
}

// Makes the names domain.name, domain.name_1 ... It keeps the last number: to search a free name from the start each
// time would be quadratic in the number of calls.
static const char *instance_name(byoc_onnx_reader_t *reader, const Onnx__FunctionProto *function) {
  const size_t made = (size_t)(uintptr_t)byoc_pointer_map_get(&reader->instances, function);
  if (!byoc_pointer_map_put(&reader->instances, function, (void *)(uintptr_t)(made + 1))) return NULL;
  const char *domain = byoc_onnx_string(function->domain), *separator = domain[0] ? "." : "";
  const char *name = made == 0
                         ? byoc_arena_format(&reader->scratch, "%s%s%s", domain, separator, function->name)
                         : byoc_arena_format(&reader->scratch, "%s%s%s_%zu", domain, separator, function->name, made);
  return name ? byoc_graph_module_unique_name(reader->module, name) : NULL;
}

byoc_status_t byoc_onnx_read_call(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node, const char *what,
                                  const Onnx__FunctionProto *function, byoc_value_t *const *operands,
                                  size_t operand_count, byoc_onnx_scope_t *scope, byoc_node_t **out_call) {
  *out_call = NULL;
  BYOC_RETURN_IF_ERROR(check_depth(reader, what, function, scope->context));
  if (operand_count > function->n_input || node->n_output > function->n_output) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                           "%s: it has %zu inputs and %zu outputs, its function %zu and %zu", what, operand_count,
                           node->n_output, function->n_input, function->n_output);
  }
  byoc_onnx_context_t context = {.caller = scope->context,
                                 .function = function,
                                 .import_count = function->n_opset_import,
                                 .imports = function->opset_import};
  BYOC_RETURN_IF_ERROR(collect_arguments(reader, node, what, function, scope->context, &context));
  const char *name = instance_name(reader, function);
  byoc_function_t *made = name ? byoc_function_create(reader->module, name) : NULL;
  if (!made || !byoc_attributes_set_int(&made->attributes, BYOC_ATTRIBUTE_INLINE, 1))
    return byoc_diag_out_of_memory(reader->diag);
  BYOC_RETURN_IF_ERROR_IN(reader->diag, read_body(reader, function, &context, operands, operand_count, made),
                          "%s, in local function '%s'", what, function->name);
  byoc_value_t **given = BYOC_ARENA_ARRAY(&reader->scratch, byoc_value_t *, operand_count + 1);
  if (!given) return byoc_diag_out_of_memory(reader->diag);
  uint32_t given_count = 0;
  for (size_t i = 0; i < operand_count; i++) {
    if (operands[i]) given[given_count++] = operands[i];
  }
  *out_call = byoc_node_create_call(scope->block, NULL, made, given, given_count);
  return *out_call ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}
