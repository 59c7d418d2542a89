// SPDX-License-Identifier: Apache-2.0
// Reads declared types, and applies the options that set the inputs' dimensions.
#include <string.h>

#include "core/frontend/onnx_reader.h"
#include "core/ir/attribute_names.h"

bool byoc_onnx_holds_maps(const Onnx__TypeProto *type) {
  while (type && type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE) type = type->sequence_type->elem_type;
  return type && type->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
}

static const byoc_onnx_dim_binding_t *find_binding(const byoc_onnx_reader_t *reader, const char *symbol) {
  for (size_t i = 0; i < reader->options->binding_count; i++) {
    if (strcmp(reader->options->bindings[i].name, symbol) == 0) return &reader->options->bindings[i];
  }
  return NULL;
}

static byoc_dim_t symbol_or_bound(byoc_onnx_reader_t *reader, const char *name, bool *failed) {
  const byoc_onnx_dim_binding_t *binding = find_binding(reader, name);
  if (binding) return byoc_dim_constant(binding->value);
  return byoc_dim_symbol(&reader->module->arena, name, failed);
}

// The name of a dynamic dimension; equal names mean equal sizes. NULL if it has none: exporters write "?", "-1" and
// "None" for sizes that may all differ.
static const char *name_of_dim(const Onnx__TensorShapeProto__Dimension *dim) {
  static const char *const anonymous[] = {"", "?", "-1", "None"};
  if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM) return NULL;
  const char *name = byoc_onnx_string(dim->dim_param);
  for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++) {
    if (strcmp(name, anonymous[i]) == 0) return NULL;
  }
  return name;
}

// A negative size means the same as no size: exporters write -1 for it.
static byoc_status_t read_dim(byoc_onnx_reader_t *reader, const Onnx__TensorShapeProto__Dimension *dim,
                              byoc_dim_t *out_dim) {
  bool failed = false;
  const char *name = name_of_dim(dim);
  if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0) {
    *out_dim = byoc_dim_constant(dim->dim_value);
  } else if (name != NULL) {
    *out_dim = symbol_or_bound(reader, name, &failed);
  } else {
    *out_dim = byoc_dim_unknown(&reader->module->arena, 0, &failed);
  }
  return failed ? byoc_diag_out_of_memory(reader->diag) : BYOC_OK;
}

static byoc_status_t read_tensor_type(byoc_onnx_reader_t *reader, const Onnx__TypeProto__Tensor *tensor,
                                      const char *what, const byoc_type_t **out_type) {
  const byoc_dtype_t dtype = byoc_dtype_from_onnx(tensor->elem_type);
  if (dtype == BYOC_DTYPE_NONE) {
    if (tensor->elem_type == 0) return BYOC_OK; // a shape without an element type says too little to be a type
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: element type %d (%s) is not supported", what,
                           (int)tensor->elem_type, byoc_onnx_type_name(tensor->elem_type));
  }
  byoc_dim_t dims[BYOC_MAX_RANK] = {0};
  int32_t rank = BYOC_RANK_UNKNOWN;
  if (tensor->shape) {
    if (tensor->shape->n_dim > BYOC_MAX_RANK) {
      return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: %zu dimensions, more than the %d supported", what,
                             tensor->shape->n_dim, BYOC_MAX_RANK);
    }
    rank = (int32_t)tensor->shape->n_dim;
    for (size_t i = 0; i < tensor->shape->n_dim; i++) {
      BYOC_RETURN_IF_ERROR(read_dim(reader, tensor->shape->dim[i], &dims[i]));
    }
  }
  *out_type = byoc_type_tensor(&reader->module->arena, dtype, rank, dims);
  if (!*out_type) return byoc_diag_out_of_memory(reader->diag);
  bool is_static = rank != BYOC_RANK_UNKNOWN;
  for (int32_t i = 0; i < rank; i++) is_static &= byoc_dim_is_constant(dims[i]);
  if (is_static && byoc_type_size_bytes(*out_type) < 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: its dimensions multiply to more than 64 bits hold",
                           what);
  }
  return BYOC_OK;
}

// The depth of nested types was limited when the file was unpacked.
byoc_status_t byoc_onnx_read_type(byoc_onnx_reader_t *reader, const Onnx__TypeProto *type, const char *what,
                                  const byoc_type_t **out_type) {
  *out_type = NULL;
  if (!type) return BYOC_OK;
  const byoc_type_t *element = NULL;
  switch (type->value_case) {
  case ONNX__TYPE_PROTO__VALUE__NOT_SET:
    return BYOC_OK;
  case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
    return read_tensor_type(reader, type->tensor_type, what, out_type);
  case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_type(reader, type->sequence_type->elem_type, what, &element));
    if (element) *out_type = byoc_type_sequence(&reader->module->arena, element);
    break;
  case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_type(reader, type->optional_type->elem_type, what, &element));
    if (element) *out_type = byoc_type_optional(&reader->module->arena, element);
    break;
  case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: values of type map are not supported", what);
  case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: sparse tensors are supported as constants only", what);
  default:
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: its kind of type is not supported", what);
  }
  return !element || *out_type ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

static const byoc_onnx_input_shape_t *find_shape(const byoc_onnx_reader_t *reader, const char *input) {
  for (size_t i = 0; i < reader->options->shape_count; i++) {
    if (strcmp(reader->options->shapes[i].name, input) == 0) return &reader->options->shapes[i];
  }
  return NULL;
}

static byoc_status_t override_shape(byoc_onnx_reader_t *reader, const byoc_onnx_input_shape_t *shape, const char *what,
                                    const byoc_type_t **type) {
  if ((*type)->kind != BYOC_TYPE_TENSOR) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "%s: it is not a tensor and has no shape to set", what);
  }
  if ((*type)->rank != BYOC_RANK_UNKNOWN && (size_t)(*type)->rank != shape->rank) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT,
                           "%s: the requested shape has %zu dimensions, the model's has %d", what, shape->rank,
                           (int)(*type)->rank);
  }
  if (shape->rank > BYOC_MAX_RANK) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "%s: %zu dimensions, more than the %d supported", what,
                           shape->rank, BYOC_MAX_RANK);
  }
  for (size_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] < 0) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "%s: the requested shape has a negative dimension",
                             what);
    }
  }
  *type = byoc_type_tensor_static(&reader->module->arena, (*type)->dtype, (int32_t)shape->rank, shape->dims);
  if (!*type) return byoc_diag_out_of_memory(reader->diag);
  if (byoc_type_size_bytes(*type) < 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT,
                           "%s: the requested dimensions multiply to more than 64 bits hold", what);
  }
  return BYOC_OK;
}

// A name that is replaced by a size is kept in BYOC_ATTRIBUTE_DIMENSIONS.
static byoc_status_t note_name(byoc_onnx_reader_t *reader, const char *name, const char *input, int32_t axis) {
  byoc_attributes_t *attributes = &reader->module->attributes;
  size_t count = 0;
  const char *const *known = byoc_attributes_strings(attributes, BYOC_ATTRIBUTE_DIMENSIONS, &count);
  const char **names = byoc_allocate(reader->module->allocator, count + 1, sizeof(*names));
  if (names == NULL) return byoc_diag_out_of_memory(reader->diag);
  for (size_t i = 0; i < count; i++) names[i] = known[i];
  names[count] = byoc_arena_format(&reader->module->arena, "%s=%s.%d", name, input, (int)axis);
  const bool ok = names[count] && byoc_attributes_set_strings(attributes, BYOC_ATTRIBUTE_DIMENSIONS, names, count + 1);
  byoc_free(reader->module->allocator, names);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

// Open dimensions of an input get their own names; those that stay symbols or were bound are remembered.
static byoc_status_t name_dims(byoc_onnx_reader_t *reader, const char *input, const Onnx__TypeProto *declared,
                               const byoc_type_t **type) {
  byoc_dim_t dims[BYOC_MAX_RANK] = {0};
  bool failed = false;
  const Onnx__TensorShapeProto *shape = declared->tensor_type->shape;
  for (int32_t i = 0; i < (*type)->rank; i++) {
    dims[i] = (*type)->dims[i];
    const char *given = name_of_dim(shape->dim[i]);
    if (given == NULL && byoc_dim_is_constant(dims[i])) continue;
    const char *name = given != NULL ? given : byoc_arena_format(&reader->module->arena, "%s.%d", input, (int)i);
    if (!name || !byoc_string_map_put(&reader->symbols, name, reader)) return byoc_diag_out_of_memory(reader->diag);
    dims[i] = symbol_or_bound(reader, name, &failed);
    if (given != NULL && byoc_dim_is_constant(dims[i])) BYOC_RETURN_IF_ERROR(note_name(reader, name, input, i));
  }
  if (!failed) *type = byoc_type_tensor(&reader->module->arena, (*type)->dtype, (*type)->rank, dims);
  return failed || !*type ? byoc_diag_out_of_memory(reader->diag) : BYOC_OK;
}

byoc_status_t byoc_onnx_read_input_type(byoc_onnx_reader_t *reader, const Onnx__ValueInfoProto *input,
                                        const byoc_type_t **out_type) {
  char what[256];
  snprintf(what, sizeof(what), "input '%s'", byoc_onnx_string(input->name));
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_type(reader, input->type, what, out_type));
  if (!*out_type) return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it has no type", what);
  const byoc_onnx_input_shape_t *shape = find_shape(reader, byoc_onnx_string(input->name));
  if (shape) return override_shape(reader, shape, what, out_type);
  if ((*out_type)->kind == BYOC_TYPE_TENSOR && (*out_type)->rank != BYOC_RANK_UNKNOWN) {
    BYOC_RETURN_IF_ERROR(name_dims(reader, byoc_onnx_string(input->name), input->type, out_type));
    if (byoc_type_is_static(*out_type) && byoc_type_size_bytes(*out_type) < 0) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT,
                             "%s: its dimensions multiply to more than 64 bits hold", what);
    }
  }
  return BYOC_OK;
}

static byoc_status_t unknown_symbol(byoc_onnx_reader_t *reader, const char *name) {
  byoc_string_t list;
  byoc_string_init(&list, reader->allocator);
  const char **names = BYOC_ARENA_ARRAY(&reader->scratch, const char *, reader->symbols.count + 1);
  for (size_t i = 0; names && i < reader->symbols.count; i++) {
    names[i] = reader->symbols.entries[i].text;
    byoc_string_appendf(&list, "%s'%s'", i ? ", " : "", names[i]);
  }
  if (reader->symbols.count == 0) {
    byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT,
                    "no dimension is named '%s': all dimensions of the model's inputs are fixed", name);
  } else {
    byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT,
                    "no dimension of the model's inputs is named '%s'; there %s %s", name,
                    reader->symbols.count == 1 ? "is" : "are", list.data);
    const char *nearest = names ? byoc_nearest_match(name, names, reader->symbols.count) : NULL;
    if (nearest) byoc_diag_hint(reader->diag, "did you mean '%s'?", nearest);
  }
  byoc_string_deinit(&list);
  return BYOC_INVALID_ARGUMENT;
}

byoc_status_t byoc_onnx_check_options(byoc_onnx_reader_t *reader) {
  const byoc_onnx_read_options_t *options = reader->options;
  for (size_t i = 0; i < options->binding_count; i++) {
    const byoc_onnx_dim_binding_t *binding = &options->bindings[i];
    if (binding->value < 0) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "dimension '%s' cannot be %lld", binding->name,
                             (long long)binding->value);
    }
    const byoc_onnx_dim_binding_t *first = find_binding(reader, binding->name);
    if (first->value != binding->value) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "dimension '%s' is given as %lld and as %lld",
                             binding->name, (long long)first->value, (long long)binding->value);
    }
    if (!byoc_string_map_find(&reader->symbols, binding->name)) return unknown_symbol(reader, binding->name);
  }
  for (size_t i = 0; i < options->optional_count; i++) {
    const char *name = options->optional_inputs[i];
    if (strcmp(name, "*") == 0 || byoc_string_map_find(&reader->optional, name)) continue;
    return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "the model has no input '%s' with an initialiser",
                           name);
  }
  const byoc_block_t *body = byoc_graph_module_main(reader->module)->body;
  for (size_t i = 0; i < options->shape_count; i++) {
    bool found = false;
    for (size_t k = 0; k < body->parameters.count && !found; k++) {
      found = strcmp(body->parameters.data[k]->name, options->shapes[i].name) == 0;
    }
    if (!found) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT, "the model has no input '%s' to give a shape",
                             options->shapes[i].name);
    }
  }
  return BYOC_OK;
}
