// SPDX-License-Identifier: Apache-2.0
// Relations are what type inference assumes about two dimensions. If both numbers are known, inference decides; if one
// is a symbol, it notes the relation, and the program checks it where the symbol becomes known (core/kernel/require.h).
// Limits are what it assumes about the elements of an operand: those of a constant it checks itself, others the
// program.
#ifndef BYOC_CORE_OP_RELATION_H_
#define BYOC_CORE_OP_RELATION_H_

#include "core/base/vector.h"
#include "core/op/op.h"
#include "core/runtime/check.h"
#include "core/runtime/relation.h"

typedef struct byoc_relation_t {
  byoc_relation_kind_t kind;
  byoc_dim_t left, right;
  const char *left_name, *right_name; // NULL: a number that the operator fixes
  bool is_of_result;                  // needs a dimension that the node makes itself when it runs
} byoc_relation_t;

// One side of a relation: a dimension of an operand, or a text for a number made from several dimensions.
typedef struct byoc_side_t {
  byoc_dim_t dim;
  const char *name; // NULL: `operand` and `axis` name it; for a constant, the number does
  int64_t operand, axis;
} byoc_side_t;

// What the elements of an operand must satisfy (core/op/limit.h).
typedef struct byoc_limit_t {
  uint32_t operand;
  const char *name; // what the elements are; a literal
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
  byoc_dim_t rank; // of result 0, if has_rank: the run makes it, and inference does not decide it
  bool has_rank;
  const byoc_type_t *made;    // the type of result 0, for where inference leaves its rank to the run; else NULL
  byoc_allocator_t allocator; // of the list; the names are in the module's arena
};
void byoc_relations_deinit(byoc_relations_t *relations);

// Dimension `axis`, which it has, of operand `operand`, a ranked tensor.
byoc_side_t byoc_side_of(const byoc_infer_t *infer, uint32_t operand, int32_t axis);
static inline byoc_side_t byoc_side(byoc_dim_t dim, const char *name) {
  return (byoc_side_t){.dim = dim, .name = name, .operand = -1};
}
static inline byoc_side_t byoc_side_number(int64_t number) {
  return (byoc_side_t){.dim = {.constant = number}, .operand = -1};
}

// The relation must hold: returns an error if it cannot, and notes it if only the run can tell.
byoc_status_t byoc_infer_relate(const byoc_infer_t *infer, byoc_relation_kind_t kind, byoc_side_t left,
                                byoc_side_t right);

// The same of a side that is a dimension of `relations->made`: it is checked where the run has made it.
byoc_status_t byoc_infer_relate_made(const byoc_infer_t *infer, byoc_relation_kind_t kind, byoc_side_t left,
                                     byoc_side_t right);

// The relations and limits that the node needs, including those of its types: dimensions of its results that do not
// follow from its operands. The node does not change. Unknown dimensions that are made only at run time stand for
// themselves.
byoc_status_t byoc_infer_relations(byoc_node_t *node, byoc_diag_t *diag, byoc_relations_t *relations);

#endif // BYOC_CORE_OP_RELATION_H_
