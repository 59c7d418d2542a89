// SPDX-License-Identifier: Apache-2.0
// Records the model's names for dimensions of outputs that are formulas over dimensions of inputs.
#include <string.h>

#include "core/frontend/onnx_reader.h"
#include "core/ir/attribute_names.h"

// Can the dimension equal that symbol? True if it is a minimum, maximum or broadcast with the symbol.
static bool may_equal(byoc_dim_t dim, const char *symbol) {
  if (byoc_dim_is_constant(dim)) return false;
  switch (dim.expr->kind) {
  case BYOC_DIM_SYMBOL:
    return strcmp(dim.expr->symbol, symbol) == 0;
  case BYOC_DIM_MIN:
  case BYOC_DIM_MAX:
  case BYOC_DIM_BROADCAST:
    return may_equal(dim.expr->left, symbol) || may_equal(dim.expr->right, symbol);
  default:
    return false;
  }
}

// The model's name of the dimension; NULL if it has none, or one that means another dimension of an input.
static const char *name_of(const byoc_onnx_reader_t *reader, byoc_dim_t declared, byoc_dim_t inferred) {
  const bool is_named = !byoc_dim_is_constant(declared) && declared.expr->kind == BYOC_DIM_SYMBOL;
  const bool is_plain = byoc_dim_is_constant(inferred) || inferred.expr->kind == BYOC_DIM_SYMBOL;
  if (!is_named || is_plain) return NULL;
  const char *name = declared.expr->symbol;
  const bool is_of_input = byoc_string_map_find(&reader->symbols, name) != NULL;
  return is_of_input && !may_equal(inferred, name) ? NULL : name;
}

byoc_status_t byoc_onnx_name_output_dims(byoc_onnx_reader_t *reader) {
  byoc_graph_module_t *module = reader->module;
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  size_t count = 0, most = 0;
  for (size_t i = 0; i < body->results.count; i++) {
    const byoc_type_t *declared = byoc_pointer_map_get(&reader->declarations, body->results.data[i]);
    most += byoc_type_is_tensor(declared) && declared->rank > 0 ? (size_t)declared->rank : 0;
  }
  const char **notes = byoc_allocate(module->allocator, most + 1, sizeof(*notes));
  if (notes == NULL) return byoc_diag_out_of_memory(reader->diag);
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < body->results.count; i++) {
    const byoc_value_t *value = body->results.data[i];
    const byoc_type_t *declared = byoc_pointer_map_get(&reader->declarations, value);
    if (!byoc_type_is_tensor(declared) || !byoc_type_is_tensor(value->type)) continue;
    for (int32_t d = 0; d < declared->rank && declared->rank == value->type->rank; d++) {
      const char *name = name_of(reader, declared->dims[d], value->type->dims[d]);
      if (name == NULL) continue;
      notes[count] = byoc_arena_format(&module->arena, "%s.%d=%s", body->result_names.data[i], (int)d, name);
      if (notes[count++] == NULL) status = byoc_diag_out_of_memory(reader->diag);
    }
  }
  if (status == BYOC_OK && count > 0 &&
      !byoc_attributes_set_strings(&module->attributes, BYOC_ATTRIBUTE_RESULT_DIMENSIONS, notes, count)) {
    status = byoc_diag_out_of_memory(reader->diag);
  }
  byoc_free(module->allocator, notes);
  return status;
}
