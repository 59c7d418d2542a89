// SPDX-License-Identifier: Apache-2.0
// Reads the JSON of a sub-graph and checks it.
#include "engine/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "common/json_load.h"
#include "engine/graph/layout.h"

// Enough for any model, small enough that no product of indices overflows.
#define GRAPH_COUNT_LIMIT 1000000

static const struct {
  const char *kind, *name;
  dnnl_alg_kind_t algorithm;
} graph_algorithms[] = {
#define BYOC_DNNL_ALGORITHM(kind, name, algorithm) {kind, name, algorithm},
#include "engine/graph/algorithms.def"
#undef BYOC_DNNL_ALGORITHM
};

dnnl_alg_kind_t byoc_dnnl_algorithm(const char *kind, const char *name) {
  for (size_t i = 0; i < sizeof(graph_algorithms) / sizeof(graph_algorithms[0]); ++i)
    if (strcmp(graph_algorithms[i].kind, kind) == 0 && strcmp(graph_algorithms[i].name, name) == 0)
      return graph_algorithms[i].algorithm;
  return dnnl_alg_kind_undef;
}

int64_t byoc_dnnl_node_int(const byoc_dnnl_node_t *node, const char *name, int64_t fallback) {
  const json_t *item = json_object_get(node->attributes, name);
  return json_is_integer(item) ? json_integer_value(item) : fallback;
}

float byoc_dnnl_node_float(const byoc_dnnl_node_t *node, const char *name, float fallback) {
  const json_t *item = json_object_get(node->attributes, name);
  return json_is_number(item) ? (float)json_number_value(item) : fallback;
}

const char *byoc_dnnl_node_string(const byoc_dnnl_node_t *node, const char *name, const char *fallback) {
  const json_t *item = json_object_get(node->attributes, name);
  return json_is_string(item) ? json_string_value(item) : fallback;
}

int byoc_dnnl_node_ints(const byoc_dnnl_node_t *node, const char *name, int64_t fallback, int32_t count,
                        int64_t *out_values) {
  const json_t *array = json_object_get(node->attributes, name);
  if (array != NULL && (!json_is_array(array) || json_array_size(array) != (size_t)count)) return 0;
  for (int32_t i = 0; i < count; ++i) {
    const json_t *item = array != NULL ? json_array_get(array, (size_t)i) : NULL;
    if (array != NULL && !json_is_integer(item)) return 0;
    out_values[i] = array != NULL ? (int64_t)json_integer_value(item) : fallback;
  }
  return 1;
}

int32_t byoc_dnnl_graph_root_value(const byoc_dnnl_graph_t *graph, int32_t value) {
  while (graph->values[value].alias >= 0) value = graph->values[value].alias;
  return value;
}

static int32_t damaged(const byoc_dnnl_graph_t *graph, byoc_dnnl_error_t *error, const char *what, size_t index) {
  return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "%s: its JSON is damaged: %s %zu", graph->symbol, what, index);
}

// The items of an array member; NULL if it is missing or too long.
static const json_t *array_of(const json_t *object, const char *name, uint32_t *out_count) {
  const json_t *array = json_object_get(object, name);
  *out_count = 0;
  if (!json_is_array(array) || json_array_size(array) > GRAPH_COUNT_LIMIT) return NULL;
  *out_count = (uint32_t)json_array_size(array);
  return array;
}

static void *allocate(uint32_t count, size_t size) {
  return calloc(count > 0 ? count : 1, size);
}

static int32_t parse_value(byoc_dnnl_graph_t *graph, uint32_t index, const json_t *object,
                           const byoc_engine_function_t *function, byoc_dnnl_error_t *error) {
  byoc_dnnl_value_t *value = &graph->values[index];
  value->input = value->output = value->constant = value->producer = value->alias = -1;
  value->direct_output = value->last_use = -1;
  uint32_t rank = 0;
  const json_t *dims = array_of(object, "dims", &rank);
  if (dims == NULL || rank == 0 || rank > DNNL_MAX_NDIMS) return damaged(graph, error, "dims of value", index);
  const char *dtype = json_string_value(json_object_get(object, "dtype"));
  if (dtype == NULL || strcmp(dtype, "f32") != 0) return damaged(graph, error, "dtype of value", index);
  value->rank = (int32_t)rank;
  int64_t count = 1;
  int open_count = 0;
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t dim = json_integer_value(json_array_get(dims, i)); // 0 if it is not an integer
    const int is_open = dim < 0 && -1 - dim < (int64_t)graph->open_count;
    if ((dim < 1 && !is_open) || dim > ((int64_t)1 << 40) / count) return damaged(graph, error, "dims of value", index);
    value->dims[i] = dim;
    if (!is_open) count *= dim;
    open_count += is_open;
  }
  const json_t *layout = json_object_get(object, "layout");
  value->has_layout = layout != NULL;
  if (layout != NULL && (open_count > 0 || !byoc_dnnl_layout_parse(layout, value->rank, value->dims, &value->layout)))
    return damaged(graph, error, "layout of value", index);
  const json_t *constant = json_object_get(object, "constant");
  if (constant == NULL) return BYOC_OK;
  int64_t at = json_is_integer(constant) ? json_integer_value(constant) : -1;
  if (open_count > 0 || at < 0 || at >= (int64_t)function->constant_count)
    return damaged(graph, error, "constant of value", index);
  value->constant = (int32_t)at;
  return BYOC_OK;
}

static int32_t parse_value_index(const byoc_dnnl_graph_t *graph, const json_t *item) {
  if (!json_is_integer(item)) return -1;
  json_int_t at = json_integer_value(item);
  return at >= 0 && at < (json_int_t)graph->value_count ? (int32_t)at : -1;
}

// A value that a node reads must exist by then.
static int value_is_ready(const byoc_dnnl_graph_t *graph, int32_t value) {
  const byoc_dnnl_value_t *v = &graph->values[value];
  return v->input >= 0 || v->constant >= 0 || v->producer >= 0;
}

static void note_use(byoc_dnnl_graph_t *graph, int32_t value, int32_t node) {
  graph->values[byoc_dnnl_graph_root_value(graph, value)].last_use = node;
}

static int32_t parse_post_op(byoc_dnnl_graph_t *graph, const json_t *object, uint32_t node_index,
                             byoc_dnnl_post_op_t *out_post_op, byoc_dnnl_error_t *error) {
  const char *kind = json_string_value(json_object_get(object, "kind"));
  const char *algorithm = json_string_value(json_object_get(object, "algorithm"));
  if (kind == NULL || algorithm == NULL) return damaged(graph, error, "post-op of node", node_index);
  out_post_op->kind = strcmp(kind, "eltwise") == 0  ? BYOC_DNNL_POST_ELTWISE
                      : strcmp(kind, "binary") == 0 ? BYOC_DNNL_POST_BINARY
                                                    : 0;
  out_post_op->algorithm = byoc_dnnl_algorithm(kind, algorithm);
  out_post_op->value = -1;
  if (out_post_op->kind == 0 || out_post_op->algorithm == dnnl_alg_kind_undef)
    return damaged(graph, error, "post-op of node", node_index);
  out_post_op->alpha = (float)json_number_value(json_object_get(object, "alpha"));
  out_post_op->beta = (float)json_number_value(json_object_get(object, "beta"));
  if (out_post_op->kind == BYOC_DNNL_POST_ELTWISE) return BYOC_OK;
  out_post_op->value = parse_value_index(graph, json_object_get(object, "input"));
  if (out_post_op->value < 0 || !value_is_ready(graph, out_post_op->value))
    return damaged(graph, error, "post-op of node", node_index);
  note_use(graph, out_post_op->value, (int32_t)node_index);
  return BYOC_OK;
}

static int32_t parse_node(byoc_dnnl_graph_t *graph, uint32_t index, const json_t *object, byoc_dnnl_error_t *error) {
  byoc_dnnl_node_t *node = &graph->nodes[index];
  node->name = json_string_value(json_object_get(object, "name"));
  node->op = json_string_value(json_object_get(object, "op"));
  node->attributes = json_object_get(object, "attributes");
  if (node->op == NULL) return damaged(graph, error, "op of node", index);
  if (node->name == NULL) node->name = node->op;

  const json_t *inputs = array_of(object, "inputs", &node->input_count);
  if (inputs == NULL || node->input_count == 0) return damaged(graph, error, "inputs of node", index);
  node->inputs = allocate(node->input_count, sizeof(*node->inputs));
  if (node->inputs == NULL) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const json_t *item = json_array_get(inputs, i);
    node->inputs[i] = -1;
    if (json_is_null(item)) continue;
    node->inputs[i] = parse_value_index(graph, item);
    if (node->inputs[i] < 0 || !value_is_ready(graph, node->inputs[i]))
      return damaged(graph, error, "inputs of node", index);
  }
  if (node->inputs[0] < 0) return damaged(graph, error, "inputs of node", index);

  node->output = parse_value_index(graph, json_object_get(object, "output"));
  if (node->output < 0 || value_is_ready(graph, node->output)) return damaged(graph, error, "output of node", index);
  const json_t *more = json_object_get(object, "more");
  for (size_t i = 0; i < 2; ++i) {
    const json_t *item = json_array_get(more, i);
    node->more[i] = -1;
    if (item == NULL || json_is_null(item)) continue;
    const int32_t value = node->more[i] = parse_value_index(graph, item);
    if (value < 0 || value == node->output || value_is_ready(graph, value))
      return damaged(graph, error, "results of node", index);
    graph->values[value].producer = (int32_t)index;
  }
  if (strcmp(node->op, "reshape") == 0 || strcmp(node->op, "transpose") == 0 || strcmp(node->op, "slice") == 0)
    graph->values[node->output].alias = node->inputs[0];
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (node->inputs[i] >= 0) note_use(graph, node->inputs[i], (int32_t)index);

  const json_t *post_ops = json_object_get(object, "post_ops");
  if (post_ops != NULL) {
    if (array_of(object, "post_ops", &node->post_op_count) == NULL)
      return damaged(graph, error, "post-ops of node", index);
    node->post_ops = allocate(node->post_op_count, sizeof(*node->post_ops));
    if (node->post_ops == NULL) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < node->post_op_count; ++i) {
      int32_t status = parse_post_op(graph, json_array_get(post_ops, i), index, &node->post_ops[i], error);
      if (status != BYOC_OK) return status;
    }
  }
  graph->values[node->output].producer = (int32_t)index;
  return BYOC_OK;
}

static int32_t parse_boundary(byoc_dnnl_graph_t *graph, const char *name, int32_t **out_values, uint32_t *out_count,
                              byoc_dnnl_error_t *error) {
  const json_t *array = array_of(graph->root, name, out_count);
  if (array == NULL) return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "%s: its JSON has no %s", graph->symbol, name);
  *out_values = allocate(*out_count, sizeof(**out_values));
  if (*out_values == NULL) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
  for (uint32_t i = 0; i < *out_count; ++i) {
    (*out_values)[i] = parse_value_index(graph, json_array_get(array, i));
    if ((*out_values)[i] < 0) return damaged(graph, error, name, i);
  }
  return BYOC_OK;
}

static int32_t parse_graph(const byoc_engine_function_t *function, byoc_dnnl_graph_t *graph, byoc_dnnl_error_t *error) {
  json_error_t parse_error;
  bool out_of_memory;
  graph->root = byoc_plugin_load_json(function->json, (size_t)function->json_size, 0, &parse_error, &out_of_memory);
  if (out_of_memory) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
  if (graph->root == NULL)
    return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "%s: its JSON does not parse: line %d, column %d: %s",
                          function->symbol, parse_error.line, parse_error.column, parse_error.text);
  int64_t version = json_integer_value(json_object_get(graph->root, "version"));
  if (version != BYOC_DNNL_SCHEMA_VERSION)
    return byoc_dnnl_fail(error, BYOC_VERSION, "%s: its JSON has version %lld, this engine reads version %d",
                          function->symbol, (long long)version, BYOC_DNNL_SCHEMA_VERSION);
  const json_t *values = array_of(graph->root, "values", &graph->value_count);
  uint32_t node_count = 0;
  const json_t *nodes = array_of(graph->root, "nodes", &node_count);
  if (values == NULL || nodes == NULL)
    return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "%s: its JSON has no values or nodes", function->symbol);
  const int64_t open_count = json_integer_value(json_object_get(graph->root, "open"));
  if (open_count < 0 || open_count > GRAPH_COUNT_LIMIT)
    return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "%s: its JSON is damaged: 'open'", function->symbol);
  graph->open_count = (uint32_t)open_count;
  graph->shape_limit = json_integer_value(json_object_get(graph->root, "shapes"));
  if (graph->shape_limit < 1) graph->shape_limit = 1;
  graph->values = allocate(graph->value_count, sizeof(*graph->values));
  graph->nodes = allocate(node_count, sizeof(*graph->nodes));
  if (graph->values == NULL || graph->nodes == NULL) return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
  graph->node_count = node_count;

  int32_t status = BYOC_OK;
  for (uint32_t i = 0; status == BYOC_OK && i < graph->value_count; ++i)
    status = parse_value(graph, i, json_array_get(values, i), function, error);
  if (status == BYOC_OK) status = parse_boundary(graph, "inputs", &graph->inputs, &graph->input_count, error);
  if (status != BYOC_OK) return status;
  for (uint32_t i = 0; i < graph->input_count; ++i) {
    byoc_dnnl_value_t *value = &graph->values[graph->inputs[i]];
    if (value->input >= 0 || value->constant >= 0) return damaged(graph, error, "input", i);
    value->input = (int32_t)i;
  }
  for (uint32_t i = 0; status == BYOC_OK && i < node_count; ++i)
    status = parse_node(graph, i, json_array_get(nodes, i), error);
  if (status == BYOC_OK) status = parse_boundary(graph, "outputs", &graph->outputs, &graph->output_count, error);
  if (status != BYOC_OK) return status;
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    byoc_dnnl_value_t *value = &graph->values[graph->outputs[i]];
    if (value->output >= 0 || !value_is_ready(graph, graph->outputs[i])) return damaged(graph, error, "output", i);
    value->output = value->direct_output = (int32_t)i;
  }
  for (uint32_t i = node_count; i-- > 0;) {
    const byoc_dnnl_node_t *node = &graph->nodes[i];
    byoc_dnnl_value_t *source = &graph->values[node->inputs[0]];
    if (strcmp(node->op, "reshape") == 0 && source->direct_output < 0)
      source->direct_output = graph->values[node->output].direct_output;
  }
  return BYOC_OK;
}

int32_t byoc_dnnl_graph_init(const byoc_engine_function_t *function, byoc_dnnl_graph_t *out_graph,
                             byoc_dnnl_error_t *error) {
  memset(out_graph, 0, sizeof(*out_graph));
  out_graph->symbol = function->symbol;
  return parse_graph(function, out_graph, error);
}

int32_t byoc_dnnl_graph_check_call(const byoc_dnnl_graph_t *graph, const byoc_call_t *call, byoc_dnnl_error_t *error) {
  if (call->input_count == graph->input_count && call->output_count == graph->output_count) return BYOC_OK;
  return byoc_dnnl_fail(error, BYOC_INVALID_ARGUMENT, "%s: called with %u inputs and %u outputs, it has %u and %u",
                        graph->symbol, call->input_count, call->output_count, graph->input_count, graph->output_count);
}

void byoc_dnnl_graph_deinit(byoc_dnnl_graph_t *graph) {
  for (uint32_t i = 0; i < graph->node_count; ++i) {
    free(graph->nodes[i].inputs);
    free(graph->nodes[i].post_ops);
  }
  free(graph->nodes);
  free(graph->values);
  free(graph->inputs);
  free(graph->outputs);
  json_decref(graph->root);
  memset(graph, 0, sizeof(*graph));
}
