// SPDX-License-Identifier: Apache-2.0
// Reads the attributes of ONNX nodes, with those that refer to attributes of a local function.
#include <string.h>

#include "core/frontend/onnx_reader.h"

#define KIND(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

static const char *kind_name(Onnx__AttributeProto__AttributeType kind) {
  const ProtobufCEnumValue *value =
      protobuf_c_enum_descriptor_get_value(&onnx__attribute_proto__attribute_type__descriptor, (int)kind);
  return value ? value->name : "unknown";
}

byoc_status_t byoc_onnx_attribute_kind(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute,
                                       const char *what, Onnx__AttributeProto__AttributeType *out_kind) {
  *out_kind = KIND(UNDEFINED);
  const struct {
    bool there;
    Onnx__AttributeProto__AttributeType kind;
  } contents[] = {
      {attribute->has_f, KIND(FLOAT)},
      {attribute->has_i, KIND(INT)},
      {attribute->has_s, KIND(STRING)},
      {attribute->t != NULL, KIND(TENSOR)},
      {attribute->g != NULL, KIND(GRAPH)},
      {attribute->sparse_tensor != NULL, KIND(SPARSE_TENSOR)},
      {attribute->tp != NULL, KIND(TYPE_PROTO)},
      {attribute->n_floats > 0, KIND(FLOATS)},
      {attribute->n_ints > 0, KIND(INTS)},
      {attribute->n_strings > 0, KIND(STRINGS)},
      {attribute->n_tensors > 0, KIND(TENSORS)},
      {attribute->n_graphs > 0, KIND(GRAPHS)},
      {attribute->n_sparse_tensors > 0, KIND(SPARSE_TENSORS)},
      {attribute->n_type_protos > 0, KIND(TYPE_PROTOS)},
  };
  Onnx__AttributeProto__AttributeType kind = attribute->has_type ? attribute->type : KIND(UNDEFINED);
  for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
    if (!contents[i].there) continue;
    if (kind == KIND(UNDEFINED)) kind = contents[i].kind;
    if (kind != contents[i].kind) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: attribute '%s' is %s and holds %s", what,
                             byoc_onnx_string(attribute->name), kind_name(kind), kind_name(contents[i].kind));
    }
  }
  if (kind == KIND(UNDEFINED)) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: attribute '%s' has neither type nor value", what,
                           byoc_onnx_string(attribute->name));
  }
  const bool needs_message =
      kind == KIND(TENSOR) || kind == KIND(GRAPH) || kind == KIND(SPARSE_TENSOR) || kind == KIND(TYPE_PROTO);
  if (needs_message && !attribute->t && !attribute->g && !attribute->sparse_tensor && !attribute->tp) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: attribute '%s' is %s and holds nothing", what,
                           byoc_onnx_string(attribute->name), kind_name(kind));
  }
  *out_kind = kind;
  return BYOC_OK;
}

byoc_status_t byoc_onnx_resolve_attribute(byoc_onnx_reader_t *reader, const byoc_onnx_context_t *context,
                                          const Onnx__AttributeProto *attribute, const char *what,
                                          const Onnx__AttributeProto **out_attribute) {
  *out_attribute = attribute;
  const char *reference = byoc_onnx_string(attribute->ref_attr_name);
  if (reference[0] == '\0') return BYOC_OK;
  *out_attribute = NULL;
  if (!context->function) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                           "%s: attribute '%s' refers to the attribute '%s' of a function, but is not in one", what,
                           byoc_onnx_string(attribute->name), reference);
  }
  for (size_t i = 0; i < context->argument_count; i++) {
    if (strcmp(context->arguments[i].name, reference) == 0) {
      *out_attribute = context->arguments[i].value;
      return BYOC_OK;
    }
  }
  for (size_t i = 0; i < context->function->n_attribute; i++) {
    if (strcmp(byoc_onnx_string(context->function->attribute[i]), reference) == 0) return BYOC_OK;
  }
  return byoc_diag_error(reader->diag, BYOC_INVALID_DATA,
                         "%s: attribute '%s' refers to '%s', which its function does not declare", what,
                         byoc_onnx_string(attribute->name), reference);
}

static byoc_status_t set_strings(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute, const char *name,
                                 const char *where, byoc_attributes_t *attributes) {
  const char **texts = BYOC_ARENA_ARRAY(&reader->scratch, const char *, attribute->n_strings);
  if (!texts && attribute->n_strings > 0) return byoc_diag_out_of_memory(reader->diag);
  BYOC_RETURN_IF_ERROR(
      byoc_onnx_copy_texts(reader, &reader->scratch, attribute->strings, attribute->n_strings, where, texts));
  if (!byoc_attributes_set_strings(attributes, name, texts, attribute->n_strings)) {
    return byoc_diag_out_of_memory(reader->diag);
  }
  return BYOC_OK;
}

static byoc_status_t set_string(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute, const char *name,
                                const char *where, byoc_attributes_t *attributes) {
  const char *text = NULL;
  BYOC_RETURN_IF_ERROR(byoc_onnx_copy_texts(reader, &reader->scratch, &attribute->s, 1, where, &text));
  return byoc_attributes_set_string(attributes, name, text) ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

static byoc_status_t set_floats(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute, const char *name,
                                byoc_attributes_t *attributes) {
  double *values = BYOC_ARENA_ARRAY(&reader->scratch, double, attribute->n_floats);
  if (!values && attribute->n_floats > 0) return byoc_diag_out_of_memory(reader->diag);
  for (size_t i = 0; i < attribute->n_floats; i++) values[i] = (double)attribute->floats[i];
  if (!byoc_attributes_set_floats(attributes, name, values, attribute->n_floats)) {
    return byoc_diag_out_of_memory(reader->diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_read_attribute(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute,
                                       const char *name, const char *what, byoc_node_t *node) {
  byoc_attributes_t *attributes = &node->attributes;
  Onnx__AttributeProto__AttributeType kind;
  BYOC_RETURN_IF_ERROR(byoc_onnx_attribute_kind(reader, attribute, what, &kind));
  char where[384];
  snprintf(where, sizeof(where), "%s, attribute '%s'", what, name);
  byoc_constant_t *constant = NULL;
  bool set;
  switch (kind) {
  case KIND(FLOAT):
    set = byoc_attributes_set_float(attributes, name, (double)attribute->f);
    break;
  case KIND(INT):
    set = byoc_attributes_set_int(attributes, name, attribute->i);
    break;
  case KIND(STRING):
    return set_string(reader, attribute, name, where, attributes);
  case KIND(INTS):
    set = byoc_attributes_set_ints(attributes, name, attribute->ints, attribute->n_ints);
    break;
  case KIND(FLOATS):
    return set_floats(reader, attribute, name, attributes);
  case KIND(STRINGS):
    return set_strings(reader, attribute, name, where, attributes);
  case KIND(TENSOR):
  case KIND(SPARSE_TENSOR): {
    // Ids are unique, so the search for a free name ends at once.
    const char *full_name = byoc_arena_format(&reader->scratch, "%s.%llu", name, (unsigned long long)node->id);
    if (!full_name) return byoc_diag_out_of_memory(reader->diag);
    BYOC_RETURN_IF_ERROR(kind == KIND(TENSOR) ? byoc_onnx_read_tensor(reader, attribute->t, where, full_name, &constant)
                                              : byoc_onnx_read_sparse_tensor(reader, attribute->sparse_tensor, where,
                                                                             full_name, &constant));
    set = byoc_attributes_set_tensor(attributes, name, constant);
    break;
  }
  case KIND(TYPE_PROTO): {
    const byoc_type_t *type;
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_type(reader, attribute->tp, where, &type));
    set = byoc_attributes_set_type(attributes, name, type ? type : byoc_type_unknown());
    break;
  }
  default:
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: attributes of type %s (%d) are not supported here",
                           where, kind_name(kind), (int)kind);
  }
  return set ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

// The forms of Constant that are not tensors: numbers and strings become tensors of rank 0 or 1.
static byoc_status_t make_plain_constant(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute,
                                         const char *what, const char *name, byoc_constant_t **out_constant) {
  Onnx__AttributeProto__AttributeType kind;
  BYOC_RETURN_IF_ERROR(byoc_onnx_attribute_kind(reader, attribute, what, &kind));
  byoc_dtype_t dtype = BYOC_DTYPE_NONE;
  size_t count = 1;
  bool is_list = false;
  const void *data = NULL;
  const ProtobufCBinaryData *texts = NULL;
  switch (kind) {
  case KIND(INT):
    dtype = BYOC_DTYPE_I64, data = &attribute->i;
    break;
  case KIND(FLOAT):
    dtype = BYOC_DTYPE_F32, data = &attribute->f;
    break;
  case KIND(STRING):
    dtype = BYOC_DTYPE_STRING, texts = &attribute->s;
    break;
  case KIND(INTS):
    dtype = BYOC_DTYPE_I64, data = attribute->ints, count = attribute->n_ints, is_list = true;
    break;
  case KIND(FLOATS):
    dtype = BYOC_DTYPE_F32, data = attribute->floats, count = attribute->n_floats, is_list = true;
    break;
  case KIND(STRINGS):
    dtype = BYOC_DTYPE_STRING, texts = attribute->strings, count = attribute->n_strings, is_list = true;
    break;
  default:
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: attribute '%s' cannot be %s", what,
                           byoc_onnx_string(attribute->name), kind_name(kind));
  }
  const int64_t dims[1] = {(int64_t)count};
  const byoc_type_t *type = byoc_type_tensor_static(&reader->module->arena, dtype, is_list ? 1 : 0, dims);
  void *to = NULL;
  byoc_constant_t *constant = type ? byoc_constant_allocate(reader->module, name, type, &to) : NULL;
  if (!constant) return byoc_diag_out_of_memory(reader->diag);
  if (texts) {
    BYOC_RETURN_IF_ERROR(byoc_onnx_copy_texts(reader, &reader->module->arena, texts, count, what, to));
  } else if (count > 0) {
    memcpy(to, data, count * (byoc_dtype_bits(dtype) / 8));
  }
  *out_constant = constant;
  return BYOC_OK;
}

byoc_status_t byoc_onnx_read_constant_node(byoc_onnx_reader_t *reader, const byoc_onnx_scope_t *scope,
                                           const Onnx__NodeProto *node, const char *what,
                                           byoc_constant_t **out_constant) {
  *out_constant = NULL;
  if (node->n_output != 1 || node->n_input != 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: a Constant has one output and no inputs", what);
  }
  const char *name = byoc_onnx_constant_name(reader, scope->block, byoc_onnx_string(node->output[0]));
  if (!name) return byoc_diag_out_of_memory(reader->diag);
  const Onnx__AttributeProto *found = NULL;
  const char *found_name = "";
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *attribute;
    BYOC_RETURN_IF_ERROR(byoc_onnx_resolve_attribute(reader, scope->context, node->attribute[i], what, &attribute));
    if (!attribute) continue;
    if (found) return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it has more than one value", what);
    found = attribute;
    found_name = byoc_onnx_string(node->attribute[i]->name);
  }
  if (!found) return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it has no value", what);
  static const struct {
    const char *name;
    Onnx__AttributeProto__AttributeType kind;
  } forms[] = {{"value", KIND(TENSOR)},        {"sparse_value", KIND(SPARSE_TENSOR)}, {"value_int", KIND(INT)},
               {"value_ints", KIND(INTS)},     {"value_float", KIND(FLOAT)},          {"value_floats", KIND(FLOATS)},
               {"value_string", KIND(STRING)}, {"value_strings", KIND(STRINGS)}};
  Onnx__AttributeProto__AttributeType kind;
  BYOC_RETURN_IF_ERROR(byoc_onnx_attribute_kind(reader, found, what, &kind));
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
    if (strcmp(forms[i].name, found_name) != 0) continue;
    if (forms[i].kind != kind) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: attribute '%s' is %s, not %s", what, found_name,
                             kind_name(kind), kind_name(forms[i].kind));
    }
    if (kind == KIND(TENSOR)) return byoc_onnx_read_tensor(reader, found->t, what, name, out_constant);
    if (kind == KIND(SPARSE_TENSOR)) {
      return byoc_onnx_read_sparse_tensor(reader, found->sparse_tensor, what, name, out_constant);
    }
    return make_plain_constant(reader, found, what, name, out_constant);
  }
  return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: a Constant has no attribute '%s'", what, found_name);
}
