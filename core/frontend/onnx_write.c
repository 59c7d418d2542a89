// SPDX-License-Identifier: Apache-2.0
// Builds ONNX models and writes them.
#include "core/frontend/onnx_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frontend/onnx_write_internal.h"

// ---- pieces ----

static void *allocate(byoc_onnx_model_t *model, size_t count, size_t size) {
  void *memory = byoc_arena_allocate(&model->arena, count > 0 ? count : 1, size);
  if (!memory) model->failed = true;
  return memory;
}

static char *copy_text(byoc_onnx_model_t *model, const char *text) {
  char *copy = byoc_arena_copy_string(&model->arena, text);
  if (!copy) model->failed = true;
  return copy;
}

static void *new_message(byoc_onnx_model_t *model, const ProtobufCMessageDescriptor *descriptor) {
  void *message = allocate(model, 1, descriptor->sizeof_message);
  if (message) protobuf_c_message_init(descriptor, message);
  return message;
}

// Makes space for one more element in a list of `count` elements. Lists are full, and double, when the count is a power
// of two.
static void *grow(byoc_onnx_model_t *model, void *list, size_t count, size_t element_size) {
  if (count > 0 && (count & (count - 1)) != 0) return list;
  void *larger = allocate(model, count > 0 ? 2 * count : 1, element_size);
  if (larger && count > 0) memcpy(larger, list, count * element_size);
  return larger;
}
#define APPEND(model, list, count, item)                                                                               \
  do {                                                                                                                 \
    void *grown_ = grow((model), (list), (count), sizeof(*(list)));                                                    \
    if (grown_) {                                                                                                      \
      (list) = grown_;                                                                                                 \
      (list)[(count)++] = (item);                                                                                      \
    }                                                                                                                  \
  } while (0)

// Splits names: "a,,b" gives "a", "" and "b"; an empty string has no parts.
static void append_names(byoc_onnx_model_t *model, const char *text, size_t *count, char ***list) {
  if (!text || text[0] == '\0') return;
  for (const char *at = text;; at++) {
    const size_t length = strcspn(at, ",");
    char *name = allocate(model, length + 1, 1);
    if (!name) return;
    memcpy(name, at, length);
    APPEND(model, *list, *count, name);
    at += length;
    if (*at == '\0') return;
  }
}

static int32_t onnx_number(byoc_dtype_t dtype) {
  switch (dtype) {
#define ONNX_NUMBER_CASE(NAME, number, text, bits, dlpack, onnx)                                                       \
  case number:                                                                                                         \
    return onnx;
    BYOC_DTYPE_LIST(ONNX_NUMBER_CASE)
#undef ONNX_NUMBER_CASE
  default:
    return 0;
  }
}

static Onnx__TensorShapeProto *make_shape(byoc_onnx_model_t *model, const char *text) {
  Onnx__TensorShapeProto *shape = new_message(model, &onnx__tensor_shape_proto__descriptor);
  char **parts = NULL;
  size_t count = 0;
  append_names(model, text, &count, &parts);
  for (size_t i = 0; shape && i < count; i++) {
    Onnx__TensorShapeProto__Dimension *dim = new_message(model, &onnx__tensor_shape_proto__dimension__descriptor);
    if (!dim) return NULL;
    char *end;
    const long long value = strtoll(parts[i], &end, 10);
    if (end != parts[i] && *end == '\0') {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      dim->dim_value = value;
    } else if (strcmp(parts[i], "?") != 0) {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      dim->dim_param = parts[i];
    }
    APPEND(model, shape->dim, shape->n_dim, dim);
  }
  return shape;
}

static Onnx__ValueInfoProto *make_value(byoc_onnx_model_t *model, const char *name, byoc_dtype_t dtype,
                                        const char *shape) {
  Onnx__ValueInfoProto *value = new_message(model, &onnx__value_info_proto__descriptor);
  Onnx__TypeProto *type = new_message(model, &onnx__type_proto__descriptor);
  Onnx__TypeProto__Tensor *tensor = new_message(model, &onnx__type_proto__tensor__descriptor);
  if (!value || !type || !tensor) return NULL;
  tensor->has_elem_type = 1;
  tensor->elem_type = onnx_number(dtype);
  if (shape) tensor->shape = make_shape(model, shape);
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  value->name = copy_text(model, name);
  value->type = type;
  return value;
}

static void add_external(byoc_onnx_model_t *model, Onnx__TensorProto *tensor, const char *key, const char *value) {
  Onnx__StringStringEntryProto *entry = new_message(model, &onnx__string_string_entry_proto__descriptor);
  if (!entry) return;
  entry->key = copy_text(model, key);
  entry->value = copy_text(model, value);
  APPEND(model, tensor->external_data, tensor->n_external_data, entry);
}

void byoc_onnx_refer(byoc_onnx_model_t *model, Onnx__TensorProto *tensor, const char *path, uint64_t offset) {
  char offset_text[24], length_text[24];
  snprintf(offset_text, sizeof(offset_text), "%llu", (unsigned long long)offset);
  snprintf(length_text, sizeof(length_text), "%zu", tensor->raw_data.len);
  add_external(model, tensor, "location", byoc_path_base(path));
  add_external(model, tensor, "offset", offset_text);
  add_external(model, tensor, "length", length_text);
  tensor->has_data_location = 1;
  tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  tensor->has_raw_data = 0;
}

// Puts the bytes of `tensor` into the file of data; raw_data has their number.
static bool keep_apart(byoc_onnx_model_t *model, Onnx__TensorProto *tensor, void **out_data) {
  uint64_t offset = 0;
  byoc_file_memory_forget(model->data);
  if (byoc_file_memory_take(model->data, tensor->raw_data.len, &model->data_diag, out_data, &offset) != BYOC_OK) {
    model->failed = true;
    return false;
  }
  byoc_onnx_refer(model, tensor, model->data_path, offset);
  return true;
}

static Onnx__TensorProto *make_tensor(byoc_onnx_model_t *model, const char *name, byoc_dtype_t dtype, size_t rank,
                                      const int64_t *dims, void **out_data) {
  *out_data = NULL;
  Onnx__TensorProto *tensor = new_message(model, &onnx__tensor_proto__descriptor);
  if (!tensor) return NULL;
  tensor->has_data_type = 1;
  tensor->data_type = onnx_number(dtype);
  if (name[0] != '\0') tensor->name = copy_text(model, name);
  size_t count = 1, bits = 0;
  bool fits = true;
  for (size_t i = 0; i < rank; i++) {
    APPEND(model, tensor->dims, tensor->n_dims, dims[i]);
    fits = fits && dims[i] >= 0 && byoc_size_mul(count, (size_t)dims[i], &count);
  }
  fits = fits && byoc_size_mul(count, byoc_dtype_bits(dtype), &bits);
  tensor->has_raw_data = 1;
  tensor->raw_data.len = bits / 8 + (bits % 8 != 0);
  const bool is_apart = fits && model->data && tensor->raw_data.len >= BYOC_ONNX_LARGE_BYTES;
  if (is_apart) return keep_apart(model, tensor, out_data) ? tensor : NULL;
  tensor->raw_data.data = fits ? allocate(model, tensor->raw_data.len, 1) : NULL;
  *out_data = tensor->raw_data.data;
  if (!tensor->raw_data.data) {
    model->failed = true;
    return NULL;
  }
  return tensor;
}

static Onnx__OperatorSetIdProto *make_import(byoc_onnx_model_t *model, const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *import = new_message(model, &onnx__operator_set_id_proto__descriptor);
  if (!import) return NULL;
  import->domain = copy_text(model, domain);
  import->has_version = 1;
  import->version = version;
  return import;
}

// ---- models and graphs ----

byoc_onnx_model_t *byoc_onnx_model_create(byoc_allocator_t allocator, const char *graph_name, int64_t opset) {
  byoc_onnx_model_t *model = byoc_allocate(allocator, 1, sizeof(*model));
  if (!model) return NULL;
  model->allocator = allocator;
  byoc_arena_init(&model->arena, allocator);
  onnx__model_proto__init(&model->message);
  model->message.producer_name = copy_text(model, "byoc");
  model->message.graph = new_message(model, &onnx__graph_proto__descriptor);
  model->graph = (byoc_onnx_graph_t){.model = model, .graph = model->message.graph};
  if (model->message.graph) model->message.graph->name = copy_text(model, graph_name);
  byoc_onnx_model_set_ir_version(model, 8);
  byoc_onnx_model_import(model, "", opset);
  if (model->failed) {
    byoc_onnx_model_destroy(model);
    return NULL;
  }
  return model;
}

byoc_status_t byoc_onnx_model_keep_data_in(byoc_onnx_model_t *model, const char *path, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_file_memory_create(path, model->allocator, diag, &model->data));
  model->data_path = byoc_copy_string(model->allocator, path);
  return model->data_path ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

void byoc_onnx_model_destroy(byoc_onnx_model_t *model) {
  if (!model) return;
  byoc_file_memory_release(model->data);
  if (model->data_path) (void)byoc_remove_tree(model->data_path, NULL);
  byoc_free(model->allocator, model->data_path);
  byoc_arena_deinit(&model->arena);
  byoc_free(model->allocator, model);
}

byoc_onnx_graph_t *byoc_onnx_model_graph(byoc_onnx_model_t *model) {
  return &model->graph;
}

void byoc_onnx_model_set_ir_version(byoc_onnx_model_t *model, int64_t ir_version) {
  model->message.has_ir_version = 1;
  model->message.ir_version = ir_version;
}

void byoc_onnx_model_import(byoc_onnx_model_t *model, const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *import = make_import(model, domain, version);
  if (import) APPEND(model, model->message.opset_import, model->message.n_opset_import, import);
}

byoc_onnx_graph_t *byoc_onnx_model_nested_graph(byoc_onnx_model_t *model, const char *name) {
  byoc_onnx_graph_t *graph = allocate(model, 1, sizeof(*graph));
  Onnx__GraphProto *message = new_message(model, &onnx__graph_proto__descriptor);
  if (!graph || !message) return NULL;
  message->name = copy_text(model, name);
  *graph = (byoc_onnx_graph_t){.model = model, .graph = message};
  return graph;
}

void byoc_onnx_graph_input(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, const char *shape) {
  Onnx__ValueInfoProto *value = graph && graph->graph ? make_value(graph->model, name, dtype, shape) : NULL;
  if (value) APPEND(graph->model, graph->graph->input, graph->graph->n_input, value);
}

void byoc_onnx_graph_output(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, const char *shape) {
  Onnx__ValueInfoProto *value = graph && graph->graph ? make_value(graph->model, name, dtype, shape) : NULL;
  if (value) APPEND(graph->model, graph->graph->output, graph->graph->n_output, value);
}

void *byoc_onnx_graph_initialiser(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, size_t rank,
                                  const int64_t *dims) {
  if (!graph || !graph->graph) return NULL;
  void *data = NULL;
  Onnx__TensorProto *tensor = make_tensor(graph->model, name, dtype, rank, dims, &data);
  if (!tensor) return NULL;
  APPEND(graph->model, graph->graph->initializer, graph->graph->n_initializer, tensor);
  return data;
}

void byoc_onnx_graph_initialiser_data(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, size_t rank,
                                      const int64_t *dims, const void *data) {
  void *own = byoc_onnx_graph_initialiser(graph, name, dtype, rank, dims);
  if (!own) return;
  const Onnx__TensorProto *tensor = graph->graph->initializer[graph->graph->n_initializer - 1];
  if (tensor->raw_data.len > 0) memcpy(own, data, tensor->raw_data.len);
}

// ---- nodes ----

byoc_onnx_node_t *byoc_onnx_graph_node(byoc_onnx_graph_t *graph, const char *op, const char *name, const char *inputs,
                                       const char *outputs) {
  if (!graph) return NULL;
  byoc_onnx_model_t *model = graph->model;
  byoc_onnx_node_t *node = allocate(model, 1, sizeof(*node));
  Onnx__NodeProto *message = new_message(model, &onnx__node_proto__descriptor);
  if (!node || !message) return NULL;
  message->op_type = copy_text(model, op);
  if (name[0] != '\0') message->name = copy_text(model, name);
  append_names(model, inputs, &message->n_input, &message->input);
  append_names(model, outputs, &message->n_output, &message->output);
  if (graph->graph) {
    APPEND(model, graph->graph->node, graph->graph->n_node, message);
  } else {
    APPEND(model, graph->function->node, graph->function->n_node, message);
  }
  *node = (byoc_onnx_node_t){model, message};
  return node;
}

void byoc_onnx_node_set_domain(byoc_onnx_node_t *node, const char *domain) {
  if (node) node->node->domain = copy_text(node->model, domain);
}

static Onnx__AttributeProto *add_attribute(byoc_onnx_node_t *node, const char *name,
                                           Onnx__AttributeProto__AttributeType type) {
  if (!node) return NULL;
  Onnx__AttributeProto *attribute = new_message(node->model, &onnx__attribute_proto__descriptor);
  if (!attribute) return NULL;
  attribute->name = copy_text(node->model, name);
  attribute->has_type = 1;
  attribute->type = type;
  APPEND(node->model, node->node->attribute, node->node->n_attribute, attribute);
  return attribute;
}
#define KIND(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

void byoc_onnx_node_int(byoc_onnx_node_t *node, const char *name, int64_t value) {
  Onnx__AttributeProto *attribute = add_attribute(node, name, KIND(INT));
  if (!attribute) return;
  attribute->has_i = 1;
  attribute->i = value;
}

void byoc_onnx_node_float(byoc_onnx_node_t *node, const char *name, float value) {
  Onnx__AttributeProto *attribute = add_attribute(node, name, KIND(FLOAT));
  if (!attribute) return;
  attribute->has_f = 1;
  attribute->f = value;
}

static ProtobufCBinaryData make_bytes(byoc_onnx_model_t *model, const char *text) {
  char *copy = copy_text(model, text);
  return (ProtobufCBinaryData){copy ? strlen(copy) : 0, (uint8_t *)copy};
}

void byoc_onnx_node_string(byoc_onnx_node_t *node, const char *name, const char *value) {
  Onnx__AttributeProto *attribute = add_attribute(node, name, KIND(STRING));
  if (!attribute) return;
  attribute->has_s = 1;
  attribute->s = make_bytes(node->model, value);
}

void byoc_onnx_node_ints(byoc_onnx_node_t *node, const char *name, const int64_t *values, size_t count) {
  Onnx__AttributeProto *attribute = add_attribute(node, name, KIND(INTS));
  for (size_t i = 0; attribute && i < count; i++) APPEND(node->model, attribute->ints, attribute->n_ints, values[i]);
}

void byoc_onnx_node_graph(byoc_onnx_node_t *node, const char *name, byoc_onnx_graph_t *value) {
  Onnx__AttributeProto *attribute = value ? add_attribute(node, name, KIND(GRAPH)) : NULL;
  if (attribute) attribute->g = value->graph;
}

void *byoc_onnx_model_allocate(byoc_onnx_model_t *model, size_t size_bytes) {
  return allocate(model, size_bytes, 1);
}
