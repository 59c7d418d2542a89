// SPDX-License-Identifier: Apache-2.0
// Scopes: the names that a graph of a model defines, and those of the graphs around it.
#include <string.h>

#include "core/frontend/onnx_reader.h"

byoc_status_t byoc_onnx_scope_init(byoc_onnx_reader_t *reader, byoc_onnx_scope_t *scope, const byoc_onnx_scope_t *outer,
                                   const byoc_onnx_context_t *context, byoc_block_t *block) {
  *scope = (byoc_onnx_scope_t){.outer = outer, .context = context, .block = block};
  byoc_string_map_init(&scope->names, byoc_arena_allocator(&reader->scratch));
  return BYOC_OK;
}

byoc_status_t byoc_onnx_scope_add(byoc_onnx_reader_t *reader, byoc_onnx_scope_t *scope, const char *name,
                                  const char *kind, byoc_value_t *value, byoc_constant_t *constant) {
  if (name[0] == '\0') return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "an %s has no name", kind);
  if (byoc_string_map_find(&scope->names, name)) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s '%s': the name is taken by another value of the graph",
                           kind, name);
  }
  for (const byoc_onnx_scope_t *outer = scope->outer; outer; outer = outer->outer) {
    if (!byoc_string_map_find(&outer->names, name)) continue;
    BYOC_RETURN_IF_ERROR(byoc_onnx_tolerate(reader, "%s '%s': a graph around it has a value of this name", kind, name));
  }
  byoc_onnx_binding_t *binding = BYOC_ARENA_NEW(&reader->scratch, byoc_onnx_binding_t);
  if (!binding) return byoc_diag_out_of_memory(reader->diag);
  *binding = (byoc_onnx_binding_t){.value = value, .constant = constant};
  return byoc_string_map_put(&scope->names, name, binding) ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

const char *byoc_onnx_constant_name(byoc_onnx_reader_t *reader, const byoc_block_t *block, const char *name) {
  const byoc_function_t *function = block->function;
  if (function == byoc_graph_module_main(reader->module)) return name;
  return byoc_arena_format(&reader->scratch, "%s.%s", function->name, name);
}

static byoc_status_t unknown_name(byoc_onnx_reader_t *reader, const byoc_onnx_scope_t *scope, const char *name,
                                  const char *what) {
  size_t count = 0;
  for (const byoc_onnx_scope_t *at = scope; at; at = at->outer) count += at->names.count;
  const char **names = BYOC_ARENA_ARRAY(&reader->scratch, const char *, count + 1);
  size_t used = 0;
  for (const byoc_onnx_scope_t *at = scope; names && at; at = at->outer) {
    for (size_t i = 0; i < at->names.count; i++) names[used++] = at->names.entries[i].text;
  }
  byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it reads '%s', which no input, initialiser or node provides",
                  what, name);
  const char *nearest = byoc_nearest_match(name, names, used);
  if (nearest) byoc_diag_hint(reader->diag, "the graph has a value '%s'", nearest);
  return BYOC_INVALID_DATA;
}

byoc_status_t byoc_onnx_scope_find(byoc_onnx_reader_t *reader, const byoc_onnx_scope_t *scope, const char *name,
                                   const char *what, byoc_value_t **out_value) {
  *out_value = NULL;
  if (name[0] == '\0') return BYOC_OK;
  for (const byoc_onnx_scope_t *at = scope; at; at = at->outer) {
    const byoc_onnx_binding_t *binding = byoc_string_map_get(&at->names, name);
    if (!binding) continue;
    if (binding->map_values) {
      return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED,
                             "%s: it reads the map '%s', which only DictVectorizer and "
                             "CastMap do",
                             what, name);
    }
    if (binding->constant) {
      *out_value = byoc_function_constant(scope->block->function, binding->constant);
      if (!*out_value) return byoc_diag_out_of_memory(reader->diag);
    } else {
      *out_value = binding->value;
    }
    return BYOC_OK;
  }
  return unknown_name(reader, scope, name, what);
}
