// SPDX-License-Identifier: Apache-2.0
// Reads graphs: the model's own and those nested in nodes, each with its scope of names.
#include <string.h>

#include "core/frontend/onnx_reader.h"

static byoc_status_t add_initialisers(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph,
                                      byoc_onnx_scope_t *scope) {
  char what[256];
  byoc_constant_t *constant;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    const char *name = byoc_onnx_string(graph->initializer[i]->name);
    snprintf(what, sizeof(what), "initialiser '%s'", name);
    const char *full_name = byoc_onnx_constant_name(reader, scope->block, name);
    if (!full_name) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_tensor(reader, graph->initializer[i], what, full_name, &constant));
    BYOC_RETURN_IF_ERROR(byoc_onnx_scope_add(reader, scope, name, "initialiser", NULL, constant));
  }
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    const Onnx__SparseTensorProto *sparse = graph->sparse_initializer[i];
    const char *name = sparse->values ? byoc_onnx_string(sparse->values->name) : "";
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
  snprintf(what, sizeof(what), "input '%s'", byoc_onnx_string(input->name));
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
  const byoc_onnx_binding_t *binding = byoc_string_map_get(&scope->names, name);
  return binding && binding->constant;
}

static byoc_status_t add_inputs(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph, byoc_onnx_scope_t *scope) {
  const bool is_main = scope->outer == NULL;
  byoc_map_t seen;
  byoc_string_map_init(&seen, byoc_arena_allocator(&reader->scratch));
  for (size_t i = 0; i < graph->n_input; i++) {
    const Onnx__ValueInfoProto *input = graph->input[i];
    const char *name = byoc_onnx_string(input->name);
    if (name[0] != '\0' && byoc_string_map_find(&seen, name)) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "input '%s': the graph has two inputs of this name",
                             name);
    }
    if (!byoc_string_map_put(&seen, name, scope)) return byoc_diag_out_of_memory(reader->diag);
    if (has_value(scope, name)) {
      const byoc_onnx_binding_t *binding = byoc_string_map_get(&scope->names, name);
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
    const char *name = byoc_onnx_string(output->name);
    snprintf(what, sizeof(what), "output '%s'", name);
    if (name[0] == '\0') return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "output %zu has no name", i);
    for (size_t k = 0; is_main && k < i; k++) {
      if (strcmp(name, byoc_onnx_string(graph->output[k]->name)) == 0) {
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
    const byoc_onnx_binding_t *binding = byoc_string_map_get(&scope->names, byoc_onnx_string(info->name));
    if (!binding || !binding->value) continue; // not a value of this graph: exporters leave such entries
    char what[256];
    snprintf(what, sizeof(what), "value '%s'", byoc_onnx_string(info->name));
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
