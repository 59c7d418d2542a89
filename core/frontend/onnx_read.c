// SPDX-License-Identifier: Apache-2.0
// Reads a model: checks its versions, then makes the module's functions, types them and verifies them.
#include "core/frontend/onnx_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/frontend/onnx_reader.h"
#include "core/frontend/onnx_wire.h"
#include "core/ir/attribute_names.h"
#include "core/ir/verify_module.h"
#include "core/op/limit.h"
#include "core/op/op.h"

// Git LFS puts a text of three lines in the place of a large file that was not fetched.
byoc_status_t byoc_onnx_check_fetched(const void *data, size_t size_bytes, const char *what, byoc_diag_t *diag) {
  static const char begin[] = "version https://git-lfs.github.com/spec/";
  if (size_bytes < sizeof(begin) - 1 || memcmp(data, begin, sizeof(begin) - 1) != 0) return BYOC_OK;
  byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is a Git LFS pointer, which stands for a file that was not fetched",
                  what);
  byoc_diag_hint(diag, "run 'git lfs pull' in its repository");
  return BYOC_INVALID_DATA;
}

static byoc_status_t forbid(byoc_onnx_reader_t *reader, bool is_told, const char *format, va_list arguments) {
  char text[640];
  vsnprintf(text, sizeof text, format, arguments);
  if (reader->options->strictness != BYOC_ONNX_STRICT) {
    if (is_told) byoc_log(BYOC_LOG_WARNING, "%s", text);
    return BYOC_OK;
  }
  byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s", text);
  byoc_diag_hint(reader->diag, "the specification forbids this; reading that is not strict accepts it");
  return BYOC_INVALID_DATA;
}

byoc_status_t byoc_onnx_forbidden(byoc_onnx_reader_t *reader, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const byoc_status_t status = forbid(reader, true, format, arguments);
  va_end(arguments);
  return status;
}

byoc_status_t byoc_onnx_tolerate(byoc_onnx_reader_t *reader, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const byoc_status_t status = forbid(reader, false, format, arguments);
  va_end(arguments);
  return status;
}

static byoc_status_t check_versions(byoc_onnx_reader_t *reader, const Onnx__ModelProto *model) {
  if (!model->has_ir_version || !model->graph) {
    byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "it has no %s", model->graph ? "IR version" : "graph");
    byoc_diag_hint(reader->diag, "is it an ONNX model?");
    return BYOC_INVALID_DATA;
  }
  if (model->ir_version < BYOC_ONNX_IR_VERSION_MIN || model->ir_version > BYOC_ONNX_IR_VERSION_MAX) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "it has IR version %lld, and %d to %d are supported",
                           (long long)model->ir_version, BYOC_ONNX_IR_VERSION_MIN, BYOC_ONNX_IR_VERSION_MAX);
  }
  if (model->n_opset_import == 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "it imports no operator set");
  }
  return BYOC_OK;
}

static byoc_status_t check_imports(byoc_onnx_reader_t *reader, Onnx__OperatorSetIdProto *const *imports, size_t count,
                                   const char *what) {
  for (size_t i = 0; i < count; i++) {
    const char *domain = byoc_onnx_domain(imports[i]->domain), *shown = domain[0] ? domain : "ai.onnx";
    const int64_t version = imports[i]->version;
    if (!imports[i]->has_version || version < 1 || version > INT32_MAX) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s imports operator set %lld of domain %s", what,
                             (long long)version, shown);
    }
    if (domain[0] == '\0' && version > BYOC_OPSET_NEWEST) {
      return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED,
                             "%s imports operator set %lld of domain %s, and %d is the newest known", what,
                             (long long)version, shown, BYOC_OPSET_NEWEST);
    }
    for (size_t k = 0; k < i; k++) {
      if (strcmp(byoc_onnx_domain(imports[k]->domain), domain) == 0 && imports[k]->version != version) {
        return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s imports operator sets %lld and %lld of domain %s",
                               what, (long long)imports[k]->version, (long long)version, shown);
      }
    }
    const byoc_op_source_t *source = reader->options ? reader->options->operators : NULL;
    if (source && !byoc_op_domain_is_reserved(domain)) {
      BYOC_RETURN_IF_ERROR(source->load(source->self, domain, reader->diag));
    }
  }
  return BYOC_OK;
}

static byoc_status_t set_module_attributes(byoc_onnx_reader_t *reader, const Onnx__ModelProto *model) {
  byoc_attributes_t *attributes = &reader->module->attributes;
  const char *producer = byoc_onnx_text(model->producer_name), *version = byoc_onnx_text(model->producer_version);
  bool set = byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_MODEL, byoc_onnx_text(model->graph->name));
  const char *text = byoc_arena_format(&reader->scratch, "%s%s%s", producer, version[0] ? " " : "", version);
  set = set && text && byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_PRODUCER, text);
  set = set && byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_IR_VERSION, model->ir_version);
  for (size_t i = 0; set && i < model->n_opset_import; i++) {
    text = byoc_arena_format(&reader->scratch, "opset_import.%s", byoc_onnx_domain(model->opset_import[i]->domain));
    set = text && byoc_attributes_set_int(attributes, text, model->opset_import[i]->version);
  }
  return set ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

void byoc_onnx_reader_init(byoc_onnx_reader_t *reader, const void *data, size_t size_bytes,
                           byoc_allocator_t allocator) {
  reader->allocator = allocator;
  reader->data = data;
  reader->size_bytes = size_bytes;
  byoc_arena_init(&reader->scratch, allocator);
  const byoc_allocator_t scratch = byoc_arena_allocator(&reader->scratch);
  byoc_text_map_init(&reader->external, scratch);
  byoc_text_map_init(&reader->functions, scratch);
  byoc_pointer_map_init(&reader->instances, scratch);
  byoc_text_map_init(&reader->symbols, scratch);
  byoc_pointer_map_init(&reader->declarations, scratch);
  byoc_pointer_map_init(&reader->told, scratch);
  byoc_text_map_init(&reader->optional, scratch);
}

byoc_status_t byoc_onnx_open_model(byoc_onnx_reader_t *reader, const Onnx__ModelProto **out_model) {
  *out_model = NULL;
  ProtobufCMessage *message;
  BYOC_RETURN_IF_ERROR(byoc_onnx_check_fetched(reader->data, reader->size_bytes, "it", reader->diag));
  BYOC_RETURN_IF_ERROR(byoc_onnx_wire_unpack(reader->data, reader->size_bytes, &onnx__model_proto__descriptor,
                                             &reader->scratch, reader->diag, &message));
  const Onnx__ModelProto *model = (const Onnx__ModelProto *)message;
  BYOC_RETURN_IF_ERROR(check_versions(reader, model));
  BYOC_RETURN_IF_ERROR(check_imports(reader, model->opset_import, model->n_opset_import, "it"));
  for (size_t i = 0; i < model->n_functions; i++) {
    char what[192];
    snprintf(what, sizeof(what), "its local function '%s'", byoc_onnx_text(model->functions[i]->name));
    BYOC_RETURN_IF_ERROR(
        check_imports(reader, model->functions[i]->opset_import, model->functions[i]->n_opset_import, what));
  }
  BYOC_RETURN_IF_ERROR(byoc_onnx_collect_functions(reader, model));
  *out_model = model;
  return BYOC_OK;
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
