// SPDX-License-Identifier: Apache-2.0
// Maps as inputs of the model, which converters of scikit-learn write before DictVectorizer and CastMap. An input "x"
// becomes the inputs "x.keys" and "x.values", and both operators take the two.
#include <string.h>

#include "core/base/log.h"
#include "core/frontend/onnx_reader.h"

bool byoc_onnx_is_map(const Onnx__TypeProto *type) {
  return type && type->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
}

static byoc_status_t add_vector(byoc_onnx_reader_t *reader, byoc_onnx_scope_t *scope, const char *map, const char *part,
                                int32_t onnx_type, byoc_dim_t size, byoc_value_t **out_value) {
  const byoc_dtype_t dtype = byoc_dtype_from_onnx(onnx_type);
  if (dtype == BYOC_DTYPE_NONE) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "input '%s': a map with %s of %s is not supported", map,
                           part, byoc_onnx_type_name(onnx_type));
  }
  const char *name = byoc_arena_format(&reader->module->arena, "%s.%s", map, part);
  const byoc_type_t *type = byoc_type_tensor(&reader->module->arena, dtype, 1, &size);
  *out_value = name && type ? byoc_block_add_parameter(scope->block, name, type) : NULL;
  if (!*out_value) return byoc_diag_out_of_memory(reader->diag);
  return byoc_onnx_scope_add(reader, scope, name, "input", *out_value, NULL);
}

byoc_status_t byoc_onnx_add_map(byoc_onnx_reader_t *reader, const Onnx__ValueInfoProto *input,
                                byoc_onnx_scope_t *scope) {
  const char *name = byoc_onnx_string(input->name);
  const Onnx__TypeProto__Map *map = input->type->map_type;
  const Onnx__TypeProto *element = map->value_type;
  bool failed = false;
  if (!element || element->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED,
                           "input '%s': a map to other values than numbers and strings "
                           "is not supported",
                           name);
  }
  const byoc_onnx_read_options_t *options = reader->options;
  const char *symbol = byoc_arena_format(&reader->module->arena, "%s.size", name);
  if (!symbol || !byoc_string_map_put(&reader->symbols, symbol, reader)) return byoc_diag_out_of_memory(reader->diag);
  byoc_dim_t size = byoc_dim_symbol(&reader->module->arena, symbol, &failed);
  for (size_t i = 0; i < options->binding_count; i++) {
    if (strcmp(options->bindings[i].name, symbol) == 0) size = byoc_dim_constant(options->bindings[i].value);
  }
  if (failed) return byoc_diag_out_of_memory(reader->diag);
  byoc_value_t *keys, *values;
  BYOC_RETURN_IF_ERROR(add_vector(reader, scope, name, "keys", map->key_type, size, &keys));
  BYOC_RETURN_IF_ERROR(add_vector(reader, scope, name, "values", element->tensor_type->elem_type, size, &values));
  BYOC_RETURN_IF_ERROR(byoc_onnx_scope_add(reader, scope, name, "input", keys, NULL));
  byoc_onnx_binding_t *binding = byoc_string_map_get(&scope->names, name);
  binding->map_values = values;
  byoc_log(BYOC_LOG_WARNING,
           "input '%s' is a map: the program has its keys and its values as two vectors, '%s.keys' "
           "and '%s.values'",
           name, name, name);
  return BYOC_OK;
}

static const byoc_onnx_binding_t *find_map(const byoc_onnx_scope_t *scope, const char *name) {
  for (const byoc_onnx_scope_t *at = scope; at; at = at->outer) {
    const byoc_onnx_binding_t *binding = byoc_string_map_get(&at->names, name);
    if (binding) return binding->map_values ? binding : NULL;
  }
  return NULL;
}

byoc_status_t byoc_onnx_find_operands(byoc_onnx_reader_t *reader, const byoc_onnx_scope_t *scope,
                                      const Onnx__NodeProto *node, const char *what, size_t input_count,
                                      byoc_value_t ***out_operands, size_t *out_count) {
  const char *op = byoc_onnx_string(node->op_type);
  const bool takes_maps = strcmp(byoc_onnx_string(node->domain), "ai.onnx.ml") == 0 &&
                          (strcmp(op, "DictVectorizer") == 0 || strcmp(op, "CastMap") == 0);
  byoc_value_t **operands = BYOC_ARENA_ARRAY(&reader->scratch, byoc_value_t *, 2 * input_count + 1);
  if (!operands) return byoc_diag_out_of_memory(reader->diag);
  *out_operands = operands, *out_count = 0;
  for (size_t i = 0; i < input_count; i++) {
    const char *name = byoc_onnx_string(node->input[i]);
    const byoc_onnx_binding_t *map = takes_maps ? find_map(scope, name) : NULL;
    if (map) {
      operands[(*out_count)++] = map->value;
      operands[(*out_count)++] = map->map_values;
      continue;
    }
    BYOC_RETURN_IF_ERROR(byoc_onnx_scope_find(reader, scope, name, what, &operands[(*out_count)++]));
  }
  return BYOC_OK;
}
