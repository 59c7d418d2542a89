// SPDX-License-Identifier: Apache-2.0
// Reads graphs: the model's own and those nested in nodes, each with its scope of names.
#include <string.h>

#include "core/frontend/onnx_reader.h"

byoc_status_t byoc_onnx_scope_init(byoc_onnx_reader_t *reader, byoc_onnx_scope_t *scope, const byoc_onnx_scope_t *outer,
                                   const byoc_onnx_context_t *context, byoc_block_t *block) {
  *scope = (byoc_onnx_scope_t){.outer = outer, .context = context, .block = block};
  byoc_text_map_init(&scope->names, byoc_arena_allocator(&reader->scratch));
  return BYOC_OK;
}

byoc_status_t byoc_onnx_scope_add(byoc_onnx_reader_t *reader, byoc_onnx_scope_t *scope, const char *name,
                                  const char *kind, byoc_value_t *value, byoc_constant_t *constant) {
  if (name[0] == '\0') return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "an %s has no name", kind);
  if (byoc_text_map_find(&scope->names, name)) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s '%s': the name is taken by another value of the graph",
                           kind, name);
  }
  for (const byoc_onnx_scope_t *outer = scope->outer; outer; outer = outer->outer) {
    if (!byoc_text_map_find(&outer->names, name)) continue;
    BYOC_RETURN_IF_ERROR(byoc_onnx_tolerate(reader, "%s '%s': a graph around it has a value of this name", kind, name));
  }
  byoc_onnx_binding_t *binding = BYOC_ARENA_NEW(&reader->scratch, byoc_onnx_binding_t);
  if (!binding) return byoc_diag_out_of_memory(reader->diag);
  *binding = (byoc_onnx_binding_t){.value = value, .constant = constant};
  return byoc_text_map_put(&scope->names, name, binding) ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
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
    const byoc_onnx_binding_t *binding = byoc_text_map_get(&at->names, name);
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

static byoc_status_t add_initialisers(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph,
                                      byoc_onnx_scope_t *scope) {
  char what[256];
  byoc_constant_t *constant;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const char *name = byoc_onnx_text(graph->initializer[i]->name);
    snprintf(what, sizeof(what), "initialiser '%s'", name);
    const char *full_name = byoc_onnx_constant_name(reader, scope->block, name);
    if (!full_name) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_tensor(reader, graph->initializer[i], what, full_name, &constant));
    BYOC_RETURN_IF_ERROR(byoc_onnx_scope_add(reader, scope, name, "initialiser", NULL, constant));
  }
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    const Onnx__SparseTensorProto *sparse = graph->sparse_initializer[i];
    const char *name = sparse->values ? byoc_onnx_text(sparse->values->name) : "";
    snprintf(what, sizeof(what), "sparse initialiser '%s'", name);
    const char *full_name = byoc_onnx_constant_name(reader, scope->block, name);
    if (!full_name) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_sparse_tensor(reader, sparse, what, full_name, &constant));
    BYOC_RETURN_IF_ERROR(byoc_onnx_scope_add(reader, scope, name, "initialiser", NULL, constant));
  }
  return BYOC_OK;
}

// An input that an initialiser provides: the declared type must be the constant's.
static byoc_status_t check_default(byoc_onnx_reader_t *reader, const Onnx__ValueInfoProto *input,
                                   const byoc_constant_t *constant) {
  char what[256];
  snprintf(what, sizeof(what), "input '%s'", byoc_onnx_text(input->name));
  const byoc_type_t *type;
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_type(reader, input->type, what, &type));
  bool agrees = !type || (type->kind == BYOC_TYPE_TENSOR && type->dtype == constant->type->dtype &&
                          (type->rank == BYOC_RANK_UNKNOWN || type->rank == constant->type->rank));
  for (int32_t i = 0; agrees && type && i < type->rank; i++) {
    agrees = !byoc_dim_is_constant(type->dims[i]) || type->dims[i].constant == constant->type->dims[i].constant;
  }
  if (agrees) return BYOC_OK;
  byoc_string_t declared, actual;
  byoc_string_init(&declared, reader->allocator);
  byoc_string_init(&actual, reader->allocator);
  byoc_type_print(type, &declared);
  byoc_type_print(constant->type, &actual);
  byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it is declared %s, but its initialiser is %s", what,
                  declared.data, actual.data);
  byoc_string_deinit(&declared);
  byoc_string_deinit(&actual);
  return BYOC_INVALID_DATA;
}

static bool has_value(const byoc_onnx_scope_t *scope, const char *name) {
  const byoc_onnx_binding_t *binding = byoc_text_map_get(&scope->names, name);
  return binding && binding->constant;
}

static byoc_status_t add_inputs(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph, byoc_onnx_scope_t *scope) {
  const bool is_main = scope->outer == NULL;
  byoc_map_t seen;
  byoc_text_map_init(&seen, byoc_arena_allocator(&reader->scratch));
  for (size_t i = 0; i < graph->n_input; i++) {
    const Onnx__ValueInfoProto *input = graph->input[i];
    const char *name = byoc_onnx_text(input->name);
    if (name[0] != '\0' && byoc_text_map_find(&seen, name)) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "input '%s': the graph has two inputs of this name",
                             name);
    }
    if (!byoc_text_map_put(&seen, name, scope)) return byoc_diag_out_of_memory(reader->diag);
    if (has_value(scope, name)) {
      const byoc_onnx_binding_t *binding = byoc_text_map_get(&scope->names, name);
      bool is_kept = false;
      BYOC_RETURN_IF_ERROR(check_default(reader, input, binding->constant));
      if (is_main) BYOC_RETURN_IF_ERROR(byoc_onnx_keep_input(reader, input, scope, &is_kept));
      continue;
    }
    if (is_main && byoc_onnx_is_map(input->type)) {
      BYOC_RETURN_IF_ERROR(byoc_onnx_add_map(reader, input, scope));
      continue;
    }
    const byoc_type_t *type = byoc_type_unknown();
    if (is_main) BYOC_RETURN_IF_ERROR(byoc_onnx_read_input_type(reader, input, &type));
    byoc_value_t *parameter = byoc_block_add_parameter(scope->block, name, type);
    if (!parameter) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR(byoc_onnx_scope_add(reader, scope, name, "input", parameter, NULL));
    // In nested graphs and functions the type follows from the arguments (onnx_infer.c); the declaration helps.
    if (!is_main) BYOC_RETURN_IF_ERROR(byoc_onnx_declare(reader, parameter, input->type, name));
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_read_nodes(byoc_onnx_reader_t *reader, Onnx__NodeProto *const *nodes, size_t count,
                                   byoc_onnx_scope_t *scope) {
  const size_t *order;
  BYOC_RETURN_IF_ERROR(byoc_onnx_order_nodes(reader, nodes, count, &order));
  for (size_t i = 0; i < count; i++) {
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_node(reader, nodes[order[i]], order[i], scope));
  }
  return BYOC_OK;
}

static byoc_status_t add_outputs(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph, byoc_onnx_scope_t *scope) {
  const bool is_main = scope->outer == NULL;
  char what[256];
  for (size_t i = 0; i < graph->n_output; i++) {
    const Onnx__ValueInfoProto *output = graph->output[i];
    const char *name = byoc_onnx_text(output->name);
    snprintf(what, sizeof(what), "output '%s'", name);
    if (name[0] == '\0') return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "output %zu has no name", i);
    for (size_t k = 0; is_main && k < i; k++) {
      if (strcmp(name, byoc_onnx_text(graph->output[k]->name)) == 0) {
        return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: the graph has two outputs of this name", what);
      }
    }
    byoc_value_t *value;
    BYOC_RETURN_IF_ERROR(byoc_onnx_scope_find(reader, scope, name, what, &value));
    if (!value) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it is an input that the call leaves out", what);
    }
    if (!byoc_block_add_result(scope->block, name, value)) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR(byoc_onnx_declare(reader, value, output->type, what));
  }
  return BYOC_OK;
}

static byoc_status_t read_graph(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph, byoc_onnx_scope_t *scope) {
  BYOC_RETURN_IF_ERROR(add_initialisers(reader, graph, scope));
  BYOC_RETURN_IF_ERROR(add_inputs(reader, graph, scope));
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_nodes(reader, graph->node, graph->n_node, scope));
  for (size_t i = 0; i < graph->n_value_info; i++) {
    const Onnx__ValueInfoProto *info = graph->value_info[i];
    const byoc_onnx_binding_t *binding = byoc_text_map_get(&scope->names, byoc_onnx_text(info->name));
    if (!binding || !binding->value) continue; // not a value of this graph: exporters leave such entries
    char what[256];
    snprintf(what, sizeof(what), "value '%s'", byoc_onnx_text(info->name));
    BYOC_RETURN_IF_ERROR(byoc_onnx_declare(reader, binding->value, info->type, what));
  }
  return add_outputs(reader, graph, scope);
}

byoc_status_t byoc_onnx_read_main(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph,
                                  const byoc_onnx_context_t *context) {
  byoc_function_t *function = byoc_function_create(reader->module, "main");
  if (!function) return byoc_diag_out_of_memory(reader->diag);
  byoc_onnx_scope_t scope;
  BYOC_RETURN_IF_ERROR(byoc_onnx_scope_init(reader, &scope, NULL, context, function->body));
  BYOC_RETURN_IF_ERROR(read_graph(reader, graph, &scope));
  if (function->body->results.count == 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "the graph has no outputs");
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_read_block(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph,
                                   const byoc_onnx_scope_t *outer, byoc_block_t *block) {
  byoc_onnx_scope_t scope;
  BYOC_RETURN_IF_ERROR(byoc_onnx_scope_init(reader, &scope, outer, outer->context, block));
  return read_graph(reader, graph, &scope);
}
