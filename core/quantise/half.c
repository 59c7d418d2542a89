// SPDX-License-Identifier: Apache-2.0
// Stores constants of floats in half their bits.
#include <math.h>
#include <string.h>

#include "core/ir/element.h"
#include "core/quantise/prepare.h"
#include "core/quantise/rewrite.h"

enum { LEAST_BYTES = 1024 }; // smaller ones save nothing

typedef struct half_t {
  byoc_onnx_model_t *model;
  byoc_dtype_t dtype;
  byoc_map_t names, casts; // taken; of stored tensors → the name behind Cast
  Onnx__NodeProto **nodes; // Cast nodes, in front of all others
  size_t count;
  byoc_diag_t *diag;
} half_t;

static bool fits(const float *data, int64_t count, byoc_dtype_t dtype) {
  for (int64_t i = 0; i < count; i++) {
    if (dtype == BYOC_DTYPE_F16 && fabsf(data[i]) > 65504) return false; // NaN stays NaN
  }
  return true;
}

static byoc_status_t store(half_t *h, const Onnx__TensorProto *tensor) {
  const int64_t count = byoc_onnx_tensor_count(tensor);
  const float *data = byoc_onnx_tensor_floats(h->model, tensor);
  if (data == NULL || count * (int64_t)sizeof(float) < LEAST_BYTES || !fits(data, count, h->dtype)) return BYOC_OK;
  const char *name =
      byoc_qgraph_new_name(h->model, &h->names, tensor->name, h->dtype == BYOC_DTYPE_F16 ? "_f16" : "_bf16");
  const char *result = byoc_qgraph_new_name(h->model, &h->names, tensor->name, "_f32");
  if (name == NULL || result == NULL) return byoc_diag_out_of_memory(h->diag);
  void *to = byoc_onnx_add_initialiser(h->model, name, h->dtype, tensor->n_dims, tensor->dims);
  Onnx__NodeProto *cast = byoc_onnx_make_node(h->model, "", "Cast", &name, 1, &result, 1);
  if (to == NULL || cast == NULL) return byoc_diag_out_of_memory(h->diag);
  cast->name = cast->output[0];
  byoc_onnx_add_attribute_int(h->model, cast, "to", 1);
  for (int64_t i = 0; i < count; i++) byoc_element_set_f64(h->dtype, to, (size_t)i, (double)data[i]);
  h->nodes[h->count++] = cast;
  return byoc_string_map_put(&h->casts, tensor->name, cast->output[0]) ? BYOC_OK : byoc_diag_out_of_memory(h->diag);
}

static bool is_excluded(const Onnx__NodeProto *node, const char *const *excluded, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (byoc_qnode_is_named(node, excluded[i])) return true;
  }
  return false;
}

static byoc_status_t redirect(half_t *h, const char *const *excluded, size_t excluded_count) {
  Onnx__GraphProto *graph = byoc_onnx_model_message(h->model)->graph;
  size_t total = h->count;
  for (size_t n = 0; n < graph->n_node; n++) {
    Onnx__NodeProto *copy = byoc_onnx_copy_node(h->model, graph->node[n]);
    if (copy == NULL) return byoc_diag_out_of_memory(h->diag);
    for (size_t i = 0; i < copy->n_input && !is_excluded(copy, excluded, excluded_count); i++) {
      char *cast = byoc_string_map_get(&h->casts, copy->input[i]);
      if (cast != NULL) copy->input[i] = cast;
    }
    h->nodes[total++] = copy;
  }
  return byoc_qgraph_set_nodes(h->model, graph, h->nodes, total, h->diag);
}

byoc_status_t byoc_qstore_half(byoc_onnx_model_t *model, byoc_dtype_t dtype, const char *const *excluded,
                               size_t excluded_count, byoc_diag_t *diag, size_t *out_count) {
  Onnx__GraphProto *graph = byoc_onnx_model_message(model)->graph;
  half_t h = {.model = model, .dtype = dtype, .diag = diag};
  byoc_string_map_init(&h.names, byoc_allocator_system());
  byoc_string_map_init(&h.casts, byoc_allocator_system());
  byoc_status_t status = byoc_qgraph_names(graph, &h.names, diag);
  const size_t tensors = graph->n_initializer;
  h.nodes = BYOC_ARENA_ARRAY(byoc_onnx_model_arena(model), Onnx__NodeProto *, tensors + graph->n_node + 1);
  if (h.nodes == NULL) status = byoc_diag_out_of_memory(diag);
  for (size_t i = 0; status == BYOC_OK && i < tensors; i++) status = store(&h, graph->initializer[i]);
  if (status == BYOC_OK) status = redirect(&h, excluded, excluded_count);
  if (status == BYOC_OK) byoc_qwriter_drop_unread(model);
  *out_count = h.count;
  byoc_map_deinit(&h.names);
  byoc_map_deinit(&h.casts);
  return status;
}
