// SPDX-License-Identifier: Apache-2.0
// Changes ONNX models at random, as messages.
#include "tests/mutation/mutate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct mutation_t {
  Onnx__ModelProto *model;
  Onnx__GraphProto *graph;
  byoc_test_random_t *random;
  byoc_arena_t *arena;
  char *what;
  size_t size;
} mutation_t;

static uint64_t below(const mutation_t *m, uint64_t limit) {
  return byoc_test_below(m->random, limit);
}

static void *allocate(const mutation_t *m, size_t count, size_t size) {
  void *memory = byoc_arena_allocate(m->arena, count + 1, size);
  if (memory == NULL) abort();
  return memory;
}

static char *copy_text(const mutation_t *m, const char *text) {
  char *copy = byoc_arena_copy_string(m->arena, text != NULL ? text : "");
  if (copy == NULL) abort();
  return copy;
}

#define SAY(m, ...) snprintf((m)->what, (m)->size, __VA_ARGS__)

// Numbers at the limits of axes, sizes, ranks, tables and types.
static int64_t odd_number(const mutation_t *m) {
  static const int64_t numbers[] = {0,  1,  2,  3,   4,    5,     7,          8,         15,        16,       17,
                                    -1, -2, -3, -17, 1000, 65536, 2147483647, INT32_MIN, INT64_MAX, INT64_MIN};
  return numbers[below(m, sizeof(numbers) / sizeof(numbers[0]))];
}

// A list with one element more or less, or with one number changed.
static void change_list(const mutation_t *m, size_t *count, int64_t **items) {
  uint64_t kind = below(m, 4);
  int64_t *changed = allocate(m, *count + 1, sizeof(*changed));
  if (*count > 0) memcpy(changed, *items, *count * sizeof(*changed));
  *items = changed;
  if (kind == 0 || *count == 0) {
    changed[(*count)++] = odd_number(m);
  } else if (kind == 1) {
    *count -= 1;
  } else {
    changed[below(m, *count)] = odd_number(m);
  }
}

// ---- nodes ----

static Onnx__NodeProto *any_node(const mutation_t *m) {
  return m->graph->n_node > 0 ? m->graph->node[below(m, m->graph->n_node)] : NULL;
}

// The name of a value, which mostly exists.
static char *any_value(const mutation_t *m) {
  const Onnx__GraphProto *graph = m->graph;
  const Onnx__NodeProto *node = any_node(m);
  uint64_t kind = below(m, 8);
  if (kind < 3 && graph->n_input > 0) return copy_text(m, graph->input[below(m, graph->n_input)]->name);
  if (kind < 5 && graph->n_initializer > 0)
    return copy_text(m, graph->initializer[below(m, graph->n_initializer)]->name);
  if (kind < 7 && node != NULL && node->n_output > 0) return copy_text(m, node->output[below(m, node->n_output)]);
  return copy_text(m, kind == 7 ? "" : "nowhere");
}

static void change_words(const mutation_t *m, size_t *count, char ***words) {
  uint64_t kind = below(m, 5);
  char **changed = allocate(m, *count + 1, sizeof(*changed));
  if (*count > 0) memcpy(changed, *words, *count * sizeof(*changed));
  *words = changed;
  if (kind == 0 || *count == 0) {
    changed[(*count)++] = any_value(m);
  } else if (kind == 1) {
    *count -= 1;
  } else if (kind == 2 && *count > 1) {
    size_t at = below(m, *count - 1);
    char *word = changed[at];
    changed[at] = changed[at + 1];
    changed[at + 1] = word;
  } else {
    changed[below(m, *count)] = any_value(m);
  }
}

static void change_inputs(const mutation_t *m) {
  Onnx__NodeProto *node = any_node(m);
  if (node == NULL) return;
  change_words(m, &node->n_input, &node->input);
  SAY(m, "inputs of a %s", node->op_type);
}

static void change_outputs(const mutation_t *m) {
  Onnx__NodeProto *node = any_node(m);
  if (node == NULL) return;
  change_words(m, &node->n_output, &node->output);
  SAY(m, "outputs of a %s", node->op_type);
}

static void change_operator(const mutation_t *m) {
  static const char *const operators[] = {
      "Add",   "Conv",   "MatMul",  "Reshape", "Concat",    "Slice", "Gather", "Transpose", "Softmax", "ReduceSum",
      "Where", "Pad",    "Resize",  "LSTM",    "Attention", "TopK",  "Unique", "Scan",      "OneHot",  "Tile",
      "Split", "Expand", "NonZero", "MaxPool", "Squeeze",   "Loop",  "If",     "Cast",      "Gemm",    "Einsum"};
  Onnx__NodeProto *node = any_node(m);
  if (node == NULL) return;
  const char *name = operators[below(m, sizeof(operators) / sizeof(operators[0]))];
  SAY(m, "a %s becomes a %s", node->op_type, name);
  node->op_type = copy_text(m, name);
}

static void drop_node(const mutation_t *m) {
  Onnx__GraphProto *graph = m->graph;
  if (graph->n_node == 0) return;
  size_t at = below(m, graph->n_node);
  SAY(m, "a %s is gone", graph->node[at]->op_type);
  graph->n_node -= 1;
  memmove(&graph->node[at], &graph->node[at + 1], (graph->n_node - at) * sizeof(graph->node[0]));
}

static void swap_nodes(const mutation_t *m) {
  Onnx__GraphProto *graph = m->graph;
  if (graph->n_node < 2) return;
  size_t a = below(m, graph->n_node), b = below(m, graph->n_node);
  Onnx__NodeProto *node = graph->node[a];
  graph->node[a] = graph->node[b];
  graph->node[b] = node;
  SAY(m, "a %s and a %s change places", node->op_type, graph->node[a]->op_type);
}

// ---- attributes ----

static Onnx__AttributeProto *any_attribute(const mutation_t *m, const char **out_op) {
  Onnx__NodeProto *node = any_node(m);
  for (int i = 0; i < 8 && node != NULL && node->n_attribute == 0; ++i) node = any_node(m);
  if (node == NULL || node->n_attribute == 0) return NULL;
  *out_op = node->op_type;
  return node->attribute[below(m, node->n_attribute)];
}

static void change_attribute(const mutation_t *m) {
  static const float floats[] = {0, -1, 1e30f, -1e-30f, NAN, INFINITY};
  const char *op = "";
  Onnx__AttributeProto *attribute = any_attribute(m, &op);
  if (attribute == NULL) return;
  SAY(m, "attribute %s of a %s", attribute->name, op);
  if (below(m, 12) == 0) {
    attribute->type = (Onnx__AttributeProto__AttributeType)below(m, 15);
  } else if (attribute->n_ints > 0) {
    change_list(m, &attribute->n_ints, &attribute->ints);
  } else if (attribute->n_floats > 0) {
    if (below(m, 2) == 0) attribute->n_floats -= 1;
    if (attribute->n_floats > 0) attribute->floats[0] = floats[below(m, 6)];
  } else if (attribute->n_strings > 0) {
    attribute->n_strings -= 1;
  } else if (attribute->has_s && attribute->s.len > 0) {
    attribute->s.len = below(m, attribute->s.len + 1);
  } else if (attribute->has_f) {
    attribute->f = floats[below(m, 6)];
  } else {
    attribute->i = odd_number(m);
  }
}

static void drop_attribute(const mutation_t *m) {
  Onnx__NodeProto *node = any_node(m);
  if (node == NULL || node->n_attribute == 0) return;
  SAY(m, "attribute %s of a %s is gone", node->attribute[node->n_attribute - 1]->name, node->op_type);
  node->n_attribute -= 1;
}

static Onnx__AttributeProto *new_attribute(const mutation_t *m, const char *name) {
  Onnx__AttributeProto *attribute = allocate(m, 1, sizeof(*attribute));
  onnx__attribute_proto__init(attribute);
  attribute->name = copy_text(m, name);
  return attribute;
}

static void add_attribute(const mutation_t *m) {
  static const char *const names[] = {"axis", "axes", "keepdims", "group", "kernel_shape", "pads", "to", "block_size"};
  Onnx__NodeProto *node = any_node(m);
  if (node == NULL) return;
  Onnx__AttributeProto *attribute = new_attribute(m, names[below(m, 8)]);
  attribute->has_type = 1;
  if (below(m, 2) == 0) {
    attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    attribute->has_i = 1;
    attribute->i = odd_number(m);
  } else {
    attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    for (int i = 0; i < 3; ++i) change_list(m, &attribute->n_ints, &attribute->ints);
  }
  Onnx__AttributeProto **all = allocate(m, node->n_attribute + 1, sizeof(Onnx__AttributeProto *));
  if (node->n_attribute > 0) memcpy(all, node->attribute, node->n_attribute * sizeof(*all));
  all[node->n_attribute++] = attribute;
  node->attribute = all;
  SAY(m, "a %s gets the attribute %s", node->op_type, attribute->name);
}

// ---- types and data ----

static Onnx__ValueInfoProto *any_port(const mutation_t *m) {
  const Onnx__GraphProto *graph = m->graph;
  size_t count = graph->n_input + graph->n_output + graph->n_value_info;
  if (count == 0) return NULL;
  size_t at = below(m, count);
  if (at < graph->n_input) return graph->input[at];
  at -= graph->n_input;
  return at < graph->n_output ? graph->output[at] : graph->value_info[at - graph->n_output];
}

static Onnx__TensorShapeProto__Dimension *new_dimension(const mutation_t *m) {
  Onnx__TensorShapeProto__Dimension *dim = allocate(m, 1, sizeof(*dim));
  onnx__tensor_shape_proto__dimension__init(dim);
  if (below(m, 4) == 0) {
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    dim->dim_param = copy_text(m, "N");
  } else {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 16, 17, 1000, -1};
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = below(m, 20) == 0 ? odd_number(m) : sizes[below(m, 10)];
  }
  return dim;
}

static void change_shape(const mutation_t *m) {
  Onnx__ValueInfoProto *port = any_port(m);
  bool is_tensor = port != NULL && port->type != NULL && port->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  if (!is_tensor || port->type->tensor_type->shape == NULL) return;
  Onnx__TensorShapeProto *shape = port->type->tensor_type->shape;
  uint64_t kind = below(m, 5);
  Onnx__TensorShapeProto__Dimension **dims =
      allocate(m, shape->n_dim + 17, sizeof(Onnx__TensorShapeProto__Dimension *));
  if (shape->n_dim > 0) memcpy(dims, shape->dim, shape->n_dim * sizeof(*dims));
  shape->dim = dims;
  SAY(m, "shape of '%s'", port->name);
  if (kind == 0) {
    port->type->tensor_type->shape = NULL;
  } else if (kind == 1) {
    size_t more = below(m, 8) == 0 ? 16 : 1;
    for (size_t i = 0; i < more; ++i) dims[shape->n_dim++] = new_dimension(m);
  } else if (kind == 2 && shape->n_dim > 0) {
    shape->n_dim = below(m, shape->n_dim);
  } else if (shape->n_dim > 0) {
    dims[below(m, shape->n_dim)] = new_dimension(m);
  }
}

static void change_type(const mutation_t *m) {
  Onnx__ValueInfoProto *port = any_port(m);
  if (port == NULL || port->type == NULL || port->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return;
  port->type->tensor_type->elem_type = (int32_t)below(m, 27);
  SAY(m, "type of '%s'", port->name);
}

static void change_initialiser(const mutation_t *m) {
  if (m->graph->n_initializer == 0) return;
  Onnx__TensorProto *tensor = m->graph->initializer[below(m, m->graph->n_initializer)];
  SAY(m, "initialiser '%s'", tensor->name);
  uint64_t kind = below(m, 4);
  if (kind == 0) {
    change_list(m, &tensor->n_dims, &tensor->dims);
  } else if (kind == 1) {
    tensor->data_type = (int32_t)below(m, 27);
  } else if (kind == 2 && tensor->has_raw_data && tensor->raw_data.len >= sizeof(int64_t)) {
    int64_t number = odd_number(m);
    memcpy(tensor->raw_data.data + below(m, tensor->raw_data.len / sizeof(number)) * sizeof(number), &number,
           sizeof(number));
  } else if (tensor->n_int64_data > 0) {
    tensor->int64_data[below(m, tensor->n_int64_data)] = odd_number(m);
  } else if (tensor->has_raw_data) {
    tensor->raw_data.len = below(m, tensor->raw_data.len + 1);
  }
}

// Makes an input of a known, small shape a constant: then its elements are checked when the model is read.
static void fix_input(const mutation_t *m) {
  Onnx__GraphProto *graph = m->graph;
  if (graph->n_input == 0) return;
  Onnx__ValueInfoProto *port = graph->input[below(m, graph->n_input)];
  if (port->type == NULL || port->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return;
  const Onnx__TypeProto__Tensor *type = port->type->tensor_type;
  Onnx__TensorProto *tensor = allocate(m, 1, sizeof(*tensor));
  onnx__tensor_proto__init(tensor);
  tensor->name = copy_text(m, port->name);
  tensor->has_data_type = 1;
  tensor->data_type = type->elem_type;
  size_t count = 1, rank = type->shape != NULL ? type->shape->n_dim : 0;
  tensor->dims = allocate(m, rank, sizeof(*tensor->dims));
  tensor->n_dims = rank;
  for (size_t d = 0; d < rank; ++d) {
    int64_t size = type->shape->dim[d]->dim_value;
    if (type->shape->dim[d]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE || size < 0) return;
    if (size > 4096 || count * (size_t)size > 4096) return;
    count *= (size_t)size;
    tensor->dims[d] = size;
  }
  bool is_wide = type->elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
  tensor->has_raw_data = 1;
  tensor->raw_data.len = count * (is_wide ? sizeof(int64_t) : sizeof(int32_t));
  tensor->raw_data.data = allocate(m, tensor->raw_data.len, 1);
  for (size_t i = 0; i < count; ++i) {
    int64_t number = below(m, 6) == 0 ? odd_number(m) : (int64_t)below(m, 4);
    int32_t narrow = (int32_t)number;
    if (is_wide) memcpy(tensor->raw_data.data + i * sizeof(number), &number, sizeof(number));
    if (!is_wide) memcpy(tensor->raw_data.data + i * sizeof(narrow), &narrow, sizeof(narrow));
  }
  Onnx__TensorProto **all = allocate(m, graph->n_initializer + 1, sizeof(Onnx__TensorProto *));
  if (graph->n_initializer > 0) memcpy(all, graph->initializer, graph->n_initializer * sizeof(*all));
  all[graph->n_initializer++] = tensor;
  graph->initializer = all;
  SAY(m, "input '%s' becomes a constant", port->name);
}

static void change_version(const mutation_t *m) {
  if (m->model->n_opset_import == 0) return;
  Onnx__OperatorSetIdProto *set = m->model->opset_import[below(m, m->model->n_opset_import)];
  set->version = (int64_t)(1 + below(m, 26));
  SAY(m, "operator set %d", (int)set->version);
}

// ---- one change ----

// The graph itself, or one inside an attribute of its nodes.
static Onnx__GraphProto *any_graph(Onnx__GraphProto *graph, byoc_test_random_t *random) {
  for (size_t n = 0; n < graph->n_node; ++n) {
    for (size_t a = 0; a < graph->node[n]->n_attribute; ++a) {
      Onnx__GraphProto *inner = graph->node[n]->attribute[a]->g;
      if (inner != NULL && byoc_test_below(random, 3) == 0) return any_graph(inner, random);
    }
  }
  return graph;
}

void mutate(Onnx__ModelProto *model, byoc_test_random_t *random, byoc_arena_t *arena, char *what, size_t size) {
  // Changes that affect a single operator occur twice or more often, because they find the most errors.
  static void (*const changes[])(const mutation_t *) = {
      change_inputs,    change_inputs,      change_outputs,     change_operator, drop_node,
      swap_nodes,       change_shape,       change_shape,       change_shape,    change_type,
      change_attribute, change_attribute,   add_attribute,      drop_attribute,  fix_input,
      fix_input,        change_initialiser, change_initialiser, change_version};
  snprintf(what, size, "nothing");
  if (model->graph == NULL) return;
  const mutation_t m = {model, any_graph(model->graph, random), random, arena, what, size};
  for (int attempt = 0; attempt < 8 && strcmp(what, "nothing") == 0; ++attempt) {
    changes[below(&m, sizeof(changes) / sizeof(changes[0]))](&m);
  }
}
