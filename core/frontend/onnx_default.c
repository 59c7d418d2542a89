// SPDX-License-Identifier: Apache-2.0
// Optional inputs of the model: an initialiser is the default of an input, and a run may give another value.
//
//   input w = initialiser  →  w = if (w is given) { the given value } else { initialiser }
#include "core/frontend/onnx_reader.h"

enum { IF_VERSION = 16, OPTIONAL_VERSION = 18 };

static bool is_named(const char *const *names, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0 || strcmp(names[i], "*") == 0) return true;
  }
  return false;
}

// The declared shape, with dynamic dimensions; that of the initialiser if there is none.
static const byoc_type_t *type_of(byoc_onnx_reader_t *reader, const byoc_type_t *declared, const byoc_type_t *type) {
  byoc_dim_t dims[BYOC_MAX_RANK] = {0};
  bool failed = false;
  for (int32_t i = 0; i < type->rank; i++) {
    const bool is_open =
        byoc_type_is_tensor(declared) && declared->rank == type->rank && !byoc_dim_is_constant(declared->dims[i]);
    dims[i] = is_open ? byoc_dim_unknown(&reader->module->arena, reader->module->next_id++, &failed) : type->dims[i];
  }
  return failed ? NULL : byoc_type_tensor(&reader->module->arena, type->dtype, type->rank, dims);
}

static byoc_value_t *choose(byoc_block_t *block, byoc_value_t *given, byoc_value_t *other) {
  byoc_node_t *test = byoc_node_create(block, NULL, "", "OptionalHasElement", OPTIONAL_VERSION, &given, 1, 1);
  byoc_node_t *choice = test ? byoc_node_create(block, NULL, "", "If", IF_VERSION, test->results, 1, 1) : NULL;
  byoc_block_t *is = choice ? byoc_node_add_block(choice, "then_branch") : NULL;
  byoc_block_t *is_not = is ? byoc_node_add_block(choice, "else_branch") : NULL;
  byoc_node_t *get =
      is_not ? byoc_node_create(is, NULL, "", "OptionalGetElement", OPTIONAL_VERSION, &given, 1, 1) : NULL;
  const bool ok = get && byoc_block_add_result(is, NULL, get->results[0]) && byoc_block_add_result(is_not, NULL, other);
  return ok ? choice->results[0] : NULL;
}

byoc_status_t byoc_onnx_keep_input(byoc_onnx_reader_t *reader, const Onnx__ValueInfoProto *input,
                                   byoc_onnx_scope_t *scope, bool *out_kept) {
  const byoc_onnx_read_options_t *options = reader->options;
  const char *name = byoc_onnx_string(input->name);
  *out_kept = is_named(options->optional_inputs, options->optional_count, name) ||
              is_named(options->given_inputs, options->given_count, name);
  if (!*out_kept) return BYOC_OK;
  byoc_onnx_binding_t *binding = byoc_string_map_get(&scope->names, name);
  const byoc_type_t *declared = NULL;
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_type(reader, input->type, name, &declared));
  const byoc_type_t *tensor = type_of(reader, declared, binding->constant->type);
  const byoc_type_t *type = tensor ? byoc_type_optional(&reader->module->arena, tensor) : NULL;
  byoc_value_t *given = type ? byoc_block_add_parameter(scope->block, name, type) : NULL;
  byoc_value_t *other = given ? byoc_function_constant(scope->block->function, binding->constant) : NULL;
  byoc_value_t *chosen = other ? choose(scope->block, given, other) : NULL;
  if (!chosen || !byoc_string_map_put(&reader->optional, name, reader)) return byoc_diag_out_of_memory(reader->diag);
  *binding = (byoc_onnx_binding_t){.value = chosen};
  return BYOC_OK;
}
