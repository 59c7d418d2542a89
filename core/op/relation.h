// SPDX-License-Identifier: Apache-2.0
// A relation is an assumption of type inference about two dimensions. If both numbers are known, inference decides. If
// one is a symbol, it records the relation, and the program checks it where the symbol becomes known
// (core/kernel/require.h). A limit is an assumption about the elements of an operand: inference checks constants, and
// the program checks other elements.
#ifndef BYOC_CORE_OP_RELATION_H_
#define BYOC_CORE_OP_RELATION_H_

#include "core/base/vector.h"
#include "core/op/op.h"
#include "core/runtime/check.h"
#include "core/runtime/relation.h"

typedef struct byoc_relation_t {
  byoc_relation_kind_t kind;
  byoc_dim_t left, right;
  const char *left_name, *right_name; // NULL: a fixed number of the operator
  bool is_of_result;                  // needs a dimension that is known only after the node has run
} byoc_relation_t;

// One side of a relation: a dimension of an operand, or a name for a number made from several dimensions.
typedef struct byoc_side_t {
  byoc_dim_t dim;
  const char *name; // NULL: `operand` and `axis` name it; for a constant, the number does
  int64_t operand, axis;
} byoc_side_t;

// A limit for the elements of an operand (core/op/limit.h).
typedef struct byoc_limit_t {
  uint32_t operand;
  const char *name; // the elements in messages; a literal
  byoc_range_kind_t kind;
  int64_t less;                       // of BYOC_RANGE_COUNT
  uint32_t count;                     // of extents; element i has the one at i % count
  byoc_side_t extents[BYOC_MAX_RANK]; // dimensions, or BYOC_RANGE_FREE
  bool is_of_data;                    // the extent is element 0 of operand extents[0].operand instead
  bool is_distinct;                   // of BYOC_RANGE_INDEX: no two elements are the same
  bool ignores;                       // elements that equal the next number may be anything
  int64_t ignored;
} byoc_limit_t;

struct byoc_relations_t {
  BYOC_VECTOR(byoc_relation_t) items;
  BYOC_VECTOR(byoc_limit_t) limits;
  byoc_dim_t rank; // of result 0, if has_rank: only the run knows it
  bool has_rank;
  const byoc_type_t *made;    // the type of result 0 if only the run knows its rank; else NULL
  byoc_allocator_t allocator; // of the list; the names are in the module's arena
};
void byoc_relations_deinit(byoc_relations_t *relations);

// Dimension `axis` of operand `operand`, a ranked tensor that has this dimension.
byoc_side_t byoc_side_of(const byoc_infer_t *infer, uint32_t operand, int32_t axis);
static inline byoc_side_t byoc_side(byoc_dim_t dim, const char *name) {
  return (byoc_side_t){.dim = dim, .name = name, .operand = -1};
}
static inline byoc_side_t byoc_side_number(int64_t number) {
  return (byoc_side_t){.dim = {.constant = number}, .operand = -1};
}

// Requires the relation: returns an error if it cannot hold, and records it if only the run can decide.
byoc_status_t byoc_infer_relate(const byoc_infer_t *infer, byoc_relation_kind_t kind, byoc_side_t left,
                                byoc_side_t right);

// The same with a dimension of `relations->made` as a side: it is checked after the node has run.
byoc_status_t byoc_infer_relate_made(const byoc_infer_t *infer, byoc_relation_kind_t kind, byoc_side_t left,
                                     byoc_side_t right);

// Finds the relations and limits that the node needs, including those of result dimensions that do not follow from
// operands. The node does not change. Unknown dimensions that only the run knows stay as they are.
byoc_status_t byoc_infer_relations(byoc_node_t *node, byoc_diag_t *diag, byoc_relations_t *relations);

#endif // BYOC_CORE_OP_RELATION_H_
