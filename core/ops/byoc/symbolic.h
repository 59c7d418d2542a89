// SPDX-License-Identifier: Apache-2.0
// Operators on dimensions, in a graph that is about to be lowered. A Require is also inserted if a pass replaces an
// operator by others that check less.
//
//   byoc::ResultShape  i64[k]: dimensions of the results of another operator, from that operator's operands
//   byoc::BindSymbols  gives symbols the elements of an i64[k] as values, for all that follows in the block
//   byoc::CheckDims    compares the elements of an i64[k] with those of another; its errors use k strings
//   byoc::CheckRange   integers must fit extents, an i64[k], as an i64[5] says; its error uses one string
//                      (core/runtime/check.h)
//   byoc::Require      relations that must hold between dimensions; the type of result i has those of relation i.
//                      Operands are values whose dimensions passes may still learn more about; the last results have
//                      the types that they had when the node was made
//   byoc::ShapeOnly    a value whose elements are never read
//   byoc::View         the bytes of its operand under its result's type
#ifndef BYOC_CORE_OPS_BYOC_SYMBOLIC_H_
#define BYOC_CORE_OPS_BYOC_SYMBOLIC_H_

#include "core/op/op.h"
#include "core/op/relation.h"

// A dimension of a result, and its symbol there.
typedef struct byoc_result_dim_t {
  uint32_t result;
  int32_t d;
  const char *symbol;
} byoc_result_dim_t;

// A declared constant dimension of a result.
typedef struct byoc_declared_dim_t {
  uint32_t result;
  int32_t d;
  int64_t declared;
} byoc_declared_dim_t;

// Inserts ResultShape and BindSymbols before `node` for `dims` of its results. The node's row has a `shape`.
byoc_status_t byoc_bind_result_dims(byoc_node_t *node, const byoc_result_dim_t *dims, size_t count, byoc_diag_t *diag);
// Inserts CheckDims before `node`, whose row has a `shape`, for at most BYOC_MAX_RANK dimensions of one of its results:
// the computed dimensions must equal the declared ones.
byoc_status_t byoc_check_declared_dims(byoc_node_t *node, const byoc_declared_dim_t *dims, size_t count,
                                       byoc_diag_t *diag);
// Inserts Require before `node` for the relations (at least one) that the operator `where` needs.
byoc_status_t byoc_require(byoc_node_t *node, const char *where, const byoc_relation_t *relations, size_t count,
                           byoc_diag_t *diag);
// The same for those of the node's `relations` that do not need a dimension which is known only after it has run; there
// may be none.
byoc_status_t byoc_require_given(byoc_node_t *node, const byoc_relations_t *relations, byoc_diag_t *diag);
// The same before `place`, while passes work: the Require reads the node's operands.
byoc_status_t byoc_require_kept(byoc_node_t *place, const byoc_node_t *node, const byoc_relations_t *relations,
                                byoc_diag_t *diag);
static inline bool byoc_is_requirement(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "Require");
}
// Is the node a check, without a result that is read?
static inline bool byoc_is_guard(const byoc_node_t *node) {
  return byoc_is_requirement(node) || byoc_node_is(node, "byoc", "CheckRange");
}
// Appends the relations of a Require node, in the dimensions that its operands have now.
byoc_status_t byoc_requirement_read(const byoc_node_t *node, byoc_relations_t *relations, byoc_diag_t *diag);
// Replaces a Require node by one without operands, if it has any.
byoc_status_t byoc_requirement_settle(byoc_node_t *node, byoc_diag_t *diag);
// Reads relation `index` of a Require node as it was made, and the operator that needs it.
byoc_relation_t byoc_required(const byoc_node_t *node, uint32_t index);
const char *byoc_required_by(const byoc_node_t *node);
// A value of type `type` whose elements are never read, inserted before `before`. NULL if out of memory.
byoc_value_t *byoc_shape_only(byoc_node_t *before, const byoc_type_t *type);

#endif // BYOC_CORE_OPS_BYOC_SYMBOLIC_H_
