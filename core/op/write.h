// SPDX-License-Identifier: Apache-2.0
// Inserts the nodes of an operator's expansion before it. The first failure is kept and checked once, at the end.
//
// Example:
//   byoc_writer_t w = {.node = node, .diag = diag};
//   byoc_value_t *x = byoc_write_node(&w, "", "Mul", node->operands[0], node->operands[1], NULL, NULL, 0);
//   return byoc_write_end(&w, x, out_changed);
#ifndef BYOC_CORE_OP_WRITE_H_
#define BYOC_CORE_OP_WRITE_H_

#include "core/op/op.h"

typedef struct byoc_writer_t {
  byoc_node_t *node; // the node that is expanded
  byoc_diag_t *diag; // gets the first failure
  bool failed;       // out of memory, or types did not infer
} byoc_writer_t;

// A node of one to three operands (later ones may be NULL) and one result.
byoc_value_t *byoc_write_node(byoc_writer_t *w, const char *domain, const char *op, byoc_value_t *a, byoc_value_t *b,
                              byoc_value_t *c, const byoc_attribute_t *attributes, size_t attribute_count);
// A node of ai.onnx of one or two operands and no attributes.
static inline byoc_value_t *byoc_write_plain(byoc_writer_t *w, const char *op, byoc_value_t *a, byoc_value_t *b) {
  return byoc_write_node(w, "", op, a, b, NULL, NULL, 0);
}
// An attribute that is an integer.
static inline byoc_attribute_t byoc_write_int(const char *name, int64_t value) {
  return (byoc_attribute_t){.name = name, .kind = BYOC_ATTRIBUTE_INT, .i = value};
}
// A node with any operands and results; NULL after a failure.
byoc_node_t *byoc_write_many(byoc_writer_t *w, const char *domain, const char *op, byoc_value_t *const *operands,
                             uint32_t operand_count, uint32_t result_count, const byoc_attribute_t *attributes,
                             size_t attribute_count);
// A constant vector; the data is copied.
byoc_value_t *byoc_write_vector(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, int64_t count,
                                const void *data);
// Reshapes `x` to `rank` dimensions, in which 0 and -1 mean the same as in Reshape.
byoc_value_t *byoc_write_reshape(byoc_writer_t *w, byoc_value_t *x, const int64_t *dims, int64_t rank);
byoc_value_t *byoc_write_transpose(byoc_writer_t *w, byoc_value_t *x, const int64_t *permutation, size_t rank);
// `value` converted to another element type.
byoc_value_t *byoc_write_cast(byoc_writer_t *w, byoc_value_t *value, byoc_dtype_t dtype);
// Makes a value with one number, of any rank, a scalar; NULL stays NULL.
byoc_value_t *byoc_write_scalar(byoc_writer_t *w, byoc_value_t *x);
// Replaces the node's first result by `value`. Returns the first failure, or BYOC_OK.
byoc_status_t byoc_write_end(byoc_writer_t *w, byoc_value_t *value, bool *out_changed);

#endif // BYOC_CORE_OP_WRITE_H_
