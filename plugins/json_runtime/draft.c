// SPDX-License-Identifier: Apache-2.0
// Builds the JSON of a sub-graph, node by node.
#include "draft.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/graph.h"
#include "layout_change.h"

void byoc_dnnl_draft_init(const byoc_graph_api_t *graph, byoc_dnnl_draft_t *out_draft) {
  memset(out_draft, 0, sizeof(*out_draft));
  out_draft->graph = graph;
  byoc_dnnl_sizes_init(graph, &out_draft->sizes);
  out_draft->convolution_algorithm = "direct";
  out_draft->shape_limit = 1;
}

void byoc_dnnl_draft_deinit(byoc_dnnl_draft_t *draft) {
  for (uint32_t i = 0; i < draft->value_count; ++i) json_decref(draft->values[i].layout);
  for (uint32_t i = 0; i < draft->constant_count; ++i) free(draft->constants[i].owned);
  for (uint32_t i = 0; i < draft->node_count; ++i) {
    free(draft->nodes[i].inputs);
    json_decref(draft->nodes[i].attributes);
    json_decref(draft->nodes[i].post_ops);
  }
  byoc_dnnl_sizes_deinit(&draft->sizes);
  free(draft->values);
  free(draft->constants);
  free(draft->nodes);
  memset(draft, 0, sizeof(*draft));
}

// Reserves memory for one more element; sets `failed` if it cannot.
static int reserve(byoc_dnnl_draft_t *draft, void **array, uint32_t count, uint32_t *capacity, size_t element_size) {
  if (draft->failed) return 0;
  if (count < *capacity) return 1;
  uint32_t grown = *capacity < 16 ? 32 : *capacity * 2;
  void *memory = realloc(*array, grown * element_size);
  if (memory == NULL) {
    draft->failed = 1;
    return 0;
  }
  *array = memory;
  *capacity = grown;
  return 1;
}

static int32_t add_value(byoc_dnnl_draft_t *draft, const byoc_dnnl_shape_t *shape, const byoc_value_t *source,
                         int32_t constant) {
  if (!reserve(draft, (void **)&draft->values, draft->value_count, &draft->value_capacity, sizeof(*draft->values)))
    return -1;
  draft->values[draft->value_count] =
      (byoc_dnnl_draft_value_t){.shape = *shape, .source = source, .constant = constant, .producer = -1};
  return (int32_t)draft->value_count++;
}

static int32_t add_constant(byoc_dnnl_draft_t *draft, const float *data, uint64_t size_bytes, float *owned) {
  if (!reserve(draft, (void **)&draft->constants, draft->constant_count, &draft->constant_capacity,
               sizeof(*draft->constants)))
    return -1;
  draft->constants[draft->constant_count] = (byoc_dnnl_draft_constant_t){data, size_bytes, owned};
  return (int32_t)draft->constant_count++;
}

int32_t byoc_dnnl_draft_value(byoc_dnnl_draft_t *draft, const byoc_value_t *value) {
  if (value == NULL) return -1;
  value = byoc_dnnl_plain_value(draft->graph, value);
  for (uint32_t i = draft->value_count; i-- > 0;) // recent ones first: neighbours read each other's results
    if (draft->values[i].source == value) return (int32_t)i;
  byoc_dnnl_shape_t shape = byoc_dnnl_shape_of(&draft->sizes, value);
  if (draft->sizes.failed) draft->failed = 1;
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  int32_t constant = -1;
  if (draft->graph->value_constant(value, &data)) {
    constant = add_constant(draft, data.data, data.size_bytes, NULL);
    if (constant < 0) return -1;
  }
  return add_value(draft, &shape, value, constant);
}

int32_t byoc_dnnl_draft_temporary(byoc_dnnl_draft_t *draft, const byoc_dnnl_shape_t *shape) {
  return add_value(draft, shape, NULL, -1);
}

int32_t byoc_dnnl_draft_constant(byoc_dnnl_draft_t *draft, const byoc_dnnl_shape_t *shape, float *data) {
  if (data == NULL) draft->failed = 1;
  int32_t constant = add_constant(draft, data, (uint64_t)byoc_dnnl_shape_count(shape) * sizeof(float), data);
  if (constant < 0) {
    free(data);
    return -1;
  }
  return add_value(draft, shape, NULL, constant);
}

int32_t byoc_dnnl_draft_reshaped_constant(byoc_dnnl_draft_t *draft, int32_t value, const byoc_dnnl_shape_t *shape) {
  return value < 0 ? -1 : add_value(draft, shape, NULL, draft->values[value].constant);
}

const float *byoc_dnnl_draft_constant_data(const byoc_dnnl_draft_t *draft, int32_t value) {
  if (value < 0 || draft->values[value].constant < 0) return NULL;
  return draft->constants[draft->values[value].constant].data;
}

void byoc_dnnl_draft_node(byoc_dnnl_draft_t *draft, const char *name, const char *op, const int32_t *inputs,
                          uint32_t input_count, int32_t output, json_t *attributes) {
  int32_t *copy = malloc((input_count + 1) * sizeof(*copy));
  if (copy == NULL || output < 0) draft->failed = 1;
  if (!reserve(draft, (void **)&draft->nodes, draft->node_count, &draft->node_capacity, sizeof(*draft->nodes))) {
    free(copy);
    json_decref(attributes);
    return;
  }
  while (input_count > 1 && inputs[input_count - 1] < 0) --input_count;
  memcpy(copy, inputs, input_count * sizeof(*copy));
  draft->values[output].producer = (int32_t)draft->node_count;
  draft->nodes[draft->node_count++] = (byoc_dnnl_draft_node_t){.name = name,
                                                               .op = op,
                                                               .inputs = copy,
                                                               .input_count = input_count,
                                                               .output = output,
                                                               .more = {-1, -1},
                                                               .attributes = attributes};
}

void byoc_dnnl_draft_more_results(byoc_dnnl_draft_t *draft, const int32_t more[2]) {
  for (int i = 0; !draft->failed && i < 2; ++i) {
    draft->nodes[draft->node_count - 1].more[i] = more[i];
    if (more[i] >= 0) draft->values[more[i]].producer = (int32_t)draft->node_count - 1;
  }
}

int32_t byoc_dnnl_draft_reshape(byoc_dnnl_draft_t *draft, const char *name, int32_t value,
                                const byoc_dnnl_shape_t *shape) {
  int32_t output = byoc_dnnl_draft_temporary(draft, shape);
  byoc_dnnl_draft_node(draft, name, "reshape", &value, 1, output, NULL);
  return output;
}

static void mark_used(const byoc_dnnl_draft_t *draft, int32_t value, int32_t *numbers) {
  if (value >= 0 && draft->values[value].constant >= 0) numbers[draft->values[value].constant] = 1;
}

void byoc_dnnl_draft_prune(byoc_dnnl_draft_t *draft, const int32_t *outputs, uint32_t output_count) {
  int32_t *numbers = calloc((size_t)draft->constant_count + 1, sizeof(*numbers));
  if (numbers == NULL) draft->failed = 1;
  if (draft->failed) {
    free(numbers);
    return;
  }
  for (uint32_t i = 0; i < output_count; ++i) mark_used(draft, outputs[i], numbers);
  for (uint32_t i = 0; i < draft->node_count; ++i) {
    const byoc_dnnl_draft_node_t *node = &draft->nodes[i];
    if (node->op == NULL) continue;
    for (uint32_t j = 0; j < node->input_count; ++j) mark_used(draft, node->inputs[j], numbers);
    for (size_t j = 0; j < json_array_size(node->post_ops); ++j) {
      const json_t *input = json_object_get(json_array_get(node->post_ops, j), "input");
      if (input != NULL) mark_used(draft, (int32_t)json_integer_value(input), numbers);
    }
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < draft->constant_count; ++i) {
    if (!numbers[i]) {
      free(draft->constants[i].owned);
      numbers[i] = -1;
      continue;
    }
    numbers[i] = (int32_t)kept;
    draft->constants[kept++] = draft->constants[i];
  }
  draft->constant_count = kept;
  for (uint32_t i = 0; i < draft->value_count; ++i)
    if (draft->values[i].constant >= 0) draft->values[i].constant = numbers[draft->values[i].constant];
  free(numbers);
}

static json_t *emit_value(const byoc_dnnl_draft_value_t *value, uint32_t id) {
  json_t *object = json_pack("{s:i, s:s, s:o}", "id", (int)id, "dtype", "f32", "dims",
                             byoc_dnnl_json_ints(value->shape.dims, value->shape.rank));
  if (object == NULL) return NULL;
  int failed = value->constant >= 0 && json_object_set_new(object, "constant", json_integer(value->constant)) != 0;
  if (value->layout != NULL) failed |= json_object_set(object, "layout", value->layout) != 0;
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

static json_t *emit_ids(const int32_t *ids, uint32_t count) {
  json_t *array = json_array();
  for (uint32_t i = 0; array != NULL && i < count; ++i) {
    if (json_array_append_new(array, ids[i] < 0 ? json_null() : json_integer(ids[i])) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return array;
}

static json_t *emit_node(const byoc_dnnl_draft_node_t *node) {
  // Names come from the model and may not be UTF-8, which JSON requires.
  json_t *name = json_string(node->name);
  if (name == NULL) name = json_string(node->op);
  json_t *object = json_pack("{s:o, s:s, s:o, s:i}", "name", name, "op", node->op, "inputs",
                             emit_ids(node->inputs, node->input_count), "output", (int)node->output);
  if (object == NULL) return NULL;
  int failed = 0;
  if (node->more[0] >= 0 || node->more[1] >= 0)
    failed |= json_object_set_new(object, "more", emit_ids(node->more, 2)) != 0;
  if (node->attributes != NULL) failed |= json_object_set(object, "attributes", node->attributes) != 0;
  if (node->post_ops != NULL) failed |= json_object_set(object, "post_ops", node->post_ops) != 0;
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

char *byoc_dnnl_draft_emit(const byoc_dnnl_draft_t *draft, const int32_t *inputs, uint32_t input_count,
                           const int32_t *outputs, uint32_t output_count, uint64_t *out_size) {
  *out_size = 0;
  if (draft->failed) return NULL;
  char *text = NULL;
  json_t *values = json_array(), *nodes = json_array();
  json_t *root = json_pack("{s:s, s:i, s:o, s:o, s:O?, s:O?}", "schema", "byoc.dnnl", "version",
                           BYOC_DNNL_SCHEMA_VERSION, "inputs", emit_ids(inputs, input_count), "outputs",
                           emit_ids(outputs, output_count), "values", values, "nodes", nodes);
  int failed = root == NULL || values == NULL || nodes == NULL;
  if (!failed && draft->sizes.count > 0)
    failed = json_object_set_new(root, "open", json_integer(draft->sizes.count)) != 0 ||
             json_object_set_new(root, "shapes", json_integer(draft->shape_limit)) != 0;
  for (uint32_t i = 0; !failed && i < draft->value_count; ++i)
    failed = json_array_append_new(values, emit_value(&draft->values[i], i)) != 0;
  for (uint32_t i = 0; !failed && i < draft->node_count; ++i)
    if (draft->nodes[i].op != NULL) failed = json_array_append_new(nodes, emit_node(&draft->nodes[i])) != 0;
  // Nine digits represent a float exactly; members stay in the order of insertion, so the JSON is always the same.
  // json_dumps does not notice that it had no memory for the key of an object; json_dumpb needs none.
  const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(9), size = failed ? 0 : json_dumpb(root, NULL, 0, flags);
  if (size > 0) text = malloc(size + 1);
  if (text != NULL && json_dumpb(root, text, size, flags) == size) {
    text[size] = '\0';
    *out_size = size;
  } else {
    free(text);
    text = NULL;
  }
  json_decref(values);
  json_decref(nodes);
  json_decref(root);
  return text;
}
