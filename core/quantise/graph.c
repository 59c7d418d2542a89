// SPDX-License-Identifier: Apache-2.0
// Finds makers and readers of a model's values.
#include "core/quantise/graph.h"

#include <string.h>

// ---- values ----

static byoc_qvalue_t *add_value(byoc_qgraph_t *graph, const char *name) {
  byoc_qvalue_t *value = byoc_string_map_get(&graph->values, name);
  if (value != NULL) return value;
  value = BYOC_ARENA_NEW(&graph->arena, byoc_qvalue_t);
  if (value == NULL) return NULL;
  *value = (byoc_qvalue_t){.name = name, .producer = -1};
  return byoc_string_map_put(&graph->values, name, value) ? value : NULL;
}

// The tensor of a Constant node; NULL if it holds its value in another way.
static const Onnx__TensorProto *constant_of(const Onnx__NodeProto *node) {
  if (!byoc_onnx_node_is(node, "Constant")) return NULL;
  const Onnx__AttributeProto *value = byoc_onnx_find_attribute(node, "value");
  return value != NULL ? value->t : NULL;
}

static bool add_nodes(byoc_qgraph_t *graph) {
  for (size_t n = 0; n < graph->message->n_node; n++) {
    const Onnx__NodeProto *node = graph->message->node[n];
    for (size_t i = 0; i < node->n_output; i++) {
      if (node->output[i][0] == '\0') continue;
      byoc_qvalue_t *value = add_value(graph, node->output[i]);
      if (value == NULL) return false;
      value->producer = (int32_t)n;
      value->tensor = i == 0 ? constant_of(node) : NULL;
    }
  }
  return true;
}

static bool add_ends(byoc_qgraph_t *graph) {
  const Onnx__GraphProto *message = graph->message;
  byoc_qvalue_t *value;
  for (size_t i = 0; i < message->n_input; i++) {
    if ((value = add_value(graph, message->input[i]->name)) == NULL) return false;
    value->is_input = true;
  }
  for (size_t i = 0; i < message->n_initializer; i++) {
    if ((value = add_value(graph, message->initializer[i]->name)) == NULL) return false;
    value->tensor = message->initializer[i];
    value->is_input = false;
  }
  for (size_t i = 0; i < message->n_sparse_initializer; i++) {
    const Onnx__SparseTensorProto *sparse = message->sparse_initializer[i];
    if (sparse->values != NULL && sparse->values->name != NULL && !add_value(graph, sparse->values->name)) return false;
  }
  for (size_t i = 0; i < message->n_output; i++) {
    if ((value = add_value(graph, message->output[i]->name)) == NULL) return false;
    value->is_output = true;
  }
  return true;
}

// ---- readers ----

static bool count_inside(byoc_qgraph_t *graph, const Onnx__GraphProto *nested);

// Marks what nested graphs of the node read. A name that they define themselves counts, too; that is on the safe side.
static bool mark_nested(byoc_qgraph_t *graph, const Onnx__NodeProto *node) {
  for (size_t a = 0; a < node->n_attribute; a++) {
    const Onnx__AttributeProto *attribute = node->attribute[a];
    if (attribute->g != NULL && !count_inside(graph, attribute->g)) return false;
    for (size_t g = 0; g < attribute->n_graphs; g++) {
      if (!count_inside(graph, attribute->graphs[g])) return false;
    }
  }
  return true;
}

static void mark_inside(byoc_qgraph_t *graph, const char *name) {
  byoc_qvalue_t *value = byoc_string_map_get(&graph->values, name);
  if (value != NULL) value->is_read_inside = true;
}

static bool count_inside(byoc_qgraph_t *graph, const Onnx__GraphProto *nested) {
  for (size_t n = 0; n < nested->n_node; n++) {
    for (size_t i = 0; i < nested->node[n]->n_input; i++) mark_inside(graph, nested->node[n]->input[i]);
    if (!mark_nested(graph, nested->node[n])) return false;
  }
  for (size_t i = 0; i < nested->n_output; i++) mark_inside(graph, nested->output[i]->name);
  return true;
}

// Counts readers if `fills` is false, and lists them if it is true.
static bool add_readers(byoc_qgraph_t *graph, bool fills) {
  for (size_t n = 0; n < graph->message->n_node; n++) {
    const Onnx__NodeProto *node = graph->message->node[n];
    for (size_t i = 0; i < node->n_input; i++) {
      if (node->input[i][0] == '\0') continue;
      byoc_qvalue_t *value = add_value(graph, node->input[i]);
      if (value == NULL) return false;
      if (fills) value->readers[value->reader_count] = (byoc_qreader_t){(uint32_t)n, (uint32_t)i};
      value->reader_count++;
    }
    if (!fills && !mark_nested(graph, node)) return false;
  }
  return true;
}

static bool list_readers(byoc_qgraph_t *graph) {
  if (!add_readers(graph, false)) return false;
  for (size_t i = 0; i < graph->values.count; i++) {
    byoc_qvalue_t *value = graph->values.entries[i].value;
    value->readers = BYOC_ARENA_ARRAY(&graph->arena, byoc_qreader_t, value->reader_count + 1);
    if (value->readers == NULL) return false;
    value->reader_count = 0;
  }
  return add_readers(graph, true);
}

// ---- types ----

static void take_type(byoc_qgraph_t *graph, const byoc_value_t *from) {
  byoc_qvalue_t *value = from->name != NULL ? byoc_string_map_get(&graph->values, from->name) : NULL;
  if (value != NULL) value->type = from->type;
}

static void take_types(byoc_qgraph_t *graph, const byoc_graph_module_t *module) {
  const byoc_function_t *main = byoc_graph_module_main(module);
  if (main == NULL) return;
  for (size_t i = 0; i < main->body->parameters.count; i++) take_type(graph, main->body->parameters.data[i]);
  BYOC_FOR_EACH_NODE(node, main->body) {
    for (uint32_t i = 0; i < node->result_count; i++) take_type(graph, node->results[i]);
  }
}

byoc_status_t byoc_qgraph_open(byoc_qgraph_t *graph, byoc_onnx_model_t *model, const byoc_graph_module_t *module,
                               byoc_diag_t *diag) {
  *graph = (byoc_qgraph_t){.model = model, .message = byoc_onnx_model_message(model)->graph};
  byoc_arena_init(&graph->arena, byoc_allocator_system());
  byoc_string_map_init(&graph->values, byoc_allocator_system());
  if (!add_nodes(graph) || !add_ends(graph) || !list_readers(graph)) {
    byoc_qgraph_close(graph);
    return byoc_diag_out_of_memory(diag);
  }
  take_types(graph, module);
  return BYOC_OK;
}

void byoc_qgraph_close(byoc_qgraph_t *graph) {
  if (graph->model == NULL) return;
  byoc_map_deinit(&graph->values);
  byoc_arena_deinit(&graph->arena);
  *graph = (byoc_qgraph_t){0};
}

// ---- questions ----

byoc_qvalue_t *byoc_qgraph_value(const byoc_qgraph_t *graph, const char *name) {
  return byoc_string_map_get(&graph->values, name);
}

byoc_qvalue_t *byoc_qgraph_operand(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, size_t index) {
  if (index >= node->n_input || node->input[index][0] == '\0') return NULL;
  return byoc_qgraph_value(graph, node->input[index]);
}

byoc_qvalue_t *byoc_qgraph_result(const byoc_qgraph_t *graph, const Onnx__NodeProto *node) {
  if (node->n_output == 0 || node->output[0][0] == '\0') return NULL;
  return byoc_qgraph_value(graph, node->output[0]);
}

Onnx__NodeProto *byoc_qgraph_producer(const byoc_qgraph_t *graph, const byoc_qvalue_t *value) {
  return value != NULL && value->producer >= 0 ? graph->message->node[value->producer] : NULL;
}

const float *byoc_qvalue_floats(const byoc_qgraph_t *graph, const byoc_qvalue_t *value) {
  if (value == NULL || value->tensor == NULL) return NULL;
  return byoc_onnx_tensor_floats(graph->model, value->tensor);
}

bool byoc_qvalue_is_activation(const byoc_qvalue_t *value) {
  if (value == NULL || value->tensor != NULL) return false;
  return byoc_type_is_tensor(value->type) && value->type->dtype == BYOC_DTYPE_F32;
}

bool byoc_qvalue_has_one_reader(const byoc_qvalue_t *value) {
  return value != NULL && value->reader_count == 1 && !value->is_output && !value->is_read_inside;
}

int32_t byoc_qvalue_rank(const byoc_qvalue_t *value) {
  if (value == NULL) return -1;
  if (value->tensor != NULL) return (int32_t)value->tensor->n_dims;
  return byoc_type_is_tensor(value->type) ? value->type->rank : -1;
}

const char *byoc_qnode_name(const Onnx__NodeProto *node) {
  if (node->name != NULL && node->name[0] != '\0') return node->name;
  return node->n_output > 0 ? node->output[0] : "";
}

bool byoc_qnode_is_named(const Onnx__NodeProto *node, const char *name) {
  if (node->name != NULL && strcmp(node->name, name) == 0) return true;
  for (size_t i = 0; i < node->n_output; i++) {
    if (strcmp(node->output[i], name) == 0) return true;
  }
  return false;
}

bool byoc_qnode_is_turned(const Onnx__NodeProto *node) {
  return byoc_onnx_node_is(node, "Gemm") && byoc_onnx_attribute_int(node, "transB", 0) != 0;
}

byoc_status_t byoc_qgraph_set_nodes(byoc_onnx_model_t *model, Onnx__GraphProto *message, Onnx__NodeProto *const *nodes,
                                    size_t count, byoc_diag_t *diag) {
  Onnx__NodeProto **list = BYOC_ARENA_ARRAY(byoc_onnx_model_arena(model), Onnx__NodeProto *, count + 1);
  if (list == NULL) return byoc_diag_out_of_memory(diag);
  if (count > 0) memcpy(list, nodes, count * sizeof(*list));
  message->node = list;
  message->n_node = count;
  return BYOC_OK;
}

// ---- names ----

const char *byoc_qgraph_new_name(byoc_onnx_model_t *model, byoc_map_t *taken, const char *base, const char *suffix) {
  byoc_arena_t *arena = byoc_onnx_model_arena(model);
  const char *name = byoc_arena_format(arena, "%s%s", base, suffix);
  for (int i = 1; name != NULL && byoc_string_map_find(taken, name) != NULL; i++) {
    name = byoc_arena_format(arena, "%s%s_%d", base, suffix, i);
  }
  return name != NULL && byoc_string_map_put(taken, name, NULL) ? name : NULL;
}

void *byoc_qgraph_add_initialiser(byoc_onnx_model_t *model, byoc_map_t *taken, const char *base, const char *suffix,
                                  byoc_dtype_t dtype, size_t rank, const int64_t *dims, const char **out_name) {
  *out_name = byoc_qgraph_new_name(model, taken, base, suffix);
  return *out_name != NULL ? byoc_onnx_add_initialiser(model, *out_name, dtype, rank, dims) : NULL;
}

static bool take_names(byoc_map_t *taken, char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!byoc_string_map_put(taken, names[i], NULL)) return false;
  }
  return true;
}

byoc_status_t byoc_qgraph_names(const Onnx__GraphProto *message, byoc_map_t *taken, byoc_diag_t *diag) {
  bool done = true;
  for (size_t i = 0; i < message->n_input; i++)
    done = done && byoc_string_map_put(taken, message->input[i]->name, NULL);
  for (size_t i = 0; i < message->n_initializer; i++) {
    done = done && byoc_string_map_put(taken, message->initializer[i]->name, NULL);
  }
  for (size_t n = 0; done && n < message->n_node; n++) {
    const Onnx__NodeProto *node = message->node[n];
    done = take_names(taken, node->input, node->n_input) && take_names(taken, node->output, node->n_output);
    for (size_t a = 0; done && a < node->n_attribute; a++) {
      if (node->attribute[a]->g != NULL) BYOC_RETURN_IF_ERROR(byoc_qgraph_names(node->attribute[a]->g, taken, diag));
    }
  }
  return done ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
