// SPDX-License-Identifier: Apache-2.0
// Makes modules of one node as examples of an operator that a plugin declares.
#include "core/op/declared_example.h"

#include <stdio.h>
#include <string.h>

// ---- forms ----

bool byoc_op_form_set_dtypes(const byoc_op_t *row, size_t index, byoc_op_form_t *form) {
  const byoc_signature_t *signature = byoc_op_signature(row);
  for (uint32_t v = 0; v < signature->variable_count; ++v) form->dtypes[v] = signature->variables[v].dtypes[0];
  if (signature->variable_count == 0) return index == 0;
  for (uint32_t v = 0; v < signature->variable_count; ++v) {
    const byoc_signature_variable_t *variable = &signature->variables[v];
    if (index < variable->count) {
      form->dtypes[v] = variable->dtypes[index];
      return true;
    }
    index -= variable->count;
  }
  return false;
}

void byoc_op_form_print_dtypes(const byoc_op_t *row, size_t index, char *buffer, size_t size) {
  const byoc_signature_t *signature = byoc_op_signature(row);
  buffer[0] = '\0';
  for (uint32_t v = 0; v < signature->variable_count; ++v) {
    const byoc_signature_variable_t *variable = &signature->variables[v];
    if (index < variable->count) {
      snprintf(buffer, size, "%.24s = %s", variable->name, byoc_dtype_name(variable->dtypes[index]));
      return;
    }
    index -= variable->count;
  }
}

size_t byoc_op_form_choices(const byoc_op_t *row) {
  size_t most = 1;
  for (const byoc_op_attribute_t *a = row->attributes; a && a->value.name; ++a) {
    size_t count = 0;
    while (a->allowed && a->allowed[count]) ++count;
    if (count > most) most = count;
  }
  return most;
}

// ---- the node ----

typedef struct example_t {
  const byoc_op_t *row;
  const byoc_signature_t *signature;
  const byoc_op_form_t *form;
  byoc_graph_module_t *module;
} example_t;

static bool add_dim(const example_t *example, const char *name, int32_t index, byoc_dim_t *dims, int32_t *rank) {
  bool failed = false;
  if (*rank == BYOC_MAX_RANK) return false;
  if (example->form->is_open) {
    char symbol[160];
    snprintf(symbol, sizeof symbol, "%.120s_%d", name, index);
    dims[(*rank)++] = byoc_dim_symbol(&example->module->arena, symbol, &failed);
  } else {
    const int64_t size = example->form->size;
    dims[(*rank)++] = byoc_dim_constant(size > 1 ? size + (int64_t)(strlen(name) + (size_t)name[0]) % 3 + index : size);
  }
  return !failed;
}

// The number of dimensions of a rest. If an attribute counts them, it is the attribute's default, or the example's
// value for a required one. A negative value counts from the end.
static int32_t rest_count(const example_t *example, const byoc_signature_value_t *value, int32_t d) {
  if (value->counted < 0) return example->form->rest_rank;
  const byoc_op_attribute_t *entry = byoc_op_attribute(example->row, value->dims[value->counted].axis);
  const int64_t axis = entry->has_default ? entry->value.i : entry->required;
  const int64_t others = value->dim_count - 1 - (value->rest >= 0), behind = -axis - others;
  if (d == value->counted && axis >= 0) return axis < BYOC_MAX_RANK ? (int32_t)axis : BYOC_MAX_RANK;
  if (d == value->counted || axis >= 0) return example->form->rest_rank;
  return behind < 0 ? 0 : behind < BYOC_MAX_RANK ? (int32_t)behind : BYOC_MAX_RANK;
}

static const byoc_type_t *operand_type(const example_t *example, const byoc_signature_value_t *value) {
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  bool fine = true;
  for (int32_t d = 0; d < value->dim_count && fine; ++d) {
    const byoc_signature_dim_t *dim = &value->dims[d];
    for (int32_t i = 0; dim->rest && i < rest_count(example, value, d) && fine; ++i) {
      fine = add_dim(example, dim->rest, i, dims, &rank);
    }
    if (dim->rest) continue;
    if (dim->dim.expr) {
      fine = add_dim(example, dim->dim.expr->symbol, 0, dims, &rank);
    } else if (rank < BYOC_MAX_RANK) {
      dims[rank++] = dim->dim;
    }
  }
  byoc_dtype_t dtype = value->dtype != BYOC_DTYPE_NONE ? value->dtype : example->form->dtypes[value->variable];
  return fine ? byoc_type_tensor(&example->module->arena, dtype, rank, dims) : NULL;
}

// Sets the node's required attributes, and those with a choice of strings.
static bool give_attribute(byoc_node_t *node, const byoc_op_attribute_t *entry, size_t choice) {
  static const int64_t integer = 1;
  static const double number = 1.0;
  static const char *const text = "";
  if (!entry->required && !entry->allowed) return true;
  byoc_attribute_t value = entry->value;
  size_t choices = 0;
  while (entry->allowed && entry->allowed[choices]) ++choices;
  value.i = integer, value.f = number, value.count = 1;
  value.ints = &integer, value.floats = &number, value.strings = &text;
  value.s = choices > 0 ? entry->allowed[choice % choices] : text;
  if (value.kind == BYOC_ATTRIBUTE_STRING) value.count = strlen(value.s);
  if (value.kind == BYOC_ATTRIBUTE_TENSOR || value.kind == BYOC_ATTRIBUTE_TYPE) return true;
  return byoc_attributes_set(&node->attributes, &value);
}

static byoc_status_t make_node(const byoc_op_t *row, const example_t *example, byoc_diag_t *diag,
                               byoc_node_t **out_node) {
  const byoc_signature_t *signature = example->signature;
  byoc_function_t *function = byoc_function_create(example->module, "definition");
  if (!function) return byoc_diag_out_of_memory(diag);
  byoc_value_t *operands[BYOC_SIGNATURE_VALUES] = {NULL};
  uint32_t count = example->form->is_complete ? signature->operand_count : signature->required_count;
  for (uint32_t i = 0; i < count; ++i) {
    const byoc_type_t *type = operand_type(example, &signature->operands[i]);
    operands[i] = type ? byoc_block_add_parameter(function->body, signature->operands[i].name, type) : NULL;
    if (!operands[i]) return byoc_diag_out_of_memory(diag);
  }
  byoc_node_t *node = byoc_node_create(function->body, NULL, row->domain, row->name, row->since_version, operands,
                                       count, signature->result_count);
  if (!node) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < signature->result_count; ++i) {
    if (!byoc_block_add_result(function->body, signature->results[i].name, node->results[i])) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  for (const byoc_op_attribute_t *a = row->attributes; a && a->value.name; ++a) {
    if (!give_attribute(node, a, example->form->choice)) return byoc_diag_out_of_memory(diag);
  }
  *out_node = node;
  return BYOC_OK;
}

byoc_status_t byoc_op_example(const byoc_op_t *row, const byoc_op_form_t *form, byoc_diag_t *diag,
                              byoc_graph_module_t **out_module, byoc_node_t **out_node) {
  *out_module = NULL;
  *out_node = NULL;
  example_t example = {.row = row, .signature = byoc_op_signature(row), .form = form};
  BYOC_RETURN_IF_ERROR(byoc_graph_module_create(byoc_allocator_system(), diag, &example.module));
  byoc_status_t status = make_node(row, &example, diag, out_node);
  if (status != BYOC_OK) {
    byoc_graph_module_destroy(example.module);
    return status;
  }
  *out_module = example.module;
  return BYOC_OK;
}
