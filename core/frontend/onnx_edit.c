// SPDX-License-Identifier: Apache-2.0
// Opens models to change them, and makes and reads their messages.
#include "core/frontend/onnx_edit.h"

#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/frontend/onnx_reader.h"
#include "core/frontend/onnx_wire.h"
#include "core/frontend/onnx_write_internal.h"

// ---- models ----

static void *arena_alloc(void *self, size_t size) {
  return byoc_arena_allocate(self, size > 0 ? size : 1, 1);
}

static void arena_free(void *self, void *pointer) {
  (void)self;
  (void)pointer;
}

// Moves a list into memory with room up to the next power of two, as the writer's lists have it.
static bool rehome(byoc_arena_t *arena, void *list_pointer, size_t count) {
  size_t capacity = 1;
  void *old;
  while (capacity < count) capacity *= 2;
  void *copy = byoc_arena_allocate(arena, capacity, sizeof(void *));
  if (copy == NULL) return false;
  memcpy(&old, list_pointer, sizeof(old));
  if (count > 0) memcpy(copy, old, count * sizeof(void *));
  memcpy(list_pointer, &copy, sizeof(copy));
  return true;
}

static byoc_onnx_model_t *make_shell(byoc_allocator_t allocator) {
  byoc_onnx_model_t *model = byoc_allocate(allocator, 1, sizeof(*model));
  if (model == NULL) return NULL;
  model->allocator = allocator;
  byoc_arena_init(&model->arena, allocator);
  return model;
}

// Gives the model a graph and lists of its own.
static bool own_lists(byoc_onnx_model_t *model) {
  Onnx__ModelProto *message = &model->message;
  Onnx__GraphProto *graph = byoc_arena_copy(&model->arena, message->graph, sizeof(*message->graph));
  if (graph == NULL) return false;
  message->graph = graph;
  model->graph = (byoc_onnx_graph_t){.model = model, .graph = graph};
  byoc_arena_t *arena = &model->arena;
  return rehome(arena, &graph->node, graph->n_node) && rehome(arena, &graph->initializer, graph->n_initializer) &&
         rehome(arena, &graph->input, graph->n_input) && rehome(arena, &graph->output, graph->n_output) &&
         rehome(arena, &message->opset_import, message->n_opset_import);
}

static byoc_status_t unpack(byoc_onnx_model_t *model, const byoc_file_view_t *view, byoc_diag_t *diag) {
  byoc_arena_t checked;
  ProtobufCMessage *slim = NULL;
  byoc_arena_init(&checked, model->allocator);
  // protobuf-c recurses without a limit: this walk has one.
  byoc_status_t status =
      byoc_onnx_wire_unpack(view->data, view->size_bytes, &onnx__model_proto__descriptor, &checked, diag, &slim);
  byoc_arena_deinit(&checked);
  if (status != BYOC_OK) return status;
  ProtobufCAllocator allocator = {.alloc = arena_alloc, .free = arena_free, .allocator_data = &model->arena};
  Onnx__ModelProto *message = onnx__model_proto__unpack(&allocator, view->size_bytes, view->data);
  if (message == NULL) return byoc_diag_out_of_memory(diag);
  if (message->graph == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "it has no graph");
  model->message = *message;
  return own_lists(model) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_onnx_model_open(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                   byoc_onnx_model_t **out_model) {
  *out_model = NULL;
  byoc_file_view_t view = {0};
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_onnx_model_t *model = make_shell(allocator);
  byoc_status_t status = model != NULL ? unpack(model, &view, diag) : byoc_diag_out_of_memory(diag);
  byoc_file_view_close(&view);
  if (status == BYOC_OK) {
    *out_model = model;
  } else {
    byoc_onnx_model_destroy(model);
  }
  return status;
}

byoc_status_t byoc_onnx_model_fork(const byoc_onnx_model_t *model, byoc_diag_t *diag, byoc_onnx_model_t **out_copy) {
  *out_copy = NULL;
  byoc_onnx_model_t *copy = make_shell(model->allocator);
  if (copy == NULL) return byoc_diag_out_of_memory(diag);
  copy->message = model->message;
  copy->failed = model->failed || !own_lists(copy);
  if (copy->failed) {
    byoc_onnx_model_destroy(copy);
    return byoc_diag_out_of_memory(diag);
  }
  *out_copy = copy;
  return BYOC_OK;
}

Onnx__ModelProto *byoc_onnx_model_message(byoc_onnx_model_t *model) {
  return &model->message;
}

byoc_arena_t *byoc_onnx_model_arena(byoc_onnx_model_t *model) {
  return &model->arena;
}

int64_t byoc_onnx_model_opset(const byoc_onnx_model_t *model, const char *domain) {
  for (size_t i = 0; i < model->message.n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *import = model->message.opset_import[i];
    if (strcmp(byoc_onnx_domain(import->domain), domain) == 0) return import->version;
  }
  return 0;
}

void byoc_onnx_model_set_opset(byoc_onnx_model_t *model, const char *domain, int64_t version) {
  for (size_t i = 0; i < model->message.n_opset_import; i++) {
    if (strcmp(byoc_onnx_domain(model->message.opset_import[i]->domain), domain) != 0) continue;
    Onnx__OperatorSetIdProto *import = byoc_arena_copy(&model->arena, model->message.opset_import[i], sizeof(*import));
    if (import == NULL) {
      model->failed = true;
      return;
    }
    import->version = version;
    model->message.opset_import[i] = import;
    return;
  }
  byoc_onnx_model_import(model, domain, version);
}

// ---- external data ----

typedef struct taker_t {
  byoc_onnx_reader_t reader; // its module keeps the files open
  byoc_onnx_model_t *model;
} taker_t;

// Raw bytes at an address that fits elements of `size` bytes.
static const void *aligned(byoc_onnx_model_t *model, const ProtobufCBinaryData *raw, size_t size) {
  if ((uintptr_t)raw->data % size == 0) return raw->data;
  void *copy = byoc_arena_copy(&model->arena, raw->data, raw->len);
  model->failed |= copy == NULL;
  return copy;
}

static byoc_status_t take_in_graph(taker_t *taker, Onnx__GraphProto *graph);

static byoc_status_t take_in_tensor(taker_t *taker, Onnx__TensorProto *tensor) {
  if (tensor == NULL || !tensor->has_data_location ||
      tensor->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    return BYOC_OK;
  }
  char what[128];
  const uint8_t *data;
  snprintf(what, sizeof(what), "tensor '%.100s'", byoc_onnx_string(tensor->name));
  const int64_t count = byoc_onnx_tensor_count(tensor);
  const int64_t bits = byoc_dtype_bits(byoc_onnx_tensor_dtype(tensor));
  if (count < 0 || bits == 0 || count > INT64_MAX / bits - 7) {
    return byoc_diag_error(taker->reader.diag, BYOC_INVALID_DATA, "%s: its external data has no size", what);
  }
  BYOC_RETURN_IF_ERROR(byoc_onnx_external_data(&taker->reader, tensor, what, (count * bits + 7) / 8, &data));
  const ProtobufCBinaryData raw = {(size_t)((count * bits + 7) / 8), (uint8_t *)(uintptr_t)data};
  tensor->raw_data = raw;
  tensor->raw_data.data = (uint8_t *)(uintptr_t)aligned(taker->model, &raw, bits > 8 ? (size_t)bits / 8 : 1);
  if (tensor->raw_data.data == NULL) return byoc_diag_out_of_memory(taker->reader.diag);
  tensor->has_raw_data = 1;
  tensor->n_external_data = 0;
  tensor->has_data_location = 0;
  return BYOC_OK;
}

static byoc_status_t take_in_sparse(taker_t *taker, const Onnx__SparseTensorProto *sparse) {
  if (sparse == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(take_in_tensor(taker, sparse->values));
  return take_in_tensor(taker, sparse->indices);
}

static byoc_status_t take_in_attribute(taker_t *taker, const Onnx__AttributeProto *attribute) {
  BYOC_RETURN_IF_ERROR(take_in_tensor(taker, attribute->t));
  BYOC_RETURN_IF_ERROR(take_in_sparse(taker, attribute->sparse_tensor));
  BYOC_RETURN_IF_ERROR(take_in_graph(taker, attribute->g));
  for (size_t i = 0; i < attribute->n_tensors; i++) {
    BYOC_RETURN_IF_ERROR(take_in_tensor(taker, attribute->tensors[i]));
  }
  for (size_t i = 0; i < attribute->n_sparse_tensors; i++) {
    BYOC_RETURN_IF_ERROR(take_in_sparse(taker, attribute->sparse_tensors[i]));
  }
  for (size_t i = 0; i < attribute->n_graphs; i++) {
    BYOC_RETURN_IF_ERROR(take_in_graph(taker, attribute->graphs[i]));
  }
  return BYOC_OK;
}

static byoc_status_t take_in_nodes(taker_t *taker, Onnx__NodeProto *const *nodes, size_t count) {
  for (size_t n = 0; n < count; n++) {
    for (size_t a = 0; a < nodes[n]->n_attribute; a++) {
      BYOC_RETURN_IF_ERROR(take_in_attribute(taker, nodes[n]->attribute[a]));
    }
  }
  return BYOC_OK;
}

static byoc_status_t take_in_graph(taker_t *taker, Onnx__GraphProto *graph) {
  if (graph == NULL) return BYOC_OK;
  for (size_t i = 0; i < graph->n_initializer; i++) {
    BYOC_RETURN_IF_ERROR(take_in_tensor(taker, graph->initializer[i]));
  }
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    BYOC_RETURN_IF_ERROR(take_in_sparse(taker, graph->sparse_initializer[i]));
  }
  return take_in_nodes(taker, graph->node, graph->n_node);
}

static byoc_status_t take_in_model(taker_t *taker, const Onnx__ModelProto *message) {
  BYOC_RETURN_IF_ERROR(take_in_graph(taker, message->graph));
  for (size_t i = 0; i < message->n_functions; i++) {
    BYOC_RETURN_IF_ERROR(take_in_nodes(taker, message->functions[i]->node, message->functions[i]->n_node));
  }
  for (size_t i = 0; i < message->n_training_info; i++) {
    BYOC_RETURN_IF_ERROR(take_in_graph(taker, message->training_info[i]->initialization));
    BYOC_RETURN_IF_ERROR(take_in_graph(taker, message->training_info[i]->algorithm));
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_model_take_external(byoc_onnx_model_t *model, const char *folder, byoc_graph_module_t *keeper,
                                            byoc_diag_t *diag) {
  taker_t taker = {.reader = {.module = keeper, .diag = diag, .folder = folder}, .model = model};
  byoc_onnx_reader_init(&taker.reader, NULL, 0, model->allocator);
  const byoc_status_t status = take_in_model(&taker, &model->message);
  byoc_arena_deinit(&taker.reader.scratch);
  return status;
}

// ---- nodes ----

static char *copy_text(byoc_onnx_model_t *model, const char *text) {
  char *copy = byoc_arena_copy_string(&model->arena, text);
  model->failed |= copy == NULL;
  return copy;
}

static char **copy_names(byoc_onnx_model_t *model, const char *const *names, size_t count) {
  char **copy = BYOC_ARENA_ARRAY(&model->arena, char *, count + 1);
  model->failed |= copy == NULL;
  for (size_t i = 0; copy != NULL && i < count; i++) copy[i] = copy_text(model, names[i] != NULL ? names[i] : "");
  return copy;
}

Onnx__NodeProto *byoc_onnx_make_node(byoc_onnx_model_t *model, const char *domain, const char *op,
                                     const char *const *inputs, size_t input_count, const char *const *outputs,
                                     size_t output_count) {
  Onnx__NodeProto *node = BYOC_ARENA_NEW(&model->arena, Onnx__NodeProto);
  model->failed |= node == NULL;
  if (node == NULL) return NULL;
  onnx__node_proto__init(node);
  if (domain[0] != '\0') node->domain = copy_text(model, domain);
  node->op_type = copy_text(model, op);
  node->input = copy_names(model, inputs, input_count);
  node->output = copy_names(model, outputs, output_count);
  node->n_input = input_count;
  node->n_output = output_count;
  return model->failed ? NULL : node;
}

Onnx__NodeProto *byoc_onnx_copy_node(byoc_onnx_model_t *model, const Onnx__NodeProto *node) {
  Onnx__NodeProto *copy = byoc_arena_copy(&model->arena, node, sizeof(*node));
  const bool done = copy != NULL && rehome(&model->arena, &copy->input, node->n_input) &&
                    rehome(&model->arena, &copy->output, node->n_output) &&
                    rehome(&model->arena, &copy->attribute, node->n_attribute);
  model->failed |= !done;
  return done ? copy : NULL;
}

bool byoc_onnx_node_is(const Onnx__NodeProto *node, const char *op) {
  return byoc_onnx_domain(node->domain)[0] == '\0' && strcmp(byoc_onnx_string(node->op_type), op) == 0;
}

const Onnx__AttributeProto *byoc_onnx_find_attribute(const Onnx__NodeProto *node, const char *name) {
  for (size_t i = 0; i < node->n_attribute; i++) {
    if (strcmp(byoc_onnx_string(node->attribute[i]->name), name) == 0) return node->attribute[i];
  }
  return NULL;
}

int64_t byoc_onnx_attribute_int(const Onnx__NodeProto *node, const char *name, int64_t by_default) {
  const Onnx__AttributeProto *attribute = byoc_onnx_find_attribute(node, name);
  return attribute != NULL ? attribute->i : by_default;
}

float byoc_onnx_attribute_float(const Onnx__NodeProto *node, const char *name, float by_default) {
  const Onnx__AttributeProto *attribute = byoc_onnx_find_attribute(node, name);
  return attribute != NULL ? attribute->f : by_default;
}

// The list gets room for one more, as the writer expects it.
void byoc_onnx_add_attribute_int(byoc_onnx_model_t *model, Onnx__NodeProto *node, const char *name, int64_t value) {
  byoc_onnx_node_t handle = {model, node};
  if (node != NULL && rehome(&model->arena, &node->attribute, node->n_attribute)) {
    byoc_onnx_node_int(&handle, name, value);
  }
}

void byoc_onnx_add_attribute_string(byoc_onnx_model_t *model, Onnx__NodeProto *node, const char *name,
                                    const char *value) {
  byoc_onnx_node_t handle = {model, node};
  if (node != NULL && rehome(&model->arena, &node->attribute, node->n_attribute)) {
    byoc_onnx_node_string(&handle, name, value);
  }
}

void byoc_onnx_remove_attribute(Onnx__NodeProto *node, const char *name) {
  size_t kept = 0;
  for (size_t i = 0; i < node->n_attribute; i++) {
    if (strcmp(byoc_onnx_string(node->attribute[i]->name), name) != 0) node->attribute[kept++] = node->attribute[i];
  }
  node->n_attribute = kept;
}

// ---- tensors ----

void *byoc_onnx_add_initialiser(byoc_onnx_model_t *model, const char *name, byoc_dtype_t dtype, size_t rank,
                                const int64_t *dims) {
  return byoc_onnx_graph_initialiser(byoc_onnx_model_graph(model), name, dtype, rank, dims);
}

byoc_dtype_t byoc_onnx_tensor_dtype(const Onnx__TensorProto *tensor) {
  return byoc_dtype_from_onnx(tensor->data_type);
}

int64_t byoc_onnx_tensor_count(const Onnx__TensorProto *tensor) {
  size_t count = 1;
  for (size_t i = 0; i < tensor->n_dims; i++) {
    if (tensor->dims[i] < 0 || !byoc_size_mul(count, (size_t)tensor->dims[i], &count)) return -1;
  }
  return count <= INT64_MAX ? (int64_t)count : -1;
}

const float *byoc_onnx_tensor_floats(byoc_onnx_model_t *model, const Onnx__TensorProto *tensor) {
  const int64_t count = byoc_onnx_tensor_count(tensor);
  if (byoc_onnx_tensor_dtype(tensor) != BYOC_DTYPE_F32 || count < 0) return NULL;
  if (tensor->has_raw_data && tensor->raw_data.len == (size_t)count * sizeof(float)) {
    return aligned(model, &tensor->raw_data, sizeof(float));
  }
  return tensor->n_float_data == (size_t)count ? tensor->float_data : NULL;
}

const int64_t *byoc_onnx_tensor_ints(byoc_onnx_model_t *model, const Onnx__TensorProto *tensor) {
  const int64_t count = byoc_onnx_tensor_count(tensor);
  if (byoc_onnx_tensor_dtype(tensor) != BYOC_DTYPE_I64 || count < 0) return NULL;
  if (tensor->has_raw_data && tensor->raw_data.len == (size_t)count * sizeof(int64_t)) {
    return aligned(model, &tensor->raw_data, sizeof(int64_t));
  }
  return tensor->n_int64_data == (size_t)count ? tensor->int64_data : NULL;
}
