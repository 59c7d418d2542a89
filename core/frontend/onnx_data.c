// SPDX-License-Identifier: Apache-2.0
// Reads ONNX test data: summaries of models, and files of tensors, sequences and optionals.
#include "core/frontend/onnx_data.h"

#include "core/frontend/onnx_reader.h"
#include "core/frontend/onnx_wire.h"

static byoc_type_kind_t kind_of(const Onnx__ValueInfoProto *port) {
  if (!port->type) return BYOC_TYPE_UNKNOWN;
  switch (port->type->value_case) {
  case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
    return BYOC_TYPE_TENSOR;
  case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
    return byoc_onnx_holds_maps(port->type) ? BYOC_TYPE_UNKNOWN : BYOC_TYPE_SEQUENCE;
  case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
    return BYOC_TYPE_OPTIONAL;
  default:
    return BYOC_TYPE_UNKNOWN;
  }
}

static byoc_onnx_port_t read_port(const Onnx__ValueInfoProto *info) {
  byoc_onnx_port_t port = {.name = byoc_onnx_string(info->name), .kind = kind_of(info)};
  const Onnx__TypeProto__Tensor *tensor = port.kind == BYOC_TYPE_TENSOR ? info->type->tensor_type : NULL;
  if (!tensor) return port;
  port.dtype = byoc_dtype_from_onnx(tensor->elem_type);
  port.is_static = tensor->shape != NULL;
  for (size_t i = 0; tensor->shape && i < tensor->shape->n_dim; i++) {
    if (tensor->shape->dim[i]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
      port.is_static = false;
  }
  return port;
}

// The two vectors of an input that is a map.
static byoc_onnx_port_t read_map_port(const Onnx__ValueInfoProto *info, bool is_keys, byoc_arena_t *arena) {
  const Onnx__TypeProto__Map *map = info->type->map_type;
  const Onnx__TypeProto *element = map->value_type;
  const bool has_tensor = element && element->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  const char *name = byoc_arena_format(arena, "%s.%s", byoc_onnx_string(info->name), is_keys ? "keys" : "values");
  const int32_t dtype = is_keys ? map->key_type : has_tensor ? element->tensor_type->elem_type : 0;
  return (byoc_onnx_port_t){.name = name, .kind = BYOC_TYPE_TENSOR, .dtype = byoc_dtype_from_onnx(dtype)};
}

static bool is_initialiser(const Onnx__GraphProto *graph, const char *name) {
  for (size_t i = 0; i < graph->n_initializer; i++) {
    if (strcmp(byoc_onnx_string(graph->initializer[i]->name), name) == 0) return true;
  }
  return false;
}

static const byoc_onnx_port_t *read_ports(const Onnx__GraphProto *graph, Onnx__ValueInfoProto *const *infos,
                                          size_t count, byoc_arena_t *arena, size_t *out_count) {
  *out_count = 0;
  byoc_onnx_port_t *ports = BYOC_ARENA_ARRAY(arena, byoc_onnx_port_t, 2 * count + 1);
  for (size_t i = 0; ports && i < count; i++) {
    if (infos == graph->input && is_initialiser(graph, byoc_onnx_string(infos[i]->name))) continue;
    const bool is_map = infos == graph->input && byoc_onnx_is_map(infos[i]->type);
    if (!is_map) ports[(*out_count)++] = read_port(infos[i]);
    for (int part = 0; is_map && part < 2; ++part) {
      ports[*out_count] = read_map_port(infos[i], part == 0, arena);
      if (ports[(*out_count)++].name == NULL) return NULL;
    }
  }
  return ports;
}

static const char *const *read_operators(const Onnx__GraphProto *graph, byoc_arena_t *arena, size_t *out_count) {
  *out_count = 0;
  const char **operators = BYOC_ARENA_ARRAY(arena, const char *, graph->n_node + 1);
  byoc_map_t known;
  byoc_string_map_init(&known, byoc_arena_allocator(arena));
  for (size_t i = 0; operators && i < graph->n_node; i++) {
    const char *op = byoc_onnx_string(graph->node[i]->op_type), *domain = byoc_onnx_domain(graph->node[i]->domain);
    const char *name = domain[0] ? byoc_arena_format(arena, "%s::%s", domain, op) : op;
    if (!name) return NULL;
    if (byoc_string_map_get(&known, name)) continue;
    if (!byoc_string_map_put(&known, name, (void *)(uintptr_t)name)) return NULL;
    operators[(*out_count)++] = name;
  }
  return operators;
}

static byoc_status_t summarise(const byoc_file_view_t *view, byoc_arena_t *arena, byoc_diag_t *diag,
                               byoc_onnx_summary_t *out_summary) {
  ProtobufCMessage *message;
  if (view->size_bytes == 0) return byoc_diag_error(diag, BYOC_INVALID_DATA, "it is empty");
  BYOC_RETURN_IF_ERROR(
      byoc_onnx_wire_unpack(view->data, view->size_bytes, &onnx__model_proto__descriptor, arena, diag, &message));
  const Onnx__GraphProto *graph = ((const Onnx__ModelProto *)message)->graph;
  if (!graph) return byoc_diag_error(diag, BYOC_INVALID_DATA, "it has no graph");
  out_summary->inputs = read_ports(graph, graph->input, graph->n_input, arena, &out_summary->input_count);
  out_summary->outputs = read_ports(graph, graph->output, graph->n_output, arena, &out_summary->output_count);
  out_summary->operators = read_operators(graph, arena, &out_summary->operator_count);
  bool ok = out_summary->inputs && out_summary->outputs && out_summary->operators;
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_onnx_summarise_file(const char *path, byoc_arena_t *arena, byoc_diag_t *diag,
                                       byoc_onnx_summary_t *out_summary) {
  *out_summary = (byoc_onnx_summary_t){0};
  byoc_file_view_t view = {0};
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_status_t status = summarise(&view, arena, diag, out_summary);
  byoc_file_view_close(&view);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "reading %s", path);
}

// Reads one TensorProto.
static byoc_status_t read_tensor_bytes(const uint8_t *data, size_t size, byoc_graph_module_t *module, byoc_diag_t *diag,
                                       byoc_constant_t **out_constant) {
  byoc_onnx_reader_t reader = {
      .module = module, .diag = diag, .allocator = module->allocator, .data = data, .size_bytes = size};
  byoc_arena_init(&reader.scratch, module->allocator);
  ProtobufCMessage *message = NULL;
  byoc_status_t status =
      byoc_onnx_wire_unpack(data, size, &onnx__tensor_proto__descriptor, &reader.scratch, diag, &message);
  const Onnx__TensorProto *tensor = (const Onnx__TensorProto *)message;
  if (status == BYOC_OK && tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    status = byoc_diag_error(diag, BYOC_UNSUPPORTED, "its data lies in yet another file");
  }
  if (status == BYOC_OK) {
    const char *name = byoc_onnx_string(tensor->name);
    status = byoc_onnx_read_tensor(&reader, tensor, "the tensor", name[0] ? name : "tensor", out_constant);
  }
  byoc_arena_deinit(&reader.scratch);
  return status;
}

// ---- SequenceProto and OptionalProto, of onnx-data.proto, which is not compiled in ----

typedef struct field_t {
  uint32_t number;
  uint64_t value;      // of a number; size of bytes
  const uint8_t *data; // of bytes; NULL for a number
} field_t;

static bool read_field(const uint8_t **at, const uint8_t *end, field_t *out) {
  uint64_t tag = 0;
  *out = (field_t){0};
  if (!byoc_onnx_wire_get_varint(at, end, &tag)) return false;
  if (!byoc_onnx_wire_get_varint(at, end, &out->value)) return false;
  out->number = (uint32_t)(tag >> 3);
  if ((tag & 7) == 0) return true;
  if ((tag & 7) != 2 || out->value > (uint64_t)(end - *at)) return false;
  out->data = *at;
  *at += out->value;
  return true;
}

// Fields of both messages: 3 is a tensor, 5 a sequence, 7 the optional; they are repeated in a sequence.
static byoc_type_kind_t kind_of_field(uint32_t number) {
  if (number == 3) return BYOC_TYPE_TENSOR;
  if (number == 5) return BYOC_TYPE_SEQUENCE;
  return number == 7 ? BYOC_TYPE_OPTIONAL : BYOC_TYPE_UNKNOWN;
}

static byoc_status_t read_value(const uint8_t *data, size_t size, byoc_type_kind_t kind, int depth,
                                byoc_graph_module_t *module, byoc_diag_t *diag, byoc_onnx_value_t *out_value) {
  *out_value = (byoc_onnx_value_t){.kind = kind};
  if (kind == BYOC_TYPE_TENSOR) return read_tensor_bytes(data, size, module, diag, &out_value->constant);
  if (depth > BYOC_MAX_BLOCK_DEPTH) return byoc_diag_error(diag, BYOC_INVALID_DATA, "it is nested too deep");
  const uint8_t *end = data + size;
  field_t field;
  size_t count = 0;
  for (const uint8_t *at = data; at < end;) {
    if (!read_field(&at, end, &field)) return byoc_diag_error(diag, BYOC_INVALID_DATA, "it is damaged");
    count += field.data != NULL && kind_of_field(field.number) != BYOC_TYPE_UNKNOWN;
  }
  out_value->items = BYOC_ARENA_ARRAY(&module->arena, byoc_onnx_value_t, count);
  if (out_value->items == NULL) return byoc_diag_out_of_memory(diag);
  for (const uint8_t *at = data; at < end;) {
    (void)read_field(&at, end, &field);
    byoc_type_kind_t item = field.data != NULL ? kind_of_field(field.number) : BYOC_TYPE_UNKNOWN;
    if (item == BYOC_TYPE_UNKNOWN) continue;
    byoc_onnx_value_t *out = &out_value->items[out_value->count++];
    BYOC_RETURN_IF_ERROR(read_value(field.data, (size_t)field.value, item, depth + 1, module, diag, out));
  }
  if (kind == BYOC_TYPE_OPTIONAL && count > 1) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "an optional with %zu values", count);
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_read_value_file(const char *path, byoc_type_kind_t kind, byoc_graph_module_t *module,
                                        byoc_diag_t *diag, byoc_onnx_value_t *out_value) {
  byoc_file_view_t view = {0};
  *out_value = (byoc_onnx_value_t){.kind = kind};
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_status_t status = read_value(view.data, view.size_bytes, kind, 0, module, diag, out_value);
  byoc_file_view_close(&view);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "reading %s", path);
}
