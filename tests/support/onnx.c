// SPDX-License-Identifier: Apache-2.0
// Adds to ONNX models what byoc's writer does not write.
#include "tests/support/onnx.h"

#include <string.h>

#include "core/frontend/onnx_write_internal.h"
#include "tests/support/support.h"

#define KIND(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

Onnx__ModelProto *byoc_test_onnx_message(byoc_onnx_model_t *model) {
  return &model->message;
}

static void *allocate(byoc_onnx_model_t *model, size_t size) {
  void *memory = byoc_onnx_model_allocate(model, size);
  assert_non_null(memory);
  return memory;
}

static void *new_message(byoc_onnx_model_t *model, const ProtobufCMessageDescriptor *descriptor) {
  void *message = allocate(model, descriptor->sizeof_message);
  protobuf_c_message_init(descriptor, message);
  return message;
}

static char *copy(byoc_onnx_model_t *model, const char *text) {
  return strcpy(allocate(model, strlen(text) + 1), text);
}

// The list with room for one more element.
static void *grow(byoc_onnx_model_t *model, const void *list, size_t count, size_t element_size) {
  char *larger = allocate(model, (count + 1) * element_size);
  if (count > 0) memcpy(larger, list, count * element_size);
  return larger;
}
#define APPEND(model, list, count, item)                                                                               \
  ((list) = grow((model), (list), (count), sizeof(*(list))), (list)[(count)++] = (item))

static void append_names(byoc_onnx_model_t *model, const char *names, size_t *count, char ***list) {
  char *at = copy(model, names != NULL ? names : ""), *name = NULL;
  while ((name = strsep(&at, ",")) != NULL) {
    if (at != NULL || name[0] != '\0') APPEND(model, *list, *count, name);
  }
}

byoc_onnx_graph_t *byoc_test_onnx_function(byoc_onnx_model_t *model, const char *domain, const char *name,
                                           const char *inputs, const char *outputs, const char *attributes,
                                           int64_t opset) {
  byoc_onnx_graph_t *graph = allocate(model, sizeof(*graph));
  Onnx__FunctionProto *message = new_message(model, &onnx__function_proto__descriptor);
  Onnx__OperatorSetIdProto *import = new_message(model, &onnx__operator_set_id_proto__descriptor);
  import->has_version = 1;
  import->version = opset;
  import->domain = copy(model, "");
  message->domain = copy(model, domain);
  message->name = copy(model, name);
  append_names(model, inputs, &message->n_input, &message->input);
  append_names(model, outputs, &message->n_output, &message->output);
  append_names(model, attributes, &message->n_attribute, &message->attribute);
  APPEND(model, message->opset_import, message->n_opset_import, import);
  APPEND(model, model->message.functions, model->message.n_functions, message);
  *graph = (byoc_onnx_graph_t){.model = model, .function = message};
  return graph;
}

// It is written as an output, and taken from there.
void byoc_test_onnx_value_info(byoc_onnx_graph_t *graph, const char *name, byoc_dtype_t dtype, const char *shape) {
  byoc_onnx_graph_output(graph, name, dtype, shape);
  Onnx__ValueInfoProto *value = graph->graph->output[--graph->graph->n_output];
  APPEND(graph->model, graph->graph->value_info, graph->graph->n_value_info, value);
}

static Onnx__AttributeProto *add_attribute(byoc_onnx_node_t *node, const char *name,
                                           Onnx__AttributeProto__AttributeType type) {
  byoc_onnx_node_int(node, name, 0);
  Onnx__AttributeProto *attribute = node->node->attribute[node->node->n_attribute - 1];
  attribute->has_i = 0;
  attribute->type = type;
  return attribute;
}

void byoc_test_onnx_floats(byoc_onnx_node_t *node, const char *name, const float *values, size_t count) {
  Onnx__AttributeProto *attribute = add_attribute(node, name, KIND(FLOATS));
  for (size_t i = 0; i < count; i++) APPEND(node->model, attribute->floats, attribute->n_floats, values[i]);
}

void byoc_test_onnx_strings(byoc_onnx_node_t *node, const char *name, const char *const *values, size_t count) {
  Onnx__AttributeProto *attribute = add_attribute(node, name, KIND(STRINGS));
  for (size_t i = 0; i < count; i++) {
    const ProtobufCBinaryData bytes = {strlen(values[i]), (uint8_t *)copy(node->model, values[i])};
    APPEND(node->model, attribute->strings, attribute->n_strings, bytes);
  }
}

// The tensor is written as an initialiser, and taken from there.
void byoc_test_onnx_tensor(byoc_onnx_node_t *node, const char *name, byoc_dtype_t dtype, int64_t size,
                           const void *data) {
  byoc_onnx_graph_initialiser_data(&node->model->graph, "", dtype, 1, &size, data);
  Onnx__GraphProto *graph = node->model->graph.graph;
  add_attribute(node, name, KIND(TENSOR))->t = graph->initializer[--graph->n_initializer];
}

void byoc_test_onnx_reference(byoc_onnx_node_t *node, const char *name, const char *parameter, int kind) {
  add_attribute(node, name, (Onnx__AttributeProto__AttributeType)kind)->ref_attr_name = copy(node->model, parameter);
}
