// SPDX-License-Identifier: Apache-2.0
// Reads a model: makes the module's functions, gives their values types and verifies them.
#include "core/frontend/onnx_read.h"

#include "core/frontend/onnx_reader.h"
#include "core/ir/attribute_names.h"
#include "core/ir/verify_module.h"
#include "core/op/limit.h"
#include "core/op/op.h"

static byoc_status_t set_module_attributes(byoc_onnx_reader_t *reader, const Onnx__ModelProto *model) {
  byoc_attributes_t *attributes = &reader->module->attributes;
  const char *producer = byoc_onnx_string(model->producer_name), *version = byoc_onnx_string(model->producer_version);
  bool set = byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_MODEL, byoc_onnx_string(model->graph->name));
  const char *text = byoc_arena_format(&reader->scratch, "%s%s%s", producer, version[0] ? " " : "", version);
  set = set && text && byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_PRODUCER, text);
  set = set && byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_IR_VERSION, model->ir_version);
  for (size_t i = 0; set && i < model->n_opset_import; i++) {
    text = byoc_arena_format(&reader->scratch, "opset_import.%s", byoc_onnx_domain(model->opset_import[i]->domain));
    set = text && byoc_attributes_set_int(attributes, text, model->opset_import[i]->version);
  }
  return set ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

static byoc_status_t read_model(byoc_onnx_reader_t *reader) {
  const Onnx__ModelProto *model;
  BYOC_RETURN_IF_ERROR(byoc_onnx_open_model(reader, &model));
  BYOC_RETURN_IF_ERROR(byoc_onnx_check_operators(reader, model));
  BYOC_RETURN_IF_ERROR(set_module_attributes(reader, model));
  if (reader->options->clamps_indices && !byoc_indices_set_clamped(reader->module)) {
    return byoc_diag_out_of_memory(reader->diag);
  }
  const byoc_onnx_context_t context = {.import_count = model->n_opset_import, .imports = model->opset_import};
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_main(reader, model->graph, &context));
  BYOC_RETURN_IF_ERROR(byoc_onnx_check_options(reader));
  BYOC_RETURN_IF_ERROR(byoc_onnx_infer(reader));
  BYOC_RETURN_IF_ERROR(byoc_infer_module(reader->module, reader->diag));
  BYOC_RETURN_IF_ERROR(byoc_onnx_name_output_dims(reader));
  return byoc_graph_verify(reader->module, reader->diag);
}

// `view` is the model's file, if it has one; on success the module takes it over if constants point into it.
static byoc_status_t read_bytes(const void *data, size_t size_bytes, const char *name, const char *folder,
                                byoc_file_view_t *view, const byoc_onnx_read_options_t *options,
                                byoc_allocator_t allocator, byoc_diag_t *diag, byoc_graph_module_t **out_module) {
  static const byoc_onnx_read_options_t no_options;
  byoc_diag_t own_diag = {0};
  byoc_onnx_reader_t reader = {.diag = diag ? diag : &own_diag,
                               .options = options ? options : &no_options,
                               .may_view = view != NULL,
                               .folder = folder};
  if (options && options->folder) reader.folder = options->folder;
  byoc_onnx_reader_init(&reader, data, size_bytes, allocator);
  byoc_status_t status = size_bytes > 0 ? byoc_graph_module_create(allocator, reader.diag, &reader.module)
                                        : byoc_diag_error(reader.diag, BYOC_INVALID_DATA, "it is empty");
  if (status == BYOC_OK) status = read_model(&reader);
  if (status == BYOC_OK && reader.viewed) {
    status = byoc_onnx_keep_view(&reader, view);
    if (status == BYOC_OK) *view = (byoc_file_view_t){0}; // now the module's
  }
  if (status == BYOC_OK) {
    *out_module = reader.module;
  } else {
    byoc_diag_context(reader.diag, status, "reading %s", name);
    byoc_graph_module_destroy(reader.module);
  }
  byoc_arena_deinit(&reader.scratch);
  return status;
}

byoc_status_t byoc_onnx_read_file(const char *path, const byoc_onnx_read_options_t *options, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, byoc_graph_module_t **out_module) {
  *out_module = NULL;
  byoc_file_view_t view = {0};
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  char *folder = byoc_path_directory(allocator, path);
  byoc_status_t status =
      folder ? read_bytes(view.data, view.size_bytes, path, folder, &view, options, allocator, diag, out_module)
             : byoc_diag_out_of_memory(diag);
  if (view.data) byoc_file_view_close(&view);
  byoc_free(allocator, folder);
  return status;
}

byoc_status_t byoc_onnx_read_memory(const void *data, size_t size_bytes, const char *name,
                                    const byoc_onnx_read_options_t *options, byoc_allocator_t allocator,
                                    byoc_diag_t *diag, byoc_graph_module_t **out_module) {
  *out_module = NULL;
  return read_bytes(data, size_bytes, name, NULL, NULL, options, allocator, diag, out_module);
}
