// SPDX-License-Identifier: Apache-2.0
// The state of writing a quantised model: nodes, names, and what nothing reads any more.
#include <string.h>

#include "core/quantise/rewrite.h"

// ---- the writer ----

byoc_status_t byoc_qwriter_open(byoc_qwriter_t *writer, const byoc_qgraph_t *graph, const byoc_qplan_t *plan,
                                const byoc_qform_t *form, byoc_diag_t *diag) {
  *writer = (byoc_qwriter_t){.graph = graph, .plan = plan, .form = form, .diag = diag};
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_arena_init(&writer->arena, allocator);
  byoc_string_map_init(&writer->names, allocator);
  byoc_pointer_map_init(&writer->floats_of, allocator);
  byoc_pointer_map_init(&writer->scales_of, allocator);
  byoc_string_map_init(&writer->weights_of, allocator);
  byoc_status_t status = byoc_onnx_model_fork(graph->model, diag, &writer->model);
  if (status == BYOC_OK) status = byoc_qgraph_names(graph->message, &writer->names, diag);
  if (status != BYOC_OK) byoc_qwriter_close(writer);
  return status;
}

void byoc_qwriter_close(byoc_qwriter_t *writer) {
  if (writer->form == NULL) return;
  byoc_vector_deinit(&writer->nodes, byoc_allocator_system());
  byoc_map_deinit(&writer->names);
  byoc_map_deinit(&writer->floats_of);
  byoc_map_deinit(&writer->scales_of);
  byoc_map_deinit(&writer->weights_of);
  byoc_arena_deinit(&writer->arena);
  byoc_onnx_model_destroy(writer->model);
  *writer = (byoc_qwriter_t){0};
}

byoc_onnx_model_t *byoc_qwriter_release(byoc_qwriter_t *writer) {
  byoc_onnx_model_t *model = writer->model;
  writer->model = NULL;
  return model;
}

byoc_status_t byoc_qwriter_add(byoc_qwriter_t *writer, Onnx__NodeProto *node) {
  const bool done = node != NULL && byoc_vector_push(&writer->nodes, byoc_allocator_system(), node);
  return done ? BYOC_OK : byoc_diag_out_of_memory(writer->diag);
}

const char *byoc_qwriter_name(byoc_qwriter_t *writer, const char *base, const char *suffix) {
  return byoc_qgraph_new_name(writer->model, &writer->names, base, suffix);
}

void *byoc_qwriter_initialiser(byoc_qwriter_t *writer, const char *base, const char *suffix, byoc_dtype_t dtype,
                               size_t rank, const int64_t *dims, const char **out_name) {
  return byoc_qgraph_add_initialiser(writer->model, &writer->names, base, suffix, dtype, rank, dims, out_name);
}

// ---- what nothing reads ----

static bool is_read(const byoc_map_t *read, const char *name) {
  return byoc_string_map_find(read, name) != NULL;
}

static bool mark_reads(const Onnx__GraphProto *graph, byoc_map_t *read) {
  bool done = true;
  for (size_t i = 0; i < graph->n_output; i++) done = done && byoc_string_map_put(read, graph->output[i]->name, NULL);
  for (size_t n = 0; n < graph->n_node; n++) {
    const Onnx__NodeProto *node = graph->node[n];
    for (size_t i = 0; i < node->n_input; i++) done = done && byoc_string_map_put(read, node->input[i], NULL);
    for (size_t a = 0; a < node->n_attribute; a++) {
      const Onnx__AttributeProto *attribute = node->attribute[a];
      if (attribute->g != NULL) done = done && mark_reads(attribute->g, read);
      for (size_t g = 0; g < attribute->n_graphs; g++) done = done && mark_reads(attribute->graphs[g], read);
    }
  }
  return done;
}

static bool is_initialiser(const Onnx__GraphProto *graph, const char *name) {
  for (size_t i = 0; i < graph->n_initializer; i++) {
    if (strcmp(graph->initializer[i]->name, name) == 0) return true;
  }
  return false;
}

// An input that only gave an initialiser another value goes with it.
static void drop_inputs_of_unread(Onnx__GraphProto *graph, const byoc_map_t *read) {
  size_t kept = 0;
  for (size_t i = 0; i < graph->n_input; i++) {
    const char *name = graph->input[i]->name;
    if (is_read(read, name) || !is_initialiser(graph, name)) graph->input[kept++] = graph->input[i];
  }
  graph->n_input = kept;
}

void byoc_qwriter_drop_unread(byoc_onnx_model_t *model) {
  Onnx__GraphProto *graph = byoc_onnx_model_message(model)->graph;
  byoc_map_t read;
  byoc_string_map_init(&read, byoc_allocator_system());
  if (mark_reads(graph, &read)) { // else they stay, which does no harm
    size_t kept = 0;
    drop_inputs_of_unread(graph, &read);
    for (size_t i = 0; i < graph->n_initializer; i++) {
      if (is_read(&read, graph->initializer[i]->name)) graph->initializer[kept++] = graph->initializer[i];
    }
    graph->n_initializer = kept;
    kept = 0;
    for (size_t n = 0; n < graph->n_node; n++) {
      Onnx__NodeProto *node = graph->node[n];
      if (!byoc_onnx_node_is(node, "Constant") || is_read(&read, node->output[0])) graph->node[kept++] = node;
    }
    graph->n_node = kept;
  }
  byoc_map_deinit(&read);
}
