// The operators that stand for dimensions in a graph that is about to be lowered:
//   byoc::ResultShape  i64[k]: dimensions of the results of another operator, from that operator's operands
//   byoc::BindSymbols  gives the elements of an i64[k] to symbols: for all that follows in the block
//   byoc::ShapeOnly    a value whose elements nobody reads
//   byoc::View         the bytes of its operand under its result's type
#ifndef BYOC_CORE_OPS_SYMBOLIC_H_
#define BYOC_CORE_OPS_SYMBOLIC_H_

#include "core/ops/op.h"

// A dimension of a result, and the symbol that it has there.
typedef struct byoc_result_dim_t {
  uint32_t result;
  int32_t d;
  const char *symbol;
} byoc_result_dim_t;

// Puts ResultShape and BindSymbols in front of `node` for `dims` of its results. The node's row has a `shape`.
byoc_status_t byoc_bind_result_dims(byoc_node_t *node, const byoc_result_dim_t *dims, size_t count, byoc_diag_t *diag);
// A value of type `type` whose elements nobody reads, made in front of `before`. NULL when memory is out.
byoc_value_t *byoc_shape_only(byoc_node_t *before, const byoc_type_t *type);
// The row of the operator whose results' dimensions a ResultShape computes; NULL for other nodes.
const byoc_op_t *byoc_result_shape_of(const byoc_node_t *node);

#endif // BYOC_CORE_OPS_SYMBOLIC_H_
