// The operators that stand for dimensions in a graph that is about to be lowered:
//   byoc::ResultShape  i64[k]: dimensions of the results of another operator, from that operator's operands
//   byoc::BindSymbols  gives the elements of an i64[k] to symbols: for all that follows in the block
//   byoc::CheckDims    holds the elements of an i64[k] against those of another, and fails in the words of k texts
//   byoc::Require      relations that must hold between dimensions; result i has the dimensions of relation i as its
//   type byoc::ShapeOnly    a value whose elements nobody reads byoc::View         the bytes of its operand under its
//   result's type
#ifndef BYOC_CORE_OPS_SYMBOLIC_H_
#define BYOC_CORE_OPS_SYMBOLIC_H_

#include "core/ops/op.h"
#include "core/ops/relation.h"

// A dimension of a result, and the symbol that it has there.
typedef struct byoc_result_dim_t {
  uint32_t result;
  int32_t d;
  const char *symbol;
} byoc_result_dim_t;

// A constant dimension that a result is declared to have.
typedef struct byoc_declared_dim_t {
  uint32_t result;
  int32_t d;
  int64_t declared;
} byoc_declared_dim_t;

// Puts ResultShape and BindSymbols in front of `node` for `dims` of its results. The node's row has a `shape`.
byoc_status_t byoc_bind_result_dims(byoc_node_t *node, const byoc_result_dim_t *dims, size_t count, byoc_diag_t *diag);
// Puts CheckDims in front of `node`, whose row has a `shape`, for some dimensions of one of its results: what it makes
// of them must be what is declared. At most BYOC_MAX_RANK.
byoc_status_t byoc_check_declared_dims(byoc_node_t *node, const byoc_declared_dim_t *dims, size_t count,
                                       byoc_diag_t *diag);
// Puts Require in front of `node` for relations that the operator `where` needs, at least one.
byoc_status_t byoc_require(byoc_node_t *node, const char *where, const byoc_relation_t *relations, size_t count,
                           byoc_diag_t *diag);
// Reads relation `index` of a Require node, and the operator that needs it.
byoc_relation_t byoc_required(const byoc_node_t *node, uint32_t index);
const char *byoc_required_by(const byoc_node_t *node);
// A value of type `type` whose elements nobody reads, made in front of `before`. NULL when memory is out.
byoc_value_t *byoc_shape_only(byoc_node_t *before, const byoc_type_t *type);
// The row of the operator whose results' dimensions a ResultShape computes; NULL for other nodes.
const byoc_op_t *byoc_result_shape_of(const byoc_node_t *node);

#endif // BYOC_CORE_OPS_SYMBOLIC_H_
