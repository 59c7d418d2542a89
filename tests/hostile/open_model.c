// SPDX-License-Identifier: Apache-2.0
// Opens the dimensions of a model, builds it, and writes down its expected values.
#include "tests/hostile/open_model.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/compose/artifact/compose.h"
#include "core/frontend/onnx_data.h"
#include "onnx.pb-c.h"
#include "tests/hostile/values.h"
#include "tests/random/pipeline.h"

// ---- the model ----

static char *format_name(size_t input, size_t axis) {
  char text[48];
  snprintf(text, sizeof(text), "open_%zu_%zu", input, axis);
  return strdup(text);
}

// Replaced parts are not freed, since the process ends soon.
static void open_input(Onnx__ValueInfoProto *input, size_t index) {
  Onnx__TypeProto *type = input->type;
  if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return;
  Onnx__TensorShapeProto *shape = type->tensor_type->shape;
  for (size_t d = 0; shape != NULL && d < shape->n_dim; ++d) {
    shape->dim[d]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    shape->dim[d]->dim_param = format_name(index, d);
  }
}

static byoc_status_t open_shapes(const char *path, bool keep_shapes, uint8_t **out_data, size_t *out_size,
                                 byoc_diag_t *diag) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, view.size_bytes, view.data);
  byoc_file_view_close(&view);
  if (model == NULL || model->graph == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is damaged", path);
  Onnx__GraphProto *graph = model->graph;
  for (size_t i = 0; i < graph->n_input && !keep_shapes; ++i) open_input(graph->input[i], i);
  for (size_t i = 0; i < graph->n_output && !keep_shapes; ++i) {
    Onnx__TypeProto *type = graph->output[i]->type;
    if (type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) type->tensor_type->shape = NULL;
  }
  if (!keep_shapes) graph->n_value_info = 0;
  *out_size = onnx__model_proto__get_packed_size(model);
  *out_data = malloc(*out_size + 1);
  if (*out_data == NULL) return byoc_diag_out_of_memory(diag);
  (void)onnx__model_proto__pack(model, *out_data);
  return BYOC_OK;
}

// ---- the values ----

typedef struct writer_t {
  FILE *file;
  bool failed;
} writer_t;

static void put(writer_t *w, const void *data, size_t size) {
  if (size > 0 && fwrite(data, 1, size, w->file) != size) w->failed = true;
}

static void put_value(writer_t *w, const byoc_onnx_value_t *value) {
  const byoc_constant_t *tensor = value->constant;
  bool is_tensor = value->kind == BYOC_TYPE_TENSOR;
  uint32_t kind = is_tensor                           ? BYOC_ARGUMENT_TENSOR
                  : value->kind == BYOC_TYPE_SEQUENCE ? BYOC_ARGUMENT_SEQUENCE
                                                      : BYOC_ARGUMENT_OPTIONAL;
  const uint32_t head[] = {kind, is_tensor ? tensor->type->dtype : 0, is_tensor ? (uint32_t)tensor->type->rank : 0};
  put(w, head, sizeof(head));
  if (is_tensor) put(w, tensor->dims, (size_t)tensor->type->rank * sizeof(*tensor->dims));
  bool is_text = is_tensor && tensor->type->dtype == BYOC_DTYPE_STRING;
  uint64_t count = !is_tensor ? value->count
                   : is_text  ? (uint64_t)byoc_type_element_count(tensor->type)
                              : tensor->size_bytes;
  put(w, &count, sizeof(count));
  for (uint64_t i = 0; i < count && !is_tensor; ++i) put_value(w, &value->items[i]);
  for (uint64_t i = 0; i < count && is_text; ++i) {
    const char *text = ((const char *const *)tensor->data)[i];
    put(w, text, strlen(text) + 1);
  }
  if (is_tensor && !is_text) put(w, tensor->data, (size_t)count);
}

// The values of one side, in the order of the artifact's ports.
static byoc_status_t put_side(writer_t *w, const char *folder, const char *prefix, const byoc_onnx_port_t *ports,
                              size_t port_count, byoc_host_buffer_t *const *buffers, size_t count,
                              byoc_graph_module_t *owner, byoc_diag_t *diag) {
  for (size_t i = 0; i < count; ++i) {
    size_t k = 0;
    while (k < port_count && strcmp(ports[k].name, buffers[i]->name) != 0) ++k;
    char path[600];
    snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%zu.pb", folder, prefix, k);
    byoc_onnx_value_t value;
    byoc_type_kind_t kind = buffers[i]->type->kind;
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_value_file(path, kind, owner, diag, &value));
    if (kind == BYOC_TYPE_TENSOR && value.constant->type->dtype != buffers[i]->type->dtype) {
      return byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s has another element type than the model", path);
    }
    put_value(w, &value);
  }
  return BYOC_OK;
}

static byoc_status_t write_values(const open_model_job_t *job, const char *model, const byoc_host_program_t *program,
                                  byoc_diag_t *diag) {
  byoc_onnx_summary_t summary;
  byoc_graph_module_t *owner = NULL;
  BYOC_RETURN_IF_ERROR(byoc_graph_module_create(byoc_allocator_system(), diag, &owner));
  BYOC_RETURN_IF_ERROR(byoc_onnx_summarise_file(model, &owner->arena, diag, &summary));
  writer_t w = {.file = fopen(job->values, "wb")};
  if (w.file == NULL) return byoc_diag_error(diag, BYOC_IO, "cannot write %s", job->values);
  const uint32_t counts[] = {(uint32_t)program->inputs.count, (uint32_t)program->outputs.count};
  put(&w, counts, sizeof(counts));
  byoc_status_t status = put_side(&w, job->folder, "input", summary.inputs, summary.input_count, program->inputs.data,
                                  program->inputs.count, owner, diag);
  if (status == BYOC_OK) {
    status = put_side(&w, job->folder, "output", summary.outputs, summary.output_count, program->outputs.data,
                      program->outputs.count, owner, diag);
  }
  if (fclose(w.file) != 0 || w.failed) return byoc_diag_error(diag, BYOC_IO, "cannot write %s", job->values);
  byoc_graph_module_destroy(owner);
  return status;
}

byoc_status_t open_model_build(const open_model_job_t *job, byoc_diag_t *diag) {
  char model[600];
  snprintf(model, sizeof(model), "%s/model.onnx", job->folder);
  uint8_t *data = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(open_shapes(model, job->keep_shapes, &data, &size, diag));
  pipeline_t pipeline;
  byoc_status_t status = pipeline_open(&pipeline, data, size, job->targets, diag);
  if (status == BYOC_OK) status = write_values(job, model, pipeline.build.result.program, diag);
  const byoc_compose_options_t options = {.output = job->artifact, .model_name = "hostile", .thread_count = 1};
  if (status == BYOC_OK) status = byoc_build_compose(&pipeline.build, &options, diag);
  pipeline_close(&pipeline);
  free(data);
  return status;
}
