// SPDX-License-Identifier: Apache-2.0
// Opens a model: unpacks the file, checks its versions and imports, and collects its local functions.
#include <stdio.h>

#include "core/base/log.h"
#include "core/frontend/onnx_reader.h"
#include "core/frontend/onnx_wire.h"
#include "core/op/op.h"

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
    snprintf(what, sizeof(what), "its local function '%s'", byoc_onnx_string(model->functions[i]->name));
    BYOC_RETURN_IF_ERROR(
        check_imports(reader, model->functions[i]->opset_import, model->functions[i]->n_opset_import, what));
  }
  BYOC_RETURN_IF_ERROR(byoc_onnx_collect_functions(reader, model));
  *out_model = model;
  return BYOC_OK;
}
