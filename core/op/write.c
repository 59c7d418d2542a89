// SPDX-License-Identifier: Apache-2.0
// Writes the nodes that an operator expands into.
#include "core/op/write.h"

byoc_node_t *byoc_write_many(byoc_writer_t *w, const char *domain, const char *op, byoc_value_t *const *operands,
                             uint32_t operand_count, uint32_t result_count, const byoc_attribute_t *attributes,
                             size_t attribute_count) {
  if (w->failed) return NULL;
  byoc_node_t *made = byoc_op_create_with(w->node->block, w->node, domain, op, operands, operand_count, result_count,
                                          attributes, attribute_count, w->diag);
  if (!made) w->failed = true;
  // A node that replaces another one gets the virtual device of its result.
  for (uint32_t r = 0; made && w->node->result_count > 0 && r < made->result_count; ++r) {
    made->results[r]->device = w->node->results[0]->device;
  }
  return made;
}

byoc_value_t *byoc_write_node(byoc_writer_t *w, const char *domain, const char *op, byoc_value_t *a, byoc_value_t *b,
                              byoc_value_t *c, const byoc_attribute_t *attributes, size_t attribute_count) {
  byoc_value_t *operands[] = {a, b, c};
  if (!a) w->failed = true;
  byoc_node_t *made = byoc_write_many(w, domain, op, operands, c ? 3 : b ? 2 : 1, 1, attributes, attribute_count);
  return made ? made->results[0] : NULL;
}

byoc_value_t *byoc_write_vector(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, int64_t count,
                                const void *data) {
  byoc_graph_module_t *module = w->node->function->module;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, dtype, 1, &count);
  byoc_constant_t *constant = type ? byoc_constant_create(module, name, type, data) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  return value;
}

byoc_value_t *byoc_write_reshape(byoc_writer_t *w, byoc_value_t *x, const int64_t *dims, int64_t rank) {
  byoc_value_t *shape = byoc_write_vector(w, "shape", BYOC_DTYPE_I64, rank, dims);
  return byoc_write_node(w, "", "Reshape", x, shape, NULL, NULL, 0);
}

byoc_value_t *byoc_write_transpose(byoc_writer_t *w, byoc_value_t *x, const int64_t *permutation, size_t rank) {
  const byoc_attribute_t perm = {.name = "perm", .kind = BYOC_ATTRIBUTE_INTS, .ints = permutation, .count = rank};
  return byoc_write_node(w, "", "Transpose", x, NULL, NULL, &perm, 1);
}

byoc_value_t *byoc_write_cast(byoc_writer_t *w, byoc_value_t *value, byoc_dtype_t dtype) {
  if (value && byoc_type_is_tensor(value->type) && value->type->dtype == dtype) return value;
  // Element types are numbered as in ONNX.
  const byoc_attribute_t to = {.name = "to", .kind = BYOC_ATTRIBUTE_INT, .i = dtype};
  return byoc_write_node(w, "", "Cast", value, NULL, NULL, &to, 1);
}

byoc_value_t *byoc_write_scalar(byoc_writer_t *w, byoc_value_t *x) {
  if (!x || w->failed || x->type->rank == 0) return x;
  return byoc_write_plain(w, "Squeeze", x, NULL);
}

byoc_status_t byoc_write_end(byoc_writer_t *w, byoc_value_t *value, bool *out_changed) {
  *out_changed = !w->failed && value && byoc_value_replace_uses(w->node->results[0], value);
  return *out_changed ? BYOC_OK : byoc_diag_failure(w->diag);
}
